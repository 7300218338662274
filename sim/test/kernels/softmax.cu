// Softmax of rows, a warp each, butterfly shuffles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
extern "C" __global__ void softmax(const float *x, float *y, int rows, int n) {
  int row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
  int lane = threadIdx.x & 31;
  if (row >= rows)
    return;
  const float *p = x + (size_t)row * n;
  float *q = y + (size_t)row * n;
  float m = -3.4e38f;
  for (int i = lane; i < n; i += 32)
    m = fmaxf(m, p[i]);
  for (int o = 16; o; o >>= 1)
    m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
  float s = 0;
  for (int i = lane; i < n; i += 32)
    s += __expf(p[i] - m);
  for (int o = 16; o; o >>= 1)
    s += __shfl_xor_sync(~0u, s, o);
  float r = 1.0f / s;
  for (int i = lane; i < n; i += 32)
    q[i] = expf(p[i] - m) * r;
}
