//===- PlanPass.cpp - entries to plans -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryPlanner.h"
#include "OutlineKernels.h"

#include "tdsl/Dialect/TDS/SourceLocation.h"
#include "tdsl/Planning/MemoryProfile.h"
#include "tdsl/Planning/Passes.h"
#include "tdsl/Planning/Planner.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::plan;

namespace tdsl {
#define GEN_PASS_DEF_PLANPASS
#include "tdsl/Planning/Passes.h.inc"
} // namespace tdsl

namespace {

struct PlanPass : public tdsl::impl::PlanPassBase<PlanPass> {
  using tdsl::impl::PlanPassBase<PlanPass>::PlanPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    ModuleLayout layout;
    layOutVariables(module, layout);
    SmallVector<func::FuncOp> entries;
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr(tds::attr::kEntry))
        entries.push_back(function);
    KernelOutliner outliner(module);
    std::vector<EntryPlan> plans;
    for (func::FuncOp entry : entries) {
      FailureOr<EntryPlan> plan = planEntry(entry, layout, donate);
      if (failed(plan))
        return signalPassFailure();
      plans.push_back(std::move(*plan));
    }
    writeConstants(module, layout);
    for (auto [entry, plan] : llvm::zip(entries, plans)) {
      EntryOp written = writeEntry(entry, plan, outliner);
      recordPeak(written);
      if (check && failed(checkPlan(entry, written)))
        return signalPassFailure();
    }
    numKernels += outliner.getNumKernels();
    for (func::FuncOp entry : entries)
      entry.erase();
  }

  /// Slabs by (role, type) in the order of the variables.
  void layOutVariables(ModuleOp module, ModuleLayout &layout) {
    struct Slab {
      tds::VariableRole role;
      Type element;
      int64_t bytes;
    };
    SmallVector<Slab> slabs;
    Operation *last = nullptr;
    Builder builder(module.getContext());
    for (auto variable : module.getOps<tds::VariableOp>()) {
      last = variable;
      Type element = tds::getElementType(variable.getType());
      auto slab = llvm::find_if(slabs, [&](const Slab &s) {
        return s.role == variable.getRole() && s.element == element;
      });
      if (slab == slabs.end()) {
        slabs.push_back({variable.getRole(), element, 0});
        slab = std::prev(slabs.end());
      }
      int64_t index = slab - slabs.begin(),
              bytes = getTensorBytes(variable.getType());
      layout.variables[variable.getSymNameAttr()] = BufferAttr::get(
          module.getContext(), Space::Slab, index, slab->bytes, bytes);
      variable->setAttr(plan::attr::kSlab, builder.getI64IntegerAttr(index));
      variable->setAttr(plan::attr::kOffset,
                        builder.getI64IntegerAttr(slab->bytes));
      slab->bytes += alignUp(bytes);
    }
    if (!last)
      return;
    OpBuilder at(last);
    at.setInsertionPointAfter(last);
    for (const Slab &slab : slabs)
      SlabOp::create(at, last->getLoc(), slab.role, slab.element, slab.bytes);
  }

  void writeConstants(ModuleOp module, ModuleLayout &layout) {
    OpBuilder builder(module.getContext());
    builder.setInsertionPointToEnd(module.getBody());
    for (auto &[value, buffer] : layout.constants)
      ConstantOp::create(builder, module.getLoc(), cast<ElementsAttr>(value));
  }

  EntryOp writeEntry(func::FuncOp entry, EntryPlan &plan,
                     KernelOutliner &outliner) {
    OpBuilder builder(entry);
    StringRef name = entry.getName();
    // The functions come first: a launch names its kernel.
    llvm::DenseMap<Operation *, func::FuncOp> kernels;
    outlineKernels(plan, outliner, kernels);
    auto kind = entry->getAttrOfType<StringAttr>(tds::attr::kEntry);
    auto written = EntryOp::create(
        builder, entry.getLoc(), name, kind.getValue(), plan.arenaBytes,
        plan.inputBytes, plan.resultBytes, plan.scratchBytes);
    if (Attribute flags = entry->getAttr("tds.flags"))
      written->setAttr(plan::attr::kFlags, flags);
    builder.createBlock(&written.getBody());
    writeSlots(builder, entry, plan);
    writeCommands(builder, plan, kernels, entry.getLoc());
    return written;
  }

  static void
  outlineKernels(const BlockPlan &plan, KernelOutliner &outliner,
                 llvm::DenseMap<Operation *, func::FuncOp> &kernels) {
    for (const PlannedCommand &command : plan.commands) {
      if (command.kind == PlannedCommand::Loop)
        outlineKernels(*command.body, outliner, kernels);
      if (command.kind == PlannedCommand::Launch)
        kernels[command.op] =
            outliner.outline(cast<tds::KernelOp>(command.op), command.inPlace,
                             command.counters, command.disjoint);
    }
  }

  void writeCommands(OpBuilder &builder, const BlockPlan &plan,
                     llvm::DenseMap<Operation *, func::FuncOp> &kernels,
                     Location around) {
    auto list = [&](ArrayRef<BufferAttr> buffers) {
      return builder.getArrayAttr(
          SmallVector<Attribute>(buffers.begin(), buffers.end()));
    };
    for (const PlannedCommand &command : plan.commands) {
      Location loc = command.op ? command.op->getLoc() : around;
      if (command.loc)
        loc = *command.loc;
      auto explain = [&](Operation *written) {
        written->setAttr(plan::attr::kWhy, builder.getStringAttr(command.why));
      };
      switch (command.kind) {
      case PlannedCommand::Copy:
        explain(CopyOp::create(builder, loc, command.from, command.to));
        ++numCopies;
        break;
      case PlannedCommand::Fill:
        explain(FillOp::create(builder, loc, command.to, command.byte));
        break;
      case PlannedCommand::Launch:
        LaunchOp::create(builder, getLocation(cast<tds::KernelOp>(command.op)),
                         FlatSymbolRefAttr::get(kernels[command.op]),
                         list(command.inputs), list(command.outputs),
                         builder.getI64IntegerAttr(command.origin));
        ++numLaunches;
        numInPlace += llvm::count_if(command.inPlace,
                                     [](int64_t input) { return input >= 0; });
        break;
      case PlannedCommand::Loop: {
        auto fold = cast<tds::FoldOp>(command.op);
        ArrayRef<BufferAttr> places = command.places;
        auto take = [&](size_t count) {
          ArrayRef<BufferAttr> taken = places.take_front(count);
          places = places.drop_front(count);
          return list(taken);
        };
        ArrayAttr carried = take(fold.getNumCarried()),
                  slices = take(fold.getSlices().size()),
                  invariants = take(fold.getInvariants().size()),
                  collected = take(fold.getNumCollected());
        auto loop = LoopOp::create(
            builder, loc, fold.getTrips(), fold.getReverse(), carried, slices,
            invariants, collected, builder.getI64IntegerAttr(command.origin));
        OpBuilder::InsertionGuard guard(builder);
        builder.createBlock(&loop.getBody());
        writeCommands(builder, *command.body, kernels, loc);
        break;
      }
      }
    }
  }

  /// The places of everything that a kernel computes: equal kernels of several
  /// places are one function, so the launch keeps its own.
  static Location getLocation(tds::KernelOp kernel) {
    llvm::SetVector<Location> parts;
    if (auto fused = dyn_cast<FusedLoc>(kernel.getLoc());
        fused && !isDerivativeLoc(fused))
      parts.insert_range(fused.getLocations());
    else
      parts.insert(kernel.getLoc());
    kernel.getBody().walk([&](Operation *op) {
      // What a body is made of may come from elsewhere than its operation.
      if (!isa<tds::YieldOp>(op))
        parts.insert(op->getLoc());
    });
    SmallVector<Location> outputs;
    for (Value yielded : kernel.getBlock()->getTerminator()->getOperands())
      outputs.push_back(yielded.getLoc());
    return getLaunchLoc(kernel.getContext(), parts.getArrayRef(), outputs);
  }

  void writeSlots(OpBuilder &builder, func::FuncOp entry,
                  const EntryPlan &plan) {
    unsigned next = 0;
    for (BlockArgument argument : entry.getArguments()) {
      unsigned number = argument.getArgNumber();
      auto name = entry.getArgAttrOfType<StringAttr>(number, tds::attr::kInput);
      if (entry.getArgAttr(number, tds::attr::kVariable))
        continue;
      InputOp::create(
          builder, argument.getLoc(), name, TypeAttr::get(argument.getType()),
          builder.getI64IntegerAttr(plan.inputOffsets[next]),
          entry.getArgAttr(number, tds::attr::kDataAxis) ? builder.getUnitAttr()
                                                         : UnitAttr(),
          entry.getArgAttr(number, tds::attr::kDefault),
          entry.getArgAttrOfType<StringAttr>(number, tds::attr::kRole),
          next < plan.donated.size() && plan.donated[next]
              ? builder.getUnitAttr()
              : UnitAttr());
      ++next;
    }
    next = 0;
    for (auto [number, type] : llvm::enumerate(entry.getResultTypes())) {
      auto name =
          entry.getResultAttrOfType<StringAttr>(number, tds::attr::kResult);
      if (entry.getResultAttr(number, tds::attr::kVariable))
        continue;
      ResultOp::create(builder, entry.getLoc(), name, TypeAttr::get(type),
                       builder.getI64IntegerAttr(plan.resultOffsets[next++]),
                       entry.getResultAttr(number, tds::attr::kDataAxis)
                           ? builder.getUnitAttr()
                           : UnitAttr());
    }
  }
};

} // namespace
