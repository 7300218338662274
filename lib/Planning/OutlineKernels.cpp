//===- OutlineKernels.cpp - kernels as functions, equal ones once -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutlineKernels.h"

#include "tdsl/Dialect/Plan/PlanOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tdsl;

func::FuncOp KernelOutliner::outline(tds::KernelOp kernel,
                                     ArrayRef<int64_t> inPlace,
                                     ArrayRef<int64_t> counters,
                                     bool disjoint) {
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(module.getBody());
  auto type = builder.getFunctionType(kernel.getInputs().getTypes(),
                                      kernel.getOutputs().getTypes());
  auto function =
      func::FuncOp::create(builder, kernel.getLoc(), "kernel", type);
  function.setPrivate();
  function->setAttr(plan::attr::kInPlace,
                    builder.getDenseI64ArrayAttr(inPlace));
  if (!counters.empty())
    function->setAttr(plan::attr::kCounters,
                      builder.getDenseI64ArrayAttr(counters));
  if (disjoint)
    function->setAttr(plan::attr::kDisjoint, builder.getUnitAttr());
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  // An operand may come twice; every argument stands for its own place.
  auto clone = cast<tds::KernelOp>(builder.clone(*kernel, mapping));
  clone.getInputsMutable().assign(body->getArguments());
  func::ReturnOp::create(builder, kernel.getLoc(), clone.getOutputs());

  // Locations are not printed: what prints alike is alike.
  std::string text;
  llvm::raw_string_ostream stream(text);
  function.print(stream, OpPrintingFlags().useLocalScope());
  auto [it, isNew] = functions.try_emplace(text, function);
  if (!isNew) {
    function.erase();
    return it->second;
  }
  std::string name =
      ("tds_k" + llvm::Twine(functions.size() - 1) + "_" + kernel.getKind())
          .str();
  // An entry or a variable of the user may have that name.
  while (module.lookupSymbol(name))
    name += "_";
  function.setName(name);
  return function;
}
