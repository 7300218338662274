//===- Parser.cpp - PTX text to a Module ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A single pass: names of registers and variables resolve as they are read
// (PTX declares before use); labels and functions, which may come later, stay
// names until the decoder sees them. The text is hostile: every count that it
// names is bounded before memory is taken for it.
//
//===----------------------------------------------------------------------===//

#include "ptx/Lexer.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <unordered_map>

namespace tds::sim {

namespace {

constexpr u32 maxScopeDepth = 200;
constexpr u32 maxRegisters = 1u << 20;
// A module's variables take the host's memory, so hostile text must not name
// as much as it likes.
constexpr u64 maxVarBytes = 1ull << 28;
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
                                    "%is_explicit_cluster"};

bool isSpecial(const std::string &base) {
  for (const char *name : specialNames)
    if (base == name)
      return true;
  return false;
}

class Parser {
public:
  Parser(const char *text, size_t size)
      : lex(text, size), module(std::make_unique<Module>()) {
    module->locs.push_back({});
  }

  std::unique_ptr<Module> run();

private:
  struct Symbol {
    enum { Register, Range, Variable } kind = Register;
    Ty type = Ty::None;
    u32 reg = 0, count = 0;
    Var *var = nullptr;
  };
  using Scope = std::unordered_map<std::string, Symbol>;

  void header();
  void moduleItem();
  void fileDirective();
  std::unique_ptr<Var> variable(Space space, bool inParamList);
  void initialiser(Var &var, Ty type);
  void initValue(Var &var, Ty type, u64 &at);
  void function(bool isEntry, bool isExtern);
  void paramList(Function &fn, std::vector<std::unique_ptr<Var>> &into);
  void performanceDirectives(Function &fn);
  void body(Function &fn);
  void statement(Function &fn);
  void registers(Function &fn);
  void instruction(Function &fn, const std::string &opcode, Instr instr);
  Operand operand(u32 depth);
  Operand address(u32 depth);
  Operand named(std::string name);
  bool lookup(const std::string &name, Operand &out);
  void declare(const std::string &name, Symbol symbol);
  void addModuleVar(std::unique_ptr<Var> var);

  Lexer lex;
  std::unique_ptr<Module> module;
  std::vector<Scope> scopes;
  std::vector<u32> scopeIds;
  Function *fn = nullptr;
  u32 currentLoc = 0;
};

std::unique_ptr<Module> Parser::run() {
  header();
  while (!lex.atEnd())
    moduleItem();
  return std::move(module);
}

void Parser::header() {
  if (lex.atEnd())
    lex.fail("the module is empty");
  if (lex.dottedWord() != ".version")
    lex.fail("a module must start with .version");
  lex.peek();
  std::string text = lex.dottedWord();
  size_t dot = text.find('.');
  if (dot == std::string::npos || dot == 0 || dot > 3 ||
      text.size() - dot - 1 != 1 ||
      !std::all_of(text.begin(), text.end(), [](char c) {
        return isdigit((unsigned char)c) || c == '.';
      }))
    lex.fail("malformed .version '" + text + "'");
  module->version = (u32)(atoi(text.c_str()) * 10 + (text[dot + 1] - '0'));

  if (lex.dottedWord() != ".target")
    lex.fail("expected .target after .version");
  do {
    std::string name = lex.word();
    if (name.compare(0, 3, "sm_") == 0) {
      size_t i = 3;
      u32 sm = 0;
      while (i < name.size() && isdigit((unsigned char)name[i]) && sm < 1000)
        sm = sm * 10 + (u32)(name[i++] - '0');
      module->sm = sm;
      if (i < name.size() && (name[i] == 'a' || name[i] == 'f'))
        module->smSuffix = name[i++];
      if (i != name.size() || sm < 10)
        lex.fail("malformed target '" + name + "'");
    } else if (name != "debug" && name != "texmode_independent" &&
               name != "texmode_unified") {
      lex.fail("unknown target '" + name + "'");
    }
  } while (lex.take(','));
  if (!module->sm)
    lex.fail(".target names no architecture (sm_NN)");
}

void Parser::fileDirective() {
  u64 number = (u64)lex.integer();
  std::string name = lex.string();
  module->files[(u32)number] = name;
  if (lex.take(',')) {
    lex.integer();
    if (lex.take(','))
      lex.integer();
  }
}

void Parser::addModuleVar(std::unique_ptr<Var> var) {
  auto found = module->symbols.find(var->name);
  if (found != module->symbols.end()) {
    Var *old = found->second;
    if (!(old->isExtern && old->space == var->space))
      throw PtxError(var->line, "'" + var->name +
                                    "' is already defined at line " +
                                    std::to_string(old->line));
    if (var->isExtern)
      return;
    // A definition completes an earlier extern declaration in place, because
    // operands may already point at it.
    std::string name = old->name;
    *old = std::move(*var);
    return;
  }
  if (module->functions.count(var->name))
    throw PtxError(var->line, "'" + var->name + "' is already a function");
  module->symbols[var->name] = var.get();
  module->vars.push_back(std::move(var));
}

void Parser::moduleItem() {
  u32 line = (lex.peek(), lex.line());
  std::string directive = lex.dottedWord();
  bool isExtern = false;
  // Linkage words.
  while (directive == ".extern" || directive == ".visible" ||
         directive == ".weak" || directive == ".common") {
    isExtern |= directive == ".extern";
    directive = (lex.peek(), lex.dottedWord());
  }
  if (directive == ".entry" || directive == ".func") {
    function(directive == ".entry", isExtern);
  } else if (directive == ".global" || directive == ".const" ||
             directive == ".shared") {
    Space space = directive == ".global"  ? Space::Global
                  : directive == ".const" ? Space::Const
                                          : Space::Shared;
    do {
      auto var = variable(space, false);
      var->isExtern = isExtern;
      if (var->isDynamic && !(isExtern && space == Space::Shared))
        throw PtxError(var->line, "'" + var->name + "' has no size");
      addModuleVar(std::move(var));
    } while (lex.take(','));
    lex.expect(';', "after a variable");
  } else if (directive == ".file") {
    fileDirective();
  } else if (directive == ".section") {
    lex.dottedWord();
    lex.expect('{', "to open a section");
    lex.skipBraces();
  } else if (directive == ".address_size") {
    if (lex.integer() != 64)
      lex.fail("only .address_size 64 is supported");
  } else if (directive == ".pragma") {
    lex.string();
    lex.expect(';', "after .pragma");
  } else if (directive == ".loc") {
    lex.restOfLine();
  } else {
    if (directive.empty())
      lex.expect('.', "to start a directive");
    throw PtxError(line, "unknown directive '" + directive + "'");
  }
}

/// `[.align N] [.v2|.v4] .type name [sizes] [= init]`, after the space word.
std::unique_ptr<Var> Parser::variable(Space space, bool inParamList) {
  auto var = std::make_unique<Var>();
  var->space = space;
  u32 vector = 1, align = 0;
  Ty type = Ty::None;
  while (lex.peek() == '.') {
    std::string word = lex.dottedWord();
    // `.b8` may run into nothing else, but `.v4.f32` comes as one word.
    size_t at = 0;
    while (at < word.size()) {
      size_t next = word.find('.', at + 1);
      std::string part = word.substr(
          at + 1, (next == std::string::npos ? word.size() : next) - at - 1);
      at = next == std::string::npos ? word.size() : next;
      if (part == "align") {
        s64 value = lex.integer();
        if (value < 1 || value > 65536 || (value & (value - 1)))
          lex.fail("alignment must be a power of two up to 65536");
        // Behind the type of a parameter it speaks of what a pointer points to.
        if (!inParamList || type == Ty::None)
          align = (u32)value;
      } else if (part == "v2" || part == "v4") {
        vector = part == "v2" ? 2 : 4;
      } else if (inParamList &&
                 (part == "ptr" || part == "global" || part == "shared" ||
                  part == "local" || part == "const")) {
        // A hint about what a pointer parameter points to.
      } else if (!inParamList && part == "attribute") {
        lex.expect('(', "after .attribute");
        std::string name = lex.dottedWord();
        if (name != ".managed")
          lex.fail("unknown attribute '" + name + "'");
        lex.expect(')', "after the attribute");
      } else if (!inParamList && part == "const") {
        lex.fail("unexpected '." + part + "'");
      } else {
        Ty t = typeFromName(part);
        if (t == Ty::None || t == Ty::Pred)
          lex.fail("unknown type '." + part + "'");
        type = t;
      }
    }
  }
  if (type == Ty::None)
    lex.fail("variable without a type");
  var->name = (lex.peek(), lex.word());
  var->line = lex.line();
  var->type = type;
  if (var->name.empty())
    lex.fail("expected the name of a variable");
  u64 count = vector;
  while (lex.take('[')) {
    if (lex.take(']')) {
      var->isDynamic = true;
      continue;
    }
    s64 n = lex.integer();
    if (n < 0 || (u64)n > maxVarBytes || (n && count > maxVarBytes / (u64)n))
      lex.fail("size of '" + var->name + "' is out of range");
    count *= (u64)n;
    lex.expect(']', "after an array size");
  }
  u64 natural = bytesOf(type) * vector;
  var->bytes = count * bytesOf(type);
  if (var->bytes > maxVarBytes)
    lex.fail("'" + var->name + "' is larger than 256 MiB");
  var->align = std::max<u32>(align, (u32)natural);
  if (lex.take('=')) {
    if (space != Space::Global && space != Space::Const)
      lex.fail("only .global and .const variables take an initial value");
    bool sized = !var->isDynamic;
    initialiser(*var, type);
    if (!sized) {
      var->bytes = var->init.size();
      var->isDynamic = false;
    }
    if (var->init.size() > var->bytes)
      lex.fail("initial value of '" + var->name +
               "' is longer than the variable");
  }
  return var;
}

void Parser::initValue(Var &var, Ty type, u64 &at) {
  u32 bytes = bytesOf(type);
  if (at + bytes > maxVarBytes || (!var.isDynamic && at + bytes > var.bytes))
    lex.fail("initial value of '" + var.name + "' is longer than the variable");
  if (var.init.size() < at + bytes)
    var.init.resize(at + bytes);
  char c = lex.peek();
  if (isalpha((unsigned char)c) || c == '_' || c == '$') {
    std::string name = lex.word();
    if (name != "WARP_SZ") {
      Var::Reloc reloc{at, name, 0, false};
      if ((name == "generic" || name == "mask") && lex.take('(')) {
        if (name == "mask")
          lex.fail("mask() initialisers are not supported");
        reloc.generic = true;
        reloc.symbol = lex.word();
        lex.expect(')', "after generic(");
      }
      if (lex.peek() == '+' || lex.peek() == '-')
        reloc.addend = lex.integer();
      if (bytes != 8)
        lex.fail("an address needs a 64-bit element");
      var.relocs.push_back(reloc);
      at += bytes;
      return;
    }
    u64 value = 32;
    memcpy(var.init.data() + at, &value, std::min(bytes, 8u));
    at += bytes;
    return;
  }
  Lexer::Number n = lex.number();
  u64 value = (u64)n.value;
  if (n.isFloat && bytes == 4 && n.floatBits == 64) {
    double d;
    memcpy(&d, &value, 8);
    float f = (float)d;
    value = 0;
    memcpy(&value, &f, 4);
  } else if (!n.isFloat && type == Ty::F32) {
    float f = (float)n.value;
    value = 0;
    memcpy(&value, &f, 4);
  } else if (!n.isFloat && type == Ty::F64) {
    double d = (double)n.value;
    memcpy(&value, &d, 8);
  } else if (n.isFloat && !isFloat(type)) {
    lex.fail("a float cannot initialise ." + std::string(nameOf(type)));
  }
  memcpy(var.init.data() + at, &value, std::min(bytes, 8u));
  at += bytes;
}

void Parser::initialiser(Var &var, Ty type) {
  u64 at = 0;
  if (!lex.take('{')) {
    initValue(var, type, at);
    return;
  }
  u32 depth = 1;
  bool any = false;
  while (depth) {
    if (lex.take('{')) {
      if (++depth > 16)
        lex.fail("initial value is nested too deeply");
      any = false;
    } else if (lex.take('}')) {
      --depth;
      any = true;
    } else {
      if (any)
        lex.expect(',', "between initial values");
      if (lex.peek() == '{')
        continue;
      initValue(var, type, at);
      any = true;
    }
  }
}

void Parser::paramList(Function &function,
                       std::vector<std::unique_ptr<Var>> &into) {
  lex.expect('(', "to open the parameters");
  if (lex.take(')'))
    return;
  do {
    std::string word = lex.dottedWord();
    if (word != ".param")
      lex.fail("expected .param, found '" + word + "'");
    auto var = variable(Space::Param, true);
    if (var->isDynamic)
      lex.fail("parameter '" + var->name + "' has no size");
    if (var->bytes > 65536)
      lex.fail("parameter '" + var->name + "' is larger than 64 KiB");
    var->owner = &function;
    into.push_back(std::move(var));
  } while (lex.take(','));
  lex.expect(')', "to close the parameters");
}

void Parser::performanceDirectives(Function &function) {
  while (lex.peek() == '.') {
    std::string word = lex.dottedWord();
    if (word == ".maxntid" || word == ".reqntid" ||
        word == ".reqnctapercluster") {
      u32 *into = word == ".maxntid"   ? function.maxThreads
                  : word == ".reqntid" ? function.reqThreads
                                       : nullptr;
      u32 values[3] = {1, 1, 1};
      int n = 0;
      do {
        s64 v = lex.integer();
        if (v < 1 || v > 1 << 20 || n == 3)
          lex.fail("bad size in " + word);
        values[n++] = (u32)v;
      } while (lex.take(','));
      if (into)
        std::copy(values, values + 3, into);
      else if (values[0] * values[1] * values[2] != 1)
        lex.fail("clusters of more than one block are not supported");
    } else if (word == ".minnctapersm" || word == ".maxnreg" ||
               word == ".maxnctapersm") {
      lex.integer();
    } else if (word == ".noreturn") {
    } else if (word == ".pragma") {
      lex.string();
      lex.expect(';', "after .pragma");
    } else if (word == ".abi_preserve" || word == ".abi_preserve_control") {
      lex.integer();
    } else {
      lex.fail("unknown directive '" + word + "'");
    }
  }
}

void Parser::function(bool isEntry, bool isExtern) {
  auto owned = std::make_unique<Function>();
  Function &f = *owned;
  f.isEntry = isEntry;
  if (!isEntry && lex.peek() == '(')
    paramList(f, f.rets);
  f.name = (lex.peek(), lex.word());
  f.line = lex.line();
  if (f.name.empty())
    lex.fail("expected the name of a function");
  if (lex.peek() == '(')
    paramList(f, f.params);
  performanceDirectives(f);
  if (module->symbols.count(f.name))
    lex.fail("'" + f.name + "' is already a variable");
  if (lex.take(';')) {
    if (!module->functions.count(f.name))
      module->functions[f.name] = std::move(owned);
    return;
  }
  if (isExtern)
    lex.fail("an .extern function has no body");
  auto old = module->functions.find(f.name);
  if (old != module->functions.end() && !old->second->isDeclaration)
    lex.fail("function '" + f.name + "' is already defined at line " +
             std::to_string(old->second->line));
  f.isDeclaration = false;
  body(f);
  module->functions[f.name] = std::move(owned);
}

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

} // namespace

std::unique_ptr<Module> parsePtx(const char *text, size_t size) {
  return Parser(text, size).run();
}

} // namespace tds::sim
