//===- PassStatistic.h - counts of what passes do -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_SUPPORT_PASSSTATISTIC_H
#define TDSL_SUPPORT_PASSSTATISTIC_H

#include "mlir/Pass/Pass.h"

#include "llvm/ADT/Statistic.h"

namespace tdsl {

/// A statistic of a pass, as `Statistic<…>` in its TableGen entry declares it.
/// Unlike `mlir::Pass::Statistic` it counts whether or not LLVM was built with
/// statistics, which the packages of distributions are not.
///
/// All instances of a pass count into one number for the whole process. Any
/// thread may count.
class PassStatistic {
public:
  /// `name` and `description` must outlive the process, as literals do.
  PassStatistic(mlir::Pass *owner, const char *name, const char *description);

  PassStatistic &operator++() {
    ++counter;
    return *this;
  }
  PassStatistic &operator+=(uint64_t count) {
    counter += count;
    return *this;
  }

private:
  llvm::TrackingStatistic &counter;
};

/// Prints what has been counted, by the names of passes and of statistics, a
/// line each: pass, statistic, count, what it counts.
void printPassStatistics(llvm::raw_ostream &os);

} // namespace tdsl

#endif // TDSL_SUPPORT_PASSSTATISTIC_H
