//===- InputFile.h - bounded reads of a file -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data files are read with pread, not mapped: a file that shrinks while it is
// read is then an error and not a SIGBUS, and what has been read does not
// count as memory of the process, so that files larger than memory stream.
//
//===----------------------------------------------------------------------===//

#ifndef TDS_DATA_INPUTFILE_H
#define TDS_DATA_INPUTFILE_H

#include <cstdint>
#include <string>

namespace tdsrt {

class InputFile {
public:
  /// A regular file, open for reading; Error otherwise.
  explicit InputFile(const std::string &path);
  ~InputFile();
  InputFile(const InputFile &) = delete;
  InputFile &operator=(const InputFile &) = delete;

  const std::string &path() const { return filePath; }
  uint64_t size() const { return fileSize; }

  /// Reads exactly `bytes` at `offset`, from any thread.
  void readAt(uint64_t offset, void *out, uint64_t bytes) const;

private:
  std::string filePath;
  int descriptor = -1;
  uint64_t fileSize = 0;
};

} // namespace tdsrt

#endif // TDS_DATA_INPUTFILE_H
