//===- SourceManager.h - Source texts and places in them -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All source texts of one compilation lie in one 32-bit address space, so a
// place is four bytes and a range eight. Offset 0 is never a valid place.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_FRONTEND_SOURCEMANAGER_H
#define TDSL_FRONTEND_SOURCEMANAGER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tdsl {

/// A place in the texts of a SourceManager.
struct SourceLoc {
  uint32_t offset = 0;
  bool isValid() const { return offset != 0; }
  bool operator==(SourceLoc o) const { return offset == o.offset; }
  bool operator!=(SourceLoc o) const { return offset != o.offset; }
  bool operator<(SourceLoc o) const { return offset < o.offset; }
};

/// Half-open range [begin, end) in one text.
struct SourceRange {
  SourceLoc begin, end;
  SourceRange() = default;
  SourceRange(SourceLoc b, SourceLoc e) : begin(b), end(e) {}
  bool isValid() const { return begin.isValid(); }
  bool operator==(const SourceRange &o) const {
    return begin == o.begin && end == o.end;
  }
  /// The smallest range that holds both.
  static SourceRange join(SourceRange a, SourceRange b);
};

/// A place in words: 1-based line, 1-based column counted in code points.
struct LineColumn {
  llvm::StringRef file;
  unsigned line = 0;
  unsigned column = 0;
};

/// Owns the texts. Not thread-safe.
class SourceManager {
public:
  using FileId = unsigned;

  /// Takes a text. `name` is what messages print. Texts together may hold at
  /// most 2^32 - 2 bytes; beyond that the result is ~0u.
  FileId addFile(std::unique_ptr<llvm::MemoryBuffer> buffer, std::string name);
  FileId addText(llvm::StringRef text, std::string name);

  llvm::StringRef getText(FileId id) const;
  llvm::StringRef getName(FileId id) const;
  SourceLoc getLoc(FileId id, size_t offset) const;
  FileId getFile(SourceLoc loc) const;
  size_t getOffset(SourceLoc loc) const;
  unsigned getNumFiles() const { return files.size(); }

  LineColumn getLineColumn(SourceLoc loc) const;
  /// The text of the 1-based line, without its line end.
  llvm::StringRef getLine(FileId id, unsigned line) const;
  llvm::StringRef getText(SourceRange range) const;

private:
  struct File {
    std::unique_ptr<llvm::MemoryBuffer> buffer;
    std::string name;
    uint32_t base;
    mutable std::vector<uint32_t> lineStarts;
  };
  const std::vector<uint32_t> &getLineStarts(FileId id) const;
  std::vector<File> files;
  uint64_t nextBase = 1;
};

} // namespace tdsl

#endif // TDSL_FRONTEND_SOURCEMANAGER_H
