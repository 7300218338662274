// bf16 matrix product with mma.sync, ldmatrix and a two-stage cp.async pipeline; tiles of 64 x 64 x 32, four warps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cuda_bf16.h>
#include <stdint.h>
extern "C" __global__ void mmagemm(const __nv_bfloat16 *A,
                                   const __nv_bfloat16 *B, float *C, int M,
                                   int N, int K) {
  __shared__ __align__(16) __nv_bfloat16 sA[2][64 * 40];
  __shared__ __align__(16) __nv_bfloat16 sB[2][32 * 72];
  int t = threadIdx.x, lane = t & 31, w = t >> 5;
  int wm = (w & 1) * 32, wn = (w >> 1) * 32;
  int m0 = blockIdx.y * 64, n0 = blockIdx.x * 64;
  uint32_t as = (uint32_t)__cvta_generic_to_shared(sA);
  uint32_t bs = (uint32_t)__cvta_generic_to_shared(sB);
  float acc[2][4][4];
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int j = 0; j < 4; j++)
#pragma unroll
      for (int e = 0; e < 4; e++)
        acc[i][j][e] = 0.f;
  auto load = [&](int k0, int st) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      int c = t + i * 128, r = c >> 2, q = (c & 3) * 8;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                       as + st * 64 * 40 * 2 + (r * 40 + q) * 2),
                   "l"(A + (size_t)(m0 + r) * K + k0 + q));
      int rb = c >> 3, qb = (c & 7) * 8;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                       bs + st * 32 * 72 * 2 + (rb * 72 + qb) * 2),
                   "l"(B + (size_t)(k0 + rb) * N + n0 + qb));
    }
    asm volatile("cp.async.commit_group;");
  };
  load(0, 0);
  for (int k0 = 0, st = 0; k0 < K; k0 += 32, st ^= 1) {
    if (k0 + 32 < K) {
      load(k0 + 32, st ^ 1);
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    uint32_t a0 = as + st * 64 * 40 * 2, b0 = bs + st * 32 * 72 * 2;
#pragma unroll
    for (int kk = 0; kk < 32; kk += 16) {
      uint32_t a[2][4], b[4][2];
#pragma unroll
      for (int i = 0; i < 2; i++)
        asm volatile(
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
            : "=r"(a[i][0]), "=r"(a[i][1]), "=r"(a[i][2]), "=r"(a[i][3])
            : "r"(a0 + ((wm + i * 16 + (lane & 15)) * 40 + kk +
                        (lane >> 4) * 8) * 2));
#pragma unroll
      for (int j = 0; j < 4; j++)
        asm volatile(
            "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
            : "=r"(b[j][0]), "=r"(b[j][1])
            : "r"(b0 + ((kk + (lane & 15)) * 72 + wn + j * 8) * 2));
#pragma unroll
      for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
          asm volatile(
              "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
              "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
              : "+f"(acc[i][j][0]), "+f"(acc[i][j][1]), "+f"(acc[i][j][2]),
                "+f"(acc[i][j][3])
              : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]),
                "r"(b[j][0]), "r"(b[j][1]));
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      int r = m0 + wm + i * 16 + (lane >> 2);
      int c = n0 + wn + j * 8 + (lane & 3) * 2;
      C[(size_t)r * N + c] = acc[i][j][0];
      C[(size_t)r * N + c + 1] = acc[i][j][1];
      C[(size_t)(r + 8) * N + c] = acc[i][j][2];
      C[(size_t)(r + 8) * N + c + 1] = acc[i][j][3];
    }
}
