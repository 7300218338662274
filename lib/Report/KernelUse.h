//===- KernelUse.h - what a kernel does with its buffers -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_REPORT_KERNELUSE_H
#define TDSL_LIB_REPORT_KERNELUSE_H

#include "tdsl/Dialect/TDS/TDSOps.h"

namespace tdsl::report {

struct KernelUse {
  /// For each input the bytes that are read, and whether it is a factor of a
  /// contraction.
  llvm::SmallVector<int64_t> inputBytes;
  llvm::SmallVector<bool> isFactor;
  /// For each output whether it is what a contraction or an attention must
  /// write: its result, or what the kernel makes of each element of it. Of
  /// several such tensors it is the first: the others follow from that one.
  llvm::SmallVector<bool> isResult;
  /// Operations on floats, and those of them in products of two f16 or bf16.
  int64_t flops = 0, f16Flops = 0, bf16Flops = 0;
  /// What later stages read of what the kernel itself has written.
  int64_t innerBytes = 0;
};

KernelUse getUse(tds::KernelOp kernel);

} // namespace tdsl::report

#endif // TDSL_LIB_REPORT_KERNELUSE_H
