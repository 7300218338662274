// cp.async that report to an mbarrier: 128 threads bring pieces of 16 bytes, in
// rounds, and all wait for all; with and without .noinc.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdint.h>
template <bool NoIncrement>
static __device__ void copyArrive(const int *x, int *y, int rounds) {
  __shared__ __align__(16) int s[2][512];
  __shared__ __align__(8) uint64_t barrier;
  uint32_t b = (uint32_t)__cvta_generic_to_shared(&barrier);
  int t = threadIdx.x, sum = 0;
  if (t == 0)
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(b), "r"(128)
                 : "memory");
  __syncthreads();
  for (int r = 0; r < rounds; r++) {
    uint32_t to = (uint32_t)__cvta_generic_to_shared(&s[r & 1][4 * t]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to),
                 "l"(x + r * 512 + 4 * t)
                 : "memory");
    if (NoIncrement)
      asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(b)
                   : "memory");
    else
      asm volatile("{\n.reg .b64 t;\n"
                   "cp.async.mbarrier.arrive.shared.b64 [%0];\n"
                   "mbarrier.arrive.shared.b64 t, [%0];\n}" ::"r"(b)
                   : "memory");
    asm volatile("{\n.reg .pred p;\nAGAIN:\n"
                 "mbarrier.test_wait.parity.shared.b64 p, [%0], %1;\n"
                 "@!p bra AGAIN;\n}" ::"r"(b),
                 "r"(r & 1)
                 : "memory");
    for (int i = 0; i < 4; i++)
      sum += s[r & 1][(t * 4 + i) * 7 % 512];
  }
  y[t] = sum;
}
extern "C" __global__ void copyArriveNoinc(const int *x, int *y, int rounds) {
  copyArrive<true>(x, y, rounds);
}
extern "C" __global__ void copyArriveCounted(const int *x, int *y, int rounds) {
  copyArrive<false>(x, y, rounds);
}
