//===- Profile.cpp - where the time of a run went -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Profile.h"
#include "Arrays.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

namespace tdsrun {

Profile::Profile(const Options &options, tds::Device device, tds::Module module)
    : options(options), device(std::move(device)), module(std::move(module)) {
  if (options.profile || !options.trace.empty())
    this->module.profileStart();
}

/// Three digits and a unit: "1.23 ms".
static std::string scaled(double value, const char *const *units, double step) {
  size_t unit = 0;
  while (value >= step && units[unit + 1]) {
    value /= step;
    ++unit;
  }
  char text[64];
  std::snprintf(text, sizeof text,
                value >= 100  ? "%.0f %s"
                : value >= 10 ? "%.1f %s"
                              : "%.2f %s",
                value, units[unit]);
  return text;
}

static std::string secondsText(double seconds) {
  static const char *const units[] = {"us", "ms", "s", nullptr};
  return scaled(seconds * 1e6, units, 1000);
}

static std::string bytesText(double bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", nullptr};
  return scaled(bytes, units, 1024);
}

/// "12.3 (45 %)": a rate in billions a second, and its share of the peak.
static std::string rateText(double amount, double seconds, double peak) {
  if (amount <= 0 || seconds <= 0)
    return "-";
  char text[64];
  double rate = amount / seconds;
  if (peak > 0)
    std::snprintf(text, sizeof text, "%.3g (%.0f %%)", rate * 1e-9,
                  100 * rate / peak);
  else
    std::snprintf(text, sizeof text, "%.3g", rate * 1e-9);
  return text;
}

static std::string cut(const std::string &text, size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 2) + "..";
}

/// The end of a place in a file, which says more than its folder.
static std::string cutPlace(const std::string &text, size_t width) {
  return text.size() <= width ? text
                              : ".." + text.substr(text.size() - width + 2);
}

std::string profileTable(const std::vector<tds_kernel_profile> &all,
                         double peakBytes, double peakFlops) {
  std::vector<tds_kernel_profile> kernels;
  double total = 0;
  for (const tds_kernel_profile &kernel : all)
    if (kernel.timed_calls) {
      kernels.push_back(kernel);
      total += kernel.seconds;
    }
  std::sort(kernels.begin(), kernels.end(),
            [](const tds_kernel_profile &a, const tds_kernel_profile &b) {
              return a.seconds > b.seconds;
            });
  std::string out;
  auto line = [&](const std::string &title, const std::string &source,
                  uint64_t calls, double seconds, uint64_t bytes,
                  uint64_t flops) {
    char text[512];
    std::snprintf(
        text, sizeof text, "%-36s %-22s %8llu %9s %6.1f %% %9s %14s %14s\n",
        cut(title, 36).c_str(), cutPlace(source, 22).c_str(),
        static_cast<unsigned long long>(calls), secondsText(seconds).c_str(),
        total > 0 ? 100 * seconds / total : 0, bytesText(double(bytes)).c_str(),
        rateText(double(bytes), seconds, peakBytes).c_str(),
        rateText(double(flops), seconds, peakFlops).c_str());
    out += text;
  };
  char heading[512];
  std::snprintf(heading, sizeof heading,
                "%-36s %-22s %8s %9s %8s %9s %14s %14s\n", "kernel", "source",
                "calls", "time", "share", "bytes", "GB/s", "GFLOP/s");
  out += heading;
  uint64_t calls = 0, bytes = 0, flops = 0;
  for (const tds_kernel_profile &kernel : kernels) {
    line(kernel.title, kernel.source, kernel.timed_calls, kernel.seconds,
         kernel.bytes, kernel.flops);
    calls += kernel.timed_calls;
    bytes += kernel.bytes;
    flops += kernel.flops;
  }
  line("all kernels", "", calls, total, bytes, flops);
  if (peakBytes > 0 || peakFlops > 0) {
    std::snprintf(heading, sizeof heading,
                  "(%% of what the device reaches: %.1f GB/s, %.1f GFLOP/s in "
                  "f32)\n",
                  peakBytes * 1e-9, peakFlops * 1e-9);
    out += heading;
  }
  return out;
}

void Profile::finish() {
  if (!options.profile && options.trace.empty())
    return;
  if (!options.trace.empty()) {
    writeFile(options.trace, module.trace());
    std::fprintf(stderr,
                 "note: %s holds the trace; open it in ui.perfetto.dev or "
                 "chrome://tracing\n",
                 options.trace.c_str());
  } else {
    module.synchronize(); // The last times are in the counters then.
  }
  module.profileStop();
  std::fputs(profileTable(module.profile(), device.peakBytesPerSecond(),
                          device.peakFlopsPerSecond())
                 .c_str(),
             stdout);
}

int watchDevices(double seconds, uint64_t count) {
  auto known = [](double value, const char *format, double scale) {
    char text[64] = "-";
    if (value >= 0)
      std::snprintf(text, sizeof text, format, value * scale);
    return std::string(text);
  };
  size_t gpus = 0;
  tds::detail::check(tds_gpu_count(&gpus));
  std::printf("%-3s %-28s %-18s %6s %6s %19s %6s %8s\n", "gpu", "name", "at",
              "busy", "memory", "used", "temp", "power");
  for (uint64_t round = 0; !interrupted(); ++round) {
    for (size_t i = 0; i < gpus; ++i) {
      tds_gpu_readings gpu;
      tds::detail::check(tds_gpu_readings_at(i, &gpu));
      std::string used = known(gpu.memory_used, "%.2f", 0x1p-30) + " of " +
                         known(gpu.memory_total, "%.2f", 0x1p-30) + " GiB";
      std::printf("%-3zu %-28s %-18s %6s %6s %19s %6s %8s\n", i,
                  cut(gpu.name, 28).c_str(), gpu.pci_bus_id,
                  known(gpu.gpu_utilization, "%.0f %%", 100).c_str(),
                  known(gpu.memory_utilization, "%.0f %%", 100).c_str(),
                  used.c_str(), known(gpu.temperature, "%.0f C", 1).c_str(),
                  known(gpu.power, "%.1f W", 1).c_str());
    }
    if (std::fflush(stdout) != 0)
      break; // nobody reads it any more
    if (count && round + 1 == count)
      break;
    // In short sleeps, so that a signal ends it soon.
    auto until = std::chrono::steady_clock::now() +
                 std::chrono::duration<double>(seconds);
    while (!interrupted() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return 0;
}

} // namespace tdsrun
