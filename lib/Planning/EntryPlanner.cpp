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
using tds::KernelOp;

Value tdsl::getViewedValue(Value value) {
  while (auto reshape = value.getDefiningOp<tds::ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

namespace {

/// Where a returned value must be at the end.
struct Destination {
  unsigned returned;
  Value value;
  BufferAttr buffer;
  bool isVariable;
};

class EntryPlanner {
public:
  EntryPlanner(func::FuncOp entry, ModuleLayout &layout)
      : entry(entry), layout(layout) {}

  FailureOr<EntryPlan> run() {
    if (failed(collect()))
      return failure();
    layOutSlots();
    if (failed(collectDestinations()))
      return failure();
    chooseHomes();
    sort();
    planCopies();
    mergeFills();
    shareDyingBuffers();
    allocate();
    writeLaunches();
    return std::move(plan);
  }

private:
  //===------------------------------------------------------------------===//
  // Kernels and values
  //===------------------------------------------------------------------===//

  LogicalResult collect() {
    for (Operation &op : entry.getBody().front().without_terminator()) {
      if (auto kernel = dyn_cast<KernelOp>(op)) {
        unsigned number = kernels.size();
        numberOf[kernel] = number;
        kernels.push_back(kernel);
        successors.emplace_back();
        for (Value input : kernel.getInputs()) {
          Value value = getViewedValue(input);
          readers[value].insert(number);
          if (auto producer = value.getDefiningOp<KernelOp>())
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
    return BufferAttr::get(entry.getContext(), space, index, offset,
                           getTensorBytes(type));
  }

  void layOutSlots() {
    for (BlockArgument argument : entry.getArguments()) {
      if (auto variable = entry.getArgAttrOfType<FlatSymbolRefAttr>(
              argument.getArgNumber(), tds::attr::kVariable)) {
        home[argument] = layout.variables.lookup(variable.getAttr());
        oldValueOf[variable.getAttr()] = argument;
        continue;
      }
      home[argument] =
          makeBuffer(Space::Input, 0, plan.inputBytes, argument.getType());
      plan.inputOffsets.push_back(plan.inputBytes);
      plan.inputBytes += alignUp(getTensorBytes(argument.getType()));
    }
    for (auto constant : entry.getBody().front().getOps<tds::ConstantOp>()) {
      bool isRead = readers.contains(constant.getResult());
      for (Value returned :
           entry.getBody().front().getTerminator()->getOperands())
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

  LogicalResult collectDestinations() {
    Operation *terminator = entry.getBody().front().getTerminator();
    for (auto [i, operand] : llvm::enumerate(terminator->getOperands())) {
      Destination destination{
          static_cast<unsigned>(i), getViewedValue(operand), {}, false};
      if (auto variable = entry.getResultAttrOfType<FlatSymbolRefAttr>(
              i, tds::attr::kVariable)) {
        destination.isVariable = true;
        destination.buffer = layout.variables.lookup(variable.getAttr());
        if (!newValueOf.insert({variable.getAttr(), destination.value}).second)
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

  /// Makes the slab place of `variable` the home of its new value, a kernel's
  /// output, if the old value's readers can all run before.
  bool writeInSlab(OpResult value, StringAttr variable) {
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
    home[value] = layout.variables.lookup(variable);
    return true;
  }

  void chooseHomes() {
    for (Destination &destination : destinations) {
      auto value = dyn_cast<OpResult>(destination.value);
      if (!value || !isa<KernelOp>(value.getOwner()) ||
          !destination.isVariable || home.contains(value))
        continue;
      auto variable = entry.getResultAttrOfType<FlatSymbolRefAttr>(
          destination.returned, tds::attr::kVariable);
      writeInSlab(value, variable.getAttr());
    }
    for (Destination &destination : destinations) {
      auto value = dyn_cast<OpResult>(destination.value);
      if (!value || !isa<KernelOp>(value.getOwner()) ||
          destination.isVariable || home.contains(value))
        continue;
      home[value] = destination.buffer;
    }
  }

  //===------------------------------------------------------------------===//
  // Order and copies
  //===------------------------------------------------------------------===//

  /// Kahn's algorithm; of the kernels that are ready, the first of the entry.
  void sort() {
    SmallVector<unsigned> waiting(kernels.size());
    for (auto &next : successors)
      for (unsigned kernel : next)
        ++waiting[kernel];
    std::priority_queue<unsigned, std::vector<unsigned>, std::greater<unsigned>>
        ready;
    for (unsigned kernel = 0; kernel < kernels.size(); ++kernel)
      if (waiting[kernel] == 0)
        ready.push(kernel);
    position.resize(kernels.size());
    while (!ready.empty()) {
      unsigned kernel = ready.top();
      ready.pop();
      position[kernel] = order.size();
      order.push_back(kernel);
      for (unsigned next : successors[kernel])
        if (--waiting[next] == 0)
          ready.push(next);
    }
    assert(order.size() == kernels.size() &&
           "the order of the kernels has a cycle");
  }

  /// Points of time: 0 before all kernels, 1 + position for a kernel, and
  /// `getEnd()` behind all of them.
  int64_t getEnd() const { return kernels.size() + 1; }

  bool changes(Value old) {
    auto variable = entry.getArgAttrOfType<FlatSymbolRefAttr>(
        cast<BlockArgument>(old).getArgNumber(), tds::attr::kVariable);
    auto it = variable ? newValueOf.find(variable.getAttr()) : newValueOf.end();
    return it != newValueOf.end() && it->second != old;
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
          plan.copiesBefore.push_back({home[argument], destination.buffer});
        } else if (!changes(argument)) {
          plan.copiesBehind.push_back({home[argument], destination.buffer});
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
          plan.fills.push_back({destination.buffer, *byte});
        else
          plan.copiesBehind.push_back({home[value], destination.buffer});
        continue;
      }
      if (home.contains(value) && home[value] == destination.buffer)
        continue;
      if (home.contains(value))
        plan.copiesBehind.push_back({home[value], destination.buffer});
      else
        copiedAtEnd[value].push_back(destination.buffer);
    }
    // Kernel outputs without another home live in the arena, from their kernel
    // to their last reader.
    for (unsigned kernel : order)
      for (OpResult output : kernels[kernel]->getResults()) {
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
    llvm::sort(plan.fills,
               [](const EntryPlan::Fill &lhs, const EntryPlan::Fill &rhs) {
                 auto key = [](const EntryPlan::Fill &fill) {
                   return std::tuple(fill.to.getSpace(), fill.to.getIndex(),
                                     fill.to.getOffset(), fill.to.getBytes());
                 };
                 return key(lhs) < key(rhs);
               });
    SmallVector<EntryPlan::Fill> merged;
    for (const EntryPlan::Fill &fill : plan.fills) {
      if (!merged.empty() && fill.byte == 0 && merged.back().byte == 0) {
        BufferAttr last = merged.back().to;
        if (last.getSpace() == fill.to.getSpace() &&
            last.getIndex() == fill.to.getIndex() &&
            alignUp(last.getEnd()) == fill.to.getOffset()) {
          merged.back().to = BufferAttr::get(
              entry.getContext(), last.getSpace(), last.getIndex(),
              last.getOffset(), fill.to.getEnd() - last.getOffset());
          continue;
        }
      }
      merged.push_back(fill);
    }
    plan.fills = std::move(merged);
  }

  //===------------------------------------------------------------------===//
  // The arena
  //===------------------------------------------------------------------===//

  /// An output takes over the arena buffer of an input that dies in its kernel.
  void shareDyingBuffers() {
    for (unsigned number : order) {
      KernelOp kernel = kernels[number];
      // The epilogue of a contraction keeps to its own buffers: the variants
      // would cost more code than the bytes are worth.
      if (kernel.getKind() != "loop")
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

  void allocate() {
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
    for (auto &[argument, number] : saved)
      plan.copiesBefore.push_back(
          {home[argument], arena(number, argument.getType())});
    for (auto &[number, to] : lateCopies)
      plan.copiesBehind.push_back(
          {BufferAttr::get(entry.getContext(), Space::Arena, 0,
                           buffers[number].offset, to.getBytes()),
           to});
    for (auto &[value, targets] : copiedAtEnd)
      for (BufferAttr to : targets)
        plan.copiesBehind.push_back({home[value], to});
  }

  void writeLaunches() {
    for (unsigned number : order) {
      EntryPlan::Launch launch;
      launch.kernel = kernels[number];
      launch.origin = number;
      for (Value input : launch.kernel.getInputs()) {
        BufferAttr buffer = home[getViewedValue(input)];
        for (BufferAttr other : launch.inputs)
          launch.disjoint &= !buffer.overlaps(other);
        launch.inputs.push_back(buffer);
      }
      for (OpResult output : launch.kernel->getResults()) {
        launch.outputs.push_back(home[output]);
        auto shared = sharedInput.find(output);
        launch.inPlace.push_back(shared == sharedInput.end() ? -1
                                                             : shared->second);
      }
      if (auto schedule =
              launch.kernel->getAttrOfType<DictionaryAttr>("schedule"))
        if (auto scratch = schedule.getAs<IntegerAttr>("scratch"))
          plan.scratchBytes = std::max(plan.scratchBytes, scratch.getInt());
      plan.launches.push_back(std::move(launch));
    }
  }

  func::FuncOp entry;
  ModuleLayout &layout;
  EntryPlan plan;

  SmallVector<KernelOp> kernels;
  llvm::DenseMap<Operation *, unsigned> numberOf;
  /// The kernels that must run after each kernel.
  SmallVector<llvm::SetVector<unsigned>> successors;
  llvm::DenseMap<Value, llvm::SetVector<unsigned>> readers;
  SmallVector<Destination> destinations;
  llvm::DenseMap<StringAttr, Value> oldValueOf, newValueOf;

  llvm::DenseMap<Value, BufferAttr> home;
  /// The input whose buffer an output shares.
  llvm::DenseMap<Value, int64_t> sharedInput;
  SmallVector<unsigned> order, position;

  SmallVector<LiveBuffer> buffers;
  llvm::MapVector<Value, unsigned> bufferOf;
  /// Old values that are kept for another variable.
  llvm::MapVector<Value, unsigned> saved;
  SmallVector<std::pair<unsigned, BufferAttr>> lateCopies;
  llvm::MapVector<Value, SmallVector<BufferAttr>> copiedAtEnd;
};

} // namespace

FailureOr<EntryPlan> tdsl::planEntry(func::FuncOp entry, ModuleLayout &layout) {
  return EntryPlanner(entry, layout).run();
}
