//===- Accumulate.cpp - gradients of micro-batches -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See the description of tds-accumulate in Passes.td. A step and its copies for
// fewer rows come from one text, so that their operations correspond one to
// one. Those of the step tell what belongs into the loop, those of the copies
// become its body.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Transforms/Accumulate.h"

#include "AccumulateRandoms.h"

#include "tdsl/Dialect/TDS/CheckAttribute.h"
#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace tdsl {
#define GEN_PASS_DEF_ACCUMULATEPASS
#include "tdsl/Transforms/Passes.h.inc"
} // namespace tdsl

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

static constexpr llvm::StringLiteral kMicro = "micro";
static constexpr llvm::StringLiteral kLast = "last";

static RankedTensorType getTensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The rows of a step: the extent of axis 0 of its inputs; 0 where it has none.
static int64_t getNumRows(func::FuncOp step) {
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (step.getArgAttr(i, attr::kDataAxis))
      return getTensorType(step.getArgument(i)).getDimSize(0);
  return 0;
}

static bool isStep(func::FuncOp function) {
  auto kind = function->getAttrOfType<StringAttr>(attr::kEntry);
  return kind && kind == "step" && !function.isExternal();
}

static bool hasGradient(func::FuncOp function) {
  return !function.getBody().front().getOps<GradientOp>().empty();
}

//===----------------------------------------------------------------------===//
// Copies of a step for fewer rows
//===----------------------------------------------------------------------===//

FailureOr<MicroBatches> tdsl::getMicroBatches(ModuleOp module, int64_t parts) {
  MicroBatches batches;
  bool found = false;
  for (auto step : module.getOps<func::FuncOp>()) {
    if (!isStep(step) || !hasGradient(step))
      continue;
    found = true;
    int64_t rows = getNumRows(step);
    if (rows == 0)
      return emitError(step.getLoc())
             << "the step has no tensor input, so --accum has no rows to "
                "split";
    if (parts > rows)
      return emitError(step.getLoc())
             << "--accum=" << parts << " asks for more parts "
             << "than the batch has rows, which are " << rows;
    batches.rows = rows;
    batches.micro = llvm::divideCeil(rows, parts);
    batches.last = rows % batches.micro;
  }
  if (!found)
    return emitError(module.getLoc())
           << "no step of the program takes a gradient, so "
              "--accum has nothing to split";
  return batches;
}

LogicalResult tdsl::addMicroBatch(ModuleOp module, ModuleOp part, bool isLast) {
  StringRef suffix = isLast ? kLast : kMicro;
  // Functions of the part get names of their own.
  SymbolTable symbols(part);
  SmallVector<func::FuncOp> functions(part.getOps<func::FuncOp>());
  for (func::FuncOp function : functions) {
    auto name =
        StringAttr::get(part.getContext(), function.getName() + "." + suffix);
    if (module.lookupSymbol(name) || failed(symbols.rename(function, name)))
      return emitError(function.getLoc())
             << "the name '" << name.getValue() << "' is in use";
  }
  for (func::FuncOp function : functions) {
    bool isNeeded = isStep(function) && hasGradient(function);
    if (function->hasAttr(attr::kEntry) && !isNeeded)
      continue;
    if (isNeeded) {
      StringRef name = function.getName().drop_back(suffix.size() + 1);
      module.lookupSymbol<func::FuncOp>(name)->setAttr(
          suffix, FlatSymbolRefAttr::get(function));
    }
    function->removeAttr(attr::kEntry);
    function.setPrivate();
    function->remove();
    module.push_back(function);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// One step
//===----------------------------------------------------------------------===//

namespace {

/// The values of the block that an operation reads, also inside of its regions.
SmallVector<Value> getInputs(Operation *op) {
  llvm::SetVector<Value> inputs;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (operand.getParentBlock() == op->getBlock())
        inputs.insert(operand);
  });
  return inputs.takeVector();
}

/// How a value of the loop comes out of it.
enum class Leaving {
  Mean,  ///< averaged over the rows
  All,   ///< a condition: true where it is for each micro-batch
  Rows,  ///< one micro-batch behind the other
  State, ///< the next micro-batch begins with it
};

/// A value of the loop that something outside reads.
struct Output {
  Leaving leaving;
  unsigned op, result;     ///< which operation of the step makes it
  unsigned terminator = 0; ///< State: the result of the step that it is
  Value total;             ///< the value behind the loop
};

class StepSplitter {
public:
  StepSplitter(func::FuncOp step, func::FuncOp micro, func::FuncOp last)
      : step(step), micro(micro), last(last) {}
  LogicalResult run();

private:
  LogicalResult match(func::FuncOp part);
  void classify();
  LogicalResult findOutputs();
  LogicalResult addOutput(Leaving leaving, OpResult value, OpOperand &use);
  Value createFold();
  LogicalResult cloneInto(OpBuilder &builder, func::FuncOp part,
                          IRMapping &mapping, Value iteration);
  Value getOld(const Output &output);
  Value slice(OpBuilder &builder, Value tensor, int64_t first, int64_t rows);
  Value concatenate(OpBuilder &builder, Value head, Value tail);
  static SmallVector<Operation *> getOps(func::FuncOp function) {
    SmallVector<Operation *> ops;
    for (Operation &op : function.getBody().front().without_terminator())
      ops.push_back(&op);
    return ops;
  }
  Value getValue(func::FuncOp part, const Output &output) {
    if (output.leaving == Leaving::State)
      return part.getBody().front().getTerminator()->getOperand(
          output.terminator);
    return getOps(part)[output.op]->getResult(output.result);
  }

  func::FuncOp step, micro, last;
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> numbers;
  llvm::DenseSet<Operation *> inLoop, behindGradient;
  SmallVector<Output> outputs;
};

} // namespace

/// Whether the operations of `part` are those of the step, for other rows.
LogicalResult StepSplitter::match(func::FuncOp part) {
  SmallVector<Operation *> others = getOps(part);
  auto differs = [&](Location loc) {
    return emitError(loc) << "--accum cannot split the step '" << step.getName()
                          << "': what it computes for a micro-batch of "
                          << getNumRows(part)
                          << " rows differs from this in more than the rows";
  };
  if (others.size() != ops.size() ||
      part.getNumArguments() != step.getNumArguments() ||
      part.getNumResults() != step.getNumResults())
    return differs(step.getLoc());
  for (auto [op, other] : llvm::zip_equal(ops, others))
    if (op->getName() != other->getName() ||
        op->getNumResults() != other->getNumResults())
      return differs(op->getLoc());
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (!step.getArgAttr(i, attr::kDataAxis) &&
        part.getArgument(i).getType() != step.getArgument(i).getType()) {
      auto name = step.getArgAttrOfType<FlatSymbolRefAttr>(i, attr::kVariable);
      return emitError(step.getLoc())
             << "--accum cannot split the step '" << step.getName()
             << "': the shape of '"
             << (name ? name.getValue()
                      : step.getArgAttrOfType<StringAttr>(i, attr::kInput)
                            .getValue())
             << "' depends on the size of the batch";
    }
  return success();
}

/// Finds what has to be computed for each micro-batch: what depends on the rows
/// and is needed for a loss, or does not depend on a gradient.
void StepSplitter::classify() {
  llvm::DenseSet<Value> rows, gradients;
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (step.getArgAttr(i, attr::kDataAxis))
      rows.insert(step.getArgument(i));
  llvm::DenseSet<Operation *> dependent, neededForLoss;
  for (Operation *op : ops) {
    bool fromRows = false, fromGradient = false;
    for (Value input : getInputs(op)) {
      fromRows |= rows.contains(input);
      fromGradient |= gradients.contains(input);
    }
    for (Value result : op->getResults()) {
      if (fromRows)
        rows.insert(result);
      if (fromGradient || isa<GradientOp>(op))
        gradients.insert(result);
    }
    if (fromRows)
      dependent.insert(op);
    if (fromGradient)
      behindGradient.insert(op);
  }
  for (Operation *op : llvm::reverse(ops))
    if (neededForLoss.contains(op) ||
        (isa<GradientOp>(op) && dependent.contains(op)))
      for (Value input : getInputs(op))
        if (Operation *made = input.getDefiningOp())
          neededForLoss.insert(made);
  for (Operation *op : ops)
    if (dependent.contains(op) &&
        (isa<GradientOp>(op) || neededForLoss.contains(op) ||
         !behindGradient.contains(op)))
      inLoop.insert(op);
}

LogicalResult StepSplitter::addOutput(Leaving leaving, OpResult value,
                                      OpOperand &use) {
  unsigned number = numbers.lookup(value.getOwner());
  Value part = getOps(micro)[number]->getResult(value.getResultNumber());
  Location loc = value.getOwner()->getLoc();
  auto refuse = [&](const Twine &why) {
    return emitError(loc) << "--accum cannot split the step '" << step.getName()
                          << "': " << why;
  };
  if (leaving == Leaving::Mean) {
    if (value.getType() != part.getType())
      return refuse("the update of the variables reads a value of each row");
    if (!isa<FloatType>(getTensorType(value).getElementType()))
      return refuse("this value of the whole batch is no float, so that it "
                    "is no mean over the micro-batches");
  }
  if (leaving == Leaving::Rows) {
    auto whole = getTensorType(value), some = getTensorType(part);
    if (whole.getRank() == 0 || whole.getDimSize(0) != getNumRows(step) ||
        some.getDimSize(0) != getNumRows(micro) ||
        whole.getShape().drop_front() != some.getShape().drop_front())
      return refuse("a result has the rows on another axis than the first");
  }
  if (leaving == Leaving::State && value.getType() != part.getType())
    return refuse("the shape of a variable depends on the size of the batch");
  if (leaving == Leaving::State && behindGradient.contains(value.getOwner()))
    return refuse("a loss depends on this new value of a variable; write the "
                  "updates as steps of their own");
  Output output{leaving, number, value.getResultNumber(), 0, {}};
  if (leaving == Leaving::State)
    output.terminator = use.getOperandNumber();
  for (const Output &other : outputs)
    if (other.leaving == leaving && other.op == output.op &&
        other.result == output.result && other.terminator == output.terminator)
      return success();
  outputs.push_back(output);
  return success();
}

LogicalResult StepSplitter::findOutputs() {
  for (Operation *op : ops) {
    if (!inLoop.contains(op))
      continue;
    for (OpResult result : op->getResults())
      for (OpOperand &use : result.getUses()) {
        Operation *user =
            step.getBody().front().findAncestorOpInBlock(*use.getOwner());
        if (inLoop.contains(user))
          continue;
        Leaving leaving = Leaving::Mean;
        if (user->hasTrait<OpTrait::IsTerminator>()) {
          unsigned i = use.getOperandNumber();
          Value part = micro.getBody().front().getTerminator()->getOperand(i);
          if (step.getResultAttr(i, attr::kVariable))
            leaving = Leaving::State;
          else if (step.getResultAttr(i, attr::kCheck))
            leaving = Leaving::All;
          else if (step.getResultAttr(i, attr::kDataAxis) ||
                   part.getType() != result.getType())
            leaving = Leaving::Rows;
        }
        if (failed(addOutput(leaving, result, use)))
          return failure();
      }
  }
  return success();
}

/// The value that a variable has before the step; it becomes an argument where
/// it was none.
Value StepSplitter::getOld(const Output &output) {
  auto variable = step.getResultAttrOfType<FlatSymbolRefAttr>(output.terminator,
                                                              attr::kVariable);
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (step.getArgAttr(i, attr::kVariable) == variable)
      return step.getArgument(i);
  unsigned position = step.getNumArguments();
  auto attributes = DictionaryAttr::get(
      step.getContext(),
      {NamedAttribute(StringAttr::get(step.getContext(), attr::kVariable),
                      variable)});
  (void)step.insertArgument(position, step.getResultTypes()[output.terminator],
                            attributes, step.getLoc());
  return step.getArgument(position);
}

Value StepSplitter::slice(OpBuilder &builder, Value tensor, int64_t first,
                          int64_t rows) {
  SmallVector<int64_t> shape(getTensorType(tensor).getShape());
  if (first == 0 && rows == shape[0])
    return tensor;
  shape[0] = rows;
  return GenericOp::create(
      builder, step.getLoc(),
      RankedTensorType::get(shape, getTensorType(tensor).getElementType()), {},
      std::nullopt,
      [&](OpBuilder &inner, Location loc, ValueRange indices) -> Value {
        SmallVector<Value> at(indices);
        if (first != 0)
          at[0] = ApplyOp::create(
              inner, loc,
              AffineMap::get(1, 0, inner.getAffineDimExpr(0) + first),
              indices.take_front());
        return ReadOp::create(inner, loc, tensor, at);
      });
}

Value StepSplitter::concatenate(OpBuilder &builder, Value head, Value tail) {
  SmallVector<int64_t> shape(getTensorType(head).getShape());
  int64_t first = shape[0];
  shape[0] += getTensorType(tail).getDimSize(0);
  Type element = getTensorType(head).getElementType();
  TypedAttr zero = isa<FloatType>(element)
                       ? TypedAttr(builder.getFloatAttr(element, 0))
                       : TypedAttr(builder.getIntegerAttr(element, 0));
  return GenericOp::create(
      builder, step.getLoc(), RankedTensorType::get(shape, element), {},
      std::nullopt,
      [&](OpBuilder &inner, Location loc, ValueRange indices) -> Value {
        SmallVector<Value> at(indices);
        Value before =
            ReadOp::create(inner, loc, element, head, at, zero, false);
        at[0] = ApplyOp::create(
            inner, loc, AffineMap::get(1, 0, inner.getAffineDimExpr(0) - first),
            indices.take_front());
        Value behind =
            ReadOp::create(inner, loc, element, tail, at, zero, false);
        Value bound = ConstantOp::create(inner, loc, inner.getIndexAttr(first));
        Value isBefore = CompareOp::create(inner, loc, ComparePredicate::LT,
                                           indices[0], bound);
        return SelectOp::create(inner, loc, element, isBefore, before, behind);
      });
}

/// Clones what the outputs need of `part`.
LogicalResult StepSplitter::cloneInto(OpBuilder &builder, func::FuncOp part,
                                      IRMapping &mapping, Value iteration) {
  SmallVector<Operation *> originals = getOps(part);
  llvm::DenseSet<Operation *> needed;
  for (const Output &output : outputs)
    if (Operation *made = getValue(part, output).getDefiningOp())
      needed.insert(made);
  for (Operation *op : llvm::reverse(originals))
    if (needed.contains(op))
      for (Value input : getInputs(op))
        if (Operation *made = input.getDefiningOp())
          needed.insert(made);
  for (auto [op, whole] : llvm::zip_equal(originals, ops))
    if (needed.contains(op) &&
        failed(shiftRandoms(builder.clone(*op, mapping), op, whole, iteration)))
      return failure();
  return success();
}

LogicalResult StepSplitter::run() {
  ops = getOps(step);
  for (auto [i, op] : llvm::enumerate(ops))
    numbers[op] = i;
  if (failed(match(micro)) || (last && failed(match(last))))
    return failure();
  classify();
  if (failed(findOutputs()))
    return failure();

  int64_t rows = getNumRows(step), part = getNumRows(micro);
  int64_t trips = rows / part, rest = rows - trips * part;
  Block &body = step.getBody().front();
  Location loc = step.getLoc();
  unsigned numArguments = step.getNumArguments();
  OpBuilder builder(&body, body.begin());

  // Operands of the loop.
  SmallVector<Value> inits, slices, invariants;
  SmallVector<Type> collected;
  SmallVector<int> carriedArgument(outputs.size(), -1);
  for (Output &output : outputs) {
    Value value = getValue(micro, output);
    auto type = getTensorType(value);
    switch (output.leaving) {
    case Leaving::State:
      inits.push_back(getOld(output));
      break;
    case Leaving::All:
      inits.push_back(ConstantOp::createSplat(builder, loc, type, 1));
      break;
    case Leaving::Mean: {
      Type wide = getAccumulatorType(type.getElementType());
      inits.push_back(
          ConstantOp::createSplat(builder, loc, type.clone(wide), 0));
      break;
    }
    case Leaving::Rows: {
      SmallVector<int64_t> shape(type.getShape());
      shape.insert(shape.begin(), trips);
      collected.push_back(type.clone(shape));
      break;
    }
    }
  }
  SmallVector<unsigned> dataArguments, otherArguments;
  for (unsigned i = 0; i < numArguments; ++i) {
    Value argument = step.getArgument(i);
    if (!step.getArgAttr(i, attr::kDataAxis)) {
      invariants.push_back(argument);
      otherArguments.push_back(i);
      continue;
    }
    Value head = slice(builder, argument, 0, trips * part);
    SmallVector<int64_t> shape(getTensorType(head).getShape());
    shape[0] = part;
    shape.insert(shape.begin(), trips);
    slices.push_back(ReshapeOp::create(
        builder, loc,
        RankedTensorType::get(shape, getTensorType(head).getElementType()),
        head));
    dataArguments.push_back(i);
  }

  auto fold = FoldOp::create(builder, loc, trips, /*reverse=*/false, inits,
                             slices, invariants, collected);
  {
    OpBuilder inside = OpBuilder::atBlockEnd(fold.getBlock());
    IRMapping mapping;
    for (auto [i, argument] :
         llvm::zip_equal(dataArguments, fold.getSliceArguments()))
      mapping.map(micro.getArgument(i), argument);
    for (auto [i, argument] :
         llvm::zip_equal(otherArguments, fold.getInvariantArguments()))
      mapping.map(micro.getArgument(i), argument);
    // A state is what the micro-batch before left.
    unsigned carried = 0;
    for (const Output &output : outputs) {
      if (output.leaving == Leaving::State) {
        Value old = getOld(output);
        for (unsigned i = 0; i < numArguments; ++i)
          if (step.getArgument(i) == old)
            mapping.map(micro.getArgument(i), fold.getCarried()[carried]);
      }
      carried += output.leaving != Leaving::Rows;
    }
    if (failed(cloneInto(inside, micro, mapping, fold.getCounter())))
      return failure();
    SmallVector<Value> next, rowsOut;
    carried = 0;
    for (const Output &output : outputs) {
      Value value = mapping.lookupOrDefault(getValue(micro, output));
      if (output.leaving == Leaving::Rows) {
        rowsOut.push_back(value);
        continue;
      }
      Value before = fold.getCarried()[carried++];
      if (output.leaving == Leaving::All)
        value = AndOp::create(inside, loc, value.getType(), before, value);
      if (output.leaving == Leaving::Mean) {
        if (value.getType() != before.getType())
          value = CastOp::create(inside, loc, before.getType(), value);
        value = AddOp::create(inside, loc, before.getType(), before, value);
      }
      next.push_back(value);
    }
    llvm::append_range(next, rowsOut);
    YieldOp::create(inside, loc, next);
  }

  // The rows that are left.
  IRMapping tail;
  if (last) {
    for (unsigned i = 0; i < numArguments; ++i)
      tail.map(last.getArgument(i),
               step.getArgAttr(i, attr::kDataAxis)
                   ? slice(builder, step.getArgument(i), trips * part, rest)
                   : Value(step.getArgument(i)));
    unsigned carried = 0;
    for (const Output &output : outputs) {
      if (output.leaving == Leaving::State) {
        Value old = getOld(output);
        for (unsigned i = 0; i < numArguments; ++i)
          if (step.getArgument(i) == old)
            tail.map(last.getArgument(i), fold.getFinal()[carried]);
      }
      carried += output.leaving != Leaving::Rows;
    }
    if (failed(cloneInto(builder, last, tail, {})))
      return failure();
  }

  // What comes out.
  unsigned carried = 0, collectedSoFar = 0;
  auto scale = [&](Value value, double factor) -> Value {
    return MulOp::create(
        builder, loc, value.getType(), value,
        ConstantOp::createSplat(builder, loc, value.getType(), factor));
  };
  for (Output &output : outputs) {
    Value rest;
    if (last)
      rest = tail.lookupOrDefault(getValue(last, output));
    if (output.leaving == Leaving::Rows) {
      Value stacked = fold.getCollected()[collectedSoFar++];
      SmallVector<int64_t> shape(
          getTensorType(stacked).getShape().drop_front());
      shape[0] = trips * part;
      output.total = ReshapeOp::create(
          builder, loc, getTensorType(stacked).clone(shape), stacked);
      if (rest)
        output.total = concatenate(builder, output.total, rest);
      continue;
    }
    output.total = fold.getFinal()[carried++];
    if (output.leaving == Leaving::State && rest)
      output.total = rest;
    if (output.leaving == Leaving::All && rest)
      output.total =
          AndOp::create(builder, loc, rest.getType(), output.total, rest);
    if (output.leaving != Leaving::Mean)
      continue;
    Type wide = output.total.getType();
    output.total = scale(output.total, double(part) / double(rows));
    if (rest) {
      Type narrow = rest.getType();
      if (narrow != wide)
        rest = CastOp::create(builder, loc, wide, rest);
      output.total =
          AddOp::create(builder, loc, wide, output.total,
                        scale(rest, double(getNumRows(last)) / double(rows)));
    }
    Type type = ops[output.op]->getResult(output.result).getType();
    if (type != wide)
      output.total = CastOp::create(builder, loc, type, output.total);
  }

  // What is outside reads these.
  Operation *terminator = body.getTerminator();
  for (const Output &output : outputs) {
    if (output.leaving == Leaving::State) {
      terminator->setOperand(output.terminator, output.total);
      continue;
    }
    ops[output.op]
        ->getResult(output.result)
        .replaceUsesWithIf(output.total, [&](OpOperand &use) {
          Operation *user = body.findAncestorOpInBlock(*use.getOwner());
          if (inLoop.contains(user))
            return false;
          if (user != terminator)
            return output.leaving == Leaving::Mean;
          unsigned i = use.getOperandNumber();
          bool isCheck(step.getResultAttr(i, attr::kCheck));
          bool isVariable(step.getResultAttr(i, attr::kVariable));
          bool isRows =
              getTensorType(output.total) !=
                  getTensorType(
                      micro.getBody().front().getTerminator()->getOperand(i)) ||
              step.getResultAttr(i, attr::kDataAxis);
          return !isVariable && isCheck == (output.leaving == Leaving::All) &&
                 (isCheck || isRows == (output.leaving == Leaving::Rows));
        });
  }
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      op->erase();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct AccumulatePass : public tdsl::impl::AccumulatePassBase<AccumulatePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> steps;
    for (auto function : module.getOps<func::FuncOp>())
      if (isStep(function) && function->hasAttr(kMicro))
        steps.push_back(function);
    for (func::FuncOp step : steps) {
      auto find = [&](StringRef name) -> func::FuncOp {
        auto symbol = step->getAttrOfType<FlatSymbolRefAttr>(name);
        return symbol ? module.lookupSymbol<func::FuncOp>(symbol.getAttr())
                      : func::FuncOp();
      };
      func::FuncOp micro = find(kMicro), last = find(kLast);
      if (!micro || (step->hasAttr(kLast) && !last) || getNumRows(micro) == 0 ||
          getNumRows(step) % getNumRows(micro) !=
              (last ? getNumRows(last) : 0)) {
        emitError(step.getLoc())
            << "'micro' and 'last' must name copies of the step "
               "whose rows make up its own";
        return signalPassFailure();
      }
      step->removeAttr(kMicro);
      step->removeAttr(kLast);
      if (failed(StepSplitter(step, micro, last).run()))
        return signalPassFailure();
      micro.erase();
      if (last)
        last.erase();
      ++numSteps;
    }
  }
};

} // namespace
