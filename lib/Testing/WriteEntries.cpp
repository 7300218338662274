//===- WriteEntries.cpp - entries around random bodies -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramWriter.h"

#include <cstdio>

using namespace tdsl::testing;
using tdsl::reference::isFloat;
using tdsl::reference::nameOf;

void ProgramWriter::addVariablesToPool() {
  for (const Value &value : variables)
    if (!hostile || random.chance(50))
      pool.push_back(value);
  if (constants.size() > 1) {
    Value taps;
    taps.name = constants.back();
    taps.shape = {3};
    taps.bound = 2.5;
    pool.push_back(taps);
  }
  if (inStep && random.chance(25)) {
    Value counter;
    counter.name = random.oneOf({"tds.step", "tds.seed"});
    note("counter " + counter.name);
    counter.kind = Kind::I64;
    counter.bound = 8;
    pool.push_back(counter);
  }
}

std::string ProgramWriter::writeInputs(bool isStep) {
  // The batch of a step: a size that the program names.
  const auto &batch = sizes[batchSize];
  std::string text;
  unsigned count = 1 + random.pick(3);
  for (unsigned i = 0; i < count; ++i) {
    Value value;
    value.name = name("x");
    value.kind = i == 0 ? pickFloat() : pickKind();
    unsigned rank = random.chance(8) ? 0 : 1 + random.pick(3);
    std::string type = nameOf(value.kind).str();
    noteKind(value.kind);
    for (unsigned axis = 0; axis < rank; ++axis) {
      int64_t extent = random.of(sizes).second;
      if (value.size() * extent > 600)
        extent = 2;
      if (isStep && axis == 0)
        extent = batch.second;
      value.shape.push_back(extent);
      type += (axis ? ", " : "[") +
              (isStep && axis == 0 ? batch.first : sizeText(extent));
    }
    type += rank ? "]" : "";
    std::string hint = hostile ? "any" : "";
    if (isFloat(value.kind)) {
      value.bound = 2;
      if (!hostile && random.chance(25))
        hint = "whole";
    } else if (value.kind != Kind::Bool) {
      value.bound = 8;
      if (random.chance(50)) {
        int64_t below = std::max<int64_t>(1, random.of(sizes).second);
        value.below = below;
        value.bound = static_cast<double>(below);
        hint = "ids " + std::to_string(below);
        if (random.chance(35)) {
          outside = value;
          hint += " outside";
          note("input outside");
        }
      }
    }
    if (!hint.empty())
      program.text += "// input " + value.name + ": " + hint + "\n";
    std::string initial;
    if (rank == 0 && random.chance(30)) {
      note("default of an input");
      initial = value.kind == Kind::Bool ? " = true" : " = 1";
    }
    text += (text.empty() ? "" : ", ") + value.name + ": " + type + initial;
    add(value);
  }
  return text;
}

/// Makes sure that a number out of range is used: a gather from a vector.
void ProgramWriter::writeOutsideGather() {
  if (!outside)
    return;
  const Value *table = pickValue([&](const Value &v) {
    return v.rank() == 1 && v.shape[0] == outside->below;
  });
  if (table && outside->rank() == 1) {
    note("gather from outside");
    Value value = *table;
    value.below = 0;
    value.shape = outside->shape;
    value.name = name("v");
    std::string index = name("j");
    line("let " + value.name + "[" + index + "] = " + table->name + "[" +
         outside->name + "[" + index + "]]");
    add(value);
  }
  outside.reset();
}

/// Names and types of up to three results: `(r0: f32[A], r1: i32)`.
std::string ProgramWriter::writeResults(std::vector<std::string> &names,
                                        bool isStep) {
  std::string types;
  size_t inputs = pool.size();
  unsigned count = std::min<size_t>(inputs, 1 + random.pick(3));
  std::set<size_t> chosen;
  for (unsigned i = 0; i < count; ++i) {
    size_t at = i == 0 ? inputs - 1 : random.pick(inputs);
    if (!chosen.insert(at).second)
      continue;
    const Value &value = pool[at];
    types += (types.empty() ? "" : ", ") + ("r" + std::to_string(i)) + ": " +
             typeText(value.kind, value.shape);
    names.push_back(value.name);
  }
  return types;
}

/// The head of an entry stands before its body but names its results, so the
/// body is written apart.
ProgramWriter::EntryHead ProgramWriter::beginEntry(const std::string &keyword,
                                                   bool isStep) {
  inStep = isStep;
  pool.clear();
  note("declaration " + keyword);
  EntryHead head;
  head.text = keyword + " e" + std::to_string(entries++);
  head.text += "(" + writeInputs(isStep) + ")";
  addVariablesToPool();
  head.before = std::move(program.text);
  program.text.clear();
  ++indent;
  writeOutsideGather();
  writeStatements(2 + random.pick(4));
  return head;
}

void ProgramWriter::endEntry(EntryHead &head) {
  --indent;
  std::string body = std::move(program.text);
  std::vector<std::string> names;
  std::string types = writeResults(names, inStep);
  program.text = std::move(head.before);
  line(head.text + " -> (" + types + ") {");
  std::string list;
  for (const std::string &name : names)
    list += (list.empty() ? "" : ", ") + name;
  program.text += body + "  (" + list + ")\n}\n";
}

void ProgramWriter::writeExport() {
  hostile = random.chance(70);
  EntryHead head = beginEntry("export fn", false);
  endEntry(head);
}

void ProgramWriter::writeUpdate(const Value &loss) {
  std::string over;
  std::vector<std::string> params;
  for (const Value &value : variables)
    if (value.active & loss.active)
      params.push_back(value.name);
  if (loss.active & kLayerParams) {
    for (const Layer &layer : layers)
      params.push_back(layer.name);
  }
  std::string optimizer = random.oneOf(
      {"optim.sgd(lr = 0.1)", "optim.momentum(lr = 0.1, nesterov = true)",
       "optim.adam(lr = 0.01)", "optim.adamw(lr = 0.01, weight_decay = 0.1)",
       "optim.sgd(lr = 0.1)"});
  note("optimizer " + optimizer.substr(0, optimizer.find('(')));
  if (!ownOptimizer.empty() && random.chance(60)) {
    note("optimizer of the program");
    optimizer = ownOptimizer + "(lr = 0.1)";
  }
  const std::string &param =
      random.chance(30) ? params.back() : random.of(params);
  bool isLayer = param[0] == 'm';
  std::string as;
  if (random.chance(15)) {
    note("update with a name");
    as = " as " + name("u");
  }
  switch (random.pick(5)) {
  case 1:
    if (params.size() > 1) {
      note("statement apply");
      note("op grad of several");
      std::string gradients = name("g");
      line("let " + gradients + " = grad(" + loss.name + ", (" + params[0] +
           ", " + params[1] + "))");
      line("apply " + gradients + " to " + params[0] + ", " + params[1] +
           " with " + optimizer + as);
      return;
    }
    [[fallthrough]];
  case 0: {
    note("statement apply");
    note("op grad");
    if (isLayer)
      note("record of a layer");
    std::string gradient = name("g");
    line("let " + gradient + " = grad(" + loss.name + ", " + param + ")");
    line("apply " + gradient + " * 0.5 to " + param + " with " + optimizer +
         as);
    return;
  }
  case 2:
    note(isLayer ? "minimize over a layer" : "minimize over params");
    over = " over " + param;
    [[fallthrough]];
  default:
    note("statement minimize");
    line("minimize " + loss.name + over + " with " + optimizer + as);
  }
}

/// A factor that brings values of a bound to about 1.
static std::string scaleFor(double bound) {
  char text[32];
  snprintf(text, sizeof text, "%.2g", std::max(1 / bound, 1e-30));
  return text;
}

void ProgramWriter::writeStep() {
  hostile = false;
  EntryHead head = beginEntry("step", true);
  // The loss: what is active, weighted by a wave so that no gradient is even.
  Value loss;
  loss.name = name("loss");
  std::string text;
  std::vector<const Value *> active;
  for (const Value &value : pool)
    if (value.active && value.size() > 0)
      active.push_back(&value);
  for (unsigned i = 0; i < 2 && !active.empty(); ++i) {
    const Value &value =
        *(i == 0 ? active.back() : active[random.pick(active.size())]);
    std::string part = value.name;
    if (value.bound > 20)
      part = "sin(" + part + " * " + scaleFor(value.bound) + ")";
    else if (random.chance(30))
      part = part + " * " + part;
    part = value.rank() ? random.oneOf({"mean(", "sum("}) + part + ")" : part;
    if (value.kind != Kind::F32)
      part = "f32(" + part + ")";
    text += (text.empty() ? "" : " + ") + part;
    loss.active |= value.active;
  }
  bool differentiates = !text.empty();
  if (!constants.empty() && differentiates)
    text += " * rate";
  if (differentiates) {
    loss.exact = false;
    loss.bound = 1e4;
    define(loss, text);
    std::vector<const Value *> params;
    for (const Value &value : variables)
      if (value.active & loss.active)
        params.push_back(&value);
    if (!params.empty() && random.chance(20)) {
      note("op value_and_grad");
      const Value &param = *params[random.pick(params.size())];
      Value gradient = param;
      gradient.name = name("g");
      gradient.exact = false;
      gradient.bound = 1e4;
      std::string again = name("loss");
      line("let (" + again + ", " + gradient.name + ") = value_and_grad(" +
           loss.name + ", " + param.name + ")");
      add(gradient);
      if (random.chance(50) && param.kind == Kind::F32) {
        note("second derivative");
        Value penalty = loss;
        penalty.name = name("loss");
        define(penalty, loss.name + " + 0.1 * sum(" + gradient.name + " * " +
                            gradient.name + ")");
        loss = penalty;
      }
    }
    writeUpdate(loss);
  }
  for (const Value &state : variables)
    if (!state.active && random.chance(50)) {
      note("statement write");
      target = state.shape;
      Expr e = expression(state.kind, 2, false);
      line(state.name + " <- " + e.text);
    }
  // Params have new values by now, so only what the body defined is given back.
  std::vector<Value> results;
  for (Value &value : pool)
    if (value.name[0] != 'p' && value.name[0] != 'q')
      results.push_back(value);
  pool = results;
  endEntry(head);
}
