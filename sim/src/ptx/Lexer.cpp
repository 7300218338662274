//===- Lexer.cpp - characters of PTX text to words --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ptx/Lexer.h"

#include <cctype>
#include <cstdlib>
#include <cstring>

namespace tds::sim {

namespace {
bool isWordChar(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}
std::string printable(char c) {
  if (c == 0)
    return "end of file";
  if (isprint((unsigned char)c))
    return std::string("'") + c + "'";
  char text[16];
  snprintf(text, sizeof text, "byte 0x%02x", (unsigned char)c);
  return text;
}
} // namespace

char Lexer::peek() {
  while (cur < end) {
    char c = *cur;
    if (c == '\n') {
      ++lineNumber;
      ++cur;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++cur;
    } else if (c == '/' && cur + 1 < end && cur[1] == '/') {
      while (cur < end && *cur != '\n')
        ++cur;
    } else if (c == '/' && cur + 1 < end && cur[1] == '*') {
      u32 start = lineNumber;
      cur += 2;
      while (cur + 1 < end && !(cur[0] == '*' && cur[1] == '/')) {
        if (*cur == '\n')
          ++lineNumber;
        ++cur;
      }
      if (cur + 1 >= end)
        throw PtxError(start, "comment is never closed");
      cur += 2;
    } else {
      return c;
    }
  }
  return 0;
}

bool Lexer::take(char c) {
  if (peek() != c || cur >= end)
    return false;
  ++cur;
  return true;
}

void Lexer::expect(char c, const char *where) {
  char seen = peek();
  if (!take(c))
    fail(std::string("expected '") + c + "' " + where + ", found " +
         printable(seen));
}

std::string Lexer::dottedWord() {
  peek();
  const char *start = cur;
  while (cur < end) {
    if (isWordChar(*cur) || *cur == '.')
      ++cur;
    else if (*cur == ':' && cur + 1 < end && cur[1] == ':' && cur > start)
      cur += 2;
    else
      break;
  }
  return std::string(start, cur);
}

std::string Lexer::word() {
  peek();
  const char *start = cur;
  while (cur < end && isWordChar(*cur))
    ++cur;
  return std::string(start, cur);
}

std::string Lexer::string() {
  expect('"', "to open a string");
  const char *start = cur;
  while (cur < end && *cur != '"' && *cur != '\n')
    ++cur;
  if (cur >= end || *cur != '"')
    fail("string is never closed");
  std::string text(start, cur);
  ++cur;
  return text;
}

std::string Lexer::restOfLine() {
  const char *start = cur;
  while (cur < end && *cur != '\n')
    ++cur;
  return std::string(start, cur);
}

void Lexer::skipBraces() {
  u32 start = lineNumber;
  while (char c = peek()) {
    if (c == '}') {
      ++cur;
      return;
    }
    if (c == '"')
      string();
    else
      ++cur;
  }
  throw PtxError(start, "section is never closed");
}

bool Lexer::numberNext() {
  char c = peek();
  if (isdigit((unsigned char)c))
    return true;
  return c == '-' || c == '+' || c == '~' || c == '(';
}

Lexer::Number Lexer::number() {
  peek();
  Number n;
  // A float has its own spelling, which the expression grammar does not know.
  const char *p = cur;
  bool negative = false;
  if (p < end && *p == '-') {
    negative = true;
    ++p;
  }
  const char *digits = p;
  if (end - p > 2 && p[0] == '0' && strchr("fFdD", p[1]) && p[1]) {
    int wanted = (p[1] == 'f' || p[1] == 'F') ? 8 : 16;
    const char *q = p + 2;
    u64 bits = 0;
    int seen = 0;
    while (q < end && isxdigit((unsigned char)*q) && seen < 17) {
      int digit =
          isdigit((unsigned char)*q) ? *q - '0' : (tolower(*q) - 'a' + 10);
      bits = bits << 4 | (u64)digit;
      ++q;
      ++seen;
    }
    if (seen != wanted || (q < end && isWordChar(*q)))
      fail("a float literal needs exactly " + std::to_string(wanted) +
           " hexadecimal digits");
    cur = q;
    n.isFloat = true;
    n.floatBits = wanted == 8 ? 32 : 64;
    if (negative)
      bits ^= 1ull << (n.floatBits - 1);
    n.value = (s64)bits;
    return n;
  }
  const char *q = digits;
  while (q < end && isdigit((unsigned char)*q))
    ++q;
  bool decimal =
      q > digits && q < end && (*q == '.' || ((*q == 'e' || *q == 'E')));
  if (decimal) {
    const char *e = q;
    while (e < end &&
           (isalnum((unsigned char)*e) || *e == '.' ||
            ((*e == '-' || *e == '+') && (e[-1] == 'e' || e[-1] == 'E'))))
      ++e;
    std::string text(digits, e);
    char *stop = nullptr;
    double value = strtod(text.c_str(), &stop);
    if (*stop)
      fail("malformed number '" + text + "'");
    if (negative)
      value = -value;
    cur = e;
    n.isFloat = true;
    n.floatBits = 64;
    memcpy(&n.value, &value, 8);
    return n;
  }
  n.value = integer();
  return n;
}

s64 Lexer::unary(int depth) {
  if (depth > 64)
    fail("constant expression is nested too deeply");
  char c = peek();
  if (c == '-') {
    ++cur;
    return (s64)(0 - (u64)unary(depth + 1));
  }
  if (c == '+') {
    ++cur;
    return unary(depth + 1);
  }
  if (c == '~') {
    ++cur;
    return ~unary(depth + 1);
  }
  if (c == '!') {
    ++cur;
    return !unary(depth + 1);
  }
  if (c == '(') {
    ++cur;
    s64 v = binary(0, depth + 1);
    expect(')', "to close the expression");
    return v;
  }
  if (c == 'W') {
    if (word() != "WARP_SZ")
      fail("expected a number");
    return 32;
  }
  if (!isdigit((unsigned char)c))
    fail("expected a number, found " + printable(c));
  std::string text = word();
  std::string digits = text;
  if (!digits.empty() && (digits.back() == 'U' || digits.back() == 'u'))
    digits.pop_back();
  int base = 10;
  size_t from = 0;
  if (digits.size() > 1 && digits[0] == '0') {
    if (digits[1] == 'x' || digits[1] == 'X') {
      base = 16;
      from = 2;
    } else if (digits[1] == 'b' || digits[1] == 'B') {
      base = 2;
      from = 2;
    } else {
      base = 8;
      from = 1;
    }
  }
  u64 value = 0;
  if (from == digits.size())
    fail("malformed number '" + text + "'");
  for (size_t i = from; i < digits.size(); ++i) {
    char d = digits[i];
    int digit = isdigit((unsigned char)d)    ? d - '0'
                : isxdigit((unsigned char)d) ? tolower(d) - 'a' + 10
                                             : 99;
    if (digit >= base)
      fail("malformed number '" + text + "'");
    if (value > (~0ull - (u64)digit) / (u64)base)
      fail("number '" + text + "' does not fit in 64 bits");
    value = value * (u64)base + (u64)digit;
  }
  return (s64)value;
}

s64 Lexer::binary(int minPrecedence, int depth) {
  if (depth > 64)
    fail("constant expression is nested too deeply");
  s64 left = unary(depth + 1);
  for (;;) {
    char c = peek();
    char next = cur + 1 < end ? cur[1] : 0;
    int precedence, length = 1;
    switch (c) {
    case '*':
    case '/':
    case '%':
      precedence = 6;
      break;
    case '+':
    case '-':
      precedence = 5;
      break;
    case '<':
    case '>':
      if (next != c)
        return left;
      precedence = 4;
      length = 2;
      break;
    case '&':
      precedence = 3;
      break;
    case '^':
      precedence = 2;
      break;
    case '|':
      precedence = 1;
      break;
    default:
      return left;
    }
    if (precedence <= minPrecedence)
      return left;
    cur += length;
    s64 right = binary(precedence, depth + 1);
    u64 a = (u64)left, b = (u64)right;
    switch (c) {
    case '*':
      left = (s64)(a * b);
      break;
    case '/':
    case '%':
      if (b == 0)
        fail("division by zero in a constant expression");
      if (right == -1)
        left = c == '/' ? (s64)(0 - a) : 0;
      else
        left = c == '/' ? left / right : left % right;
      break;
    case '+':
      left = (s64)(a + b);
      break;
    case '-':
      left = (s64)(a - b);
      break;
    case '<':
      left = b > 63 ? 0 : (s64)(a << b);
      break;
    case '>':
      left = b > 63 ? 0 : (s64)(a >> b);
      break;
    case '&':
      left = (s64)(a & b);
      break;
    case '^':
      left = (s64)(a ^ b);
      break;
    case '|':
      left = (s64)(a | b);
      break;
    default:
      break;
    }
  }
}

s64 Lexer::integer() { return binary(0, 0); }

} // namespace tds::sim
