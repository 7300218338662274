//===- Arrays.h - write .npy and .npz -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_RUN_ARRAYS_H
#define TDS_RUN_ARRAYS_H

#include <tds/runtime.hpp>

#include <string>
#include <vector>

namespace tdsrun {

struct NamedArray {
  std::string name;
  tds_type type;
  std::vector<int64_t> shape;
  std::vector<char> data;
};

/// The bytes of a .npy file. bf16, which NumPy lacks, becomes f32.
std::string npyBytes(const NamedArray &array);

/// Writes the file by way of a temporary one; throws tds::Error.
void writeFile(const std::string &path, const std::string &bytes);
void writeNpz(const std::string &path, const std::vector<NamedArray> &arrays);

} // namespace tdsrun

#endif // TDS_RUN_ARRAYS_H
