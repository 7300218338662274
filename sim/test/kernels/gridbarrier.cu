// A barrier of all blocks by an atomic counter (cooperative launch).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
__device__ unsigned count;
__device__ volatile unsigned generation;
__device__ void gridSync(unsigned blocks) {
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned g = generation;
    __threadfence();
    if (atomicAdd(&count, 1) == blocks - 1) {
      count = 0;
      __threadfence();
      atomicAdd((unsigned *)&generation, 1);
    } else {
      while (atomicAdd((unsigned *)&generation, 0) == g)
        __nanosleep(100);
    }
    __threadfence();
  }
  __syncthreads();
}
extern "C" __global__ void gridbarrier(int *x, int rounds) {
  int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int r = 0; r < rounds; r++) {
    int v = x[(r & 1) * n + (i + blockDim.x) % n];
    x[(~r & 1) * n + i] = v + 1;
    gridSync(gridDim.x);
  }
}
