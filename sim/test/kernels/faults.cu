// Planted bugs, each beside its repaired twin. The line that the simulator
// must name carries the mark FAULT and the bug's name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdint.h>
#define TWIN(name, ...)                                                        \
  extern "C" __global__ void name##_bad(__VA_ARGS__)
#define GOOD(name, ...)                                                        \
  extern "C" __global__ void name##_good(__VA_ARGS__)

TWIN(missingBarrier, const int *x, int *y) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = 0;
  __syncthreads();
  s[t] = x[t]; // FAULT missingBarrier
  y[t] = s[255 - t]; // FAULT missingBarrier
}
GOOD(missingBarrier, const int *x, int *y) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  y[t] = s[255 - t];
}

TWIN(reuse, const int *x, int *y) {
  __shared__ int s[256];
  int t = threadIdx.x, sum = 0;
  for (int r = 0; r < 3; r++) {
    s[t] = x[t] + r; // FAULT reuse
    __syncthreads();
    sum += s[255 - t]; // FAULT reuse
  }
  y[t] = sum;
}
GOOD(reuse, const int *x, int *y) {
  __shared__ int s[256];
  int t = threadIdx.x, sum = 0;
  for (int r = 0; r < 3; r++) {
    s[t] = x[t] + r;
    __syncthreads();
    sum += s[255 - t];
    __syncthreads();
  }
  y[t] = sum;
}

TWIN(beyondGlobal, const int *x, int *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n)
    y[i] = 1; // FAULT beyondGlobal
}
GOOD(beyondGlobal, const int *x, int *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 1;
}

TWIN(beyondShared, const int *x, int *y) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t + x[0]] = t; // FAULT beyondShared
  __syncthreads();
  y[t] = s[t];
}
GOOD(beyondShared, const int *x, int *y) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = x[0] + t;
  __syncthreads();
  y[t] = s[t];
}

TWIN(unwrittenShared, const int *x, int *y) {
  __shared__ int s[257];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  y[t] = s[t + 1]; // FAULT unwrittenShared
}
GOOD(unwrittenShared, const int *x, int *y) {
  __shared__ int s[257];
  int t = threadIdx.x;
  s[t] = x[t];
  if (t == 0)
    s[256] = 0;
  __syncthreads();
  y[t] = s[t + 1];
}

TWIN(unwrittenGlobal, const int *x, int *y) {
  y[threadIdx.x] += x[threadIdx.x]; // FAULT unwrittenGlobal
}
GOOD(unwrittenGlobal, const int *x, int *y) {
  y[threadIdx.x] = x[threadIdx.x];
}

TWIN(misaligned, const int *x, int *y) {
  int4 v = *(const int4 *)(x + threadIdx.x); // FAULT misaligned
  y[threadIdx.x] = v.x + v.y + v.z + v.w;
}
GOOD(misaligned, const int *x, int *y) {
  int4 v = *(const int4 *)(x + threadIdx.x / 8 * 4);
  y[threadIdx.x] = v.x + v.y + v.z + v.w;
}

TWIN(divergentBarrier, const int *x, int *y) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = x[t];
  if (x[t] & 1)
    asm volatile("bar.sync 0;" ::: "memory"); // FAULT divergentBarrier
  y[t] = s[t];
}
GOOD(divergentBarrier, const int *x, int *y) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = x[t];
  asm volatile("bar.sync 0;" ::: "memory");
  y[t] = s[t];
}

TWIN(blocksWrite, const int *x, int *y) {
  y[threadIdx.x] = x[threadIdx.x] + blockIdx.x; // FAULT blocksWrite
}
GOOD(blocksWrite, const int *x, int *y) {
  if (blockIdx.x == 0)
    y[threadIdx.x] = x[threadIdx.x];
}

TWIN(blocksRead, const int *x, int *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  y[i] = x[i % 256]; // FAULT blocksRead
  __threadfence();
  y[n + i] = y[n - 1 - i]; // FAULT blocksRead
}
GOOD(blocksRead, const int *x, int *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  y[i] = x[i % 256];
  y[n + i] = y[i];
}

TWIN(missingWait, const int *x, int *y) {
  __shared__ __align__(16) int s[1024];
  int t = threadIdx.x;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   (uint32_t)__cvta_generic_to_shared(s + 4 * t)),
               "l"(x + 4 * (t & 63)));
  asm volatile("cp.async.commit_group;");
  __syncthreads();
  y[t] = s[1023 - 4 * t]; // FAULT missingWait
  asm volatile("cp.async.wait_all;" ::: "memory");
}
GOOD(missingWait, const int *x, int *y) {
  __shared__ __align__(16) int s[1024];
  int t = threadIdx.x;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   (uint32_t)__cvta_generic_to_shared(s + 4 * t)),
               "l"(x + 4 * (t & 63)));
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  y[t] = s[1023 - 4 * t];
}

TWIN(stageReuse, const int *x, int *y) {
  __shared__ __align__(16) int s[1024];
  int t = threadIdx.x, sum = 0;
  for (int r = 0; r < 3; r++) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(s + 4 * t)),
                 "l"(x + 4 * (t & 63)));
    asm volatile("cp.async.wait_all;" ::: "memory"); // FAULT stageReuse
    __syncthreads();
    sum += s[1023 - 4 * t]; // FAULT stageReuse
  }
  y[t] = sum;
}
GOOD(stageReuse, const int *x, int *y) {
  __shared__ __align__(16) int s[1024];
  int t = threadIdx.x, sum = 0;
  for (int r = 0; r < 3; r++) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(s + 4 * t)),
                 "l"(x + 4 * (t & 63)));
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    sum += s[1023 - 4 * t];
    __syncthreads();
  }
  y[t] = sum;
}

TWIN(missingSyncwarp, const int *x, int *y) {
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t < 32) {
    s[t] = x[t];
    y[t] = s[31 - t]; // FAULT missingSyncwarp
  }
}
GOOD(missingSyncwarp, const int *x, int *y) {
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t < 32) {
    s[t] = x[t];
    __syncwarp();
    y[t] = s[31 - t];
  }
}

TWIN(plainCount, const int *x, int *y) {
  __shared__ int bins[4];
  int t = threadIdx.x;
  if (t < 4)
    bins[t] = 0;
  __syncthreads();
  bins[x[t] & 3]++; // FAULT plainCount
  __syncthreads();
  if (t < 4)
    y[t] = bins[t];
}
GOOD(plainCount, const int *x, int *y) {
  __shared__ int bins[4];
  int t = threadIdx.x;
  if (t < 4)
    bins[t] = 0;
  __syncthreads();
  atomicAdd(&bins[x[t] & 3], 1);
  __syncthreads();
  if (t < 4)
    y[t] = bins[t];
}

__device__ unsigned tickets[2];
TWIN(missingFence, const int *x, int *y) {
  if (threadIdx.x)
    return;
  y[blockIdx.x] = x[blockIdx.x];
  if (atomicAdd(&tickets[0], 1) == gridDim.x - 1) {
    int s = 0;
    for (int i = 0; i < gridDim.x; i++)
      s += y[i]; // FAULT missingFence
    y[gridDim.x] = s;
  }
}
GOOD(missingFence, const int *x, int *y) {
  if (threadIdx.x)
    return;
  y[blockIdx.x] = x[blockIdx.x];
  __threadfence();
  if (atomicAdd(&tickets[1], 1) == gridDim.x - 1) {
    __threadfence();
    int s = 0;
    for (int i = 0; i < gridDim.x; i++)
      s += y[i];
    y[gridDim.x] = s;
  }
}

TWIN(inactiveShuffle, const int *x, int *y) {
  int t = threadIdx.x, v = x[t];
  if (t < 16)
    v = __shfl_down_sync(0xffff, v, 1, 32); // FAULT inactiveShuffle
  y[t] = v;
}
GOOD(inactiveShuffle, const int *x, int *y) {
  int t = threadIdx.x, v = x[t];
  if (t < 16)
    v = __shfl_down_sync(0xffff, v, 1, 16);
  y[t] = v;
}

TWIN(deadlock, const int *x, int *y) {
  if (threadIdx.x < 32)
    asm volatile("bar.sync 1, 64;" ::: "memory"); // FAULT deadlock
  y[threadIdx.x] = x[threadIdx.x];
}
GOOD(deadlock, const int *x, int *y) {
  if (threadIdx.x < 64)
    asm volatile("bar.sync 1, 64;" ::: "memory");
  y[threadIdx.x] = x[threadIdx.x];
}

TWIN(nullPointer, const int *x, int *y) {
  int *p = (int *)(size_t)(x[1] * 4);
  p[threadIdx.x] = 1; // FAULT nullPointer
}
GOOD(nullPointer, const int *x, int *y) {
  int *p = x[1] ? y : (int *)(size_t)x[2];
  p[threadIdx.x] = 1;
}

TWIN(trap, const int *x, int *y) {
  if (x[threadIdx.x] == 7)
    __trap(); // FAULT trap
  y[threadIdx.x] = 0;
}
GOOD(trap, const int *x, int *y) {
  if (x[threadIdx.x] == -7)
    __trap();
  y[threadIdx.x] = 0;
}

TWIN(endless, const int *x, int *y) {
  volatile int *flag = y;
  flag[0] = x[0];
  while (flag[0]) // FAULT endless
    ;
}
GOOD(endless, const int *x, int *y) {
  volatile int *flag = y;
  flag[threadIdx.x] = 0;
  while (flag[threadIdx.x])
    ;
}

__device__ __noinline__ int deep(int n, const int *x) {
  volatile int pad[64];
  pad[n & 63] = n;
  return x[0] > n ? pad[n & 63] : deep(n + 1, x) + pad[n & 63]; // FAULT overflow
}
TWIN(overflow, const int *x, int *y) {
  y[threadIdx.x] = deep(x[0], x);
}
GOOD(overflow, const int *x, int *y) {
  y[threadIdx.x] = deep(x[0] - 5, x);
}

TWIN(copyInFlight, const int *x, int *y) {
  __shared__ __align__(16) int s[1024];
  int t = threadIdx.x;
  y[t] = t;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   (uint32_t)__cvta_generic_to_shared(s + 4 * t)),
               "l"(x + 4 * (t & 63)));
} // FAULT copyInFlight
GOOD(copyInFlight, const int *x, int *y) {
  __shared__ __align__(16) int s[1024];
  int t = threadIdx.x;
  y[t] = t;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   (uint32_t)__cvta_generic_to_shared(s + 4 * t)),
               "l"(x + 4 * (t & 63)));
  asm volatile("cp.async.wait_all;" ::: "memory");
}

TWIN(beyondLocal, const int *x, int *y) {
  volatile int a[8];
  for (int i = 0; i < 8; i++)
    a[i] = x[i];
  y[threadIdx.x] = a[x[threadIdx.x] * 1000]; // FAULT beyondLocal
}
GOOD(beyondLocal, const int *x, int *y) {
  volatile int a[8];
  for (int i = 0; i < 8; i++)
    a[i] = x[i];
  y[threadIdx.x] = a[x[threadIdx.x] & 7];
}

__constant__ int table[4] = {1, 2, 3, 4};
TWIN(constantWrite, const int *x, int *y) {
  int *p = x[0] ? (int *)table : y;
  p[threadIdx.x & 3] = 5; // FAULT constantWrite
}
GOOD(constantWrite, const int *x, int *y) {
  y[threadIdx.x] = table[x[threadIdx.x] & 3];
}

TWIN(badSourceSize, const int *x, int *y) {
  __shared__ __align__(16) int s[1024];
  int t = threadIdx.x;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   (uint32_t)__cvta_generic_to_shared(s + 4 * t)),
               "l"(x + 4 * (t & 63)), "r"(x[0] * 20)); // FAULT badSourceSize
  asm volatile("cp.async.wait_all;" ::: "memory");
  y[t] = s[4 * t];
}
GOOD(badSourceSize, const int *x, int *y) {
  __shared__ __align__(16) int s[1024];
  int t = threadIdx.x;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   (uint32_t)__cvta_generic_to_shared(s + 4 * t)),
               "l"(x + 4 * (t & 63)), "r"(x[0] * 16));
  asm volatile("cp.async.wait_all;" ::: "memory");
  y[t] = s[4 * t];
}
