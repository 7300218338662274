//===- PlanMemory.cpp - which value lies where, for the checker -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanMemory.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::plan;

void Memory::write(BufferAttr buffer, Content content) {
  if (buffer.getBytes() == 0)
    return;
  llvm::erase_if(moving, [&](const MovingPlace &place) {
    return place.buffer.overlaps(buffer);
  });
  if (!buffer.getStrides().empty()) {
    // All that it may be in is unknown now.
    forget(buffer.getSpan());
    moving.push_back({buffer, content});
    return;
  }
  forget(buffer);
  getSpace(buffer)[buffer.getOffset()] = {buffer.getEnd(), content};
}

void Memory::add(BufferAttr buffer, Content content) {
  if (buffer.getBytes() == 0)
    return;
  (buffer.getStrides().empty() ? others : moving).push_back({buffer, content});
}

bool Memory::holdsBesides(BufferAttr buffer, Value value) const {
  return llvm::any_of(buffer.getStrides().empty() ? others : moving,
                      [&](const MovingPlace &place) {
                        return place.buffer == buffer &&
                               place.content.value == value &&
                               place.content.begin == 0;
                      });
}

std::optional<Content> Memory::read(BufferAttr buffer) {
  if (!buffer.getStrides().empty()) {
    for (const MovingPlace &place : moving)
      if (place.buffer == buffer)
        return place.content;
    return std::nullopt;
  }
  for (const MovingPlace &place : others)
    if (place.buffer == buffer)
      return place.content;
  auto &space = getSpace(buffer);
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

Operation *Memory::findOtherWriter(BufferAttr buffer, Value value) {
  for (auto &[begin, range] : getSpace(buffer))
    if (begin < buffer.getEnd() && range.end > buffer.getOffset() &&
        range.content.value != value && range.content.writer)
      return range.content.writer;
  return nullptr;
}

void Memory::forget(BufferAttr buffer) {
  if (buffer.getBytes() == 0)
    return;
  llvm::erase_if(others, [&](const MovingPlace &place) {
    return place.buffer.overlaps(buffer);
  });
  auto &space = getSpace(buffer);
  splitAt(space, buffer.getOffset());
  splitAt(space, buffer.getEnd());
  space.erase(space.lower_bound(buffer.getOffset()),
              space.lower_bound(buffer.getEnd()));
}

void Memory::splitAt(Ranges &space, int64_t at) {
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
