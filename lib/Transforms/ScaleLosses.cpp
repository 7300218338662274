//===- ScaleLosses.cpp - loss scaling for gradients in f16 -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See the description of tds-scale-losses in Passes.td. The scheme is that of
// Micikevicius et al., "Mixed Precision Training" (ICLR 2018), with the
// dynamic scale of its section 3.2.
//
//===----------------------------------------------------------------------===//

#include "EntryFlags.h"
#include "SkippedResults.h"

#include "tdsl/Dialect/TDS/CheckAttribute.h"
#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Transforms/Passes.h"

#include <cmath>

namespace tdsl {
#define GEN_PASS_DEF_SCALELOSSESPASS
#include "tdsl/Transforms/Passes.h.inc"
} // namespace tdsl

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

namespace {

constexpr llvm::StringLiteral kScaleResult = "amp_scale";
constexpr llvm::StringLiteral kSkippedResult = "amp_skipped";

/// The variables that a step keeps its scale in.
struct ScaleVariables {
  VariableOp scale;   ///< f32, a power of two
  VariableOp good;    ///< i64, steps since it changed
  VariableOp skipped; ///< i64, steps that overflowed
};

class ScaleLossesPass
    : public tdsl::impl::ScaleLossesPassBase<ScaleLossesPass> {
public:
  using ScaleLossesPassBase::ScaleLossesPassBase;
  void runOnOperation() override;

private:
  LogicalResult scaleStep(func::FuncOp step, func::FuncOp init);
  ScaleVariables addVariables(func::FuncOp step, func::FuncOp init);
};

} // namespace

/// A rank-0 value of `type` with the attribute `name`, as a new argument.
static Value addArgument(func::FuncOp entry, VariableOp variable) {
  unsigned position = entry.getNumArguments();
  auto attributes = DictionaryAttr::get(
      entry.getContext(),
      {NamedAttribute(StringAttr::get(entry.getContext(), attr::kVariable),
                      FlatSymbolRefAttr::get(variable.getSymNameAttr()))});
  (void)entry.insertArgument(position, variable.getType(), attributes,
                             entry.getLoc());
  return entry.getArgument(position);
}

static void addResult(func::FuncOp entry, unsigned position, Value value,
                      StringRef name, Attribute attribute) {
  entry.getBody().front().getTerminator()->insertOperands(position, value);
  auto attributes = DictionaryAttr::get(
      entry.getContext(),
      {NamedAttribute(StringAttr::get(entry.getContext(), name), attribute)});
  (void)entry.insertResult(position, value.getType(), attributes);
}

static void addVariableResult(func::FuncOp entry, Value value,
                              VariableOp variable) {
  addResult(entry, entry.getNumResults(), value, attr::kVariable,
            FlatSymbolRefAttr::get(variable.getSymNameAttr()));
}

ScaleVariables ScaleLossesPass::addVariables(func::FuncOp step,
                                             func::FuncOp init) {
  // Counters are last.
  Operation *before = step;
  for (auto variable : getOperation().getOps<VariableOp>())
    if (variable.getRole() == VariableRole::Counter) {
      before = variable;
      break;
    }
  OpBuilder builder(before);
  OpBuilder values(init.getBody().front().getTerminator());
  auto add = [&](StringRef name, Type element, double first) {
    auto type = RankedTensorType::get({}, element);
    auto variable = VariableOp::create(
        builder, step.getLoc(), ("amp." + step.getName() + "." + name).str(),
        VariableRole::Optimizer, type);
    addVariableResult(
        init, ConstantOp::createSplat(values, init.getLoc(), type, first),
        variable);
    return variable;
  };
  return {add("scale", builder.getF32Type(), initialScale),
          add("good", builder.getI64Type(), 0),
          add("skipped", builder.getI64Type(), 0)};
}

/// `value` times the rank-0 f32 `factor`, computed in f32 where the value is
/// narrower.
static Value multiply(OpBuilder &builder, Location loc, Value value,
                      Value factor) {
  auto type = cast<RankedTensorType>(value.getType());
  bool isWide = type.getElementType().isF64();
  auto inner = type.clone(isWide ? Type(builder.getF64Type())
                                 : Type(builder.getF32Type()));
  Value wide = value;
  if (inner != type)
    wide = CastOp::create(builder, loc, inner, value);
  if (isWide)
    factor = CastOp::create(
        builder, loc, RankedTensorType::get({}, builder.getF64Type()), factor);
  if (type.getRank() != 0)
    factor =
        BroadcastOp::create(builder, loc, inner, factor, ArrayRef<int64_t>{});
  Value product = MulOp::create(builder, loc, inner, wide, factor);
  if (inner != type)
    product = CastOp::create(builder, loc, type, product);
  return product;
}

/// Whether all elements are finite, as a rank-0 i1.
static Value areFinite(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Value each =
      IsFiniteOp::create(builder, loc, type.clone(builder.getI1Type()), value);
  if (type.getRank() == 0)
    return each;
  auto axes = llvm::to_vector(llvm::seq<int64_t>(type.getRank()));
  return ReduceOp::create(builder, loc,
                          RankedTensorType::get({}, builder.getI1Type()),
                          ReductionKind::All, each, axes);
}

LogicalResult ScaleLossesPass::scaleStep(func::FuncOp step, func::FuncOp init) {
  Block &body = step.getBody().front();
  SmallVector<GradientOp> gradients(body.getOps<GradientOp>());
  if (gradients.empty())
    return success();
  unsigned numResults = 0;
  for (unsigned i = 0; i < step.getNumResults(); ++i)
    if (auto name = step.getResultAttrOfType<StringAttr>(i, attr::kResult)) {
      numResults = i + 1;
      if (name == kScaleResult || name == kSkippedResult)
        return step.emitError()
               << "the step has a result '" << name.getValue()
               << "', which is the name of one that loss scaling (--amp=f16) "
                  "adds; give it another name";
    }

  ScaleVariables variables = addVariables(step, init);
  Value scale = addArgument(step, variables.scale);
  Value good = addArgument(step, variables.good);
  Value skipped = addArgument(step, variables.skipped);
  Location loc = step.getLoc();
  OpBuilder builder(step.getContext());
  builder.setInsertionPointToStart(&body);
  Type number = scale.getType(), count = good.getType();
  auto truth = RankedTensorType::get({}, builder.getI1Type());
  auto constant = [&](Type type, double value) -> Value {
    return ConstantOp::createSplat(builder, loc, type, value);
  };
  Value inverse =
      DivOp::create(builder, loc, number, constant(number, 1), scale);

  // Gradients of the scaled loss, scaled back: what uses them sees no change
  // but that small ones are not lost.
  SmallVector<SmallVector<Value>> finite;
  for (GradientOp gradient : gradients) {
    finite.emplace_back();
    Location place = gradient.getLoc();
    builder.setInsertionPoint(gradient);
    gradient.getLossMutable().assign(
        multiply(builder, place, gradient.getLoss(), scale));
    builder.setInsertionPointAfter(gradient);
    for (Value result : gradient.getResults()) {
      SmallVector<OpOperand *> uses;
      for (OpOperand &use : result.getUses())
        uses.push_back(&use);
      Value back = multiply(builder, place, result, inverse);
      for (OpOperand *use : uses)
        use->set(back);
      finite.back().push_back(areFinite(builder, place, back));
    }
    ++numGradients;
  }

  auto isExempt = [&](StringRef name) {
    auto variable = SymbolTable::lookupNearestSymbolFrom<VariableOp>(
        step, StringAttr::get(step.getContext(), name));
    return variable && variable.getRole() == VariableRole::Counter;
  };
  auto news = findNewValues(step, isExempt);
  keepForLosses(step, news, finite);

  builder.setInsertionPoint(body.getTerminator());
  Value all;
  for (ArrayRef<Value> flags : finite)
    for (Value flag : flags)
      all = all ? AndOp::create(builder, loc, truth, all, flag) : flag;
  Value overflow = NotOp::create(builder, loc, truth, all);
  auto select = [&](Value condition, Value yes, Value no) -> Value {
    return SelectOp::create(builder, loc, yes.getType(), condition, yes, no);
  };

  keepForResults(step, news, overflow);
  keepVariables(step, overflow, isExempt);
  builder.setInsertionPoint(body.getTerminator());

  // Halved at an overflow, doubled after many steps without one.
  Value more = AddOp::create(builder, loc, count, good, constant(count, 1));
  Value isTime = CompareOp::create(builder, loc, ComparePredicate::GE, more,
                                   constant(count, growthInterval));
  Value half = MaxOp::create(
      builder, loc, number,
      MulOp::create(builder, loc, number, scale, constant(number, 0.5)),
      constant(number, smallestScale));
  Value twice = MinOp::create(
      builder, loc, number,
      MulOp::create(builder, loc, number, scale, constant(number, 2)),
      constant(number, largestScale));
  Value newScale = select(overflow, half, select(isTime, twice, scale));
  Value newGood =
      select(AndOp::create(builder, loc, truth, all,
                           NotOp::create(builder, loc, truth, isTime)),
             more, constant(count, 0));
  Value newSkipped =
      AddOp::create(builder, loc, count, skipped,
                    CastOp::create(builder, loc, count, overflow));
  if (checkNumerics) {
    // Nothing smaller is left to try where the scale has come to its end.
    Value canShrink = CompareOp::create(builder, loc, ComparePredicate::GT,
                                        scale, constant(number, smallestScale));
    addResult(step, step.getNumResults(),
              AndOp::create(builder, loc, truth, overflow, canShrink),
              attr::kSkipped, builder.getUnitAttr());
  }
  addVariableResult(step, newScale, variables.scale);
  addVariableResult(step, newGood, variables.good);
  addVariableResult(step, newSkipped, variables.skipped);
  addResult(step, numResults, newScale, attr::kResult,
            builder.getStringAttr(kScaleResult));
  addResult(step, numResults + 1, newSkipped, attr::kResult,
            builder.getStringAttr(kSkippedResult));
  return success();
}

/// Whether a multiplication with the scale is exact, if nothing leaves the
/// range of f32.
static bool isPowerOfTwo(double scale) {
  int exponent;
  return std::isnormal(float(scale)) && std::frexp(scale, &exponent) == 0.5;
}

void ScaleLossesPass::runOnOperation() {
  for (auto [name, scale] : {std::pair("initial-scale", double(initialScale)),
                             std::pair("smallest-scale", double(smallestScale)),
                             std::pair("largest-scale", double(largestScale))})
    if (!isPowerOfTwo(scale)) {
      emitError(getOperation().getLoc())
          << name << " is " << scale
          << "; give a power of two in the range of f32, so that scaling is "
             "exact";
      return signalPassFailure();
    }
  if (smallestScale > initialScale || initialScale > largestScale ||
      growthInterval < 1) {
    emitError(getOperation().getLoc())
        << "the scale begins at " << double(initialScale) << ", between "
        << double(smallestScale) << " and " << double(largestScale)
        << ", and grows every " << int64_t(growthInterval)
        << " steps; give smallest-scale <= initial-scale <= largest-scale and "
           "a growth-interval of at least 1";
    return signalPassFailure();
  }
  func::FuncOp init;
  SmallVector<func::FuncOp> steps;
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    auto kind = function->getAttrOfType<StringAttr>(attr::kEntry);
    if (kind && kind == "init")
      init = function;
    else if (kind && kind == "step" && !function.isExternal())
      steps.push_back(function);
  }
  for (func::FuncOp step : steps) {
    if (!init) {
      step.emitError() << "there is no entry of kind \"init\" that could give "
                          "the loss scale its first value";
      return signalPassFailure();
    }
    if (failed(scaleStep(step, init)))
      return signalPassFailure();
  }
}
