// Rows of a table gathered by index, and gradients scattered back with atomic
// additions; a scan with match and vote that counts equal keys of a warp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
extern "C" __global__ void gather(const float4 *table, const int *index,
                                  float4 *y, int width4) {
  y[blockIdx.x * width4 + threadIdx.x] =
      __ldg(&table[index[blockIdx.x] * width4 + threadIdx.x]);
}
extern "C" __global__ void scatterAdd(const float *g, const int *index,
                                      float *table, int width) {
  atomicAdd(&table[index[blockIdx.x] * width + threadIdx.x],
            g[blockIdx.x * width + threadIdx.x]);
}
extern "C" __global__ void countKeys(const int *key, int *count, int *most) {
  int k = key[blockIdx.x * blockDim.x + threadIdx.x];
  unsigned same = __match_any_sync(~0u, k);
  if ((threadIdx.x & 31) == __ffs(same) - 1) {
    int n = atomicAdd(&count[k], __popc(same)) + __popc(same);
    atomicMax(most, n);
  }
}
