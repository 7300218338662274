//===- KernelAnalysis.cpp - what emitters know of a kernel -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/Target/Common/KernelAnalysis.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::target;

//===----------------------------------------------------------------------===//
// Outlined kernels
//===----------------------------------------------------------------------===//

/// The buffers that a part writes and one of another stage uses.
static std::vector<unsigned> findHandedOn(OutlinedKernel &kernel) {
  std::vector<unsigned> found;
  std::vector<OutlinedKernel> parts = kernel.getParts();
  for (OutlinedKernel &writer : parts)
    for (unsigned buffer : writer.outputBuffers)
      for (OutlinedKernel &other : parts)
        if (other.kernel.getStage() != writer.kernel.getStage() &&
            (llvm::is_contained(other.inputBuffers, buffer) ||
             llvm::is_contained(other.outputBuffers, buffer)) &&
            !llvm::is_contained(found, buffer))
          found.push_back(buffer);
  return found;
}

FailureOr<OutlinedKernel> OutlinedKernel::get(func::FuncOp function) {
  OutlinedKernel result;
  result.function = function;
  Block &block = function.getBody().front();
  for (tds::KernelOp kernel : block.getOps<tds::KernelOp>()) {
    if (result.kernel)
      return function.emitError("holds more than one kernel"), failure();
    result.kernel = kernel;
  }
  auto ret = dyn_cast<func::ReturnOp>(block.getTerminator());
  if (!ret || ret.getOperands() != result.kernel.getOutputs())
    return function.emitError(
               "returns something other than its kernel's results"),
           failure();
  auto counters = function->getAttrOfType<DenseI64ArrayAttr>("plan.counters");
  if (counters)
    result.counters.assign(counters.asArrayRef().begin(),
                           counters.asArrayRef().end());
  for (auto [i, input] : llvm::enumerate(result.kernel.getInputs())) {
    auto argument = dyn_cast<BlockArgument>(input);
    if (!argument || argument.getOwner() != &block)
      return function.emitError("has a kernel input that is no argument"),
             failure();
    if (argument.getArgNumber() != i)
      return function.emitError("has its kernel's inputs in another order"),
             failure();
    result.inputBuffers.push_back(result.isCounter(i) ? result.numCounters++
                                                      : result.numBuffers++);
  }
  auto inPlace = function->getAttrOfType<DenseI64ArrayAttr>("plan.in_place");
  unsigned numOutputs = ret.getNumOperands();
  if (inPlace && inPlace.size() != numOutputs)
    return function.emitError("has 'plan.in_place' of another length than its "
                              "results"),
           failure();
  for (unsigned i = 0; i < numOutputs; ++i) {
    int64_t shared = inPlace ? inPlace[i] : -1;
    if (shared >= int64_t(function.getNumArguments()))
      return function.emitError("has an output in the place of argument ")
                 << shared << ", of " << function.getNumArguments(),
             failure();
    result.outputBuffers.push_back(shared >= 0 ? result.inputBuffers[shared]
                                               : result.numBuffers++);
  }
  result.disjoint = function->hasAttr("plan.disjoint");
  if (result.kernel.hasStages())
    result.handedOn = findHandedOn(result);
  return result;
}

std::vector<OutlinedKernel> OutlinedKernel::getParts() {
  std::vector<OutlinedKernel> parts;
  OperandRange yielded = kernel.getBlock()->getTerminator()->getOperands();
  auto findOutput = [&](Value output) {
    return outputBuffers[std::distance(yielded.begin(),
                                       llvm::find(yielded, output))];
  };
  for (auto op : kernel.getBlock()->getOps<tds::KernelOp>()) {
    OutlinedKernel part = *this;
    part.kernel = op;
    part.inputBuffers.clear();
    part.outputBuffers.clear();
    part.counters.clear();
    for (auto [i, input] : llvm::enumerate(op.getInputs())) {
      if (!isa<BlockArgument>(input)) {
        // What a part of an earlier stage makes.
        part.inputBuffers.push_back(findOutput(input));
        continue;
      }
      unsigned number = cast<BlockArgument>(input).getArgNumber();
      part.inputBuffers.push_back(inputBuffers[number]);
      if (isCounter(number))
        part.counters.push_back(i);
    }
    for (Value output : op.getOutputs())
      part.outputBuffers.push_back(findOutput(output));
    parts.push_back(std::move(part));
  }
  return parts;
}

LogicalResult target::collectKernels(ModuleOp module,
                                     SmallVectorImpl<OutlinedKernel> &kernels) {
  for (func::FuncOp function : module.getOps<func::FuncOp>()) {
    if (function.isExternal() || !function.isPrivate() ||
        function.getBody().front().getOps<tds::KernelOp>().empty())
      continue;
    FailureOr<OutlinedKernel> kernel = OutlinedKernel::get(function);
    if (failed(kernel))
      return failure();
    kernels.push_back(*kernel);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Point kernels
//===----------------------------------------------------------------------===//

const PointKernel::Part *PointKernel::find(Value tensor) const {
  for (const Part &part : parts)
    if (tds::GenericOp(part.op).getResult() == tensor)
      return &part;
  return nullptr;
}

FailureOr<PointKernel> PointKernel::get(tds::KernelOp kernel) {
  PointKernel result;
  result.kernel = kernel;
  Block *block = kernel.getBlock();
  tds::GenericOp leader;
  for (auto op : block->getOps<tds::GenericOp>())
    if (!leader || (op.hasReduction() && !leader.hasReduction()))
      leader = op;
  tds::ContractOp contract;
  for (auto op : block->getOps<tds::ContractOp>())
    contract = op;
  if (contract) {
    result.rows.assign(cast<RankedTensorType>(contract.getType()).getShape());
  } else if (leader) {
    result.rows.assign(leader.getExtents());
    if (kernel.getKind() == "row")
      result.inner.assign(leader.getReduceExtents());
  }
  SmallVector<int64_t> full(result.rows);
  full.append(result.inner);

  for (auto op : block->getOps<tds::GenericOp>()) {
    Part part{op, Class::Row, 0};
    if (op.hasReduction())
      part.kind = Class::Reduce;
    else if (!result.inner.empty() && op.getExtents().size() == full.size())
      part.kind = Class::Full;
    ArrayRef<int64_t> expected =
        part.kind == Class::Full ? ArrayRef(full) : ArrayRef(result.rows);
    if (op.getExtents() != expected)
      return op.emitError("has extents [") << op.getExtents() << "], expected ["
                                           << expected << "] as its kernel",
             failure();
    if (kernel.getKind() == "row" && op.hasReduction() &&
        op.getReduceExtents() != ArrayRef(result.inner))
      return op.emitError("reduces over [")
                 << op.getReduceExtents() << "], expected [" << result.inner
                 << "] as its kernel",
             failure();
    WalkResult walk = op.getBody().walk([&](tds::ReadOp read) {
      const Part *source = result.find(read.getTensor());
      if (!source)
        return WalkResult::advance();
      part.level = std::max(part.level, source->level);
      // A Full value exists only while its point is visited.
      if (source->kind == Class::Full && part.kind == Class::Row) {
        read.emitError("reads a value of the whole row for one row");
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return failure();
    if (part.kind == Class::Reduce)
      ++part.level;
    result.levels = std::max(result.levels, part.level);
    result.parts.push_back(part);
  }
  return result;
}

SmallVector<tds::GenericOp>
PointKernel::fullPartsFor(ArrayRef<tds::GenericOp> roots) const {
  llvm::SmallPtrSet<Operation *, 8> wanted;
  for (tds::GenericOp root : roots)
    wanted.insert(root);
  SmallVector<tds::GenericOp> result;
  // Backwards: a part stands before its readers.
  for (const Part &part : llvm::reverse(parts)) {
    if (!wanted.contains(part.op))
      continue;
    if (part.kind == Class::Full)
      result.insert(result.begin(), part.op);
    tds::GenericOp op = part.op;
    op.getBody().walk([&](tds::ReadOp read) {
      const Part *source = find(read.getTensor());
      if (source && source->kind == Class::Full)
        wanted.insert(source->op);
    });
  }
  return result;
}

SmallVector<tds::GenericOp> PointKernel::fullOutputs() const {
  SmallVector<tds::GenericOp> result;
  tds::KernelOp op = kernel;
  for (Value value : op.getBlock()->getTerminator()->getOperands())
    if (const Part *part = find(value); part && part->kind == Class::Full &&
                                        !llvm::is_contained(result, part->op))
      result.push_back(part->op);
  return result;
}

SmallVector<SmallVector<tds::GenericOp>>
PointKernel::roundsOf(unsigned level) const {
  SmallVector<SmallVector<tds::GenericOp>> rounds;
  for (const Part &part : parts) {
    if (part.kind != Class::Reduce || part.level != level)
      continue;
    tds::GenericOp op = part.op;
    auto same = [&](SmallVector<tds::GenericOp> &round) {
      return round[0].getReduceExtents() == op.getReduceExtents();
    };
    auto it = llvm::find_if(rounds, same);
    if (it == rounds.end())
      rounds.push_back({op});
    else
      it->push_back(op);
  }
  return rounds;
}

//===----------------------------------------------------------------------===//
// Linear forms
//===----------------------------------------------------------------------===//

static bool addLinear(AffineExpr expr, int64_t factor, LinearForm &form) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    form.coefficients[dim.getPosition()] += factor;
    return true;
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    form.constant += factor * constant.getValue();
    return true;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  if (expr.getKind() == AffineExprKind::Add)
    return addLinear(binary.getLHS(), factor, form) &&
           addLinear(binary.getRHS(), factor, form);
  if (expr.getKind() != AffineExprKind::Mul)
    return false;
  AffineExpr left = binary.getLHS(), right = binary.getRHS();
  if (isa<AffineConstantExpr>(left))
    std::swap(left, right);
  auto constant = dyn_cast<AffineConstantExpr>(right);
  return constant && addLinear(left, factor * constant.getValue(), form);
}

std::optional<LinearForm> target::getLinearForm(Value index, ValueRange dims) {
  std::optional<AffineExpr> expr = tds::getAffineIndex(index, dims);
  LinearForm form;
  form.coefficients.assign(dims.size(), 0);
  if (!expr || !addLinear(*expr, 1, form))
    return std::nullopt;
  return form;
}

std::optional<LinearForm> target::getLinearOffset(tds::ReadOp read,
                                                  ValueRange dims) {
  if (read.getGuard() || read.getClamped())
    return std::nullopt;
  LinearForm form;
  form.coefficients.assign(dims.size(), 0);
  int64_t stride = 1;
  ArrayRef<int64_t> shape = read.getTensorType().getShape();
  for (size_t i = shape.size(); i-- > 0;) {
    std::optional<AffineExpr> expr =
        tds::getAffineIndex(read.getIndices()[i], dims);
    if (!expr || !addLinear(*expr, stride, form))
      return std::nullopt;
    stride *= shape[i];
  }
  return form;
}

bool target::canCollapse(Block *body, ArrayRef<int64_t> extents, unsigned begin,
                         unsigned end) {
  if (end - begin <= 1)
    return true;
  ValueRange dims = body->getArguments();
  auto collapses = [&](const std::optional<LinearForm> &form) {
    if (!form)
      return false;
    int64_t unit = form->coefficients[end - 1];
    // The last axis of extent 1 tells nothing; take the first one that does.
    for (unsigned i = end; i-- > begin;)
      if (extents[i] != 1) {
        int64_t scale = 1;
        for (unsigned k = i + 1; k < end; ++k)
          scale *= extents[k];
        if (scale == 1)
          unit = form->coefficients[i];
        break;
      }
    int64_t scale = 1;
    for (unsigned i = end; i-- > begin;) {
      if (extents[i] != 1 && form->coefficients[i] != unit * scale)
        return false;
      scale *= extents[i];
    }
    // The merged index runs in the place of the last axis.
    return form->coefficients[end - 1] == unit;
  };
  // Does the index depend on one of the merged axes in any way?
  llvm::DenseSet<Value> tainted;
  for (unsigned i = begin; i < end; ++i)
    tainted.insert(dims[i]);
  for (Operation &op : *body) {
    if (isa<tds::ApplyOp>(op)) {
      if (llvm::any_of(op.getOperands(),
                       [&](Value v) { return tainted.contains(v); }))
        tainted.insert(op.getResult(0));
      continue;
    }
    if (auto read = dyn_cast<tds::ReadOp>(op)) {
      bool touches = llvm::any_of(read.getIndices(),
                                  [&](Value v) { return tainted.contains(v); });
      // Tensors made in the kernel are in registers at the point itself.
      if (!touches || isa_and_nonnull<tds::GenericOp, tds::ContractOp>(
                          read.getTensor().getDefiningOp()))
        continue;
      if (!collapses(getLinearOffset(read, dims)))
        return false;
      continue;
    }
    for (Value operand : op.getOperands())
      if (tainted.contains(operand) && !collapses(getLinearForm(operand, dims)))
        return false;
  }
  return true;
}

double target::bodyCost(Block *body) {
  double cost = 0;
  for (Operation &op : *body)
    cost +=
        llvm::TypeSwitch<Operation *, double>(&op)
            .Case<tds::ConstantOp, tds::ApplyOp, tds::StopGradientOp>(
                [](auto) { return 0; })
            .Case<tds::RandomOp>([](auto) { return 60; })
            .Case<tds::PowOp>([](auto) { return 60; })
            .Case<tds::SinOp, tds::CosOp, tds::ErfOp, tds::TanhOp>(
                [](auto) { return 30; })
            .Case<tds::ExpOp, tds::Expm1Op, tds::LogOp, tds::Log1pOp,
                  tds::SigmoidOp, tds::FloorDivOp, tds::ModOp>(
                [](auto) { return 16; })
            .Case<tds::DivOp, tds::SqrtOp, tds::RsqrtOp>([](auto) { return 8; })
            .Default([](Operation *) { return 1; });
  return cost;
}
