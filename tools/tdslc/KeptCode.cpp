//===- KeptCode.cpp - code of kernels from earlier runs -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeptCode.h"

#include "Stages.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace tdslc;
using llvm::StringRef;

/// This very build of the compiler.
static std::string getCompilerText() {
  std::string text = std::string(kProducer) + " LLVM " LLVM_VERSION_STRING;
  llvm::sys::fs::file_status status;
  std::string path = llvm::sys::fs::getMainExecutable(
      "tdslc", reinterpret_cast<void *>(&getCompilerText));
  if (!llvm::sys::fs::status(path, status))
    text += " " + std::to_string(status.getSize()) + " " +
            std::to_string(
                status.getLastModificationTime().time_since_epoch().count());
  return text;
}

KeptCode::KeptCode(tdsl::CodeCache cache, StringRef target)
    : cache(std::move(cache)), compiler(getCompilerText()), target(target) {}

KeptCode::~KeptCode() {
  if (hasKept)
    cache.removeOldest();
}

std::optional<std::string> KeptCode::load(StringRef text) {
  return cache.load(tdsl::CodeCache::getKey({compiler, target, text}));
}

void KeptCode::keep(StringRef text, StringRef code) {
  if (hasFailed)
    return;
  llvm::Error error =
      cache.store(tdsl::CodeCache::getKey({compiler, target, text}), code);
  hasKept |= !error;
  hasFailed = bool(error);
  if (error)
    llvm::errs() << "tdslc: note: the code is not kept for the next time: "
                 << llvm::toString(std::move(error))
                 << "; set TDS_CACHE to a folder that can be written\n";
}

std::string KeptCode::describe() const {
  auto count = [](unsigned number, StringRef what) {
    return std::to_string(number) + " " + what.str() + (number == 1 ? "" : "s");
  };
  std::string text = count(numKernels, "kernel");
  if (numFunctions)
    text += " and " + count(numFunctions, "function") + " that they call";
  unsigned numCompiled = numKernels + numFunctions - numLoaded;
  return text + ": " + std::to_string(numLoaded) + " from the cache, " +
         std::to_string(numCompiled) + " compiled";
}
