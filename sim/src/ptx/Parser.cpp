//===- Parser.cpp - PTX text to a Module ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ptx/Parser.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace tds::sim {

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
                                       : function.reqCluster;
      u32 values[3] = {1, 1, 1};
      int n = 0;
      do {
        s64 v = lex.integer();
        if (v < 1 || v > 1 << 20 || n == 3)
          lex.fail("bad size in " + word);
        values[n++] = (u32)v;
      } while (lex.take(','));
      std::copy(values, values + 3, into);
      if (into == function.reqCluster &&
          (u64)values[0] * values[1] * values[2] > maxClusterBlocks)
        lex.fail("a cluster has at most " + std::to_string(maxClusterBlocks) +
                 " blocks");
    } else if (word == ".maxclusterrank") {
      s64 v = lex.integer();
      if (v < 1 || v > 1 << 20)
        lex.fail("bad number in " + word);
      function.maxClusterRank = (u32)v;
    } else if (word == ".explicitcluster") {
      function.explicitCluster = true;
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

std::unique_ptr<Module> parsePtx(const char *text, size_t size) {
  return Parser(text, size).run();
}

} // namespace tds::sim
