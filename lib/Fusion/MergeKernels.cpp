//===- MergeKernels.cpp - kernels side by side in one launch -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of which none needs another's result become the parts of one. Between
// two groups there may be no path: along results, and from a reader of a
// variable's old value to the kernel that writes the new one, since that would
// take a copy of the variable. The kernels of a loop's body are joined among
// themselves; its carried values are variables to it. Nearest first, so that
// equal layers give equal groups, and values do not live longer than they must.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Fusion/CostModel.h"
#include "tdsl/Fusion/Passes.h"

#include "mlir/IR/Remarks.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <queue>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

namespace tdsl {
#define GEN_PASS_DEF_MERGEKERNELSPASS
#include "tdsl/Fusion/Passes.h.inc"
} // namespace tdsl

namespace {

/// How many kernels behind a kernel are tried as parts beside it: the work
/// stays linear in the number of kernels, and those further away seldom may
/// come before all between.
constexpr unsigned maxTries = 24;
/// A tensor that is worth being read once by two kernels side by side: to read
/// 1 MiB from an A100's memory takes as long as a launch.
constexpr double largeBytes = 1 << 20;

Value getViewed(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

double getBytes(Value value) { return getNumBytes(value.getType()); }

/// A place whose old value is replaced by a new one: a variable of an entry, a
/// value that a loop carries.
struct Update {
  Value before, after;
};

/// The kernels of an entry or of the body of a loop, in groups; each group is
/// one launch to be.
class MergedKernels {
public:
  MergedKernels(Block &block, ArrayRef<Update> updates, func::FuncOp function,
                const CostModel &model);

  /// Joins two groups where that is allowed and pays, and says so.
  bool tryJoin(unsigned lhs, unsigned rhs);
  /// Whether two groups read one large tensor.
  bool shareInput(unsigned lhs, unsigned rhs) const;
  unsigned getNumGroups() const { return groups.size(); }
  bool isLive(unsigned group) const { return !groups[group].empty(); }
  /// The groups in an order that their reads allow; of those that are ready
  /// the one that was first.
  SmallVector<unsigned> getOrder() const;
  ArrayRef<unsigned> getMembers(unsigned group) const { return groups[group]; }
  KernelOp getKernel(unsigned kernel) const {
    return cast<KernelOp>(kernels[kernel]);
  }
  Operation *getOperation(unsigned kernel) const { return kernels[kernel]; }

private:
  void addEdges(Block &block, ArrayRef<Update> updates);
  void close();
  /// The most bytes that live at one point when the groups run in their order.
  double getPeak() const;
  void refuse(unsigned lhs, unsigned rhs, const Twine &why);

  func::FuncOp function;
  const CostModel &model;
  /// Kernels, and the loops between them, which stay by themselves.
  SmallVector<Operation *> kernels;
  llvm::DenseMap<Operation *, unsigned> numberOf;
  SmallVector<SmallVector<unsigned>> groups;
  SmallVector<unsigned> groupOf;
  SmallVector<llvm::SmallSetVector<unsigned, 4>> successors;
  /// Which kernels come after each kernel, through groups.
  SmallVector<llvm::BitVector> reached;
  /// Outputs that need a place in the arena, with their readers.
  struct Buffer {
    unsigned writer;
    double bytes;
    SmallVector<unsigned, 4> readers;
  };
  SmallVector<Buffer> buffers;
  double mostBytes = 0;
};

} // namespace

MergedKernels::MergedKernels(Block &block, ArrayRef<Update> updates,
                             func::FuncOp function, const CostModel &model)
    : function(function), model(model) {
  for (Operation &op : block) {
    if (!isa<KernelOp, FoldOp>(op))
      continue;
    numberOf[&op] = kernels.size();
    groupOf.push_back(kernels.size());
    groups.push_back({unsigned(kernels.size())});
    kernels.push_back(&op);
  }
  successors.resize(kernels.size());
  addEdges(block, updates);
  mostBytes = getPeak() + model.getBytesOfLaunch();
}

void MergedKernels::addEdges(Block &block, ArrayRef<Update> updates) {
  llvm::DenseMap<Value, SmallVector<unsigned, 4>> readers;
  llvm::DenseSet<Value> returned;
  for (auto [number, kernel] : llvm::enumerate(kernels))
    for (Value input : kernel->getOperands()) {
      Value value = getViewed(input);
      if (!llvm::is_contained(readers[value], number))
        readers[value].push_back(number);
      auto producer = numberOf.find(value.getDefiningOp());
      if (producer != numberOf.end())
        successors[producer->second].insert(number);
    }
  close();
  for (Value value : block.getTerminator()->getOperands())
    returned.insert(getViewed(value));
  for (const Update &update : updates) {
    auto writer = numberOf.find(getViewed(update.after).getDefiningOp());
    if (writer == numberOf.end())
      continue;
    unsigned to = writer->second;
    for (unsigned reader : readers[update.before])
      if (reader != to && !reached[to].test(reader)) {
        successors[reader].insert(to);
        close();
      }
  }
  for (auto [number, kernel] : llvm::enumerate(kernels))
    for (Value output : kernel->getResults())
      if (!returned.contains(output))
        buffers.push_back(
            {unsigned(number), getBytes(output), readers[output]});
}

void MergedKernels::close() {
  // A kernel reaches what any of its group reaches.
  reached.assign(kernels.size(), llvm::BitVector(kernels.size()));
  SmallVector<unsigned> order = getOrder();
  for (unsigned group : llvm::reverse(order)) {
    llvm::BitVector all(kernels.size());
    for (unsigned member : groups[group])
      for (unsigned next : successors[member]) {
        for (unsigned other : groups[groupOf[next]])
          all.set(other);
        all |= reached[next];
      }
    for (unsigned member : groups[group])
      reached[member] = all;
  }
}

SmallVector<unsigned> MergedKernels::getOrder() const {
  SmallVector<unsigned> waiting(groups.size()), order;
  auto forEachNext = [&](unsigned group, auto visit) {
    for (unsigned member : groups[group])
      for (unsigned next : successors[member])
        if (groupOf[next] != group)
          visit(groupOf[next]);
  };
  for (unsigned group = 0; group < groups.size(); ++group)
    forEachNext(group, [&](unsigned next) { ++waiting[next]; });
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<unsigned>>
      ready;
  for (unsigned group = 0; group < groups.size(); ++group)
    if (!groups[group].empty() && waiting[group] == 0)
      ready.push(group);
  while (!ready.empty()) {
    unsigned group = ready.top();
    ready.pop();
    order.push_back(group);
    forEachNext(group, [&](unsigned next) {
      if (--waiting[next] == 0)
        ready.push(next);
    });
  }
  return order;
}

double MergedKernels::getPeak() const {
  SmallVector<unsigned> order = getOrder(), position(groups.size());
  for (auto [place, group] : llvm::enumerate(order))
    position[group] = place;
  SmallVector<double> change(order.size() + 1);
  for (const Buffer &buffer : buffers) {
    unsigned first = position[groupOf[buffer.writer]], last = first;
    for (unsigned reader : buffer.readers)
      last = std::max(last, position[groupOf[reader]]);
    change[first] += buffer.bytes;
    change[last + 1] -= buffer.bytes;
  }
  double live = 0, most = 0;
  for (double bytes : change)
    most = std::max(most, live += bytes);
  return most;
}

void MergedKernels::refuse(unsigned lhs, unsigned rhs, const Twine &why) {
  remark::missed(kernels[groups[rhs].front()]->getLoc(),
                 remark::RemarkOpts::name("side-by-side")
                     .category("fusion")
                     .function(function.getName()))
      << ("not beside another kernel: " + why).str()
      << remark::metric("Decision", "merge")
      << remark::metric("First", groups[lhs].front())
      << remark::metric("Second", groups[rhs].front());
}

bool MergedKernels::shareInput(unsigned lhs, unsigned rhs) const {
  llvm::DenseSet<Value> inputs;
  for (unsigned member : groups[lhs])
    for (Value input : kernels[member]->getOperands())
      if (getBytes(input) >= largeBytes)
        inputs.insert(getViewed(input));
  return llvm::any_of(groups[rhs], [&](unsigned member) {
    return llvm::any_of(kernels[member]->getOperands(), [&](Value input) {
      return inputs.contains(getViewed(input));
    });
  });
}

bool MergedKernels::tryJoin(unsigned lhs, unsigned rhs) {
  if (isa<FoldOp>(kernels[groups[lhs].front()]) ||
      isa<FoldOp>(kernels[groups[rhs].front()]))
    return false;
  if (reached[groups[lhs].front()].test(groups[rhs].front()) ||
      reached[groups[rhs].front()].test(groups[lhs].front()))
    return false;
  SmallVector<KernelCost> left, right, both;
  llvm::DenseSet<Value> inputs;
  KernelCost joined;
  unsigned outputs = 0;
  for (unsigned group : {lhs, rhs})
    for (unsigned member : groups[group]) {
      KernelOp kernel = getKernel(member);
      KernelCost cost = model.getCost(kernel);
      (group == lhs ? left : right).push_back(cost);
      both.push_back(cost);
      joined = both.size() == 1 ? cost : joined + cost;
      inputs.insert_range(kernel.getInputs());
      outputs += kernel.getNumResults();
    }
  // The tiles of an attention would be the shared memory of every block of the
  // launch, and it leaves no processor without work that others could use.
  const TargetDescription &target = model.getTarget();
  for (unsigned group : {lhs, rhs})
    for (unsigned member : groups[group]) {
      StringRef kind = getKernel(member).getKind();
      if ((kind == "attention" || kind == "attention_grad") && !target.isCPU &&
          model.getCost(getKernel(member)).blocks >= target.multiprocessors) {
        refuse(lhs, rhs, "an attention fills the device by itself");
        return false;
      }
    }
  joined.buffers = inputs.size() + outputs;
  std::string why;
  if (!model.fits(joined, &why)) {
    refuse(lhs, rhs, why);
    return false;
  }
  double apart =
      model.getNs(left) + model.getNs(right) + 2 * model.getLaunchNs();
  double together = model.getNs(both) + model.getLaunchNs();
  if (together >= apart) {
    refuse(lhs, rhs,
           llvm::formatv("{0:f1} us together, {1:f1} us apart", together / 1000,
                         apart / 1000));
    return false;
  }
  unsigned first = std::min(lhs, rhs), second = std::max(lhs, rhs);
  SmallVector<unsigned> before(groups[first]), moved(groups[second]);
  llvm::append_range(groups[first], moved);
  groups[second].clear();
  for (unsigned member : moved)
    groupOf[member] = first;
  if (double peak = getPeak(); peak > mostBytes) {
    groups[first] = before;
    groups[second] = moved;
    for (unsigned member : moved)
      groupOf[member] = second;
    refuse(lhs, rhs,
           llvm::formatv("{0:f0} bytes would live at once, {1:f0} are worth "
                         "it",
                         peak, mostBytes));
    return false;
  }
  remark::passed(kernels[moved.front()]->getLoc(),
                 remark::RemarkOpts::name("side-by-side")
                     .category("fusion")
                     .function(function.getName()))
      << llvm::formatv("beside another kernel: {0:f1} us together, {1:f1} us "
                       "apart",
                       together / 1000, apart / 1000)
             .str()
      << remark::metric("Decision", "merge")
      << remark::metric("First", before.front())
      << remark::metric("Second", moved.front());
  close();
  return true;
}

namespace {

struct MergeKernelsPass
    : public tdsl::impl::MergeKernelsPassBase<MergeKernelsPass> {
  using tdsl::impl::MergeKernelsPassBase<
      MergeKernelsPass>::MergeKernelsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function->hasAttr(attr::kEntry))
      return;
    std::optional<CostModel> model = loadCostModel(target, function);
    if (!model)
      return signalPassFailure();
    // Inner loops first: what lies in them is no kernel of the outer block.
    SmallVector<FoldOp> folds;
    function.walk<WalkOrder::PostOrder>(
        [&](FoldOp fold) { folds.push_back(fold); });
    for (FoldOp fold : folds) {
      SmallVector<Update> updates;
      for (auto [before, after] :
           llvm::zip_equal(fold.getCarried(), fold.getYieldedCarried()))
        updates.push_back({before, after});
      mergeBlock(*fold.getBlock(), updates, *model);
    }
    mergeBlock(function.getBody().front(), getUpdates(function), *model);
  }

  static SmallVector<Update> getUpdates(func::FuncOp function) {
    SmallVector<Update> updates;
    llvm::DenseMap<Attribute, Value> oldValues;
    for (BlockArgument argument : function.getArguments())
      if (Attribute variable =
              function.getArgAttr(argument.getArgNumber(), attr::kVariable))
        oldValues[variable] = argument;
    Operation *terminator = function.getBody().front().getTerminator();
    for (OpOperand &operand : terminator->getOpOperands())
      if (Attribute variable = function.getResultAttr(
              operand.getOperandNumber(), attr::kVariable))
        updates.push_back({oldValues.lookup(variable), operand.get()});
    return updates;
  }

  void mergeBlock(Block &block, ArrayRef<Update> updates,
                  const CostModel &model) {
    MergedKernels merged(block, updates, getOperation(), model);
    // First those that read one large tensor, which then comes by once.
    joinAll(merged, /*sharing=*/true);
    joinAll(merged, /*sharing=*/false);
    build(block, merged);
  }

  void joinAll(MergedKernels &merged, bool sharing) {
    unsigned count = merged.getNumGroups();
    for (unsigned group = 0; group < count; ++group) {
      unsigned tries = 0;
      for (unsigned other = group + 1;
           other < count && tries < maxTries && merged.isLive(group); ++other)
        if (merged.isLive(other)) {
          ++tries;
          if (!sharing || merged.shareInput(group, other))
            numMerged += merged.tryJoin(group, other);
        }
    }
  }

  /// Builds the groups in their order, before the terminator; what is no kernel
  /// moves to where it is first needed.
  void build(Block &block, MergedKernels &merged) {
    Operation *terminator = block.getTerminator();
    OpBuilder builder(terminator);
    llvm::DenseSet<Operation *> placed;
    auto place = [&](auto &self, Value value) -> void {
      Operation *op = value.getDefiningOp();
      if (!op || isa<KernelOp, FoldOp>(op) || !placed.insert(op).second)
        return;
      for (Value operand : op->getOperands())
        self(self, operand);
      op->moveBefore(terminator);
    };
    for (unsigned group : merged.getOrder()) {
      for (unsigned member : merged.getMembers(group))
        for (Value input : merged.getOperation(member)->getOperands())
          place(place, input);
      if (merged.getMembers(group).size() == 1)
        merged.getOperation(merged.getMembers(group).front())
            ->moveBefore(terminator);
      else
        buildParts(builder, merged, merged.getMembers(group));
    }
    for (Value operand : terminator->getOperands())
      place(place, operand);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isa<ReshapeOp, ConstantOp>(op) && op.use_empty())
        op.erase();
  }

  static void buildParts(OpBuilder &builder, MergedKernels &merged,
                         ArrayRef<unsigned> members) {
    llvm::SetVector<Value> inputs;
    SmallVector<Value> outputs;
    SmallVector<Type> outputTypes;
    SmallVector<Location> locs, inputLocs;
    for (unsigned member : members) {
      KernelOp kernel = merged.getKernel(member);
      inputs.insert(kernel.getInputs().begin(), kernel.getInputs().end());
      llvm::append_range(outputs, kernel.getOutputs());
      locs.push_back(kernel.getLoc());
    }
    for (Value output : outputs)
      outputTypes.push_back(output.getType());
    SmallVector<Type> inputTypes;
    for (Value input : inputs) {
      inputTypes.push_back(input.getType());
      inputLocs.push_back(input.getLoc());
    }
    auto joined =
        KernelOp::create(builder, builder.getFusedLoc(locs), outputTypes,
                         builder.getStringAttr("parts"), inputs.getArrayRef());
    for (auto [output, result] : llvm::zip(outputs, joined.getOutputs()))
      output.replaceAllUsesWith(result);
    Block *body =
        builder.createBlock(&joined.getBody(), {}, inputTypes, inputLocs);
    auto end = YieldOp::create(builder, joined.getLoc(), outputs);
    for (unsigned member : members) {
      KernelOp kernel = merged.getKernel(member);
      kernel->moveBefore(end);
      for (OpOperand &operand : kernel->getOpOperands()) {
        auto it = llvm::find(inputs, operand.get());
        operand.set(body->getArgument(std::distance(inputs.begin(), it)));
      }
    }
    builder.setInsertionPointAfter(joined);
  }
};

} // namespace
