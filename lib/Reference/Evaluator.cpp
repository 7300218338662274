//===- Evaluator.cpp - the reference evaluator -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Reference/Evaluator.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::reference;

static constexpr unsigned maxDepth = 256;
/// Values larger than this are refused rather than left to the allocator.
static constexpr int64_t maxBytes = int64_t(1) << 34;

/// An error that begins with the place of `op` in the source.
static llvm::Error errorAt(Operation *op, const llvm::Twine &text) {
  std::string message;
  llvm::raw_string_ostream os(message);
  os << op->getLoc() << ": " << text;
  return llvm::createStringError(message);
}

/// The values of one function body or kernel. Each is dropped after its last
/// use, so that a long program does not hold all of its tensors.
class Evaluator::Scope {
public:
  void set(mlir::Value key, Value value) {
    size_t uses = std::distance(key.use_begin(), key.use_end());
    if (uses)
      values[key] = {std::move(value), uses};
  }
  const Value &get(mlir::Value key) { return values.find(key)->second.value; }
  const Tensor *find(mlir::Value key) {
    auto it = values.find(key);
    return it == values.end() ? nullptr : it->second.value.get();
  }
  /// Counts the uses by `op` and the operations inside it as done.
  void release(Operation &op) {
    op.walk([&](Operation *inner) {
      for (mlir::Value operand : inner->getOperands()) {
        auto it = values.find(operand);
        if (it != values.end() && --it->second.uses == 0)
          values.erase(it);
      }
    });
  }

private:
  struct Entry {
    Value value;
    size_t uses;
  };
  llvm::DenseMap<mlir::Value, Entry> values;
};

/// Refuses a value that is too large to be evaluated.
llvm::Error Evaluator::checkSize(Operation &op, Type type) const {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return llvm::Error::success();
  int64_t bytes =
      options.f64 ? 8 : tds::getElementBytes(tensor.getElementType());
  for (int64_t extent : tensor.getShape())
    if (llvm::MulOverflow(bytes, extent, bytes) || bytes > maxBytes)
      return errorAt(&op, op.getName().getStringRef() +
                              ": its result is larger than 16 GiB, too large "
                              "for the reference evaluator");
  return llvm::Error::success();
}

llvm::Error Evaluator::runFold(tds::FoldOp fold, Scope &scope, unsigned depth) {
  int64_t trips = fold.getTrips();
  auto kindOf = [&](Type type) {
    return *tds::getElementKind(tds::getElementType(type), options.f64);
  };
  std::vector<Value> carried;
  for (mlir::Value init : fold.getInits())
    carried.push_back(scope.get(init));
  std::vector<std::shared_ptr<Tensor>> collected;
  for (mlir::Value result : fold.getCollected()) {
    if (llvm::Error error = checkSize(*fold, result.getType()))
      return error;
    auto type = cast<RankedTensorType>(result.getType());
    collected.push_back(
        std::make_shared<Tensor>(kindOf(type), type.getShape()));
  }
  for (int64_t i = 0; i < trips; ++i) {
    int64_t t = fold.getReverse() ? trips - 1 - i : i;
    Scope inner;
    auto counter =
        std::make_shared<Tensor>(ElementKind::I32, llvm::ArrayRef<int64_t>());
    counter->set(0, t);
    inner.set(fold.getCounter(), counter);
    for (auto [argument, value] : llvm::zip(fold.getCarried(), carried))
      inner.set(argument, value);
    for (auto [argument, operand] :
         llvm::zip(fold.getSliceArguments(), fold.getSlices())) {
      auto type = cast<RankedTensorType>(argument.getType());
      auto slice = std::make_shared<Tensor>(kindOf(type), type.getShape());
      size_t bytes = slice->numBytes();
      if (bytes)
        std::memcpy(slice->data(), scope.get(operand)->data() + t * bytes,
                    bytes);
      inner.set(argument, slice);
    }
    for (auto [argument, operand] :
         llvm::zip(fold.getInvariantArguments(), fold.getInvariants()))
      inner.set(argument, scope.get(operand));
    std::vector<Value> results;
    if (llvm::Error error = runBlock(*fold.getBlock(), inner, depth, results))
      return error;
    for (auto [stack, value] :
         llvm::zip(collected, llvm::drop_begin(results, carried.size()))) {
      size_t bytes = value->numBytes();
      if (bytes)
        std::memcpy(stack->data() + t * bytes, value->data(), bytes);
    }
    results.resize(carried.size());
    carried = std::move(results);
  }
  for (auto [key, value] : llvm::zip(fold.getFinal(), carried))
    scope.set(key, value);
  for (auto [key, value] : llvm::zip(fold.getCollected(), collected))
    scope.set(key, value);
  return llvm::Error::success();
}

template <typename Op>
llvm::Error Evaluator::runDecomposed(Op op, Scope &scope, unsigned depth) {
  llvm::SetVector<mlir::Value> inputs;
  inputs.insert_range(op->getOperands());
  inputs.insert_range(tds::getBodyTensors(op));
  SmallVector<Type> types;
  std::vector<Value> values, results;
  for (mlir::Value input : inputs) {
    types.push_back(input.getType());
    values.push_back(scope.get(input));
  }
  OpBuilder builder(op.getContext());
  OwningOpRef<func::FuncOp> function = func::FuncOp::create(
      builder, op.getLoc(), "steps",
      builder.getFunctionType(types, op->getResultTypes()));
  builder.setInsertionPointToStart(function->addEntryBlock());
  IRMapping mapping;
  mapping.map(inputs.getArrayRef(), function->getArguments());
  auto copy = cast<Op>(builder.clone(*op, mapping));
  func::ReturnOp::create(builder, op.getLoc(), tds::decompose(builder, copy));
  copy.erase();
  if (llvm::Error error = runFunction(*function, values, depth, results))
    return error;
  for (auto [key, value] : llvm::zip(op->getResults(), results))
    scope.set(key, value);
  return llvm::Error::success();
}

llvm::Error Evaluator::runOperation(Operation &op, Scope &scope,
                                    unsigned depth) {
  if (auto call = dyn_cast<func::CallOp>(op)) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    if (!callee || callee.isExternal())
      return errorAt(&op, "calls '" + call.getCallee() +
                              "', which has no body to evaluate");
    if (depth >= maxDepth)
      return errorAt(&op,
                     "calls are nested deeper than " + llvm::Twine(maxDepth));
    std::vector<Value> arguments, results;
    for (mlir::Value operand : call.getOperands())
      arguments.push_back(scope.get(operand));
    if (llvm::Error error = runFunction(callee, arguments, depth + 1, results))
      return error;
    for (auto [key, value] : llvm::zip(call.getResults(), results))
      scope.set(key, value);
    return llvm::Error::success();
  }
  if (auto kernel = dyn_cast<tds::KernelOp>(op)) {
    Scope inner;
    for (auto [argument, input] :
         llvm::zip(kernel.getBlock()->getArguments(), kernel.getInputs()))
      inner.set(argument, scope.get(input));
    std::vector<Value> results;
    if (llvm::Error error = runBlock(*kernel.getBlock(), inner, depth, results))
      return error;
    for (auto [key, value] : llvm::zip(kernel.getResults(), results))
      scope.set(key, value);
    return llvm::Error::success();
  }
  if (auto fold = dyn_cast<tds::FoldOp>(op))
    return runFold(fold, scope, depth);
  if (auto attention = dyn_cast<tds::AttentionOp>(op))
    return runDecomposed(attention, scope, depth);
  if (auto attention = dyn_cast<tds::AttentionGradOp>(op))
    return runDecomposed(attention, scope, depth);
  if (isa<tds::GradientOp>(op))
    return errorAt(&op, "a tds.gradient has no value of its own; run "
                        "tds-differentiate first");
  if (op.getNumResults() != 1 || !isa<tds::TDSDialect>(op.getDialect()))
    return errorAt(&op, "cannot evaluate " + op.getName().getStringRef());
  if (llvm::Error error = checkSize(op, op.getResult(0).getType()))
    return error;
  SmallVector<const Tensor *> operands;
  for (mlir::Value operand : op.getOperands())
    operands.push_back(scope.get(operand).get());
  llvm::Expected<Tensor> result = tds::evaluateOperation(
      &op, operands, [&](mlir::Value value) { return scope.find(value); },
      options);
  if (!result)
    return errorAt(&op, op.getName().getStringRef() + ": " +
                            llvm::toString(result.takeError()));
  scope.set(op.getResult(0),
            std::make_shared<const Tensor>(std::move(*result)));
  return llvm::Error::success();
}

llvm::Error Evaluator::runBlock(Block &block, Scope &scope, unsigned depth,
                                std::vector<Value> &results) {
  for (Operation &op : block.without_terminator()) {
    if (llvm::Error error = runOperation(op, scope, depth))
      return error;
    scope.release(op);
  }
  for (mlir::Value operand : block.getTerminator()->getOperands())
    results.push_back(scope.get(operand));
  return llvm::Error::success();
}

llvm::Error Evaluator::runFunction(func::FuncOp function,
                                   llvm::ArrayRef<Value> arguments,
                                   unsigned depth,
                                   std::vector<Value> &results) {
  if (!llvm::hasSingleElement(function.getBody()))
    return errorAt(function,
                   "function '" + function.getName() + "' has control flow");
  Scope scope;
  for (auto [argument, value] : llvm::zip(function.getArguments(), arguments))
    scope.set(argument, value);
  return runBlock(function.getBody().front(), scope, depth, results);
}

llvm::Expected<std::vector<Tensor>>
Evaluator::call(func::FuncOp function, llvm::ArrayRef<Tensor> arguments) {
  if (function.isExternal())
    return errorAt(function, "function '" + function.getName() +
                                 "' has no body to evaluate");
  if (arguments.size() != function.getNumArguments())
    return errorAt(function, "function '" + function.getName() + "' takes " +
                                 llvm::Twine(function.getNumArguments()) +
                                 " arguments, got " +
                                 llvm::Twine(arguments.size()));
  std::vector<Value> values, results;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[i]);
    std::optional<ElementKind> kind, stored;
    if (type) {
      kind = tds::getElementKind(type.getElementType(), options.f64);
      stored = tds::getElementKind(type.getElementType());
    }
    bool fits = kind && type.getShape() == argument.shape() &&
                (argument.kind() == *kind || argument.kind() == *stored);
    if (!fits) {
      std::string message;
      llvm::raw_string_ostream os(message);
      os << "argument " << i << " of '" << function.getName() << "' has type "
         << function.getArgumentTypes()[i] << ", got "
         << nameOf(argument.kind()) << "[";
      llvm::interleaveComma(argument.shape(), os);
      os << "]";
      return errorAt(function, message);
    }
    values.push_back(
        std::make_shared<const Tensor>(argument.convertedTo(*kind)));
  }
  if (llvm::Error error = runFunction(function, values, 0, results))
    return error;
  values.clear();
  std::vector<Tensor> tensors;
  for (Value &value : results)
    tensors.push_back(*value);
  return tensors;
}

llvm::Expected<std::vector<Tensor>>
Evaluator::call(llvm::StringRef name, llvm::ArrayRef<Tensor> arguments) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function)
    return llvm::createStringError("the module has no function '" + name + "'");
  return call(function, arguments);
}

llvm::Expected<std::vector<Tensor>>
reference::runEntry(ModuleOp module, llvm::StringRef entry,
                    llvm::ArrayRef<Tensor> arguments,
                    EvaluatorOptions options) {
  return Evaluator(module, options).call(entry, arguments);
}
