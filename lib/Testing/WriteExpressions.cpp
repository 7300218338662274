//===- WriteExpressions.cpp - random scalar and elementwise expressions -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An expression has the kind that is asked for and, outside of bodies, the
// shape `target`: its first leaf has that shape, others may be scalars or
// trailing axes that stretch. In entries with derivatives functions get
// arguments well inside their domains, and what grows is tamed.
//
//===----------------------------------------------------------------------===//

#include "ProgramWriter.h"

#include <cmath>

using namespace tdsl::testing;
using tdsl::reference::isFloat;
using tdsl::reference::nameOf;

static constexpr double kLargest = 50;

double ProgramWriter::limitOf(Kind kind) {
  switch (kind) {
  case Kind::Bool:
    return 1;
  case Kind::I8:
    return 128;
  case Kind::U8:
    return 255;
  case Kind::I32:
    return 0x1p31;
  case Kind::I64:
    return 0x1p63;
  default:
    return HUGE_VAL;
  }
}

/// `e` brought down to a bound of at most `most`.
Expr ProgramWriter::tamed(Expr e, double most) {
  if (hostile || e.bound <= most)
    return e;
  // Waves of large values turn too quickly for finite differences.
  static const char *const functions[] = {"tanh", "erf", "sigmoid", "sin",
                                          "cos"};
  std::string function = functions[random.pick(e.bound > kLargest ? 3 : 5)];
  note("op " + function);
  e.text = function + "(" + e.text + ")";
  e.bound = 1;
  return e;
}

Expr ProgramWriter::literal(Kind kind) {
  Expr e;
  if (kind == Kind::Bool) {
    e.text = random.chance(50) ? "true" : "false";
  } else if (isFloat(kind)) {
    static const std::vector<std::pair<const char *, double>> tame = {
        {"0.5", 0.5}, {"1.5", 1.5},   {"(-0.75)", 0.75}, {"2", 2},
        {"0.1", 0.1}, {"3", 3},       {"0.34", 0.34},    {"1e-3", 1e-3},
        {"1", 1},     {"(-1.25)", 2}, {"0.7", 0.7}};
    static const std::vector<std::pair<const char *, double>> any = {
        {"0", 0},      {"(-0.0)", 0},  {"inf", 0},  {"nan", 0},
        {"(-inf)", 0}, {"65504.0", 0}, {"6e-8", 0}, {"1e-30", 0}};
    auto [text, bound] = random.of(hostile && random.chance(30) ? any : tame);
    e.text = text;
    e.bound = bound;
  } else {
    int64_t number = random.pick(hostile ? 100 : 8);
    e.text = random.chance(8) ? "0x" + std::string(number < 16 ? "" : "1") +
                                    "0123456789abcdef"[number % 16]
                              : std::to_string(number);
    e.bound = 100;
  }
  note("literal");
  return e;
}

Expr ProgramWriter::castTo(Kind kind, const Value &value, std::string text) {
  Expr e{std::move(text), value.bound, value.exact,
         isFloat(kind) && isFloat(value.kind) ? value.active : 0};
  if (value.kind == kind)
    return e;
  note("cast " + nameOf(value.kind).str() + " to " + nameOf(kind).str());
  note("op cast");
  noteKind(kind);
  e.text = nameOf(kind).str() + "(" + e.text + ")";
  e.bound = std::min(e.bound, limitOf(kind));
  if (!hostile && isFloat(kind) && e.bound > kLargest)
    return tamed(e, kLargest);
  return e;
}

/// A value of the target's shape, converted where there is none of the kind.
Expr ProgramWriter::wholeLeaf(Kind kind, bool exactOnly) {
  bool jumps = exactOnly || !isFloat(kind);
  std::vector<const Value *> same, other;
  for (const Value &value : pool) {
    if (value.shape != target || (exactOnly && !value.exact))
      continue;
    if (value.kind == kind)
      same.push_back(&value);
    else if (!isGeneric && (value.exact || !jumps || !isFloat(value.kind)))
      other.push_back(&value);
  }
  if (!same.empty() && (other.empty() || random.chance(85))) {
    const Value &value =
        *(random.chance(50) ? same.back() : same[random.pick(same.size())]);
    return {value.name, value.bound, value.exact, value.active};
  }
  if (!other.empty()) {
    const Value &value = *other[random.pick(other.size())];
    return castTo(kind, value, value.name);
  }
  // Only values that float reductions went into have this shape.
  for (const Value &value : pool)
    if (value.shape == target && !isGeneric) {
      std::string truth = "(" + value.name + " == " + value.name + ")";
      Value whole;
      whole.kind = Kind::Bool;
      note("op ==");
      return castTo(kind, whole, truth);
    }
  return literal(kind); // not reached: the target is a shape of the pool
}

Expr ProgramWriter::leaf(Kind kind, bool exactOnly) {
  return inBody ? bodyLeaf(kind, exactOnly) : wholeLeaf(kind, exactOnly);
}

/// An operand behind the first: it may stretch.
Expr ProgramWriter::secondOperand(Kind kind, unsigned depth, bool exactOnly) {
  if (random.chance(20))
    return literal(kind);
  if (!inBody && random.chance(25)) {
    std::vector<const Value *> found;
    for (const Value &value : pool)
      if (value.kind == kind && value.rank() < target.size() &&
          (value.exact || !exactOnly) &&
          std::equal(value.shape.begin(), value.shape.end(),
                     target.end() - value.rank()))
        found.push_back(&value);
    if (!found.empty()) {
      const Value &value = *found[random.pick(found.size())];
      note(value.rank() ? "broadcast of axes" : "broadcast of a scalar");
      return {value.name, value.bound, value.exact, value.active};
    }
  }
  return expression(kind, depth, exactOnly);
}

Expr ProgramWriter::expression(Kind kind, unsigned depth, bool exactOnly) {
  if (depth == 0)
    return leaf(kind, exactOnly);
  if (random.chance(8)) {
    note("expression if");
    Expr condition = boolExpression(depth - 1);
    Expr a = expression(kind, depth - 1, exactOnly);
    Expr b = secondOperand(kind, depth - 1, exactOnly);
    return {
        "(if " + condition.text + " then " + a.text + " else " + b.text + ")",
        std::max(a.bound, b.bound), a.exact && b.exact, a.active | b.active};
  }
  if (kind == Kind::Bool)
    return boolExpression(depth);
  return isFloat(kind) ? floatExpression(kind, depth, exactOnly)
                       : integerExpression(kind, depth, exactOnly);
}

static Expr join(const Expr &a, const Expr &b, std::string text, double bound) {
  return {std::move(text), bound, a.exact && b.exact, a.active | b.active};
}

Expr ProgramWriter::floatExpression(Kind kind, unsigned depth, bool exactOnly) {
  if (random.chance(40))
    return floatFunction(kind, depth, exactOnly);
  Expr a = expression(kind, depth - 1, exactOnly);
  if (random.chance(8)) {
    unsigned power = random.pick(5);
    note("op **");
    a = tamed(a, 3);
    return {"(" + a.text + ") ** " + std::to_string(power),
            std::pow(std::max(a.bound, 1.0), power), a.exact,
            power ? a.active : 0};
  }
  Expr b = secondOperand(kind, depth - 1, exactOnly);
  auto binary = [&](const char *op, double bound) {
    note(std::string("op ") + op);
    return tamed(
        join(a, b, "(" + a.text + " " + op + " " + b.text + ")", bound),
        kLargest);
  };
  switch (random.pick(12)) {
  case 0:
  case 1:
  case 2:
    return binary("+", a.bound + b.bound);
  case 3:
  case 4:
    return binary("-", a.bound + b.bound);
  case 5:
  case 6:
  case 7:
    return binary("*", a.bound * b.bound);
  case 8:
    if (!hostile)
      b.text = "(abs(" + b.text + ") + 0.5)";
    return binary("/", a.bound * 2);
  case 9: {
    bool isMax = random.chance(50);
    std::string name = isMax ? "max" : "min";
    note("op " + name);
    std::string more;
    if (random.chance(15)) {
      note("op " + name + " of three");
      more = ", 0.25";
    }
    return join(a, b, name + "(" + a.text + ", " + b.text + more + ")",
                std::max({a.bound, b.bound, 0.25}));
  }
  case 10: {
    // Jumps: both sides must be exact.
    if (!a.exact || !b.exact)
      return binary("-", a.bound + b.bound);
    if (!hostile)
      b.text = "(abs(" + b.text + ") + 0.5)";
    if (random.chance(50))
      return binary("//", a.bound * 2 + 1);
    return binary("%", b.bound + 0.5);
  }
  default: {
    note("op pow");
    if (hostile)
      return join(a, b,
                  random.chance(50) ? "pow(" + a.text + ", " + b.text + ")"
                                    : "(" + a.text + ") ** (" + b.text + ")",
                  1);
    a = tamed(a, 2);
    b = tamed(b, 3);
    return join(a, b, "pow(abs(" + a.text + ") + 0.5, " + b.text + ")",
                std::max(std::pow(2.5, b.bound), std::pow(2, b.bound)));
  }
  }
}

Expr ProgramWriter::floatFunction(Kind kind, unsigned depth, bool exactOnly) {
  Expr a = expression(kind, depth - 1, exactOnly);
  auto call = [&](const char *function, const Expr &e, double bound) {
    note(std::string("op ") + function);
    return Expr{std::string(function) + "(" + e.text + ")", bound, e.exact,
                e.active};
  };
  auto wrapped = [&](Expr e, const std::string &before,
                     const std::string &after) {
    e.text = before + e.text + after;
    return e;
  };
  switch (random.pick(a.exact ? 25 : 19)) {
  case 0:
    return call("exp", tamed(a, 3), 21);
  case 1:
    return call("expm1", tamed(a, 3), 21);
  case 2:
    return call("log", hostile ? a : wrapped(a, "abs(", ") + 0.5"), 4);
  case 3:
    return call("log1p", hostile ? a : wrapped(a, "abs(", ")"), 4);
  case 4:
    return call("sqrt", hostile ? a : wrapped(a, "abs(", ") + 0.25"), 8);
  case 5:
    return call("rsqrt",
                hostile ? a : wrapped(tamed(a, 6), "0.5 + (", ") ** 2"), 2);
  case 6:
    return call("tanh", a, 1);
  case 7:
    return call("sigmoid", a, 1);
  case 8:
    return call("erf", a, 1);
  case 9:
    return call("sin", tamed(a, 10), 1);
  case 10:
    return call("cos", tamed(a, 10), 1);
  case 11:
    return call("abs", a, a.bound);
  case 12: {
    note("op clamp");
    return {"clamp(" + a.text + ", -0.8, " + (random.chance(50) ? "1" : "0.6") +
                ")",
            1, a.exact, a.active};
  }
  case 13: {
    note("op neg");
    return {"(-" + a.text + ")", a.bound, a.exact, a.active};
  }
  case 14: {
    Expr e = call("stop_gradient", a, a.bound);
    e.active = 0;
    return e;
  }
  case 15: {
    // A function of elements can't call one with a vjp.
    if (isGeneric)
      return call("tanh", a, 1);
    const char *function = random.oneOf({"nn.relu", "nn.gelu"});
    note("standard function");
    return call(function, a, a.bound);
  }
  case 16:
  case 17:
  case 18: {
    // A function of the program, applied to elements or to whole tensors.
    std::vector<const Function *> found;
    for (const Function &function : functions)
      if (function.form == Function::Form::Elementwise ||
          (function.form == Function::Form::CustomDerivative && !inBody))
        found.push_back(&function);
    if (found.empty() || isGeneric)
      return call("tanh", a, 1);
    const Function &function = *found[random.pick(found.size())];
    note(inBody ? "call in a body" : "call of a function");
    if (function.form == Function::Form::CustomDerivative)
      note("call with a vjp");
    a = tamed(a, 4);
    std::string text = function.name + "(" + a.text;
    bool exact = a.exact;
    unsigned active = a.active;
    for (unsigned i = 1; i < function.arity; ++i) {
      Expr b = tamed(expression(kind, depth - 1, exactOnly), 4);
      exact &= b.exact;
      active |= b.active;
      text += ", " + b.text;
    }
    return {text + ")", hostile ? 1 : 70.0, exact, active};
  }
  case 19:
    return call("sign", a, 1);
  case 20:
    return call("floor", a, a.bound + 1);
  case 21:
    return call("ceil", a, a.bound + 1);
  case 22:
    return call("round", a, a.bound + 1);
  default: {
    // A value of another float type on the way.
    if (isGeneric)
      return call("tanh", a, 1);
    Kind other = pickFloat();
    Value value;
    value.kind = kind;
    value.bound = a.bound;
    value.exact = a.exact;
    value.active = a.active;
    Expr there = castTo(other, value, a.text);
    value.kind = other;
    return castTo(kind, value, there.text);
  }
  }
}

Expr ProgramWriter::integerExpression(Kind kind, unsigned depth,
                                      bool exactOnly) {
  Expr a = expression(kind, depth - 1, exactOnly);
  auto unary = [&](const char *function) {
    note(std::string("op ") + function);
    return Expr{std::string(function) + "(" + a.text + ")", a.bound, a.exact,
                0};
  };
  switch (random.pick(12)) {
  case 0:
    return unary("abs");
  case 1:
    return unary("sign");
  case 2:
    if (kind == Kind::U8)
      return unary("abs");
    note("op neg");
    return {"(-" + a.text + ")", limitOf(kind), a.exact, 0};
  case 3:
    note("op clamp");
    return {"clamp(" + a.text + ", 1, " + std::to_string(2 + random.pick(6)) +
                ")",
            8, a.exact, 0};
  case 4:
    note("op **");
    return {"(" + a.text + ") ** " + std::to_string(random.pick(5)),
            limitOf(kind), a.exact, 0};
  default:
    break;
  }
  std::vector<Index> before = indices;
  Expr b = secondOperand(kind, depth - 1, exactOnly);
  const char *op =
      random.oneOf({"+", "-", "*", "//", "%", "+", "*", "max", "min"});
  note(std::string("op ") + op);
  bool isDivision = op[0] == '/' || op[0] == '%';
  if (isDivision && (b.text.find_first_not_of("0x") == std::string::npos ||
                     b.text.find("(0") != std::string::npos)) {
    b.text = "3";     // a constant divisor of 0 is an error
    indices = before; // what was read does not stand in the program
  }
  std::string text = op[0] == 'm'
                         ? std::string(op) + "(" + a.text + ", " + b.text + ")"
                         : "(" + a.text + " " + op + " " + b.text + ")";
  double bound = op[0] == '*'                 ? a.bound * b.bound
                 : op[0] == 'm' || isDivision ? std::max(a.bound, b.bound) + 1
                                              : a.bound + b.bound;
  return join(a, b, text, std::min(bound, limitOf(kind)));
}

Expr ProgramWriter::boolExpression(unsigned depth) {
  // `if true …` in a function chooses at compile time.
  if (depth == 0 && isGeneric)
    return {"(x > 0.5)"};
  if (depth == 0)
    return leaf(Kind::Bool, true);
  switch (random.pick(8)) {
  case 0:
    note("op not");
    return {"(not " + boolExpression(depth - 1).text + ")"};
  case 1:
  case 2: {
    const char *op = random.oneOf({"and", "or"});
    note(std::string("op ") + op);
    std::string a = boolExpression(depth - 1).text;
    return {"(" + a + " " + op + " " + boolExpression(depth - 1).text + ")"};
  }
  case 3:
    if (!isGeneric) {
      const char *function = random.oneOf({"isnan", "isfinite"});
      note(std::string("op ") + function);
      Expr e = expression(pickFloat(), depth - 1, true);
      return {std::string(function) + "(" + e.text + ")"};
    }
    [[fallthrough]];
  default: {
    Kind kind =
        isGeneric ? Kind::F32 : (random.chance(60) ? pickFloat() : pickKind());
    const char *op = kind == Kind::Bool
                         ? random.oneOf({"==", "!="})
                         : random.oneOf({"<", "<=", ">", ">=", "==", "!="});
    note(std::string("op ") + op);
    std::string a = expression(kind, depth - 1, true).text;
    std::string b = secondOperand(kind, depth - 1, true).text;
    return {"(" + a + " " + op + " " + b + ")"};
  }
  }
}
