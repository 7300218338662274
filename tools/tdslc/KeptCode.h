//===- KeptCode.h - code of kernels from earlier runs -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TOOLS_TDSLC_KEPTCODE_H
#define TDSL_TOOLS_TDSLC_KEPTCODE_H

#include "tdsl/Artifact/CodeCache.h"
#include "tdsl/Target/Common/CodeUnits.h"

namespace tdslc {

/// The units of a target in the cache that the environment asks for
/// (docs/Artifact.md, "The cache of compiled kernels").
class KeptCode : public tdsl::target::UnitStore {
public:
  /// `target`: what code depends on besides the unit and the compiler.
  KeptCode(tdsl::CodeCache cache, llvm::StringRef target);
  /// Makes room where something was kept.
  ~KeptCode() override;

  bool isOn() const override { return cache.isOn(); }
  std::optional<std::string> load(llvm::StringRef text) override;
  /// Says once that nothing can be kept, if so.
  void keep(llvm::StringRef text, llvm::StringRef code) override;

  /// How many units there were and where they came from, in a sentence.
  std::string describe() const;

private:
  tdsl::CodeCache cache;
  std::string compiler, target;
  bool hasKept = false, hasFailed = false;
};

} // namespace tdslc

#endif // TDSL_TOOLS_TDSLC_KEPTCODE_H
