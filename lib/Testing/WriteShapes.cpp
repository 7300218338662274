//===- WriteShapes.cpp - random moves and parts of tensors -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramWriter.h"

using namespace tdsl::testing;
using tdsl::reference::isFloat;
using tdsl::reference::nameOf;

bool ProgramWriter::writeShapeFunction() {
  const Value *of = pickValue([](const Value &v) { return v.rank() > 0; });
  if (!of)
    return false;
  Value value = *of;
  value.name = name("v");
  std::string text;
  switch (random.pick(4)) {
  case 0: { // another grouping of the same elements
    note("op reshape");
    Shape shape;
    if (random.chance(30)) {
      shape = {of->size()};
    } else if (of->rank() > 1) {
      size_t at = random.pick(of->rank() - 1);
      for (size_t i = 0; i < of->rank(); ++i)
        if (i == at + 1)
          shape.back() *= of->shape[i];
        else
          shape.push_back(of->shape[i]);
    } else if (of->shape[0] % 2 == 0) {
      shape = {2, of->shape[0] / 2};
      if (random.chance(50))
        std::swap(shape[0], shape[1]);
    } else {
      shape = {of->shape[0], 1};
    }
    std::string list;
    size_t hole = random.chance(40) && of->size() > 0
                      ? random.pick(shape.size())
                      : shape.size();
    for (size_t i = 0; i < shape.size(); ++i)
      list += (i ? ", " : "") + (i == hole ? "_" : sizeText(shape[i]));
    text = "reshape(" + of->name + ", [" + list + "])";
    value.shape = shape;
    break;
  }
  case 1: { // another order of axes
    if (of->rank() == 2 && random.chance(60)) {
      note("op transpose");
      text = "transpose(" + of->name + ")";
      std::swap(value.shape[0], value.shape[1]);
      break;
    }
    std::vector<size_t> order(of->rank());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[random.pick(i)]);
    std::string list;
    for (size_t i = 0; i < order.size(); ++i) {
      list += (i ? ", " : "") + std::to_string(order[i]);
      value.shape[i] = of->shape[order[i]];
    }
    const char *function = random.oneOf({"permute", "transpose"});
    note(std::string("op ") + function);
    text = std::string(function) + "(" + of->name + ", [" + list + "])";
    break;
  }
  case 2: { // repeated
    size_t axis = random.pick(of->rank());
    unsigned times = 2 + random.pick(2);
    note("op repeat");
    text = "repeat(" + of->name + ", " + std::to_string(times) + ", " +
           std::to_string(axis) + ")";
    value.shape[axis] *= times;
    break;
  }
  default: {
    size_t axis = random.pick(of->rank());
    note("op flip");
    text = "flip(" + of->name + ", " + std::to_string(axis) + ")";
  }
  }
  if (value.size() > kMostElements)
    return false;
  noteKind(value.kind);
  define(value, text);
  return true;
}

/// A tensor that is written out, or iota.
bool ProgramWriter::writeTensor() {
  Value value;
  value.name = name("v");
  if (random.chance(40)) {
    note("op iota");
    value.kind = Kind::I32;
    value.shape = {static_cast<int64_t>(1 + random.pick(7))};
    value.below = value.shape[0];
    value.bound = static_cast<double>(value.below);
    define(value, "iota(" + sizeText(value.shape[0]) + ")");
    return true;
  }
  note("tensor written out");
  unsigned rows = 1 + random.pick(3), columns = 1 + random.pick(4);
  bool isInteger = random.chance(50);
  std::string text;
  for (unsigned i = 0; i < rows; ++i) {
    text += i ? ", [" : "[[";
    for (unsigned j = 0; j < columns; ++j)
      text += std::string(j ? ", " : "") + (random.chance(30) ? "-" : "") +
              std::to_string(random.pick(8)) + (isInteger ? "" : ".25");
    text += "]";
  }
  value.kind = isInteger ? Kind::I32 : Kind::F32;
  value.shape = {rows, columns};
  value.bound = 9;
  noteKind(value.kind);
  define(value, text + "]");
  return true;
}

/// Concatenation, stacking, splitting, padding and slices.
bool ProgramWriter::writePart() {
  if (random.chance(12))
    return writeTensor();
  const Value *of = pickValue([](const Value &v) { return v.rank() > 0; });
  if (!of)
    return false;
  Value value = *of;
  value.name = name("v");
  size_t axis = random.pick(of->rank());
  std::string at = std::to_string(axis), text;
  switch (random.pick(5)) {
  case 0:
  case 1: {
    bool stacks = random.chance(35);
    const Value *other = pickValue([&](const Value &v) {
      if (v.kind != of->kind || v.rank() != of->rank())
        return false;
      for (size_t i = 0; i < v.rank(); ++i)
        if ((stacks || i != axis) && v.shape[i] != of->shape[i])
          return false;
      return true;
    });
    if (!other)
      return false;
    note(stacks ? "op stack" : "op concat");
    text = std::string(stacks ? "stack" : "concat") + "([" + of->name + ", " +
           other->name + "], " + at + ")";
    if (stacks)
      value.shape.insert(value.shape.begin() + axis, 2);
    else
      value.shape[axis] += other->shape[axis];
    value.bound = std::max(of->bound, other->bound);
    value.exact = of->exact && other->exact;
    value.active = of->active | other->active;
    value.below =
        of->below && other->below ? std::max(of->below, other->below) : 0;
    break;
  }
  case 2: {
    if (of->shape[axis] % 2 || of->shape[axis] == 0)
      return false;
    note("op split");
    note("statement let tuple");
    value.shape[axis] /= 2;
    noteKind(value.kind);
    Value second = value;
    second.name = name("v");
    line("let (" + value.name + ", " + second.name + ") = split(" + of->name +
         ", 2, " + at + ")");
    add(value);
    add(second);
    return true;
  }
  case 3: {
    note("op pad");
    unsigned before = random.pick(3), after = random.pick(3);
    text = "pad(" + of->name + ", " + at + ", " + std::to_string(before) +
           ", " + std::to_string(after) + ", " +
           (of->kind == Kind::Bool ? "true"
            : isFloat(of->kind)    ? "0.5"
                                   : "1") +
           ")";
    value.shape[axis] += before + after;
    value.bound = std::max(value.bound, 1.0);
    value.below = value.below ? std::max<int64_t>(value.below, 2) : 0;
    break;
  }
  default: {
    note("slice");
    std::string list;
    value.shape.clear();
    for (size_t i = 0; i < of->rank(); ++i) {
      int64_t extent = of->shape[i];
      list += i ? ", " : "";
      if (extent > 0 && random.chance(25)) { // one place
        list += random.chance(50) ? std::to_string(random.pick(extent)) : "-1";
        continue;
      }
      int64_t low = random.pick(extent + 1), high = extent;
      if (random.chance(50))
        high = low + random.pick(extent - low + 1);
      list += (low || random.chance(50) ? std::to_string(low) : "") + ":";
      if (high < extent && random.chance(40)) {
        note("slice from the end");
        list += "-" + std::to_string(extent - high);
      } else if (high < extent || random.chance(30)) {
        list += std::to_string(high);
      }
      value.shape.push_back(high - low);
    }
    text = of->name + "[" + list + "]";
  }
  }
  if (value.size() > kMostElements)
    return false;
  noteKind(value.kind);
  define(value, text);
  return true;
}
