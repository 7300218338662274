//===- PassStatistic.cpp - counts of what passes do -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Support/PassStatistic.h"

#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <mutex>

using namespace tdsl;

namespace {
/// All counters, which stay where they are.
struct Counters {
  std::mutex mutex;
  std::map<std::pair<std::string, std::string>, llvm::TrackingStatistic> map;
};
} // namespace

static Counters &getCounters() {
  static Counters counters;
  return counters;
}

static llvm::TrackingStatistic &getCounter(mlir::Pass *owner, const char *name,
                                           const char *description) {
  Counters &counters = getCounters();
  std::lock_guard<std::mutex> lock(counters.mutex);
  // A pass is called by a literal, so the text stays.
  const char *pass = owner->getArgument().data();
  return counters.map.try_emplace({pass, name}, pass, name, description)
      .first->second;
}

PassStatistic::PassStatistic(mlir::Pass *owner, const char *name,
                             const char *description)
    : counter(getCounter(owner, name, description)) {}

void tdsl::printPassStatistics(llvm::raw_ostream &os) {
  Counters &counters = getCounters();
  std::lock_guard<std::mutex> lock(counters.mutex);
  for (const auto &[key, counter] : counters.map)
    if (counter.getValue() != 0)
      os << llvm::formatv("{0,-28} {1,-14} {2,8}  {3}\n", key.first, key.second,
                          counter.getValue(), counter.getDesc());
}
