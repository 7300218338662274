//===- ContainerFuzzer.cpp - No artefact harms the runtime -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// .ptx, .so and .tdsx files: their containers and manifests. Nothing of them is
// loaded or run.
//
//===----------------------------------------------------------------------===//

#include "core/Artifact.h"
#include "core/Error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  for (const char *name : {"fuzz.ptx", "fuzz.so", "fuzz.tdsx"}) {
    try {
      tdsrt::Container container = tdsrt::Container::fromMemory(bytes, name);
      for (size_t i = 0; i < container.size(); ++i)
        container.load(i);
    } catch (const tdsrt::Error &) {
    }
  }
  return 0;
}
