//===- Wmma.cpp - wmma ------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "Warp-level matrix instructions using wmma". The layout of the
// fragments is open there; here element `e` of lane `l` is number
// l * elements + e of the matrix.
//
//===----------------------------------------------------------------------===//

#include "exec/Matrix.h"

#include <algorithm>

namespace tds::sim {

namespace {

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

void registerWmma(Registry &r) {
  const Ty B = Ty::B32;
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
