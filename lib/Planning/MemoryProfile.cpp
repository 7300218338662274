//===- MemoryProfile.cpp - what lives when in a plan ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Planning/MemoryProfile.h"

#include "tdsl/Dialect/TDS/SourceLocation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::plan;

namespace {

class Profiler {
public:
  explicit Profiler(EntryOp entry) : entry(entry) {}

  MemoryProfile run() {
    int64_t command = 0;
    for (Operation &op : *entry.getBlock())
      command += visit(op, command);
    sumUp(command);
    return std::move(profile);
  }

private:
  /// Whether the operation is a command.
  bool visit(Operation &op, int64_t command) {
    return llvm::TypeSwitch<Operation *, bool>(&op)
        .Case([&](LaunchOp launch) {
          for (auto buffer : launch.getInputs().getAsRange<BufferAttr>())
            read(buffer, command);
          writeOutputs(launch, command);
          return true;
        })
        .Case([&](CopyOp copy) {
          read(copy.getFrom(), command);
          write(copy.getTo(), command, copy.getLoc(), {});
          return true;
        })
        .Case([&](FillOp fill) {
          write(fill.getTo(), command, fill.getLoc(), {});
          return true;
        })
        .Case([&](LoopOp loop) {
          // What lives at the beginning lives on, as an iteration may read it.
          for (Operation &inner : *loop.getBlock())
            visit(inner, command);
          return true;
        })
        .Default([](Operation *) { return false; });
  }

  void writeOutputs(LaunchOp launch, int64_t command) {
    auto function =
        launch->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(
            launch.getKernel());
    for (auto [i, buffer] :
         llvm::enumerate(launch.getOutputs().getAsRange<BufferAttr>()))
      write(buffer, command, getOutputLoc(launch, i),
            cast<RankedTensorType>(function.getResultTypes()[i]));
  }

  void read(BufferAttr buffer, int64_t command) {
    if (buffer.getSpace() != Space::Arena)
      return;
    for (unsigned tensor : current)
      if (profile.tensors[tensor].buffer.overlaps(buffer))
        profile.tensors[tensor].last = command;
  }

  void write(BufferAttr buffer, int64_t command, Location loc,
             RankedTensorType type) {
    if (buffer.getSpace() != Space::Arena || buffer.getBytes() == 0)
      return;
    // A part that moves with loops stands for all of its tensor.
    for (size_t d = buffer.getStrides().size(); d-- > 0;)
      if (buffer.getStrides()[d] != 0 && type) {
        SmallVector<int64_t> shape{buffer.getTrips()[d]};
        llvm::append_range(shape, type.getShape());
        type = type.clone(shape);
      }
    buffer = buffer.getSpan();
    llvm::erase_if(current, [&](unsigned tensor) {
      return profile.tensors[tensor].buffer.overlaps(buffer);
    });
    current.push_back(profile.tensors.size());
    profile.tensors.push_back({buffer, command, command, loc, type});
  }

  void sumUp(int64_t numCommands) {
    SmallVector<SmallVector<BufferAttr>> live(numCommands);
    for (const ArenaTensor &tensor : profile.tensors)
      for (int64_t command = tensor.first; command <= tensor.last; ++command)
        live[command].push_back(tensor.buffer);
    for (auto [command, buffers] : llvm::enumerate(live)) {
      llvm::sort(buffers, [](BufferAttr lhs, BufferAttr rhs) {
        return lhs.getOffset() < rhs.getOffset();
      });
      int64_t bytes = 0, end = 0;
      for (BufferAttr buffer : buffers) {
        int64_t last = alignUp(buffer.getEnd());
        bytes += std::max<int64_t>(0, last - std::max(end, buffer.getOffset()));
        end = std::max(end, last);
      }
      profile.liveBytes.push_back(bytes);
      if (bytes > profile.getBound())
        profile.peakCommand = command;
    }
  }

  EntryOp entry;
  MemoryProfile profile;
  /// The tensors that nothing has overwritten yet.
  SmallVector<unsigned> current;
};

} // namespace

MemoryProfile tdsl::profileMemory(EntryOp entry) {
  return Profiler(entry).run();
}

SmallVector<PeakTensor> tdsl::getLargestAtPeak(EntryOp entry,
                                               const MemoryProfile &profile,
                                               unsigned count) {
  SmallVector<PeakTensor> tensors;
  auto add = [&](StringRef role, StringRef name, Type type, Location loc) {
    tensors.push_back({role.str(), name.str(), getTensorBytes(type),
                       cast<RankedTensorType>(type), loc});
  };
  auto module = entry->getParentOfType<ModuleOp>();
  for (auto variable : module.getOps<tds::VariableOp>())
    add(stringifyVariableRole(variable.getRole()), variable.getSymName(),
        variable.getType(), variable.getLoc());
  for (auto input : entry.getBlock()->getOps<InputOp>())
    add("input", input.getName(), input.getType(), input.getLoc());
  for (auto result : entry.getBlock()->getOps<ResultOp>())
    add("result", result.getName(), result.getType(), result.getLoc());
  for (auto constant : module.getOps<plan::ConstantOp>())
    add("constant", "", constant.getValue().getType(), constant.getLoc());
  for (const ArenaTensor &tensor : profile.tensors) {
    if (tensor.first > profile.peakCommand || tensor.last < profile.peakCommand)
      continue;
    // Of two that share their bytes, the one that is written.
    bool isReplaced = llvm::any_of(profile.tensors, [&](const auto &other) {
      return other.first == profile.peakCommand && other.first > tensor.first &&
             other.buffer.overlaps(tensor.buffer);
    });
    if (!isReplaced)
      tensors.push_back(
          {"value", "", tensor.buffer.getBytes(), tensor.type, tensor.loc});
  }
  auto order = llvm::to_vector(llvm::seq<unsigned>(tensors.size()));
  llvm::sort(order, [&](unsigned lhs, unsigned rhs) {
    return std::pair(-tensors[lhs].bytes, lhs) <
           std::pair(-tensors[rhs].bytes, rhs);
  });
  SmallVector<PeakTensor> largest;
  for (unsigned tensor : ArrayRef(order).take_front(count))
    largest.push_back(tensors[tensor]);
  return largest;
}

void tdsl::recordPeak(EntryOp entry) {
  constexpr unsigned numShown = 5;
  MemoryProfile profile = profileMemory(entry);
  Builder builder(entry.getContext());
  SmallVector<Attribute> largest;
  for (const PeakTensor &tensor : getLargestAtPeak(entry, profile, numShown)) {
    SmallVector<NamedAttribute> fields;
    auto add = [&](StringRef name, Attribute value) {
      fields.push_back(builder.getNamedAttr(name, value));
    };
    add("bytes", builder.getI64IntegerAttr(tensor.bytes));
    add("role", builder.getStringAttr(tensor.role));
    if (!tensor.name.empty())
      add("name", builder.getStringAttr(tensor.name));
    if (tensor.type)
      add("type", TypeAttr::get(tensor.type));
    SmallVector<FileLineColRange> places = findOwnPlaces(tensor.loc);
    std::string source = places.empty() ? describeLocation(tensor.loc)
                                        : describePlace(places.front());
    if (!source.empty())
      add("source", builder.getStringAttr(source));
    largest.push_back(builder.getDictionaryAttr(fields));
  }
  entry->setAttr(
      plan::attr::kPeak,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("command",
                                builder.getI64IntegerAttr(profile.peakCommand)),
           builder.getNamedAttr("live",
                                builder.getI64IntegerAttr(profile.getBound())),
           builder.getNamedAttr("largest", builder.getArrayAttr(largest))}));
}
