//===- Parser.h - PTX text to a Module --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal to ptx/. A single pass: names of registers and variables resolve as
// they are read (PTX declares before use); labels and functions, which may come
// later, stay names until the decoder sees them. The text is hostile: every
// count that it names is bounded before memory is taken for it.
//
// The members lie in files by what they read: variables (ParseVariables.cpp),
// bodies of functions (ParseBody.cpp), the rest (Parser.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_PTX_PARSER_H
#define TDSL_SIM_PTX_PARSER_H

#include "ptx/Lexer.h"

#include <unordered_map>

namespace tds::sim {

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

} // namespace tds::sim

#endif // TDSL_SIM_PTX_PARSER_H
