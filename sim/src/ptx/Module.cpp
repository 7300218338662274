//===- Module.cpp - parsed form of a PTX module -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ptx/Module.h"

namespace tds::sim {

namespace {
struct TypeInfo {
  const char *name;
  u8 bytes;
};
const TypeInfo typeInfos[] = {
    {"", 0},       {"pred", 0}, {"b8", 1},  {"u8", 1},  {"s8", 1},
    {"b16", 2},    {"u16", 2},  {"s16", 2}, {"f16", 2}, {"bf16", 2},
    {"b32", 4},    {"u32", 4},  {"s32", 4}, {"f32", 4}, {"f16x2", 4},
    {"bf16x2", 4}, {"tf32", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8},
    {"f64", 8},    {"b128", 16}};
} // namespace

u32 bytesOf(Ty type) { return typeInfos[(int)type].bytes; }
u32 laneBytesOf(Ty type) {
  u32 bytes = bytesOf(type);
  return bytes == 1 ? 2 : bytes;
}
bool isFloat(Ty type) {
  switch (type) {
  case Ty::F16:
  case Ty::BF16:
  case Ty::F32:
  case Ty::F16x2:
  case Ty::BF16x2:
  case Ty::TF32:
  case Ty::F64:
    return true;
  default:
    return false;
  }
}
bool isUntyped(Ty type) {
  return type == Ty::B8 || type == Ty::B16 || type == Ty::B32 ||
         type == Ty::B64 || type == Ty::B128;
}
bool isSigned(Ty type) {
  return type == Ty::S8 || type == Ty::S16 || type == Ty::S32 ||
         type == Ty::S64;
}
const char *nameOf(Ty type) { return typeInfos[(int)type].name; }
Ty typeFromName(const std::string &name) {
  for (int i = 1; i < (int)(sizeof typeInfos / sizeof *typeInfos); ++i)
    if (name == typeInfos[i].name)
      return (Ty)i;
  return Ty::None;
}

const char *nameOf(Space space) {
  switch (space) {
  case Space::None:
    return "no";
  case Space::Local:
    return "local";
  case Space::Shared:
    return "shared";
  case Space::Global:
    return "global";
  case Space::Const:
    return "const";
  case Space::Param:
    return "param";
  case Space::Generic:
    return "generic";
  case Space::Cluster:
    return "shared::cluster";
  }
  return "no";
}

s64 Function::findLabel(u32 scope, const std::string &label) const {
  for (;;) {
    auto it = labels.find({scope, label});
    if (it != labels.end())
      return it->second;
    if (scope == 0)
      return -1;
    scope = scopeParents[scope];
  }
}

const LabelTable *Function::findTable(u32 scope,
                                      const std::string &label) const {
  for (;;) {
    auto it = tables.find({scope, label});
    if (it != tables.end())
      return &it->second;
    if (scope == 0)
      return nullptr;
    scope = scopeParents[scope];
  }
}

} // namespace tds::sim
