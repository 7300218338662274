//===- Format.cpp - Programs in their standard form -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Works on tokens and on the gaps between them, which hold blanks, line ends
// and comments only. Lines stay as the author broke them; a line is indented by
// the innermost bracket that is open where it begins, and by two more where it
// goes on with a statement. Comments behind code stand in one column over lines
// that follow each other.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Frontend/Format.h"
#include "TokenSpacing.h"
#include "tdsl/Frontend/Parser.h"

using namespace tdsl;
using llvm::StringRef;

namespace {

/// A line of the result, without its line end.
struct Line {
  unsigned indent = 0;
  std::string code, comment;
  bool isEmpty() const { return code.empty() && comment.empty(); }
};

class Formatter {
public:
  Formatter(const SourceManager &sources, llvm::ArrayRef<Token> tokens,
            StringRef text)
      : sources(sources), tokens(tokens), text(text), spacing(sources) {}
  std::string run();

private:
  void readGap(StringRef gap, const Token &next);
  void addToken(const Token &token);
  void endLine();
  unsigned getIndent(const Token *first) const;
  bool inBlock() const { return open.empty() || open.back().isBlock; }
  bool continues(const Token *first) const;
  std::string print();

  const SourceManager &sources;
  llvm::ArrayRef<Token> tokens;
  StringRef text;
  TokenSpacing spacing;
  std::vector<Line> lines;
  Line line;
  Tok previous = Tok::Eof;
  bool hasPrevious = false;
  /// An open bracket, and the indentation of the line on which it stands.
  struct Open {
    unsigned indent;
    bool isBlock;
  };
  std::vector<Open> open;
  /// Of the first line of the statement at hand.
  unsigned statementIndent = 0;
};

} // namespace

/// A statement goes on behind these at the end of a line.
static bool isOpenEnded(Tok kind) {
  if (isBinaryOperator(kind))
    return true;
  switch (kind) {
  case Tok::Comma:
  case Tok::Assign:
  case Tok::Arrow:
  case Tok::LeftArrow:
  case Tok::Colon:
  case Tok::KwNot:
  case Tok::KwIf:
  case Tok::KwThen:
  case Tok::KwElse:
  case Tok::KwIn:
  case Tok::DotDot:
  case Tok::Dot:
    return true;
  default:
    return false;
  }
}

/// Whether a line that begins with the token, or with a comment when it is
/// null, goes on with the statement before it.
bool Formatter::continues(const Token *first) const {
  if (!hasPrevious)
    return false;
  if (isOpenEnded(previous))
    return true;
  if (!first)
    return false;
  bool joins = first->kind == Tok::KwThen || first->kind == Tok::KwElse ||
               first->kind == Tok::Arrow ||
               (first->kind == Tok::Ident && first->text == "with");
  return joins && previous != Tok::RBrace;
}

unsigned Formatter::getIndent(const Token *first) const {
  bool closes =
      first && (first->kind == Tok::RParen || first->kind == Tok::RBracket ||
                first->kind == Tok::RBrace);
  if (closes)
    return open.empty() ? 0 : open.back().indent;
  unsigned indent = open.empty() ? 0 : open.back().indent + 2;
  // Inside of ( and [ every line goes on.
  return indent + (inBlock() && continues(first) ? 2 : 0);
}

void Formatter::endLine() {
  if (!line.isEmpty())
    lines.push_back(std::move(line));
  line = Line();
}

/// Blanks, line ends and comments before a token.
void Formatter::readGap(StringRef gap, const Token &next) {
  unsigned numLineEnds = 0;
  auto breakLine = [&] {
    ++numLineEnds;
    endLine();
    // One empty line stays, but none at the borders of a block or the file.
    if (numLineEnds == 2 && !lines.empty() && !lines.back().isEmpty() &&
        !StringRef(lines.back().code).ends_with("{"))
      lines.push_back(Line());
  };
  while (!gap.empty()) {
    if (gap.consume_front("\r\n") || gap.consume_front("\n") ||
        gap.consume_front("\r")) {
      breakLine();
      continue;
    }
    if (!gap.starts_with("//")) {
      gap = gap.drop_front();
      continue;
    }
    StringRef comment =
        gap.take_until([](char c) { return c == '\n' || c == '\r'; });
    gap = gap.drop_front(comment.size());
    numLineEnds = 0;
    line.comment = comment.rtrim().str();
    if (line.code.empty())
      line.indent = getIndent(nullptr);
  }
  bool atBorder = next.kind == Tok::RBrace || next.kind == Tok::Eof;
  if (atBorder && line.isEmpty())
    while (!lines.empty() && lines.back().isEmpty())
      lines.pop_back();
}

void Formatter::addToken(const Token &token) {
  bool blank = spacing.next(token);
  if (line.code.empty()) {
    line.indent = getIndent(&token);
    if (inBlock() && !continues(&token))
      statementIndent = line.indent;
  } else if (blank) {
    line.code += ' ';
  }
  line.code += spell(sources, token);
  switch (token.kind) {
  case Tok::LParen:
  case Tok::LBracket:
    open.push_back({line.indent, false});
    break;
  case Tok::LBrace:
    // The signature before a body may take several lines.
    open.push_back({inBlock() ? statementIndent : line.indent, true});
    break;
  case Tok::RParen:
  case Tok::RBracket:
  case Tok::RBrace:
    if (!open.empty())
      open.pop_back();
    break;
  default:
    break;
  }
  previous = token.kind;
  hasPrevious = true;
}

static unsigned getWidth(StringRef text) {
  return llvm::count_if(text,
                        [](char c) { return (uint8_t(c) & 0xC0) != 0x80; });
}

std::string Formatter::print() {
  std::string out;
  for (size_t i = 0; i < lines.size();) {
    // Lines with code and a comment, up to the first without.
    size_t last = i;
    unsigned column = 0;
    while (last < lines.size() && !lines[last].code.empty() &&
           !lines[last].comment.empty()) {
      column =
          std::max(column, lines[last].indent + getWidth(lines[last].code));
      ++last;
    }
    last = std::max(last, i + 1);
    for (; i < last; ++i) {
      const Line &l = lines[i];
      if (!l.isEmpty())
        out.append(l.indent, ' ');
      out += l.code;
      if (!l.code.empty() && !l.comment.empty())
        out.append(column - l.indent - getWidth(l.code) + 2, ' ');
      out += l.comment;
      out += '\n';
    }
  }
  return out;
}

std::string Formatter::run() {
  size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  for (const Token &token : tokens) {
    size_t begin = sources.getOffset(token.range.begin);
    readGap(text.slice(at, begin), token);
    if (token.kind != Tok::Eof)
      addToken(token);
    at = begin + spell(sources, token).size();
  }
  endLine();
  return print();
}

std::string tdsl::formatFile(const SourceManager &sources,
                             SourceManager::FileId file,
                             DiagnosticEngine &diags) {
  ASTContext context;
  unsigned before = diags.getNumErrors();
  parseFile(sources, file, context, diags);
  if (diags.getNumErrors() != before)
    return {};
  DiagnosticEngine ignored(sources);
  std::vector<Token> tokens = lexFile(sources, file, ignored, context.arena);
  return Formatter(sources, tokens, sources.getText(file)).run();
}
