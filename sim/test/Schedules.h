//===- Schedules.h - a test under every schedule ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TDSL_SIM_TEST_SCHEDULES_H
#define TDSL_SIM_TEST_SCHEDULES_H

#include "Client.h"

#include <functional>

namespace simtest {

/// Runs `body` with a fresh context under each schedule, all checks on, and
/// expects that no checker complains.
void underAllSchedules(const std::function<void(Gpu &)> &body);

} // namespace simtest

#endif // TDSL_SIM_TEST_SCHEDULES_H
