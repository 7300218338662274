// Histogram of bytes: atomics on shared counters, then on global ones.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
extern "C" __global__ void histogram(const unsigned char *x, unsigned *bins,
                                     int n) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    atomicAdd(&local[x[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    atomicAdd(&bins[i], local[i]);
}
