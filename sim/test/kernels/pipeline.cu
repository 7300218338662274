// A three-stage cp.async pipeline that sums tiles, with zero fill at the edge.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdint.h>
extern "C" __global__ void pipeline(const float *x, float *out, int n) {
  __shared__ __align__(16) float buffer[3][512];
  int t = threadIdx.x, tiles = (n + 511) / 512;
  uint32_t s = (uint32_t)__cvta_generic_to_shared(buffer);
  auto load = [&](int tile) {
    if (tile < tiles) {
      int left = n - tile * 512 - t * 4;
      int bytes = left >= 4 ? 16 : left > 0 ? left * 4 : 0;
      const float *from = bytes ? x + tile * 512 + t * 4 : x;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                       s + (tile % 3) * 2048 + t * 16),
                   "l"(from), "r"(bytes));
    }
    asm volatile("cp.async.commit_group;");
  };
  load(0);
  load(1);
  float sum = 0;
  for (int tile = 0; tile < tiles; tile++) {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    load(tile + 2);
    for (int i = 0; i < 4; i++)
      sum += buffer[tile % 3][((t * 4 + i) * 7) % 512];
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
  out[t] = sum;
}
