//===- WriteFunctions.cpp - random functions and their calls -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramWriter.h"

using namespace tdsl::testing;
using tdsl::reference::isFloat;

void ProgramWriter::writeFunctions() {
  if (random.chance(55))
    writeElementwiseFunction();
  if (random.chance(25))
    writeCustomDerivative();
  if (random.chance(25))
    writeRowsFunction();
  if (random.chance(25))
    writeSizedFunction();
}

/// `fn f(x: float[...s], y: float[...s]) -> float[...s]`: of any rank, also on
/// elements.
void ProgramWriter::writeElementwiseFunction() {
  Function function{name("fun"), Function::Form::Elementwise,
                    1 + random.pick(2)};
  pool.clear();
  isGeneric = true;
  std::string head;
  for (unsigned i = 0; i < function.arity; ++i) {
    Value value;
    value.name = i ? "y" : "x";
    value.bound = 4;
    pool.push_back(value);
    head += (i ? ", " : "") + value.name + ": float[...s]";
  }
  note("function of a pack");
  note("function of a class");
  target.clear();
  line("/// Some function.");
  line("fn " + function.name + "(" + head + ") -> float[...s] {");
  ++indent;
  Expr body;
  if (random.chance(40)) {
    Expr first = expression(Kind::F32, 2, false);
    note("statement let");
    line("let a = " + first.text);
    Value value;
    value.name = "a";
    value.bound = first.bound;
    pool.push_back(value);
  }
  body = tamed(expression(Kind::F32, 2, false), 64);
  // A function of a pack must reach its shape.
  line("0 * x + " + body.text);
  --indent;
  line("}");
  isGeneric = false;
  functions.push_back(function);
}

void ProgramWriter::writeCustomDerivative() {
  struct Rule {
    const char *body, *vjp;
    unsigned arity;
  };
  static const std::vector<Rule> rules = {
      {"{ tanh(x) }", "vjp (x, y, dy) -> (dx) { dy * (1 - y * y) }", 1},
      {"{ sin(x) }", "vjp (x, y, dy) -> (dx) { dy * cos(x) }", 1},
      {"{ x * x * x }", "vjp (x, y, dy) -> (dx) { 3 * dy * x * x }", 1},
      {"{ sqrt(x * x + 1) }", "vjp (x, y, dy) -> (dx) { dy * x / y }", 1},
      {"{ x * y }", "vjp (x, y, z, dz) -> (dx, dy) { (dz * y, dz * x) }", 2},
      {"{ x * x + 2 * y }",
       "vjp (x, y, z, dz) -> (dx, dy) { (2 * dz * x, 2 * dz) }", 2},
  };
  const Rule &rule = random.of(rules);
  Function function{name("fun"), Function::Form::CustomDerivative, rule.arity};
  note("function with a vjp");
  line("fn " + function.name + "(x: float[...s]" +
       (rule.arity > 1 ? ", y: float[...s]" : "") + ") -> float[...s] " +
       rule.body);
  line(rule.vjp);
  functions.push_back(function);
}

/// A pair of results, inferred sizes and a compile-time argument.
void ProgramWriter::writeRowsFunction() {
  Function function{name("fun"), Function::Form::Rows, 1};
  note("function with two results");
  note("function of sizes");
  const char *reduce = random.oneOf({"max", "min", "sum", "mean"});
  note(std::string("reduction ") + reduce);
  note("reduction in a definition");
  line("fn " + function.name +
       "(x: float[n, k], c: dim = 2, flag: bool = true) -> (float[n, k], "
       "float[n]) {");
  line("  let a[i] = " + std::string(reduce) + "[j](x[i, j] * " +
       random.oneOf({"0.5", "float(c)", "x[i, j]"}) + ")");
  line("  let b[i, j < k] = (if flag { x[i, j] } else { a[i] }) - a[i] * "
       "float(k)");
  line("  (b, a)");
  line("}");
  functions.push_back(function);
}

/// A window whose result size is computed.
void ProgramWriter::writeSizedFunction() {
  Function function{name("fun"), Function::Form::Sized, 1};
  note("function of sizes");
  note("inferred result size");
  note("reduction sum");
  note("reduction in a definition");
  note("index window");
  const char *base = random.oneOf({"padded(x, 0)", "clamped(x)"});
  note(base[0] == 'p' ? "padded" : "clamped");
  line("fn " + function.name + "(x: float[n, h], w: dim = 3) -> float[n, _] {");
  line("  dim oh = (h + 2 - w) // 2 + 1");
  note("statement dim");
  line(std::string("  let y[i, j < oh] = sum[u < w](") + base +
       "[i, 2 * j + u - 1] * (float(u) + 1))");
  line("  y");
  line("}");
  functions.push_back(function);
}

/// Calls a function of whole tensors as a statement.
bool ProgramWriter::writeCall() {
  std::vector<const Function *> found;
  for (const Function &function : functions)
    if (function.form == Function::Form::Rows ||
        function.form == Function::Form::Sized)
      found.push_back(&function);
  if (found.empty())
    return false;
  const Function &function = *found[random.pick(found.size())];
  const Value *x = pickValue([](const Value &v) {
    return isFloat(v.kind) && v.rank() == 2 && v.size() > 0;
  });
  if (!x)
    return false;
  note("call of a function");
  noteKind(x->kind);
  Value value = *x;
  value.name = name("v");
  value.exact = false;
  if (function.form == Function::Form::Sized) {
    unsigned window = 1 + random.pick(3);
    value.shape[1] = (x->shape[1] + 2 - window) / 2 + 1;
    value.bound = x->bound * 6;
    note("named argument");
    define(value, function.name + "(" + x->name +
                      (window == 3 ? "" : ", w = ") +
                      (window == 3 ? "" : std::to_string(window)) + ")");
    return true;
  }
  Value second = value;
  second.shape.pop_back();
  second.name = name("v");
  value.bound = second.bound = std::min(1e6, x->bound * x->bound * 2000 + 100);
  note("statement let tuple");
  line("let (" + value.name + ", " + second.name + ") = " + function.name +
       "(" + x->name + (random.chance(50) ? ", 3" : "") +
       (random.chance(50) ? ", flag = false)" : ")"));
  add(value);
  add(second);
  return true;
}
