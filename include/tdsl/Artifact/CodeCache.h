//===- CodeCache.h - compiled code that is kept on disk -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_ARTIFACT_CODECACHE_H
#define TDSL_ARTIFACT_CODECACHE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace tdsl {

/// A folder of compiled code by its content. Several compilers may use it at
/// once, and any of them may be killed: an entry appears whole or not at all,
/// and one that was damaged later is not taken (docs/Artifact.md).
class CodeCache {
public:
  static constexpr uint64_t defaultLimit = uint64_t(1) << 30;

  /// `folder` is made where it does not exist; an empty one keeps nothing.
  /// `limit`: bytes of all entries, above which the oldest are removed.
  explicit CodeCache(std::string folder, uint64_t limit = defaultLimit)
      : folder(std::move(folder)), limit(limit) {}

  /// The folder that TDS_CACHE names and the limit in MiB that TDS_CACHE_SIZE
  /// gives. Fails with a sentence where the latter is no number.
  static llvm::Expected<CodeCache> fromEnvironment();

  bool isOn() const { return !folder.empty(); }

  /// 64 hex digits for everything that the code depends on.
  static std::string getKey(llvm::ArrayRef<llvm::StringRef> parts);

  /// The code under a key. A damaged entry is removed and is as none.
  std::optional<std::string> load(llvm::StringRef key) const;

  /// Keeps code under a key. removeOldest is to follow, after one or many.
  llvm::Error store(llvm::StringRef key, llvm::StringRef code) const;

  /// Removes the entries above the limit that were not used for the longest
  /// time, and what compilers have left that were killed.
  void removeOldest() const;

private:
  std::string getPath(llvm::StringRef key) const;

  std::string folder;
  uint64_t limit;
};

} // namespace tdsl

#endif // TDSL_ARTIFACT_CODECACHE_H
