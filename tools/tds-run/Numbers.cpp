//===- Numbers.cpp - numbers of the command line, read strictly -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The conversions of the command-line library wrap, clamp, or read 010 as
// octal; a run of 2^64 - 1 epochs is not what "-1" asks for.
//
//===----------------------------------------------------------------------===//

#include "Numbers.h"
#include "Options.h"

#include <charconv>
#include <cstdint>

namespace tdsrun {

uint64_t parseNumber(const std::string &option, const std::string &text,
                     uint64_t least, uint64_t most) {
  uint64_t value = 0;
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || stop != end || error != std::errc() || value < least ||
      value > most)
    throw UsageError(option + " " + (text.empty() ? "''" : text) +
                     ": write a whole number from " + std::to_string(least) +
                     " to " + std::to_string(most));
  return value;
}

} // namespace tdsrun
