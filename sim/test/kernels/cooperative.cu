// Cooperative groups: a sum over the whole grid with two barriers of all
// blocks, tiles of eight threads, a coalesced group.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void cooperative(const int *x, int *partial, int *total,
                                       int *odd, int n) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  __shared__ int s[32];
  int sum = 0;
  for (int i = grid.thread_rank(); i < n; i += grid.size()) {
    sum += x[i];
    if (x[i] & 1) {
      cg::coalesced_group active = cg::coalesced_threads();
      if (active.thread_rank() == 0)
        atomicAdd(odd, active.size());
    }
  }
  for (int d = tile.size() / 2; d; d /= 2)
    sum += tile.shfl_down(sum, d);
  if (tile.thread_rank() == 0)
    s[tile.meta_group_rank()] = sum;
  block.sync();
  if (block.thread_rank() == 0) {
    int all = 0;
    for (int i = 0; i < (int)tile.meta_group_size(); i++)
      all += s[i];
    partial[blockIdx.x] = all;
  }
  grid.sync();
  if (grid.thread_rank() == 0) {
    int all = 0;
    for (int i = 0; i < (int)gridDim.x; i++)
      all += partial[i];
    *total = all;
  }
}
