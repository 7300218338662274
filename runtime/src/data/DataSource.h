//===- DataSource.h - rows of tensors from files -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Readers for .npy, .npz, .safetensors, IDX (and .gz of .npy and IDX) and raw
// text. A reader never trusts a header: sizes are checked against the file
// before anything is allocated for them.
//
//===----------------------------------------------------------------------===//

#ifndef TDS_DATA_DATASOURCE_H
#define TDS_DATA_DATASOURCE_H

#include "core/ElementType.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tdsrt {

/// A dense array somewhere in a file or in memory.
class DataSource {
public:
  virtual ~DataSource();

  std::string name; ///< for messages
  ElementType type = ElementType::U8;
  std::vector<int64_t> shape;

  uint64_t bytes() const { return *byteCount(shape, type); }

  /// Copies `count` bytes from `offset` on, in the machine's byte order. Both
  /// are multiples of the element's size and in range. From any thread.
  virtual void read(uint64_t offset, void *out, uint64_t count) const = 0;
};

/// Opens PATH, or PATH:KEY for an array of a .npz or .safetensors file. Text
/// (.txt) is an array of bytes with one axis.
std::unique_ptr<DataSource> openDataSource(const std::string &spec);

/// Where an array lies in a file of one of the header formats.
struct ArrayLayout {
  ElementType type = ElementType::U8;
  bool bigEndian = false;
  bool firstIndexFastest = false; ///< Fortran order, of more than one axis
  std::vector<int64_t> shape;
  uint64_t dataOffset = 0;
  uint64_t dataBytes = 0;
};

/// Both take the first bytes of the file (all of them, or 64 KiB at least).
ArrayLayout parseNpyHeader(std::string_view prefix, const std::string &name);
ArrayLayout parseIdxHeader(std::string_view prefix, const std::string &name);
bool looksLikeNpy(std::string_view prefix);
bool looksLikeIdx(std::string_view prefix);

/// True where `a` becomes `b` by merging or splitting neighbouring axes (axes
/// of extent 1 do not count): [28, 28] and [784], but not [2, 6] and [4, 3].
bool mergesOrSplits(const std::vector<int64_t> &a,
                    const std::vector<int64_t> &b);

} // namespace tdsrt

#endif // TDS_DATA_DATASOURCE_H
