//===- Matrix.cpp - ldmatrix, stmatrix, mma.sync, wmma ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "Warp Level Matrix Multiply-Accumulate Instructions". Fragment
// layouts of mma.sync and ldmatrix are those of the manual's tables; wmma
// leaves its layout open, so here element `e` of lane `l` is number
// l * elements + e of the matrix. Products accumulate in f32 in the order of
// k; hardware adds with other (unspecified) orders and roundings.
//
//===----------------------------------------------------------------------===//

#include "decode/Registry.h"
#include "exec/Access.h"
#include "exec/FloatSemantics.h"

#include <algorithm>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tds::sim {

namespace {

// ---- mma.sync ------------------------------------------------------------

enum class El { F16, BF16, TF32, F64, S8, U8 };

/// Row and column of element `i` of lane `l` in the fragments of A, B and C.
struct Place {
  int row, col;
};
template <int M, int K, El E> inline Place placeA(int l, int i) {
  int g = l >> 2, t = l & 3;
  if (E == El::F64)
    return {g, t};
  if (E == El::TF32)
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
  if (E == El::F64)
    return {t, g};
  if (E == El::TF32)
    return {t + i * 4, g};
  if (E == El::S8 || E == El::U8)
    return {t * 4 + (i & 3) + (i >> 2) * 16, g};
  return {t * 2 + (i & 1) + (i >> 1) * 8, g};
}
inline Place placeC(int l, int i) {
  return {(l >> 2) + (i >> 1) * 8, (l & 3) * 2 + (i & 1)};
}

inline void needAll(Warp &w) {
  if (w.mask != ~0u)
    w.fault(FaultKind::InactiveLane,
            "a matrix instruction needs all 32 lanes, " +
                std::to_string(popcount(w.mask)) + " execute it",
            __builtin_ctz(~w.mask));
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

template <El E> inline float convert(u16 v) {
  return E == El::F16 ? halfToFloat(v) : bf16ToFloat(v);
}

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

void mmaDouble(Warp &w, const Op &o) {
  needAll(w);
  const u32 *ext = &w.code->ext[o.ext];
  double A[8][4], B[4][8], C[8][8];
  const double *a = w.reg<double>(ext[2]), *b = w.reg<double>(ext[3]);
  for (int l = 0; l < 32; ++l) {
    Place pa = placeA<8, 4, El::F64>(l, 0), pb = placeB<El::F64>(l, 0);
    A[pa.row][pa.col] = a[l];
    B[pb.row][pb.col] = b[l];
    for (int i = 0; i < 2; ++i) {
      Place p = placeC(l, i);
      C[p.row][p.col] = w.reg<double>(ext[4 + i])[l];
    }
  }
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j)
      for (int k = 0; k < 4; ++k)
        C[i][j] = __builtin_fma(A[i][k], B[k][j], C[i][j]);
  for (int l = 0; l < 32; ++l)
    for (int i = 0; i < 2; ++i) {
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

// ---- ldmatrix and stmatrix --------------------------------------------------

/// The addresses of the 8 * N rows that the instruction uses.
template <int N>
void rowAddresses(Warp &w, const Op &o, u32 *rows, const char *verb,
                  bool write) {
  needAll(w);
  u64 address[32];
  laneAddresses(w, o.a, o.target, o.imm, address);
  for (int i = 0; i < 32; ++i) {
    u64 a = address[i < 8 * N ? i : 0];
    if (a >> 32)
      w.fault(FaultKind::OutOfBounds,
              std::string(verb) + " of what is not a shared address", i);
    rows[i] = (u32)a;
  }
  checkSharedBounds(w, rows, 16, 16, verb);
  if (w.block->checked()) {
    w.touched = true;
    for (int i = 0; i < 8 * N; ++i)
      checkSharedLane(w, i, rows[i], 16, write);
  }
}
template <int N, bool Trans> void loadMatrix(Warp &w, const Op &o) {
  u32 rows[32];
  rowAddresses<N>(w, o, rows, "ldmatrix", false);
  const u32 *ext = &w.code->ext[o.ext];
  for (int q = 0; q < N; ++q) {
    u16 m[8][8];
    for (int i = 0; i < 8; ++i)
      memcpy(m[i], w.block->shared + rows[q * 8 + i], 16);
    u32 *d = w.reg<u32>(ext[q]);
    for (int l = 0; l < 32; ++l) {
      int g = l >> 2, t = (l & 3) * 2;
      d[l] = Trans ? (u32)m[t][g] | (u32)m[t + 1][g] << 16
                   : (u32)m[g][t] | (u32)m[g][t + 1] << 16;
    }
  }
}
template <int N, bool Trans> void storeMatrix(Warp &w, const Op &o) {
  u32 rows[32];
  rowAddresses<N>(w, o, rows, "stmatrix", true);
  const u32 *ext = &w.code->ext[o.ext];
  for (int q = 0; q < N; ++q) {
    u16 m[8][8];
    const u32 *s = w.reg<u32>(ext[q]);
    for (int l = 0; l < 32; ++l) {
      int g = l >> 2, t = (l & 3) * 2;
      if (Trans) {
        m[t][g] = (u16)s[l];
        m[t + 1][g] = (u16)(s[l] >> 16);
      } else {
        m[g][t] = (u16)s[l];
        m[g][t + 1] = (u16)(s[l] >> 16);
      }
    }
    for (int i = 0; i < 8; ++i)
      memcpy(w.block->shared + rows[q * 8 + i], m[i], 16);
  }
}
template <int N> void addLdmatrix(Registry &r) {
  for (int trans = 0; trans < 2; ++trans)
    for (const char *space : {".shared", ".shared::cta"}) {
      OpInfo info;
      info.form = Form::Matrix;
      info.flow = Flow::Collective;
      info.space = Space::Shared;
      info.d = Ty::B32;
      info.counts[0] = N;
      info.counts[1] = 0;
      info.counts[2] = 0;
      info.minPtx = 65;
      info.minSm = 75;
      std::string tail = std::string(".sync.aligned.m8n8.x") + char('0' + N) +
                         (trans ? ".trans" : "") + space + ".b16";
      info.fn = trans ? loadMatrix<N, true> : loadMatrix<N, false>;
      r.add("ldmatrix" + tail, info);
      info.counts[1] = 1;
      info.minPtx = 78;
      info.minSm = 90;
      info.fn = trans ? storeMatrix<N, true> : storeMatrix<N, false>;
      r.add("stmatrix" + tail, info);
    }
}

// ---- wmma -------------------------------------------------------------------

struct Shape {
  const char *name;
  int m, n, k;
};

/// Geometry of a fragment, packed into the operation by the registry:
/// aux rows, aux2 columns, size bytes of an element; imm stays the offset, so
/// the layout comes with the handler.
template <class T, bool RowMajor, bool Store, Space S>
void wmmaMove(Warp &w, const Op &o) {
  needAll(w);
  const int rows = o.aux, cols = o.aux2;
  const int perReg = 4 / (int)sizeof(T), total = rows * cols;
  const int perLane = o.nExt * perReg;
  u64 address[32];
  laneAddresses(w, o.a, o.target, o.imm, address);
  int lead = RowMajor ? cols : rows;
  if (o.b != noReg)
    lead = (int)w.reg<u32>(o.b)[0];
  for (int i = 1; i < 32; ++i)
    if (address[i] != address[0] ||
        (o.b != noReg && w.reg<u32>(o.b)[i] != (u32)lead))
      w.fault(FaultKind::BadOperand,
              "wmma load or store with an address or stride that differs "
              "between lanes",
              i);
  const u32 *ext = &w.code->ext[o.ext];
  // A fragment may hold each element twice; stores write it once.
  for (int e = 0; e < perLane; ++e) {
    u64 at[32];
    u8 *p[32];
    u32 mask = 0;
    for (int l = 0; l < 32; ++l) {
      int index = (l * perLane + e) % total;
      int row = index / cols, col = index % cols;
      s64 offset = RowMajor ? (s64)row * lead + col : (s64)col * lead + row;
      at[l] = address[l] + (u64)(offset * (s64)sizeof(T));
      if (!Store || l * perLane + e < total)
        mask |= 1u << l;
    }
    u32 all = w.mask;
    w.mask = mask;
    for (int l = 0; l < 32; ++l)
      if (!(mask >> l & 1))
        at[l] = at[__builtin_ctz(mask)];
    resolve(w, S, at, sizeof(T), sizeof(T), Store ? Use::Write : Use::Read, p);
    w.mask = all;
    u8 *regs = (u8 *)w.reg<u32>(ext[e / perReg]) + (e % perReg) * sizeof(T);
    for (u32 m = mask; m; m &= m - 1) {
      int l = __builtin_ctz(m);
      if (Store)
        memcpy(p[l], regs + l * 4, sizeof(T));
      else
        memcpy(regs + l * 4, p[l], sizeof(T));
    }
  }
}

template <class T> T fragment(Warp &w, const u32 *ext, int perLane, int index) {
  int l = index / perLane, e = index % perLane;
  const int perReg = 4 / (int)sizeof(T);
  T v;
  memcpy(&v,
         (u8 *)w.reg<u32>(ext[e / perReg]) + l * 4 + (e % perReg) * sizeof(T),
         sizeof(T));
  return v;
}
template <class T>
void setFragment(Warp &w, const u32 *ext, int perLane, int index, T v) {
  int l = index / perLane, e = index % perLane;
  const int perReg = 4 / (int)sizeof(T);
  memcpy((u8 *)w.reg<u32>(ext[e / perReg]) + l * 4 + (e % perReg) * sizeof(T),
         &v, sizeof(T));
}

template <int M, int N, int K, int RegsA, int RegsB, El E, bool HalfC,
          bool HalfD>
void wmmaFloat(Warp &w, const Op &o) {
  needAll(w);
  const u32 *ext = &w.code->ext[o.ext];
  constexpr int regsD = HalfD ? 4 : 8, regsC = HalfC ? 4 : 8;
  const u32 *extA = ext + regsD, *extB = extA + RegsA, *extC = extB + RegsB;
  (void)regsC;
  float A[M][K], B[K][N], C[M][N];
  auto element = [&](const u32 *x, int regs, int index) -> float {
    if (E == El::TF32)
      return bitCast<float>(fragment<u32>(w, x, regs, index) & 0xffffe000u);
    return convert<E>(fragment<u16>(w, x, regs * 2, index));
  };
  for (int i = 0; i < M * K; ++i)
    A[i / K][i % K] = element(extA, RegsA, i);
  for (int i = 0; i < K * N; ++i)
    B[i / N][i % N] = element(extB, RegsB, i);
  for (int i = 0; i < M * N; ++i)
    C[i / N][i % N] = HalfC ? halfToFloat(fragment<u16>(w, extC, 8, i))
                            : fragment<float>(w, extC, 8, i);
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k)
      for (int j = 0; j < N; ++j)
        C[i][j] = __builtin_fmaf(A[i][k], B[k][j], C[i][j]);
  for (int i = 0; i < M * N; ++i)
    if (HalfD)
      setFragment<u16>(w, ext, 8, i, floatToHalf(C[i / N][i % N]));
    else
      setFragment<float>(w, ext, 8, i, canon(C[i / N][i % N]));
}
template <int M, int N, int K, int RegsA, int RegsB, bool Signed, bool Sat>
void wmmaInt(Warp &w, const Op &o) {
  needAll(w);
  const u32 *ext = &w.code->ext[o.ext];
  const u32 *extA = ext + 8, *extB = extA + RegsA, *extC = extB + RegsB;
  s32 A[M][K], B[K][N];
  s64 C[M][N];
  auto element = [&](const u32 *x, int regs, int index) -> s32 {
    u8 v = fragment<u8>(w, x, regs * 4, index);
    return Signed ? (s32)(s8)v : (s32)v;
  };
  for (int i = 0; i < M * K; ++i)
    A[i / K][i % K] = element(extA, RegsA, i);
  for (int i = 0; i < K * N; ++i)
    B[i / N][i % N] = element(extB, RegsB, i);
  for (int i = 0; i < M * N; ++i)
    C[i / N][i % N] = fragment<s32>(w, extC, 8, i);
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k)
      for (int j = 0; j < N; ++j)
        C[i][j] += (s64)A[i][k] * B[k][j];
  for (int i = 0; i < M * N; ++i) {
    s64 v = C[i / N][i % N];
    if (Sat)
      v = std::min<s64>(std::max<s64>(v, INT32_MIN), INT32_MAX);
    setFragment<s32>(w, ext, 8, i, (s32)(u32)v);
  }
}

template <class T, bool RowMajor, bool Store>
void addMoves(Registry &r, const std::string &op, const char *layout,
              const Shape &shape, const char *type, int rows, int cols,
              int regs, u16 ptx, u16 sm) {
  struct SpaceName {
    const char *name;
    Space space;
    Handler fn;
  };
  const SpaceName spaces[] = {
      {"", Space::Generic, wmmaMove<T, RowMajor, Store, Space::Generic>},
      {".global", Space::Global, wmmaMove<T, RowMajor, Store, Space::Global>},
      {".shared", Space::Shared, wmmaMove<T, RowMajor, Store, Space::Shared>},
      {".shared::cta", Space::Shared,
       wmmaMove<T, RowMajor, Store, Space::Shared>}};
  for (const SpaceName &s : spaces) {
    OpInfo info;
    info.form = Form::Matrix;
    info.flow = Flow::Collective;
    info.fn = s.fn;
    info.space = s.space;
    info.d = Ty::B32;
    info.counts[0] = (u8)regs;
    info.counts[1] = Store;
    info.counts[2] = 1;
    info.size = sizeof(T);
    info.aux = (u8)rows;
    info.aux2 = (u8)cols;
    info.minPtx = ptx;
    info.minSm = sm;
    r.add("wmma." + op + ".sync.aligned." + layout + "." + shape.name + s.name +
              "." + type,
          info);
  }
}
template <class T, bool Store>
void addLayouts(Registry &r, const std::string &op, const Shape &shape,
                const char *type, int rows, int cols, int regs, u16 ptx,
                u16 sm) {
  addMoves<T, true, Store>(r, op, "row", shape, type, rows, cols, regs, ptx,
                           sm);
  addMoves<T, false, Store>(r, op, "col", shape, type, rows, cols, regs, ptx,
                            sm);
}

template <int M, int N, int K>
void addWmmaShape(Registry &r, const char *name) {
  Shape s{name, M, N, K};
  // f16: A and B take eight registers in every shape (elements are doubled).
  addLayouts<u16, false>(r, "load.a", s, "f16", M, K, 8, 60, 70);
  addLayouts<u16, false>(r, "load.b", s, "f16", K, N, 8, 60, 70);
  constexpr int bA = M * K / 64, bB = K * N / 64;
  addLayouts<u16, false>(r, "load.a", s, "bf16", M, K, bA, 70, 80);
  addLayouts<u16, false>(r, "load.b", s, "bf16", K, N, bB, 70, 80);
  constexpr int iA = M * K / 128, iB = K * N / 128;
  for (const char *t : {"u8", "s8"}) {
    addLayouts<u8, false>(r, "load.a", s, t, M, K, iA, 63, 72);
    addLayouts<u8, false>(r, "load.b", s, t, K, N, iB, 63, 72);
  }
  addLayouts<u16, false>(r, "load.c", s, "f16", M, N, 4, 60, 70);
  addLayouts<u32, false>(r, "load.c", s, "f32", M, N, 8, 60, 70);
  addLayouts<u32, false>(r, "load.c", s, "s32", M, N, 8, 63, 72);
  addLayouts<u16, true>(r, "store.d", s, "f16", M, N, 4, 60, 70);
  addLayouts<u32, true>(r, "store.d", s, "f32", M, N, 8, 60, 70);
  addLayouts<u32, true>(r, "store.d", s, "s32", M, N, 8, 63, 72);
  for (const char *la : {"row", "col"})
    for (const char *lb : {"row", "col"}) {
      std::string base =
          std::string("wmma.mma.sync.aligned.") + la + "." + lb + "." + name;
      auto add = [&](const std::string &types, Handler fn, u8 nD, u8 nA, u8 nB,
                     u8 nC, u16 ptx, u16 sm) {
        addMma(r, base + types, fn, Ty::B32, Ty::B32, nD, nA, nB, ptx, sm);
        OpInfo info = *r.find(base + types);
        info.counts[3] = nC;
        r.add(base + types, info);
      };
      add(".f32.f32", wmmaFloat<M, N, K, 8, 8, El::F16, false, false>, 8, 8, 8,
          8, 60, 70);
      add(".f16.f16", wmmaFloat<M, N, K, 8, 8, El::F16, true, true>, 4, 8, 8, 4,
          60, 70);
      add(".f32.f16", wmmaFloat<M, N, K, 8, 8, El::F16, true, false>, 8, 8, 8,
          4, 60, 70);
      add(".f16.f32", wmmaFloat<M, N, K, 8, 8, El::F16, false, true>, 4, 8, 8,
          8, 60, 70);
      add(".f32.bf16.bf16.f32",
          wmmaFloat<M, N, K, bA, bB, El::BF16, false, false>, 8, bA, bB, 8, 70,
          80);
      add(".s32.s8.s8.s32", wmmaInt<M, N, K, iA, iB, true, false>, 8, iA, iB, 8,
          63, 72);
      add(".s32.u8.u8.s32", wmmaInt<M, N, K, iA, iB, false, false>, 8, iA, iB,
          8, 63, 72);
      add(".s32.s8.s8.s32.satfinite", wmmaInt<M, N, K, iA, iB, true, true>, 8,
          iA, iB, 8, 63, 72);
      add(".s32.u8.u8.s32.satfinite", wmmaInt<M, N, K, iA, iB, false, true>, 8,
          iA, iB, 8, 63, 72);
    }
}

} // namespace

void registerMatrix(Registry &r) {
  const std::string base = "mma.sync.aligned.";
  const Ty B = Ty::B32;
  addMma(r, base + "m16n8k16.row.col.f32.f16.f16.f32",
         mmaFloat<16, El::F16, false>, B, B, 4, 4, 2, 70, 80);
  addMma(r, base + "m16n8k16.row.col.f16.f16.f16.f16",
         mmaFloat<16, El::F16, true>, B, B, 2, 4, 2, 70, 80);
  addMma(r, base + "m16n8k16.row.col.f32.bf16.bf16.f32",
         mmaFloat<16, El::BF16, false>, B, B, 4, 4, 2, 70, 80);
  addMma(r, base + "m16n8k8.row.col.f32.f16.f16.f32",
         mmaFloat<8, El::F16, false>, B, B, 4, 2, 1, 65, 75);
  addMma(r, base + "m16n8k8.row.col.f16.f16.f16.f16",
         mmaFloat<8, El::F16, true>, B, B, 2, 2, 1, 65, 75);
  addMma(r, base + "m16n8k8.row.col.f32.bf16.bf16.f32",
         mmaFloat<8, El::BF16, false>, B, B, 4, 2, 1, 70, 80);
  addMma(r, base + "m16n8k8.row.col.f32.tf32.tf32.f32",
         mmaFloat<8, El::TF32, false>, B, B, 4, 4, 2, 70, 80);
  addMma(r, base + "m16n8k4.row.col.f32.tf32.tf32.f32",
         mmaFloat<4, El::TF32, false>, B, B, 4, 2, 1, 70, 80);
  addMma(r, base + "m8n8k4.row.col.f64.f64.f64.f64", mmaDouble, Ty::F64,
         Ty::F64, 2, 1, 1, 70, 80);
  addIntShapes<El::S8, El::S8>(r, "s8", "s8");
  addIntShapes<El::S8, El::U8>(r, "s8", "u8");
  addIntShapes<El::U8, El::S8>(r, "u8", "s8");
  addIntShapes<El::U8, El::U8>(r, "u8", "u8");
  addLdmatrix<1>(r);
  addLdmatrix<2>(r);
  addLdmatrix<4>(r);
  addWmmaShape<16, 16, 16>(r, "m16n16k16");
  addWmmaShape<32, 8, 16>(r, "m32n8k16");
  addWmmaShape<8, 32, 16>(r, "m8n32k16");
  Shape t{"m16n16k8", 16, 16, 8};
  addLayouts<u32, false>(r, "load.a", t, "tf32", 16, 8, 4, 70, 80);
  addLayouts<u32, false>(r, "load.b", t, "tf32", 8, 16, 4, 70, 80);
  addLayouts<u32, false>(r, "load.c", t, "f32", 16, 16, 8, 70, 80);
  addLayouts<u32, true>(r, "store.d", t, "f32", 16, 16, 8, 70, 80);
  for (const char *la : {"row", "col"})
    for (const char *lb : {"row", "col"})
      addMma(r,
             std::string("wmma.mma.sync.aligned.") + la + "." + lb +
                 ".m16n16k8.f32.tf32.tf32.f32",
             wmmaFloat<16, 16, 8, 4, 4, El::TF32, false, false>, B, B, 8, 4, 4,
             70, 80);
}

} // namespace tds::sim
