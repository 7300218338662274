//===- Ldmatrix.cpp - ldmatrix and stmatrix ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "Warp-level matrix load instruction: ldmatrix" and "… store
// instruction: stmatrix".
//
//===----------------------------------------------------------------------===//

#include "exec/Matrix.h"

#include <algorithm>

namespace tds::sim {

namespace {

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
    u32 *d = w.reg<u32>(ext[q]);
    if (!Trans) {
      // Row i goes to lanes 4 i to 4 i + 3, two elements each.
      for (int i = 0; i < 8; ++i)
        memcpy(d + 4 * i, w.block->shared + rows[q * 8 + i], 16);
      continue;
    }
    u16 m[8][8];
    for (int i = 0; i < 8; ++i)
      memcpy(m[i], w.block->shared + rows[q * 8 + i], 16);
    for (int l = 0; l < 32; ++l) {
      int g = l >> 2, t = (l & 3) * 2;
      d[l] = (u32)m[t][g] | (u32)m[t + 1][g] << 16;
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
} // namespace

void registerLdmatrix(Registry &r) {
  addLdmatrix<1>(r);
  addLdmatrix<2>(r);
  addLdmatrix<4>(r);
}

} // namespace tds::sim
