// Sum of an array: shuffles inside warps, shared memory between them; and a second form in which the last block to finish adds the partial sums.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
__device__ float blockSum(float v) {
  __shared__ float partial[32];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int o = 16; o; o >>= 1)
    v += __shfl_down_sync(~0u, v, o);
  if (lane == 0)
    partial[warp] = v;
  __syncthreads();
  v = threadIdx.x < blockDim.x / 32 ? partial[lane] : 0.f;
  if (warp == 0)
    for (int o = 16; o; o >>= 1)
      v += __shfl_down_sync(~0u, v, o);
  return v;
}
extern "C" __global__ void reduce(const float *x, float *out, int n) {
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    v += x[i];
  v = blockSum(v);
  if (threadIdx.x == 0)
    out[blockIdx.x] = v;
}
__device__ unsigned ticket;
extern "C" __global__ void reduceLast(const float *x, float *partial,
                                      float *total, int n) {
  __shared__ bool last;
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    v += x[i];
  v = blockSum(v);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = v;
    __threadfence();
    last = atomicAdd(&ticket, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    __threadfence();
    float s = 0;
    for (int i = 0; i < gridDim.x; i++)
      s += partial[i];
    *total = s;
    ticket = 0;
  }
}
