//===- DecodeControl.cpp - branches, calls, barriers ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "decode/FunctionDecoder.h"

namespace tds::sim {

void FunctionDecoder::branch(const OpInfo &info) {
  const auto &ops = current->operands;
  if (info.form == Form::Branch) {
    operandCount(1, 1);
    if (ops[0].kind != Operand::Name)
      fail("a branch needs a label");
    s64 target = fn.findLabel(current->scope, ops[0].name);
    if (target < 0)
      fail("unknown label '" + ops[0].name + "'");
    Op o = blank(info);
    o.target = (u32)target;
    emit(o);
    return;
  }
  operandCount(2, 2);
  if (ops[1].kind != Operand::Name)
    fail("brx.idx needs the name of a table of labels");
  const LabelTable *table = fn.findTable(current->scope, ops[1].name);
  if (!table)
    fail("unknown table of labels '" + ops[1].name + "'");
  u32 a = src(ops[0], Ty::U32);
  Op o = blank(info);
  o.a = a;
  o.ext = (u32)code.ext.size();
  if (table->labels.size() > 65535)
    fail("table of labels is too long");
  o.nExt = (u16)table->labels.size();
  for (const std::string &label : table->labels) {
    s64 target = fn.findLabel(table->scope, label);
    if (target < 0)
      fail("unknown label '" + label + "'");
    code.ext.push_back((u32)target);
  }
  emit(o);
}

void FunctionDecoder::call(const OpInfo &info) {
  const auto &ops = current->operands;
  size_t at = 0;
  const Operand *rets = nullptr, *params = nullptr;
  if (at < ops.size() && ops[at].kind == Operand::List)
    rets = &ops[at++];
  if (at >= ops.size())
    fail("call needs the name of a function");
  const Operand &callee = ops[at++];
  if (callee.kind != Operand::Name)
    fail("indirect calls are not supported");
  if (at < ops.size() && ops[at].kind == Operand::List)
    params = &ops[at++];
  if (at != ops.size())
    fail("unexpected operand of call");
  auto found = module.functions.find(callee.name);
  if (found == module.functions.end())
    fail("call of unknown function '" + callee.name + "'");
  const Function &target = *found->second;
  if (target.isEntry)
    fail("'" + callee.name + "' is a kernel and cannot be called");
  Op o = blank(info);
  Handler system = nullptr;
  if (target.isDeclaration) {
    system = systemCallHandler(callee.name);
    if (!system)
      fail("function '" + callee.name + "' has no body in this module");
    o.flow = Flow::Plain;
    o.fn = system;
  } else {
    o.target = indices.at(callee.name);
    called.insert(o.target);
    code.usesCalls = true;
  }
  // ext: for each parameter, then each result: caller's offset, bytes.
  o.ext = (u32)code.ext.size();
  auto match = [&](const Operand *list,
                   const std::vector<std::unique_ptr<Var>> &formals,
                   const char *what) {
    size_t n = list ? list->sub.size() : 0;
    if (n != formals.size())
      fail("'" + callee.name + "' takes " + std::to_string(formals.size()) +
           " " + what + ", not " + std::to_string(n));
    for (size_t i = 0; i < n; ++i) {
      const Operand &e = list->sub[i];
      if (e.kind != Operand::Symbol || e.var->space != Space::Param ||
          !localOffsets.count(e.var))
        fail(std::string(what) + " of call must be .param variables");
      if (e.var->bytes != formals[i]->bytes)
        fail("'" + e.var->name + "' has " + std::to_string(e.var->bytes) +
             " bytes, the callee's '" + formals[i]->name + "' " +
             std::to_string(formals[i]->bytes));
      code.ext.push_back(localOffsets.at(e.var));
      code.ext.push_back((u32)alignUp(e.var->bytes, 8));
    }
    return n;
  };
  size_t p = match(params, target.params, "parameters");
  size_t r = match(rets, target.rets, "results");
  o.nExt = (u16)p;
  o.size = (u16)r;
  emit(o);
}

void FunctionDecoder::barrier(const OpInfo &info, bool reduce) {
  const auto &ops = current->operands;
  size_t first = reduce ? 1 : 0;
  operandCount(first + (reduce ? 2 : info.counts[0]),
               first + (reduce ? 3 : info.counts[1]));
  u32 a = noReg, b = noReg, c = noReg;
  size_t n = ops.size() - first - reduce;
  if (n > 0)
    a = src(ops[first], Ty::U32);
  if (n > 1)
    b = src(ops[first + 1], Ty::U32);
  if (reduce)
    c = src(ops.back(), Ty::Pred);
  Op o = blank(info);
  o.a = a;
  o.b = b;
  o.c = c;
  if (reduce)
    o.d = dst(ops[0], info.d);
  emit(o);
}

} // namespace tds::sim
