//===- CpuFeatures.cpp - what this processor can execute -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cpu/CpuFeatures.h"

#include <array>
#include <cpuid.h>
#include <cstdint>
#include <cstring>

namespace tdsrt {

namespace {

enum Register { A, B, C, D };
/// Which operating-system support a feature needs besides its CPUID bit.
enum Saved { None, Ymm, Zmm, Tile };

struct Bit {
  const char *name;
  uint32_t leaf, subleaf;
  Register reg;
  unsigned bit;
  Saved saved;
};

constexpr uint32_t ext = 0x80000000u;
constexpr Bit bits[] = {
    {"cx8", 1, 0, D, 8, None},          {"cmov", 1, 0, D, 15, None},
    {"mmx", 1, 0, D, 23, None},         {"fxsr", 1, 0, D, 24, None},
    {"sse", 1, 0, D, 25, None},         {"sse2", 1, 0, D, 26, None},
    {"sse3", 1, 0, C, 0, None},         {"pclmul", 1, 0, C, 1, None},
    {"ssse3", 1, 0, C, 9, None},        {"fma", 1, 0, C, 12, Ymm},
    {"cx16", 1, 0, C, 13, None},        {"sse4.1", 1, 0, C, 19, None},
    {"sse4.2", 1, 0, C, 20, None},      {"crc32", 1, 0, C, 20, None},
    {"movbe", 1, 0, C, 22, None},       {"popcnt", 1, 0, C, 23, None},
    {"aes", 1, 0, C, 25, None},         {"xsave", 1, 0, C, 27, None},
    {"avx", 1, 0, C, 28, Ymm},          {"f16c", 1, 0, C, 29, Ymm},
    {"rdrnd", 1, 0, C, 30, None},       {"fsgsbase", 7, 0, B, 0, None},
    {"sgx", 7, 0, B, 2, None},          {"bmi", 7, 0, B, 3, None},
    {"avx2", 7, 0, B, 5, Ymm},          {"bmi2", 7, 0, B, 8, None},
    {"invpcid", 7, 0, B, 10, None},     {"rtm", 7, 0, B, 11, None},
    {"avx512f", 7, 0, B, 16, Zmm},      {"avx512dq", 7, 0, B, 17, Zmm},
    {"rdseed", 7, 0, B, 18, None},      {"adx", 7, 0, B, 19, None},
    {"avx512ifma", 7, 0, B, 21, Zmm},   {"clflushopt", 7, 0, B, 23, None},
    {"clwb", 7, 0, B, 24, None},        {"avx512cd", 7, 0, B, 28, Zmm},
    {"sha", 7, 0, B, 29, None},         {"avx512bw", 7, 0, B, 30, Zmm},
    {"avx512vl", 7, 0, B, 31, Zmm},     {"avx512vbmi", 7, 0, C, 1, Zmm},
    {"pku", 7, 0, C, 4, None},          {"waitpkg", 7, 0, C, 5, None},
    {"avx512vbmi2", 7, 0, C, 6, Zmm},   {"shstk", 7, 0, C, 7, None},
    {"gfni", 7, 0, C, 8, None},         {"vaes", 7, 0, C, 9, Ymm},
    {"vpclmulqdq", 7, 0, C, 10, Ymm},   {"avx512vnni", 7, 0, C, 11, Zmm},
    {"avx512bitalg", 7, 0, C, 12, Zmm}, {"avx512vpopcntdq", 7, 0, C, 14, Zmm},
    {"rdpid", 7, 0, C, 22, None},       {"kl", 7, 0, C, 23, None},
    {"cldemote", 7, 0, C, 25, None},    {"movdiri", 7, 0, C, 27, None},
    {"movdir64b", 7, 0, C, 28, None},   {"enqcmd", 7, 0, C, 29, None},
    {"uintr", 7, 0, D, 5, None},        {"avx512vp2intersect", 7, 0, D, 8, Zmm},
    {"serialize", 7, 0, D, 14, None},   {"tsxldtrk", 7, 0, D, 16, None},
    {"pconfig", 7, 0, D, 18, None},     {"amx-bf16", 7, 0, D, 22, Tile},
    {"avx512fp16", 7, 0, D, 23, Zmm},   {"amx-tile", 7, 0, D, 24, Tile},
    {"amx-int8", 7, 0, D, 25, Tile},    {"avxvnni", 7, 1, A, 4, Ymm},
    {"avx512bf16", 7, 1, A, 5, Zmm},    {"cmpccxadd", 7, 1, A, 7, None},
    {"amx-fp16", 7, 1, A, 21, Tile},    {"hreset", 7, 1, A, 22, None},
    {"avxifma", 7, 1, A, 23, Ymm},      {"avxvnniint8", 7, 1, D, 4, Ymm},
    {"avxneconvert", 7, 1, D, 5, Ymm},  {"amx-complex", 7, 1, D, 8, Tile},
    {"avxvnniint16", 7, 1, D, 10, Ymm}, {"prefetchi", 7, 1, D, 14, None},
    {"xsaveopt", 13, 1, A, 0, None},    {"xsavec", 13, 1, A, 1, None},
    {"xsaves", 13, 1, A, 3, None},      {"sahf", ext | 1, 0, C, 0, None},
    {"lzcnt", ext | 1, 0, C, 5, None},  {"sse4a", ext | 1, 0, C, 6, None},
    {"prfchw", ext | 1, 0, C, 8, None}, {"xop", ext | 1, 0, C, 11, Ymm},
    {"lwp", ext | 1, 0, C, 15, None},   {"fma4", ext | 1, 0, C, 16, Ymm},
    {"tbm", ext | 1, 0, C, 21, None},   {"mwaitx", ext | 1, 0, C, 29, None},
    {"64bit", ext | 1, 0, D, 29, None}, {"clzero", ext | 8, 0, B, 0, None},
    {"rdpru", ext | 8, 0, B, 4, None},  {"wbnoinvd", ext | 8, 0, B, 9, None},
};

std::array<uint32_t, 4> cpuid(uint32_t leaf, uint32_t subleaf) {
  std::array<uint32_t, 4> regs{};
  if (!__get_cpuid_count(leaf, subleaf, &regs[A], &regs[B], &regs[C], &regs[D]))
    regs = {};
  return regs;
}

uint64_t enabledState() {
  if (!(cpuid(1, 0)[C] & (1u << 27))) // OSXSAVE
    return 0;
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

bool systemSaves(Saved saved) {
  static const uint64_t state = enabledState();
  uint64_t wanted = saved == None  ? 0
                    : saved == Ymm ? 0x6
                    : saved == Zmm ? 0xe6
                                   : 0x60000;
  return (state & wanted) == wanted;
}

const std::vector<const char *> levelFeatures[] = {
    {"cx16", "sahf", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2"},
    {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"},
    {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
};

} // namespace

Feature cpuFeature(const std::string &name) {
  for (const Bit &bit : bits)
    if (name == bit.name)
      return (cpuid(bit.leaf, bit.subleaf)[bit.reg] >> bit.bit & 1) &&
                     systemSaves(bit.saved)
                 ? Feature::Present
                 : Feature::Absent;
  return Feature::Unknown;
}

std::vector<std::string> missingForLevel(int level) {
  std::vector<std::string> missing;
  for (int step = 2; step <= level; ++step)
    for (const char *name : levelFeatures[step - 2])
      if (cpuFeature(name) != Feature::Present)
        missing.push_back(name);
  return missing;
}

int levelOf(const std::string &arch) {
  for (int level = 2; level <= 4; ++level)
    if (arch == "x86-64-v" + std::to_string(level))
      return level;
  return 0;
}

int bestLevel() {
  int level = 1;
  while (level < 4 && missingForLevel(level + 1).empty())
    ++level;
  return level;
}

std::string cpuName() {
  if (cpuid(ext, 0)[A] < (ext | 4))
    return "x86-64 processor";
  char name[49] = {};
  for (uint32_t i = 0; i < 3; ++i) {
    auto regs = cpuid((ext | 2) + i, 0);
    std::memcpy(name + 16 * i, regs.data(), 16);
  }
  std::string text = name;
  size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "x86-64 processor" : text.substr(begin);
}

} // namespace tdsrt
