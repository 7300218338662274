//===- ManifestFuzzer.cpp - No manifest harms the runtime -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core/Error.h"
#include "core/Manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    tdsrt::parseManifest(
        std::string(reinterpret_cast<const char *>(data), size), "fuzz");
  } catch (const tdsrt::Error &) {
  }
  return 0;
}
