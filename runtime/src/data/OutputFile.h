//===- OutputFile.h - files that appear whole or not at all -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_DATA_OUTPUTFILE_H
#define TDS_DATA_OUTPUTFILE_H

#include <cstdint>
#include <string>

namespace tdsrt {

/// Writes PATH.tmp; commit() syncs it and renames it to PATH. Without commit
/// the temporary file is removed and PATH is as it was. What is no regular file
/// is never replaced: TDS_IO.
class OutputFile {
public:
  explicit OutputFile(const std::string &path);
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  void write(const void *data, uint64_t bytes);
  void commit();

private:
  std::string path, temporary;
  int descriptor = -1;
};

} // namespace tdsrt

#endif // TDS_DATA_OUTPUTFILE_H
