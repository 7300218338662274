//===- ParseVariables.cpp - variables and their values ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ptx/Parser.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace tds::sim {

// A module's variables take the host's memory, so hostile text must not name
// as much as it likes.
static constexpr u64 maxVarBytes = 1ull << 28;

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

} // namespace tds::sim
