//===- EntryFlags.h - what an entry checks at run time -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of an entry are rank-0 i32 values, not 0 where something is wrong.
// Together they become its last result, `tds.flags`.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TRANSFORMS_ENTRYFLAGS_H
#define TDSL_LIB_TRANSFORMS_ENTRYFLAGS_H

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tdsl {

/// A check, and what to tell the user where it fails.
struct EntryFlag {
  mlir::Value flag;
  std::string text;
  std::string source; ///< file:line:column
};

/// The innermost place that a location names in a file of the user: standard
/// modules have names like "<nn>", and a user looks for the call instead. Where
/// there is no other, the place in the standard module.
mlir::FileLineColLoc getFilePlace(mlir::Location loc);
bool isStandard(mlir::FileLineColLoc place);
/// "file:line:column"; empty without a place.
std::string getPlaceText(mlir::FileLineColLoc place);

/// The argument of the entry that holds the old value of a variable; added
/// where the entry only writes it.
mlir::Value getOldValue(mlir::func::FuncOp entry,
                        mlir::FlatSymbolRefAttr variable, mlir::Type type);

/// `failed`, a rank-0 i1, ? `old` : `value`.
mlir::Value keepOld(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value failed, mlir::Value old, mlir::Value value);

/// Makes each variable that the step writes keep its old value where `failed`,
/// a rank-0 i1, is true; but for those of which `isExempt` says so.
void keepVariables(mlir::func::FuncOp step, mlir::Value failed,
                   llvm::function_ref<bool(llvm::StringRef)> isExempt = {});

/// Makes the flags the last result of the entry. In a step, every variable
/// keeps its old value if one is set. Nothing happens without flags.
void addFlagsResult(mlir::func::FuncOp entry, llvm::ArrayRef<EntryFlag> flags);

/// Adds a flag for each value of the entry that can hold a NaN or an infinity,
/// in the order of the program. Where `skipped`, a rank-0 i1 or null, is true,
/// those behind the forward pass are not set.
void checkNumerics(mlir::func::FuncOp entry, mlir::Value skipped,
                   llvm::SmallVectorImpl<EntryFlag> &flags);

} // namespace tdsl

#endif // TDSL_LIB_TRANSFORMS_ENTRYFLAGS_H
