//===- Numbers.h - numbers of the command line, read strictly -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_RUN_NUMBERS_H
#define TDS_RUN_NUMBERS_H

#include <cstdint>
#include <string>

namespace tdsrun {

/// The most steps and epochs that a run may have: they are counted in i64, and
/// a checkpoint keeps them in 18 decimal digits.
constexpr uint64_t maxCount = 999'999'999'999'999'999;

/// A whole number of decimal digits alone, from `least` to `most`; throws
/// UsageError with a sentence that begins with the option's name.
uint64_t parseNumber(const std::string &option, const std::string &text,
                     uint64_t least, uint64_t most);

} // namespace tdsrun

#endif // TDS_RUN_NUMBERS_H
