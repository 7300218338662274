//===- Registry.h - every opcode the simulator knows ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table is keyed on the full opcode string with all its modifiers, so that
// a modifier can never be ignored: a spelling that is not in the table is an
// error. Families register all the spellings they implement.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_DECODE_REGISTRY_H
#define TDSL_SIM_DECODE_REGISTRY_H

#include "exec/Program.h"

#include <string>
#include <unordered_map>

namespace tds::sim {

/// How the operands of an opcode are read.
enum class Form : u8 {
  Plain,    // d, sources
  PredPair, // d|q, sources (q optional): setp, shfl, match
  Load,     // d or {d…}, [a]
  Store,    // [a], s or {s…}
  Atom,     // d, [a], sources
  Red,      // [a], sources
  Mov,      // all forms of mov
  Shuffle,  // d|p, a, b, c, mask
  Member,   // d|p, a, mask
  Elect,    // d|p, mask
  Cvta,     // d, register or variable
  Convert,  // cvt: registers may be wider than the types
  Branch,
  IndexedBranch,
  Call,
  Return,
  Exit,
  Barrier,    // a[, b], optional
  BarrierRed, // p, a[, b], c
  Vector,     // every operand may be a {…}; sizes in `counts`
  Matrix,     // ldmatrix and stmatrix
  CopyAsync,  // cp.async
  Immediate,  // one immediate, kept in Op::imm
  Address,    // [a]: prefetch and the like
  Bulk,       // bulk and tensor copies, see exec/Bulk.h
  Wgmma,      // wgmma.mma_async
  StoreAsync, // [a], s or {s…}, [mbarrier]
  Nothing     // no operand
};

struct OpInfo {
  Form form = Form::Plain;
  Handler fn = nullptr;
  Flow flow = Flow::Plain;
  Ty d = Ty::None;
  Ty s[4] = {Ty::None, Ty::None, Ty::None, Ty::None};
  u8 nSrc = 0;
  u8 aux = 0, aux2 = 0;
  u8 counts[4] = {1, 1, 1, 1}; // Form::Vector: elements of d, a, b, c
  Space space = Space::None;
  u16 size = 0;
  u16 minPtx = 0, minSm = 0;
  char smSuffix = 0; // 'a': only where the target has it
};

class Registry {
public:
  /// The table, built at first use.
  static const Registry &get();
  const OpInfo *find(const std::string &opcode) const {
    auto it = table.find(opcode);
    return it == table.end() ? nullptr : &it->second;
  }
  size_t size() const { return table.size(); }
  const std::unordered_map<std::string, OpInfo> &all() const { return table; }

  OpInfo &add(const std::string &opcode, const OpInfo &info);
  /// `d = f(sources)`, the common case.
  OpInfo &plain(const std::string &opcode, Handler fn, Ty d,
                std::initializer_list<Ty> sources, u16 minPtx = 0,
                u16 minSm = 0);

private:
  std::unordered_map<std::string, OpInfo> table;
};

void registerInteger(Registry &r);
void registerCarry(Registry &r);
void registerFloat(Registry &r);
void registerHalf(Registry &r);
void registerApprox(Registry &r);
void registerCompare(Registry &r);
void registerConvert(Registry &r);
void registerMemory(Registry &r);
void registerAtomic(Registry &r);
void registerWarpOps(Registry &r);
void registerControl(Registry &r);
void registerMma(Registry &r);
void registerLdmatrix(Registry &r);
void registerWmma(Registry &r);
void registerCopyAsync(Registry &r);
void registerBulk(Registry &r);
void registerStoreAsync(Registry &r);
void registerWgmma(Registry &r);
void registerCluster(Registry &r);

/// The handlers that the decoder chooses by operand, not by spelling.
Handler loadHandler(Space space, Ty type, u32 regBytes, u32 count);
Handler storeHandler(Space space, Ty type, u32 regBytes, u32 count);
Handler moveHandler(u32 bytes);
/// A register of `from` bytes a lane into one of `to` bytes.
Handler resizeHandler(u32 to, u32 from, bool isSigned);
/// pack: {s…} into d; unpack: the reverse. `bytes` of a part, `count` parts.
Handler packHandler(u32 bytes, u32 count);
Handler unpackHandler(u32 bytes, u32 count);
Handler notPredHandler();
Handler movePredHandler();
Handler predImmediateHandler(bool value);
Handler volatileSpecialHandler();
/// d = whether the launch has clusters.
Handler explicitClusterHandler();
/// d = thread's local frame + imm (+ window if aux)
Handler localAddressHandler(u32 bytes);
/// Calls to what the driver provides: vprintf, __assertfail.
Handler systemCallHandler(const std::string &name);

} // namespace tds::sim

#endif // TDSL_SIM_DECODE_REGISTRY_H
