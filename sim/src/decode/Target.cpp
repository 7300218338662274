//===- Target.cpp - .version and .target against the device -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "decode/Decoder.h"

#include <algorithm>

namespace tds::sim {

void checkTarget(const Module &module, u32 maxPtx, u32 sm, char suffix) {
  auto version = [](u32 v) {
    return std::to_string(v / 10) + "." + std::to_string(v % 10);
  };
  if (module.version > maxPtx)
    throw PtxTargetError(1,
                         "the module is PTX ISA " + version(module.version) +
                             ", this driver takes up to " + version(maxPtx),
                         true);
  struct Known {
    u32 sm;
    u32 ptx;
  };
  static const Known known[] = {
      {30, 30},  {32, 40},  {35, 31},  {37, 41},  {50, 40},  {52, 41},
      {53, 42},  {60, 50},  {61, 50},  {62, 50},  {70, 60},  {72, 61},
      {75, 63},  {80, 70},  {86, 71},  {87, 74},  {89, 78},  {90, 78},
      {100, 86}, {101, 86}, {103, 88}, {110, 90}, {120, 87}, {121, 88}};
  const Known *entry = nullptr;
  for (const Known &k : known)
    if (k.sm == module.sm)
      entry = &k;
  if (!entry)
    throw PtxTargetError(1, "unknown target sm_" + std::to_string(module.sm),
                         false);
  u32 need = module.smSuffix ? std::max(entry->ptx, 80u) : entry->ptx;
  if (module.version < need)
    throw PtxError(
        1, "target sm_" + std::to_string(module.sm) +
               (module.smSuffix ? std::string(1, module.smSuffix) : "") +
               " needs PTX ISA " + version(need) + ", the module declares " +
               version(module.version));
  bool runs = module.smSuffix == 'a' ? module.sm == sm && suffix == 'a'
              : module.smSuffix == 'f'
                  ? module.sm / 10 == sm / 10 && sm >= module.sm
                  : module.sm <= sm;
  if (!runs)
    throw PtxTargetError(
        1,
        "the module targets sm_" + std::to_string(module.sm) +
            (module.smSuffix ? std::string(1, module.smSuffix) : "") +
            ", the device is sm_" + std::to_string(sm) +
            (suffix ? std::string(1, suffix) : ""),
        false);
}

} // namespace tds::sim
