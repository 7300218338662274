//===- RollLayers.cpp - equal layers as one loop -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Transforms/RollLayers.h"

#include "Layers.h"

#include "tdsl/Autodiff/Autodiff.h"

#include "tdsl/Autodiff/InlineFunction.h"
#include "tdsl/Dialect/TDS/CheckAttribute.h"
#include "tdsl/Dialect/TDS/LayerAttributes.h"
#include "tdsl/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::layers;

namespace tdsl {
#define GEN_PASS_DEF_ROLLLAYERSPASS
#include "tdsl/Transforms/Passes.h.inc"
} // namespace tdsl

static RankedTensorType getStackedType(Type layer, int64_t layers) {
  auto type = cast<RankedTensorType>(layer);
  SmallVector<int64_t> shape{layers};
  llvm::append_range(shape, type.getShape());
  return type.clone(shape);
}

/// Part `layer` of a tensor over layers.
static Value getPart(OpBuilder &builder, Location loc, Value stacked,
                     unsigned layer) {
  auto type = tds::FoldOp::getSliceType(stacked.getType());
  return tds::GenericOp::create(
      builder, loc, type, {}, std::nullopt,
      [&](OpBuilder &inner, Location, ValueRange indices) -> Value {
        auto map = AffineMap::getConstantMap(layer, inner.getContext());
        SmallVector<Value> places{
            tds::ApplyOp::create(inner, loc, inner.getIndexType(),
                                 AffineMapAttr::get(map), ValueRange())};
        llvm::append_range(places, indices);
        return tds::ReadOp::create(inner, loc, stacked, places);
      });
}

namespace {
/// Rewrites an entry: its runs become folds, the groups variables of their own.
class EntryRewriter {
public:
  EntryRewriter(EntryRuns &found, const Groups &groups,
                const FunctionClasses &functions)
      : found(found), groups(groups), functions(functions),
        stacked(found.packs.size()), isNeeded(found.packs.size()) {}
  void run();

private:
  void findNeeded();
  void addArguments();
  void replaceGradient(tds::GradientOp gradient);
  void replaceRun(const Run &run);
  void buildBody(const Run &run, tds::FoldOp fold, const IRMapping &outside,
                 ArrayRef<unsigned> slices,
                 ArrayRef<std::pair<unsigned, unsigned>> carried,
                 ArrayRef<unsigned> collected);
  void replaceResults();
  unsigned getNumber(const Run &run) const { return &run - &found.runs[0]; }
  /// Whether the value is used on its own, not as one of its pack.
  bool isUsedAlone(Value value, const Run &run) const;
  int64_t getLayers(unsigned group) const {
    return groups.groups[group].members.size();
  }

  EntryRuns &found;
  const Groups &groups;
  const FunctionClasses &functions;
  /// For each pack the tensor over all layers.
  SmallVector<Value> stacked;
  SmallVector<bool> isNeeded;
  llvm::DenseSet<unsigned> stackedResults;
};
} // namespace

void EntryRewriter::findNeeded() {
  for (const Run &run : found.runs)
    for (auto &inputs : run.inputs)
      for (const Run::Input &input : inputs)
        if (input.kind == Run::Input::Layered)
          isNeeded[input.number] = true;
  for (auto &[group, values] : found.newValues)
    isNeeded[*found.findPack(values)] = true;
}

bool EntryRewriter::isUsedAlone(Value value, const Run &run) const {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isa<func::ReturnOp>(user)) {
      if (!groups.find(found.entry.getResultAttr(use.getOperandNumber(),
                                                 tds::attr::kVariable)))
        return true;
      continue;
    }
    unsigned at = found.getPosition(user);
    const Run *other = found.findRun(at);
    if (other == &run)
      continue;
    if (!other)
      return true;
    // What later iterations are given is gone with them.
    if (at >= other->start + other->period)
      continue;
    Operation *op = found.ops[at];
    for (auto [input, kind] :
         llvm::zip_equal(autodiff::getDifferentiationInputs(op),
                         other->inputs[at - other->start]))
      if (input == value && kind.kind != Run::Input::Layered)
        return true;
  }
  return false;
}

void EntryRewriter::addArguments() {
  func::FuncOp entry = found.entry;
  MLIRContext *context = entry.getContext();
  for (auto [number, pack] : llvm::enumerate(found.packs)) {
    if (pack.kind != Pack::Variable)
      continue;
    const Group &group = groups.groups[pack.number];
    tds::VariableOp first = group.members.front();
    auto attributes = DictionaryAttr::get(
        context, NamedAttribute(StringAttr::get(context, tds::attr::kVariable),
                                FlatSymbolRefAttr::get(context, group.name)));
    unsigned at = entry.getNumArguments();
    (void)entry.insertArgument(
        at, getStackedType(first.getType(), group.members.size()), attributes,
        first.getLoc());
    stacked[number] = entry.getArgument(at);
  }
}

void EntryRewriter::replaceGradient(tds::GradientOp gradient) {
  OpBuilder builder(gradient);
  SmallVector<Value> wrt;
  SmallVector<Type> types;
  /// For each gradient: the new one it is, or is a part of.
  SmallVector<unsigned> numbers;
  llvm::DenseMap<unsigned, unsigned> numberOf;
  bool changes = false;
  for (auto [value, result] :
       llvm::zip_equal(gradient.getWrt(), gradient.getGradients())) {
    auto lane = found.lanes.find(result);
    unsigned next = wrt.size();
    if (lane == found.lanes.end()) {
      wrt.push_back(value);
      types.push_back(result.getType());
      numbers.push_back(next);
      continue;
    }
    changes = true;
    auto [it, isNew] = numberOf.try_emplace(lane->second.first, next);
    if (isNew) {
      Value whole = stacked[found.lanes.lookup(value).first];
      wrt.push_back(whole);
      types.push_back(whole.getType());
    }
    numbers.push_back(it->second);
  }
  if (!changes)
    return;
  auto made = tds::GradientOp::create(builder, gradient.getLoc(), types,
                                      gradient.getLoss(), wrt);
  made->setDiscardableAttrs(gradient->getDiscardableAttrDictionary());
  for (auto [pack, number] : numberOf)
    stacked[pack] = made.getResult(number);
  for (auto [result, number] :
       llvm::zip_equal(gradient.getGradients(), numbers)) {
    auto lane = found.lanes.find(result);
    if (lane == found.lanes.end()) {
      result.replaceAllUsesWith(made.getResult(number));
      continue;
    }
    bool alone = llvm::any_of(result.getUsers(), [&](Operation *user) {
      return !found.findRun(found.getPosition(user)) &&
             !isa<func::ReturnOp>(user);
    });
    if (alone) {
      Value part = getPart(builder, gradient.getLoc(), made.getResult(number),
                           lane->second.second);
      result.replaceUsesWithIf(part, [&](OpOperand &use) {
        return !found.findRun(found.getPosition(use.getOwner()));
      });
    }
  }
}

void EntryRewriter::replaceRun(const Run &run) {
  SmallVector<unsigned> slices, collected;
  SmallVector<std::pair<unsigned, unsigned>> carried;
  SmallVector<Value> inits, sliced;
  llvm::SetVector<Value> invariants;
  for (unsigned k = 0; k < run.period; ++k)
    for (auto [value, input] : llvm::zip_equal(
             autodiff::getDifferentiationInputs(found.ops[run.start + k]),
             run.inputs[k]))
      switch (input.kind) {
      case Run::Input::Inner:
        break;
      case Run::Input::Carried: {
        // One carried value for each beginning that it has.
        bool isKnown = false;
        for (auto [of, init] : llvm::zip_equal(carried, inits))
          isKnown |=
              of == std::pair(input.number, input.result) && init == value;
        if (!isKnown) {
          carried.push_back({input.number, input.result});
          inits.push_back(value);
        }
        break;
      }
      case Run::Input::Invariant:
        if (!value.getDefiningOp<tds::ConstantOp>())
          invariants.insert(value);
        break;
      case Run::Input::Layered:
        if (!llvm::is_contained(slices, input.number)) {
          slices.push_back(input.number);
          sliced.push_back(stacked[input.number]);
        }
        break;
      }
  // What is asked for outside: whole packs, and values on their own.
  struct Alone {
    Value value;
    unsigned pack, layer;
  };
  SmallVector<Alone> alone;
  unsigned last = run.trips - 1;
  auto isFinal = [&](unsigned k, unsigned result, unsigned layer) {
    return layer == last && llvm::is_contained(carried, std::pair(k, result));
  };
  SmallVector<Type> types;
  for (auto [number, pack] : llvm::enumerate(found.packs)) {
    if (pack.kind != Pack::Computed || pack.number != getNumber(run))
      continue;
    unsigned k = found.positions.lookup(pack.op) - run.start;
    bool collects = isNeeded[number];
    for (unsigned t = 0; t < run.trips; ++t) {
      Value value =
          found.ops[run.start + t * run.period + k]->getResult(pack.result);
      if (!isUsedAlone(value, run))
        continue;
      alone.push_back({value, unsigned(number), t});
      collects |= !isFinal(k, pack.result, t);
    }
    if (collects) {
      collected.push_back(number);
      types.push_back(
          getStackedType(pack.op->getResult(pack.result).getType(), run.trips));
    }
  }
  OpBuilder builder(found.ops[run.start]);
  Location loc = found.ops[run.start]->getLoc();
  auto fold =
      tds::FoldOp::create(builder, loc, run.trips, /*reverse=*/false, inits,
                          sliced, invariants.getArrayRef(), types);
  fold->setDiscardableAttr(tds::attr::kLayers, builder.getUnitAttr());
  IRMapping outside;
  for (auto [value, argument] :
       llvm::zip_equal(invariants, fold.getInvariantArguments()))
    outside.map(value, argument);
  buildBody(run, fold, outside, slices, carried, collected);
  for (auto [pack, result] : llvm::zip_equal(collected, fold.getCollected()))
    stacked[pack] = result;
  for (Alone &each : alone) {
    const Pack &pack = found.packs[each.pack];
    unsigned k = found.positions.lookup(pack.op) - run.start;
    Value with;
    if (isFinal(k, pack.result, each.layer)) {
      auto it = llvm::find(carried, std::pair(k, pack.result));
      with = fold.getFinal()[it - carried.begin()];
    } else {
      with = getPart(builder, loc, stacked[each.pack], each.layer);
    }
    each.value.replaceUsesWithIf(with, [&](OpOperand &use) {
      return found.findRun(found.getPosition(use.getOwner())) != &run;
    });
  }
}

void EntryRewriter::buildBody(const Run &run, tds::FoldOp fold,
                              const IRMapping &outside,
                              ArrayRef<unsigned> slices,
                              ArrayRef<std::pair<unsigned, unsigned>> carried,
                              ArrayRef<unsigned> collected) {
  OpBuilder builder = OpBuilder::atBlockEnd(fold.getBlock());
  /// For each operation of the iteration its results in the body.
  SmallVector<SmallVector<Value>> made;
  IRMapping constants;
  for (unsigned k = 0; k < run.period; ++k) {
    Operation *op = found.ops[run.start + k];
    SmallVector<Value> inputs = autodiff::getDifferentiationInputs(op), inside;
    for (auto [value, input] : llvm::zip_equal(inputs, run.inputs[k]))
      switch (input.kind) {
      case Run::Input::Inner:
        inside.push_back(made[input.number][input.result]);
        break;
      case Run::Input::Carried:
        for (auto [i, of] : llvm::enumerate(carried))
          if (of == std::pair(input.number, input.result) &&
              fold.getInits()[i] == value) {
            inside.push_back(fold.getCarried()[i]);
            break;
          }
        break;
      case Run::Input::Invariant:
        if (auto constant = value.getDefiningOp<tds::ConstantOp>()) {
          if (!constants.contains(value))
            builder.clone(*constant, constants);
          inside.push_back(constants.lookup(value));
        } else {
          inside.push_back(outside.lookup(value));
        }
        break;
      case Run::Input::Layered:
        inside.push_back(fold.getSliceArguments()[std::distance(
            slices.begin(), llvm::find(slices, input.number))]);
        break;
      }
    auto call = dyn_cast<func::CallOp>(op);
    func::FuncOp callee = call ? functions.lookup(call) : func::FuncOp();
    if (callee && functions.draws(callee)) {
      // The numbers are those of the iteration, which the callee cannot ask.
      SmallVector<Value> &results = made.emplace_back();
      if (auto values =
              autodiff::inlineFunction(builder, op->getLoc(), callee, inside);
          succeeded(values))
        results = *values;
      continue;
    }
    IRMapping map;
    unsigned numOperands = op->getNumOperands();
    for (auto [value, with] :
         llvm::drop_begin(llvm::zip_equal(inputs, inside), numOperands))
      map.map(value, with);
    Operation *copy = builder.clone(*op, map);
    copy->setOperands(ArrayRef(inside).take_front(numOperands));
    made.emplace_back(copy->getResults());
  }
  SmallVector<Value> yielded;
  for (auto [number, result] : carried)
    yielded.push_back(made[number][result]);
  for (unsigned pack : collected) {
    const Pack &of = found.packs[pack];
    yielded.push_back(
        made[found.positions.lookup(of.op) - run.start][of.result]);
  }
  tds::YieldOp::create(builder, fold.getLoc(), yielded);
  for (auto generic : fold.getBlock()->getOps<tds::GenericOp>())
    generic.getBody().walk([&](tds::RandomOp random) {
      OpBuilder at(random);
      Value number = tds::ReadOp::create(at, random.getLoc(), fold.getCounter(),
                                         ValueRange());
      random.getIterationMutable().assign(
          tds::CastOp::create(at, random.getLoc(), at.getIndexType(), number));
    });
}

void EntryRewriter::replaceResults() {
  func::FuncOp entry = found.entry;
  MLIRContext *context = entry.getContext();
  Operation *terminator = entry.getBody().front().getTerminator();
  llvm::BitVector old(entry.getNumResults());
  SmallVector<Value> kept;
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    if (groups.find(entry.getResultAttr(number, tds::attr::kVariable)))
      old.set(number);
    else
      kept.push_back(operand.get());
  }
  (void)entry.eraseResults(old);
  for (auto &[group, values] : found.newValues) {
    Value whole = stacked[*found.findPack(values)];
    auto attributes = DictionaryAttr::get(
        context, NamedAttribute(StringAttr::get(context, tds::attr::kVariable),
                                FlatSymbolRefAttr::get(
                                    context, groups.groups[group].name)));
    (void)entry.insertResult(entry.getNumResults(), whole.getType(),
                             attributes);
    kept.push_back(whole);
  }
  terminator->setOperands(kept);
}

void EntryRewriter::run() {
  findNeeded();
  unsigned numArguments = found.entry.getNumArguments();
  addArguments();
  llvm::DenseMap<unsigned, const Run *> runAt;
  for (const Run &run : found.runs)
    runAt[run.start] = &run;
  for (auto [position, op] : llvm::enumerate(found.ops)) {
    if (const Run *run = runAt.lookup(position))
      replaceRun(*run);
    else if (auto gradient = dyn_cast<tds::GradientOp>(op))
      replaceGradient(gradient);
  }
  replaceResults();
  // What is left of the layers goes, users first.
  for (Operation *op : llvm::reverse(found.ops)) {
    bool isOld = found.findRun(found.positions.lookup(op));
    if (isa<tds::GradientOp>(op))
      isOld = llvm::any_of(op->getResults(), [&](Value result) {
        return found.lanes.contains(result);
      });
    if (isOld)
      op->erase();
  }
  llvm::BitVector old(found.entry.getNumArguments());
  for (unsigned i = 0; i < numArguments; ++i)
    if (groups.find(found.entry.getArgAttr(i, tds::attr::kVariable)))
      old.set(i);
  (void)found.entry.eraseArguments(old);
}

/// Erases the private functions that no entry calls any more.
static void eraseUncalled(ModuleOp module, const FunctionClasses &functions) {
  llvm::SmallPtrSet<Operation *, 32> called;
  SmallVector<func::FuncOp> open;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isPrivate())
      open.push_back(function);
  while (!open.empty()) {
    func::FuncOp function = open.pop_back_val();
    if (!called.insert(function).second)
      continue;
    function.walk([&](func::CallOp call) {
      if (func::FuncOp callee = functions.lookup(call))
        open.push_back(callee);
    });
    if (auto vjp = function->getAttrOfType<FlatSymbolRefAttr>(tds::attr::kVjp))
      if (func::FuncOp derivative = functions.lookup(vjp.getValue()))
        open.push_back(derivative);
  }
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (!called.contains(function))
      function.erase();
}

/// The operations of a block, with those of the functions that it calls.
static int64_t countOps(Operation *op, const FunctionClasses &functions) {
  if (auto call = dyn_cast<func::CallOp>(op)) {
    int64_t count = 0;
    if (func::FuncOp callee = functions.lookup(call))
      for (Operation &inner : callee.getBody().front().without_terminator())
        count += countOps(&inner, functions);
    return count;
  }
  int64_t count = isa<tds::ConstantOp>(op) ? 0 : 1;
  if (auto fold = dyn_cast<tds::FoldOp>(op))
    for (Operation &inner : fold.getBlock()->without_terminator())
      count += countOps(&inner, functions);
  return count;
}

/// The operations in the layers of an entry.
static int64_t countOps(const EntryRuns &entry,
                        const FunctionClasses &functions) {
  int64_t count = 0;
  for (const Run &run : entry.runs)
    for (unsigned i = run.start; i < run.getEnd(); ++i)
      count += countOps(entry.ops[i], functions);
  return count;
}

RolledLayers tdsl::rollLayers(ModuleOp module, int64_t minLayers,
                              int64_t minOps) {
  RolledLayers rolled;
  if (minLayers < 2)
    return rolled;
  Groups groups(module, minLayers);
  if (groups.isEmpty())
    return rolled;
  // Equal layers write variables of different names, as "f.3.w".
  module.walk([](tds::StopGradientOp stop) {
    auto name = stop->getAttrOfType<FlatSymbolRefAttr>(tds::attr::kWritten);
    if (name &&
        llvm::any_of(llvm::split(name.getValue(), '.'), [](StringRef part) {
          return !part.empty() && llvm::isDigit(part[0]);
        }))
      stop->removeDiscardableAttr(tds::attr::kWritten);
  });
  FunctionClasses functions(module);
  std::vector<std::unique_ptr<EntryRuns>> entries;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(tds::attr::kEntry)) {
      entries.push_back(
          std::make_unique<EntryRuns>(function, groups, functions));
      entries.back()->inlineCalls();
    }
  // A group that is refused takes its runs along, and these other groups.
  bool changes = true;
  while (changes) {
    changes = false;
    for (auto &entry : entries)
      entry->find();
    for (auto &entry : entries)
      changes |= entry->forbid(groups);
  }
  if (llvm::all_of(entries, [&](const std::unique_ptr<EntryRuns> &entry) {
        return countOps(*entry, functions) < minOps;
      }))
    return rolled;
  SymbolTable symbols(module);
  for (Group &group : groups.groups) {
    group.isAllowed &= !symbols.lookup(group.name);
  }
  if (llvm::none_of(groups.groups,
                    [](const Group &group) { return group.isAllowed; }))
    return rolled;
  for (auto &entry : entries) {
    rolled.loops += entry->runs.size();
    EntryRewriter(*entry, groups, functions).run();
  }
  for (Group &group : groups.groups) {
    if (!group.isAllowed)
      continue;
    ++rolled.variables;
    tds::VariableOp first = group.members.front();
    OpBuilder builder(first);
    auto made = tds::VariableOp::create(
        builder, first.getLoc(), builder.getStringAttr(group.name),
        first.getRoleAttr(),
        TypeAttr::get(getStackedType(first.getType(), group.members.size())));
    made->setAttr(tds::attr::kLayers, builder.getUnitAttr());
    for (tds::VariableOp member : group.members)
      member.erase();
  }
  eraseUncalled(module, functions);
  return rolled;
}

namespace {
struct RollLayersPass : public tdsl::impl::RollLayersPassBase<RollLayersPass> {
  using tdsl::impl::RollLayersPassBase<RollLayersPass>::RollLayersPassBase;

  void runOnOperation() override {
    if (minLayers < 2) {
      emitError(getOperation().getLoc())
          << "min-layers is " << int64_t(minLayers)
          << "; a loop is made of at least 2 layers";
      return signalPassFailure();
    }
    RolledLayers rolled = rollLayers(getOperation(), minLayers, minOps);
    numVariables += rolled.variables;
    numLoops += rolled.loops;
    if (rolled.loops == 0)
      markAllAnalysesPreserved();
  }
};
} // namespace
