// Two warps hand buffers to each other through mbarriers in a ring of two
// stages; the second kernel waits for the wrong parity and never goes on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdint.h>
__device__ __forceinline__ void init(uint32_t b, int n) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(b), "r"(n) : "memory");
}
__device__ __forceinline__ void arrive(uint32_t b) {
  asm volatile("{\n.reg .b64 t;\nmbarrier.arrive.shared.b64 t, [%0];\n}" ::"r"(b)
               : "memory");
}
__device__ __forceinline__ void wait(uint32_t b, int parity) {
  asm volatile("{\n.reg .pred p;\nAGAIN:\n"
               "mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n"
               "@!p bra AGAIN;\n}" ::"r"(b), "r"(parity)
               : "memory");
}
__device__ __forceinline__ void ring(const int *x, int *y, int rounds,
                                     int wrong) {
  __shared__ int buffer[2][32];
  __shared__ __align__(8) uint64_t full[2], empty[2];
  uint32_t f = (uint32_t)__cvta_generic_to_shared(full);
  uint32_t e = (uint32_t)__cvta_generic_to_shared(empty);
  int lane = threadIdx.x & 31;
  if (threadIdx.x == 0)
    for (int i = 0; i < 2; i++) {
      init(f + 8 * i, 32);
      init(e + 8 * i, 32);
    }
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int r = 0; r < rounds; r++) {
      int s = r & 1;
      if (r >= 2)
        wait(e + 8 * s, (r / 2 - 1) & 1);
      buffer[s][lane] = x[r * 32 + lane];
      arrive(f + 8 * s);
    }
  } else {
    int sum = 0;
    for (int r = 0; r < rounds; r++) {
      int s = r & 1;
      wait(f + 8 * s, (r / 2 + wrong) & 1);
      sum += buffer[s][31 - lane];
      arrive(e + 8 * s);
    }
    y[lane] = sum;
  }
}
extern "C" __global__ void ringGood(const int *x, int *y, int rounds) {
  ring(x, y, rounds, 0);
}
extern "C" __global__ void ringWrong(const int *x, int *y, int rounds) {
  ring(x, y, rounds, 1);
}
