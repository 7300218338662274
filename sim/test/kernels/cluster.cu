// Clusters: distributed shared memory by cooperative groups and by PTX,
// multicast copies, mbarriers of other blocks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hopper.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// Counts into bins that are dealt out over the blocks of the cluster.
extern "C" __global__ void clusterHistogram(const int *x, int n, int bins,
                                            int *out) {
  extern __shared__ int mine[];
  cg::cluster_group c = cg::this_cluster();
  int per = bins / (int)c.num_blocks();
  for (int i = threadIdx.x; i < per; i += blockDim.x)
    mine[i] = 0;
  c.sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    atomicAdd(c.map_shared_rank(mine, x[i] / per) + x[i] % per, 1);
  c.sync();
  for (int i = threadIdx.x; i < per; i += blockDim.x)
    atomicAdd(&out[c.block_rank() * per + i], mine[i]);
}

// One sum a cluster: its first block reads the other blocks' partial sums.
extern "C" __global__ void __cluster_dims__(4, 1, 1)
    clusterSum(const int *x, int *sums) {
  __shared__ int partial;
  cg::cluster_group c = cg::this_cluster();
  if (threadIdx.x == 0)
    partial = 0;
  __syncthreads();
  atomicAdd(&partial, x[blockIdx.x * blockDim.x + threadIdx.x]);
  c.sync();
  if (c.block_rank() == 0 && threadIdx.x == 0) {
    int sum = 0;
    for (unsigned r = 0; r < c.num_blocks(); ++r)
      sum += *c.map_shared_rank(&partial, r);
    sums[blockIdx.x / 4] = sum;
  }
  c.sync();
}

// Each of two blocks loads one half of a tile and sends it to both.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    multicastHalves(const int *x, int *y) {
  __shared__ __align__(128) int tile[256];
  __shared__ uint64_t full;
  unsigned rank = clusterRank();
  if (threadIdx.x == 0) {
    barrierInit(&full, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    barrierExpect(&full, 1024);
  }
  clusterSync();
  if (threadIdx.x == 0)
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
                 "bytes.multicast::cluster [%0], [%1], 512, [%2], %3;" ::"r"(
                     shared(tile + 128 * rank)),
                 "l"(x + 256 * (blockIdx.x / 2) + 128 * rank),
                 "r"(shared(&full)), "h"((unsigned short)3)
                 : "memory");
  barrierWait(&full, 0);
  y[blockIdx.x * 256 + threadIdx.x] =
      tile[255 - threadIdx.x] * (int)(rank + 1);
  clusterSync();
}

// The first block fills stages in the second one's memory, by stores or by a
// bulk copy; the second gives them back at the first one's mbarriers.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    clusterPipe(const int *x, int *y, int rounds, int bulk) {
  __shared__ __align__(128) int stage[2][128], copy[128];
  __shared__ uint64_t full[2], empty[2];
  unsigned rank = clusterRank();
  int t = threadIdx.x;
  if (t == 0) {
    for (int i = 0; i < 2; i++) {
      barrierInit(&full[i], bulk ? 1 : 128);
      barrierInit(&empty[i], 128);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  clusterSync();
  for (int r = 0; r < rounds; r++) {
    int s = r & 1, turn = r / 2 & 1;
    if (rank == 0) {
      if (r >= 2)
        barrierWaitCluster(&empty[s], turn ^ 1);
      unsigned there = mapShared(&stage[s][t], 1),
               bar = mapShared(&full[s], 1);
      if (!bulk) {
        asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there),
                     "r"(x[r * 128 + t]) : "memory");
        arriveCluster(bar);
        continue;
      }
      if (r)
        __syncthreads();
      copy[t] = x[r * 128 + t];
      fenceAsync();
      __syncthreads();
      if (t == 0) {
        asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::"
                     "cluster.b64 _, [%0], 512;" ::"r"(bar) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::"
                     "complete_tx::bytes [%0], [%1], 512, [%2];" ::"r"(
                         mapShared(&stage[s][0], 1)),
                     "r"(shared(copy)), "r"(bar) : "memory");
      }
      // The copy has been read when its round has come back.
      barrierWaitCluster(&empty[s], turn);
    } else {
      barrierWaitCluster(&full[s], turn);
      y[r * 128 + t] = stage[s][127 - t];
      arriveCluster(mapShared(&empty[s], 0));
    }
  }
  clusterSync();
}
