//===- Safetensors.h - the .safetensors format -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Eight bytes of header length, a JSON header that maps names to type, shape
// and range, then the data.
//
//===----------------------------------------------------------------------===//

#ifndef TDS_DATA_SAFETENSORS_H
#define TDS_DATA_SAFETENSORS_H

#include "core/ElementType.h"
#include "data/InputFile.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tdsrt {

struct SafeTensor {
  ElementType type = ElementType::F32;
  std::string unknownType; ///< the file's word where we have no such type
  std::vector<int64_t> shape;
  uint64_t offset = 0; ///< from the beginning of the file
  uint64_t bytes = 0;
};

class SafetensorsFile {
public:
  /// Reads and checks the header; nothing in it is trusted.
  explicit SafetensorsFile(const std::string &path);

  const std::string &path() const { return file->path(); }
  const std::map<std::string, SafeTensor> &tensors() const { return entries; }
  const std::map<std::string, std::string> &metadata() const { return meta; }
  std::shared_ptr<const InputFile> input() const { return file; }

private:
  std::shared_ptr<InputFile> file;
  std::map<std::string, SafeTensor> entries;
  std::map<std::string, std::string> meta;
};

struct TensorToWrite {
  ElementType type;
  std::vector<int64_t> shape;
  uint64_t bytes;
  std::function<void(void *out)> read; ///< fills `bytes` bytes
};

/// Writes to PATH.tmp, syncs, renames, syncs the folder. The bytes are a
/// function of the arguments alone: names are in order, nothing else is in it.
void writeSafetensors(const std::string &path,
                      const std::map<std::string, std::string> &metadata,
                      const std::map<std::string, TensorToWrite> &tensors);

} // namespace tdsrt

#endif // TDS_DATA_SAFETENSORS_H
