//===- CostModel.cpp - what kernels cost on a device -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shapes of blocks below are those of the schedules in lib/Target, roughly:
// a decision needs no more.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Fusion/CostModel.h"

#include "tdsl/Dialect/TDS/AttentionBand.h"
#include "tdsl/Fusion/Bodies.h"
#include "tdsl/Fusion/KernelRules.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

std::optional<CostModel> tdsl::loadCostModel(StringRef target, Operation *at) {
  llvm::Expected<TargetDescription> description =
      TargetDescription::load(target);
  if (description)
    return CostModel(std::move(*description));
  at->emitError(llvm::toString(description.takeError()));
  return std::nullopt;
}

double tdsl::getNumBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return double(tensor.getNumElements()) *
         getElementBytes(tensor.getElementType());
}

std::string tdsl::formatTime(double ns) {
  if (ns < 100)
    return llvm::formatv("{0:f0} ns", ns);
  return llvm::formatv("{0:f1} us", ns / 1000);
}

static double getBytes(Value value) { return getNumBytes(value.getType()); }

/// Bytes that a kernel moves of an input. One that is read only where indices
/// are computed is gathered from: no more than an element for each point.
static double getReadBytes(KernelOp kernel, BlockArgument argument) {
  double points = 0;
  for (Operation *user : argument.getUsers()) {
    auto read = dyn_cast<ReadOp>(user);
    bool isGather =
        read && llvm::any_of(read.getIndices(), [&](Value index) {
          return !getAffineIndex(index, read->getBlock()->getArguments());
        });
    if (!isGather)
      return getBytes(argument);
    points += getNumPoints(read->getParentOp());
  }
  auto type = cast<RankedTensorType>(argument.getType());
  return std::min(getBytes(argument),
                  points * getElementBytes(type.getElementType()));
}

/// Multiplications of a contraction.
static double getNumProducts(ContractOp contract) {
  double products = 1;
  for (auto [number, extent] : contract.getExtentOfAxis())
    products *= double(extent);
  return products;
}

/// Tiles of 64 x 64 results, of 32 x 32 where those are few.
static bool hasLargeTiles(ContractOp contract) {
  auto type = cast<RankedTensorType>(contract.getType());
  return std::ceil(double(type.getNumElements()) / 4096) >= 64;
}

double tdsl::getNumLoads(ContractOp contract, bool isLhs) {
  ArrayRef<int64_t> own = isLhs ? contract.getLhsAxes() : contract.getRhsAxes();
  ArrayRef<int64_t> results = contract.getResultAxes();
  double elements = 1, across = 1;
  for (auto [number, extent] : contract.getExtentOfAxis())
    (llvm::is_contained(own, number) || !llvm::is_contained(results, number)
         ? elements
         : across) *= double(extent);
  return elements * std::ceil(across / (hasLargeTiles(contract) ? 64 : 32));
}

/// How often the body of a generic is evaluated: that of a prologue where a
/// factor is loaded.
static double getNumEvaluations(Operation *op) {
  auto generic = dyn_cast<GenericOp>(op);
  if (!generic || !isPrologue(generic))
    return double(getNumPoints(op));
  ContractOp contract = *op->getBlock()->getOps<ContractOp>().begin();
  double most = 0;
  for (bool isLhs : {true, false}) {
    Value factor = isLhs ? contract.getLhs() : contract.getRhs();
    if (cast<RankedTensorType>(factor.getType()).getShape() ==
        generic.getExtents())
      most = std::max(most, getNumLoads(contract, isLhs));
  }
  return most;
}

/// An attention, or its derivative: `products` of queries and keys, and as many
/// blocks for each tile of 32 rows.
template <typename Op>
static void addAttention(KernelCost &cost, Op op, double products,
                         double blocks) {
  double batch = 1;
  for (int64_t extent : op.getBatch())
    batch *= double(extent);
  // What the mask leaves out costs next to nothing.
  double pairs = batch * double(getBand(op).countPairs(op.getNumQueries(),
                                                       op.getNumKeys()));
  double features = double(op.getDepth() + op.getWidth()) / 2;
  cost.flops += 2 * pairs * products * features;
  // exp, and what is done to the scores.
  cost.ops += pairs * double(getBodyCost(op) + 20);
  cost.blocks =
      blocks * batch *
      std::ceil(double(std::max(op.getNumQueries(), op.getNumKeys())) / 32);
  cost.registers = 80;
  cost.sharedBytes = 41472;
}

static KernelCost getPartCost(KernelOp kernel,
                              const TargetDescription &target) {
  KernelCost cost;
  Block *block = kernel.getBlock();
  for (BlockArgument argument : block->getArguments())
    cost.bytes += getReadBytes(kernel, argument);
  double widest = 1, points = 1;
  for (Value output : kernel.getOutputs()) {
    auto type = cast<RankedTensorType>(output.getType());
    cost.bytes += getBytes(output);
    widest = std::max<double>(widest, getElementBytes(type.getElementType()));
    points = std::max<double>(points, double(type.getNumElements()));
  }
  cost.buffers = kernel.getInputs().size() + kernel.getOutputs().size();
  double terms = 0, rows = 0, columns = 1;
  for (Operation &op : block->without_terminator()) {
    if (auto contract = dyn_cast<ContractOp>(op)) {
      double products = getNumProducts(contract);
      cost.flops += 2 * products;
      double results =
          double(cast<RankedTensorType>(contract.getType()).getNumElements());
      bool isLarge = hasLargeTiles(contract);
      cost.blocks = std::ceil(results / (isLarge ? 4096 : 1024));
      cost.registers = isLarge ? 80 : 48;
      cost.sharedBytes = isLarge ? 16384 : 4608;
      continue;
    }
    if (isa<AttentionOp>(op)) {
      addAttention(cost, cast<AttentionOp>(op), 2, 1);
      continue;
    }
    if (isa<AttentionGradOp>(op)) {
      addAttention(cost, cast<AttentionGradOp>(op), 7, 2);
      continue;
    }
    if (!isa<GenericOp, ScatterOp>(op))
      continue;
    cost.ops += getNumEvaluations(&op) * double(getBodyCost(&op) + 1);
    if (auto generic = dyn_cast<GenericOp>(op);
        generic && generic.hasReduction()) {
      rows = double(generic.getType().getNumElements());
      columns = double(generic.getReductionSize());
      terms += rows * columns;
    }
  }
  if (kernel.getKind() == "row") {
    // A thread for the shortest rows, a warp for short ones, four to a block,
    // and a block for long ones.
    cost.blocks = columns <= 16     ? std::ceil(rows / (rows < 4096 ? 64 : 256))
                  : columns <= 1024 ? std::ceil(rows / 4)
                                    : rows;
    cost.registers = 56;
    cost.sharedBytes = 1024;
  } else if (kernel.getKind() == "loop" || kernel.getKind() == "scatter") {
    double perThread =
        terms > 0 ? 1 : std::max(1.0, CostModel::accessBytes / widest);
    cost.blocks = std::ceil(points / perThread / CostModel::blockThreads);
    cost.registers = 40;
  }
  if (target.isCPU)
    cost.blocks = std::max(
        1.0, std::floor((cost.flops / 8 + cost.ops) / CostModel::itemOps));
  return cost;
}

KernelCost tdsl::operator+(const KernelCost &lhs, const KernelCost &rhs) {
  KernelCost sum = lhs;
  sum.bytes += rhs.bytes;
  sum.flops += rhs.flops;
  sum.ops += rhs.ops;
  sum.blocks += rhs.blocks;
  sum.registers = std::max(lhs.registers, rhs.registers);
  sum.sharedBytes = std::max(lhs.sharedBytes, rhs.sharedBytes);
  sum.buffers += rhs.buffers;
  return sum;
}

KernelCost CostModel::getCost(KernelOp kernel) const {
  if (!kernel.hasParts())
    return getPartCost(kernel, target);
  std::optional<KernelCost> cost;
  for (auto part : kernel.getBlock()->getOps<KernelOp>()) {
    KernelCost own = getPartCost(part, target);
    cost = cost ? *cost + own : own;
  }
  cost->buffers = kernel.getInputs().size() + kernel.getOutputs().size();
  return *cost;
}

double CostModel::getMoveNs(double bytes, double tensorBytes) const {
  return bytes / (tensorBytes <= target.cacheBytes ? target.cacheGBPerS
                                                   : target.memoryGBPerS);
}

double CostModel::getNs(ArrayRef<KernelCost> parts) const {
  KernelCost all = parts.front();
  for (const KernelCost &part : parts.drop_front())
    all = all + part;
  // How much of the threads that hide the latency of memory fits beside each
  // other: half of all there can be is taken to be enough (Volkov 2010).
  double occupancy = 1;
  if (!target.isCPU) {
    double resident = std::min(target.threadsPerMultiprocessor / blockThreads,
                               target.registersPerMultiprocessor /
                                   (all.registers * blockThreads));
    if (all.sharedBytes > 0)
      resident = std::min(resident, target.sharedBytesPerMultiprocessor /
                                        all.sharedBytes);
    double threads = std::max(1.0, std::floor(resident)) * blockThreads;
    occupancy = std::min(1.0, threads / (target.threadsPerMultiprocessor / 2));
  }
  // The time of some work with `blocks` blocks: processors without one idle.
  auto getTime = [&](double moveNs, double computeNs, double blocks) {
    double busy = std::min(1.0, blocks / target.multiprocessors);
    return std::max(moveNs / occupancy, computeNs) / busy;
  };
  // What is bound by memory and what is bound by operations run side by side.
  double longest = 0, moveNs = 0, computeNs = 0;
  for (const KernelCost &part : parts) {
    double move = getMoveNs(part.bytes, part.bytes),
           compute = getComputeNs(part);
    longest = std::max(longest, getTime(move, compute, part.blocks));
    moveNs += move;
    computeNs += compute;
  }
  return std::max(longest, getTime(moveNs, computeNs, all.blocks));
}

double CostModel::getNs(ArrayRef<KernelCost> atOnce,
                        ArrayRef<KernelCost> byLastBlock) const {
  if (byLastBlock.empty())
    return getNs(atOnce);
  // A thread has the registers of the part that needs most, from the beginning.
  double registers = 0, sharedBytes = 0;
  for (const KernelCost &part :
       llvm::concat<const KernelCost>(atOnce, byLastBlock)) {
    registers = std::max(registers, part.registers);
    sharedBytes = std::max(sharedBytes, part.sharedBytes);
  }
  auto widen = [&](KernelCost cost) {
    cost.registers = registers;
    cost.sharedBytes = sharedBytes;
    return cost;
  };
  SmallVector<KernelCost> first;
  for (const KernelCost &part : atOnce)
    first.push_back(widen(part));
  // To know that it is the last, a block waits for what it has written and
  // then for its number.
  double ns = getNs(first) + 2 * target.cacheLatencyNs;
  for (const KernelCost &part : byLastBlock) {
    KernelCost alone = widen(part);
    alone.blocks = 1;
    ns += getNs(alone);
  }
  return ns;
}

bool CostModel::fits(const KernelCost &cost, std::string *why) const {
  auto passes = [&](double needed, double limit, StringRef what) {
    if (needed <= limit)
      return false;
    if (why)
      *why = llvm::formatv("{0} {1} are needed and {2} has {3:f0}", needed,
                           what, target.name, limit)
                 .str();
    return true;
  };
  if (passes(8.0 * cost.buffers, target.parameterBytes, "bytes of parameters"))
    return false;
  return target.isCPU || (!passes(cost.registers, target.registersPerThread,
                                  "registers a thread") &&
                          !passes(cost.sharedBytes, target.sharedBytesPerBlock,
                                  "bytes of shared memory a block"));
}
