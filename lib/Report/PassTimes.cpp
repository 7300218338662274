//===- PassTimes.cpp - how long passes take -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Report/Report.h"

#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"

#include <chrono>

using namespace mlir;
using namespace tdsl::report;

namespace {

class PassClock : public PassInstrumentation {
public:
  PassClock(std::vector<Duration> &times, StringRef prefix)
      : times(times), prefix(prefix) {}

  void runBeforePass(Pass *, Operation *) override {
    started.push_back(Clock::now());
  }
  void runAfterPass(Pass *pass, Operation *) override { end(pass); }
  void runAfterPassFailed(Pass *pass, Operation *) override { end(pass); }

private:
  using Clock = std::chrono::steady_clock;

  void end(Pass *pass) {
    double seconds =
        std::chrono::duration<double>(Clock::now() - started.pop_back_val())
            .count();
    // What only runs others, on each function, has no name.
    if (pass->getArgument().empty())
      return;
    std::string name = prefix + pass->getArgument().str();
    auto known = llvm::find_if(
        times, [&](const Duration &time) { return time.name == name; });
    if (known == times.end())
      times.push_back({name, seconds});
    else
      known->seconds += seconds;
  }

  std::vector<Duration> &times;
  std::string prefix;
  SmallVector<Clock::time_point, 4> started;
};

} // namespace

void tdsl::report::timePasses(PassManager &manager,
                              std::vector<Duration> &times, StringRef prefix) {
  manager.addInstrumentation(std::make_unique<PassClock>(times, prefix));
}
