//===- LocalizeFault.cpp - which operation's rule is wrong -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When a gradient disagrees with the differences of its loss, every operation
// between the variables and the loss is checked alone: the sum of its result
// times random weights is differentiated by its operands, at the values that
// these had. Operations in the bodies of index definitions are checked as
// element operations on random values; where one of them is wrong, the index
// definition itself is not accused.
//
//===----------------------------------------------------------------------===//

#include "CheckRun.h"

#include "tdsl/Autodiff/Autodiff.h"
#include "tdsl/Reference/Evaluator.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using namespace tdsl::autodiff;
using reference::Tensor;

static constexpr int64_t kBodySamples = 16;
static constexpr llvm::StringLiteral kProbe = "tds_probe";

/// Adds a function of `inputTypes` and a weight that gives the gradients of
/// `build(inputs)` by the inputs that are floats.
static void addProbe(ModuleOp module, Location loc, ArrayRef<Type> inputTypes,
                     RankedTensorType resultType,
                     function_ref<Value(OpBuilder &, ValueRange)> build) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  SmallVector<Type> arguments(inputTypes);
  arguments.push_back(resultType);
  auto function = func::FuncOp::create(builder, loc, kProbe,
                                       builder.getFunctionType(arguments, {}));
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  Value result =
      build(builder, block->getArguments().take_front(inputTypes.size()));
  Value weighted = MulOp::create(builder, loc, resultType, result,
                                 block->getArguments().back());
  SmallVector<int64_t> axes =
      llvm::to_vector(llvm::seq<int64_t>(0, resultType.getRank()));
  Value loss = ReduceOp::create(
      builder, loc, RankedTensorType::get({}, resultType.getElementType()),
      ReductionKind::Sum, weighted, axes);
  SmallVector<Value> wrt;
  for (Value argument : block->getArguments().take_front(inputTypes.size()))
    if (carriesGradient(argument.getType()))
      wrt.push_back(argument);
  auto gradient =
      GradientOp::create(builder, loc, TypeRange(ValueRange(wrt)), loss, wrt);
  func::ReturnOp::create(builder, loc, gradient.getResults());
  function.setFunctionType(builder.getFunctionType(
      arguments, TypeRange(ValueRange(gradient.getResults()))));
}

/// Runs the probe in `module`; true where it disagrees.
static bool probeDisagrees(ModuleOp module, std::vector<Tensor> inputs,
                           RankedTensorType resultType,
                           const GradientCheckOptions &options,
                           Comparison &worst) {
  FailureOr<CheckRun> run = CheckRun::prepare(module, kProbe, 0);
  if (failed(run))
    return false;
  Random random(options.seed + 1);
  inputs.push_back(drawTensor(resultType, random, FloatDomain::Signed));
  GradientCheckOptions few = options;
  few.randomDirections = 2;
  GradientReport report = run->run(few, std::move(inputs));
  if (!report.problem.empty() || !report.disagrees())
    return false;
  for (const VariableReport &variable : report.variables)
    if (!variable.comparison.passes && variable.comparison.error >= worst.error)
      worst = variable.comparison;
  if (worst.passes || worst.error == 0)
    for (const Comparison &direction : report.directions)
      if (!direction.passes)
        worst = direction;
  return true;
}

static void writeFault(raw_ostream &os, Operation *op,
                       const Comparison &comparison) {
  // A call that is left has a derivative of its own; its symbol is the user's
  // name and a number.
  if (auto call = dyn_cast<func::CallOp>(op)) {
    os << "    the vjp of '" << call.getCallee().rsplit('.').first << "'";
    if (auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
            op, call.getCalleeAttr()))
      os << " (" << describeLocation(callee.getLoc()) << ")";
    os << ", called";
  } else {
    os << "    the derivative of '" << op->getName() << "'";
  }
  os << " at " << describeLocation(op->getLoc()) << " is wrong: "
     << llvm::format("%.9g, the difference is %.9g\n", comparison.analytic,
                     comparison.numeric);
}

/// Checks an element operation of a body on random tensors.
static bool checkBodyOperation(ModuleOp module, Operation *op, raw_ostream &os,
                               const GradientCheckOptions &options) {
  if (isa<ReadOp, ConstantOp, RandomOp, StopGradientOp>(op) ||
      op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      !carriesGradient(op->getResult(0).getType()) ||
      llvm::none_of(op->getOperandTypes(), carriesGradient))
    return false;
  SmallVector<Type> types;
  for (Type type : op->getOperandTypes()) {
    if (type.isIndex())
      return false;
    types.push_back(RankedTensorType::get({kBodySamples}, type));
  }
  auto resultType =
      RankedTensorType::get({kBodySamples}, op->getResult(0).getType());
  OwningOpRef<ModuleOp> copy(module.clone());
  addProbe(*copy, op->getLoc(), types, resultType,
           [&](OpBuilder &builder, ValueRange inputs) -> Value {
             // Constant operands stay constants: rules look at them.
             SmallVector<Value> operands(inputs);
             for (auto [i, operand] : llvm::enumerate(op->getOperands()))
               if (auto constant = operand.getDefiningOp<ConstantOp>())
                 operands[i] =
                     ConstantOp::create(builder, op->getLoc(),
                                        TypedAttr(DenseElementsAttr::get(
                                            cast<RankedTensorType>(types[i]),
                                            Attribute(constant.getValue()))));
             Operation *clone = builder.clone(*op);
             clone->setOperands(operands);
             clone->getResult(0).setType(resultType);
             return clone->getResult(0);
           });
  for (FloatDomain domain :
       {FloatDomain::Positive, FloatDomain::Signed, FloatDomain::AboveOne}) {
    Random random(options.seed + 2);
    std::vector<Tensor> inputs;
    for (Type type : types)
      inputs.push_back(
          drawTensor(cast<RankedTensorType>(type), random, domain));
    Comparison worst;
    if (probeDisagrees(*copy, inputs, resultType, options, worst)) {
      writeFault(os, op, worst);
      return true;
    }
  }
  return false;
}

/// Checks one result of an operation.
static bool checkResult(ModuleOp module, OpResult checked,
                        ArrayRef<Value> values, ArrayRef<Type> types,
                        const std::vector<Tensor> &inputs, raw_ostream &os,
                        const GradientCheckOptions &options) {
  Operation *op = checked.getOwner();
  auto resultType = cast<RankedTensorType>(checked.getType());
  OwningOpRef<ModuleOp> copy(module.clone());
  addProbe(*copy, op->getLoc(), types, resultType,
           [&](OpBuilder &builder, ValueRange arguments) -> Value {
             IRMapping map;
             for (auto [value, argument] : llvm::zip(values, arguments)) {
               map.map(value, argument);
               if (Operation *constant = value.getDefiningOp<ConstantOp>())
                 map.map(value, builder.clone(*constant)->getResult(0));
             }
             return builder.clone(*op, map)->getResult(
                 checked.getResultNumber());
           });
  Comparison worst;
  if (!probeDisagrees(*copy, inputs, resultType, options, worst))
    return false;
  writeFault(os, op, worst);
  return true;
}

/// Checks an operation at the values that its inputs had.
static bool checkOperation(ModuleOp module, Operation *op,
                           std::vector<Tensor> inputs, raw_ostream &os,
                           const GradientCheckOptions &options) {
  unsigned wrongInside = 0;
  if (!isa<FoldOp>(op))
    for (Region &region : op->getRegions())
      region.walk([&](Operation *inner) {
        wrongInside += checkBodyOperation(module, inner, os, options);
      });
  if (wrongInside)
    return true;
  SmallVector<Value> values = getDifferentiationInputs(op);
  SmallVector<Type> types;
  for (Value value : values)
    types.push_back(value.getType());
  return llvm::any_of(op->getResults(), [&](OpResult result) {
    return carriesGradient(result.getType()) &&
           checkResult(module, result, values, types, inputs, os, options);
  });
}

unsigned autodiff::localizeFault(ModuleOp module, StringRef name,
                                 unsigned gradientIndex,
                                 const std::vector<Tensor> &arguments,
                                 raw_ostream &os,
                                 const GradientCheckOptions &options) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  GradientOp gradient = getGradients(function)[gradientIndex];
  // Everything before the gradient, evaluated once. Gradients that the loss
  // itself contains are expanded first, with their operations.
  OwningOpRef<ModuleOp> copy(module.clone());
  auto program = copy->lookupSymbol<func::FuncOp>(name);
  GradientOp target = getGradients(program)[gradientIndex];
  program->removeAttr(attr::kEntry);
  program.setPublic();
  SmallVector<Value> values;
  SmallVector<Operation *> originals;
  DenseMap<Operation *, SmallVector<unsigned>> positions;
  for (auto [op, original] :
       llvm::zip(*target->getBlock(), *gradient->getBlock())) {
    if (&op == target)
      break;
    if (isa<GradientOp, StopGradientOp>(op) ||
        llvm::none_of(op.getResultTypes(), carriesGradient))
      continue;
    SmallVector<Value> inputs = getDifferentiationInputs(&op);
    if (llvm::none_of(inputs,
                      [](Value v) { return carriesGradient(v.getType()); }))
      continue;
    originals.push_back(&original);
    for (Value input : inputs) {
      positions[&original].push_back(values.size());
      values.push_back(input);
    }
  }
  setResults(program, values);
  if (failed(differentiate(*copy)))
    return 0;
  auto results = reference::Evaluator(*copy).call(name, arguments);
  if (!results) {
    llvm::consumeError(results.takeError());
    return 0;
  }
  unsigned count = 0;
  for (Operation *op : originals) {
    std::vector<Tensor> inputs;
    for (unsigned position : positions[op])
      inputs.push_back((*results)[position]);
    count += checkOperation(module, op, std::move(inputs), os, options);
  }
  return count;
}
