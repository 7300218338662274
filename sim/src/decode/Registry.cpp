//===- Registry.cpp - every opcode the simulator knows ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "decode/Registry.h"

namespace tds::sim {

const Registry &Registry::get() {
  static const Registry *registry = [] {
    auto *r = new Registry;
    r->table.reserve(1 << 14);
    registerInteger(*r);
    registerCarry(*r);
    registerFloat(*r);
    registerHalf(*r);
    registerApprox(*r);
    registerCompare(*r);
    registerConvert(*r);
    registerMemory(*r);
    registerAtomic(*r);
    registerWarpOps(*r);
    registerControl(*r);
    registerMma(*r);
    registerLdmatrix(*r);
    registerWmma(*r);
    registerCopyAsync(*r);
    registerBulk(*r);
    registerStoreAsync(*r);
    registerWgmma(*r);
    registerCluster(*r);
    return r;
  }();
  return *registry;
}

OpInfo &Registry::add(const std::string &opcode, const OpInfo &info) {
  OpInfo &slot = table[opcode];
  slot = info;
  return slot;
}

OpInfo &Registry::plain(const std::string &opcode, Handler fn, Ty d,
                        std::initializer_list<Ty> sources, u16 minPtx,
                        u16 minSm) {
  OpInfo info;
  info.fn = fn;
  info.d = d;
  for (Ty t : sources)
    info.s[info.nSrc++] = t;
  info.minPtx = minPtx;
  info.minSm = minSm;
  return add(opcode, info);
}

} // namespace tds::sim
