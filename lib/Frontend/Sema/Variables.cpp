//===- Variables.cpp - Params and states as values -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A variable of the instance whose function runs has the key "\1path"; any
// other has its path in the program. Reading gives the current value: the
// argument that stands for the value at the call, or what was written last.
//
//===----------------------------------------------------------------------===//

#include "Checker.h"

using namespace tdsl;
using namespace tdsl::sema;
using llvm::StringRef;

StringRef Checker::varKey(const Val &variable) {
  return variable.self ? intern("\1" + variable.path) : variable.path;
}

Value Checker::readVar(const Val &variable, Range range) {
  FnState &state = *frame->state;
  StringRef key = varKey(variable);
  auto it = state.vars.find(key);
  if (it != state.vars.end() && it->second.current)
    return it->second.current;
  Node *node = makeNode(Op::Argument, variable.type, {}, range);
  node->number = -1; // set when the function is finished
  node->name = variable.path;
  VarState &var = state.vars[key];
  var.current = {node, 0};
  return var.current;
}

void Checker::writeVar(const Val &variable, Value value, Range range) {
  // The argument exists for every variable that is touched, so that reads and
  // writes have one order.
  readVar(variable, range);
  VarState &var = frame->state->vars[varKey(variable)];
  var.old.push_back({var.current, range});
  var.current = value;
  var.written = true;
  var.lastWrite = range;
  // A module's variable gets its name where the function is called.
  if (value.node->op == Op::StopGradient && !variable.self &&
      variableByName.count(variable.path))
    value.node->written = variable.path;
}

/// Variables are leaves of every derivative: what is written to them is a
/// constant for what reads them later. It is a value of its own for integers,
/// too: what reads the variable is told from what was written.
Value Checker::asWritten(Value value, Range range) {
  return make(Op::StopGradient, value.type(), value, range);
}

Val Checker::variableVal(const InstanceRef &instance, const ModuleVar &var) {
  Val val;
  val.kind = Val::Variable;
  val.self = instance.self;
  val.path = instance.path.empty() ? intern(var.path)
                                   : intern(instance.path + "." + var.path);
  val.type = var.type;
  val.decl = var.decl;
  val.origin = var.decl->name.range;
  return val;
}

Val Checker::programVariable(StringRef name) {
  Val val;
  val.kind = Val::Variable;
  // The name may lie in a list of variables that grows.
  val.path = intern(name);
  if (name == "tds.step" || name == "tds.seed") {
    usesCounters = true;
    val.type = Type{Elem::I64, {}};
    return val;
  }
  auto it = variableByName.find(name);
  if (it == variableByName.end())
    return Val();
  val.type = program.variables[it->second].type;
  return val;
}

int64_t Checker::addVariable(typed::Variable variable) {
  auto [it, fresh] =
      variableByName.try_emplace(variable.name, program.variables.size());
  if (!fresh)
    return it->second;
  program.variables.push_back(std::move(variable));
  return program.variables.size() - 1;
}
