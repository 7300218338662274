//===- BodyCompiler.h - scalar bodies as row programs -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_DIALECT_TDS_BODYCOMPILER_H
#define TDSL_LIB_DIALECT_TDS_BODYCOMPILER_H

#include "tdsl/Dialect/TDS/Evaluate.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace tdsl::tds {

/// Compiles the body of a tds.generic or tds.scatter, or one element operation.
class BodyCompiler {
public:
  BodyCompiler(reference::RowProgram &program, const EvaluateOptions &options)
      : program(program), options(options) {}

  /// Compiles what `wanted` (values of the body) need. `extents` are those of
  /// the block arguments.
  llvm::Error compileBody(mlir::Block &block, llvm::ArrayRef<int64_t> extents,
                          llvm::ArrayRef<mlir::Value> wanted);

  /// The register of a wanted value.
  reference::Reg getReg(mlir::Value value);

  /// The register of `op`'s result from those of its operands; nothing where it
  /// is no element operation.
  std::optional<reference::Reg>
  compileElementOp(mlir::Operation *op,
                   llvm::ArrayRef<reference::Reg> operands);

  /// The tensors that the body reads, in order of their slots.
  llvm::ArrayRef<mlir::Value> getSlots() const { return slots; }

private:
  /// How a read finds its element: at fixed strides, if it provably stays
  /// inside.
  struct Affine {
    int64_t base;
    llvm::SmallVector<int64_t, 4> strides;
  };
  std::optional<Affine> getAffine(ReadOp read);
  unsigned getSlot(mlir::Value tensor);
  reference::Reg compileAffine(mlir::AffineExpr expr,
                               llvm::ArrayRef<reference::Reg> operands);
  void compileRead(ReadOp read);
  reference::Reg constant(mlir::Attribute value);
  std::optional<reference::ElementKind> kindOf(mlir::Value value) const {
    return getElementKind(getElementType(value.getType()), options.f64);
  }

  reference::RowProgram &program;
  const EvaluateOptions &options;
  mlir::Block *block = nullptr;
  llvm::SmallVector<int64_t> extents;
  llvm::DenseMap<mlir::Value, reference::Reg> regs;
  llvm::DenseMap<mlir::Operation *, Affine> affineReads;
  llvm::SmallVector<mlir::Value> slots;
  llvm::DenseMap<mlir::Value, unsigned> slotOf;
};

} // namespace tdsl::tds

#endif // TDSL_LIB_DIALECT_TDS_BODYCOMPILER_H
