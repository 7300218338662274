//===- Diagnostics.cpp - Collecting and printing messages -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/Frontend/Diagnostics.h"
#include "tdsl/Frontend/Lexer.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace tdsl;
using llvm::raw_ostream;
using llvm::StringRef;
using llvm::Twine;

namespace {
struct DiagInfo {
  Diag kind;
  const char *code;
  Severity severity;
  const char *text;
};
} // namespace

static constexpr DiagInfo diagInfos[] = {
#define DIAG(NAME, CODE, SEVERITY, TEXT)                                       \
  {Diag::NAME, CODE, Severity::SEVERITY, TEXT},
#include "tdsl/Frontend/Diagnostics.def"
};
static constexpr Diag diagKinds[] = {
#define DIAG(NAME, CODE, SEVERITY, TEXT) Diag::NAME,
#include "tdsl/Frontend/Diagnostics.def"
};

StringRef tdsl::getCode(Diag kind) { return diagInfos[size_t(kind)].code; }
StringRef tdsl::getTemplate(Diag kind) { return diagInfos[size_t(kind)].text; }
Severity tdsl::getSeverity(Diag kind) {
  return diagInfos[size_t(kind)].severity;
}
llvm::ArrayRef<Diag> tdsl::getAllDiags() { return diagKinds; }

//===----------------------------------------------------------------------===//
// The catalogue
//===----------------------------------------------------------------------===//

/// docs/Errors.md, embedded by CMake as an array of bytes.
static const char errorCatalogue[] = {
#include "tdsl/Frontend/Errors.inc"
    , 0};

StringRef tdsl::explain(StringRef code) {
  StringRef text(errorCatalogue);
  std::string heading = ("\n## " + code).str();
  for (size_t at = text.find(heading); at != StringRef::npos;
       at = text.find(heading, at + 1)) {
    StringRef rest = text.substr(at + 1);
    // "E0105" must not find "E01051".
    StringRef after = rest.substr(heading.size() - 1);
    if (!after.empty() && after[0] != ' ' && after[0] != '\n')
      continue;
    size_t stop = rest.find("\n## ");
    return rest.substr(0, stop).rtrim();
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

DiagBuilder::DiagBuilder(DiagnosticEngine *engine, Diag kind, SourceRange range)
    : engine(engine) {
  diag.kind = kind;
  diag.severity = getSeverity(kind);
  diag.range = range;
}

DiagBuilder::DiagBuilder(DiagBuilder &&o)
    : engine(o.engine), diag(std::move(o.diag)),
      arguments(std::move(o.arguments)) {
  o.engine = nullptr;
}

DiagBuilder::~DiagBuilder() {
  if (!engine)
    return;
  StringRef text = getTemplate(diag.kind);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' && i + 2 < text.size() && text[i + 2] == '}') {
      unsigned n = text[i + 1] - '0';
      if (n < arguments.size())
        diag.message += arguments[n];
      i += 2;
    } else {
      diag.message += text[i];
    }
  }
  engine->add(std::move(diag));
}

DiagBuilder &DiagBuilder::operator<<(const Twine &argument) {
  arguments.push_back(argument.str());
  return *this;
}
DiagBuilder &DiagBuilder::here(const Twine &text) {
  diag.primaryLabel = text.str();
  return *this;
}
DiagBuilder &DiagBuilder::label(SourceRange range, const Twine &text) {
  if (range.isValid())
    diag.labels.push_back({range, text.str()});
  return *this;
}
DiagBuilder &DiagBuilder::note(const Twine &text) {
  diag.notes.push_back(text.str());
  return *this;
}
DiagBuilder &DiagBuilder::fix(SourceRange range, const Twine &replacement,
                              const Twine &text) {
  diag.fixIts.push_back({range, replacement.str(), text.str()});
  return *this;
}

void DiagnosticEngine::add(Diagnostic diag) {
  auto key = std::make_tuple(diag.kind, diag.range.begin.offset,
                             diag.range.end.offset);
  if (!seen.insert(key).second)
    return;
  ++(diag.severity == Severity::Error ? numErrors : numWarnings);
  diagnostics.push_back(std::move(diag));
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

namespace {
/// Prints messages the way rustc does: header, arrow line, source lines with
/// their marks, notes and proposals.
class Renderer {
public:
  Renderer(const SourceManager &sources, raw_ostream &os, bool color)
      : sources(sources), os(os), color(color) {}

  void print(const Diagnostic &d);

private:
  struct Mark {
    SourceRange range;
    StringRef text;
    bool primary;
    unsigned line;
  };

  void printMark(const Mark &mark, unsigned gutter, bool withSource);
  void paint(raw_ostream::Colors c, bool bold = true) {
    if (color)
      os.changeColor(c, bold);
  }
  void plain() {
    if (color)
      os.resetColor();
  }
  void bar(unsigned gutter, StringRef sign) {
    paint(raw_ostream::BLUE);
    os.indent(gutter) << sign;
    plain();
  }

  const SourceManager &sources;
  raw_ostream &os;
  bool color;
};
} // namespace

/// Long lines are shown as a window around the mark; control characters and
/// tabs as a blank each, so that marks stay under what they mean.
static constexpr unsigned maxShown = 160;

static unsigned countCodePoints(StringRef text) {
  unsigned n = 0;
  for (char c : text)
    n += (uint8_t(c) & 0xC0) != 0x80;
  return n;
}

void Renderer::printMark(const Mark &mark, unsigned gutter, bool withSource) {
  SourceManager::FileId file = sources.getFile(mark.range.begin);
  StringRef line = sources.getLine(file, mark.line);
  size_t offset = sources.getOffset(mark.range.begin);
  size_t lineStart = line.data() - sources.getText(file).data();
  if (line.empty() && line.data() == nullptr)
    lineStart = offset;
  size_t from = std::min(offset - std::min(offset, lineStart), line.size());
  size_t length = mark.range.end.offset - mark.range.begin.offset;
  size_t to = std::min(from + length, line.size());

  size_t windowStart = 0, windowEnd = line.size();
  if (line.size() > maxShown) {
    windowStart = from > maxShown / 2 ? from - maxShown / 2 : 0;
    windowEnd = std::min(line.size(), windowStart + maxShown);
    while (windowStart > 0 && (uint8_t(line[windowStart]) & 0xC0) == 0x80)
      --windowStart;
    while (windowEnd < line.size() && (uint8_t(line[windowEnd]) & 0xC0) == 0x80)
      ++windowEnd;
    to = std::min(to, windowEnd);
  }
  if (withSource) {
    std::string number = std::to_string(mark.line);
    paint(raw_ostream::BLUE);
    os << number;
    os.indent(gutter - number.size()) << " |";
    plain();
    if (!line.empty())
      os << ' ';
    if (windowStart > 0)
      os << "...";
    StringRef shown = line.slice(windowStart, windowEnd);
    bool isText = findInvalidUTF8(shown) == StringRef::npos;
    for (char c : shown) {
      bool printable = uint8_t(c) >= 0x20 && c != 0x7f;
      os << (!printable ? ' ' : uint8_t(c) >= 0x80 && !isText ? '?' : c);
    }
    if (windowEnd < line.size())
      os << "...";
    os << '\n';
  }
  bar(gutter, " |");
  os << ' ';
  os.indent(countCodePoints(line.slice(windowStart, from)) +
            (windowStart > 0 ? 3 : 0));
  paint(mark.primary ? raw_ostream::RED : raw_ostream::BLUE);
  unsigned width = std::max(1u, countCodePoints(line.slice(from, to)));
  for (unsigned i = 0; i < width; ++i)
    os << (mark.primary ? '^' : '-');
  if (!mark.text.empty())
    os << ' ' << mark.text;
  plain();
  os << '\n';
}

void Renderer::print(const Diagnostic &d) {
  bool isError = d.severity == Severity::Error;
  paint(isError ? raw_ostream::RED : raw_ostream::YELLOW);
  os << (isError ? "error[" : "warning[") << getCode(d.kind) << ']';
  plain();
  os << ": " << d.message << '\n';

  llvm::SmallVector<Mark, 4> marks;
  if (d.range.isValid())
    marks.push_back({d.range, d.primaryLabel, true, 0});
  for (const DiagLabel &label : d.labels)
    marks.push_back({label.range, label.text, false, 0});
  unsigned lastLine = 1;
  for (Mark &mark : marks) {
    mark.line = sources.getLineColumn(mark.range.begin).line;
    lastLine = std::max(lastLine, mark.line);
  }
  unsigned gutter = std::to_string(lastLine).size();

  // Marks of the primary file first, in the order of lines; then those of
  // other files, each under its own arrow line.
  std::sort(marks.begin(), marks.end(), [&](const Mark &a, const Mark &b) {
    auto fileOf = [&](const Mark &m) { return sources.getFile(m.range.begin); };
    auto primary = d.range.isValid() ? sources.getFile(d.range.begin) : 0;
    auto key = [&](const Mark &m) {
      return std::make_tuple(fileOf(m) != primary, fileOf(m), m.line,
                             !m.primary, m.range.begin.offset);
    };
    return key(a) < key(b);
  });
  SourceManager::FileId file = ~0u;
  unsigned line = 0;
  for (const Mark &mark : marks) {
    SourceManager::FileId markFile = sources.getFile(mark.range.begin);
    if (markFile != file) {
      LineColumn at = sources.getLineColumn(
          file == ~0u && d.range.isValid() ? d.range.begin : mark.range.begin);
      bar(gutter, file == ~0u ? "-->" : ":::");
      os << ' ' << at.file << ':' << at.line << ':' << at.column << '\n';
      bar(gutter, " |");
      os << '\n';
      line = 0;
    }
    bool withSource = markFile != file || mark.line != line;
    if (withSource && line != 0 && mark.line > line + 1) {
      paint(raw_ostream::BLUE);
      os << "...\n";
      plain();
    }
    printMark(mark, gutter, withSource);
    file = markFile;
    line = mark.line;
  }
  for (const std::string &note : d.notes) {
    bar(gutter, " = ");
    os << "note: " << note << '\n';
  }
  for (const FixIt &fix : d.fixIts) {
    bar(gutter, " = ");
    os << "help: " << fix.text;
    if (!fix.replacement.empty() &&
        fix.replacement.find('\n') == std::string::npos &&
        fix.text.find(fix.replacement) == std::string::npos)
      os << ": `" << fix.replacement << '`';
    os << '\n';
  }
  os << '\n';
}

static llvm::SmallVector<const Diagnostic *>
sortBySource(llvm::ArrayRef<Diagnostic> diagnostics) {
  llvm::SmallVector<const Diagnostic *> order;
  for (const Diagnostic &d : diagnostics)
    order.push_back(&d);
  // The messages lie in one array, so their addresses keep the order in which
  // they were reported.
  std::sort(order.begin(), order.end(),
            [](const Diagnostic *a, const Diagnostic *b) {
              return std::make_pair(a->range.begin.offset, a) <
                     std::make_pair(b->range.begin.offset, b);
            });
  return order;
}

void DiagnosticEngine::render(raw_ostream &os, bool color,
                              unsigned limit) const {
  Renderer renderer(sources, os, color);
  unsigned shown = 0;
  for (const Diagnostic *d : sortBySource(diagnostics)) {
    if (d->severity == Severity::Error && shown++ >= limit)
      continue;
    renderer.print(*d);
  }
  if (shown > limit)
    os << "note: " << shown - limit << " more error"
       << (shown - limit == 1 ? "" : "s") << " not shown\n";
}

static llvm::json::Object toJSON(const SourceManager &sources,
                                 SourceRange range) {
  if (!range.isValid())
    return {};
  LineColumn from = sources.getLineColumn(range.begin);
  LineColumn to = sources.getLineColumn(range.end);
  return llvm::json::Object{
      {"file", llvm::json::fixUTF8(from.file)},
      {"line", from.line},
      {"column", from.column},
      {"endLine", to.line},
      {"endColumn", to.column},
      {"offset", int64_t(sources.getOffset(range.begin))},
      {"length", int64_t(range.end.offset - range.begin.offset)}};
}

void DiagnosticEngine::renderJSON(raw_ostream &os) const {
  llvm::json::Array all;
  for (const Diagnostic *d : sortBySource(diagnostics)) {
    llvm::json::Array labels, notes, fixes;
    for (const DiagLabel &label : d->labels)
      labels.push_back(
          llvm::json::Object{{"range", toJSON(sources, label.range)},
                             {"text", llvm::json::fixUTF8(label.text)}});
    for (const std::string &note : d->notes)
      notes.push_back(llvm::json::fixUTF8(note));
    for (const FixIt &fix : d->fixIts)
      fixes.push_back(llvm::json::Object{
          {"range", toJSON(sources, fix.range)},
          {"replacement", llvm::json::fixUTF8(fix.replacement)},
          {"text", llvm::json::fixUTF8(fix.text)}});
    all.push_back(llvm::json::Object{
        {"code", getCode(d->kind)},
        {"severity", d->severity == Severity::Error ? "error" : "warning"},
        {"message", llvm::json::fixUTF8(d->message)},
        {"label", llvm::json::fixUTF8(d->primaryLabel)},
        {"range", toJSON(sources, d->range)},
        {"labels", std::move(labels)},
        {"notes", std::move(notes)},
        {"fixIts", std::move(fixes)}});
  }
  os << llvm::formatv("{0:2}", llvm::json::Value(std::move(all))) << '\n';
}

/// Two letters that changed places are the likeliest slip of all.
static bool isSwap(StringRef a, StringRef b) {
  if (a.size() != b.size())
    return false;
  size_t i = 0;
  while (i < a.size() && a[i] == b[i])
    ++i;
  return i + 1 < a.size() && a[i] == b[i + 1] && a[i + 1] == b[i] &&
         a.substr(i + 2) == b.substr(i + 2);
}

StringRef tdsl::findNearest(StringRef name,
                            llvm::ArrayRef<StringRef> candidates) {
  StringRef best;
  unsigned bestDistance = name.size() <= 2 ? 1 : name.size() / 3 + 1;
  for (StringRef candidate : candidates) {
    if (candidate == name || candidate.empty())
      continue;
    if (candidate.equals_insensitive(name) || isSwap(candidate, name))
      return candidate;
    unsigned distance = name.edit_distance(candidate, true, bestDistance + 1);
    // Replacing every letter is not a likeness.
    if (distance >= std::max(name.size(), candidate.size()))
      continue;
    if (distance < bestDistance || (distance == bestDistance && best.empty())) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}
