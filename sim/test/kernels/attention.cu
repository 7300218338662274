// Attention of one head: a warp a query, keys in shared tiles of 32, softmax
// rescaled as it goes, so that the scores are never stored.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
extern "C" __global__ void attention(const float *q, const float *k,
                                     const float *v, float *o, int n) {
  constexpr int D = 32;
  __shared__ float sk[32][D + 1], sv[32][D + 1];
  int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  int row = blockIdx.x * (blockDim.x >> 5) + warp;
  float mine = row < n ? q[row * D + lane] : 0.f;
  float most = -INFINITY, sum = 0.f, acc = 0.f;
  for (int base = 0; base < n; base += 32) {
    for (int i = threadIdx.x; i < 32 * D; i += blockDim.x) {
      int r = base + i / D;
      sk[i / D][i % D] = r < n ? k[r * D + i % D] : 0.f;
      sv[i / D][i % D] = r < n ? v[r * D + i % D] : 0.f;
    }
    __syncthreads();
    float score = 0.f;
    for (int d = 0; d < D; d++)
      score += __shfl_sync(~0u, mine, d) * sk[lane][d];
    score = base + lane < n ? score * 0.17677669f : -INFINITY;
    float high = score;
    for (int d = 16; d; d >>= 1)
      high = fmaxf(high, __shfl_xor_sync(~0u, high, d));
    high = fmaxf(high, most);
    float p = __expf(score - high), scale = __expf(most - high);
    float part = p;
    for (int d = 16; d; d >>= 1)
      part += __shfl_xor_sync(~0u, part, d);
    sum = sum * scale + part;
    acc *= scale;
    for (int j = 0; j < 32; j++)
      acc += __shfl_sync(~0u, p, j) * sv[j][lane];
    most = high;
    __syncthreads();
  }
  if (row < n)
    o[row * D + lane] = acc / sum;
}
