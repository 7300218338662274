//===- ElementwiseFolds.cpp - constants through element operations -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/TDSOps.h"

using namespace mlir;
using namespace tdsl::tds;

#define TDSL_FOLD(Op)                                                                                                  \
  OpFoldResult Op::fold(FoldAdaptor) { return {}; }
TDSL_FOLD(AddOp)
TDSL_FOLD(SubOp)
TDSL_FOLD(MulOp)
TDSL_FOLD(DivOp)
TDSL_FOLD(FloorDivOp)
TDSL_FOLD(ModOp)
TDSL_FOLD(PowOp)
TDSL_FOLD(MaxOp)
TDSL_FOLD(MinOp)
TDSL_FOLD(ClampOp)
TDSL_FOLD(NegOp)
TDSL_FOLD(AbsOp)
TDSL_FOLD(SignOp)
TDSL_FOLD(FloorOp)
TDSL_FOLD(CeilOp)
TDSL_FOLD(RoundOp)
TDSL_FOLD(SqrtOp)
TDSL_FOLD(RsqrtOp)
TDSL_FOLD(ExpOp)
TDSL_FOLD(Expm1Op)
TDSL_FOLD(LogOp)
TDSL_FOLD(Log1pOp)
TDSL_FOLD(TanhOp)
TDSL_FOLD(SigmoidOp)
TDSL_FOLD(ErfOp)
TDSL_FOLD(SinOp)
TDSL_FOLD(CosOp)
TDSL_FOLD(AndOp)
TDSL_FOLD(OrOp)
TDSL_FOLD(NotOp)
TDSL_FOLD(IsNanOp)
TDSL_FOLD(IsFiniteOp)
TDSL_FOLD(CompareOp)
TDSL_FOLD(SelectOp)
TDSL_FOLD(CastOp)
#undef TDSL_FOLD

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }
