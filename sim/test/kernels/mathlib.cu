// Functions of CUDA's maths library in f32 and f64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
extern "C" __global__ void mathlib(const double *x, double *d, float *f, int n) {
  int i = threadIdx.x;
  if (i >= n)
    return;
  double v = x[i];
  float u = (float)v;
  d[0 * n + i] = exp(v);
  d[1 * n + i] = log(v);
  d[2 * n + i] = sin(v);
  d[3 * n + i] = pow(v, 1.7);
  d[4 * n + i] = sqrt(v) / (1 + v);
  d[5 * n + i] = erf(v);
  f[0 * n + i] = expf(u);
  f[1 * n + i] = logf(u);
  f[2 * n + i] = tanhf(u);
  f[3 * n + i] = powf(u, 1.7f);
  f[4 * n + i] = sqrtf(u) / (1 + u);
  f[5 * n + i] = erff(u);
}
