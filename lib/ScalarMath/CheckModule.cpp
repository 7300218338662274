//===- CheckModule.cpp - every scalar function as a kernel -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/ScalarMath/CheckModule.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace tdsl::scalarmath {

/// Loads element `index` of every input (or `lanes` from there on), applies the
/// kernel and stores the result.
static void emitElement(OpBuilder &builder, Location loc,
                        const CheckKernel &kernel,
                        const CheckModuleOptions &options, ValueRange arguments,
                        Value index) {
  auto valueType = [&](Element element) {
    Type type = typeOf(builder, element);
    return options.lanes > 1
               ? Type(VectorType::get(int64_t(options.lanes), type))
               : type;
  };
  auto address = [&](unsigned argument, Element element) -> Value {
    return LLVM::GEPOp::create(builder, loc,
                               LLVM::LLVMPointerType::get(builder.getContext()),
                               typeOf(builder, element), arguments[argument],
                               ArrayRef<LLVM::GEPArg>{index});
  };
  SmallVector<Value> operands;
  for (auto [i, element] : llvm::enumerate(kernel.inputs))
    operands.push_back(LLVM::LoadOp::create(builder, loc, valueType(element),
                                            address(i, element),
                                            bytesOf(element)));
  Value result = kernel.emit(builder, loc, operands, options.emit);
  LLVM::StoreOp::create(builder, loc, result,
                        address(kernel.inputs.size(), kernel.output),
                        bytesOf(kernel.output));
}

static void emitKernel(OpBuilder &builder, Location loc,
                       const CheckKernel &kernel,
                       const CheckModuleOptions &options) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Type> types(kernel.inputs.size() + 1,
                          LLVM::LLVMPointerType::get(builder.getContext()));
  types.push_back(builder.getI64Type());
  auto function = func::FuncOp::create(builder, loc, kernel.name,
                                       builder.getFunctionType(types, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  ValueRange arguments = function.getArguments();
  Value count = arguments.back();
  if (options.forGpu) {
    Type i32 = builder.getI32Type();
    auto wide = [&](Value x) {
      return arith::ExtUIOp::create(builder, loc, builder.getI64Type(), x)
          .getResult();
    };
    Value block = wide(NVVM::BlockIdXOp::create(builder, loc, i32));
    Value size = wide(NVVM::BlockDimXOp::create(builder, loc, i32));
    Value thread = wide(NVVM::ThreadIdXOp::create(builder, loc, i32));
    Value index = arith::AddIOp::create(
        builder, loc, arith::MulIOp::create(builder, loc, block, size), thread);
    Value inside = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, index, count);
    scf::IfOp::create(builder, loc, inside, [&](OpBuilder &b, Location loc) {
      emitElement(b, loc, kernel, options, arguments, index);
      scf::YieldOp::create(b, loc);
    });
  } else {
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(0));
    Value step = arith::ConstantOp::create(
        builder, loc, builder.getI64IntegerAttr(options.lanes));
    scf::ForOp::create(
        builder, loc, zero, count, step, ValueRange{},
        [&](OpBuilder &b, Location loc, Value index, ValueRange) {
          emitElement(b, loc, kernel, options, arguments, index);
          scf::YieldOp::create(b, loc);
        });
  }
  func::ReturnOp::create(builder, loc);
}

OwningOpRef<ModuleOp> buildCheckModule(MLIRContext &context,
                                       const CheckModuleOptions &options) {
  context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                      func::FuncDialect, LLVM::LLVMDialect, NVVM::NVVMDialect,
                      scf::SCFDialect>();
  Location loc = UnknownLoc::get(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder builder(&context);
  builder.setInsertionPointToEnd(module->getBody());
  for (const CheckKernel &kernel : checkKernels())
    emitKernel(builder, loc, kernel, options);

  PassManager passes(&context);
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createConvertFuncToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  if (failed(passes.run(*module)))
    return nullptr;
  // Only an llvm.func may carry the attribute.
  if (options.forGpu)
    for (auto function : module->getOps<LLVM::LLVMFuncOp>())
      function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                        builder.getUnitAttr());
  return module;
}

} // namespace tdsl::scalarmath
