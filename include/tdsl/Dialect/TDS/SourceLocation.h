//===- SourceLocation.h - places in the user's program -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_DIALECT_TDS_SOURCELOCATION_H
#define TDSL_DIALECT_TDS_SOURCELOCATION_H

#include "mlir/IR/Location.h"

#include "llvm/ADT/SmallVector.h"

#include <string>

namespace tdsl {

/// Whether a file is a standard module, which travels inside the compiler.
bool isStandardModule(llvm::StringRef file);

/// The place in a file that a location stands for, or null. For code that was
/// inlined it is the outermost call, which is in an entry of the program; of
/// several places it is the first.
mlir::FileLineColRange findPlace(mlir::Location loc);

/// The places that a location stands for, one for each of its parts, without
/// repetition. For code that was inlined it is the innermost place that is not
/// in a standard module: the line that a reader of the program would point at.
llvm::SmallVector<mlir::FileLineColRange> findOwnPlaces(mlir::Location loc);

/// The location of the derivative of what is at `loc`: the same place, but
/// another location. What is said of one is not said of the other.
mlir::Location getDerivativeLoc(mlir::Location loc);
bool isDerivativeLoc(mlir::Location loc);

/// `file:line:column` of findPlace; empty where nothing is known.
std::string describeLocation(mlir::Location loc);

/// `file:line:column` of a place; empty for null.
std::string describePlace(mlir::FileLineColRange place);

} // namespace tdsl

#endif // TDSL_DIALECT_TDS_SOURCELOCATION_H
