// f16 matrix product through wmma, a warp for each 16 x 16 tile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void wmmagemm(const half *A, const half *B, float *C,
                                    int N, int K) {
  int m0 = blockIdx.y * 16, n0 = blockIdx.x * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 0.f);
  for (int k = 0; k < K; k += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::load_matrix_sync(a, A + m0 * K + k, K);
    wmma::load_matrix_sync(b, B + n0 * K + k, K);
    wmma::mma_sync(c, a, b, c);
  }
  wmma::store_matrix_sync(C + m0 * N + n0, c, N, wmma::mem_row_major);
}
