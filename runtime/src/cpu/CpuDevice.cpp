//===- CpuDevice.cpp - programs on this processor -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cpu/CpuDevice.h"
#include "core/Error.h"
#include "cpu/CpuFeatures.h"
#include "cpu/CpuProgram.h"
#include "profile/Peaks.h"

#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace tdsrt {

constexpr unsigned maxThreads = 1024;

CpuDevice::CpuDevice(unsigned threads)
    : threads(threads ? threads : allowedProcessors()) {
  if (this->threads > maxThreads)
    fail(TDS_INVALID_ARGUMENT, this->threads, " threads are more than the ",
         maxThreads, " that are allowed; ask for fewer");
}

std::string CpuDevice::description() const {
  int level = bestLevel();
  return cat(cpuName(), ", ", threads, threads == 1 ? " thread" : " threads",
             ", x86-64", level > 1 ? cat("-v", level) : std::string());
}

int CpuDevice::rank(const std::string &arch) const {
  if (arch == "native")
    return 100; // Fits if its features do; checkNeeds says.
  int level = levelOf(arch);
  return level && missingForLevel(level).empty() ? level : -1;
}

static std::string joined(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

void CpuDevice::checkNeeds(const Target &target,
                           const std::string &name) const {
  std::vector<std::string> missing, unknown;
  if (target.arch == "native") {
    for (const std::string &feature : target.features) {
      Feature found = cpuFeature(feature);
      if (found == Feature::Absent)
        missing.push_back(printable(feature));
      else if (found == Feature::Unknown)
        unknown.push_back(printable(feature));
    }
    if (!unknown.empty())
      fail(TDS_UNSUPPORTED, name,
           ": was compiled for processor features that "
           "this runtime cannot check (",
           joined(unknown), "); compile it without --cpu=native");
  } else if (int level = levelOf(target.arch)) {
    missing = missingForLevel(level);
  } else {
    fail(TDS_UNSUPPORTED, name, ": was compiled for the processor level '",
         printable(target.arch),
         "', which this runtime does not know; compile "
         "it for x86-64-v2, x86-64-v3 or x86-64-v4");
  }
  if (!missing.empty()) {
    int level = bestLevel();
    fail(TDS_UNSUPPORTED, name, ": was compiled for ", printable(target.arch),
         ", but this processor (", cpuName(), ") lacks ", joined(missing),
         "; compile it with --cpu=x86-64-v", level < 2 ? 2 : level,
         level < 2 ? " on a newer processor" : "");
  }
}

uint64_t CpuDevice::availableMemory() const {
  // MemAvailable counts what the page cache would give back.
  uint64_t kilobytes = 0;
  if (FILE *file = std::fopen("/proc/meminfo", "re")) {
    char line[256];
    while (std::fgets(line, sizeof line, file))
      if (std::sscanf(line, "MemAvailable: %lu", &kilobytes) == 1)
        break;
    std::fclose(file);
  }
  if (kilobytes)
    return kilobytes * 1024;
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? uint64_t(pages) * uint64_t(size) : 0;
}

DevicePeaks CpuDevice::peaks() const {
  std::call_once(peaksMeasured, [&] {
    ThreadPool own(threads);
    measured = measureCpuPeaks(own);
  });
  return measured;
}

std::unique_ptr<Program>
CpuDevice::load(std::shared_ptr<const Artifact> artifact) {
  std::call_once(poolMade,
                 [&] { pool = std::make_shared<ThreadPool>(threads); });
  return makeCpuProgram(std::move(artifact), pool);
}

} // namespace tdsrt
