//===- NarrowFolds.h - what loops keep, in 16 bits -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of tds-mixed-precision: values that were rounded in the body of a loop
// are rounded where that takes less time and memory. No bit of any value
// changes. `narrow` is the type of 16 bits.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TRANSFORMS_NARROWFOLDS_H
#define TDSL_LIB_TRANSFORMS_NARROWFOLDS_H

#include "tdsl/Dialect/TDS/TDSOps.h"

namespace tdsl {

/// Whether nothing but the iterations of loops read what a loop collects: it is
/// a store between them.
bool isStore(mlir::Value collected);

/// Rounds what a loop does not change before it, once and not in every
/// iteration.
void hoistCasts(tds::FoldOp fold, mlir::FloatType narrow);

/// Rounds a tensor before the loops where several of them, such as a loop and
/// that of its derivative, round its slices: the weights of rolled layers.
void hoistSharedCasts(llvm::ArrayRef<tds::FoldOp> folds,
                      mlir::FloatType narrow);

/// Carries a rounded copy of each carried value that the body rounds: what
/// computes the next value writes both, and no kernel at the beginning of an
/// iteration only rounds. Gives the loop that takes the place of `fold`.
tds::FoldOp carryNarrow(tds::FoldOp fold, mlir::FloatType narrow);

/// Carries these values in 16 bits only: what an iteration leaves is rounded.
/// Gives the loop that takes the place of `fold`.
tds::FoldOp carryNarrowOnly(tds::FoldOp fold, llvm::ArrayRef<unsigned> numbers,
                            mlir::FloatType narrow);

/// Collects in 16 bits what was rounded, or is carried, where loops alone read
/// it.
void narrowStores(tds::FoldOp fold, mlir::FloatType narrow);

} // namespace tdsl

#endif // TDSL_LIB_TRANSFORMS_NARROWFOLDS_H
