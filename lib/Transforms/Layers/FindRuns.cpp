//===- FindRuns.cpp - code of an entry that repeats for layers -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The front end unrolls loops in order, so what belongs to one layer stands
// together and is followed by the same for the next one. The first operations
// that use the variables of a group tell where: if they stand at equal
// distances, that distance is the length of an iteration. Where an iteration
// begins follows from what goes from one to the next: as little as possible.
//
//===----------------------------------------------------------------------===//

#include "Layers.h"

#include "tdsl/Autodiff/Autodiff.h"

#include "mlir/IR/IRMapping.h"

#include <numeric>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::layers;

/// How many places are tried for the beginning of an iteration.
static constexpr unsigned maxTries = 64;

EntryRuns::EntryRuns(func::FuncOp entry, const Groups &groups,
                     const FunctionClasses &functions)
    : entry(entry), groups(groups), functions(functions) {}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

void EntryRuns::inlineCalls() {
  Block &block = getBlock();
  findLanes();
  auto takesSeveral = [&](func::CallOp call) {
    llvm::SmallDenseMap<unsigned, unsigned> layerOf;
    for (Value operand : call.getOperands()) {
      auto lane = lanes.find(operand);
      if (lane == lanes.end())
        continue;
      auto [pack, layer] = lane->second;
      auto [known, isNew] = layerOf.try_emplace(pack, layer);
      if (!isNew && known->second != layer)
        return true;
    }
    return false;
  };
  for (Operation *op = &block.front(); op;) {
    auto call = dyn_cast<func::CallOp>(op);
    func::FuncOp callee = call ? functions.lookup(call) : func::FuncOp();
    if (!callee || callee->hasAttr(tds::attr::kVjp) ||
        functions.differentiates(callee) || !callee.getBody().hasOneBlock() ||
        !takesSeveral(call)) {
      op = op->getNextNode();
      continue;
    }
    OpBuilder builder(call);
    IRMapping map;
    map.map(callee.getArguments(), call.getOperands());
    Operation *first = nullptr;
    for (Operation &each : callee.getBody().front().without_terminator()) {
      Operation *copy = builder.clone(each, map);
      copy->walk([&](Operation *inner) {
        inner->setLoc(CallSiteLoc::get(inner->getLoc(), call.getLoc()));
      });
      first = first ? first : copy;
    }
    SmallVector<Value> results;
    for (Value value : callee.getBody().front().getTerminator()->getOperands())
      results.push_back(map.lookupOrDefault(value));
    call.replaceAllUsesWith(results);
    op = first ? first : call->getNextNode();
    call.erase();
  }
}

//===----------------------------------------------------------------------===//
// Packs
//===----------------------------------------------------------------------===//

void EntryRuns::numberOperations() {
  ops.clear();
  positions.clear();
  for (Operation &op : getBlock()) {
    positions[&op] = ops.size();
    ops.push_back(&op);
  }
}

unsigned EntryRuns::getPosition(Operation *user) const {
  auto it = positions.find(getBlock().findAncestorOpInBlock(*user));
  return it == positions.end() ? ~0u : it->second;
}

void EntryRuns::findLanes() {
  packs.clear();
  lanes.clear();
  llvm::DenseMap<unsigned, unsigned> packOfGroup;
  llvm::DenseMap<Value, Place> placeOf;
  auto addLane = [&](llvm::DenseMap<unsigned, unsigned> &packOf, Value value,
                     Place place, Pack pack) {
    auto [it, isNew] = packOf.try_emplace(place.group, packs.size());
    if (isNew)
      packs.push_back(pack);
    lanes[value] = {it->second, place.layer};
  };
  for (BlockArgument argument : entry.getArguments())
    if (std::optional<Place> place = groups.find(
            entry.getArgAttr(argument.getArgNumber(), tds::attr::kVariable))) {
      placeOf[argument] = *place;
      addLane(packOfGroup, argument, *place, {Pack::Variable, place->group});
    }
  for (auto gradient : getBlock().getOps<tds::GradientOp>()) {
    llvm::DenseMap<unsigned, unsigned> packOf;
    for (auto [wrt, result] :
         llvm::zip_equal(gradient.getWrt(), gradient.getGradients()))
      if (auto place = placeOf.find(wrt); place != placeOf.end())
        addLane(packOf, result, place->second,
                {Pack::Gradient, place->second.group, gradient});
  }
}

void EntryRuns::findNewValues() {
  newValues.clear();
  Operation *terminator = getBlock().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands())
    if (std::optional<Place> place = groups.find(entry.getResultAttr(
            operand.getOperandNumber(), tds::attr::kVariable))) {
      SmallVector<Value> &values = newValues[place->group];
      values.resize(groups.groups[place->group].members.size());
      values[place->layer] = operand.get();
    }
}

std::optional<unsigned> EntryRuns::findPack(ArrayRef<Value> values) const {
  std::optional<unsigned> pack;
  for (auto [layer, value] : llvm::enumerate(values)) {
    auto lane = lanes.find(value);
    if (!value || lane == lanes.end() || lane->second.second != layer ||
        (pack && *pack != lane->second.first))
      return std::nullopt;
    pack = lane->second.first;
  }
  // The pack may have more layers than there are values.
  if (!pack)
    return std::nullopt;
  const Pack &found = packs[*pack];
  size_t count = found.kind == Pack::Computed
                     ? runs[found.number].trips
                     : groups.groups[found.number].members.size();
  return count == values.size() ? pack : std::nullopt;
}

const Run *EntryRuns::findRun(unsigned position) const {
  for (const Run &run : runs)
    if (position >= run.start && position < run.getEnd())
      return &run;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

bool EntryRuns::areAlike(Operation *one, Operation *other) const {
  if (one->getName() != other->getName() ||
      one->getNumOperands() != other->getNumOperands() ||
      one->hasTrait<OpTrait::IsTerminator>() || isa<tds::GradientOp>(one))
    return false;
  if (auto call = dyn_cast<func::CallOp>(one)) {
    func::FuncOp callee = functions.lookup(call),
                 otherCallee = functions.lookup(cast<func::CallOp>(other));
    if (!callee || !otherCallee)
      return false;
    if (callee == otherCallee)
      return true;
    return functions.getClass(callee) == functions.getClass(otherCallee);
  }
  llvm::SmallDenseMap<Value, Value, 8> map;
  auto mark = [&](Value value, Value otherValue) { map[value] = otherValue; };
  auto check = [&](Value value, Value otherValue) {
    auto [it, isNew] = map.try_emplace(value, otherValue);
    return success(it->second == otherValue &&
                   value.getType() == otherValue.getType());
  };
  return OperationEquivalence::isEquivalentTo(
      one, other, check, mark, OperationEquivalence::IgnoreLocations);
}

std::optional<Run::Input> EntryRuns::classifyInput(const Run &run,
                                                   ArrayRef<Value> values,
                                                   unsigned offset) const {
  // Where a value of the run is made: iteration, operation, result.
  struct Origin {
    unsigned iteration, op, result;
  };
  auto getOrigin = [&](Value value) -> std::optional<Origin> {
    auto result = dyn_cast<OpResult>(value);
    auto it = result ? positions.find(result.getOwner()) : positions.end();
    if (it == positions.end() || it->second < run.start ||
        it->second >= run.getEnd())
      return std::nullopt;
    unsigned at = it->second - run.start;
    return Origin{at / run.period, at % run.period, result.getResultNumber()};
  };
  std::optional<Origin> first = getOrigin(values[0]),
                        second = getOrigin(values[1]);
  auto follows = [&](unsigned behind, unsigned from) {
    for (unsigned t = from; t < run.trips; ++t) {
      std::optional<Origin> origin = getOrigin(values[t]);
      if (!origin || origin->iteration + behind != t ||
          origin->op != second->op || origin->result != second->result)
        return false;
    }
    return true;
  };
  using Input = Run::Input;
  if (first) {
    if (second && follows(0, 0))
      return Input{Input::Inner, second->op, second->result};
    return std::nullopt;
  }
  bool isOne = lanes.contains(values[0]);
  if (second) {
    if (second->iteration == 0 && follows(1, 1) && !isOne)
      return Input{Input::Carried, second->op, second->result};
    return std::nullopt;
  }
  if (llvm::all_equal(values))
    return isOne ? std::nullopt
                 : std::optional<Input>(Input{Input::Invariant, 0, 0});
  if (std::optional<unsigned> pack = findPack(values))
    return Input{Input::Layered, *pack, 0};
  return std::nullopt;
}

std::optional<Run> EntryRuns::classify(unsigned start, unsigned period,
                                       unsigned trips) const {
  Run run{start, period, trips, {}};
  for (unsigned k = 0; k < period; ++k) {
    SmallVector<SmallVector<Value>> all;
    for (unsigned t = 0; t < trips; ++t)
      all.push_back(
          autodiff::getDifferentiationInputs(ops[start + t * period + k]));
    auto &inputs = run.inputs.emplace_back();
    for (unsigned i = 0; i < all[1].size(); ++i) {
      SmallVector<Value> values;
      for (ArrayRef<Value> each : all) {
        // Two inputs may be one value in the first iteration only.
        if (each.size() != all[1].size())
          return std::nullopt;
        values.push_back(each[i]);
      }
      std::optional<Run::Input> input = classifyInput(run, values, k);
      if (!input)
        return std::nullopt;
      inputs.push_back(*input);
    }
  }
  return run;
}

void EntryRuns::accept(Run run) {
  unsigned number = runs.size();
  for (unsigned k = 0; k < run.period; ++k) {
    Operation *first = ops[run.start + k];
    for (unsigned r = 0; r < first->getNumResults(); ++r) {
      for (unsigned t = 0; t < run.trips; ++t)
        lanes[ops[run.start + t * run.period + k]->getResult(r)] = {
            unsigned(packs.size()), t};
      packs.push_back({Pack::Computed, number, first, r});
    }
  }
  runs.push_back(std::move(run));
}

void EntryRuns::tryAnchors(ArrayRef<unsigned> anchors) {
  unsigned trips = anchors.size(), first = anchors[0];
  if (trips < 2 || anchors[1] <= first)
    return;
  unsigned period = anchors[1] - first;
  for (unsigned t = 1; t < trips; ++t)
    if (anchors[t] != first + t * period)
      return;
  if (findRun(first) || findRun(anchors.back()))
    return;
  // Which operations around the first anchor have their like at all others.
  auto repeats = [&](int64_t offset) {
    int64_t at = int64_t(first) + offset;
    int64_t last = at + int64_t(trips - 1) * period;
    if (at < 0 || last >= int64_t(ops.size()))
      return false;
    for (unsigned t = 0; t < trips; ++t)
      if (t != 1 && !areAlike(ops[at + period], ops[at + t * period]))
        return false;
    return true;
  };
  if (!repeats(0))
    return;
  unsigned before = 0, behind = 1;
  while (behind < period && repeats(behind))
    ++behind;
  while (before + 1 < period && repeats(-int64_t(before) - 1))
    ++before;
  if (before + behind < period)
    return;
  // How many values go from one iteration to the next for each beginning.
  int64_t low = int64_t(first) - before;
  SmallVector<int64_t> change(2 * period + 2);
  for (int64_t at = low; at < int64_t(first) + period; ++at)
    for (Value result : ops[at]->getResults()) {
      int64_t lastUse = at;
      for (Operation *user : result.getUsers())
        if (int64_t use = getPosition(user); use < low + 3 * int64_t(period))
          lastUse = std::max(lastUse, use);
      // It goes through the beginnings in (at, lastUse].
      auto place = [&](int64_t position) {
        return std::clamp<int64_t>(position - (low + period), 0,
                                   change.size() - 1);
      };
      if (lastUse >= low + period) {
        ++change[place(at + 1)];
        --change[place(lastUse + 1)];
      }
    }
  // Beginnings are low, low + 1, …; iteration 1 begins a period behind.
  SmallVector<std::pair<int64_t, unsigned>> starts;
  int64_t live = 0;
  for (unsigned i = 0; i <= before; ++i) {
    live += change[i];
    if (before - i < period && behind + before - i >= period)
      starts.push_back({live, before - i});
  }
  llvm::sort(starts);
  if (starts.size() > maxTries)
    starts.resize(maxTries);
  for (auto [count, distance] : starts)
    if (std::optional<Run> run = classify(first - distance, period, trips))
      return accept(std::move(*run));
}

void EntryRuns::find() {
  numberOperations();
  runs.clear();
  findLanes();
  findNewValues();
  // Operations that use, or make, the values of a pack.
  std::vector<SmallVector<unsigned>> candidates;
  std::vector<std::vector<SmallVector<unsigned>>> uses(packs.size());
  auto collect = [&](Value value, std::pair<unsigned, unsigned> lane) {
    auto &ofPack = uses[lane.first];
    if (ofPack.size() <= lane.second)
      ofPack.resize(lane.second + 1);
    SmallVector<unsigned> &at = ofPack[lane.second];
    for (Operation *user : value.getUsers())
      if (!isa<tds::GradientOp, func::ReturnOp>(user))
        at.push_back(getPosition(user));
    llvm::sort(at);
    at.erase(llvm::unique(at), at.end());
  };
  for (auto &[value, lane] : lanes)
    collect(value, lane);
  for (auto &ofPack : uses) {
    size_t count = ofPack.empty() ? 0 : ofPack.front().size();
    for (ArrayRef<unsigned> at : ofPack)
      count = std::min(count, at.size());
    for (size_t k = 0; k < count; ++k) {
      auto &anchors = candidates.emplace_back();
      for (ArrayRef<unsigned> at : ofPack)
        anchors.push_back(at[k]);
    }
  }
  for (auto &[group, values] : newValues) {
    SmallVector<unsigned> anchors;
    for (Value value : values)
      if (Operation *op = value ? value.getDefiningOp() : nullptr)
        anchors.push_back(positions.lookup(op));
    if (anchors.size() == values.size())
      candidates.push_back(std::move(anchors));
  }
  // In the order of the text: a run may use what one before it makes.
  llvm::sort(candidates);
  for (ArrayRef<unsigned> anchors : candidates)
    tryAnchors(anchors);
}

bool EntryRuns::forbid(Groups &all) const {
  bool some = false;
  auto refuse = [&](unsigned group) {
    some |= all.groups[group].isAllowed;
    all.groups[group].isAllowed = false;
  };
  llvm::DenseMap<unsigned, SmallVector<Value>> arguments;
  func::FuncOp function = entry;
  for (BlockArgument argument : function.getArguments()) {
    std::optional<Place> place = groups.find(
        function.getArgAttr(argument.getArgNumber(), tds::attr::kVariable));
    if (!place)
      continue;
    auto &values = arguments[place->group];
    values.resize(groups.groups[place->group].members.size());
    values[place->layer] = argument;
    for (Operation *user : argument.getUsers())
      if (!isa<tds::GradientOp, func::ReturnOp>(user) &&
          !findRun(getPosition(user)))
        refuse(place->group);
  }
  std::vector<llvm::DenseSet<Value>> wrt;
  for (auto gradient : getBlock().getOps<tds::GradientOp>()) {
    wrt.emplace_back();
    wrt.back().insert_range(gradient.getWrt());
  }
  for (auto &[group, values] : arguments) {
    if (!llvm::all_of(values, [](Value value) { return bool(value); }))
      refuse(group);
    else
      for (const auto &named : wrt) {
        size_t count = llvm::count_if(
            values, [&](Value value) { return named.contains(value); });
        if (count != 0 && count != values.size())
          refuse(group);
      }
  }
  for (auto &[group, values] : newValues)
    if (!findPack(values))
      refuse(group);
  return some;
}
