//===- Lexer.cpp - Text to tokens -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/Frontend/Lexer.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ConvertUTF.h"

using namespace tdsl;
using llvm::StringRef;
using llvm::Twine;

bool tdsl::isBinaryOperator(Tok kind) {
  switch (kind) {
  case Tok::KwOr:
  case Tok::KwAnd:
  case Tok::EqEq:
  case Tok::NotEq:
  case Tok::Less:
  case Tok::LessEq:
  case Tok::Greater:
  case Tok::GreaterEq:
  case Tok::Plus:
  case Tok::Minus:
  case Tok::Star:
  case Tok::StarStar:
  case Tok::Slash:
  case Tok::SlashSlash:
  case Tok::Percent:
  case Tok::At:
    return true;
  default:
    return false;
  }
}

StringRef tdsl::describe(Tok kind) {
  switch (kind) {
  case Tok::Eof:
    return "the end of the file";
  case Tok::Error:
    return "a bad character";
  case Tok::Ident:
    return "a name";
  case Tok::Int:
  case Tok::Float:
    return "a number";
  case Tok::String:
    return "a string";
#define KEYWORD(NAME, TEXT)                                                    \
  case Tok::Kw##NAME:                                                          \
    return "`" TEXT "`";
#define PUNCT(NAME, TEXT)                                                      \
  case Tok::NAME:                                                              \
    return "`" TEXT "`";
#include "tdsl/Frontend/Tokens.def"
  }
  return {};
}

static Tok classifyWord(StringRef word) {
  return llvm::StringSwitch<Tok>(word)
#define KEYWORD(NAME, TEXT) .Case(TEXT, Tok::Kw##NAME)
#include "tdsl/Frontend/Tokens.def"
      .Default(Tok::Ident);
}

/// True for tokens after which a value may be complete, so that `//` divides.
static bool canEndValue(Tok kind) {
  switch (kind) {
  case Tok::Ident:
  case Tok::Int:
  case Tok::Float:
  case Tok::RParen:
  case Tok::RBracket:
    return true;
  default:
    return false;
  }
}

static bool isWordStart(char c) { return llvm::isAlpha(c) || c == '_'; }
static bool isWordPart(char c) { return llvm::isAlnum(c) || c == '_'; }

/// Length of the UTF-8 sequence at `p`, 0 where it is malformed.
static unsigned sequenceLength(const char *p, const char *end) {
  unsigned n = llvm::getNumBytesForUTF8(*p);
  if (n > size_t(end - p))
    return 0;
  auto *bytes = reinterpret_cast<const llvm::UTF8 *>(p);
  return llvm::isLegalUTF8Sequence(bytes, bytes + n) ? n : 0;
}

size_t tdsl::findInvalidUTF8(StringRef text) {
  for (const char *p = text.begin(); p != text.end();) {
    if (uint8_t(*p) < 0x80) {
      ++p;
      continue;
    }
    unsigned n = sequenceLength(p, text.end());
    if (n == 0)
      return p - text.begin();
    p += n;
  }
  return StringRef::npos;
}

Lexer::Lexer(const SourceManager &sources, SourceManager::FileId file,
             DiagnosticEngine &diags, llvm::BumpPtrAllocator &arena)
    : sources(sources), file(file), diags(diags), arena(arena) {
  StringRef text = sources.getText(file);
  begin = pos = text.begin();
  end = text.end();
  if (text.starts_with("\xEF\xBB\xBF")) // byte order mark
    pos += 3;
}

SourceLoc Lexer::loc(const char *p) const {
  return sources.getLoc(file, p - begin);
}

Token Lexer::make(Tok kind, const char *start) {
  Token token;
  token.kind = kind;
  token.afterNewline = sawNewline;
  token.text = StringRef(start, pos - start);
  token.range = {loc(start), loc(pos)};
  token.doc = doc;
  doc = {};
  sawNewline = false;
  previous = kind;
  return token;
}

/// Skips white space and comments, and collects the doc lines.
void Lexer::skipBlanks() {
  // The doc lines so far; joined once a token follows.
  llvm::SmallVector<StringRef, 4> docLines;
  unsigned blanks = 0;
  while (pos != end) {
    char c = *pos;
    if (c == ' ') {
      ++blanks;
      ++pos;
    } else if (c == '\t') {
      blanks += 2;
      ++pos;
    } else if (c == '\n' || c == '\r') {
      sawNewline = true;
      ++pos;
    } else if (c == '/' && end - pos >= 2 && pos[1] == '/') {
      bool divides = !sawNewline && canEndValue(previous) && blanks < 2 &&
                     !(end - pos >= 3 && pos[2] == '/');
      if (divides)
        break;
      const char *start = pos;
      while (pos != end && *pos != '\n' && *pos != '\r')
        ++pos;
      StringRef comment(start, pos - start);
      if (comment.starts_with("///") && !comment.starts_with("////"))
        docLines.push_back(comment.drop_front(3).trim());
      else
        docLines.clear();
    } else {
      break;
    }
  }
  if (docLines.empty())
    return;
  std::string text = llvm::join(docLines, "\n");
  char *copy = arena.Allocate<char>(text.size());
  std::copy(text.begin(), text.end(), copy);
  doc = StringRef(copy, text.size());
}

Token Lexer::lexNumber(const char *start) {
  bool isFloat = false;
  const char *problem = nullptr;
  if (*start == '0' && pos != end && (*pos == 'x' || *pos == 'X')) {
    ++pos;
    const char *digits = pos;
    while (pos != end && (llvm::isHexDigit(*pos) || *pos == '_'))
      ++pos;
    if (pos == digits)
      problem = "hexadecimal digits are missing after `0x`";
  } else {
    auto digits = [&] {
      while (pos != end && (llvm::isDigit(*pos) || *pos == '_'))
        ++pos;
    };
    digits();
    if (end - pos >= 2 && *pos == '.' && llvm::isDigit(pos[1])) {
      isFloat = true;
      ++pos;
      digits();
    }
    if (pos != end && (*pos == 'e' || *pos == 'E')) {
      const char *p = pos + 1;
      if (p != end && (*p == '+' || *p == '-'))
        ++p;
      if (p != end && llvm::isDigit(*p)) {
        isFloat = true;
        pos = p;
        digits();
      }
    }
  }
  if (pos != end && isWordPart(*pos)) {
    while (pos != end && isWordPart(*pos))
      ++pos;
    if (!problem)
      problem = "a letter follows the digits";
  } else if (!problem && pos[-1] == '_') {
    problem = "`_` stands between digits only";
  }
  if (problem) {
    lastError = loc(start);
    StringRef text(start, std::min<size_t>(pos - start, 40));
    diags.report(Diag::BadNumber, {loc(start), loc(pos)}) << text << problem;
    // The value is unknown, the place of a number is not.
    Token token = make(Tok::Int, start);
    token.text = "1";
    return token;
  }
  return make(isFloat ? Tok::Float : Tok::Int, start);
}

Token Lexer::lexString(const char *start) {
  llvm::SmallString<64> value;
  while (pos != end && *pos != '"' && *pos != '\n' && *pos != '\r') {
    char c = *pos++;
    if (c == '\\' && pos != end && *pos != '\n' && *pos != '\r') {
      char e = *pos++;
      c = e == 'n' ? '\n' : e == 't' ? '\t' : e;
    }
    value.push_back(c);
  }
  bool closed = pos != end && *pos == '"';
  if (closed)
    ++pos;
  else
    diags.report(Diag::BadString, {loc(start), loc(pos)}),
        lastError = loc(start);
  char *copy = arena.Allocate<char>(value.size());
  std::copy(value.begin(), value.end(), copy);
  Token token = make(Tok::String, start);
  token.text = StringRef(copy, value.size());
  return token;
}

void Lexer::lexBadCharacter(const char *start) {
  // A run of bad characters is one mistake.
  lastError = loc(start);
  unsigned length = std::max(1u, sequenceLength(start, end));
  pos = start + length;
  auto isBad = [](char c) {
    return uint8_t(c) >= 0x80 || c == 0x7f ||
           (uint8_t(c) < 0x20 && c != '\t' && c != '\n' && c != '\r');
  };
  while (pos != end && isBad(*pos)) {
    unsigned n = std::max(1u, sequenceLength(pos, end));
    pos += n;
  }
  if (++numBadCharacters > 50)
    return;
  std::string shown;
  if (uint8_t(*start) < 0x20 || *start == 0x7f)
    shown = ("with the code 0x" + llvm::utohexstr(uint8_t(*start), true, 2));
  else
    shown = ("`" + StringRef(start, length) + "`").str();
  auto d = diags.report(Diag::BadCharacter, {loc(start), loc(pos)});
  d << shown;
  if (*start == '?')
    d.note("a choice is written `if c then a else b`");
  if (uint8_t(*start) >= 0x80)
    d.note("names are ASCII letters, digits and `_`; other characters stand "
           "in comments only");
}

/// Operators and comments as other languages write them: reported, and read as
/// what they mean. Nothing for a comment, which is skipped, and for characters
/// that mean nothing.
std::optional<Token> Lexer::lexForeign(const char *start) {
  char c = *start;
  Tok kind;
  StringRef ours, note = "the logical operators are `and`, `or` and `not`";
  switch (c) {
  case '&':
    kind = Tok::KwAnd;
    ours = "and";
    break;
  case '|':
    kind = Tok::KwOr;
    ours = "or";
    break;
  case '!':
    kind = Tok::KwNot;
    ours = "not ";
    break;
  case '^':
    kind = Tok::StarStar;
    ours = "**";
    note = "the power operator is `**`";
    break;
  case '#':
    // One blank between code and comment is not enough.
    kind = Tok::Eof;
    ours = start - begin >= 2 && start[-1] == ' ' && !sawNewline &&
                   start[-2] != ' ' && canEndValue(previous)
               ? " //"
               : "//";
    note = "comments begin with `//`";
    break;
  default:
    return std::nullopt;
  }
  pos = start + 1;
  if ((c == '&' || c == '|') && pos != end && *pos == c)
    ++pos;
  lastError = loc(start);
  if (++numBadCharacters <= 50)
    diags.report(Diag::BadCharacter, {loc(start), loc(pos)})
            .note(note)
            .fix({loc(start), loc(pos)}, ours, "write")
        << ("`" + StringRef(start, pos - start) + "`");
  if (c == '#') {
    while (pos != end && *pos != '\n' && *pos != '\r')
      ++pos;
    return std::nullopt;
  }
  return make(kind, start);
}

Token Lexer::next() {
  while (true) {
    skipBlanks();
    if (pos == end)
      return make(Tok::Eof, pos);
    const char *start = pos;
    char c = *pos++;
    if (isWordStart(c)) {
      while (pos != end && isWordPart(*pos))
        ++pos;
      return make(classifyWord(StringRef(start, pos - start)), start);
    }
    if (llvm::isDigit(c))
      return lexNumber(start);
    if (c == '"')
      return lexString(start);

    auto two = [&](char second) {
      return pos != end && *pos == second ? (++pos, true) : false;
    };
    switch (c) {
    case '(':
      return make(Tok::LParen, start);
    case ')':
      return make(Tok::RParen, start);
    case '[':
      return make(Tok::LBracket, start);
    case ']':
      return make(Tok::RBracket, start);
    case '{':
      return make(Tok::LBrace, start);
    case '}':
      return make(Tok::RBrace, start);
    case ',':
      return make(Tok::Comma, start);
    case ';':
      return make(Tok::Semicolon, start);
    case ':':
      return make(Tok::Colon, start);
    case '+':
      return make(Tok::Plus, start);
    case '%':
      return make(Tok::Percent, start);
    case '@':
      return make(Tok::At, start);
    case '*':
      return make(two('*') ? Tok::StarStar : Tok::Star, start);
    case '/':
      return make(two('/') ? Tok::SlashSlash : Tok::Slash, start);
    case '-':
      return make(two('>') ? Tok::Arrow : Tok::Minus, start);
    case '=':
      return make(two('=') ? Tok::EqEq : Tok::Assign, start);
    case '>':
      return make(two('=') ? Tok::GreaterEq : Tok::Greater, start);
    case '<':
      // `a<-b` compares with a negative number only where blanks say so:
      // `a < -b`. The arrow is one token.
      if (two('-'))
        return make(Tok::LeftArrow, start);
      return make(two('=') ? Tok::LessEq : Tok::Less, start);
    case '.':
      if (end - pos >= 2 && pos[0] == '.' && pos[1] == '.') {
        pos += 2;
        return make(Tok::Ellipsis, start);
      }
      return make(two('.') ? Tok::DotDot : Tok::Dot, start);
    case '!':
      if (two('='))
        return make(Tok::NotEq, start);
      break;
    default:
      break;
    }
    if (std::optional<Token> token = lexForeign(start))
      return *token;
    if (*start != '#')
      lexBadCharacter(start);
  }
}
