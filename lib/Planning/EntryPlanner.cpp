//===- EntryPlanner.cpp - order, homes and offsets for one entry -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps: every value gets a home (a variable's place in its slab, a
// result's slot, or the arena); readers of a variable's old value are ordered
// before the kernel that writes its new one, which is given up where the order
// would have a cycle; the kernels are sorted; lifetimes follow from the order;
// dying buffers are taken over in place; what remains gets offsets in the
// arena.
//
// Copies run before all kernels (old values that are returned although their
// variable changes) or behind all of them. The latter read and write no place
// twice: an old value that another variable receives while its own changes has
// been saved before.
//
// The body of a fold is planned like an entry: what it carries is a variable,
// slices and invariants are inputs, and what it collects are results. Where
// these are is not known then; they are numbered places. For the surrounding
// block the loop is one kernel that needs the body's arena as a buffer. The
// carried values live in the buffers of the fold's results, to which the
// initial values are copied unless they lie there.
//
//===----------------------------------------------------------------------===//

#include "EntryPlanner.h"

#include "tdsl/Planning/Arena.h"
#include "tdsl/Planning/Planner.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <queue>
#include <tuple>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::plan;
using tds::FoldOp;
using tds::KernelOp;

Value tdsl::getViewedValue(Value value) {
  while (auto reshape = value.getDefiningOp<tds::ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

namespace {

/// Kernels get buffers at multiples of this; copies may begin anywhere.
constexpr int64_t kernelAlignment = 16;

/// Where a returned value must be at the end.
struct Destination {
  unsigned returned;
  Value value;
  BufferAttr buffer;
  bool isVariable;
  /// A kernel may write there.
  bool isAligned = true;
};

class BlockPlanner {
public:
  /// `depth` is the number of loops around the block.
  BlockPlanner(Block &block, ModuleLayout &layout, unsigned depth,
               bool donate = false)
      : block(block), context(block.getParentOp()->getContext()),
        layout(layout), depth(depth), donate(donate) {}

  FailureOr<EntryPlan> runEntry(func::FuncOp entry) {
    if (failed(collect()))
      return failure();
    layOutSlots(entry);
    if (failed(collectDestinations(entry)) || failed(run()))
      return failure();
    resolvePlan(plan);
    return std::move(plan);
  }

  FailureOr<BlockPlan> runFold(FoldOp fold) {
    if (failed(collect()))
      return failure();
    layOutFold(fold);
    if (failed(run()))
      return failure();
    return std::move(static_cast<BlockPlan &>(plan));
  }

private:
  //===------------------------------------------------------------------===//
  // Kernels and values
  //===------------------------------------------------------------------===//

  LogicalResult run() {
    layOutConstants();
    chooseHomes();
    sort();
    if (failed(planFolds()))
      return failure();
    planCopies();
    mergeFills();
    shareDyingBuffers();
    allocate();
    writeCommands();
    return success();
  }

  static bool isItem(Operation *op) {
    return isa_and_nonnull<KernelOp, FoldOp>(op);
  }

  LogicalResult collect() {
    for (Operation &op : block.without_terminator()) {
      if (isItem(&op)) {
        unsigned number = items.size();
        numberOf[&op] = number;
        items.push_back(&op);
        successors.emplace_back();
        for (Value input : op.getOperands()) {
          Value value = getViewedValue(input);
          readers[value].insert(number);
          if (Operation *producer = value.getDefiningOp(); isItem(producer))
            successors[numberOf[producer]].insert(number);
        }
      } else if (!isa<tds::ReshapeOp, tds::ConstantOp>(op)) {
        return op.emitOpError("stands outside a kernel in an entry that is "
                              "planned; run tds-form-kernels first");
      }
    }
    return success();
  }

  BufferAttr makeBuffer(Space space, int64_t index, int64_t offset, Type type) {
    return BufferAttr::get(context, space, index, offset, getTensorBytes(type));
  }

  void layOutSlots(func::FuncOp entry) {
    for (BlockArgument argument : entry.getArguments()) {
      if (auto variable = entry.getArgAttrOfType<FlatSymbolRefAttr>(
              argument.getArgNumber(), tds::attr::kVariable)) {
        home[argument] = layout.variables.lookup(variable.getAttr());
        oldValueOf[home[argument]] = argument;
        continue;
      }
      home[argument] =
          makeBuffer(Space::Input, 0, plan.inputBytes, argument.getType());
      inputs.push_back(argument);
      plan.inputOffsets.push_back(plan.inputBytes);
      plan.inputBytes += alignUp(getTensorBytes(argument.getType()));
    }
  }

  /// Numbers the places of a fold: see BlockPlan.
  void layOutFold(FoldOp fold) {
    int64_t number = 0;
    auto makePlace = [&](Type type) {
      return makeBuffer(Space::Arena, ++number, 0, type);
    };
    home[fold.getCounter()] =
        BufferAttr::get(context, Space::Counter, depth - 1, 0, 4);
    for (auto [i, argument] : llvm::enumerate(fold.getCarried())) {
      BufferAttr place = makePlace(argument.getType());
      home[argument] = place;
      oldValueOf[place] = argument;
      destinations.push_back({static_cast<unsigned>(i),
                              getViewedValue(fold.getYielded()[i]), place,
                              /*isVariable=*/true});
      newValueOf[place] = destinations.back().value;
    }
    for (BlockArgument argument : fold.getSliceArguments()) {
      home[argument] = makePlace(argument.getType());
      if (getTensorBytes(argument.getType()) % kernelAlignment != 0)
        unaligned.push_back(argument);
    }
    for (BlockArgument argument : fold.getInvariantArguments())
      home[argument] = makePlace(argument.getType());
    unsigned next = fold.getNumCarried();
    for (Value value : fold.getYieldedCollected()) {
      BufferAttr place = makePlace(value.getType());
      destinations.push_back(
          {next++, getViewedValue(value), place, /*isVariable=*/false,
           getTensorBytes(value.getType()) % kernelAlignment == 0});
    }
  }

  void layOutConstants() {
    for (auto constant : block.getOps<tds::ConstantOp>()) {
      bool isRead = false;
      for (unsigned reader : readers.lookup(constant.getResult()))
        isRead |= !isInitialOnly(items[reader], constant);
      for (Value returned : block.getTerminator()->getOperands())
        isRead |= getViewedValue(returned) == constant.getResult() &&
                  !getUniformByte(constant);
      if (!isRead)
        continue;
      auto [it, isNew] =
          layout.constants.insert({constant.getValue(), BufferAttr()});
      if (isNew)
        it->second = makeBuffer(Space::Const, layout.constants.size() - 1, 0,
                                constant.getType());
      home[constant.getResult()] = it->second;
    }
  }

  /// Whether a loop takes a constant as initial values only, which it is filled
  /// with.
  static bool isInitialOnly(Operation *item, tds::ConstantOp constant) {
    auto fold = dyn_cast<FoldOp>(item);
    if (!fold || !getUniformByte(constant))
      return false;
    return llvm::none_of(
        llvm::drop_begin(fold->getOperands(), fold.getNumCarried()),
        [&](Value operand) {
          return getViewedValue(operand) == constant.getResult();
        });
  }

  /// The byte that all bytes of a constant are, if they are.
  static std::optional<uint8_t> getUniformByte(tds::ConstantOp constant) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!dense || !dense.isSplat())
      return std::nullopt;
    Attribute element = dense.getSplatValue<Attribute>();
    APInt bits = isa<FloatAttr>(element)
                     ? cast<FloatAttr>(element).getValue().bitcastToAPInt()
                     : cast<IntegerAttr>(element).getValue();
    if (bits.getBitWidth() < 8)
      return bits.getZExtValue();
    for (unsigned at = 8; at < bits.getBitWidth(); at += 8)
      if (bits.extractBits(8, at) != bits.extractBits(8, 0))
        return std::nullopt;
    return bits.extractBits(8, 0).getZExtValue();
  }

  LogicalResult collectDestinations(func::FuncOp entry) {
    Operation *terminator = block.getTerminator();
    for (auto [i, operand] : llvm::enumerate(terminator->getOperands())) {
      Destination destination{
          static_cast<unsigned>(i), getViewedValue(operand), {}, false};
      if (auto variable = entry.getResultAttrOfType<FlatSymbolRefAttr>(
              i, tds::attr::kVariable)) {
        destination.isVariable = true;
        destination.buffer = layout.variables.lookup(variable.getAttr());
        // Variables without elements may share a place.
        if (!newValueOf.insert({destination.buffer, destination.value})
                 .second &&
            destination.buffer.getBytes() != 0)
          return entry.emitOpError("returns variable ") << variable << " twice";
      } else {
        destination.buffer =
            makeBuffer(Space::Result, 0, plan.resultBytes, operand.getType());
        plan.resultOffsets.push_back(plan.resultBytes);
        plan.resultBytes += alignUp(getTensorBytes(operand.getType()));
      }
      destinations.push_back(destination);
    }
    return success();
  }

  //===------------------------------------------------------------------===//
  // Homes
  //===------------------------------------------------------------------===//

  bool reaches(unsigned from, unsigned to) {
    llvm::DenseSet<unsigned> seen{from};
    SmallVector<unsigned> worklist{from};
    while (!worklist.empty()) {
      unsigned kernel = worklist.pop_back_val();
      if (kernel == to)
        return true;
      for (unsigned next : successors[kernel])
        if (seen.insert(next).second)
          worklist.push_back(next);
    }
    return false;
  }

  /// The one operand of a kernel that is `value` or a view of it (which has the
  /// same elements in the same order); -1 where there is none, -2 where there
  /// are several.
  static int64_t findOperand(KernelOp kernel, Value value) {
    int64_t found = -1;
    for (auto [i, input] : llvm::enumerate(kernel.getInputs())) {
      if (getViewedValue(input) != value)
        continue;
      if (found != -1)
        return -2;
      found = i;
    }
    return found;
  }

  /// Makes the place of a variable the home of its new value, a kernel's
  /// output, if the old value's readers can all run before.
  bool writeInPlace(OpResult value, BufferAttr variable) {
    auto kernel = cast<KernelOp>(value.getOwner());
    unsigned writer = numberOf[kernel];
    Value old = oldValueOf.lookup(variable);
    if (old && old != value) {
      for (unsigned reader : readers[old]) {
        if (reader == writer) {
          int64_t operand = findOperand(kernel, old);
          if (operand < 0 ||
              !mayShareBuffer(kernel, value.getResultNumber(), operand))
            return false;
          sharedInput[value] = operand;
        } else if (reaches(writer, reader)) {
          sharedInput.erase(value);
          return false;
        }
      }
      for (unsigned reader : readers[old])
        if (reader != writer)
          successors[reader].insert(writer);
    }
    home[value] = variable;
    return true;
  }

  void chooseHomes() {
    for (Destination &destination : destinations) {
      auto value = dyn_cast<OpResult>(destination.value);
      if (!value || !isa<KernelOp>(value.getOwner()) ||
          !destination.isVariable || home.contains(value))
        continue;
      writeInPlace(value, destination.buffer);
    }
    for (Destination &destination : destinations) {
      auto value = dyn_cast<OpResult>(destination.value);
      if (!value || !isItem(value.getOwner()) || destination.isVariable ||
          !destination.isAligned || home.contains(value))
        continue;
      home[value] = destination.buffer;
    }
  }

  //===------------------------------------------------------------------===//
  // Order and copies
  //===------------------------------------------------------------------===//

  /// Kahn's algorithm; of the kernels that are ready, the first of the entry.
  void sort() {
    SmallVector<unsigned> waiting(items.size());
    for (auto &next : successors)
      for (unsigned kernel : next)
        ++waiting[kernel];
    std::priority_queue<unsigned, std::vector<unsigned>, std::greater<unsigned>>
        ready;
    for (unsigned kernel = 0; kernel < items.size(); ++kernel)
      if (waiting[kernel] == 0)
        ready.push(kernel);
    position.resize(items.size());
    while (!ready.empty()) {
      unsigned kernel = ready.top();
      ready.pop();
      position[kernel] = order.size();
      order.push_back(kernel);
      for (unsigned next : successors[kernel])
        if (--waiting[next] == 0)
          ready.push(next);
    }
    assert(order.size() == items.size() &&
           "the order of the kernels has a cycle");
  }

  /// Points of time: 0 before all kernels, 1 + position for a kernel, and
  /// `getEnd()` behind all of them.
  int64_t getEnd() const { return items.size() + 1; }

  bool changes(Value old) {
    auto it = newValueOf.find(home[old]);
    return it != newValueOf.end() && it->second != old;
  }

  /// Plans the bodies of the folds, whose arenas are buffers here.
  LogicalResult planFolds() {
    for (unsigned number : order) {
      auto fold = dyn_cast<FoldOp>(items[number]);
      if (!fold)
        continue;
      FailureOr<BlockPlan> body =
          BlockPlanner(*fold.getBlock(), layout, depth + 1).runFold(fold);
      if (failed(body))
        return failure();
      int64_t at = 1 + position[number];
      bodyBuffer[number] = addBuffer(body->arenaBytes, at, at);
      plan.scratchBytes = std::max(plan.scratchBytes, body->scratchBytes);
      bodies[number] = std::make_unique<BlockPlan>(std::move(*body));
    }
    return success();
  }

  /// A new arena buffer.
  unsigned addBuffer(int64_t bytes, int64_t first, int64_t last) {
    buffers.push_back(LiveBuffer{bytes, first, last, 0});
    return buffers.size() - 1;
  }

  void planCopies() {
    for (Destination &destination : destinations) {
      Value value = destination.value;
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        if (home[argument] == destination.buffer)
          continue;
        if (!destination.isVariable) {
          copiesBefore.push_back({home[argument], destination.buffer});
        } else if (!changes(argument)) {
          copiesBehind.push_back({home[argument], destination.buffer});
        } else {
          auto [it, isNew] = saved.try_emplace(argument, 0);
          if (isNew)
            it->second =
                addBuffer(getTensorBytes(argument.getType()), 0, getEnd());
          lateCopies.push_back({it->second, destination.buffer});
        }
        continue;
      }
      if (auto constant = value.getDefiningOp<tds::ConstantOp>()) {
        if (std::optional<uint8_t> byte = getUniformByte(constant))
          fills.push_back({destination.buffer, *byte});
        else
          copiesBehind.push_back({home[value], destination.buffer});
        continue;
      }
      if (home.contains(value) && home[value] == destination.buffer)
        continue;
      if (home.contains(value))
        copiesBehind.push_back({home[value], destination.buffer});
      else
        copiedAtEnd[value].push_back(destination.buffer);
    }
    for (Value argument : unaligned) {
      int64_t last = 0;
      for (unsigned reader : readers[argument])
        last = std::max<int64_t>(last, 1 + position[reader]);
      if (last > 0)
        aligned[argument] =
            addBuffer(getTensorBytes(argument.getType()), 0, last);
    }
    // Outputs without another home live in the arena, from their kernel to
    // their last reader.
    for (unsigned kernel : order)
      for (OpResult output : items[kernel]->getResults()) {
        if (home.contains(output))
          continue;
        int64_t first = 1 + position[kernel], last = first;
        for (unsigned reader : readers[output])
          last = std::max<int64_t>(last, 1 + position[reader]);
        if (copiedAtEnd.contains(output))
          last = getEnd();
        bufferOf[output] =
            addBuffer(getTensorBytes(output.getType()), first, last);
      }
  }

  /// Neighbouring fills with zero become one, over the padding between, which
  /// is zero anyway.
  void mergeFills() {
    llvm::sort(fills, [](const Fill &lhs, const Fill &rhs) {
      auto key = [](const Fill &fill) {
        return std::tuple(fill.to.getSpace(), fill.to.getIndex(),
                          fill.to.getOffset(), fill.to.getBytes());
      };
      return key(lhs) < key(rhs);
    });
    SmallVector<Fill> merged;
    for (const Fill &fill : fills) {
      if (!merged.empty() && fill.byte == 0 && merged.back().byte == 0) {
        BufferAttr last = merged.back().to;
        if (last.getSpace() == fill.to.getSpace() &&
            last.getIndex() == fill.to.getIndex() &&
            alignUp(last.getEnd()) == fill.to.getOffset()) {
          merged.back().to = BufferAttr::get(
              context, last.getSpace(), last.getIndex(), last.getOffset(),
              fill.to.getEnd() - last.getOffset());
          continue;
        }
      }
      merged.push_back(fill);
    }
    fills = std::move(merged);
  }

  //===------------------------------------------------------------------===//
  // The arena
  //===------------------------------------------------------------------===//

  /// The last point at which an input of the entry is read where it lies.
  int64_t getLastRead(Value input) {
    int64_t last = 0;
    for (unsigned reader : readers.lookup(input))
      last = std::max<int64_t>(last, 1 + position[reader]);
    for (const Copy &copy : copiesBehind)
      if (copy.from == home[input])
        last = getEnd();
    return last;
  }

  /// An output takes the place of an input of the entry that its kernel is the
  /// last to read.
  bool takeInput(OpResult output, Value input, int64_t at) {
    unsigned number = bufferOf[output];
    if (!donate || !llvm::is_contained(inputs, input) ||
        occupiedUntil.contains(input) || getLastRead(input) != at ||
        home[input].getBytes() != buffers[number].bytes)
      return false;
    occupiedUntil[input] = buffers[number].last;
    buffers[number].bytes = 0;
    home[output] = home[input];
    bufferOf.erase(output);
    return true;
  }

  /// Moves buffers from the arena to the places of inputs that have been read.
  void useInputs() {
    if (!donate)
      return;
    SmallVector<FreeRange> ranges;
    for (Value input : inputs) {
      int64_t last = std::max(getLastRead(input), occupiedUntil.lookup(input));
      ranges.push_back(
          {home[input].getOffset(), home[input].getBytes(), last + 1});
    }
    SmallVector<bool> mayMove(buffers.size());
    for (auto &[output, number] : bufferOf)
      mayMove[number] = true;
    SmallVector<int64_t> offsets =
        placeBeside(buffers, mayMove, ranges, kAlignment);
    SmallVector<Value> moved;
    for (auto &[output, number] : bufferOf)
      if (offsets[number] >= 0) {
        home[output] =
            makeBuffer(Space::Input, 0, offsets[number], output.getType());
        moved.push_back(output);
      }
    for (auto [number, offset] : llvm::enumerate(offsets))
      if (offset >= 0)
        buffers[number].bytes = 0;
    bufferOf.remove_if([&](auto &entry) { return offsets[entry.second] >= 0; });
    for (auto [input, range] : llvm::zip(inputs, ranges)) {
      bool isWritten = occupiedUntil.contains(input);
      for (Value output : moved)
        isWritten |= home[output].overlaps(home[input]);
      plan.donated.push_back(isWritten);
    }
  }

  /// An output takes over the arena buffer of an input that dies in its kernel.
  void shareDyingBuffers() {
    for (unsigned number : order) {
      if (auto fold = dyn_cast<FoldOp>(items[number])) {
        shareInitialValues(fold, 1 + position[number]);
        continue;
      }
      auto kernel = cast<KernelOp>(items[number]);
      // The epilogue of a contraction keeps to its own buffers: the variants
      // would cost more code than the bytes are worth.
      if (kernel.getKind() != "loop" && kernel.getKind() != "row")
        continue;
      llvm::SmallDenseSet<int64_t> taken;
      for (OpResult output : kernel->getResults())
        if (auto it = sharedInput.find(output); it != sharedInput.end())
          taken.insert(it->second);
      for (OpResult output : kernel->getResults()) {
        auto own = bufferOf.find(output);
        if (own == bufferOf.end())
          continue;
        for (auto [i, input] : llvm::enumerate(kernel.getInputs())) {
          Value value = getViewedValue(input);
          auto other = bufferOf.find(value);
          int64_t operand = i;
          if (other == bufferOf.end() && !taken.contains(operand) &&
              findOperand(kernel, value) == operand &&
              mayShareBuffer(kernel, output.getResultNumber(), operand) &&
              takeInput(output, value, 1 + position[number])) {
            sharedInput[output] = operand;
            taken.insert(operand);
            break;
          }
          if (other == bufferOf.end() || taken.contains(operand) ||
              findOperand(kernel, value) != operand ||
              buffers[other->second].last != 1 + position[number] ||
              buffers[other->second].bytes != buffers[own->second].bytes ||
              !mayShareBuffer(kernel, output.getResultNumber(), operand))
            continue;
          buffers[other->second].last = buffers[own->second].last;
          buffers[own->second].bytes = 0;
          own->second = other->second;
          sharedInput[output] = operand;
          taken.insert(operand);
          break;
        }
      }
    }
  }

  /// A carried value takes over the arena buffer of an initial value that dies
  /// in the loop.
  void shareInitialValues(FoldOp fold, int64_t at) {
    for (auto [init, result] : llvm::zip(fold.getInits(), fold.getFinal())) {
      Value value = getViewedValue(init);
      auto own = bufferOf.find(result);
      auto other = bufferOf.find(value);
      auto uses = llvm::count_if(fold->getOperands(), [&](Value operand) {
        return getViewedValue(operand) == value;
      });
      if (own == bufferOf.end() || other == bufferOf.end() || uses != 1 ||
          buffers[other->second].last != at ||
          buffers[other->second].bytes != buffers[own->second].bytes)
        continue;
      buffers[other->second].last = buffers[own->second].last;
      buffers[own->second].bytes = 0;
      own->second = other->second;
      isInPlace.insert(result);
    }
  }

  void allocate() {
    useInputs();
    SmallVector<LiveBuffer> live;
    SmallVector<unsigned> numbers;
    for (auto [number, buffer] : llvm::enumerate(buffers))
      if (buffer.bytes > 0) {
        live.push_back(buffer);
        numbers.push_back(number);
      }
    plan.arenaBytes = allocateArena(live, kAlignment);
    plan.arenaBound = getLivenessBound(live, kAlignment);
    for (auto [number, buffer] : llvm::zip(numbers, live))
      buffers[number].offset = buffer.offset;
    auto arena = [&](unsigned number, Type type) {
      return makeBuffer(Space::Arena, 0, buffers[number].offset, type);
    };
    for (auto &[output, number] : bufferOf)
      home[output] = arena(number, output.getType());
    for (auto &[argument, number] : aligned) {
      BufferAttr from = home[argument];
      home[argument] = arena(number, argument.getType());
      copiesBefore.push_back({from, home[argument]});
    }
    for (auto &[argument, number] : saved)
      copiesBefore.push_back(
          {home[argument], arena(number, argument.getType())});
    for (auto &[number, to] : lateCopies)
      copiesBehind.push_back(
          {BufferAttr::get(context, Space::Arena, 0, buffers[number].offset,
                           to.getBytes()),
           to});
    for (auto &[value, targets] : copiedAtEnd)
      for (BufferAttr to : targets)
        copiesBehind.push_back({home[value], to});
  }

  //===------------------------------------------------------------------===//
  // Commands
  //===------------------------------------------------------------------===//

  void writeCopy(BufferAttr from, BufferAttr to) {
    PlannedCommand command{PlannedCommand::Copy};
    command.from = from;
    command.to = to;
    plan.commands.push_back(std::move(command));
  }

  void writeFill(BufferAttr to, uint8_t byte) {
    PlannedCommand command{PlannedCommand::Fill};
    command.to = to;
    command.byte = byte;
    plan.commands.push_back(std::move(command));
  }

  void writeCommands() {
    for (auto &[from, to] : copiesBefore)
      writeCopy(from, to);
    for (unsigned number : order)
      if (auto kernel = dyn_cast<KernelOp>(items[number]))
        writeLaunch(kernel, number);
      else
        writeLoop(cast<FoldOp>(items[number]), number);
    for (auto &[from, to] : copiesBehind)
      writeCopy(from, to);
    for (const Fill &fill : fills)
      writeFill(fill.to, fill.byte);
  }

  void writeLaunch(KernelOp kernel, unsigned number) {
    PlannedCommand launch{PlannedCommand::Launch};
    launch.op = kernel;
    launch.origin = number;
    for (auto [i, input] : llvm::enumerate(kernel.getInputs())) {
      launch.inputs.push_back(home[getViewedValue(input)]);
      if (launch.inputs.back().getSpace() == Space::Counter)
        launch.counters.push_back(i);
    }
    for (OpResult output : kernel->getResults()) {
      launch.outputs.push_back(home[output]);
      auto shared = sharedInput.find(output);
      launch.inPlace.push_back(shared == sharedInput.end() ? -1
                                                           : shared->second);
    }
    if (auto schedule = kernel->getAttrOfType<DictionaryAttr>("schedule"))
      if (auto scratch = schedule.getAs<IntegerAttr>("scratch"))
        plan.scratchBytes = std::max(plan.scratchBytes, scratch.getInt());
    plan.commands.push_back(std::move(launch));
  }

  /// The part of `stack` that belongs to an iteration of a fold in this block.
  BufferAttr getSlice(BufferAttr stack, FoldOp fold, Type slice) {
    SmallVector<int64_t> strides(stack.getStrides()), trips(stack.getTrips());
    strides.resize(depth);
    trips.resize(depth, 1);
    int64_t bytes = getTensorBytes(slice);
    strides.push_back(bytes);
    trips.push_back(fold.getTrips());
    return BufferAttr::get(context, stack.getSpace(), stack.getIndex(),
                           stack.getOffset(), bytes, strides, trips);
  }

  void writeLoop(FoldOp fold, unsigned number) {
    PlannedCommand loop{PlannedCommand::Loop};
    loop.op = fold;
    loop.origin = number;
    for (auto [init, result] : llvm::zip(fold.getInits(), fold.getFinal())) {
      BufferAttr place = home[result];
      loop.places.push_back(place);
      if (isInPlace.contains(result))
        continue;
      Value value = getViewedValue(init);
      auto constant = value.getDefiningOp<tds::ConstantOp>();
      std::optional<uint8_t> byte =
          constant ? getUniformByte(constant) : std::nullopt;
      if (byte)
        writeFill(place, *byte);
      else
        writeCopy(home[value], place);
    }
    for (auto [slice, argument] :
         llvm::zip(fold.getSlices(), fold.getSliceArguments()))
      loop.places.push_back(
          getSlice(home[getViewedValue(slice)], fold, argument.getType()));
    for (Value invariant : fold.getInvariants())
      loop.places.push_back(home[getViewedValue(invariant)]);
    for (auto [result, value] :
         llvm::zip(fold.getCollected(), fold.getYieldedCollected()))
      loop.places.push_back(getSlice(home[result], fold, value.getType()));
    loop.bodyArena = buffers[bodyBuffer[number]].offset;
    loop.body = std::move(bodies[number]);
    plan.commands.push_back(std::move(loop));
  }

  struct Copy {
    BufferAttr from, to;
  };
  struct Fill {
    BufferAttr to;
    uint8_t byte;
  };

  Block &block;
  MLIRContext *context;
  ModuleLayout &layout;
  unsigned depth;
  bool donate;
  EntryPlan plan;

  /// The kernels and folds of the block, in order.
  SmallVector<Operation *> items;
  llvm::DenseMap<Operation *, unsigned> numberOf;
  /// The kernels that must run after each kernel.
  SmallVector<llvm::SetVector<unsigned>> successors;
  llvm::DenseMap<Value, llvm::SetVector<unsigned>> readers;
  SmallVector<Destination> destinations;
  /// The values of variables, by their places.
  llvm::DenseMap<BufferAttr, Value> oldValueOf, newValueOf;

  llvm::DenseMap<Value, BufferAttr> home;
  /// The inputs of the entry, and until when another value lies in the place of
  /// one.
  SmallVector<Value> inputs;
  llvm::DenseMap<Value, int64_t> occupiedUntil;
  /// The input whose buffer an output shares.
  llvm::DenseMap<Value, int64_t> sharedInput;
  SmallVector<unsigned> order, position;

  SmallVector<LiveBuffer> buffers;
  llvm::MapVector<Value, unsigned> bufferOf;
  /// Old values that are kept for another variable.
  llvm::MapVector<Value, unsigned> saved;
  SmallVector<std::pair<unsigned, BufferAttr>> lateCopies;
  llvm::MapVector<Value, SmallVector<BufferAttr>> copiedAtEnd;
  SmallVector<Copy> copiesBefore, copiesBehind;
  SmallVector<Fill> fills;
  /// Slices that kernels cannot read where they lie, and their copies.
  SmallVector<Value> unaligned;
  llvm::MapVector<Value, unsigned> aligned;
  /// By the number of a fold: the plan of its body, and its body's arena.
  llvm::DenseMap<unsigned, std::unique_ptr<BlockPlan>> bodies;
  llvm::DenseMap<unsigned, unsigned> bodyBuffer;
  /// Results of folds whose initial values lie in their buffers.
  llvm::DenseSet<Value> isInPlace;
};

} // namespace

FailureOr<EntryPlan> tdsl::planEntry(func::FuncOp entry, ModuleLayout &layout,
                                     bool donate) {
  Block &block = entry.getBody().front();
  FailureOr<EntryPlan> plain = BlockPlanner(block, layout, 0).runEntry(entry);
  if (failed(plain) || !donate || plain->arenaBytes == 0)
    return plain;
  FailureOr<EntryPlan> donated =
      BlockPlanner(block, layout, 0, /*donate=*/true).runEntry(entry);
  return failed(donated) || donated->arenaBytes < plain->arenaBytes
             ? std::move(donated)
             : std::move(plain);
}
