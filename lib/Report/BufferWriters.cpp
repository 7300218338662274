//===- BufferWriters.cpp - who wrote what last ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferWriters.h"

using namespace mlir;
using namespace tdsl::plan;
using namespace tdsl::report;

static std::pair<int, int64_t> getSpaceOf(BufferAttr buffer) {
  return {static_cast<int>(buffer.getSpace()), buffer.getIndex()};
}

void BufferWriters::write(BufferAttr buffer, std::optional<unsigned> launch) {
  writes[getSpaceOf(buffer)].push_back({buffer, launch, numWrites++});
}

void BufferWriters::add(Operation &command, unsigned launch) {
  if (auto op = dyn_cast<LaunchOp>(command)) {
    for (auto buffer : op.getOutputs().getAsRange<BufferAttr>())
      write(buffer, launch);
  } else if (auto copy = dyn_cast<CopyOp>(command)) {
    write(copy.getTo(), find(copy.getFrom()));
  } else if (auto fill = dyn_cast<FillOp>(command)) {
    write(fill.getTo(), std::nullopt);
  }
}

void BufferWriters::addLoop(LoopOp loop, unsigned &launch) {
  for (Operation &command : *loop.getBlock()) {
    if (auto inner = dyn_cast<LoopOp>(command)) {
      addLoop(inner, launch);
      continue;
    }
    add(command, launch);
    launch += isa<LaunchOp>(command);
  }
}

std::optional<unsigned> BufferWriters::find(BufferAttr buffer,
                                            size_t since) const {
  auto known = writes.find(getSpaceOf(buffer));
  if (known == writes.end())
    return std::nullopt;
  for (const Write &write : llvm::reverse(known->second)) {
    if (write.time < since)
      break;
    if (write.buffer.overlaps(buffer))
      return write.launch;
  }
  return std::nullopt;
}
