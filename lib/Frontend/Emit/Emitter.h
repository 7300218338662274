//===- Emitter.h - State of emission -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_LIB_FRONTEND_EMIT_EMITTER_H
#define TDSL_LIB_FRONTEND_EMIT_EMITTER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Frontend/Emit.h"

namespace tdsl {

/// Turns functions into `func.func`s, node by node.
class Emitter {
public:
  Emitter(const typed::Program &program, const SourceManager &sources,
          mlir::MLIRContext &context)
      : program(program), sources(sources), builder(&context) {}

  mlir::OwningOpRef<mlir::ModuleOp> run();

private:
  void emitVariables();
  void emitFunction(const typed::Function &function);
  void bindArgument(const typed::Node *node);
  void emit(const typed::Node *node);
  mlir::Value emitGeneric(const typed::Node *node);
  void emitCall(const typed::Node *node);
  void emitGradient(const typed::Node *node);
  void emitFold(const typed::Node *node);

  // Bodies (EmitBody.cpp).
  void emitInBody(const typed::Node *node, mlir::ValueRange loops);
  mlir::Value materialiseIndex(const typed::Node *node, mlir::Location loc);
  void emitRead(const typed::Node *node);

  /// The element operations, on scalars and tensors alike; null for others.
  mlir::Value emitElementwise(const typed::Node *node, mlir::Type type,
                              mlir::Location loc);

  mlir::Type getElement(typed::Elem elem);
  mlir::Type getType(const typed::Type &type, bool scalar = false);
  mlir::TypedAttr getScalar(const typed::Scalar &scalar, mlir::Type type);
  mlir::Attribute getCheck(const typed::Check &check);
  mlir::Attribute getNumber(const typed::Scalar &scalar);
  mlir::Location getLoc(SourceRange range, llvm::StringRef name = {},
                        llvm::StringRef doc = {});
  mlir::Value get(const typed::Value &value);
  void set(const typed::Node *node, mlir::Value value) {
    values[node].assign(1, value);
  }

  /// An index expression of a body: affine in `dims`.
  struct Index {
    mlir::AffineExpr expr;
    llvm::SmallVector<mlir::Value, 4> dims;
    mlir::Value value; // once it is an SSA value
  };

  const typed::Program &program;
  const SourceManager &sources;
  mlir::OpBuilder builder;
  llvm::SmallVector<mlir::Value, 8> arguments;
  llvm::DenseMap<const typed::Node *, llvm::SmallVector<mlir::Value, 1>> values;
  llvm::DenseMap<const typed::Node *, Index> indices;
};

} // namespace tdsl

#endif // TDSL_LIB_FRONTEND_EMIT_EMITTER_H
