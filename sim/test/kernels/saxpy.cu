// Grid-stride saxpy, scalar and by float4.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
extern "C" __global__ void saxpy(float a, const float *__restrict__ x, float *y,
                                 int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    y[i] = a * x[i] + y[i];
}
extern "C" __global__ void saxpy4(float a, const float4 *__restrict__ x,
                                  float4 *y, int n4) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4;
       i += gridDim.x * blockDim.x) {
    float4 u = x[i], v = y[i];
    v.x += a * u.x;
    v.y += a * u.y;
    v.z += a * u.z;
    v.w += a * u.w;
    y[i] = v;
  }
}
