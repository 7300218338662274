// Planted bugs of asynchronous copies, mbarriers and wgmma, each beside its
// repaired twin; the line that must be named carries FAULT and the bug's name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hopper.h"
#define TWIN(name) extern "C" __global__ void name##_bad(const int *x, int *y)
#define GOOD(name) extern "C" __global__ void name##_good(const int *x, int *y)

// One copy of 1 KiB that all threads wait for.
INLINE void loadAll(int *s, uint64_t *b, const int *x, int expect, int parity) {
  if (threadIdx.x == 0) {
    barrierInit(b, 1);
    fenceAsync();
    barrierExpect(b, expect);
    bulkLoad(s, x, 512, b);
    bulkLoad(s + 128, x + 128, 512, b);
  }
  __syncthreads();
  barrierWait(b, parity);
}

TWIN(wrongParity) {
  __shared__ __align__(128) int s[256];
  __shared__ uint64_t b;
  loadAll(s, &b, x, 1024, 1);
  y[threadIdx.x] = s[255 - threadIdx.x]; // FAULT wrongParity
}
GOOD(wrongParity) {
  __shared__ __align__(128) int s[256];
  __shared__ uint64_t b;
  loadAll(s, &b, x, 1024, 0);
  y[threadIdx.x] = s[255 - threadIdx.x];
}

TWIN(expectTooFew) {
  __shared__ __align__(128) int s[256];
  __shared__ uint64_t b;
  loadAll(s, &b, x, 512, 0);
  y[threadIdx.x] = s[255 - threadIdx.x]; // FAULT expectTooFew
}
GOOD(expectTooFew) {
  __shared__ __align__(128) int s[256];
  __shared__ uint64_t b;
  loadAll(s, &b, x, 1024, 0);
  y[threadIdx.x] = s[255 - threadIdx.x];
}

INLINE void expectSome(const int *x, int *y, int bytes) {
  __shared__ __align__(128) int s[256];
  __shared__ uint64_t b;
  if (threadIdx.x == 0) {
    barrierInit(&b, 1);
    fenceAsync();
    barrierExpect(&b, bytes);
    bulkLoad(s, x, 1024, &b);
  }
  __syncthreads();
  asm volatile("{\n.reg .pred p;\nAGAIN:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n"
               "@!p bra AGAIN;\n}" ::"r"(shared(&b)) : "memory"); // FAULT expectTooMany
  y[threadIdx.x] = s[threadIdx.x];
}
TWIN(expectTooMany) { expectSome(x, y, 2048); }
GOOD(expectTooMany) { expectSome(x, y, 1024); }

// A ring of two stages; the producer may forget that stages are reused.
template <bool Recycle> INLINE void ring(const int *x, int *y) {
  __shared__ __align__(128) int s[2][64];
  __shared__ uint64_t full[2], empty[2];
  int t = threadIdx.x, sum = 0;
  if (t == 0) {
    for (int i = 0; i < 2; i++) {
      barrierInit(&full[i], 1);
      barrierInit(&empty[i], 64);
    }
    fenceAsync();
  }
  __syncthreads();
  if (t == 128)
    for (int r = 0; r < 4; r++) {
      if (Recycle && r >= 2)
        barrierWait(&empty[r & 1], (r / 2 - 1) & 1);
      barrierExpect(&full[r & 1], 256);
      bulkLoad(s[r & 1], x + 64 * r, 256, &full[r & 1]); // FAULT missingRecycling
    }
  if (t < 64) {
    for (int r = 0; r < 4; r++) {
      barrierWait(&full[r & 1], r / 2 & 1);
      sum += s[r & 1][63 - t]; // FAULT missingRecycling
      barrierArrive(&empty[r & 1]);
    }
    y[t] = sum;
  }
}
TWIN(missingRecycling) { ring<false>(x, y); }
GOOD(missingRecycling) { ring<true>(x, y); }

TWIN(missingProxyFence) {
  __shared__ __align__(128) int s[256];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(y),
        "r"(shared(s)) : "memory"); // FAULT missingProxyFence
    bulkCommit();
    bulkWait();
  }
}
GOOD(missingProxyFence) {
  __shared__ __align__(128) int s[256];
  s[threadIdx.x] = x[threadIdx.x];
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulkStore(y, s, 1024);
    bulkCommit();
    bulkWait();
  }
}

TWIN(storeInFlight) {
  __shared__ __align__(128) int s[256];
  s[threadIdx.x] = x[threadIdx.x];
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(y),
        "r"(shared(s)) : "memory"); // FAULT storeInFlight
    bulkCommit();
  }
}
GOOD(storeInFlight) {
  __shared__ __align__(128) int s[256];
  s[threadIdx.x] = x[threadIdx.x];
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulkStore(y, s, 1024);
    bulkCommit();
    bulkWait();
  }
}

// The buffer is written again while a bulk store may still read it.
TWIN(storeOverwritten) {
  __shared__ __align__(128) int s[256];
  s[threadIdx.x] = x[threadIdx.x];
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(y),
        "r"(shared(s)) : "memory"); // FAULT storeOverwritten
    bulkCommit();
  }
  __syncthreads();
  s[threadIdx.x] = 0; // FAULT storeOverwritten
  if (threadIdx.x == 0)
    bulkWait();
  __syncthreads();
  y[256 + threadIdx.x] = s[threadIdx.x];
}
GOOD(storeOverwritten) {
  __shared__ __align__(128) int s[256];
  s[threadIdx.x] = x[threadIdx.x];
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulkStore(y, s, 1024);
    bulkCommit();
    bulkWait();
  }
  __syncthreads();
  s[threadIdx.x] = 0;
  __syncthreads();
  y[256 + threadIdx.x] = s[threadIdx.x];
}

// Both operands are 64 x 16 zeros and ones in one place.
INLINE uint64_t operand(const int *x) {
  __shared__ __align__(1024) __nv_bfloat16 tile[64 * 64];
  for (int i = threadIdx.x; i < 64 * 64; i += 256)
    tile[i] = __float2bfloat16((float)(x[i & 255] & 1));
  fenceAsync();
  __syncthreads();
  return descriptor(tile);
}
#define MMA(d, a)                                                              \
  mma64x64x16(d, a, a, 0)

TWIN(missingMmaWait) {
  uint64_t a = operand(x);
  float d[32] = {};
  mmaFence();
  MMA(d, a);
  mmaCommit();
  y[threadIdx.x] = (int)d[5]; // FAULT missingMmaWait
  mmaWait<0>();
}
GOOD(missingMmaWait) {
  uint64_t a = operand(x);
  float d[32] = {};
  mmaFence();
  MMA(d, a);
  mmaCommit();
  mmaWait<0>();
  y[threadIdx.x] = (int)d[5];
}

INLINE void product(const int *x, int *y, bool fence) {
  uint64_t a = operand(x);
  float d[32] = {};
  if (fence)
    mmaFence();
  MMA(d, a); // FAULT missingMmaFence
  mmaCommit();
  mmaWait<0>();
  y[threadIdx.x] = (int)d[5];
}
TWIN(missingMmaFence) { product(x, y, false); }
GOOD(missingMmaFence) { product(x, y, true); }

// Operands are overwritten although the product that reads them is not done.
template <bool Wait> INLINE void reuseOperand(const int *x, int *y) {
  __shared__ __align__(1024) __nv_bfloat16 tile[64 * 64];
  int t = threadIdx.x;
  for (int i = t; i < 64 * 64; i += 256)
    tile[i] = __float2bfloat16((float)(x[i & 255] & 1));
  fenceAsync();
  __syncthreads();
  float d[32] = {};
  mmaFence();
  MMA(d, descriptor(tile)); // FAULT earlyReuse
  mmaCommit();
  if (Wait)
    mmaWait<0>();
  __syncthreads();
  tile[t] = __float2bfloat16(2.f); // FAULT earlyReuse
  mmaWait<0>();
  y[t] = (int)d[5];
}
TWIN(earlyReuse) { reuseOperand<false>(x, y); }
GOOD(earlyReuse) { reuseOperand<true>(x, y); }

// One warp fewer than a named barrier counts.
INLINE void meet(const int *x, int *y, int count) {
  __shared__ int s[128];
  int t = threadIdx.x;
  if (t < 128) {
    s[t] = x[t];
    asm volatile("bar.sync 3, %0;" ::"r"(count) : "memory"); // FAULT wrongCount
    y[t] = s[127 - t];
  }
}
TWIN(wrongCount) { meet(x, y, 160); }
GOOD(wrongCount) { meet(x, y, 128); }

// The consumer goes on when the producer has only started (bar.arrive by the
// wrong side).
template <bool Right> INLINE void handOver(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < 64) {
    if (!Right)
      asm volatile("bar.arrive 2, 128;" ::: "memory");
    s[t] = x[t]; // FAULT earlyArrive
    if (Right)
      asm volatile("bar.arrive 2, 128;" ::: "memory");
  } else if (t < 128) {
    asm volatile("bar.sync 2, 128;" ::: "memory");
    y[t - 64] = s[127 - t]; // FAULT earlyArrive
  }
}
TWIN(earlyArrive) { handOver<false>(x, y); }
GOOD(earlyArrive) { handOver<true>(x, y); }
