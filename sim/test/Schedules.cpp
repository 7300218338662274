//===- Schedules.cpp - a test under every schedule --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Schedules.h"

#include <gtest/gtest.h>

namespace simtest {

static const char *const schedules[] = {"forward,lazy", "reverse,eager",
                                        "random,mixed", "random,lazy"};

void underAllSchedules(const std::function<void(Gpu &)> &body) {
  for (const char *s : schedules)
    for (unsigned seed : {1u, 7u}) {
      SCOPED_TRACE(std::string(s) + " seed " + std::to_string(seed));
      Gpu gpu;
      gpu.configure(s, seed);
      body(gpu);
      for (const TdsSimReport &r : gpu.reports())
        ADD_FAILURE() << r.text;
      if (std::string(s).find("random") == std::string::npos)
        break;
    }
}

} // namespace simtest
