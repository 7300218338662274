//===- CheckAttribute.h - results that must be true -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_DIALECT_TDS_CHECKATTRIBUTE_H
#define TDSL_DIALECT_TDS_CHECKATTRIBUTE_H

#include "llvm/ADT/StringRef.h"

namespace tdsl::tds::attr {

/// `{text, source}` of a result of an entry that is a `tensor<i1>` and must be
/// true: an `assert` of the source, before tds-guard-gathers makes it a flag.
inline constexpr llvm::StringLiteral kCheck = "tds.check";

/// On a result of an entry that is a `tensor<i1>`: true where the call leaves
/// all variables as they are because gradients overflowed, so that NaNs and
/// infinities behind the forward pass do no harm. Put there by
/// tds-scale-losses, taken away by tds-guard-gathers.
inline constexpr llvm::StringLiteral kSkipped = "tds.skipped";

/// On a tds.stop_gradient of a step: the variable that it is a new value of and
/// that the step writes again later. Gone with it behind differentiation.
inline constexpr llvm::StringLiteral kWritten = "tds.written";

} // namespace tdsl::tds::attr

#endif // TDSL_DIALECT_TDS_CHECKATTRIBUTE_H
