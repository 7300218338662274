//===- ProgramFiles.h - one text that stands for several files -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A text may hold the files that it imports, and values for its sizes:
//
//   // define N = 4
//   import "parts/lib.tds" as lib
//   …
//   // file parts/lib.tds
//   fn f(x: float[n]) -> float[n] { 2 * x }
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TESTING_PROGRAMFILES_H
#define TDSL_LIB_TESTING_PROGRAMFILES_H

#include "tdsl/Frontend/Frontend.h"

#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>

namespace tdsl::testing {

class ProgramFiles {
public:
  /// `text` must outlive the object.
  explicit ProgramFiles(llvm::StringRef text);

  /// What stands before the first other file.
  llvm::StringRef getMain() const { return main; }
  /// With `assert`s tested, the sizes that are defined, and imports from the
  /// text. They refer to this object.
  FrontendOptions getOptions() const;

private:
  llvm::StringRef main;
  std::map<std::string, llvm::StringRef> files;
  std::map<std::string, int64_t> defines;
};

} // namespace tdsl::testing

#endif // TDSL_LIB_TESTING_PROGRAMFILES_H
