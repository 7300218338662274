//===- ReadPlan.h - shared by the parts of lib/Report -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_REPORT_READPLAN_H
#define TDSL_LIB_REPORT_READPLAN_H

#include "tdsl/Report/Report.h"

#include <limits>

#include "mlir/IR/Location.h"

namespace tdsl::report {

/// The places in the program that a location stands for.
std::vector<Place> getPlaces(mlir::Location loc, llvm::StringRef sourceFolder);

/// The locations that a fused one is made of, without repetition.
void collectParts(mlir::Location loc, std::vector<mlir::Attribute> &parts);

/// A note as a sentence.
std::string describeNote(const Note &note);

/// The notes of a launch as sentences, each once, with their line where that is
/// not the launch's main one. Of more than `most` the last ones are counted
/// only: passes may try many pairs.
std::vector<std::string>
describeNotes(const TargetReport &target, const Launch &launch,
              size_t most = std::numeric_limits<size_t>::max());

/// "2 copies of 4 KiB (a.tds:7): why".
std::string describeCopy(const CopyReason &copy);

/// "in 28 runs ", or nothing where a launch runs once a call.
std::string describeRuns(const Launch &launch);

/// "moves 3 MiB, of which 2 MiB cannot be saved".
std::string describeMoved(int64_t bytes, int64_t leastBytes);

/// "1.5 M", "12 "; powers of 1000, for a unit behind it.
std::string formatCount(double count);

} // namespace tdsl::report

#endif // TDSL_LIB_REPORT_READPLAN_H
