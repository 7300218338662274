//===- Golden.h - vectors of results from a GPU -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A golden file is text: a line "tds-golden 1", a line "device NAME", then for
// each case a line "case KEY" and a line of its results in hexadecimal.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_TEST_GOLDEN_H
#define TDSL_SIM_TEST_GOLDEN_H

#include "OpcodeCases.h"

#include <map>

namespace simtest {

struct GoldenFile {
  std::string path, device, error;
  std::map<std::string, std::vector<unsigned long long>> results;
};

/// The name of a case: opcode, further operands, whether it has rows.
std::string keyOf(const Case &c);
/// The bits of a result that the case's destination has.
unsigned long long narrowed(const Case &c, unsigned long long v);
/// Both are NaN where the case leaves their payload open.
bool sameNan(const Case &c, unsigned long long a, unsigned long long b);

GoldenFile readGolden(const std::string &path);
/// All golden files in `folder`, which need not exist.
std::vector<GoldenFile> goldenFiles(const std::string &folder);
/// Runs the cases on the device that is loaded and writes what it gives.
bool recordGolden(const std::string &path, const std::string &device,
                  const std::vector<Case> &cases,
                  const std::vector<WarpCase> &warps, std::string &error);

} // namespace simtest

#endif // TDSL_SIM_TEST_GOLDEN_H
