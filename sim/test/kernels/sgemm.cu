// f32 matrix product, tiles of 32 x 32 in shared memory, four results a thread.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
extern "C" __global__ void sgemm(const float *A, const float *B, float *C,
                                 int M, int N, int K) {
  __shared__ float sA[32][33], sB[32][33];
  int tx = threadIdx.x & 31, ty = threadIdx.x >> 5;
  int row0 = blockIdx.y * 32, col = blockIdx.x * 32 + tx;
  float acc[4] = {0, 0, 0, 0};
  for (int k0 = 0; k0 < K; k0 += 32) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      sA[ty + 8 * i][tx] = A[(row0 + ty + 8 * i) * K + k0 + tx];
      sB[ty + 8 * i][tx] = B[(k0 + ty + 8 * i) * N + col];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 32; k++) {
      float b = sB[k][tx];
#pragma unroll
      for (int i = 0; i < 4; i++)
        acc[i] += sA[ty + 8 * i][k] * b;
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; i++)
    C[(row0 + ty + 8 * i) * N + col] = acc[i];
}
