//===- PlantedBugs.h - faults that the checks must find -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a compiler pass could get wrong, done to the program behind the pass.
// The compiler itself has no switch for it. A check of random programs that
// does not find these soon would not find the real ones either.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TESTING_PLANTEDBUGS_H
#define TDSL_TESTING_PLANTEDBUGS_H

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tdsl::testing {

enum class PlantedBug {
  None,
  FoldOffByOneUlp,    ///< a folded float constant is the next number
  MaxTie,             ///< max gives both sides of a tie the whole adjoint
  WindowGuard,        ///< an adjoint reads the edge instead of 0 outside
  InPlaceReuse,       ///< a result goes where another value still lies
  SkippedTail,        ///< the last, partial vector of a row is left out
  TransposedStride,   ///< two indices of a read are swapped
  CastRounding,       ///< to f16 and bf16 rounds towards 0
  FloorDivisionOrder, ///< the operands of `//` are swapped
  DroppedFlag,        ///< a gather out of range raises no flag
  ReductionIdentity,  ///< a maximum begins with 0
};

/// Every bug but None, in order.
llvm::ArrayRef<PlantedBug> getPlantedBugs();
/// "fold-off-by-one-ulp", ….
llvm::StringRef getName(PlantedBug bug);
std::optional<PlantedBug> parsePlantedBug(llvm::StringRef name);

/// The constants of a module, to tell those that folding made.
llvm::DenseSet<mlir::Attribute> collectConstants(mlir::ModuleOp module);

/// Each does nothing where `bug` is none of its stage.
void plantAfterFolding(mlir::ModuleOp module, PlantedBug bug,
                       const llvm::DenseSet<mlir::Attribute> &before);
void plantAfterDifferentiation(mlir::ModuleOp module, PlantedBug bug);
void plantAfterFusion(mlir::ModuleOp module, PlantedBug bug);
void plantAfterPlanning(mlir::ModuleOp module, PlantedBug bug);

} // namespace tdsl::testing

#endif // TDSL_TESTING_PLANTEDBUGS_H
