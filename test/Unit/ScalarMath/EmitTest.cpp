//===- EmitTest.cpp - the form of the emitted code -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/ScalarMath/CheckModule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include "gtest/gtest.h"

#include <map>

using namespace mlir;
using namespace tdsl::scalarmath;

namespace {

/// Emits every kernel on operands of the given shape and calls `visit` with
/// each, its function and its result.
void forEachEmitted(
    unsigned lanes,
    llvm::function_ref<void(const CheckKernel &, func::FuncOp, Value)> visit) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect,
                      scf::SCFDialect>();
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  auto valueType = [&](Element element) {
    Type type = typeOf(builder, element);
    return lanes > 1 ? Type(VectorType::get(int64_t(lanes), type)) : type;
  };
  for (const CheckKernel &kernel : checkKernels()) {
    builder.setInsertionPointToEnd(module->getBody());
    SmallVector<Type> inputs;
    for (Element element : kernel.inputs)
      inputs.push_back(valueType(element));
    auto function = func::FuncOp::create(
        builder, loc, kernel.name,
        builder.getFunctionType(inputs, valueType(kernel.output)));
    builder.setInsertionPointToStart(function.addEntryBlock());
    Value result = kernel.emit(builder, loc, function.getArguments(), {});
    func::ReturnOp::create(builder, loc, result);
    visit(kernel, function, result);
  }
}

class Emitted : public testing::TestWithParam<unsigned> {};

TEST_P(Emitted, VerifiesAndHasTheRightType) {
  forEachEmitted(GetParam(), [](const CheckKernel &kernel,
                                func::FuncOp function, Value result) {
    EXPECT_TRUE(succeeded(verify(function))) << kernel.name;
    EXPECT_EQ(result.getType(), function.getResultTypes()[0]) << kernel.name;
  });
}

// A flag on one operation would already change bits somewhere.
TEST_P(Emitted, HasNoFastMathFlag) {
  unsigned seen = 0;
  forEachEmitted(GetParam(), [&](const CheckKernel &kernel,
                                 func::FuncOp function, Value) {
    function.walk([&](Operation *op) {
      if (auto math = dyn_cast<arith::ArithFastMathInterface>(op)) {
        ++seen;
        arith::FastMathFlagsAttr flags = math.getFastMathFlagsAttr();
        EXPECT_TRUE(!flags || flags.getValue() == arith::FastMathFlags::none)
            << kernel.name;
      }
      if (auto math = dyn_cast<LLVM::FastmathFlagsInterface>(op)) {
        ++seen;
        Attribute flags = math.getFastmathAttr();
        EXPECT_TRUE(!flags || cast<LLVM::FastmathFlagsAttr>(flags).getValue() ==
                                  LLVM::FastmathFlags::none)
            << kernel.name;
      }
    });
  });
  EXPECT_GT(seen, 1000u);
}

TEST_P(Emitted, IsStraightLineExceptFloatMod) {
  forEachEmitted(GetParam(),
                 [](const CheckKernel &kernel, func::FuncOp function, Value) {
                   unsigned loops = 0, others = 0;
                   function.walk([&](Operation *op) {
                     if (isa<scf::WhileOp>(op))
                       ++loops;
                     else if (op->getNumRegions() && !isa<func::FuncOp>(op))
                       ++others;
                     EXPECT_FALSE(isa<CallOpInterface>(op)) << kernel.name;
                   });
                   bool isMod = StringRef(kernel.name).starts_with("mod_") &&
                                isFloat(kernel.output);
                   EXPECT_EQ(loops, isMod ? 1u : 0u) << kernel.name;
                   EXPECT_EQ(others, 0u) << kernel.name;
                 });
}

// The functions that training spends its time in must stay small.
TEST(EmittedSize, OfTheHotFunctions) {
  std::map<std::string, unsigned> limits = {
      {"exp_f32", 30}, {"log_f32", 40},     {"tanh_f32", 40},
      {"erf_f32", 45}, {"sigmoid_f32", 50}, {"rsqrt_f32", 3}};
  unsigned found = 0;
  forEachEmitted(1,
                 [&](const CheckKernel &kernel, func::FuncOp function, Value) {
                   auto limit = limits.find(kernel.name);
                   if (limit == limits.end())
                     return;
                   ++found;
                   unsigned count = 0;
                   function.walk([&](Operation *op) {
                     count += !isa<arith::ConstantOp, arith::BitcastOp,
                                   func::FuncOp, func::ReturnOp>(op);
                   });
                   EXPECT_LE(count, limit->second) << kernel.name;
                 });
  EXPECT_EQ(found, limits.size());
}

INSTANTIATE_TEST_SUITE_P(Lanes, Emitted, testing::Values(1u, 4u, 16u));

} // namespace
