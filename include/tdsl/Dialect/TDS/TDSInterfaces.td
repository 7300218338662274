//===- TDSInterfaces.td - op interfaces of the tds dialect -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_DIALECT_TDS_TDSINTERFACES_TD
#define TDSL_DIALECT_TDS_TDSINTERFACES_TD

include "mlir/IR/OpBase.td"

def TDS_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::tdsl::tds";
  let description = [{
    Reverse-mode derivative of an operation. The rules live in `lib/Autodiff` and are attached as external models, so that
    the dialect does not depend on them. An element operation has one rule for both its scalar and its tensor form.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the adjoints of the operands. `adjoints[i]` is the adjoint of result i and has its type, or is null where it is zero everywhere; at
        least one is not. `needed[i]` says whether operand `i`
        takes part. On success `operandAdjoints[i]` is a value of operand i's type, or null where the adjoint is zero everywhere. Operands
        of integer or bool type are never needed. The rule emits code at the builder's insertion point and may use the operands and the result of the op.
        Fails after an error at the op's location.
      }],
      "::llvm::LogicalResult", "buildAdjoints",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Value>":$adjoints, "::llvm::ArrayRef<bool>":$needed,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$operandAdjoints)>
  ];
}

#endif // TDSL_DIALECT_TDS_TDSINTERFACES_TD
