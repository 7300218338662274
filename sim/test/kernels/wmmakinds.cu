// One product of 16 x 16 by each kind of wmma: bf16, tf32, signed and unsigned
// bytes, f16 with f16 sums; column-major A, row-major B, through shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
template <class In, class Out, int K, class T = In>
static __device__ void product(const T *A, const T *B, Out *C, int k) {
  __shared__ Out tile[16 * 16];
  wmma::fragment<wmma::matrix_a, 16, 16, K, In, wmma::col_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, K, In, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, K, Out> c;
  wmma::fill_fragment(c, (Out)0);
  for (int i = 0; i < k; i += K) {
    wmma::load_matrix_sync(a, A + i * 16, 16);
    wmma::load_matrix_sync(b, B + i * 16, 16);
    wmma::mma_sync(c, a, b, c);
  }
  wmma::store_matrix_sync(tile, c, 16, wmma::mem_col_major);
  __syncwarp();
  for (int i = threadIdx.x; i < 256; i += 32)
    C[i] = tile[i % 16 * 16 + i / 16];
}
extern "C" __global__ void wmmaBf16(const __nv_bfloat16 *A,
                                    const __nv_bfloat16 *B, float *C, int k) {
  product<__nv_bfloat16, float, 16>(A, B, C, k);
}
extern "C" __global__ void wmmaTf32(const float *A, const float *B, float *C,
                                    int k) {
  product<wmma::precision::tf32, float, 8, float>(A, B, C, k);
}
extern "C" __global__ void wmmaSigned(const signed char *A,
                                      const signed char *B, int *C, int k) {
  product<signed char, int, 16>(A, B, C, k);
}
extern "C" __global__ void wmmaUnsigned(const unsigned char *A,
                                        const unsigned char *B, int *C, int k) {
  product<unsigned char, int, 16>(A, B, C, k);
}
extern "C" __global__ void wmmaHalf(const __half *A, const __half *B, __half *C,
                                    int k) {
  product<__half, __half, 16>(A, B, C, k);
}
