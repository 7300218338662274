// Inline PTX of sm_90 that the kernels here share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cuda_bf16.h>
#include <stdint.h>

#define INLINE static __device__ __forceinline__

INLINE uint32_t shared(const void *p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}
INLINE void barrierInit(uint64_t *b, int n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(b)),
               "r"(n)
               : "memory");
}
INLINE void barrierExpect(uint64_t *b, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   shared(b)),
               "r"(bytes)
               : "memory");
}
INLINE void barrierArrive(uint64_t *b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared(b))
               : "memory");
}
INLINE void barrierWait(uint64_t *b, int parity) {
  asm volatile("{\n.reg .pred p;\nAGAIN:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
               "@!p bra AGAIN;\n}" ::"r"(shared(b)),
               "r"(parity)
               : "memory");
}
INLINE void fenceAsync() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
INLINE void bulkLoad(void *to, const void *from, int bytes, uint64_t *b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
               "bytes [%0], [%1], %2, [%3];" ::"r"(shared(to)),
               "l"(from), "r"(bytes), "r"(shared(b))
               : "memory");
}
INLINE void bulkStore(void *to, const void *from, int bytes) {
  asm volatile(
      "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
      "r"(shared(from)), "r"(bytes)
      : "memory");
}
INLINE void tensorLoad(void *to, const void *map, int x, int y, uint64_t *b) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
               "complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                   shared(to)),
               "l"(map), "r"(x), "r"(y), "r"(shared(b))
               : "memory");
}
INLINE void tensorStore(const void *map, int x, int y, const void *from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group "
               "[%0, {%1, %2}], [%3];" ::"l"(map),
               "r"(x), "r"(y), "r"(shared(from))
               : "memory");
}
INLINE void bulkCommit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
INLINE void bulkWait() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
INLINE void mmaFence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
INLINE void mmaCommit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int N> INLINE void mmaWait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
// A matrix whose lines of 128 bytes lie under the 128-byte swizzle.
INLINE uint64_t descriptor(const void *p) {
  return (uint64_t)(shared(p) >> 4) | (uint64_t)1 << 16 |
         (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}
INLINE void mma64x64x16(float *d, uint64_t a, uint64_t b, int keep) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "
      "%30, %31}, %32, %33, p, 1, 1, 0, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
        "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]),
        "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]),
        "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]),
        "+f"(d[31])
      : "l"(a), "l"(b), "r"(keep));
}

// Clusters.
INLINE unsigned clusterRank() {
  unsigned r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
INLINE void clusterSync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n"
               "barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
INLINE unsigned mapShared(const void *p, unsigned rank) {
  unsigned a;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(a)
               : "r"(shared(p)), "r"(rank));
  return a;
}
INLINE void arriveCluster(unsigned barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::
                   "r"(barrier)
               : "memory");
}
INLINE void barrierWaitCluster(uint64_t *b, int parity) {
  asm volatile("{\n.reg .pred p;\nAGAIN:\n"
               "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, "
               "[%0], %1;\n@!p bra AGAIN;\n}" ::"r"(shared(b)),
               "r"(parity)
               : "memory");
}
