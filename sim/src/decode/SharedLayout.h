//===- SharedLayout.h - addresses of shared variables -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TDSL_SIM_DECODE_SHAREDLAYOUT_H
#define TDSL_SIM_DECODE_SHAREDLAYOUT_H

#include "decode/FunctionDecoder.h"

namespace tds::sim {

/// Shared variables that `fn` names.
inline void namedShared(const Function &fn, std::set<Var *> &out) {
  std::vector<const Operand *> work;
  for (const Instr &in : fn.body)
    for (const Operand &op : in.operands)
      work.push_back(&op);
  while (!work.empty()) {
    const Operand *op = work.back();
    work.pop_back();
    if (op->kind == Operand::Symbol && op->var->space == Space::Shared)
      out.insert(op->var);
    for (const Operand &sub : op->sub)
      work.push_back(&sub);
  }
}

/// Places shared variables. A kernel has only those that it names, so each
/// kernel's layout is its own; what device functions name comes first, at the
/// same place for every kernel.
class SharedLayout {
public:
  explicit SharedLayout(Module &module) {
    for (auto &var : module.vars)
      if (var->space == Space::Shared) {
        if (var->isExtern && !var->isDynamic && var->bytes)
          throw PtxError(var->line, "extern .shared '" + var->name +
                                        "' has a size: only x[] may be extern");
        inOrder.push_back(var.get());
      }
    std::set<Var *> common;
    for (auto &entry : module.functions)
      if (!entry.second->isDeclaration && !entry.second->isEntry)
        namedShared(*entry.second, common);
    commonBytes = place(common, 0);
    for (Var *var : common)
      commonDynamic |= isDynamic(*var);
    commonVars = common;
    u64 most = commonBytes;
    for (auto &entry : module.functions)
      if (entry.second->isEntry && !entry.second->isDeclaration)
        most = std::max(most, enter(*entry.second));
    // Functions see dynamic shared memory at one place only.
    if (commonDynamic) {
      fixedEnd = most;
      for (Var *var : inOrder)
        if (isDynamic(*var))
          var->address = most = alignUp(most, var->align);
      fixedEnd = most;
    }
  }

  /// Gives the variables of entry `fn` their addresses; the static bytes.
  u64 enter(const Function &fn) {
    std::set<Var *> own;
    namedShared(fn, own);
    for (Var *var : commonVars)
      own.erase(var);
    u64 end = place(own, commonBytes);
    if (fixedEnd)
      end = fixedEnd;
    for (Var *var : inOrder)
      if (isDynamic(*var) && own.count(var))
        end = alignUp(end, var->align);
    if (!commonDynamic)
      for (Var *var : inOrder)
        if (isDynamic(*var))
          var->address = end;
    return end;
  }

private:
  static bool isDynamic(const Var &var) {
    return var.isDynamic || (var.isExtern && var.bytes == 0);
  }
  u64 place(const std::set<Var *> &vars, u64 at) {
    for (Var *var : inOrder) {
      if (!vars.count(var) || isDynamic(*var))
        continue;
      at = alignUp(at, var->align);
      var->address = at;
      at += var->bytes;
      if (at > 1u << 20)
        throw PtxError(var->line, "shared variables exceed 1 MiB");
    }
    return at;
  }

  std::vector<Var *> inOrder;
  std::set<Var *> commonVars;
  u64 commonBytes = 0, fixedEnd = 0;
  bool commonDynamic = false;
};

} // namespace tds::sim

#endif // TDSL_SIM_DECODE_SHAREDLAYOUT_H
