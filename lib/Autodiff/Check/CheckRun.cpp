//===- CheckRun.cpp - the check of one tds.gradient -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckRun.h"

#include "tdsl/Autodiff/Autodiff.h"
#include "tdsl/Reference/Evaluator.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <cmath>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using namespace tdsl::autodiff;
using reference::Tensor;

static constexpr double kSteps[] = {1e-5, 1e-6, 1e-4};

/// How often other arguments are drawn where the loss jumps at the first ones.
static constexpr unsigned kRedraws = 3;

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

std::string autodiff::describeLocation(Location loc) {
  if (auto file = loc->findInstanceOf<FileLineColLoc>()) {
    std::string text = file.getFilename().str();
    return text + ":" + std::to_string(file.getLine()) + ":" +
           std::to_string(file.getColumn());
  }
  return "an unknown place";
}

SmallVector<GradientOp> autodiff::getGradients(func::FuncOp function) {
  SmallVector<GradientOp> gradients;
  function.walk([&](GradientOp op) { gradients.push_back(op); });
  return gradients;
}

void autodiff::setResults(func::FuncOp function, ValueRange results) {
  Block &block = function.getBody().front();
  Operation *terminator = block.getTerminator();
  SmallVector<Value> kept(results);
  terminator->setOperands(kept);
  while (function.getNumResults() > kept.size())
    (void)function.eraseResult(function.getNumResults() - 1);
  function.setResAttrsAttr(nullptr);
  function.setFunctionType(FunctionType::get(function.getContext(),
                                             function.getArgumentTypes(),
                                             TypeRange(ValueRange(kept))));
  SmallVector<Operation *> operations;
  for (Operation &op : block.without_terminator())
    operations.push_back(&op);
  for (Operation *op : llvm::reverse(operations))
    if (op->use_empty() && (isOpTriviallyDead(op) || isa<func::CallOp>(op)))
      op->erase();
}

/// A copy of the module with one public function; other entries are dropped.
static std::pair<OwningOpRef<ModuleOp>, func::FuncOp> isolate(ModuleOp module,
                                                              StringRef name) {
  OwningOpRef<ModuleOp> copy(module.clone());
  auto function = copy->lookupSymbol<func::FuncOp>(name);
  for (auto other : llvm::make_early_inc_range(copy->getOps<func::FuncOp>())) {
    bool isCalled = !SymbolTable::symbolKnownUseEmpty(other, *copy);
    if (other != function && !isCalled)
      other.erase();
  }
  function->removeAttr(attr::kEntry);
  function.setPublic();
  return {std::move(copy), function};
}

static std::string nameVariable(func::FuncOp function, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getOwner() == &function.getBody().front()) {
    unsigned i = argument.getArgNumber();
    if (auto symbol =
            function.getArgAttrOfType<FlatSymbolRefAttr>(i, attr::kVariable))
      return symbol.getValue().str();
    if (auto name = function.getArgAttrOfType<StringAttr>(i, attr::kInput))
      return name.str();
    return "argument " + std::to_string(i);
  }
  return "the value at " + describeLocation(value.getLoc());
}

FailureOr<CheckRun>
CheckRun::prepare(ModuleOp module, StringRef name, unsigned gradientIndex,
                  const std::function<void(ModuleOp)> &tamper) {
  CheckRun run;
  run.function = name.str();
  {
    auto [program, function] = isolate(module, name);
    GradientOp gradient = getGradients(function)[gradientIndex];
    for (Value value : gradient.getWrt()) {
      run.types.push_back(cast<RankedTensorType>(value.getType()));
      run.names.push_back(nameVariable(function, value));
    }
    setResults(function, gradient.getGradients());
    if (failed(differentiate(*program)))
      return failure();
    if (tamper)
      tamper(*program);
    run.gradientProgram = std::move(program);
  }
  auto [program, function] = isolate(module, name);
  GradientOp gradient = getGradients(function)[gradientIndex];
  // Every variable gets a displacement as a further argument. A variable that
  // depends on another one moves with it.
  for (unsigned i = 0; i < run.types.size(); ++i) {
    Value value = gradient.getWrt()[i];
    (void)function.insertArgument(function.getNumArguments(), run.types[i], {},
                                  value.getLoc());
    Value displacement = function.getArguments().back();
    OpBuilder builder(function.getContext());
    builder.setInsertionPointAfterValue(value);
    auto moved = AddOp::create(builder, value.getLoc(), value.getType(), value,
                               displacement);
    value.replaceAllUsesExcept(moved, moved);
  }
  setResults(function, gradient.getLoss());
  if (failed(differentiate(*program, /*keepStops=*/true)))
    return failure();
  run.lossProgram = std::move(program);
  return run;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

bool GradientReport::passes() const {
  return problem.empty() && !disagrees() &&
         llvm::none_of(variables, [](const auto &v) { return v.isZero; });
}

bool GradientReport::disagrees() const {
  return llvm::any_of(variables,
                      [](const auto &v) { return !v.comparison.passes; }) ||
         llvm::any_of(directions, [](const auto &d) { return !d.passes; });
}

bool GradientReport::meetsJump() const {
  return llvm::any_of(variables,
                      [](const auto &v) { return v.comparison.jumps; }) ||
         llvm::any_of(directions, [](const auto &d) { return d.jumps; });
}

static bool allFinite(const Tensor &tensor) {
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    if (!std::isfinite(tensor.getDouble(i)))
      return false;
  return true;
}

static bool allZero(const Tensor &tensor) {
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    if (tensor.getDouble(i) != 0)
      return false;
  return true;
}

/// Numbers in [-1, 1) for variable `only`, or for all.
static std::vector<Tensor> drawDirection(ArrayRef<RankedTensorType> types,
                                         std::optional<unsigned> only,
                                         Random &random) {
  std::vector<Tensor> direction;
  for (auto [i, type] : llvm::enumerate(types)) {
    Tensor part(reference::ElementKind::F64, type.getShape());
    for (int64_t k = 0; (!only || *only == i) && k < part.numElements(); ++k)
      part.set(k, drawUniform(random, -1, 1));
    direction.push_back(std::move(part));
  }
  return direction;
}

std::string CheckRun::evaluateBase(const Tensors &arguments, Tensors &gradients,
                                   double &loss,
                                   reference::StopRecorder &stops) {
  auto result =
      reference::Evaluator(*gradientProgram).call(function, arguments);
  if (!result)
    return llvm::toString(result.takeError());
  gradients = std::move(*result);
  Tensors displaced = arguments;
  for (RankedTensorType type : types)
    displaced.emplace_back(reference::ElementKind::F64, type.getShape());
  tds::EvaluateOptions recording;
  recording.stops = &stops;
  auto value =
      reference::Evaluator(*lossProgram, recording).call(function, displaced);
  if (!value)
    return llvm::toString(value.takeError());
  loss = (*value)[0].getDouble(0);
  if (!std::isfinite(loss))
    return "the loss is not finite at any of the random arguments tried";
  if (!llvm::all_of(gradients, allFinite))
    return "the gradient is not finite at any of the random arguments tried";
  return {};
}

Comparison CheckRun::compare(const Tensors &arguments, const Tensors &gradients,
                             const Tensors &direction, double loss,
                             const GradientCheckOptions &options,
                             reference::StopRecorder &stops) {
  Comparison best;
  for (auto [gradient, part] : llvm::zip(gradients, direction))
    for (int64_t k = 0; k < part.numElements(); ++k)
      best.analytic += gradient.getDouble(k) * part.getDouble(k);
  tds::EvaluateOptions replaying;
  replaying.stops = &stops;
  reference::Evaluator evaluator(*lossProgram, replaying);
  auto lossAt = [&](double step) {
    Tensors displaced = arguments;
    for (const Tensor &part : direction) {
      Tensor displacement(reference::ElementKind::F64, part.shape());
      for (int64_t k = 0; k < part.numElements(); ++k)
        displacement.set(k, step * part.getDouble(k));
      displaced.push_back(std::move(displacement));
    }
    stops.startReplay();
    auto value = evaluator.call(function, displaced);
    if (!value) {
      llvm::consumeError(value.takeError());
      return std::nan("");
    }
    return (*value)[0].getDouble(0);
  };
  best.error = HUGE_VAL;
  SmallVector<double> numerics;
  for (double step : kSteps) {
    double numeric = (lossAt(step) - lossAt(-step)) / (2 * step);
    numerics.push_back(numeric);
    double difference = std::abs(best.analytic - numeric);
    double size = std::max(std::abs(best.analytic), std::abs(numeric));
    double error = size == 0 ? 0 : difference / size;
    bool passes = difference <=
                  options.relativeTolerance * size +
                      options.absoluteTolerance * std::max(1.0, std::abs(loss));
    if (passes || error < best.error) {
      best.numeric = numeric;
      best.error = error;
      best.passes = passes;
    }
    if (passes)
      break;
  }
  // A jump J within the step h adds J / 2h, ten times as much at a tenth of the
  // step. At a wrong derivative the differences by both steps are the same.
  best.jumps = !best.passes && std::abs(numerics[1] - numerics[0]) >
                                   std::abs(numerics[1] - best.analytic) / 2;
  return best;
}

GradientReport CheckRun::run(const GradientCheckOptions &options,
                             std::optional<Tensors> given) {
  Random random(options.seed);
  for (unsigned redraws = 0;; ++redraws) {
    GradientReport report = runAt(given, random, options);
    if (!report.problem.empty() || !report.meetsJump())
      return report;
    if (given || redraws == kRedraws) {
      report.problem = "the loss jumps at all of the arguments tried";
      return report;
    }
  }
}

GradientReport CheckRun::runAt(const std::optional<Tensors> &given,
                               Random &random,
                               const GradientCheckOptions &options) {
  GradientReport report;
  Tensors gradients;
  double loss = 0;
  auto stops = std::make_unique<reference::StopRecorder>();
  auto program = lossProgram->lookupSymbol<func::FuncOp>(function);
  for (FloatDomain domain :
       {FloatDomain::Signed, FloatDomain::Positive, FloatDomain::AboveOne}) {
    *stops = {};
    if (given) {
      report.arguments = *given;
    } else {
      report.arguments = drawArguments(program, random, domain);
      report.arguments.resize(report.arguments.size() - types.size());
    }
    report.problem = evaluateBase(report.arguments, gradients, loss, *stops);
    if (report.problem.empty() || given)
      break;
  }
  if (!report.problem.empty())
    return report;
  auto compareIn = [&](const Tensors &direction) {
    return compare(report.arguments, gradients, direction, loss, options,
                   *stops);
  };
  for (unsigned i = 0; i < types.size(); ++i) {
    VariableReport variable;
    variable.name = names[i];
    variable.comparison = compareIn(drawDirection(types, i, random));
    variable.isZero = types[i].getNumElements() != 0 && allZero(gradients[i]) &&
                      variable.comparison.passes;
    report.variables.push_back(std::move(variable));
  }
  for (unsigned i = 0; i < options.randomDirections; ++i)
    report.directions.push_back(
        compareIn(drawDirection(types, std::nullopt, random)));
  return report;
}
