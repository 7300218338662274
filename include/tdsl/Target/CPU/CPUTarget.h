//===- CPUTarget.h - an x86-64 processor to compile for -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_TARGET_CPU_CPUTARGET_H
#define TDSL_TARGET_CPU_CPUTARGET_H

#include "tdsl/Target/Common/LaneBuilder.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace tdsl::cpu {

/// What code is made for. Lane counts and with them all values are the same for
/// x86-64-v3 and above.
struct CPUTarget {
  /// "x86-64-v2", "x86-64-v3", "x86-64-v4" or "native".
  std::string arch;
  /// LLVM's names of the processor and of its features ("+avx2,…").
  std::string cpu, features;
  /// For "native": the features the code may use, as the manifest lists them.
  std::vector<std::string> needed;
  /// Bits of the widest vector register that code uses: 128, 256 or 512.
  unsigned vectorBits = 256;
  bool hasF16C = true;
  bool hasFMA = true;

  /// Fails with a sentence where `arch` is none of the above.
  static llvm::Expected<CPUTarget> get(llvm::StringRef arch);

  target::LaneOptions laneOptions() const;
};

} // namespace tdsl::cpu

#endif // TDSL_TARGET_CPU_CPUTARGET_H
