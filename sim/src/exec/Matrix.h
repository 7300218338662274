//===- Matrix.h - what the matrix instructions share ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TDSL_SIM_EXEC_MATRIX_H
#define TDSL_SIM_EXEC_MATRIX_H

#include "decode/Registry.h"
#include "exec/Access.h"
#include "exec/FloatSemantics.h"

namespace tds::sim {

enum class El { F16, BF16, TF32, F64, S8, U8 };

/// Faults unless all lanes of the warp take part.
inline void needAll(Warp &w) {
  if (w.mask != ~0u)
    w.fault(FaultKind::InactiveLane,
            "a matrix instruction needs all 32 lanes, " +
                std::to_string(popcount(w.mask)) + " execute it",
            __builtin_ctz(~w.mask));
}

template <El E> inline float convert(u16 v) {
  return E == El::F16 ? halfToFloat(v) : bf16ToFloat(v);
}

/// Registers d = a * b + c with nD, nA, nB and nD registers.
void addMma(Registry &r, const std::string &name, Handler fn, Ty d, Ty ab,
            u8 nD, u8 nA, u8 nB, u16 ptx, u16 sm);

} // namespace tds::sim

#endif // TDSL_SIM_EXEC_MATRIX_H
