//===- CheckPlan.cpp - replays a plan over the bytes of its spaces -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory is a map from ranges of bytes to the value that lies there, and the
// place in that value where the range begins. A value is the function's SSA
// value behind its views. A command that finds anything but what the function
// says, whatever the reason (order, an overlap, a wrong offset), is an error.
//
//===----------------------------------------------------------------------===//

#include "EntryPlanner.h"

#include "tdsl/Planning/Planner.h"

#include "llvm/ADT/TypeSwitch.h"

#include <map>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::plan;

namespace {

/// What a range of bytes holds: a value, or one byte all over, or nothing
/// known.
struct Content {
  Value value;
  std::optional<uint8_t> byte;
  /// Where the range begins in the value.
  int64_t begin = 0;
  /// The command that wrote it, or null.
  Operation *writer = nullptr;
};

class Memory {
public:
  void write(BufferAttr buffer, Content content) {
    if (buffer.getBytes() == 0)
      return;
    auto &space =
        spaces[{static_cast<int>(buffer.getSpace()), buffer.getIndex()}];
    splitAt(space, buffer.getOffset());
    splitAt(space, buffer.getEnd());
    space.erase(space.lower_bound(buffer.getOffset()),
                space.lower_bound(buffer.getEnd()));
    space[buffer.getOffset()] = {buffer.getEnd(), content};
  }

  /// The content of the whole buffer, or nothing where it is not of one piece.
  std::optional<Content> read(BufferAttr buffer) {
    auto &space =
        spaces[{static_cast<int>(buffer.getSpace()), buffer.getIndex()}];
    auto it = space.upper_bound(buffer.getOffset());
    if (it == space.begin())
      return std::nullopt;
    --it;
    if (it->second.end < buffer.getEnd())
      return std::nullopt;
    Content content = it->second.content;
    content.begin += buffer.getOffset() - it->first;
    return content;
  }

  /// The command that last wrote a byte of the buffer which is not `value`'s.
  Operation *findOtherWriter(BufferAttr buffer, Value value) {
    for (auto &[begin, range] :
         spaces[{static_cast<int>(buffer.getSpace()), buffer.getIndex()}])
      if (begin < buffer.getEnd() && range.end > buffer.getOffset() &&
          range.content.value != value && range.content.writer)
        return range.content.writer;
    return nullptr;
  }

private:
  struct Range {
    int64_t end;
    Content content;
  };
  using Ranges = std::map<int64_t, Range>;

  static void splitAt(Ranges &space, int64_t at) {
    auto it = space.upper_bound(at);
    if (it == space.begin())
      return;
    --it;
    if (it->first == at || it->second.end <= at)
      return;
    Range rest = it->second;
    rest.content.begin += at - it->first;
    it->second.end = at;
    space[at] = rest;
  }

  std::map<std::pair<int, int64_t>, Ranges> spaces;
};

class PlanChecker {
public:
  PlanChecker(func::FuncOp entry, EntryOp plan) : entry(entry), plan(plan) {}

  LogicalResult run() {
    load();
    for (auto kernel : entry.getBody().front().getOps<tds::KernelOp>())
      kernels.push_back(kernel);
    launched.assign(kernels.size(), false);
    for (Operation &op : *plan.getBlock()) {
      LogicalResult result =
          llvm::TypeSwitch<Operation *, LogicalResult>(&op)
              .Case([&](LaunchOp launch) { return replay(launch); })
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
    int64_t index = 0;
    for (auto constant : module.getOps<ConstantOp>()) {
      for (auto used : entry.getBody().front().getOps<tds::ConstantOp>())
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

  LogicalResult replay(LaunchOp launch) {
    std::optional<int64_t> origin = launch.getOrigin();
    if (!origin || *origin < 0 ||
        *origin >= static_cast<int64_t>(kernels.size()) || launched[*origin])
      return launch.emitOpError(
          "is the launch of no kernel of the entry, or a second one");
    launched[*origin] = true;
    tds::KernelOp kernel = kernels[*origin];
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
  SmallVector<tds::KernelOp> kernels;
  SmallVector<bool> launched;
  llvm::DenseMap<StringAttr, BufferAttr> placeOf;
  llvm::DenseMap<StringAttr, Value> oldValue;
  /// Where each value has been from its first byte on.
  llvm::DenseMap<Value, llvm::SmallDenseSet<Attribute, 4>> placesOf;
};

} // namespace

LogicalResult tdsl::checkPlan(func::FuncOp entry, EntryOp plan) {
  return PlanChecker(entry, plan).run();
}
