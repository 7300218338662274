// Planted bugs of clusters, each beside its repaired twin; the line that must
// be named carries FAULT and the bug's name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hopper.h"
#define TWIN(name)                                                             \
  extern "C" __global__ void __cluster_dims__(2, 1, 1)                         \
      name##_bad(const int *x, int *y)
#define GOOD(name)                                                             \
  extern "C" __global__ void __cluster_dims__(2, 1, 1)                         \
      name##_good(const int *x, int *y)

INLINE int loadCluster(unsigned address) {
  int v;
  asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(address));
  return v;
}

// A barrier of the block where one of the cluster is needed.
template <bool Whole> INLINE void exchange(const int *x, int *y) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = 0;
  clusterSync();
  s[t] = x[t]; // FAULT blockBarrierOnly
  if (Whole)
    clusterSync();
  else
    __syncthreads();
  unsigned there = mapShared(&s[255 - t], clusterRank() ^ 1);
  int v;
  asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(there)); // FAULT blockBarrierOnly
  y[blockIdx.x * 256 + t] = v;
  clusterSync();
}
TWIN(blockBarrierOnly) { exchange<false>(x, y); }
GOOD(blockBarrierOnly) { exchange<true>(x, y); }

// The other block's memory is read before that block has written it.
template <bool Sync> INLINE void readEarly(const int *x, int *y) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = x[t];
  if (Sync)
    clusterSync();
  unsigned there = mapShared(&s[t], clusterRank() ^ 1);
  int v;
  asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(there)); // FAULT readBeforeBegin
  y[blockIdx.x * 256 + t] = v;
  clusterSync();
}
TWIN(readBeforeBegin) { readEarly<false>(x, y); }
GOOD(readBeforeBegin) { readEarly<true>(x, y); }

// A block ends while another still reads its memory.
template <bool Hold> INLINE void leave(const int *x, int *y) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = x[t];
  clusterSync();
  if (clusterRank() == 1) {
    unsigned there = mapShared(&s[t], 0);
    int v;
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(there)); // FAULT blockEnded
    y[t] = v;
  }
  if (Hold)
    clusterSync();
}
TWIN(blockEnded) { leave<false>(x, y); }
GOOD(blockEnded) { leave<true>(x, y); }

// An arrival at an mbarrier that its block may not have set up yet.
template <bool Sync> INLINE void arriveEarly(int *y) {
  __shared__ uint64_t b;
  if (threadIdx.x == 0 && clusterRank() == 1)
    barrierInit(&b, 256);
  if (Sync)
    clusterSync();
  if (clusterRank() == 0)
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapShared(&b, 1)) : "memory"); // FAULT barrierNotReady
  else {
    __syncthreads();
    barrierWaitCluster(&b, 0);
  }
  y[blockIdx.x * 256 + threadIdx.x] = 1;
  clusterSync();
}
TWIN(barrierNotReady) { arriveEarly<false>(y); }
GOOD(barrierNotReady) { arriveEarly<true>(y); }

// A multicast copy of which one block expects too few bytes.
INLINE void multicast(const int *x, int *y, int expect) {
  __shared__ __align__(128) int s[256];
  __shared__ uint64_t full;
  unsigned rank = clusterRank();
  if (threadIdx.x == 0) {
    barrierInit(&full, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    barrierExpect(&full, rank == 1 ? expect : 1024);
  }
  clusterSync();
  if (threadIdx.x == 0 && rank == 0)
    for (int half = 0; half < 2; half++)
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx"
                   "::bytes.multicast::cluster [%0], [%1], 512, [%2], %3;" ::
                       "r"(shared(s + 128 * half)),
                   "l"(x + 128 * half), "r"(shared(&full)),
                   "h"((unsigned short)3)
                   : "memory");
  barrierWait(&full, 0);
  y[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x]; // FAULT multicastTooFew
  clusterSync();
}
TWIN(multicastTooFew) { multicast(x, y, 512); }
GOOD(multicastTooFew) { multicast(x, y, 1024); }

// One block waits for an arrival that the other never makes.
template <bool Arrive> INLINE void handOver(int *y) {
  __shared__ uint64_t b;
  if (threadIdx.x == 0)
    barrierInit(&b, 256);
  clusterSync();
  if (clusterRank() == 0)
    asm volatile("{\n.reg .pred p;\nAGAIN:\n"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0;\n"
                 "@!p bra AGAIN;\n}" ::"r"(shared(&b)) : "memory"); // FAULT neverHandedOver
  else if (Arrive)
    arriveCluster(mapShared(&b, 0));
  y[blockIdx.x * 256 + threadIdx.x] = 1;
  clusterSync();
}
TWIN(neverHandedOver) { handOver<false>(y); }
GOOD(neverHandedOver) { handOver<true>(y); }

// An address of another block in an instruction on the block's own memory.
TWIN(mappedAsOwn) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = x[t];
  clusterSync();
  int v;
  asm volatile("ld.shared.s32 %0, [%1];" : "=r"(v) : "r"(mapShared(&s[t], clusterRank() ^ 1))); // FAULT mappedAsOwn
  y[blockIdx.x * 256 + t] = v;
  clusterSync();
}
GOOD(mappedAsOwn) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = x[t];
  clusterSync();
  y[blockIdx.x * 256 + t] = loadCluster(mapShared(&s[t], clusterRank() ^ 1));
  clusterSync();
}
