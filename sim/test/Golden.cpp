//===- Golden.cpp - vectors of results from a GPU ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Golden.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace simtest {

std::string keyOf(const Case &c) {
  return c.op + c.suffix + " " + c.shape + (c.rows.empty() ? "" : " rows");
}

unsigned long long narrowed(const Case &c, unsigned long long v) {
  std::string d = c.shape.substr(0, c.shape.find('='));
  return d == "64" ? v : d == "32" || d == "p" ? (v & 0xffffffff) : v & 0xffff;
}

bool sameNan(const Case &c, unsigned long long a, unsigned long long b) {
  auto isNan = [](unsigned long long v) {
    return (v & 0x7fffffffffffffffull) > 0x7ff0000000000000ull;
  };
  return c.anyNan64 && isNan(a) && isNan(b);
}

GoldenFile readGolden(const std::string &path) {
  GoldenFile file;
  file.path = path;
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line) || line != "tds-golden 1") {
    file.error = path + " is no golden file";
    return file;
  }
  std::string key;
  while (std::getline(in, line)) {
    if (line.compare(0, 7, "device ") == 0) {
      file.device = line.substr(7);
    } else if (line.compare(0, 5, "case ") == 0) {
      key = line.substr(5);
    } else if (!key.empty()) {
      std::istringstream numbers(line);
      unsigned long long v;
      auto &into = file.results[key];
      while (numbers >> std::hex >> v)
        into.push_back(v);
      key.clear();
    }
  }
  return file;
}

std::vector<GoldenFile> goldenFiles(const std::string &folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".golden")
      paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  std::vector<GoldenFile> files;
  for (const std::string &path : paths)
    files.push_back(readGolden(path));
  return files;
}

bool recordGolden(const std::string &path, const std::string &device,
                  const std::vector<Case> &cases,
                  const std::vector<WarpCase> &warps, std::string &error) {
  std::ofstream out(path);
  out << "tds-golden 1\ndevice " << device << "\n" << std::hex;
  auto write = [&](const std::string &key, const Outcome &outcome) {
    if (!outcome.error.empty()) {
      error = outcome.error;
      return false;
    }
    out << "case " << key << "\n";
    for (size_t i = 0; i < outcome.results.size(); ++i)
      out << (i ? " " : "") << outcome.results[i];
    out << "\n";
    return true;
  };
  for (const Case &c : cases)
    if (!write(keyOf(c), run(c)))
      return false;
  for (const WarpCase &c : warps)
    if (!write(c.name, run(c)))
      return false;
  out.flush();
  if (!out) {
    error = "cannot write " + path;
    return false;
  }
  return true;
}

} // namespace simtest
