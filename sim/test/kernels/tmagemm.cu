// bf16 matrix product as sm_90a does it: a producer warpgroup brings tiles of
// 64 x 64 through a ring of three stages by tensor copies, a consumer
// warpgroup multiplies them with wgmma and stores the result by a tensor copy.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hopper.h"
#include <cuda.h>

constexpr int STAGES = 3, TILE = 64 * 64;
struct __align__(1024) Memory {
  __nv_bfloat16 a[STAGES][TILE], b[STAGES][TILE];
  float c[64][64];
  uint64_t full[STAGES], empty[STAGES];
};

// C = A * B^T, A and B with K innermost.
extern "C" __global__ void __launch_bounds__(256)
    tmagemm(const __grid_constant__ CUtensorMap A,
            const __grid_constant__ CUtensorMap B,
            const __grid_constant__ CUtensorMap C, int K) {
  extern __shared__ __align__(1024) unsigned char raw[];
  Memory &s = *(Memory *)raw;
  const int steps = K / 64, t = threadIdx.x;
  const int m0 = blockIdx.y * 64, n0 = blockIdx.x * 64;
  if (t == 0) {
    for (int i = 0; i < STAGES; i++) {
      barrierInit(&s.full[i], 1);
      barrierInit(&s.empty[i], 128);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (t < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (t == 0)
      for (int k = 0; k < steps; k++) {
        int stage = k % STAGES, round = k / STAGES;
        if (round > 0)
          barrierWait(&s.empty[stage], (round - 1) & 1);
        barrierExpect(&s.full[stage], 2 * TILE * 2);
        tensorLoad(s.a[stage], &A, k * 64, m0, &s.full[stage]);
        tensorLoad(s.b[stage], &B, k * 64, n0, &s.full[stage]);
      }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  float d[32];
#pragma unroll
  for (int i = 0; i < 32; i++)
    d[i] = 0.f;
  for (int k = 0; k < steps; k++) {
    int stage = k % STAGES;
    barrierWait(&s.full[stage], k / STAGES & 1);
    mmaFence();
#pragma unroll
    for (int kk = 0; kk < 64; kk += 16)
      mma64x64x16(d, descriptor(s.a[stage] + kk), descriptor(s.b[stage] + kk),
                  1);
    mmaCommit();
    mmaWait<0>();
    barrierArrive(&s.empty[stage]);
  }
  const int lane = t & 31, row = (t - 128) / 32 * 16 + lane / 4;
#pragma unroll
  for (int i = 0; i < 32; i++)
    s.c[row + (i >> 1 & 1) * 8][(i >> 2) * 8 + (lane & 3) * 2 + (i & 1)] = d[i];
  fenceAsync();
  asm volatile("bar.sync 1, 128;" ::: "memory");
  if (t == 128) {
    tensorStore(&C, n0, m0, s.c);
    bulkCommit();
    bulkWait();
  }
}
