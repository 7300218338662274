//===- FormKernels.cpp - kernels from generics, contractions and scatters -*-
// C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 1. Joining along reads, in program order: an operation joins the kernel that
// makes what it reads. Contractions come first (an epilogue
//    is free), then rows, then loops.
// 2. Joining of kernels over equal extents that share an input, or that are so
// small that the launch costs more than the work.
// 3. A value that crosses kernels is computed again in its readers where that
// moves fewer bytes than to store and to load it.
// 4. The kernels are built in the order of the groups; inside, what has one
// reader becomes part of its body.
//
//===----------------------------------------------------------------------===//

#include "KernelGroups.h"
#include "Recompute.h"

#include "tdsl/Fusion/Bodies.h"
#include "tdsl/Fusion/CostModel.h"
#include "tdsl/Fusion/Passes.h"

#include "mlir/IR/Remarks.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

namespace tdsl {
#define GEN_PASS_DEF_FORMKERNELSPASS
#include "tdsl/Fusion/Passes.h.inc"
} // namespace tdsl

namespace {

/// Number of terms up to which a kernel with few results counts as small. A
/// million f32 pass an A100's cache in the time of a launch.
constexpr int64_t largeReduction = 1 << 20;
/// How many earlier kernels of equal extents are tried before giving up: the
/// work stays linear in the number of layers.
constexpr unsigned maxSiblingTries = 24;
/// Returned tensors of one number up to which they lie in the artefact.
constexpr int64_t maxConstantBytes = 16 * 1024;

int64_t getNumElements(ArrayRef<int64_t> extents) {
  int64_t product = 1;
  for (int64_t extent : extents)
    product *= extent;
  return product;
}

struct FormKernelsPass
    : public tdsl::impl::FormKernelsPassBase<FormKernelsPass> {
  using tdsl::impl::FormKernelsPassBase<FormKernelsPass>::FormKernelsPassBase;

  void runOnOperation() override {
    if (maxBuffers < 2) {
      emitError(getOperation().getLoc())
          << "max-buffers is " << unsigned(maxBuffers)
          << "; a kernel needs an input and an output, so give at least 2";
      return signalPassFailure();
    }
    model = loadCostModel(target, getOperation());
    if (!model || failed(rewriteGraph(getOperation(), [&](Block &block) {
          return runOnBlock(getOperation(), block);
        })))
      signalPassFailure();
  }

  LogicalResult runOnBlock(func::FuncOp function, Block &block) {
    sinkScalars(block);
    makeReturnedConstants(block);
    makeYieldedTensors(block);
    for (Operation &op : block.without_terminator()) {
      if (isa<GenericOp, ContractOp, ScatterOp, AttentionOp, AttentionGradOp,
              KernelOp, FoldOp, ReshapeOp, ConstantOp>(op))
        continue;
      // A function that is no entry, such as a custom derivative, has been
      // inlined where it was used.
      if (!function->hasAttr(attr::kEntry))
        return success();
      return op.emitOpError(
          "cannot become part of a kernel; run tds-generalize first");
    }
    KernelGroups groups(block, maxBuffers, saveMemory);
    if (fuse) {
      joinReaders(groups, /*withTotals=*/false);
      joinSiblings(groups);
      joinReaders(groups, /*withTotals=*/true);
      auto tell = [&](Operation *op, bool pays, const std::string &text) {
        say(op, pays, "recompute", "recompute", text);
      };
      numRecomputed += recomputeOutputs(groups, *model, maxBuffers, tell);
      numRecomputed += recomputeInReaders(groups, *model, maxBuffers, tell);
    }
    explain(groups);
    return build(block, groups);
  }

  /// The number of an iteration is in no memory: where a fold yields it, or
  /// another operation than a body takes it, it becomes a tensor.
  static void makeYieldedTensors(Block &block) {
    auto fold = dyn_cast<FoldOp>(block.getParentOp());
    if (!fold)
      return;
    Value tensor;
    for (OpOperand &use :
         llvm::make_early_inc_range(fold.getCounter().getUses())) {
      if (isa<ReadOp>(use.getOwner()))
        continue;
      if (!tensor) {
        OpBuilder builder = OpBuilder::atBlockBegin(&block);
        tensor = GenericOp::create(
            builder, fold.getLoc(),
            cast<RankedTensorType>(fold.getCounter().getType()), {},
            std::nullopt,
            [&](OpBuilder &inner, Location loc, ValueRange) -> Value {
              return ReadOp::create(inner, loc, fold.getCounter(),
                                    ValueRange());
            });
      }
      use.set(tensor);
    }
  }

  /// A large tensor of one number that is returned is written by a kernel, as
  /// data it would make the artefact as large as the tensor. Zeros and the like
  /// are filled in.
  static void makeReturnedConstants(Block &block) {
    for (OpOperand &operand : block.getTerminator()->getOpOperands()) {
      auto constant = operand.get().getDefiningOp<ConstantOp>();
      auto value =
          constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
      if (!value || !value.isSplat() ||
          getNumBytes(constant.getType()) <= maxConstantBytes ||
          value.getElementType().isInteger(1) ||
          llvm::all_equal(value.getRawData()))
        continue;
      OpBuilder builder(constant);
      operand.set(GenericOp::create(
          builder, constant.getLoc(),
          cast<RankedTensorType>(constant.getType()), {}, std::nullopt,
          [&](OpBuilder &inner, Location loc, ValueRange) -> Value {
            return ConstantOp::create(inner, loc,
                                      value.getSplatValue<TypedAttr>());
          }));
      if (constant.use_empty())
        constant.erase();
    }
  }

  //===------------------------------------------------------------------===//
  // Joining
  //===------------------------------------------------------------------===//

  /// Whether `op` makes one number of a few that others read, too, such as the
  /// check of an index. It must not draw what it reads away from them: they
  /// could not join it any more.
  static bool isTotalOfShared(const KernelGroups &groups, unsigned op) {
    auto generic = dyn_cast_or_null<GenericOp>(groups.getOp(op));
    return generic && generic.hasReduction() &&
           generic.getType().getNumElements() == 1 &&
           getNumPoints(generic) <= smallKernel &&
           llvm::any_of(groups.getProducers(op), [&](unsigned producer) {
             return llvm::any_of(
                 groups.getOp(producer)->getUsers(), [&](Operation *user) {
                   return user->getParentOp() != groups.getOp(op);
                 });
           });
  }

  void joinReaders(KernelGroups &groups, bool withTotals) {
    for (unsigned op = 0; op < groups.getNumOps(); ++op) {
      if (!withTotals && isTotalOfShared(groups, op))
        continue;
      SmallVector<unsigned> candidates;
      for (unsigned producer : groups.getProducers(op)) {
        unsigned group = groups.getGroupOf(producer);
        if (!llvm::is_contained(candidates, group))
          candidates.push_back(group);
      }
      auto rank = [&](unsigned group) {
        KernelKind kind = groups.getGroup(group).shape.kind;
        return kind == KernelKind::Contract ? 0
               : kind == KernelKind::Row    ? 1
                                            : 2;
      };
      // Of rows the kernel first that goes over most: what is small, as a check
      // of the rows' indices, is cheap to launch apart. Then the last one
      // first: joining an earlier one would put the others between.
      auto rows = [&](unsigned group) {
        return rank(group) == 1 ? -getNumPointsOf(groups, group) : 0;
      };
      llvm::sort(candidates, [&](unsigned a, unsigned b) {
        return std::tuple(rank(a), rows(a), groups.getGroup(b).position) <
               std::tuple(rank(b), rows(b), groups.getGroup(a).position);
      });
      for (unsigned candidate : candidates)
        numJoined += groups.tryJoin(candidate, groups.getGroupOf(op));
    }
  }

  void joinSiblings(KernelGroups &groups) {
    // By extents: kernels of rows also under the extents of rows and columns
    // together, and of rows alone.
    llvm::MapVector<ArrayAttr, SmallVector<unsigned>> buckets;
    Builder builder(&getContext());
    SmallVector<unsigned> order(groups.getOrder());
    for (unsigned group : order) {
      const KernelGroups::Group &info = groups.getGroup(group);
      if (info.isOpaque || (info.shape.kind != KernelKind::Loop &&
                            info.shape.kind != KernelKind::Row))
        continue;
      SmallVector<int64_t> key(info.shape.rows);
      llvm::append_range(key, info.shape.columns);
      buckets[builder.getI64ArrayAttr(key)].push_back(group);
      if (!info.shape.columns.empty())
        buckets[builder.getI64ArrayAttr(info.shape.rows)].push_back(group);
    }
    for (auto &[key, members] : buckets)
      for (size_t i = 0; i < members.size(); ++i) {
        unsigned tries = 0;
        for (size_t j = i; j-- > 0 && tries < maxSiblingTries;) {
          if (groups.getGroup(members[i]).members.empty() ||
              groups.getGroup(members[j]).members.empty())
            continue;
          ++tries;
          // Rows and loops are joined for a common input only: a loop may write
          // in place, rows may not.
          bool isSameKind = groups.getGroup(members[i]).shape.kind ==
                            groups.getGroup(members[j]).shape.kind;
          if (!shareInput(groups, members[i], members[j]) &&
              !(isSameKind && areSmall(groups, members[i], members[j])))
            continue;
          numJoined += groups.tryJoin(members[j], members[i]);
        }
      }
  }

  static bool shareInput(const KernelGroups &groups, unsigned lhs,
                         unsigned rhs) {
    SmallVector<Value> inputs = groups.getInputs(groups.getGroup(rhs).members);
    for (Value input : groups.getInputs(groups.getGroup(lhs).members))
      if (llvm::is_contained(inputs, input) &&
          cast<RankedTensorType>(input.getType()).getNumElements() > 1 &&
          cast<RankedTensorType>(input.getType()).getNumElements() * 4 >=
              getNumPointsOf(groups, lhs))
        return true;
    return false;
  }

  static int64_t getNumPointsOf(const KernelGroups &groups, unsigned group) {
    const KernelShape &shape = groups.getGroup(group).shape;
    return getNumElements(shape.rows) * getNumElements(shape.columns);
  }

  static bool areSmall(const KernelGroups &groups, unsigned lhs, unsigned rhs) {
    return isSmall(groups, lhs) && isSmall(groups, rhs);
  }

  /// Few results do not make a kernel small that reduces much to them.
  static bool isSmall(const KernelGroups &groups, unsigned group) {
    return getNumPointsOf(groups, group) <= smallKernel &&
           llvm::all_of(groups.getGroup(group).members, [&](unsigned op) {
             return !isa<GenericOp>(groups.getOp(op)) ||
                    getNumPoints(groups.getOp(op)) <= largeReduction;
           });
  }

  /// A remark of the category `fusion`, see docs/Fusion.md.
  void say(Operation *op, bool passed, StringRef name, StringRef decision,
           const std::string &text) {
    auto opts = remark::RemarkOpts::name(name).category("fusion").function(
        getOperation().getName());
    (passed ? remark::passed(op->getLoc(), opts)
            : remark::missed(op->getLoc(), opts))
        << text << remark::metric("Decision", decision);
  }

  //===------------------------------------------------------------------===//
  // Explaining
  //===------------------------------------------------------------------===//

  /// A remark for each pair of kernels of which one reads the other's result:
  /// why they are two.
  void explain(KernelGroups &groups) {
    if (!getContext().getRemarkEngine())
      return;
    groups.refresh();
    llvm::DenseSet<std::pair<unsigned, unsigned>> seen;
    for (unsigned op = 0; op < groups.getNumOps(); ++op)
      for (unsigned producer : groups.getProducers(op)) {
        unsigned from = groups.getGroupOf(producer), to = groups.getGroupOf(op);
        if (from == to || !seen.insert({from, to}).second)
          continue;
        std::string why =
            fuse ? groups.describeObstacle(from, to) : "fusion is turned off";
        remark::missed(
            groups.getOp(op)->getLoc(),
            remark::RemarkOpts::name("apart").category("fusion").function(
                getOperation().getName()))
            << why
            << remark::detail::Remark::Arg(
                   "Producer", Attribute(groups.getOp(producer)->getLoc()));
      }
  }

  //===------------------------------------------------------------------===//
  // Building
  //===------------------------------------------------------------------===//

  LogicalResult build(Block &block, KernelGroups &groups) {
    Operation *terminator = block.getTerminator();
    OpBuilder builder(terminator);
    SmallVector<Operation *> old;
    for (Operation &op : block.without_terminator())
      old.push_back(&op);
    IRMapping mapping;
    // Brings a value to its place in the new order: constants and reshapes are
    // made where they are first needed.
    auto bring = [&](auto &self, Value value) -> Value {
      if (Value done = mapping.lookupOrNull(value))
        return done;
      Operation *op = value.getDefiningOp();
      if (!op)
        return value;
      if (auto reshape = dyn_cast<ReshapeOp>(op))
        self(self, reshape.getOperand());
      Operation *clone = builder.clone(*op, mapping);
      return clone->getResult(cast<OpResult>(value).getResultNumber());
    };
    SmallVector<KernelOp> kernels;
    for (unsigned group : groups.getOrder()) {
      ArrayRef<unsigned> members = groups.getGroup(group).members;
      if (members.empty())
        continue;
      if (groups.getGroup(group).isOpaque) {
        Operation *op = groups.getOp(members.front());
        for (Value operand : op->getOperands())
          bring(bring, operand);
        builder.clone(*op, mapping);
        continue;
      }
      SmallVector<Value> inputs = groups.getInputs(members),
                         outputs = groups.getOutputs(members);
      if (outputs.empty())
        continue;
      kernels.push_back(
          buildKernel(builder, groups, members, inputs, outputs, mapping,
                      [&](Value value) { return bring(bring, value); }));
    }
    for (OpOperand &operand : terminator->getOpOperands())
      operand.set(bring(bring, operand.get()));
    for (Operation *op : llvm::reverse(old))
      op->dropAllDefinedValueUses();
    for (Operation *op : llvm::reverse(old))
      op->erase();
    for (KernelOp kernel : kernels)
      if (failed(verifyKernelKind(kernel)))
        return failure();
    return success();
  }

  KernelOp buildKernel(OpBuilder &builder, KernelGroups &groups,
                       ArrayRef<unsigned> members, ArrayRef<Value> inputs,
                       ArrayRef<Value> outputs, IRMapping &mapping,
                       function_ref<Value(Value)> bring) {
    SmallVector<Value> operands;
    SmallVector<Type> inputTypes, outputTypes;
    SmallVector<Location> locs, inputLocs;
    for (Value input : inputs) {
      operands.push_back(bring(input));
      inputTypes.push_back(input.getType());
      inputLocs.push_back(input.getLoc());
    }
    for (Value output : outputs)
      outputTypes.push_back(output.getType());
    for (unsigned op : members)
      locs.push_back(groups.getOp(op)->getLoc());
    const KernelShape &shape =
        groups.getGroup(groups.getGroupOf(members.front())).shape;
    auto kernel = KernelOp::create(
        builder, builder.getFusedLoc(locs), outputTypes,
        builder.getStringAttr(getKernelKindName(shape.kind)), operands);
    Block *body =
        builder.createBlock(&kernel.getBody(), {}, inputTypes, inputLocs);
    IRMapping inside;
    inside.map(ValueRange(inputs), ValueRange(body->getArguments()));
    for (unsigned op : members)
      builder.clone(*groups.getOp(op), inside);
    SmallVector<Value> yielded;
    for (Value output : outputs)
      yielded.push_back(inside.lookup(output));
    YieldOp::create(builder, kernel.getLoc(), yielded);
    builder.setInsertionPointAfter(kernel);
    inlineSingleReaders(body);
    for (Operation &op : *body)
      if (op.getNumRegions() == 1)
        simplifyBody(&op.getRegion(0).front());
    for (auto [output, result] : llvm::zip(outputs, kernel.getOutputs()))
      mapping.map(output, result);
    ++numKernels;
    return kernel;
  }

  /// Inside a kernel, an element generic with one reader becomes part of it,
  /// unless it would be evaluated more often.
  static void inlineSingleReaders(Block *body) {
    for (auto generic : llvm::make_early_inc_range(body->getOps<GenericOp>())) {
      if (generic.hasReduction())
        continue;
      Operation *reader = nullptr;
      bool isSingle = true;
      for (Operation *user : generic->getUsers()) {
        auto read = dyn_cast<ReadOp>(user);
        isSingle &= read && (!reader || reader == read->getParentOp());
        reader = read ? read->getParentOp() : nullptr;
      }
      if (!isSingle || !reader)
        continue;
      if (getNumPoints(reader) > generic.getType().getNumElements() &&
          getBodyCost(generic) > cheapPerPoint)
        continue;
      for (Operation *user : llvm::make_early_inc_range(generic->getUsers())) {
        auto read = cast<ReadOp>(user);
        OpBuilder builder(read);
        read.replaceAllUsesWith(
            cloneBodyAt(builder, generic, read.getIndices()));
        read.erase();
      }
      simplifyBody(&reader->getRegion(0).front());
      generic.erase();
    }
  }

  std::optional<CostModel> model;
};

} // namespace
