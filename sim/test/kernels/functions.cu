// Calls: a recursive device function, one that stays out of line, local arrays, structures by value.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
struct Pair {
  int a;
  float b;
  double c;
};
__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__device__ __noinline__ float combine(Pair p, const float *table) {
  return p.a * p.b + (float)p.c + table[p.a & 7];
}
extern "C" __global__ void functions(int *fib, float *out, Pair base) {
  int t = threadIdx.x;
  fib[t] = fibonacci(t % 12);
  float table[8];
  for (int i = 0; i < 8; i++)
    table[i] = i * 0.5f + t;
  Pair p = base;
  p.a += t;
  out[t] = combine(p, table);
}
