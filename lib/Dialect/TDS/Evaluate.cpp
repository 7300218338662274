//===- Evaluate.cpp - the value of one operation -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every operation but tds.contract becomes a LoopNest: bodies are compiled, and
// element operations, reductions, broadcasts and transposes are nests of one
// read with strides and one operation.
//
//===----------------------------------------------------------------------===//

#include "BodyCompiler.h"
#include "EvaluateContract.h"
#include "Folding.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using reference::ElementKind;
using reference::LoopNest;
using reference::Tensor;

static llvm::Error unsupported(Operation *op) {
  return llvm::createStringError("cannot evaluate " +
                                 op->getName().getStringRef());
}

std::optional<int> tds::getLiteralExponent(PowOp op) {
  if (!op.getLiteral() || !isa<FloatType>(getElementType(op.getType())))
    return std::nullopt;
  auto constant = op.getRhs().getDefiningOp<ConstantOp>();
  if (!constant)
    return std::nullopt;
  FloatAttr value = dyn_cast<FloatAttr>(constant.getValue());
  if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
    value = splat.getSplatValue<FloatAttr>();
  if (!value)
    return std::nullopt;
  for (int exponent = 0; exponent <= 4; ++exponent)
    if (value.getValue().isExactlyValue(exponent) &&
        !(exponent == 0 && value.getValue().isNegative()))
      return exponent;
  return std::nullopt;
}

/// Strides, in elements, of a row-major tensor.
static SmallVector<int64_t> stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

static llvm::Expected<Tensor>
evaluateElementwise(Operation *op, ArrayRef<const Tensor *> operands,
                    const EvaluateOptions &options) {
  std::optional<ElementKind> kind =
      getElementKind(getElementType(op->getResult(0).getType()), options.f64);
  if (!kind)
    return unsupported(op);
  LoopNest nest;
  nest.parallel = {operands.front()->numElements()};
  BodyCompiler compiler(nest.program, options);
  SmallVector<reference::Reg> regs;
  for (auto [slot, tensor] : llvm::enumerate(operands))
    regs.push_back(nest.program.affineRead(slot, tensor->kind(), 0, {1}));
  std::optional<reference::Reg> result = compiler.compileElementOp(op, regs);
  if (!result)
    return unsupported(op);
  nest.yield = *result;
  nest.yieldKind = *kind;
  llvm::Expected<Tensor> value =
      reference::runNest(nest, operands, options.stops);
  if (!value)
    return value;
  return value->reshapedTo(operands.front()->shape());
}

/// A nest that reads the tensor in slot 0 with the given strides.
static llvm::Expected<Tensor>
evaluateRead(const Tensor &operand, ArrayRef<int64_t> parallel,
             ArrayRef<int64_t> reduce, ArrayRef<int64_t> strides,
             std::optional<reference::Reduction> reduction) {
  LoopNest nest;
  nest.parallel.assign(parallel.begin(), parallel.end());
  nest.reduce.assign(reduce.begin(), reduce.end());
  nest.reduction = reduction;
  nest.yield = nest.program.affineRead(0, operand.kind(), 0, strides);
  nest.yieldKind = operand.kind();
  return reference::runNest(nest, &operand, nullptr);
}

static llvm::Expected<Tensor> evaluateReduce(ReduceOp op,
                                             const Tensor &operand) {
  SmallVector<int64_t> all = stridesOf(operand.shape());
  SmallVector<int64_t> parallel, reduce, strides, reduceStrides;
  for (auto [axis, extent] : llvm::enumerate(operand.shape())) {
    bool reduced = llvm::is_contained(op.getAxes(), static_cast<int64_t>(axis));
    (reduced ? reduce : parallel).push_back(extent);
    (reduced ? reduceStrides : strides).push_back(all[axis]);
  }
  llvm::append_range(strides, reduceStrides);
  return evaluateRead(operand, parallel, reduce, strides,
                      static_cast<reference::Reduction>(op.getKind()));
}

static llvm::Expected<Tensor> evaluateBroadcast(BroadcastOp op,
                                                const Tensor &operand) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(op.getType()).getShape();
  SmallVector<int64_t> all = stridesOf(operand.shape());
  SmallVector<int64_t> strides(shape.size(), 0);
  for (auto [i, axis] : llvm::enumerate(op.getAxes()))
    if (operand.shape()[i] != 1)
      strides[axis] = all[i];
  return evaluateRead(operand, shape, {}, strides, std::nullopt);
}

static llvm::Expected<Tensor> evaluateTranspose(TransposeOp op,
                                                const Tensor &operand) {
  SmallVector<int64_t> all = stridesOf(operand.shape());
  SmallVector<int64_t> shape, strides;
  for (int64_t axis : op.getPermutation()) {
    shape.push_back(operand.shape()[axis]);
    strides.push_back(all[axis]);
  }
  return evaluateRead(operand, shape, {}, strides, std::nullopt);
}

/// The tensors of the compiled body's slots.
static llvm::Expected<SmallVector<const Tensor *>>
capture(const BodyCompiler &compiler,
        llvm::function_ref<const Tensor *(Value)> captured) {
  SmallVector<const Tensor *> tensors;
  for (Value value : compiler.getSlots()) {
    const Tensor *tensor = captured(value);
    if (!tensor)
      return llvm::createStringError("reads a tensor without a value");
    tensors.push_back(tensor);
  }
  return tensors;
}

/// Compiles the body of `op` into `nest`, with the extents in `nest.parallel`
/// and `nest.reduce`, and gives the tensors of the slots. A sum of products of
/// floats accumulates by fma, so that the factors are compiled and not the
/// product.
static llvm::Expected<SmallVector<const Tensor *>>
compileGeneric(GenericOp op, LoopNest &nest,
               llvm::function_ref<const Tensor *(Value)> captured,
               const EvaluateOptions &options) {
  BodyCompiler compiler(nest.program, options);
  SmallVector<int64_t> extents(op.getExtents());
  llvm::append_range(extents, op.getReduceExtents());
  SmallVector<Value> wanted = {op.getYielded()};
  auto product = op.getYielded().getDefiningOp<MulOp>();
  bool fused = product && op.getKind() == ReductionKind::Sum &&
               isa<FloatType>(product.getType());
  if (fused)
    wanted = {product.getLhs(), product.getRhs()};
  if (llvm::Error error = compiler.compileBody(*op.getBlock(), extents, wanted))
    return error;
  if (fused)
    nest.factors = {compiler.getReg(wanted[0]), compiler.getReg(wanted[1])};
  else
    nest.yield = compiler.getReg(op.getYielded());
  nest.yieldKind = *getElementKind(op.getYielded().getType(), options.f64);
  return capture(compiler, captured);
}

static llvm::Expected<Tensor>
evaluateGeneric(GenericOp op,
                llvm::function_ref<const Tensor *(Value)> captured,
                const EvaluateOptions &options) {
  LoopNest nest;
  nest.parallel.assign(op.getExtents().begin(), op.getExtents().end());
  nest.reduce.assign(op.getReduceExtents().begin(),
                     op.getReduceExtents().end());
  if (op.getKind())
    nest.reduction = static_cast<reference::Reduction>(*op.getKind());
  auto tensors = compileGeneric(op, nest, captured, options);
  if (!tensors)
    return tensors.takeError();
  return reference::runNest(nest, *tensors, options.stops);
}

llvm::Expected<SmallVector<Tensor, 2>>
tds::evaluateTerms(GenericOp op,
                   llvm::function_ref<const Tensor *(Value)> captured) {
  LoopNest nest;
  nest.parallel.assign(op.getExtents().begin(), op.getExtents().end());
  llvm::append_range(nest.parallel, op.getReduceExtents());
  auto tensors = compileGeneric(op, nest, captured, {});
  if (!tensors)
    return tensors.takeError();
  SmallVector<reference::Reg, 2> regs = {nest.yield};
  if (nest.factors)
    regs = {nest.factors->first, nest.factors->second};
  SmallVector<Tensor, 2> terms;
  for (reference::Reg reg : regs) {
    nest.yield = reg;
    llvm::Expected<Tensor> values = reference::runNest(nest, *tensors);
    if (!values)
      return values.takeError();
    terms.push_back(std::move(*values));
  }
  return terms;
}

static llvm::Expected<Tensor>
evaluateScatter(ScatterOp op,
                llvm::function_ref<const Tensor *(Value)> captured,
                const EvaluateOptions &options) {
  LoopNest nest;
  nest.parallel.assign(op.getExtents().begin(), op.getExtents().end());
  BodyCompiler compiler(nest.program, options);
  SmallVector<Value> wanted = {op.getYielded()};
  llvm::append_range(wanted, op.getYieldedIndices());
  if (llvm::Error error =
          compiler.compileBody(*op.getBlock(), op.getExtents(), wanted))
    return error;
  nest.yield = compiler.getReg(op.getYielded());
  nest.yieldKind = *getElementKind(op.getYielded().getType(), options.f64);
  SmallVector<reference::Reg> places;
  for (Value index : op.getYieldedIndices())
    places.push_back(compiler.getReg(index));
  auto tensors = capture(compiler, captured);
  if (!tensors)
    return tensors.takeError();
  return reference::runScatter(nest, places, op.getType().getShape(), *tensors,
                               options.stops);
}

llvm::Expected<Tensor>
tds::evaluateOperation(Operation *op, ArrayRef<const Tensor *> operands,
                       llvm::function_ref<const Tensor *(Value)> captured,
                       const EvaluateOptions &options) {
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    std::optional<Tensor> value = toTensor(constant.getValue());
    if (!value)
      return unsupported(op);
    if (options.f64 && reference::isFloat(value->kind()))
      return value->convertedTo(ElementKind::F64);
    return std::move(*value);
  }
  if (auto generic = dyn_cast<GenericOp>(op))
    return evaluateGeneric(generic, captured, options);
  if (auto scatter = dyn_cast<ScatterOp>(op))
    return evaluateScatter(scatter, captured, options);
  if (auto contract = dyn_cast<ContractOp>(op))
    return evaluateContract(contract, *operands[0], *operands[1], options.f64);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return evaluateReduce(reduce, *operands[0]);
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return evaluateBroadcast(broadcast, *operands[0]);
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return evaluateTranspose(transpose, *operands[0]);
  if (isa<IndependentOp>(op))
    return *operands[0];
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return operands[0]->reshapedTo(
        cast<RankedTensorType>(reshape.getType()).getShape());
  if (op->hasTrait<ElementwiseOp>())
    return evaluateElementwise(op, operands, options);
  return unsupported(op);
}
