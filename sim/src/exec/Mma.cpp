//===- Mma.cpp - mma.sync ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "Matrix Fragments for mma.m16n8k…": fragment layouts are those of
// the manual's tables. Products accumulate in f32 in the order of k; hardware
// adds with other (unspecified) orders and roundings.
//
//===----------------------------------------------------------------------===//

#include "exec/Matrix.h"

#include <algorithm>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tds::sim {

namespace {

/// Row and column of element `i` of lane `l` in the fragments of A, B and C.
struct Place {
  int row, col;
};
template <int M, int K, El E> inline Place placeA(int l, int i) {
  int g = l >> 2, t = l & 3;
  if (E == El::F64 && M == 8)
    return {g, t};
  if (E == El::TF32 || E == El::F64)
    return {g + (i & 1) * 8, t + (i >> 1) * 4};
  if (E == El::S8 || E == El::U8) {
    if (M == 8)
      return {g, t * 4 + i};
    int half = i >> 2;
    return {g + (half & 1) * 8, t * 4 + (i & 3) + (half >> 1) * 16};
  }
  int pair = i >> 1;
  return {g + (pair & 1) * 8, t * 2 + (i & 1) + (pair >> 1) * 8};
}
template <El E> inline Place placeB(int l, int i) {
  int g = l >> 2, t = l & 3;
  if (E == El::TF32 || E == El::F64)
    return {t + i * 4, g};
  if (E == El::S8 || E == El::U8)
    return {t * 4 + (i & 3) + (i >> 2) * 16, g};
  return {t * 2 + (i & 1) + (i >> 1) * 8, g};
}
inline Place placeC(int l, int i) {
  return {(l >> 2) + (i >> 1) * 8, (l & 3) * 2 + (i & 1)};
}

/// C[M][8] += A[M][K] * B[K][8] in f32.
template <int M, int K>
inline void multiply(const float (*A)[K], const float (*B)[8], float (*C)[8]) {
#if defined(__AVX2__) && defined(__FMA__)
  for (int i = 0; i < M; ++i) {
    __m256 c = _mm256_load_ps(C[i]);
    for (int k = 0; k < K; ++k)
      c = _mm256_fmadd_ps(_mm256_broadcast_ss(&A[i][k]), _mm256_load_ps(B[k]),
                          c);
    _mm256_store_ps(C[i], c);
  }
#else
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k)
      for (int j = 0; j < 8; ++j)
        C[i][j] = __builtin_fmaf(A[i][k], B[k][j], C[i][j]);
#endif
}

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
/// Eight 16-bit values as floats; `v` holds them in its low halves (`high`:
/// in its high ones).
template <El E> inline __m256 widen(__m256i v, bool high) {
  if (E == El::BF16)
    return _mm256_castsi256_ps(
        high ? _mm256_and_si256(v, _mm256_set1_epi32((int)0xffff0000))
             : _mm256_slli_epi32(v, 16));
  __m256i low = high ? _mm256_srli_epi32(v, 16)
                     : _mm256_and_si256(v, _mm256_set1_epi32(0xffff));
  __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 8);
  return _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
}
template <El E> inline __m256 widenRow(const u32 *row) {
  __m128i v = _mm_loadu_si128((const __m128i *)row);
  if (E == El::F16)
    return _mm256_cvtph_ps(v);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
}

/// The same with f32 accumulators, in vector registers. A register of A or C
/// holds eight rows of four lanes one after the other; one of B the same of
/// its transpose.
template <int K, El E> void mmaVector(Warp &w, const Op &o) {
  needAll(w);
  constexpr int regsA = K / 4, regsB = K / 8;
  const u32 *ext = &w.code->ext[o.ext];
  const u32 *extA = ext + 4, *extB = extA + regsA, *extC = extB + regsB;
  alignas(32) float A[16][K], B[K][8];
  for (int r = 0; r < regsA; ++r) {
    const u32 *v = w.reg<u32>(extA[r]);
    for (int g = 0; g < 8; ++g)
      _mm256_store_ps(&A[g + (r & 1) * 8][(r >> 1) * 8],
                      widenRow<E>(v + 4 * g));
  }
  for (int r = 0; r < regsB; ++r) {
    const __m256i *v = (const __m256i *)w.reg<u32>(extB[r]);
    __m256i v0 = v[0], v1 = v[1], v2 = v[2], v3 = v[3];
    __m256i t0 = _mm256_permute2x128_si256(v0, v2, 0x20),
            t1 = _mm256_permute2x128_si256(v0, v2, 0x31),
            t2 = _mm256_permute2x128_si256(v1, v3, 0x20),
            t3 = _mm256_permute2x128_si256(v1, v3, 0x31);
    __m256i u0 = _mm256_unpacklo_epi32(t0, t1),
            u1 = _mm256_unpackhi_epi32(t0, t1),
            u2 = _mm256_unpacklo_epi32(t2, t3),
            u3 = _mm256_unpackhi_epi32(t2, t3);
    __m256i pair[4] = {
        _mm256_unpacklo_epi64(u0, u2), _mm256_unpackhi_epi64(u0, u2),
        _mm256_unpacklo_epi64(u1, u3), _mm256_unpackhi_epi64(u1, u3)};
    for (int t = 0; t < 4; ++t) {
      _mm256_store_ps(B[r * 8 + 2 * t], widen<E>(pair[t], false));
      _mm256_store_ps(B[r * 8 + 2 * t + 1], widen<E>(pair[t], true));
    }
  }
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
  for (int half = 0; half < 2; ++half) {
    const float *c0 = w.reg<float>(extC[2 * half]),
                *c1 = w.reg<float>(extC[2 * half + 1]);
    float *d0 = w.reg<float>(ext[2 * half]),
          *d1 = w.reg<float>(ext[2 * half + 1]);
    __m256 c[8];
    for (int g = 0; g < 8; ++g) {
      __m128 even = _mm_load_ps(c0 + 4 * g), odd = _mm_load_ps(c1 + 4 * g);
      c[g] = _mm256_set_m128(_mm_unpackhi_ps(even, odd),
                             _mm_unpacklo_ps(even, odd));
    }
    // Eight rows at once hide the latency of each row's chain.
    for (int k = 0; k < K; ++k) {
      __m256 b = _mm256_load_ps(B[k]);
      for (int g = 0; g < 8; ++g)
        c[g] =
            _mm256_fmadd_ps(_mm256_broadcast_ss(&A[half * 8 + g][k]), b, c[g]);
    }
    for (int g = 0; g < 8; ++g) {
      __m256 v =
          _mm256_blendv_ps(c[g], nan, _mm256_cmp_ps(c[g], c[g], _CMP_UNORD_Q));
      __m128 low = _mm256_castps256_ps128(v),
             high = _mm256_extractf128_ps(v, 1);
      _mm_store_ps(d0 + 4 * g, _mm_shuffle_ps(low, high, 0x88));
      _mm_store_ps(d1 + 4 * g, _mm_shuffle_ps(low, high, 0xdd));
    }
  }
}
#else
#define TDS_PLAIN_MMA
#endif

/// 16-bit operands (K 8 or 16) and tf32 (K 4 or 8), C and D in f32 or f16.
template <int K, El E, bool HalfAccumulator>
void mmaFloat(Warp &w, const Op &o) {
  needAll(w);
  constexpr bool tf32 = E == El::TF32;
  constexpr int regsA = tf32 ? K / 2 : K / 4, regsB = tf32 ? K / 4 : K / 8;
  constexpr int regsC = HalfAccumulator ? 2 : 4;
  const u32 *ext = &w.code->ext[o.ext];
  alignas(32) float A[16][K], B[K][8], C[16][8];
  const u32 *extA = ext + regsC, *extB = extA + regsA, *extC = extB + regsB;
  for (int r = 0; r < regsA; ++r) {
    const u32 *v = w.reg<u32>(extA[r]);
    for (int l = 0; l < 32; ++l) {
      if (tf32) {
        Place p = placeA<16, K, E>(l, r);
        A[p.row][p.col] = bitCast<float>(v[l] & 0xffffe000u);
      } else {
        Place p = placeA<16, K, E>(l, 2 * r);
        A[p.row][p.col] = convert<E>((u16)v[l]);
        A[p.row][p.col + 1] = convert<E>((u16)(v[l] >> 16));
      }
    }
  }
  for (int r = 0; r < regsB; ++r) {
    const u32 *v = w.reg<u32>(extB[r]);
    for (int l = 0; l < 32; ++l) {
      if (tf32) {
        Place p = placeB<E>(l, r);
        B[p.row][p.col] = bitCast<float>(v[l] & 0xffffe000u);
      } else {
        Place p = placeB<E>(l, 2 * r);
        B[p.row][p.col] = convert<E>((u16)v[l]);
        B[p.row + 1][p.col] = convert<E>((u16)(v[l] >> 16));
      }
    }
  }
  for (int r = 0; r < regsC; ++r) {
    const u32 *v = w.reg<u32>(extC[r]);
    for (int l = 0; l < 32; ++l) {
      if (HalfAccumulator) {
        Place p = placeC(l, 2 * r);
        C[p.row][p.col] = halfToFloat((u16)v[l]);
        C[p.row][p.col + 1] = halfToFloat((u16)(v[l] >> 16));
      } else {
        Place p = placeC(l, r);
        C[p.row][p.col] = bitCast<float>(v[l]);
      }
    }
  }
  multiply<16, K>(A, B, C);
  for (int r = 0; r < regsC; ++r) {
    u32 *v = w.reg<u32>(ext[r]);
    for (int l = 0; l < 32; ++l) {
      if (HalfAccumulator) {
        Place p = placeC(l, 2 * r);
        v[l] = (u32)floatToHalf(C[p.row][p.col]) |
               (u32)floatToHalf(C[p.row][p.col + 1]) << 16;
      } else {
        Place p = placeC(l, r);
        v[l] = bitCast<u32>(canon(C[p.row][p.col]));
      }
    }
  }
}

#ifdef TDS_PLAIN_MMA
template <int K, El E> void mmaVector(Warp &w, const Op &o) {
  mmaFloat<K, E, false>(w, o);
}
#endif

template <int M, int K> void mmaDouble(Warp &w, const Op &o) {
  needAll(w);
  constexpr int regsA = M * K / 32, regsB = K / 4, regsC = M / 4;
  const u32 *ext = &w.code->ext[o.ext];
  const u32 *extA = ext + regsC, *extB = extA + regsA, *extC = extB + regsB;
  double A[M][K], B[K][8], C[M][8];
  for (int l = 0; l < 32; ++l) {
    for (int i = 0; i < regsA; ++i) {
      Place p = placeA<M, K, El::F64>(l, i);
      A[p.row][p.col] = w.reg<double>(extA[i])[l];
    }
    for (int i = 0; i < regsB; ++i) {
      Place p = placeB<El::F64>(l, i);
      B[p.row][p.col] = w.reg<double>(extB[i])[l];
    }
    for (int i = 0; i < regsC; ++i) {
      Place p = placeC(l, i);
      C[p.row][p.col] = w.reg<double>(extC[i])[l];
    }
  }
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < 8; ++j)
      for (int k = 0; k < K; ++k)
        C[i][j] = __builtin_fma(A[i][k], B[k][j], C[i][j]);
  for (int l = 0; l < 32; ++l)
    for (int i = 0; i < regsC; ++i) {
      Place p = placeC(l, i);
      w.reg<double>(ext[i])[l] = C[p.row][p.col];
    }
}

template <El E> inline s32 byteOf(u32 v, int i) {
  return E == El::S8 ? (s32)(s8)(v >> (8 * i)) : (s32)(u8)(v >> (8 * i));
}
template <int M, int K, El EA, El EB, bool Sat>
void mmaInt(Warp &w, const Op &o) {
  needAll(w);
  constexpr int regsA = M * K / 128, regsB = K / 16, regsC = M / 4;
  const u32 *ext = &w.code->ext[o.ext];
  const u32 *extA = ext + regsC, *extB = extA + regsA, *extC = extB + regsB;
  s32 A[M][K], B[K][8];
  for (int l = 0; l < 32; ++l) {
    for (int i = 0; i < regsA * 4; ++i) {
      Place p = placeA<M, K, EA>(l, i);
      A[p.row][p.col] = byteOf<EA>(w.reg<u32>(extA[i >> 2])[l], i & 3);
    }
    for (int i = 0; i < regsB * 4; ++i) {
      Place p = placeB<EB>(l, i);
      B[p.row][p.col] = byteOf<EB>(w.reg<u32>(extB[i >> 2])[l], i & 3);
    }
  }
  s64 C[M][8];
  for (int l = 0; l < 32; ++l)
    for (int i = 0; i < regsC; ++i) {
      Place p = placeC(l, i);
      C[p.row][p.col] = w.reg<s32>(extC[i])[l];
    }
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k)
      for (int j = 0; j < 8; ++j)
        C[i][j] += (s64)A[i][k] * B[k][j];
  for (int l = 0; l < 32; ++l)
    for (int i = 0; i < regsC; ++i) {
      Place p = placeC(l, i);
      s64 v = C[p.row][p.col];
      if (Sat)
        v = std::min<s64>(std::max<s64>(v, INT32_MIN), INT32_MAX);
      w.reg<u32>(ext[i])[l] = (u32)v;
    }
}
} // namespace

void addMma(Registry &r, const std::string &name, Handler fn, Ty d, Ty ab,
            u8 nD, u8 nA, u8 nB, u16 ptx, u16 sm) {
  OpInfo info;
  info.form = Form::Vector;
  info.flow = Flow::Collective;
  info.fn = fn;
  info.d = d;
  info.s[0] = info.s[1] = ab;
  info.s[2] = d;
  info.nSrc = 3;
  info.counts[0] = nD;
  info.counts[1] = nA;
  info.counts[2] = nB;
  info.counts[3] = nD;
  info.minPtx = ptx;
  info.minSm = sm;
  r.add(name, info);
}

namespace {

template <int M, int K, El EA, El EB>
void addInt(Registry &r, const char *shape, const char *a, const char *b,
            u16 sm) {
  std::string types = std::string(".s32.") + a + "." + b + ".s32";
  std::string base = std::string("mma.sync.aligned.") + shape + ".row.col";
  constexpr int nA = M * K / 128, nB = K / 16, nC = M / 4;
  addMma(r, base + types, mmaInt<M, K, EA, EB, false>, Ty::B32, Ty::B32, nC, nA,
         nB, M == 8 ? 65 : 70, sm);
  addMma(r, base + ".satfinite" + types, mmaInt<M, K, EA, EB, true>, Ty::B32,
         Ty::B32, nC, nA, nB, M == 8 ? 65 : 70, sm);
}
template <El EA, El EB>
void addIntShapes(Registry &r, const char *a, const char *b) {
  addInt<8, 16, EA, EB>(r, "m8n8k16", a, b, 75);
  addInt<16, 16, EA, EB>(r, "m16n8k16", a, b, 80);
  addInt<16, 32, EA, EB>(r, "m16n8k32", a, b, 80);
}
} // namespace

void registerMma(Registry &r) {
  const std::string base = "mma.sync.aligned.";
  const Ty B = Ty::B32;
  addMma(r, base + "m16n8k16.row.col.f32.f16.f16.f32", mmaVector<16, El::F16>,
         B, B, 4, 4, 2, 70, 80);
  addMma(r, base + "m16n8k16.row.col.f16.f16.f16.f16",
         mmaFloat<16, El::F16, true>, B, B, 2, 4, 2, 70, 80);
  addMma(r, base + "m16n8k16.row.col.f32.bf16.bf16.f32",
         mmaVector<16, El::BF16>, B, B, 4, 4, 2, 70, 80);
  addMma(r, base + "m16n8k8.row.col.f32.f16.f16.f32", mmaVector<8, El::F16>, B,
         B, 4, 2, 1, 65, 75);
  addMma(r, base + "m16n8k8.row.col.f16.f16.f16.f16",
         mmaFloat<8, El::F16, true>, B, B, 2, 2, 1, 65, 75);
  addMma(r, base + "m16n8k8.row.col.f32.bf16.bf16.f32", mmaVector<8, El::BF16>,
         B, B, 4, 2, 1, 70, 80);
  addMma(r, base + "m16n8k8.row.col.f32.tf32.tf32.f32",
         mmaFloat<8, El::TF32, false>, B, B, 4, 4, 2, 70, 80);
  addMma(r, base + "m16n8k4.row.col.f32.tf32.tf32.f32",
         mmaFloat<4, El::TF32, false>, B, B, 4, 2, 1, 70, 80);
  const std::string doubles = ".row.col.f64.f64.f64.f64";
  addMma(r, base + "m8n8k4" + doubles, mmaDouble<8, 4>, Ty::F64, Ty::F64, 2, 1,
         1, 70, 80);
  addMma(r, base + "m16n8k4" + doubles, mmaDouble<16, 4>, Ty::F64, Ty::F64, 4,
         2, 1, 78, 90);
  addMma(r, base + "m16n8k8" + doubles, mmaDouble<16, 8>, Ty::F64, Ty::F64, 4,
         4, 2, 78, 90);
  addMma(r, base + "m16n8k16" + doubles, mmaDouble<16, 16>, Ty::F64, Ty::F64, 4,
         8, 4, 78, 90);
  addIntShapes<El::S8, El::S8>(r, "s8", "s8");
  addIntShapes<El::S8, El::U8>(r, "s8", "u8");
  addIntShapes<El::U8, El::S8>(r, "u8", "s8");
  addIntShapes<El::U8, El::U8>(r, "u8", "u8");
}

} // namespace tds::sim
