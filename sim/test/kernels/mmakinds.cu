// One product of 16 x 8 by each kind of mma.sync: tf32, signed bytes, f16 with
// f16 sums, f64; fragments are filled from row-major A and column-major B.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cuda_fp16.h>
#include <stdint.h>
extern "C" __global__ void mmaTf32(const float *A, const float *B, float *C,
                                   int K) {
  int l = threadIdx.x, g = l >> 2, t = l & 3;
  float d[4] = {};
  for (int k = 0; k < K; k += 8) {
    uint32_t a[4], b[2];
    for (int i = 0; i < 4; i++)
      asm("cvt.rna.tf32.f32 %0, %1;"
          : "=r"(a[i])
          : "f"(A[(g + (i & 1) * 8) * K + k + t + (i >> 1) * 4]));
    for (int i = 0; i < 2; i++)
      asm("cvt.rna.tf32.f32 %0, %1;"
          : "=r"(b[i])
          : "f"(B[g * K + k + t + i * 4]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                   "r"(b[1]));
  }
  for (int i = 0; i < 4; i++)
    C[(g + (i >> 1) * 8) * 8 + t * 2 + (i & 1)] = d[i];
}
extern "C" __global__ void mmaBytes(const int8_t *A, const int8_t *B, int *C,
                                    int K) {
  int l = threadIdx.x, g = l >> 2, t = l & 3;
  int d[4] = {};
  for (int k = 0; k < K; k += 32) {
    uint32_t a[4], b[2];
    for (int i = 0; i < 4; i++)
      a[i] = *(const uint32_t *)(A + (g + (i & 1) * 8) * K + k + t * 4 +
                                 (i >> 1) * 16);
    for (int i = 0; i < 2; i++)
      b[i] = *(const uint32_t *)(B + g * K + k + t * 4 + i * 16);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                   "r"(b[1]));
  }
  for (int i = 0; i < 4; i++)
    C[(g + (i >> 1) * 8) * 8 + t * 2 + (i & 1)] = d[i];
}
extern "C" __global__ void mmaHalf(const __half *A, const __half *B, __half *C,
                                   int K) {
  int l = threadIdx.x, g = l >> 2, t = l & 3;
  uint32_t d[2] = {};
  for (int k = 0; k < K; k += 16) {
    uint32_t a[4], b[2];
    for (int i = 0; i < 4; i++)
      a[i] = *(const uint32_t *)(A + (g + (i & 1) * 8) * K + k + t * 2 +
                                 (i >> 1) * 8);
    for (int i = 0; i < 2; i++)
      b[i] = *(const uint32_t *)(B + g * K + k + t * 2 + i * 8);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
                 "{%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                   "r"(b[1]));
  }
  *(uint32_t *)(C + g * 8 + t * 2) = d[0];
  *(uint32_t *)(C + (g + 8) * 8 + t * 2) = d[1];
}
extern "C" __global__ void mmaDouble(const double *A, const double *B,
                                     double *C, int K) {
  int l = threadIdx.x, g = l >> 2, t = l & 3;
  double d[2] = {};
  for (int k = 0; k < K; k += 4)
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, "
                 "{%2}, {%3}, {%0,%1};"
                 : "+d"(d[0]), "+d"(d[1])
                 : "d"(A[g * K + k + t]), "d"(B[g * K + k + t]));
  C[g * 8 + t * 2] = d[0];
  C[g * 8 + t * 2 + 1] = d[1];
}
