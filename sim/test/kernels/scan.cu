// Inclusive prefix sum of a block, by warps and by doubling in shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
extern "C" __global__ void scanWarps(const int *x, int *y, int n) {
  __shared__ int sums[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int v = i < n ? x[i] : 0;
  for (int o = 1; o < 32; o <<= 1) {
    int u = __shfl_up_sync(~0u, v, o);
    if (lane >= o)
      v += u;
  }
  if (lane == 31)
    sums[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int s = lane < blockDim.x / 32 ? sums[lane] : 0;
    for (int o = 1; o < 32; o <<= 1) {
      int u = __shfl_up_sync(~0u, s, o);
      if (lane >= o)
        s += u;
    }
    sums[lane] = s;
  }
  __syncthreads();
  if (warp)
    v += sums[warp - 1];
  if (i < n)
    y[i] = v;
}
extern "C" __global__ void scanDoubling(const int *x, int *y) {
  extern __shared__ int buffer[];
  int t = threadIdx.x, n = blockDim.x, from = 0;
  buffer[t] = x[t];
  __syncthreads();
  for (int o = 1; o < n; o <<= 1) {
    int to = from ^ 1;
    buffer[to * n + t] =
        buffer[from * n + t] + (t >= o ? buffer[from * n + t - o] : 0);
    from = to;
    __syncthreads();
  }
  y[t] = buffer[from * n + t];
}
