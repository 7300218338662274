//===- CPUTarget.cpp - an x86-64 processor to compile for -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/Target/CPU/CPUTarget.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>

using namespace tdsl;
using namespace tdsl::cpu;

/// Features of this processor that the generated code can gain from; the rest
/// would only tie the artefact to the machine.
static bool isUseful(llvm::StringRef feature) {
  return llvm::StringSwitch<bool>(feature)
      .Cases({"cx16", "sahf", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2"},
             true)
      .Cases({"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"},
             true)
      .Cases({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}, true)
      .Default(false);
}

llvm::Expected<CPUTarget> CPUTarget::get(llvm::StringRef arch) {
  CPUTarget target;
  target.arch = arch.str();
  if (arch == "x86-64-v2" || arch == "x86-64-v3" || arch == "x86-64-v4") {
    target.cpu = arch.str();
    target.vectorBits = arch.back() == '2'   ? 128
                        : arch.back() == '3' ? 256
                                             : 512;
    target.hasF16C = target.hasFMA = arch.back() != '2';
    return target;
  }
  if (arch != "native")
    return llvm::createStringError("unknown processor '" + arch +
                                   "'; choose x86-64-v2, x86-64-v3, x86-64-v4 "
                                   "or native");
#if defined(__x86_64__)
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  auto has = [&](llvm::StringRef name) { return host.lookup(name); };
  for (const auto &entry : host)
    if (entry.getValue() && isUseful(entry.getKey()))
      target.needed.push_back(entry.getKey().str());
  std::sort(target.needed.begin(), target.needed.end());
  target.cpu = "x86-64";
  for (const std::string &name : target.needed)
    target.features += (target.features.empty() ? "+" : ",+") + name;
  bool avx512 =
      has("avx512f") && has("avx512bw") && has("avx512vl") && has("avx512dq");
  target.vectorBits = avx512 ? 512 : has("avx2") ? 256 : 128;
  target.hasF16C = has("f16c");
  target.hasFMA = has("fma");
  return target;
#else
  return llvm::createStringError(
      "this machine is no x86-64; choose x86-64-v2, x86-64-v3 or x86-64-v4");
#endif
}

target::LaneOptions CPUTarget::laneOptions() const {
  target::LaneOptions options;
  options.math.nativeF16 = hasF16C;
  options.maskedBits = vectorBits == 512 ? 8 : vectorBits == 256 ? 32 : 0;
  options.avx2Masks = vectorBits == 256;
  // Unaligned vector accesses cost nothing on these processors where they stay
  // within a cache line; the alignment that is known is still told.
  options.bufferAlignment = 16;
  options.accessAlignment = 64;
  return options;
}
