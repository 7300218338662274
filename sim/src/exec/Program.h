//===- Program.h - decoded form of PTX, ready to execute --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One decoded operation serves the 32 lanes of a warp. Registers are arrays of
// 32 values in a frame, addressed by byte offset; immediates and special
// registers are registers that are filled in beforehand, so that a handler
// never asks what kind of operand it has. Predicates are 32-bit masks.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_EXEC_PROGRAM_H
#define TDSL_SIM_EXEC_PROGRAM_H

#include "ptx/Module.h"

namespace tds::sim {

struct Warp;
struct Op;
using Handler = void (*)(Warp &, const Op &);

constexpr u32 noReg = ~0u;

/// What the scheduling loop does with an operation.
enum class Flow : u8 {
  Plain,         // handler, then the next operation
  Branch,        // to `target`
  IndexedBranch, // to ext[a[lane]]
  Call,          // function `target`
  Return,        // from a function, or a thread's end
  Exit,          // a thread's end
  Barrier,       // handler says whether the warp waits
  Collective,    // lanes named in the member mask (register c) execute together
  Yield          // handler, then the warp may be asked to stand back
};

/// Which registers an operation uses, for the check of wgmma's registers.
enum class Uses : u8 {
  Plain,     // writes d, reads a, b, c
  Move,      // copies a to d
  WritesExt, // writes all of ext, reads a
  ReadsExt,  // reads all of ext, and a; writes d unless a store
  Stores,    // reads all of ext
  Vector,    // writes the first `size` of ext, reads the others
  Mma        // a wgmma: looks after itself
};

/// Op::target of a load of registers: which of its elements anything reads.
constexpr u32 allElements = ~0u;

struct Op {
  Handler fn = nullptr;
  u32 d = noReg, a = noReg, b = noReg, c = noReg;
  s64 imm = 0;      // address offset, count, …
  u32 pred = noReg; // guard
  bool predNegated = false;
  Flow flow = Flow::Plain;
  u8 aux = 0, aux2 = 0;
  u32 target = 0; // operation index, function number or mask of elements
  u32 ext = 0;    // first of nExt entries in Code::ext
  u16 nExt = 0, size = 0;
  u32 line = 0, loc = 0;
  Uses uses = Uses::Plain;
};

enum class Special : u8 {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NWarpId,
  SmId,
  NSmId,
  GridId,
  LaneMaskEq,
  LaneMaskLe,
  LaneMaskLt,
  LaneMaskGe,
  LaneMaskGt,
  DynamicSmem,
  TotalSmem,
  Clock,
  Clock64,
  ClockHi,
  GlobalTimer,
  GlobalTimerLo,
  GlobalTimerHi,
  WorkspaceHigh, // %envreg1 and 2: memory of a cooperative launch
  WorkspaceLow,
  ClusterIdX,
  ClusterIdY,
  ClusterIdZ,
  NClusterIdX,
  NClusterIdY,
  NClusterIdZ,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusterCtaRank,
  ClusterNctaRank
};
/// Whether a special register changes while a block runs, so that it is read
/// where it stands.
inline bool isVolatile(Special s) {
  return s >= Special::Clock && s <= Special::GlobalTimerHi;
}

struct ParamSlot {
  std::string name;
  u32 offset = 0; // kernel: in the parameter buffer; function: in the frame
  u32 bytes = 0;
};

/// A decoded function.
struct Code {
  std::string name;
  bool isEntry = false;
  u32 index = 0;
  std::vector<Op> ops;
  std::vector<u32> ext;
  u32 frameBytes = 0;
  struct Immediate {
    u32 offset;
    u8 bytes;
    u64 value;
  };
  std::vector<Immediate> immediates;
  struct SpecialSlot {
    u32 offset;
    u8 bytes;
    Special special;
  };
  std::vector<SpecialSlot> specials;
  std::vector<ParamSlot> params, rets;
  u32 paramBytes = 0;
  u32 localBytes = 0;  // per thread
  u32 sharedBytes = 0; // static, of an entry and all that it calls
  u32 reqThreads[3] = {0, 0, 0}, maxThreads = 0;
  u32 reqCluster[3] = {0, 0, 0}, maxClusterRank = 0;
  bool explicitCluster = false;
  u32 line = 0;
  u32 numRegs = 0;
  // Filled in for entries, over everything that they can reach:
  u32 minAccess = 4; // narrowest access to shared or global memory
  bool recursive = false;
  bool usesCalls = false;
  u32 reachableLocalBytes = 0;
  bool usesAtomics = false;
  bool usesAsync = false; // mbarriers, named barriers, bulk copies, wgmma
  bool usesWgmma = false;
};

struct Program {
  std::string name; // of the module, for reports
  u32 version = 0, sm = 0;
  std::vector<std::unique_ptr<Code>> codes;
  std::map<std::string, u32> byName;
  std::vector<Loc> locs;
  std::map<u32, std::string> files;
  struct GlobalVar {
    std::string name;
    u64 address, bytes;
    bool isConst;
  };
  std::vector<GlobalVar> globals;
};

// Windows of the generic address space. They lie above what the host's user
// space can map, so that host pointers never fall into them.
constexpr u64 sharedWindow = 1ull << 48;
constexpr u64 localWindow = 2ull << 48;
constexpr u64 paramWindow = 3ull << 48;
constexpr u64 windowMask = ~0ull << 48;

} // namespace tds::sim

#endif // TDSL_SIM_EXEC_PROGRAM_H
