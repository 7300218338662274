//===- WriteStatements.cpp - random statements of a body -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramWriter.h"

using namespace tdsl::testing;
using tdsl::reference::isFloat;
using tdsl::reference::nameOf;

void ProgramWriter::writeStatements(unsigned count) {
  for (unsigned done = 0, tried = 0; done < count && tried < 8 * count; ++tried)
    done += writeStatement();
}

bool ProgramWriter::writeStatement() {
  if (!folds && random.chance(4))
    return writeAssert();
  switch (random.pick(folds ? 30 : 32)) {
  case 0:
  case 1:
  case 2:
  case 3:
    return writeElementwise();
  case 4:
  case 5:
  case 6:
  case 7:
  case 8:
  case 9:
    return writeIndexDefinition();
  case 10:
  case 11:
    return writeContraction();
  case 12:
    return writeIndexReduction();
  case 13:
  case 14:
  case 15:
    return writeReduction();
  case 16:
  case 17:
    return writeShapeFunction();
  case 18:
  case 19:
    return writePart();
  case 20:
    return writeMatmul();
  case 21:
    return writeRandom();
  case 22:
    return writeCondition();
  case 23:
    return writeLoop();
  case 24:
    return writeComputedSize();
  case 25:
  case 26:
    return writeCall();
  case 27:
    return writeFold();
  case 28:
  case 29:
    return writeCasts();
  default:
    return writeLayerCall();
  }
}

bool ProgramWriter::writeElementwise() {
  const Value *like = pickValue([](const Value &) { return true; });
  if (!like)
    return false;
  target = like->shape;
  Value value;
  value.name = name("v");
  value.shape = target;
  value.kind = random.chance(70) ? like->kind : pickKind();
  noteKind(value.kind);
  Expr e = expression(value.kind, 1 + random.pick(3), false);
  value.bound = e.bound;
  value.exact = e.exact;
  value.active = e.active;
  if (!folds && random.chance(8)) {
    note("op checkpoint");
    e.text = "checkpoint(" + e.text + ")";
  }
  define(value, e.text);
  return true;
}

/// One value through several types.
bool ProgramWriter::writeCasts() {
  static const std::vector<Kind> kinds = {Kind::Bool, Kind::I8,  Kind::U8,
                                          Kind::I32,  Kind::I64, Kind::F16,
                                          Kind::BF16, Kind::F32, Kind::F64};
  const Value *of = pickValue([](const Value &v) { return v.exact; });
  if (!of)
    return false;
  Value value = *of;
  value.below = 0;
  std::string text = of->name;
  for (unsigned i = 0; i < 3; ++i) {
    Kind kind = random.of(kinds);
    if (kind == value.kind)
      continue;
    Expr e = castTo(kind, value, text);
    value.kind = kind;
    value.bound = e.bound;
    value.active = e.active;
    text = e.text;
  }
  value.name = name("v");
  define(value, text);
  return true;
}

bool ProgramWriter::writeReduction() {
  const Value *of = pickValue([](const Value &v) { return v.rank() > 0; });
  if (!of)
    return false;
  Value value = *of;
  value.below = 0;
  value.name = name("v");
  std::string function;
  if (isFloat(of->kind))
    function = random.oneOf({"sum", "sum", "mean", "max", "min", "prod",
                             "argmax", "argmin", "norm"});
  else if (of->kind == Kind::Bool)
    function = random.oneOf({"any", "all"});
  else
    function =
        random.oneOf({"sum", "mean", "max", "min", "prod", "argmax", "argmin"});
  bool isPlace = function == "argmax" || function == "argmin";
  if (isPlace && !of->exact)
    function = "max", isPlace = false;
  // Which axes go.
  std::vector<bool> gone(of->rank(), false);
  std::string axes;
  if (isPlace || random.chance(60)) {
    size_t axis = random.pick(of->rank());
    gone[axis] = true;
    axes = random.chance(25) ? std::to_string(static_cast<int64_t>(axis) -
                                              static_cast<int64_t>(of->rank()))
                             : std::to_string(axis);
  } else if (of->rank() > 1 && random.chance(50)) {
    for (size_t axis = 0; axis < of->rank(); ++axis)
      if (random.chance(60)) {
        gone[axis] = true;
        axes += (axes.empty() ? "" : ", ") + std::to_string(axis);
      }
    if (axes.empty())
      return false;
    axes = "[" + axes + "]";
  } else {
    gone.assign(of->rank(), true);
  }
  bool keep = random.chance(30) && function != "norm";
  double terms = 1;
  value.shape.clear();
  for (size_t axis = 0; axis < of->rank(); ++axis) {
    if (!gone[axis]) {
      value.shape.push_back(of->shape[axis]);
      continue;
    }
    terms *= static_cast<double>(of->shape[axis]);
    if (keep)
      value.shape.push_back(1);
  }
  if (terms == 0 && (isPlace || (!hostile && function != "sum")))
    return false;
  if (function == "norm") {
    if (!isFloat(of->kind))
      return false;
    axes.clear();
    value.shape.clear();
  }
  noteKind(of->kind);
  note("reduction " + function);
  note("reduction of a tensor");
  std::string argument = of->name;
  if (function == "prod" && isFloat(of->kind) && !hostile && of->bound > 1.3)
    argument = "cos(" + argument + ")";
  std::string text = function + "(" + argument;
  if (!axes.empty())
    text += ", axis = " + axes;
  if (keep) {
    note("keep");
    text += ", keep = true";
  }
  text += ")";
  bool narrow = of->kind == Kind::I8 || of->kind == Kind::U8;
  if (isPlace)
    value.kind = Kind::I32;
  else if (function == "mean" && !isFloat(of->kind))
    value.kind = Kind::I64;
  else if ((function == "sum" || function == "prod") && narrow)
    value.kind = Kind::I32;
  if (isFloat(of->kind) && function != "max" && function != "min" && !isPlace)
    value.exact = false;
  if (function == "sum")
    value.bound *= std::max(terms, 1.0);
  else if (function == "norm" || function == "prod")
    value.bound = function == "norm" ? value.bound * 30 : limitOf(value.kind);
  else if (isPlace)
    value.bound = terms;
  value.bound = std::min(value.bound, limitOf(value.kind));
  value.active = isFloat(value.kind) ? value.active : 0;
  if (function == "prod" && isFloat(of->kind) && !hostile) {
    value.bound = 1;
    text = "tanh(" + text + ")";
  }
  // What is kept stretches.
  if (keep && value.shape.size() == of->rank() && value.kind == of->kind &&
      of->kind != Kind::Bool && random.chance(70)) {
    note("broadcast of kept axes");
    text = of->name + " - " + text;
    value.shape = of->shape;
    value.bound += of->bound;
    value.active |= of->active;
  }
  define(value, text);
  return true;
}

bool ProgramWriter::writeMatmul() {
  const Value *a = pickValue([](const Value &v) {
    return isFloat(v.kind) && v.rank() >= 2 && v.rank() <= 3;
  });
  if (!a)
    return false;
  const Value *b = pickValue([&](const Value &v) {
    return v.kind == a->kind && v.rank() == 2 && v.shape[0] == a->shape.back();
  });
  std::string right = b ? b->name : "";
  Value value = *a;
  if (b) {
    value.shape.back() = b->shape[1];
    value.bound = a->bound * b->bound * static_cast<double>(b->shape[0]);
    value.active = a->active | b->active;
  } else if (a->rank() == 2) {
    right = "transpose(" + a->name + ")";
    value.shape.back() = a->shape[0];
    value.bound = a->bound * a->bound * static_cast<double>(a->shape[1]);
  } else {
    return false;
  }
  value.exact = false;
  value.name = name("v");
  note("op @");
  noteKind(value.kind);
  define(value, a->name + " @ " + right);
  return true;
}

bool ProgramWriter::writeRandom() {
  if (!inStep || folds)
    return false;
  Value value;
  value.name = name("v");
  value.bound = 6;
  const Value *like = pickValue([](const Value &v) { return isFloat(v.kind); });
  bool useLike = like && random.chance(40);
  std::string shape;
  if (useLike) {
    value.shape = like->shape;
    value.kind = like->kind;
    shape = "like = " + like->name;
  } else {
    unsigned rank = 1 + random.pick(2);
    for (unsigned i = 0; i < rank; ++i) {
      const auto &[text, extent] = random.of(sizes);
      value.shape.push_back(extent);
      shape += (i ? ", " : "") + text;
    }
    shape = "[" + shape + "]";
  }
  if (value.size() > kMostElements)
    return false;
  const char *function = random.oneOf({"uniform", "normal", "bernoulli"});
  note(std::string("op random.") + function);
  if (function[0] == 'b') {
    value.kind = Kind::Bool;
    shape = "0.3, " + shape;
  }
  define(value, std::string("random.") + function + "(" + shape + ")");
  return true;
}

/// `if` on a condition that is known at compile time: an expression, or the
/// choice of a loop's new value.
bool ProgramWriter::writeCondition() {
  const Value *like = pickValue([](const Value &) { return true; });
  if (!like)
    return false;
  target = like->shape;
  Value value;
  value.name = name("v");
  value.shape = target;
  value.kind = like->kind;
  const auto &[size, extent] = random.of(sizes);
  std::string op = random.oneOf({">", "==", "<="});
  int64_t number = random.pick(7);
  bool isTrue = op == ">"    ? extent > number
                : op == "==" ? extent == number
                             : extent <= number;
  std::string condition = size + " " + op + " " + std::to_string(number);
  if (random.chance(20)) {
    condition = "training";
    isTrue = inStep;
  }
  Expr a = expression(value.kind, 1, false);
  Expr b = expression(value.kind, 1, false);
  noteKind(value.kind);
  note("statement if at compile time");
  define(value,
         "if " + condition + " { " + a.text + " } else { " + b.text + " }");
  Value &made = pool.back();
  const Expr &chosen = isTrue ? a : b;
  made.bound = chosen.bound;
  made.exact = chosen.exact;
  made.active = chosen.active;
  return true;
}

bool ProgramWriter::writeLoop() {
  const Value *start = pickValue(
      [](const Value &v) { return isFloat(v.kind) && v.size() <= 200; });
  if (!start)
    return false;
  Value value = *start;
  value.name = name("x");
  value.below = 0;
  note("statement for");
  note("statement rebind");
  noteKind(value.kind);
  bool chooses = random.chance(30);
  line("let " + value.name + " = " + start->name);
  value.bound = 50;
  add(value);
  target = value.shape;
  std::string k = name("k");
  line("for " + k + " in " + std::to_string(random.pick(2)) + ".." +
       std::to_string(2 + random.pick(2)) + " {");
  ++indent;
  size_t outside = pool.size();
  if (random.chance(30)) {
    note("statement let in a loop");
    writeElementwise();
    target = value.shape;
  }
  Expr e = tamed(expression(value.kind, 1 + random.pick(2), false), 20);
  if (random.chance(40)) {
    note("index as a value");
    e.text = e.text + " + " + nameOf(value.kind).str() + "(" + k + ") * 0.1";
  }
  std::string assign = value.name + " = " + e.text;
  if (chooses) {
    note("statement if at compile time");
    line("if " + k + " > 0 { " + assign + " } else { " + value.name + " = " +
         value.name + " * 0.5 }");
  } else {
    line(assign);
  }
  pool.resize(outside);
  --indent;
  line("}");
  Value &made = pool.back();
  made.exact = made.exact && e.exact;
  made.active = e.active; // the last iteration chooses it
  return true;
}

bool ProgramWriter::writeComputedSize() {
  const auto &[size, extent] = random.of(sizes);
  std::string computed = name("n");
  int64_t result = 0;
  switch (random.pick(3)) {
  case 0:
    line("dim " + computed + " = (" + size + " + 3) // 2");
    result = (extent + 3) / 2;
    break;
  case 1:
    line("dim " + computed + " = " + size + " % 3 + 1");
    result = extent % 3 + 1;
    break;
  default:
    line("dim " + computed + " = 2 * " + size + " - " + size + " + 1");
    result = extent + 1;
  }
  note("statement dim");
  if (random.chance(40)) {
    note("statement assert");
    line("assert " + computed + " > 0, \"" + computed + " is a size\"");
  }
  Value value;
  value.name = name("v");
  value.kind = isGeneric ? Kind::F32 : pickFloat();
  value.shape = {result};
  value.bound = static_cast<double>(result) + 1;
  noteKind(value.kind);
  note("index as a value");
  note("statement index definition");
  note("index with a range");
  std::string i = name("j");
  line("let " + value.name + "[" + i + " < " + computed +
       "] = " + nameOf(value.kind).str() + "(" + i + ") * 0.5 + " +
       nameOf(value.kind).str() + "(" + computed + ")");
  value.bound = 2 * value.bound;
  add(value);
  return true;
}

/// An `assert` that only the running program can decide. Most hold.
bool ProgramWriter::writeAssert() {
  const Value *of =
      pickValue([](const Value &v) { return v.exact && v.size() > 0; });
  if (!of)
    return false;
  note("statement assert at run time");
  target = of->shape;
  std::string holds = "(" + of->name + " == " + of->name + ")";
  if (isFloat(of->kind))
    holds = "(" + holds + " or isnan(" + of->name + "))";
  Expr e = boolExpression(1 + random.pick(2));
  std::string condition = e.text;
  if (random.chance(85))
    condition = "(" + e.text + " or " + holds + ")";
  if (random.chance(30))
    condition = random.oneOf({"any", "all"}) + ("(" + condition + ")");
  line("assert " + condition + ", \"" + of->name + " is as it should be\"");
  return true;
}

bool ProgramWriter::writeLayerCall() {
  std::vector<std::pair<const Layer *, const Value *>> found;
  for (const Layer &layer : layers)
    for (const Value &value : pool)
      if (value.kind == Kind::F32 && value.rank() == 2 &&
          value.shape[1] == layer.in)
        found.push_back({&layer, &value});
  if (layers.empty())
    return false;
  if (found.empty()) {
    // A ramp of the width that a layer takes.
    Value ramp;
    ramp.name = name("v");
    ramp.shape = {3, layers.front().in};
    ramp.bound = 2 + static_cast<double>(ramp.shape[1]) / 5;
    std::string i = name("j"), j = name("j");
    note("statement index definition");
    note("index as a value");
    line("let " + ramp.name + "[" + i + " < 3, " + j + " < " +
         sizeText(ramp.shape[1]) + "] = f32(" + i + " + 2 * " + j +
         ") * 0.1 - 0.3");
    add(ramp);
    found.push_back({&layers.front(), &pool.back()});
  }
  auto [layer, input] = found[random.pick(found.size())];
  Value value = *input;
  value.shape[1] = layer->out;
  value.exact = false;
  value.active |= kLayerParams;
  value.bound = 50;
  noteKind(Kind::F32);
  if (layer->count && random.chance(60)) {
    value.name = name("x");
    std::string each = name("b");
    note("statement for over layers");
    note("statement rebind");
    line("let " + value.name + " = tanh(" + input->name + ")");
    line("for " + each + " in " + layer->name + " { " + value.name + " = " +
         each + "(" + value.name + ") }");
    add(value);
    return true;
  }
  value.name = name("v");
  note("call of a layer");
  std::string instance = layer->name;
  if (layer->count) {
    note("layer of an array");
    instance += "[" + std::to_string(random.pick(layer->count)) + "]";
  }
  define(value, instance + "(" + input->name + ")");
  return true;
}
