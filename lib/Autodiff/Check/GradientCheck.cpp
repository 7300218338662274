//===- GradientCheck.cpp - gradients against differences -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Autodiff/GradientCheck.h"

#include "tdsl/Autodiff/Autodiff.h"

#include "CheckRun.h"
#include "ConvertToF64.h"

#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using namespace tdsl::autodiff;

static void writeLine(raw_ostream &os, StringRef name, const Comparison &c,
                      StringRef verdict) {
  os << "  " << llvm::left_justify(name, 28)
     << llvm::format("%18.9e%18.9e%12.1e  ", c.analytic, c.numeric, c.error)
     << verdict << "\n";
}

static void writeReport(raw_ostream &os, const GradientReport &report,
                        const GradientCheckOptions &options) {
  if (!report.problem.empty()) {
    os << "  not compared: " << report.problem << "\n";
    return;
  }
  os << "  " << llvm::left_justify("variable", 28)
     << llvm::right_justify("gradient", 18)
     << llvm::right_justify("difference", 18)
     << llvm::right_justify("rel. error", 12) << "\n";
  for (const VariableReport &variable : report.variables)
    writeLine(os, variable.name, variable.comparison,
              variable.isZero              ? "0 in every direction"
              : variable.comparison.passes ? "ok"
                                           : "WRONG");
  Comparison worst;
  bool anyWrong = false;
  for (const Comparison &direction : report.directions) {
    if (options.verbose || !direction.passes)
      writeLine(os, "all variables", direction,
                direction.passes ? "ok" : "WRONG");
    anyWrong |= !direction.passes;
    if (direction.error >= worst.error)
      worst = direction;
  }
  if (!anyWrong && !report.directions.empty())
    writeLine(os, "all, worst of " + std::to_string(report.directions.size()),
              worst, "ok");
}

/// A function of what the body of a loop takes and uses, for a gradient that is
/// taken in it, and the number of that gradient there.
static std::pair<func::FuncOp, unsigned> outlineBody(GradientOp gradient,
                                                     const Twine &name) {
  Block *block = gradient->getBlock();
  auto module = gradient->getParentOfType<ModuleOp>();
  SmallVector<Value> inputs(block->getArguments());
  SetVector<Value> captures;
  block->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (!block->getParent()->isAncestor(operand.getParentRegion()))
        captures.insert(operand);
  });
  IRMapping mapping;
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  for (Value value : captures)
    if (!value.getDefiningOp<ConstantOp>())
      inputs.push_back(value);
  auto function = func::FuncOp::create(
      builder, gradient.getLoc(), name.str(),
      builder.getFunctionType(TypeRange(ValueRange(inputs)), {}));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  for (auto [input, argument] : llvm::zip_equal(inputs, entry->getArguments()))
    mapping.map(input, argument);
  for (Value value : captures)
    if (Operation *constant = value.getDefiningOp<ConstantOp>())
      builder.clone(*constant, mapping);
  Operation *outlined = nullptr;
  for (Operation &op : block->without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    if (&op == gradient)
      outlined = copy;
  }
  func::ReturnOp::create(builder, gradient.getLoc());
  SmallVector<GradientOp> gradients = getGradients(function);
  return {function, llvm::find(gradients, outlined) - gradients.begin()};
}

/// Scalar operations of one evaluation of the function, roughly.
static double estimateWork(func::FuncOp function) {
  double work = 0;
  function.walk([&](Operation *op) {
    double points = 0;
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        points += tensor.getNumElements();
    if (auto contract = dyn_cast<ContractOp>(op)) {
      auto extents = contract.getExtentOfAxis();
      for (int64_t axis : contract.getReducedAxes())
        points *= extents[axis];
    } else if (auto generic = dyn_cast<GenericOp>(op)) {
      for (int64_t extent : generic.getReduceExtents())
        points *= extent;
      points *= generic.getBlock()->getOperations().size();
    }
    work += points;
  });
  return work;
}

/// Evaluations take minutes above this many operations each.
static constexpr double longWork = 1e8;

LogicalResult autodiff::checkGradients(ModuleOp module, raw_ostream &os,
                                       const GradientCheckOptions &options) {
  OwningOpRef<ModuleOp> program(module.clone());
  if (!options.scaleRule.empty()) {
    auto [name, factor] = StringRef(options.scaleRule).split(':');
    double value = 0;
    if (factor.getAsDouble(value)) {
      os << "scale-rule wants an operation and a factor, as in tds.mul:1.01\n";
      return failure();
    }
    scaleRule(*program, name, value);
  }
  if (failed(inlineCalls(*program, /*keepCustomDerivatives=*/true)))
    return failure();
  convertToF64(*program);
  unsigned count = 0, wrong = 0, zero = 0;
  SmallVector<func::FuncOp> functions(program->getOps<func::FuncOp>());
  for (auto function : functions) {
    // A private function is checked where it is used.
    if (function.isPrivate() && !function->hasAttr(attr::kEntry))
      continue;
    for (auto [index, gradient] : llvm::enumerate(getGradients(function))) {
      ++count;
      os << "gradient at " << describeLocation(gradient.getLoc()) << " in '"
         << function.getName() << "'\n";
      if (double work = estimateWork(function); work > longWork)
        os << llvm::format("  about %.0e operations an evaluation, and dozens "
                           "of evaluations: this takes long.\n  A line "
                           "`// check: -D B=4` in the program, or -D on the "
                           "command line, gives the check smaller sizes.\n",
                           work);
      os.flush();
      func::FuncOp checked = function;
      unsigned number = index;
      if (gradient->getParentOp() != function)
        std::tie(checked, number) =
            outlineBody(gradient, function.getName() + ".body" + Twine(count));
      FailureOr<CheckRun> run = CheckRun::prepare(*program, checked.getName(),
                                                  number, options.tamper);
      if (failed(run)) {
        os << "  not compared: the program cannot be differentiated\n";
        ++wrong;
        continue;
      }
      GradientReport report = run->run(options);
      writeReport(os, report, options);
      if (report.passes() ||
          (!report.problem.empty() && options.allowUncomparable))
        continue;
      if (!report.problem.empty() || report.disagrees()) {
        ++wrong;
        unsigned found =
            report.problem.empty()
                ? localizeFault(*program, checked.getName(), number,
                                report.arguments, os, options)
                : 0;
        if (report.problem.empty() && !found)
          os << "    every operation by itself agrees\n";
      } else {
        ++zero;
      }
    }
  }
  if (count == 0)
    os << "no gradient is asked for in this program\n";
  else
    os << count << (count == 1 ? " gradient" : " gradients") << " compared, "
       << wrong << " wrong, " << zero << " with a variable of gradient 0\n";
  return success(wrong == 0 && (zero == 0 || options.allowZero));
}
