//===- Bits.h - host results against compiled ones -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_SCALARMATH_CHECK_BITS_H
#define TDSL_SCALARMATH_CHECK_BITS_H

#include "Compile.h"

#include <string>

namespace tdsl::scalarmath {

/// Compares the host form and the compiled form of a kernel on edge values and
/// random operands, at least `points` of them. Empty where every bit agrees
/// (any NaN with any other); else a sentence with the first operands that
/// differ.
std::string compareBits(const CheckKernel &kernel, KernelRunner &compiled,
                        uint64_t points);

/// The same on every `stride`-th f32 pattern; for kernels of one f32.
std::string compareAllF32(const CheckKernel &kernel, KernelRunner &compiled,
                          uint32_t stride);

} // namespace tdsl::scalarmath

#endif // TDSL_SCALARMATH_CHECK_BITS_H
