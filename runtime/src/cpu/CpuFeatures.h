//===- CpuFeatures.h - what this processor can execute -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_CPU_CPUFEATURES_H
#define TDS_CPU_CPUFEATURES_H

#include <string>
#include <vector>

namespace tdsrt {

enum class Feature { Present, Absent, Unknown };

/// Looks a feature up by LLVM's name ("avx2", "sse4.1"): Unknown is a name
/// that this runtime cannot check.
Feature cpuFeature(const std::string &name);

/// Features of level 2, 3 or 4 (x86-64-v2 ...) that this processor, or the
/// operating system under it, lacks. Empty: the level runs.
std::vector<std::string> missingForLevel(int level);

/// 2, 3, 4 for "x86-64-v2" ...; 0 for another text.
int levelOf(const std::string &arch);

/// The highest level that runs here (1 at least).
int bestLevel();

/// "Intel(R) Xeon(R) Processor", or "x86-64 processor".
std::string cpuName();

} // namespace tdsrt

#endif // TDS_CPU_CPUFEATURES_H
