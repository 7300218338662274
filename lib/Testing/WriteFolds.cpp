//===- WriteFolds.cpp - random loops at run time -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramWriter.h"

using namespace tdsl::testing;
using tdsl::reference::isFloat;
using tdsl::reference::nameOf;

/// A part of a tensor that the counter selects: `let v = x[:, t, :]`, or by a
/// definition that may leave it.
void ProgramWriter::writeTurnPart(const std::string &counter, int64_t turns) {
  const Value *of = pickValue([&](const Value &v) {
    return v.rank() > 0 && v.rank() < 4 &&
           llvm::any_of(v.shape, [&](int64_t e) { return e >= turns && e; });
  });
  if (!of)
    return;
  std::vector<size_t> axes;
  for (size_t i = 0; i < of->rank(); ++i)
    if (of->shape[i] >= turns)
      axes.push_back(i);
  size_t axis = random.of(axes);
  Value value = *of;
  value.name = name("v");
  value.shape.erase(value.shape.begin() + axis);
  int form = random.pick(4);
  std::string base = of->name, place = counter;
  if (form == 1) {
    base = "padded(" + base + ", " +
           (value.kind == Kind::Bool ? "false" : "0") + ")";
    place += " - 1";
    note("padded");
  } else if (form == 2) {
    base = "clamped(" + base + ")";
    place += " + 1";
    note("clamped");
  }
  note("part of a turn");
  noteKind(value.kind);
  std::string left, at;
  for (size_t i = 0; i < of->rank(); ++i) {
    std::string index = form == 0 || value.shape.empty() ? ":" : name("j");
    if (i != axis && index != ":")
      left += (left.empty() ? "" : ", ") + index + " < " +
              std::to_string(of->shape[i]);
    at += (i ? ", " : "") + (i == axis ? place : index);
  }
  if (left.empty()) {
    // A slice has no guard; of a vector one element is left.
    if (form == 1 || form == 2)
      return;
    define(value, of->name + "[" + at + "]");
    return;
  }
  note("statement index definition");
  line("let " + value.name + "[" + left + "] = " + base + "[" + at + "]");
  add(value);
}

/// `fold h = h0 for t in 0..T { …; next }`, with one carried value or two, and
/// sometimes a value of each turn.
bool ProgramWriter::writeFold() {
  if (folds >= 2 || isGeneric)
    return false;
  unsigned count = random.chance(30) ? 2 : 1;
  std::vector<Value> carried;
  std::string names, starts;
  unsigned startActive = 0;
  for (unsigned i = 0; i < count; ++i) {
    const Value *start = pickValue([&](const Value &v) {
      return (isFloat(v.kind) || i > 0) && v.size() <= 100;
    });
    if (!start)
      return false;
    Value value = *start;
    value.name = name("h");
    value.below = 0;
    value.bound = isFloat(value.kind) ? 20 : limitOf(value.kind);
    // What jumps must see the same bits in every turn.
    value.exact = start->exact && random.chance(50);
    startActive |= start->active;
    names += (i ? ", " : "") + value.name;
    starts += (i ? ", " : "") + start->name;
    carried.push_back(value);
  }
  note("statement fold");
  if (count > 1)
    note("fold of two values");
  if (folds)
    note("fold in a fold");
  int64_t low = random.chance(15) ? 1 + random.pick(2) : 0, high = 0;
  std::string bound;
  if (random.chance(40)) {
    const auto &[text, extent] = random.of(sizes);
    bound = text;
    high = extent;
  } else {
    high = random.pick(6);
    bound = std::to_string(high);
  }
  if (folds && high > 4)
    bound = std::to_string(high = 3);
  int64_t turns = std::max<int64_t>(high - low, 0);
  note(turns == 0   ? "fold without a turn"
       : turns == 1 ? "fold of one turn"
                    : "fold of turns");
  std::string counter = name("t");
  line("fold " +
       (count > 1 ? "(" + names + ") = (" + starts + ")"
                  : names + " = " + starts) +
       " for " + counter + " in " + std::to_string(low) + ".." + bound + " {");
  ++indent;
  ++folds;
  size_t outside = pool.size();
  for (Value &value : carried)
    add(value);
  unsigned parts = random.pick(3);
  for (unsigned i = 0; i < parts; ++i)
    writeTurnPart(counter, std::max(high, int64_t(1)));
  writeStatements(random.pick(3));
  if (random.chance(10))
    writeFold();
  std::string next;
  std::vector<Value> collected;
  std::vector<Expr> nexts;
  for (unsigned i = 0; i < count; ++i) {
    const Value &value = carried[i];
    target = value.shape;
    Expr e = expression(value.kind, 1 + random.pick(2), value.exact);
    if (isFloat(value.kind))
      e = tamed(e, 20);
    if (isFloat(value.kind) && random.chance(30)) {
      note("index as a value");
      e.text += " + " + nameOf(value.kind).str() + "(" + counter + ") * 0.05";
    }
    note("statement let");
    std::string text = name("v");
    line("let " + text + " = " + e.text);
    next += (i ? ", " : "") + text;
    nexts.push_back(e);
    if (low == 0 && high > 0 && value.rank() < 4 &&
        value.size() * high <= kMostElements && random.chance(40)) {
      note("fold collects");
      Value all = value;
      all.name = name("v");
      all.shape.insert(all.shape.begin(), high);
      all.exact = value.exact && e.exact;
      all.active = e.active;
      line("let " + all.name + "[" + counter + "] = " + text);
      collected.push_back(all);
    }
  }
  line(count > 1 ? "(" + next + ")" : next);
  pool.resize(outside);
  --folds;
  --indent;
  line("}");
  for (unsigned i = 0; i < count; ++i) {
    Value &value = carried[i];
    value.exact = value.exact && nexts[i].exact;
    value.active = !isFloat(value.kind) ? 0
                   : turns              ? nexts[i].active
                                        : startActive;
    add(value);
  }
  for (Value &value : collected)
    add(value);
  return true;
}
