// Bitonic sort of 512 numbers in shared memory: a barrier a step, every
// partner distance, and the same inside a warp by shuffles alone.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
extern "C" __global__ void bitonic(const unsigned *x, unsigned *y) {
  __shared__ unsigned s[512];
  for (int i = threadIdx.x; i < 512; i += blockDim.x)
    s[i] = x[blockIdx.x * 512 + i];
  __syncthreads();
  for (int size = 2; size <= 512; size <<= 1)
    for (int stride = size / 2; stride; stride >>= 1) {
      int t = threadIdx.x, a = 2 * t - (t & (stride - 1)), b = a + stride;
      bool up = (a & size) == 0;
      unsigned u = s[a], v = s[b];
      if ((u > v) == up) {
        s[a] = v;
        s[b] = u;
      }
      __syncthreads();
    }
  for (int i = threadIdx.x; i < 512; i += blockDim.x)
    y[blockIdx.x * 512 + i] = s[i];
}
extern "C" __global__ void bitonicWarp(const unsigned *x, unsigned *y) {
  unsigned v = x[threadIdx.x];
  int lane = threadIdx.x & 31;
  for (int size = 2; size <= 32; size <<= 1)
    for (int stride = size / 2; stride; stride >>= 1) {
      unsigned other = __shfl_xor_sync(~0u, v, stride);
      bool low = (lane & stride) == 0, up = (lane & size) == 0;
      v = low == up ? min(v, other) : max(v, other);
    }
  y[threadIdx.x] = v;
}
