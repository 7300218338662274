//===- Metrics.cpp - the figures of a run, one JSON object a line -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Metrics.h"

#include <tds/runtime.hpp>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>

namespace tdsrun {

static std::string quoted(const std::string &text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return out + '"';
}

static std::string listOf(const Figures &figures) {
  std::string out;
  for (const auto &[name, value] : figures) {
    char number[40] = "null";
    if (std::isfinite(value))
      std::snprintf(number, sizeof number, "%.9g", value);
    out += (out.empty() ? "" : ", ") + quoted(name) + ": " + number;
  }
  return out;
}

Metrics::Metrics(const std::string &path, bool resume, uint64_t resumedStep)
    : path(path), begin(std::chrono::steady_clock::now()), lastFlush(begin) {
  if (path.empty())
    return;
  std::string kept;
  if (resume) {
    std::ifstream old(path);
    for (std::string line; std::getline(old, line);) {
      unsigned long long step = 0;
      if (std::sscanf(line.c_str(), "{\"step\": %llu,", &step) != 1 ||
          step > resumedStep || line.back() != '}')
        break; // A line cut short by a crash, or one that will come again.
      kept += line + '\n';
    }
  }
  file = std::fopen(path.c_str(), "we");
  if (!file)
    throw tds::Error(TDS_IO, path + ": cannot be written (" +
                                 std::strerror(errno) +
                                 "); check that the folder exists");
  std::fwrite(kept.data(), 1, kept.size(), file);
}

Metrics::~Metrics() {
  if (file)
    std::fclose(file);
}

void Metrics::write(uint64_t step, uint64_t epoch, const std::string &figures) {
  if (!file)
    return;
  auto now = std::chrono::steady_clock::now();
  std::fprintf(
      file, "{\"step\": %llu, \"epoch\": %llu%s%s, \"seconds\": %.3f}\n",
      static_cast<unsigned long long>(step),
      static_cast<unsigned long long>(epoch), figures.empty() ? "" : ", ",
      figures.c_str(), std::chrono::duration<double>(now - begin).count());
  if (now - lastFlush > std::chrono::seconds(1)) {
    flush();
    lastFlush = now;
  }
}

void Metrics::flush() {
  if (file && std::fflush(file) != 0)
    throw tds::Error(TDS_IO, path + ": cannot be written (" +
                                 std::strerror(errno) + ")");
}

void Metrics::step(uint64_t step, uint64_t epoch, const Figures &figures) {
  write(step, epoch, listOf(figures));
}

void Metrics::evaluation(uint64_t step, uint64_t epoch,
                         const Figures &figures) {
  write(step, epoch, "\"eval\": {" + listOf(figures) + "}");
}

} // namespace tdsrun
