//===- Settings.cpp - what the environment asks for -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "driver/Driver.h"

#include <cstdlib>
#include <cstring>

namespace tds::sim {

namespace {

bool number(const char *name, u64 low, u64 high, u64 &out, std::string &bad) {
  const char *text = getenv(name);
  if (!text || !*text)
    return false;
  char *end = nullptr;
  u64 v = strtoull(text, &end, 0);
  u64 scale = 1;
  if (*end == 'K' || *end == 'k')
    scale = 1ull << 10;
  else if (*end == 'M' || *end == 'm')
    scale = 1ull << 20;
  else if (*end == 'G' || *end == 'g')
    scale = 1ull << 30;
  if (scale > 1)
    ++end;
  if (*end || v > high / scale || v * scale < low) {
    bad = std::string(name) + "=" + text + " is not a number from " +
          std::to_string(low) + " to " + std::to_string(high);
    return false;
  }
  out = v * scale;
  return true;
}

u32 ptxOfDriver(int version) {
  struct Row {
    int driver;
    u32 ptx;
  };
  static const Row rows[] = {{13000, 90}, {12090, 88}, {12080, 87}, {12070, 86},
                             {12050, 85}, {12040, 84}, {12030, 83}, {12020, 82},
                             {12010, 81}, {12000, 80}, {11080, 78}, {11070, 77},
                             {11060, 76}, {11050, 75}, {11040, 74}, {11030, 73},
                             {11020, 72}, {11010, 71}, {11000, 70}, {10020, 65},
                             {10010, 64}, {10000, 63}};
  for (const Row &r : rows)
    if (version >= r.driver)
      return r.ptx;
  return 60;
}

} // namespace

void parseSchedule(Settings &s, const char *text) {
  s.delays = false;
  // Words joined by commas or dashes.
  std::string word;
  for (const char *p = text;; ++p) {
    if (*p && *p != ',' && *p != '-') {
      word += *p;
      continue;
    }
    if (word == "forward") {
      s.schedule.order = Schedule::Forward;
    } else if (word == "reverse") {
      s.schedule.order = Schedule::Reverse;
      s.delays = true;
    } else if (word == "random") {
      s.schedule.order = Schedule::Random;
      s.delays = true;
    } else if (word == "lazy") {
      s.schedule.async = Schedule::Lazy;
    } else if (word == "eager") {
      s.schedule.async = Schedule::Eager;
    } else if (word == "mixed") {
      s.schedule.async = Schedule::Mixed;
    } else if (!word.empty()) {
      s.problem = "TDS_SIM_SCHEDULE: unknown word '" + word +
                  "' (forward, reverse, random; lazy, eager, mixed)";
    }
    word.clear();
    if (!*p)
      break;
  }
}

void parseChecks(Settings &s, const char *text) {
  s.checks = CheckFlags();
  std::string list = text;
  if (list == "0" || list == "off" || list == "none") {
    s.checks = {false, false, false};
  } else if (list != "1" && list != "all" && !list.empty()) {
    s.checks = {false, false, false};
    size_t at = 0;
    while (at <= list.size()) {
      size_t comma = list.find(',', at);
      std::string word = list.substr(at, comma - at);
      if (word == "init")
        s.checks.init = true;
      else if (word == "shared-race")
        s.checks.sharedRace = true;
      else if (word == "global-race")
        s.checks.globalRace = true;
      else
        s.problem = "TDS_SIM_CHECKS: unknown word '" + word +
                    "' (0, all, or a list of init, shared-race, global-race)";
      if (comma == std::string::npos)
        break;
      at = comma + 1;
    }
  }
}

/// Sets the architecture; false where the text names none.
static bool parseArch(Settings &s, const char *text) {
  unsigned sm = 0;
  char suffix = 0, rest = 0;
  int n = sscanf(text, "sm_%u%c%c", &sm, &suffix, &rest);
  if (!(n == 1 || (n == 2 && suffix == 'a')) || sm < 50 || sm > 90)
    return false;
  s.sm = sm;
  s.smSuffix = n == 2 ? suffix : 0;
  return true;
}

static std::string presetArchName;

bool presetArch(const char *arch) {
  Settings wanted;
  if (!parseArch(wanted, arch))
    return false;
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (driver.initialised())
    return driver.settings().sm == wanted.sm &&
           driver.settings().smSuffix == wanted.smSuffix;
  presetArchName = arch;
  return true;
}

Settings readSettings() {
  Settings s;
  u64 v;
  if (number("TDS_SIM_DEVICES", 0, 64, v, s.problem))
    s.devices = (int)v;
  if (number("TDS_SIM_DRIVER", 10000, 99999, v, s.problem))
    s.driverVersion = (int)v;
  if (number("TDS_SIM_MEMORY", 1 << 20, 1ull << 38, v, s.problem))
    s.memoryBytes = (v + 4095) / 4096 * 4096;
  s.maxPtx = ptxOfDriver(s.driverVersion);
  u32 cores = std::max(1u, std::thread::hardware_concurrency());
  s.threads = number("TDS_SIM_THREADS", 1, 1024, v, s.problem) ? (u32)v : cores;
  s.maxSteps = 1ull << 34;
  if (number("TDS_SIM_MAX_STEPS", 1, ~0ull >> 1, v, s.problem))
    s.maxSteps = v;
  if (number("TDS_SIM_SEED", 0, ~0ull >> 1, v, s.problem))
    s.schedule.seed = v;
  const char *arch = getenv("TDS_SIM_ARCH");
  if (!presetArchName.empty())
    arch = presetArchName.c_str();
  if (arch && !parseArch(s, arch))
    s.problem = std::string("TDS_SIM_ARCH=") + arch +
                " is not an architecture from sm_50 to sm_90a";
  if (const char *text = getenv("TDS_SIM_SCHEDULE"))
    parseSchedule(s, text);
  if (const char *text = getenv("TDS_SIM_CHECKS"))
    parseChecks(s, text);
  if (const char *text = getenv("TDS_SIM_QUIET"))
    s.quiet = strcmp(text, "0") != 0;
  return s;
}

} // namespace tds::sim
