//===- Diagnostics.h - Messages of the front end -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every kind of message is declared once in Diagnostics.def with its code and
// its text. A message points at the narrowest wrong range and may carry
// labelled second places, notes, and a fix-it.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_FRONTEND_DIAGNOSTICS_H
#define TDSL_FRONTEND_DIAGNOSTICS_H

#include "tdsl/Frontend/SourceManager.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include <set>
#include <tuple>

namespace llvm {
class raw_ostream;
}

namespace tdsl {

enum class Severity : uint8_t { Error, Warning };

/// One enumerator per line of Diagnostics.def.
enum class Diag : uint16_t {
#define DIAG(NAME, CODE, SEVERITY, TEXT) NAME,
#include "tdsl/Frontend/Diagnostics.def"
};

/// "E0101" and the like.
llvm::StringRef getCode(Diag kind);
/// The text with `{0}`, `{1}` … standing for the arguments.
llvm::StringRef getTemplate(Diag kind);
Severity getSeverity(Diag kind);
/// All kinds in the order of the registry.
llvm::ArrayRef<Diag> getAllDiags();
/// The catalogue entry (Markdown) of a code, empty when there is none.
llvm::StringRef explain(llvm::StringRef code);

struct DiagLabel {
  SourceRange range;
  std::string text;
};

/// Replace `range` by `replacement`. An empty range inserts.
struct FixIt {
  SourceRange range;
  std::string replacement;
  std::string text;
};

struct Diagnostic {
  Diag kind;
  Severity severity;
  SourceRange range;
  std::string message;
  /// What stands under the marked range; may be empty.
  std::string primaryLabel;
  llvm::SmallVector<DiagLabel, 2> labels;
  llvm::SmallVector<std::string, 2> notes;
  llvm::SmallVector<FixIt, 1> fixIts;
};

class DiagnosticEngine;

/// Collects the parts of one message and hands it over when it goes out of
/// scope.
class DiagBuilder {
public:
  DiagBuilder(DiagnosticEngine *engine, Diag kind, SourceRange range);
  DiagBuilder(DiagBuilder &&o);
  DiagBuilder(const DiagBuilder &) = delete;
  DiagBuilder &operator=(const DiagBuilder &) = delete;
  ~DiagBuilder();

  DiagBuilder &operator<<(const llvm::Twine &argument);
  DiagBuilder &here(const llvm::Twine &text);
  DiagBuilder &label(SourceRange range, const llvm::Twine &text);
  DiagBuilder &note(const llvm::Twine &text);
  DiagBuilder &fix(SourceRange range, const llvm::Twine &replacement,
                   const llvm::Twine &text);

private:
  DiagnosticEngine *engine;
  Diagnostic diag;
  llvm::SmallVector<std::string, 4> arguments;
};

/// Receives messages. Two messages of one kind at one place count as one, so
/// a body that is checked for several instantiations reports once.
class DiagnosticEngine {
public:
  explicit DiagnosticEngine(const SourceManager &sources) : sources(sources) {}

  DiagBuilder report(Diag kind, SourceRange range) {
    return DiagBuilder(this, kind, range);
  }

  bool hasErrors() const { return numErrors != 0; }
  unsigned getNumErrors() const { return numErrors; }
  unsigned getNumWarnings() const { return numWarnings; }
  llvm::ArrayRef<Diagnostic> getDiagnostics() const { return diagnostics; }
  const SourceManager &getSources() const { return sources; }

  /// Prints in the order of the source, at most `limit` errors, then a line
  /// that says how many were left out.
  void render(llvm::raw_ostream &os, bool color = false,
              unsigned limit = 20) const;
  /// One JSON array of all messages.
  void renderJSON(llvm::raw_ostream &os) const;

  void add(Diagnostic diag);

private:
  const SourceManager &sources;
  std::vector<Diagnostic> diagnostics;
  std::set<std::tuple<Diag, uint32_t, uint32_t>> seen;
  unsigned numErrors = 0, numWarnings = 0;
};

/// The candidate nearest to `name` when it is near enough to be meant, else
/// empty.
llvm::StringRef findNearest(llvm::StringRef name,
                            llvm::ArrayRef<llvm::StringRef> candidates);

} // namespace tdsl

#endif // TDSL_FRONTEND_DIAGNOSTICS_H
