// Normalisation of rows by mean and variance, a block a row, half precision in
// and out through half2, warp shuffles and one word of shared memory a warp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cuda_fp16.h>
static __device__ float blockSum(float v, float *s) {
  for (int d = 16; d; d >>= 1)
    v += __shfl_xor_sync(~0u, v, d);
  if ((threadIdx.x & 31) == 0)
    s[threadIdx.x >> 5] = v;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < (int)blockDim.x / 32; i++)
    sum += s[i];
  __syncthreads();
  return sum;
}
extern "C" __global__ void layernorm(const __half2 *x, const float *scale,
                                     const float *shift, __half2 *y, int n) {
  __shared__ float s[32];
  const __half2 *row = x + (size_t)blockIdx.x * n / 2;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < n / 2; i += blockDim.x) {
    float2 v = __half22float2(row[i]);
    sum += v.x + v.y;
    squares += v.x * v.x + v.y * v.y;
  }
  float mean = blockSum(sum, s) / n;
  float variance = blockSum(squares, s) / n - mean * mean;
  float r = rsqrtf(variance + 1e-5f);
  for (int i = threadIdx.x; i < n / 2; i += blockDim.x) {
    float2 v = __half22float2(row[i]);
    v.x = (v.x - mean) * r * scale[2 * i] + shift[2 * i];
    v.y = (v.y - mean) * r * scale[2 * i + 1] + shift[2 * i + 1];
    y[(size_t)blockIdx.x * n / 2 + i] = __float22half2_rn(v);
  }
}
