//===- ManifestCommands.cpp - the commands of entries -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/ManifestParser.h"

#include <algorithm>

namespace tdsrt {

Operand ManifestParser::parseOperand(const JsonCursor &at,
                                     const EntryPlan &entry) {
  if (at.size() != 4 && at.size() != 5)
    at.bad("has ", at.size(), " parts instead of 4 or 5");
  const std::string &space = at.at(0).string();
  Operand operand;
  uint64_t spaceBytes = 0;
  auto choose = [&](Space kind, uint64_t count) {
    operand.space = kind;
    if (count == 0)
      at.at(1).bad("points to a ", space, ", but there is none");
    operand.index = static_cast<uint32_t>(at.at(1).integer(count - 1));
  };
  if (space == "slab") {
    choose(Space::Slab, manifest.slabs.size());
    spaceBytes = manifest.slabs[operand.index].bytes;
  } else if (space == "const") {
    choose(Space::Constant, manifest.constants.size());
    spaceBytes = manifest.constants[operand.index].size();
  } else if (space == "arena") {
    choose(Space::Arena, 1);
    spaceBytes = entry.arenaBytes;
  } else if (space == "input") {
    choose(Space::Input, 1);
    spaceBytes = entry.inputBytes;
  } else if (space == "result") {
    choose(Space::Result, 1);
    spaceBytes = entry.resultBytes;
  } else {
    at.at(0).bad("is '", printable(space),
                 "', which is not slab, arena, input, result or const");
  }
  operand.offset = at.at(2).integer(spaceLimit);
  operand.bytes = at.at(3).integer(spaceLimit);
  if (operand.offset > spaceBytes ||
      operand.bytes > spaceBytes - operand.offset)
    at.bad("reaches from byte ", operand.offset, " over ", operand.bytes,
           " bytes, past the end of the ", space, " of ", spaceBytes, " bytes");
  if (at.size() == 5)
    parseStrides(at.at(4), operand, spaceBytes, space);
  return operand;
}

void ManifestParser::parseStrides(const JsonCursor &at, Operand &operand,
                                  uint64_t spaceBytes,
                                  const std::string &space) {
  if (at.size() > loops.size())
    at.bad("has ", at.size(), " strides, but the command stands in ",
           loops.size(), " loops");
  uint64_t room = spaceBytes - operand.offset - operand.bytes;
  for (size_t d = 0; d < at.size(); ++d) {
    uint64_t stride = at.at(d).integer(spaceLimit);
    uint64_t steps = loops[d] ? loops[d] - 1 : 0;
    if (stride && steps > room / stride)
      at.at(d).bad("moves the range past the end of the ", space, " of ",
                   spaceBytes, " bytes");
    room -= stride * steps;
    operand.strides.push_back(stride);
  }
}

uint64_t ManifestParser::spanEnd(const Operand &operand, uint64_t bytes) const {
  uint64_t end = operand.offset + bytes;
  for (size_t d = 0; d < operand.strides.size(); ++d)
    end += operand.strides[d] * (loops[d] ? loops[d] - 1 : 0);
  return end;
}

bool ManifestParser::overlapInPart(const Operand &to, const Operand &from,
                                   uint64_t bytes) const {
  if (to.space != from.space || to.index != from.index || bytes == 0)
    return false;
  if (to.strides == from.strides)
    return to.offset != from.offset &&
           std::max(to.offset, from.offset) - std::min(to.offset, from.offset) <
               bytes;
  return to.offset < spanEnd(from, bytes) && from.offset < spanEnd(to, bytes);
}

Operand ManifestParser::parseTarget(const JsonCursor &at,
                                    const EntryPlan &entry, uint64_t bytes) {
  Operand operand = parseOperand(at, entry);
  bool isDonated = false;
  for (const Port &port : entry.inputs)
    isDonated |= port.isDonated && operand.offset >= port.offset &&
                 spanEnd(operand, bytes) <= port.offset + port.bytes;
  if ((operand.space == Space::Input && !isDonated) ||
      operand.space == Space::Constant)
    at.bad("is written, but constants and inputs that are not donated are "
           "read-only");
  if (bytes > operand.bytes)
    at.bad("has ", operand.bytes, " bytes, but ", bytes, " are written");
  return operand;
}

Command ManifestParser::parseCommand(const JsonCursor &at,
                                     const EntryPlan &entry) {
  Command command;
  const std::string &op = at.get("op").string();
  if (op == "launch") {
    parseLaunch(at, entry, command);
  } else if (op == "copy") {
    command.op = Command::Op::Copy;
    command.bytes = at.get("bytes").integer(spaceLimit);
    command.to = parseTarget(at.get("to"), entry, command.bytes);
    command.from = parseOperand(at.get("from"), entry);
    const Operand &to = command.to, &from = command.from;
    if (command.bytes > from.bytes)
      at.get("from").bad("has ", from.bytes, " bytes, but ", command.bytes,
                         " are read");
    if (overlapInPart(to, from, command.bytes))
      at.bad("copies between ranges that overlap in part");
  } else if (op == "fill") {
    command.op = Command::Op::Fill;
    command.bytes = at.get("bytes").integer(spaceLimit);
    command.byte = static_cast<uint8_t>(at.get("byte").integer(255));
    command.to = parseTarget(at.get("to"), entry, command.bytes);
  } else if (op == "loop") {
    parseLoop(at, entry, command);
  } else {
    at.get("op").bad("is '", printable(op),
                     "', which is not launch, copy, fill or loop");
  }
  return command;
}

void ManifestParser::parseLoop(const JsonCursor &at, const EntryPlan &entry,
                               Command &command) {
  command.op = Command::Op::Loop;
  if (loops.size() == maxLoopDepth)
    at.bad("is nested deeper than ", maxLoopDepth, " loops");
  command.trips = at.get("trips").integer(INT32_MAX);
  // A call must end.
  constexpr uint64_t mostIterations = uint64_t(1) << 40;
  uint64_t iterations = command.trips;
  for (uint64_t trips : loops)
    if (trips && iterations > mostIterations / trips)
      at.get("trips").bad("makes more than 2^40 iterations");
    else
      iterations *= trips;
  if (at.has("reverse")) {
    if (!at.get("reverse").raw().is_boolean())
      at.get("reverse").bad("is not true or false");
    command.reverse = at.get("reverse").raw().get<bool>();
  }
  loops.push_back(command.trips);
  JsonCursor commands = at.get("commands");
  command.body.reserve(commands.size());
  for (size_t i = 0; i < commands.size(); ++i)
    command.body.push_back(parseCommand(commands.at(i), entry));
  loops.pop_back();
}

void ManifestParser::parseLaunch(const JsonCursor &at, const EntryPlan &entry,
                                 Command &command) {
  command.op = Command::Op::Launch;
  JsonCursor kernelAt = at.get("kernel");
  if (manifest.kernels.empty())
    kernelAt.bad("points to a kernel, but there is none");
  command.kernel =
      static_cast<uint32_t>(kernelAt.integer(manifest.kernels.size() - 1));
  const Kernel &kernel = manifest.kernels[command.kernel];
  command.work = at.get("work").integer();
  JsonCursor grid = at.get("grid");
  if (grid.size() != 3)
    grid.bad("has ", grid.size(), " numbers instead of 3");
  for (size_t axis = 0; axis < 3; ++axis) {
    uint64_t extent = grid.at(axis).integer(axis == 0 ? INT32_MAX : 65535);
    if (extent == 0 && command.work != 0)
      grid.at(axis).bad("is 0, but there is work");
    command.grid[axis] = static_cast<uint32_t>(extent);
  }
  JsonCursor args = at.get("args");
  if (args.size() != kernel.buffers)
    args.bad("has ", args.size(), " operands, but kernel '", kernel.symbol,
             "' takes ", kernel.buffers);
  for (size_t i = 0; i < args.size(); ++i) {
    Operand operand = parseOperand(args.at(i), entry);
    if (operand.offset % argumentAlignment != 0)
      args.at(i).at(2).bad("is ", operand.offset,
                           ", which is not a multiple of ", argumentAlignment);
    bool seen = false;
    for (const Operand &other : command.args)
      seen |= other.space == operand.space && other.index == operand.index &&
              other.offset == operand.offset &&
              other.strides == operand.strides;
    if (!seen)
      command.operandBytes += operand.bytes;
    for (size_t d = 0; d < operand.strides.size(); ++d)
      if (operand.strides[d] % argumentAlignment != 0)
        args.at(i).at(4).at(d).bad("is ", operand.strides[d],
                                   ", which is not a multiple of ",
                                   argumentAlignment);
    command.args.push_back(operand);
  }
  if (at.has("flops"))
    command.flops = at.get("flops").integer();
  // At most what the operands are: it is read from a file.
  if (at.has("updated"))
    command.operandBytes +=
        std::min<uint64_t>(at.get("updated").integer(), command.operandBytes);
  JsonCursor sizes = at.get("sizes");
  if (sizes.size() != kernel.sizes)
    sizes.bad("has ", sizes.size(), " numbers, but kernel '", kernel.symbol,
              "' takes ", kernel.sizes);
  for (size_t i = 0; i < sizes.size(); ++i) {
    SizeArgument size;
    if (sizes.at(i).raw().is_object()) {
      JsonCursor loop = sizes.at(i).get("loop");
      if (loops.empty())
        loop.bad("names a loop, but the command stands in none");
      size.loop = static_cast<int32_t>(loop.integer(loops.size() - 1));
    } else {
      size.number = static_cast<int64_t>(sizes.at(i).integer());
    }
    command.sizes.push_back(size);
  }
}

} // namespace tdsrt
