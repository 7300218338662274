//===- DataFuzzer.cpp - No data file harms the runtime -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The input is a file whose name ends in TDS_FUZZ_EXTENSION. What opens is read
// from front to back. Anything but a value or the runtime's own error fails.
//
//===----------------------------------------------------------------------===//

#include "core/Error.h"
#include "data/DataSource.h"
#include "data/Safetensors.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

using namespace tdsrt;

static const std::string &getPath() {
  static const std::string path = [] {
    const char *folder = std::getenv("TMPDIR");
    return std::string(folder ? folder : "/dev/shm") + "/tds-fuzz-" +
           std::to_string(getpid()) + TDS_FUZZ_EXTENSION;
  }();
  return path;
}

static void readAll(const DataSource &source) {
  uint64_t step = sizeOf(source.type), total = source.bytes();
  std::string buffer;
  // The readers promise memory for what the file holds, not for its claims.
  for (uint64_t at = 0; at < std::min<uint64_t>(total, 1 << 20);) {
    uint64_t count = std::min<uint64_t>(total - at, step * 1024);
    buffer.resize(count);
    source.read(at, buffer.data(), count);
    at += count;
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string &path = getPath();
  std::FILE *file = std::fopen(path.c_str(), "wb");
  if (!file)
    std::abort();
  bool written = std::fwrite(data, 1, size, file) == size;
  if (std::fclose(file) != 0 || !written)
    std::abort();
  try {
    readAll(*openDataSource(path));
  } catch (const Error &) {
  }
  if (std::string(TDS_FUZZ_EXTENSION) == ".safetensors") {
    try {
      SafetensorsFile tensors(path);
      for (const auto &[name, tensor] : tensors.tensors())
        if (tensor.unknownType.empty())
          readAll(*openDataSource(path + ":" + name));
    } catch (const Error &) {
    }
  }
  std::remove(path.c_str());
  return 0;
}
