//===- FoldAttributes.h - marks on folds -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_DIALECT_TDS_FOLDATTRIBUTES_H
#define TDSL_DIALECT_TDS_FOLDATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace tdsl::tds::attr {

/// On a fold of one iteration: what it computes is computed again by the
/// derivative, and not kept. Removed by differentiation.
inline constexpr llvm::StringLiteral kCheckpoint = "tds.checkpoint";
/// On the derivative of such a fold: it stays a loop of its own, so that
/// nothing merges its values with those of the first computation.
inline constexpr llvm::StringLiteral kRecompute = "tds.recompute";
/// On an addition: a term of a reduction over several tensors, such as the norm
/// of a record, which has no order. In a fold that carries the sum, the terms
/// may be added over all iterations at once.
inline constexpr llvm::StringLiteral kAnyOrder = "tds.any_order";

} // namespace tdsl::tds::attr

#endif // TDSL_DIALECT_TDS_FOLDATTRIBUTES_H
