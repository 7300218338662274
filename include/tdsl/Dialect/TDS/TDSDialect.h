//===- TDSDialect.h - the tds dialect -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_DIALECT_TDS_TDSDIALECT_H
#define TDSL_DIALECT_TDS_TDSDIALECT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"

#include "tdsl/Dialect/TDS/TDSDialect.h.inc"
#include "tdsl/Dialect/TDS/TDSEnums.h.inc"

namespace tdsl::tds {

/// Names of the discardable attributes that the dialect gives a meaning to (see
/// the dialect's description).
namespace attr {
/// On a function: "step", "function" or "init".
inline constexpr llvm::StringLiteral kEntry = "tds.entry";
/// On an argument of an entry: the name of the input.
inline constexpr llvm::StringLiteral kInput = "tds.input";
/// On an argument or result of an entry: the variable it is
/// (FlatSymbolRefAttr).
inline constexpr llvm::StringLiteral kVariable = "tds.variable";
/// On a result of an entry: its name.
inline constexpr llvm::StringLiteral kResult = "tds.result";
/// On an input: the value it has when the caller gives none (a number
/// attribute).
inline constexpr llvm::StringLiteral kDefault = "tds.default";
/// On an input or result: unit, axis 0 is the batch.
inline constexpr llvm::StringLiteral kDataAxis = "tds.data_axis";
/// On an input: "weight" for the row weights of an evaluation.
inline constexpr llvm::StringLiteral kRole = "tds.role";
/// On a private function: the symbol of its custom derivative.
inline constexpr llvm::StringLiteral kVjp = "tds.vjp";
/// On an entry: one dictionary {text, source} for each element of its last
/// result, which is named by the same string.
inline constexpr llvm::StringLiteral kFlags = "tds.flags";
} // namespace attr

} // namespace tdsl::tds

#endif // TDSL_DIALECT_TDS_TDSDIALECT_H
