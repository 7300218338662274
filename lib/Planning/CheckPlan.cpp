//===- CheckPlan.cpp - replays a plan over the bytes of its spaces -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value is the function's SSA value behind its views; PlanMemory.h says where
// values lie. A command that finds anything but what the function
// says, whatever the reason (order, an overlap, a wrong offset), is an error.
//
// A loop is replayed once, for any of its iterations: what its commands write
// is unknown at the beginning, but for what the iterations before have left,
// which are the carried values. The iteration must leave the next ones in
// their place. To where the collected values are stacked an iteration may write
// nothing but its own part, which loops in it may write bit by bit.
//
//===----------------------------------------------------------------------===//

#include "EntryPlanner.h"
#include "PlanMemory.h"

#include "tdsl/Planning/Planner.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::plan;

namespace {

class PlanChecker {
public:
  PlanChecker(func::FuncOp entry, EntryOp plan) : entry(entry), plan(plan) {}

  LogicalResult run() {
    load();
    if (failed(replayBlock(*plan.getBlock(), entry.getBody().front())))
      return failure();
    return checkEnd();
  }

private:
  BufferAttr getPlace(tds::VariableOp variable) {
    return BufferAttr::get(
        plan.getContext(), Space::Slab,
        variable->getAttrOfType<IntegerAttr>(attr::kSlab).getInt(),
        variable->getAttrOfType<IntegerAttr>(attr::kOffset).getInt(),
        getTensorBytes(variable.getType()));
  }

  /// Replays the commands of a block of the plan; `source` is the block that it
  /// was made of.
  LogicalResult replayBlock(Block &commands, Block &source) {
    SmallVector<Operation *> items;
    for (Operation &op : source)
      if (isa<tds::KernelOp, tds::FoldOp>(op))
        items.push_back(&op);
    llvm::BitVector done(items.size());
    auto take = [&](Operation &op,
                    std::optional<int64_t> origin) -> Operation * {
      if (origin && *origin >= 0 &&
          *origin < static_cast<int64_t>(items.size()) && !done.test(*origin)) {
        done.set(*origin);
        return items[*origin];
      }
      op.emitOpError(
          "is the launch of no kernel of the entry, or a second one");
      return nullptr;
    };
    for (Operation &op : commands) {
      LogicalResult result =
          llvm::TypeSwitch<Operation *, LogicalResult>(&op)
              .Case([&](LaunchOp launch) -> LogicalResult {
                auto kernel = dyn_cast_or_null<tds::KernelOp>(
                    take(op, launch.getOrigin()));
                return kernel ? replay(launch, kernel) : failure();
              })
              .Case([&](LoopOp loop) -> LogicalResult {
                auto fold =
                    dyn_cast_or_null<tds::FoldOp>(take(op, loop.getOrigin()));
                return fold ? replay(loop, fold) : failure();
              })
              .Case([&](CopyOp copy) { return replay(copy); })
              .Case([&](FillOp fill) {
                memory.write(
                    fill.getTo(),
                    {Value(), static_cast<uint8_t>(fill.getByte()), 0, fill});
                return success();
              })
              .Default([](Operation *) { return success(); });
      if (failed(result))
        return failure();
    }
    return success();
  }

  /// Whether `buffer` is the part of `stack` for the loop around `depth`
  /// others.
  static bool isSliceOf(BufferAttr buffer, BufferAttr stack, unsigned depth,
                        int64_t trips) {
    SmallVector<int64_t> strides(stack.getStrides());
    strides.resize(depth);
    strides.push_back(buffer.getBytes());
    return buffer.getSpace() == stack.getSpace() &&
           buffer.getIndex() == stack.getIndex() &&
           buffer.getOffset() == stack.getOffset() &&
           buffer.getBytes() * trips == stack.getBytes() &&
           buffer.getStrides() == ArrayRef(strides);
  }

  /// All of a stacked tensor, of whose parts `slice` is one.
  static BufferAttr getStack(BufferAttr slice, int64_t trips) {
    return BufferAttr::get(
        slice.getContext(), slice.getSpace(), slice.getIndex(),
        slice.getOffset(), slice.getBytes() * trips,
        withoutZeros(slice.getStrides().drop_back()),
        slice.getTrips().take_front(
            withoutZeros(slice.getStrides().drop_back()).size()));
  }

  /// Whether `buffer` stays in `slice`, which moves with the loop around
  /// `depth` others, in each of its iterations: loops inside may move it there,
  /// as they do where what they collect is collected again.
  bool isWithin(BufferAttr buffer, BufferAttr slice) const {
    SmallVector<int64_t> own(buffer.getStrides()), outer(slice.getStrides());
    own.resize(std::max<size_t>(own.size(), depth + 1));
    outer.resize(depth + 1);
    int64_t end = buffer.getEnd();
    for (size_t d = depth + 1; d < buffer.getStrides().size(); ++d)
      end += own[d] * std::max<int64_t>(buffer.getTrips()[d] - 1, 0);
    return ArrayRef(own).take_front(depth + 1) == ArrayRef(outer) &&
           buffer.getOffset() >= slice.getOffset() && end <= slice.getEnd();
  }

  static ArrayRef<int64_t> withoutZeros(ArrayRef<int64_t> strides) {
    while (!strides.empty() && strides.back() == 0)
      strides = strides.drop_back();
    return strides;
  }

  /// Where what is carried in `place` lies in the first iteration of a loop,
  /// and behind the last one.
  BufferAttr getEndPlace(BufferAttr place, tds::FoldOp fold,
                         bool isLast) const {
    if (!movesHere(place))
      return place;
    int64_t stride = place.getStrides().back(), trips = fold.getTrips(),
            index = fold.getReverse() ? (isLast ? -1 : trips - 1)
                                      : (isLast ? trips : 0);
    return BufferAttr::get(
        place.getContext(), place.getSpace(), place.getIndex(),
        place.getOffset() + index * stride, place.getBytes(),
        withoutZeros(place.getStrides().drop_back()),
        place.getTrips().take_front(
            withoutZeros(place.getStrides().drop_back()).size()));
  }

  /// Whether a place moves with the loop around `depth` others.
  bool movesHere(BufferAttr place) const {
    return int64_t(place.getStrides().size()) == depth + 1;
  }

  /// Where an iteration leaves what it was given in `place`.
  BufferAttr getNextPlace(BufferAttr place, tds::FoldOp fold) const {
    if (!movesHere(place))
      return place;
    int64_t stride = place.getStrides().back();
    return BufferAttr::get(
        place.getContext(), place.getSpace(), place.getIndex(),
        place.getOffset() + (fold.getReverse() ? -stride : stride),
        place.getBytes(), place.getStrides(), place.getTrips());
  }

  LogicalResult replay(LoopOp loop, tds::FoldOp fold) {
    auto getList = [](ArrayAttr list) {
      return SmallVector<BufferAttr>(list.getAsRange<BufferAttr>());
    };
    SmallVector<BufferAttr> carried = getList(loop.getCarried()),
                            slices = getList(loop.getSlices()),
                            invariants = getList(loop.getInvariants()),
                            collected = getList(loop.getCollected());
    int64_t trips = fold.getTrips();
    if (loop.getTrips() != fold.getTrips() ||
        loop.getReverse() != fold.getReverse() ||
        carried.size() != fold.getNumCarried() ||
        slices.size() != fold.getSlices().size() ||
        invariants.size() != fold.getInvariants().size() ||
        collected.size() != fold.getNumCollected())
      return loop.emitOpError("is not the loop of its fold");
    auto checkHolds = [&](ArrayRef<BufferAttr> places, ValueRange values,
                          StringRef what) -> LogicalResult {
      for (auto [i, place] : llvm::enumerate(places))
        if (!holds(place, getViewedValue(values[i])))
          return loop.emitOpError("has ") << what << " " << i << " in " << place
                                          << ", which does not hold its value";
      return success();
    };
    SmallVector<BufferAttr> first, next, last;
    for (BufferAttr place : carried) {
      if (movesHere(place) && place.getStrides().back() != place.getBytes())
        return loop.emitOpError("carries a value in ")
               << place << ", which leaves gaps";
      first.push_back(getEndPlace(place, fold, /*isLast=*/false));
      next.push_back(getNextPlace(place, fold));
      last.push_back(getEndPlace(place, fold, /*isLast=*/true));
    }
    // A stack of what is carried before each iteration, and one of what is
    // carried behind it, are one but for a place.
    auto areOneTrail = [&](BufferAttr lhs, BufferAttr rhs) {
      return llvm::any_of(llvm::zip(carried, next), [&](auto pair) {
        auto [before, behind] = pair;
        return before != behind && ((lhs == before && rhs == behind) ||
                                    (lhs == behind && rhs == before));
      });
    };
    if (failed(checkHolds(first, fold.getInits(), "initial value")) ||
        failed(checkHolds(invariants, fold.getInvariants(), "invariant")))
      return failure();
    for (auto [i, slice] : llvm::enumerate(slices))
      if (slice.getBytes() != 0 && trips != 0 &&
          !(isSliceOf(slice, getStack(slice, trips), depth, trips) &&
            holds(getStack(slice, trips), getViewedValue(fold.getSlices()[i]))))
        return loop.emitOpError("has slice ")
               << i << " in " << slice << ", which is no part of its tensor";
    for (auto [i, slice] : llvm::enumerate(collected)) {
      if (slice.getBytes() != 0 && trips != 0 &&
          !isSliceOf(slice, getStack(slice, trips), depth, trips))
        return loop.emitOpError("collects in ")
               << slice << ", which leaves gaps";
      for (BufferAttr other : ArrayRef(collected).take_front(i))
        if (slice.getBytes() != 0 && !areOneTrail(slice, other) &&
            getStack(slice, trips).overlaps(getStack(other, trips)))
          return loop.emitOpError("collects two values in one place");
    }
    // What an iteration begins with.
    Memory before = memory;
    SmallVector<BufferAttr> written;
    loop->walk([&](Operation *op) {
      if (auto launch = dyn_cast<LaunchOp>(op))
        llvm::append_range(written,
                           launch.getOutputs().getAsRange<BufferAttr>());
      if (auto copy = dyn_cast<CopyOp>(op))
        written.push_back(copy.getTo());
      if (auto fill = dyn_cast<FillOp>(op))
        written.push_back(fill.getTo());
    });
    for (BufferAttr buffer : written) {
      for (BufferAttr slice : collected)
        if (slice.getBytes() != 0 && getStack(slice, trips).overlaps(buffer) &&
            !isWithin(buffer, slice) &&
            llvm::none_of(next, [&](BufferAttr place) {
              return areOneTrail(slice, place) && isWithin(buffer, place);
            }))
          return loop.emitOpError("writes ")
                 << buffer << " into what it collects in " << slice;
      memory.write(buffer, {});
      memory.forget(buffer.getSpan());
    }
    llvm::erase_if(memory.moving, [](const MovingPlace &place) {
      return !place.content.value && !place.content.byte;
    });
    auto put = [&](ArrayRef<BufferAttr> places, ValueRange values) {
      for (auto [place, value] : llvm::zip(places, values))
        memory.write(place, {value, std::nullopt, 0});
    };
    // In a place that moves, the iteration before has left it.
    for (auto [place, after] : llvm::zip(carried, next))
      if (place != after)
        for (BufferAttr buffer : written)
          if (getStack(place, trips).overlaps(buffer) &&
              !isWithin(buffer, after))
            return loop.emitOpError("writes ")
                   << buffer << " over what it carries in " << place;
    put(carried, fold.getCarried());
    for (auto [place, value] : llvm::zip(slices, fold.getSliceArguments()))
      memory.moving.push_back({place, {value, std::nullopt, 0}});
    for (auto [place, value] :
         llvm::zip(invariants, fold.getInvariantArguments())) {
      if (!holds(place, getViewedValue(
                            fold.getInvariants()[value.getArgNumber() -
                                                 fold.getInvariantArguments()
                                                     .front()
                                                     .getArgNumber()])))
        return loop.emitOpError("writes over the invariant in ") << place;
      aliases[value] = getViewedValue(
          fold.getInvariants()
              [value.getArgNumber() -
               fold.getInvariantArguments().front().getArgNumber()]);
    }
    placeConstants(*fold.getBlock());
    ++depth;
    LogicalResult body = replayBlock(*loop.getBlock(), *fold.getBlock());
    --depth;
    if (failed(body) ||
        failed(checkHolds(next, fold.getYieldedCarried(), "next value")) ||
        failed(checkHolds(collected, fold.getYieldedCollected(),
                          "collected value")))
      return failure();
    // What the last iteration leaves.
    memory = std::move(before);
    for (BufferAttr buffer : written) {
      memory.write(buffer, {});
      memory.forget(buffer.getSpan());
    }
    llvm::erase_if(memory.moving, [](const MovingPlace &place) {
      return !place.content.value && !place.content.byte;
    });
    put(last, fold.getFinal());
    // Of a trail what is collected behind each iteration is there besides.
    auto isBehind = [&](BufferAttr slice) {
      return llvm::any_of(llvm::zip(carried, next), [&](auto pair) {
        auto [before, behind] = pair;
        return before != behind && slice == behind;
      });
    };
    for (bool behind : {false, true})
      for (auto [slice, result] : llvm::zip(collected, fold.getCollected())) {
        Content content{result, std::nullopt, 0};
        if (isBehind(slice) != behind)
          continue;
        if (behind)
          memory.add(getStack(slice, trips), content);
        else
          memory.write(getStack(slice, trips), content);
      }
    return success();
  }

  /// The variables' old values, the inputs and the constants lie in their
  /// places.
  void load() {
    auto module = plan->getParentOfType<ModuleOp>();
    for (auto variable : module.getOps<tds::VariableOp>())
      placeOf[variable.getSymNameAttr()] = getPlace(variable);
    auto inputs = plan.getBlock()->getOps<InputOp>();
    auto input = inputs.begin();
    for (BlockArgument argument : entry.getArguments()) {
      if (auto variable = entry.getArgAttrOfType<FlatSymbolRefAttr>(
              argument.getArgNumber(), tds::attr::kVariable)) {
        write(placeOf[variable.getAttr()], {argument, std::nullopt, 0});
        oldValue[variable.getAttr()] = argument;
        continue;
      }
      write(BufferAttr::get(plan.getContext(), Space::Input, 0,
                            (*input).getOffset(),
                            getTensorBytes(argument.getType())),
            {argument, std::nullopt, 0});
      ++input;
    }
    placeConstants(entry.getBody().front());
  }

  /// The constants of a block lie in their places.
  void placeConstants(Block &block) {
    auto module = plan->getParentOfType<ModuleOp>();
    int64_t index = 0;
    for (auto constant : module.getOps<ConstantOp>()) {
      for (auto used : block.getOps<tds::ConstantOp>())
        if (used.getValue() == constant.getValue())
          memory.write(
              BufferAttr::get(plan.getContext(), Space::Const, index, 0,
                              getTensorBytes(constant.getValue().getType())),
              {used.getResult(), std::nullopt, 0});
      ++index;
    }
  }

  bool holds(BufferAttr buffer, Value value) {
    if (buffer.getBytes() == 0)
      return true;
    while (Value other = aliases.lookup(value))
      value = other;
    if (buffer.getSpace() == Space::Counter) {
      auto argument = dyn_cast<BlockArgument>(value);
      auto fold =
          argument ? dyn_cast<tds::FoldOp>(argument.getOwner()->getParentOp())
                   : tds::FoldOp();
      return fold && argument == fold.getCounter() &&
             buffer.getIndex() == depth - 1;
    }
    if (memory.holdsBesides(buffer, value))
      return true;
    std::optional<Content> content = memory.read(buffer);
    if (!content)
      return false;
    auto constant = value.getDefiningOp<tds::ConstantOp>();
    if (content->byte)
      return constant && isFilledWith(constant, *content->byte);
    if (content->begin != 0 || !content->value)
      return false;
    if (content->value == value)
      return true;
    // Constants of one value share a place.
    auto other = content->value.getDefiningOp<tds::ConstantOp>();
    return constant && other && constant.getValue() == other.getValue();
  }

  static bool isFilledWith(tds::ConstantOp constant, uint8_t byte) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!dense)
      return false;
    if (dense.getElementType().isInteger(1))
      return llvm::all_of(dense.getValues<bool>(),
                          [&](bool value) { return value == (byte != 0); }) &&
             byte <= 1;
    return llvm::all_of(dense.getRawData(), [&](char raw) {
      return static_cast<uint8_t>(raw) == byte;
    });
  }

  LogicalResult replay(LaunchOp launch, tds::KernelOp kernel) {
    auto function =
        plan->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(
            launch.getKernel());
    auto inPlace =
        function->getAttrOfType<DenseI64ArrayAttr>(attr::kInPlace).asArrayRef();
    for (auto [i, buffer] :
         llvm::enumerate(launch.getInputs().getAsRange<BufferAttr>()))
      if (Value value = getViewedValue(kernel.getInputs()[i]);
          !holds(buffer, value)) {
        if (failed(checkNotOverwritten(buffer, value, launch)))
          return failure();
        return launch.emitOpError("reads ")
               << buffer << " as input " << i
               << ", which does not hold the value that the kernel is given";
      }
    for (auto [i, output] :
         llvm::enumerate(launch.getOutputs().getAsRange<BufferAttr>()))
      if (inPlace[i] >= 0 && !mayShareBuffer(kernel, i, inPlace[i]))
        return launch.emitOpError("writes output ")
               << i << " over input " << inPlace[i] << ", which it still reads";
    for (auto [i, output] :
         llvm::enumerate(launch.getOutputs().getAsRange<BufferAttr>()))
      write(output, {kernel.getOutputs()[i], std::nullopt, 0, launch});
    return success();
  }

  LogicalResult replay(CopyOp copy) {
    std::optional<Content> content = memory.read(copy.getFrom());
    if (!content && copy.getFrom().getBytes() != 0)
      return copy.emitOpError("reads ")
             << copy.getFrom() << ", which does not hold one value";
    if (content) {
      content->writer = copy;
      write(copy.getTo(), *content);
    }
    return success();
  }

  void write(BufferAttr buffer, const Content &content) {
    memory.write(buffer, content);
    if (content.value && content.begin == 0)
      placesOf[content.value].insert(buffer);
  }

  /// Fails after an error at the command that wrote over `value`, where that
  /// has been in the buffer before and `reader` still needs it.
  LogicalResult checkNotOverwritten(BufferAttr buffer, Value value,
                                    Operation *reader) {
    auto places = placesOf.find(value);
    if (places == placesOf.end() || !places->second.contains(buffer))
      return success();
    Operation *writer = memory.findOtherWriter(buffer, value);
    if (!writer)
      return success();
    InFlightDiagnostic error = writer->emitOpError("writes over ")
                               << buffer << ", which holds a live value";
    error.attachNote(reader->getLoc()) << "it is needed here";
    return error;
  }

  LogicalResult checkEnd() {
    auto results = plan.getBlock()->getOps<ResultOp>();
    auto result = results.begin();
    Operation *terminator = entry.getBody().front().getTerminator();
    for (auto [i, operand] : llvm::enumerate(terminator->getOperands())) {
      Value value = getViewedValue(operand);
      BufferAttr place;
      if (auto variable = entry.getResultAttrOfType<FlatSymbolRefAttr>(
              i, tds::attr::kVariable)) {
        place = placeOf[variable.getAttr()];
        oldValue.erase(variable.getAttr());
      } else {
        place = BufferAttr::get(plan.getContext(), Space::Result, 0,
                                (*result).getOffset(),
                                getTensorBytes(operand.getType()));
        ++result;
      }
      if (!holds(place, value)) {
        if (failed(checkNotOverwritten(place, value, plan)))
          return failure();
        return plan.emitOpError("ends without the value of result ")
               << i << " of the entry in " << place;
      }
    }
    for (auto &[name, value] : oldValue)
      if (!holds(placeOf[name], value))
        return plan.emitOpError("changes variable ")
               << name << ", which the entry does not write";
    return success();
  }

  func::FuncOp entry;
  EntryOp plan;
  Memory memory;
  /// Loops around the command that is replayed.
  int64_t depth = 0;
  /// Arguments of folds that are values from outside.
  llvm::DenseMap<Value, Value> aliases;
  llvm::DenseMap<StringAttr, BufferAttr> placeOf;
  llvm::DenseMap<StringAttr, Value> oldValue;
  /// Where each value has been from its first byte on.
  llvm::DenseMap<Value, llvm::SmallDenseSet<Attribute, 4>> placesOf;
};

} // namespace

LogicalResult tdsl::checkPlan(func::FuncOp entry, EntryOp plan) {
  return PlanChecker(entry, plan).run();
}
