//===- ParseBody.cpp - bodies of functions ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ptx/Parser.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace tds::sim {

namespace {

constexpr u32 maxScopeDepth = 200;
constexpr u32 maxRegisters = 1u << 20;
constexpr u32 maxOperandDepth = 8;

const char *const specialNames[] = {"%tid",
                                    "%ntid",
                                    "%ctaid",
                                    "%nctaid",
                                    "%laneid",
                                    "%warpid",
                                    "%nwarpid",
                                    "%smid",
                                    "%nsmid",
                                    "%gridid",
                                    "%clock",
                                    "%clock_hi",
                                    "%clock64",
                                    "%globaltimer",
                                    "%globaltimer_lo",
                                    "%globaltimer_hi",
                                    "%lanemask_eq",
                                    "%lanemask_le",
                                    "%lanemask_lt",
                                    "%lanemask_ge",
                                    "%lanemask_gt",
                                    "%dynamic_smem_size",
                                    "%total_smem_size",
                                    "%aggr_smem_size",
                                    "%clusterid",
                                    "%nclusterid",
                                    "%cluster_ctaid",
                                    "%cluster_nctaid",
                                    "%cluster_ctarank",
                                    "%cluster_nctarank",
                                    "%is_explicit_cluster",
                                    "%envreg1",
                                    "%envreg2"};

bool isSpecial(const std::string &base) {
  for (const char *name : specialNames)
    if (base == name)
      return true;
  return false;
}

} // namespace

void Parser::declare(const std::string &name, Symbol symbol) {
  if (name.empty())
    lex.fail("expected a name");
  if (!scopes.back().emplace(name, symbol).second)
    lex.fail("'" + name + "' is already declared in this scope");
}

void Parser::body(Function &function) {
  fn = &function;
  scopes.assign(1, {});
  scopeIds.assign(1, 0);
  function.scopeParents.assign(1, 0);
  currentLoc = 0;
  for (auto *list : {&function.params, &function.rets})
    for (auto &param : *list) {
      Symbol s;
      s.kind = Symbol::Variable;
      s.var = param.get();
      declare(param->name, s);
    }
  lex.expect('{', "to open the function body");
  while (!scopes.empty())
    statement(function);
  function.endLine = lex.line();
  fn = nullptr;
}

void Parser::registers(Function &function) {
  std::string word = (lex.peek(), lex.dottedWord());
  Ty type = word.empty() ? Ty::None : typeFromName(word.substr(1));
  if (type == Ty::None || word[0] != '.')
    lex.fail("unknown register type '" + word + "'");
  do {
    std::string name = lex.word();
    Symbol s;
    s.type = type;
    s.reg = function.numRegs;
    s.count = 1;
    if (lex.take('<')) {
      s64 n = lex.integer();
      if (n < 0 || n > maxRegisters)
        lex.fail("register count is out of range");
      s.kind = Symbol::Range;
      s.count = (u32)n;
      lex.expect('>', "after a register count");
    }
    if (s.count > maxRegisters - function.numRegs)
      lex.fail("more than " + std::to_string(maxRegisters) +
               " registers in one function");
    function.numRegs += s.count;
    declare(s.kind == Symbol::Range ? name + "<" : name, s);
  } while (lex.take(','));
  lex.expect(';', "after registers");
}

void Parser::statement(Function &function) {
  char c = lex.peek();
  if (c == 0)
    throw PtxError(lex.line(), "function '" + function.name + "' (line " +
                                   std::to_string(function.line) +
                                   ") is never closed");
  if (lex.take('{')) {
    if (scopes.size() >= maxScopeDepth)
      lex.fail("scopes are nested too deeply");
    function.scopeParents.push_back(scopeIds.back());
    scopeIds.push_back((u32)function.scopeParents.size() - 1);
    scopes.emplace_back();
    return;
  }
  if (lex.take('}')) {
    scopes.pop_back();
    scopeIds.pop_back();
    return;
  }
  if (lex.take(';'))
    return;
  Instr instr;
  instr.line = lex.line();
  instr.loc = currentLoc;
  instr.scope = scopeIds.back();
  if (c == '@') {
    lex.take('@');
    instr.guarded = true;
    instr.guardNegated = lex.take('!');
    std::string name = lex.word();
    Operand guard;
    if (!lookup(name, guard) || guard.kind != Operand::Reg ||
        guard.regType != Ty::Pred)
      lex.fail("guard '" + name + "' is not a predicate register");
    instr.guard = guard.reg;
    lex.peek();
    instr.line = lex.line();
    std::string opcode = lex.dottedWord();
    instruction(function, opcode, std::move(instr));
    return;
  }
  std::string word = lex.dottedWord();
  if (word.empty()) {
    lex.expect('}', "to close the function");
    return;
  }
  if (word[0] != '.') {
    if (lex.peek() == ':') {
      lex.take(':');
      // A label, or a table of labels or a prototype that carries a name.
      if (lex.peek() == '.') {
        u32 line = lex.line();
        std::string directive = lex.dottedWord();
        if (directive == ".branchtargets" || directive == ".calltargets") {
          LabelTable table;
          table.scope = scopeIds.back();
          table.line = line;
          do
            table.labels.push_back(lex.word());
          while (lex.take(','));
          lex.expect(';', "after a table of labels");
          function.tables[{scopeIds.back(), word}] = std::move(table);
          return;
        }
        if (directive == ".callprototype") {
          while (lex.peek() != ';') {
            if (lex.atEnd())
              lex.fail(".callprototype is never closed");
            if (lex.dottedWord().empty())
              lex.take(lex.peek());
          }
          lex.take(';');
          return;
        }
        if (!function.labels
                 .emplace(std::make_pair(scopeIds.back(), word),
                          (u32)function.body.size())
                 .second)
          lex.fail("label '" + word + "' is already defined");
        if (directive == ".loc" || directive == ".pragma") {
          // Fall through to the ordinary directive below.
          word = directive;
        } else {
          throw PtxError(line, "unknown directive '" + directive + "'");
        }
      } else {
        if (!function.labels
                 .emplace(std::make_pair(scopeIds.back(), word),
                          (u32)function.body.size())
                 .second)
          lex.fail("label '" + word + "' is already defined");
        return;
      }
    } else {
      instruction(function, word, std::move(instr));
      return;
    }
  }
  if (word == ".reg") {
    registers(function);
  } else if (word == ".local" || word == ".shared" || word == ".param" ||
             word == ".global" || word == ".const") {
    Space space = word == ".local"    ? Space::Local
                  : word == ".shared" ? Space::Shared
                  : word == ".param"  ? Space::Param
                  : word == ".global" ? Space::Global
                                      : Space::Const;
    do {
      auto var = variable(space, false);
      if (var->isDynamic)
        lex.fail("'" + var->name + "' has no size");
      if ((space == Space::Local || space == Space::Param) &&
          var->bytes > 512 * 1024)
        lex.fail("'" + var->name + "' is larger than 512 KiB a thread");
      Symbol s;
      s.kind = Symbol::Variable;
      s.var = var.get();
      declare(var->name, s);
      var->owner = &function;
      if (space == Space::Local || space == Space::Param)
        function.locals.push_back(std::move(var));
      else
        module->vars.push_back(std::move(var));
    } while (lex.take(','));
    lex.expect(';', "after a variable");
  } else if (word == ".loc") {
    Loc loc;
    loc.file = (u32)lex.integer();
    loc.line = (u32)lex.integer();
    if (isdigit((unsigned char)lex.peek()))
      loc.column = (u32)lex.integer();
    if (lex.peek() == ',') {
      // `function_name label, inlined_at file line column`
      std::string rest = lex.restOfLine();
      size_t at = rest.find("inlined_at");
      if (at != std::string::npos)
        sscanf(rest.c_str() + at + 10, "%u %u %u", &loc.inlinedFile,
               &loc.inlinedLine, &loc.inlinedColumn);
    }
    currentLoc = (u32)module->locs.size();
    module->locs.push_back(loc);
  } else if (word == ".pragma") {
    lex.string();
    while (lex.take(','))
      lex.string();
    lex.expect(';', "after .pragma");
  } else {
    throw PtxError(instr.line, "unknown directive '" + word + "'");
  }
}

bool Parser::lookup(const std::string &name, Operand &out) {
  size_t digits = name.size();
  while (digits > 0 && isdigit((unsigned char)name[digits - 1]))
    --digits;
  std::string rangeName = name.substr(0, digits) + "<";
  // `%r007` is not `%r7`.
  bool rangeAllowed = digits < name.size() &&
                      (name[digits] != '0' || digits + 1 == name.size()) &&
                      name.size() - digits <= 8;
  for (size_t i = scopes.size(); i-- > 0;) {
    auto it = scopes[i].find(name);
    if (it != scopes[i].end()) {
      const Symbol &s = it->second;
      if (s.kind == Symbol::Register) {
        out.kind = Operand::Reg;
        out.reg = s.reg;
        out.regType = s.type;
        return true;
      }
      out.kind = Operand::Symbol;
      out.var = s.var;
      return true;
    }
    if (!rangeAllowed)
      continue;
    it = scopes[i].find(rangeName);
    if (it != scopes[i].end()) {
      u32 index = (u32)strtoul(name.c_str() + digits, nullptr, 10);
      if (index < it->second.count) {
        out.kind = Operand::Reg;
        out.reg = it->second.reg + index;
        out.regType = it->second.type;
        return true;
      }
    }
  }
  auto global = module->symbols.find(name);
  if (global != module->symbols.end()) {
    out.kind = Operand::Symbol;
    out.var = global->second;
    return true;
  }
  return false;
}

Operand Parser::named(std::string name) {
  Operand op;
  if (name == "_") {
    op.kind = Operand::Sink;
    return op;
  }
  if (name == "WARP_SZ") {
    op.kind = Operand::Int;
    op.imm = 32;
    return op;
  }
  if (lookup(name, op)) {
    if (op.kind == Operand::Symbol && (lex.peek() == '+' || lex.peek() == '-'))
      op.imm = lex.integer();
    return op;
  }
  size_t dot = name.find('.');
  std::string base = name.substr(0, dot);
  if (isSpecial(base)) {
    op.kind = Operand::Special;
    op.name = std::move(name);
    return op;
  }
  if (name[0] == '%')
    lex.fail("unknown register '" + name + "'");
  op.kind = Operand::Name;
  op.name = std::move(name);
  return op;
}

Operand Parser::address(u32 depth) {
  Operand op;
  op.kind = Operand::Addr;
  Operand base = operand(depth + 1);
  if (base.kind == Operand::Symbol) {
    op.imm = base.imm;
    base.imm = 0;
  } else if (base.kind == Operand::Reg) {
    char c = lex.peek();
    if (c == '+') {
      lex.take('+');
      op.imm = lex.integer();
    } else if (c == '-') {
      op.imm = lex.integer();
    }
  } else if (base.kind == Operand::Name) {
    lex.fail("unknown name '" + base.name + "' in an address");
  } else if (base.kind != Operand::Int) {
    lex.fail("an address needs a register, a variable or a number");
  }
  op.sub.push_back(std::move(base));
  while (lex.take(','))
    op.sub.push_back(operand(depth + 1));
  lex.expect(']', "to close the address");
  return op;
}

Operand Parser::operand(u32 depth) {
  if (depth > maxOperandDepth)
    lex.fail("operand is nested too deeply");
  char c = lex.peek();
  Operand op;
  if (c == '{' || (c == '(' && depth == 0)) {
    char close = c == '{' ? '}' : ')';
    lex.take(c);
    op.kind = c == '{' ? Operand::Vec : Operand::List;
    if (!lex.take(close)) {
      do {
        if (op.sub.size() >= 256)
          lex.fail("operand has more than 256 elements");
        op.sub.push_back(operand(depth + 1));
      } while (lex.take(','));
      lex.expect(close, "to close the operand");
    }
    return op;
  }
  if (c == '[') {
    lex.take('[');
    return address(depth);
  }
  if (c == '!') {
    lex.take('!');
    op = operand(depth + 1);
    if (op.kind != Operand::Reg || op.regType != Ty::Pred)
      lex.fail("'!' needs a predicate register");
    op.negated = true;
    return op;
  }
  if (lex.numberNext()) {
    Lexer::Number n = lex.number();
    op.kind = n.isFloat ? Operand::Flt : Operand::Int;
    op.fltBits = n.floatBits;
    op.imm = n.value;
    return op;
  }
  std::string name = lex.dottedWord();
  if (name.empty())
    lex.expect('%', "to start an operand");
  op = named(std::move(name));
  if ((op.kind == Operand::Reg || op.kind == Operand::Sink) && lex.take('|')) {
    std::string other = lex.word();
    if (other.empty())
      lex.fail("expected a register after '|'");
    op.second = std::make_shared<Operand>(named(other));
  }
  return op;
}

void Parser::instruction(Function &function, const std::string &opcode,
                         Instr instr) {
  if (opcode.empty())
    lex.fail("expected an instruction");
  instr.opcode = opcode;
  if (!lex.take(';')) {
    do {
      if (instr.operands.size() >= 64)
        lex.fail("too many operands");
      instr.operands.push_back(operand(0));
    } while (lex.take(','));
    lex.expect(';', "after an instruction");
  }
  function.body.push_back(std::move(instr));
}

} // namespace tds::sim
