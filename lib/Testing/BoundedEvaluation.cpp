//===- BoundedEvaluation.cpp - results and how far they may be off -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The language leaves the order of the terms of a float sum, product or
// contraction to the schedule and says how far the results may then differ. How
// such a difference goes on through the program is found by trying: the
// function runs again with every reduction moved by its bound. A difference in
// one reduction goes through what follows nearly linearly, so that the spread
// of a few runs is a fair measure of what is allowed.
//
//===----------------------------------------------------------------------===//

#include "BoundedEvaluation.h"

#include "Random.h"

#include "tdsl/Dialect/TDS/Evaluate.h"
#include "tdsl/Dialect/TDS/TDSOps.h"

#include <cmath>
#include <cstring>
#include <map>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::testing;
using reference::ElementKind;
using reference::Tensor;

static constexpr unsigned kRandomRuns = 8;
/// How much farther off than the spread of the runs a result may be.
static constexpr double kSlack = 4;

static double epsilonOf(ElementKind kind) {
  return kind == ElementKind::F64 ? 0x1p-52 : 0x1p-23;
}

/// The distance to the next number of a narrow float.
static double stepOf(ElementKind kind, double value) {
  int bits = kind == ElementKind::F16 ? 10 : 7;
  int least = kind == ElementKind::F16 ? -24 : -133;
  int exponent =
      value == 0 || !std::isfinite(value) ? least : std::ilogb(value);
  return std::ldexp(1.0, std::max(exponent - bits, least));
}

/// Whether all numbers are multiples of 1/256 and the sum of their absolute
/// values is below 2^12: f32 adds those without rounding in every order.
static bool addsExactly(const Tensor &terms) {
  double sum = 0;
  for (int64_t i = 0; i < terms.numElements(); ++i) {
    double scaled = terms.getDouble(i) * 256;
    if (!(scaled == std::floor(scaled)))
      return false;
    sum += std::abs(scaled);
  }
  return sum < 0x1p20;
}

namespace {
class Runner {
public:
  Runner(func::FuncOp function, ArrayRef<Tensor> arguments)
      : function(function), arguments(arguments) {}

  /// One run. Direction 0 moves nothing and finds the bounds.
  llvm::Expected<std::vector<Tensor>> run(int direction, uint64_t seed);
  bool isTainted(Value value) const { return tainted.contains(value); }
  bool movesAnything() const { return !bounds.empty(); }

private:
  using Values = llvm::DenseMap<Value, std::shared_ptr<const Tensor>>;
  using Captured = llvm::function_ref<const Tensor *(Value)>;
  llvm::Error runBlock(Block &block, Values &values);
  llvm::Error runOperation(Operation &op, Values &values);
  llvm::Error runFold(tds::FoldOp fold, Values &values);
  /// Empty where the result is the same in every order.
  llvm::Expected<std::vector<double>>
  findBound(Operation &op, ArrayRef<const Tensor *> operands, Captured captured,
            const Tensor &result);
  llvm::Expected<Tensor> evaluateTerms(tds::GenericOp op, Captured captured);
  llvm::Expected<Tensor> evaluateAbsolute(Operation &op, Captured captured);
  static void move(Tensor &result, ArrayRef<double> bound, int direction,
                   Random &random);

  func::FuncOp function;
  ArrayRef<Tensor> arguments;
  /// By the number of the evaluated operation: every run evaluates the same
  /// ones in the same order, those of a fold once a turn.
  std::map<size_t, std::vector<double>> bounds;
  llvm::DenseSet<Value> tainted;
  size_t evaluated = 0;
  int direction = 0;
  Random random{0};
};
} // namespace

/// Whether `op` adds what an iteration contributes to a derivative. Programs
/// have no loop that runs backwards, derivatives of loops do, and the order of
/// their contributions belongs to the schedule as that of any sum does.
static bool isContribution(Operation &op) {
  auto fold = dyn_cast<tds::FoldOp>(op.getParentOp());
  auto type = dyn_cast<RankedTensorType>(op.getResultTypes()[0]);
  return isa<tds::AddOp>(op) && fold && fold.getReverse() && type &&
         isa<FloatType>(type.getElementType()) &&
         llvm::any_of(op.getOperands(), [&](Value operand) {
           return llvm::is_contained(fold.getCarried(), operand);
         });
}

/// The terms of a reduction as a tensor: the same body without the reduction.
llvm::Expected<Tensor> Runner::evaluateTerms(tds::GenericOp op,
                                             Captured captured) {
  OpBuilder builder(op);
  SmallVector<int64_t> extents(op.getExtents());
  llvm::append_range(extents, op.getReduceExtents());
  auto type = RankedTensorType::get(extents, op.getType().getElementType());
  auto terms = cast<tds::GenericOp>(builder.clone(*op));
  terms.setExtents(extents);
  terms.setReduceExtents({});
  terms.removeKindAttr();
  terms.getResult().setType(type);
  auto value = tds::evaluateOperation(terms, {}, captured);
  terms.erase();
  return value;
}

/// A scatter of the absolute values.
llvm::Expected<Tensor> Runner::evaluateAbsolute(Operation &op,
                                                Captured captured) {
  OpBuilder builder(&op);
  Operation *copy = builder.clone(op);
  Operation *yield = copy->getRegion(0).front().getTerminator();
  builder.setInsertionPoint(yield);
  Value value = yield->getOperand(0);
  yield->setOperand(
      0, tds::AbsOp::create(builder, op.getLoc(), value.getType(), value));
  auto result = tds::evaluateOperation(copy, {}, captured);
  copy->erase();
  return result;
}

llvm::Expected<std::vector<double>>
Runner::findBound(Operation &op, ArrayRef<const Tensor *> operands,
                  Captured captured, const Tensor &result) {
  const std::vector<double> none;
  if (!reference::isFloat(result.kind()) || result.numElements() == 0)
    return none;
  std::optional<tds::ReductionKind> kind;
  int64_t terms = 1;
  // sum |term| for each element of the result.
  std::vector<double> sums(result.numElements(), 0);
  if (auto generic = dyn_cast<tds::GenericOp>(op)) {
    kind = generic.getKind();
    if (kind != tds::ReductionKind::Sum && kind != tds::ReductionKind::Prod)
      return none;
    terms = generic.getReductionSize();
    auto values = evaluateTerms(generic, captured);
    if (!values)
      return values.takeError();
    if (kind == tds::ReductionKind::Sum && addsExactly(*values))
      return none;
    for (int64_t i = 0; i < values->numElements(); ++i)
      sums[i / std::max<int64_t>(terms, 1)] += std::abs(values->getDouble(i));
  } else if (auto reduce = dyn_cast<tds::ReduceOp>(op)) {
    kind = reduce.getKind();
    if (kind != tds::ReductionKind::Sum && kind != tds::ReductionKind::Prod)
      return none;
    const Tensor &operand = *operands[0];
    if (kind == tds::ReductionKind::Sum && addsExactly(operand))
      return none;
    terms = operand.numElements() / result.numElements();
    for (int64_t i = 0; i < operand.numElements(); ++i) {
      // The place in the result: the indices of the axes that stay.
      int64_t rest = i, place = 0, stride = 1;
      for (int64_t axis = operand.shape().size() - 1; axis >= 0; --axis) {
        int64_t at = rest % operand.shape()[axis];
        rest /= operand.shape()[axis];
        if (llvm::is_contained(reduce.getAxes(), axis))
          continue;
        place += at * stride;
        stride *= operand.shape()[axis];
      }
      sums[place] += std::abs(operand.getDouble(i));
    }
  } else if (auto contract = dyn_cast<tds::ContractOp>(op)) {
    kind = tds::ReductionKind::Sum;
    for (int64_t axis : contract.getReducedAxes())
      terms *= contract.getExtentOfAxis()[axis];
    Tensor factors[2] = {operands[0]->convertedTo(ElementKind::F64),
                         operands[1]->convertedTo(ElementKind::F64)};
    bool isExact = true;
    for (Tensor &factor : factors)
      for (int64_t i = 0; i < factor.numElements(); ++i) {
        double value = std::abs(factor.getDouble(i));
        isExact &= value * 16 == std::floor(value * 16) && value < 64;
        factor.set(i, value);
      }
    tds::EvaluateOptions wide;
    wide.f64 = true;
    auto value =
        tds::evaluateOperation(&op, {&factors[0], &factors[1]}, captured, wide);
    if (!value)
      return value.takeError();
    for (int64_t i = 0; i < value->numElements(); ++i) {
      sums[i] = value->getDouble(i);
      isExact &= sums[i] < 4096;
    }
    if (isExact)
      return none;
  } else if (auto scatter = dyn_cast<tds::ScatterOp>(op)) {
    kind = tds::ReductionKind::Sum;
    for (int64_t extent : scatter.getExtents())
      terms *= extent;
    auto value = evaluateAbsolute(op, captured);
    if (!value)
      return value.takeError();
    // Whole numbers add exactly; the terms of one place aren't at hand, but
    // their sum is.
    bool isExact = true;
    for (int64_t i = 0; i < value->numElements(); ++i) {
      sums[i] = value->getDouble(i);
      isExact &= sums[i] == 0;
    }
    if (isExact)
      return none;
  }
  if (isContribution(op)) {
    // One of the terms at a time: the sum of all bounds is that of the sum.
    kind = tds::ReductionKind::Sum;
    for (const Tensor *operand : operands)
      for (int64_t i = 0; i < operand->numElements(); ++i)
        sums[i] += std::abs(operand->getDouble(i)) / 2;
    terms = 2;
  }
  // A single term is what it is, whatever the order.
  if (!kind || terms <= 1)
    return none;
  double epsilon = epsilonOf(result.kind());
  bool isNarrow =
      result.kind() == ElementKind::F16 || result.kind() == ElementKind::BF16;
  for (int64_t i = 0; i < result.numElements(); ++i) {
    double value = result.getDouble(i);
    double size = kind == tds::ReductionKind::Prod ? std::abs(value) : sums[i];
    sums[i] = static_cast<double>(terms) * epsilon * size;
    if (isNarrow && sums[i] != 0)
      sums[i] = std::max(sums[i], stepOf(result.kind(), value));
  }
  return sums;
}

void Runner::move(Tensor &result, ArrayRef<double> bound, int direction,
                  Random &random) {
  for (int64_t i = 0; i < result.numElements(); ++i) {
    double way = direction > 1 ? (random.chance(50) ? 1 : -1)
                               : static_cast<double>(direction);
    double old = result.getDouble(i);
    if (bound[i] == 0 || !std::isfinite(bound[i]))
      continue;
    result.set(i, old + way * bound[i]);
  }
}

llvm::Error Runner::runOperation(Operation &op, Values &values) {
  if (auto fold = dyn_cast<tds::FoldOp>(op))
    return runFold(fold, values);
  if (op.getNumResults() != 1)
    return llvm::createStringError("cannot evaluate " +
                                   op.getName().getStringRef());
  auto captured = [&](Value value) -> const Tensor * {
    auto it = values.find(value);
    return it == values.end() ? nullptr : it->second.get();
  };
  SmallVector<const Tensor *> operands;
  for (Value operand : op.getOperands())
    operands.push_back(captured(operand));
  auto result = tds::evaluateOperation(&op, operands, captured);
  if (!result)
    return result.takeError();
  size_t number = evaluated++;
  if (direction == 0) {
    auto bound = findBound(op, operands, captured, *result);
    if (!bound)
      return bound.takeError();
    bool isTainted = !bound->empty();
    if (isTainted)
      bounds[number] = std::move(*bound);
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        isTainted |= tainted.contains(operand);
    });
    if (isTainted)
      tainted.insert(op.getResult(0));
  } else if (auto it = bounds.find(number); it != bounds.end()) {
    move(*result, it->second, direction, random);
  }
  values[op.getResult(0)] = std::make_shared<Tensor>(std::move(*result));
  return llvm::Error::success();
}

llvm::Error Runner::runBlock(Block &block, Values &values) {
  SmallVector<Operation *> operations;
  for (Operation &op : block.without_terminator())
    operations.push_back(&op);
  for (Operation *op : operations)
    if (llvm::Error error = runOperation(*op, values))
      return error;
  return llvm::Error::success();
}

/// A taint that a turn brings stays for all turns and results that it may
/// reach.
llvm::Error Runner::runFold(tds::FoldOp fold, Values &values) {
  auto pass = [&](Value from, Value to) {
    // A copy, as the new entry may move the others.
    std::shared_ptr<const Tensor> value = values.at(from);
    values[to] = std::move(value);
    if (tainted.contains(from))
      tainted.insert(to);
  };
  auto makeTensor = [](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return std::make_shared<Tensor>(
        *tds::getElementKind(tensor.getElementType()), tensor.getShape());
  };
  for (auto [argument, init] : llvm::zip(fold.getCarried(), fold.getInits()))
    pass(init, argument);
  for (auto [argument, operand] :
       llvm::zip(fold.getInvariantArguments(), fold.getInvariants()))
    pass(operand, argument);
  std::vector<std::shared_ptr<Tensor>> collected;
  for (Value result : fold.getCollected())
    collected.push_back(makeTensor(result.getType()));
  auto yielded = fold.getBlock()->getTerminator()->getOperands();
  size_t count = fold.getCarried().size();
  for (int64_t i = 0, turns = fold.getTrips(); i < turns; ++i) {
    int64_t t = fold.getReverse() ? turns - 1 - i : i;
    values[fold.getCounter()] =
        std::make_shared<Tensor>(Tensor::splat(ElementKind::I32, {}, t));
    for (auto [argument, operand] :
         llvm::zip(fold.getSliceArguments(), fold.getSlices())) {
      auto slice = makeTensor(argument.getType());
      if (size_t bytes = slice->numBytes())
        memcpy(slice->data(), values.at(operand)->data() + t * bytes, bytes);
      values[argument] = slice;
      if (tainted.contains(operand))
        tainted.insert(argument);
    }
    if (llvm::Error error = runBlock(*fold.getBlock(), values))
      return error;
    for (auto [stack, value, result] :
         llvm::zip(collected, yielded.drop_front(count), fold.getCollected())) {
      if (size_t bytes = values.at(value)->numBytes())
        memcpy(stack->data() + t * bytes, values.at(value)->data(), bytes);
      if (tainted.contains(value))
        tainted.insert(result);
    }
    // All next values are there before the first one is passed on.
    SmallVector<std::shared_ptr<const Tensor>> next;
    SmallVector<bool> taints;
    for (Value value : yielded.take_front(count)) {
      next.push_back(values.at(value));
      taints.push_back(tainted.contains(value));
    }
    for (auto [argument, value, taint] :
         llvm::zip(fold.getCarried(), next, taints)) {
      values[argument] = value;
      if (taint)
        tainted.insert(argument);
    }
  }
  for (auto [result, argument] : llvm::zip(fold.getFinal(), fold.getCarried()))
    pass(argument, result);
  for (auto [result, stack] : llvm::zip(fold.getCollected(), collected))
    values[result] = stack;
  return llvm::Error::success();
}

llvm::Expected<std::vector<Tensor>> Runner::run(int direction, uint64_t seed) {
  random = Random(seed);
  this->direction = direction;
  evaluated = 0;
  Values values;
  Block &block = function.getBody().front();
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    values[argument] = std::make_shared<Tensor>(value);
  if (llvm::Error error = runBlock(block, values))
    return std::move(error);
  std::vector<Tensor> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(*values[value]);
  return results;
}

llvm::Expected<std::vector<BoundedResult>>
testing::evaluateBounded(func::FuncOp function, ArrayRef<Tensor> arguments) {
  Runner runner(function, arguments);
  auto base = runner.run(0, 0);
  if (!base)
    return base.takeError();
  std::vector<BoundedResult> results;
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [value, tensor] : llvm::zip(terminator->getOperands(), *base)) {
    BoundedResult result;
    result.value = tensor;
    result.isExact = !runner.isTainted(value);
    result.tolerance.assign(tensor.numElements(), 0);
    results.push_back(std::move(result));
  }
  if (!runner.movesAnything())
    return results;
  for (unsigned k = 0; k < kRandomRuns + 2; ++k) {
    int direction = k == 0 ? 1 : k == 1 ? -1 : 2;
    auto moved = runner.run(direction, k);
    if (!moved)
      return moved.takeError();
    for (auto [result, other] : llvm::zip(results, *moved))
      for (int64_t i = 0; !result.isExact && i < other.numElements(); ++i) {
        double a = result.value.getDouble(i), b = other.getDouble(i);
        double off =
            std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) : HUGE_VAL;
        result.tolerance[i] = std::max(result.tolerance[i], off);
      }
  }
  for (BoundedResult &result : results) {
    // Two moves may have cancelled in every run at some element, hardly at all
    // of them.
    double sum = 0;
    for (double spread : result.tolerance)
      sum += std::isfinite(spread) ? spread : 0;
    double mean = result.tolerance.empty() ? 0 : sum / result.tolerance.size();
    for (double &spread : result.tolerance)
      spread = kSlack * spread + mean;
  }
  return results;
}

int64_t BoundedResult::findDifference(const Tensor &other) const {
  if (other.kind() != value.kind() || other.shape() != value.shape())
    return 0;
  if (isExact && sameBits(value, other))
    return -1;
  for (int64_t i = 0; i < value.numElements(); ++i) {
    double a = value.getDouble(i), b = other.getDouble(i);
    bool bothNaN = std::isnan(a) && std::isnan(b);
    if (isExact) {
      int64_t bytes = reference::bytesOf(value.kind());
      if (!bothNaN && memcmp(value.data() + i * bytes, other.data() + i * bytes,
                             bytes) != 0)
        return i;
      continue;
    }
    if (a == b || bothNaN || std::isinf(tolerance[i]))
      continue;
    if (!(std::abs(a - b) <= tolerance[i]))
      return i;
  }
  return -1;
}
