//===- Warp.h - resumable state of 32 lanes and of a block ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warp runs until it waits, ends or has used its share; then its state is
// complete in this structure and any other warp may go on. Blocks are never
// run in lockstep: that would hide a missing barrier.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_EXEC_WARP_H
#define TDSL_SIM_EXEC_WARP_H

#include "exec/Program.h"

#include <atomic>
#include <functional>
#include <memory>

namespace tds::sim {

class DeviceMemory;
class Shadow;
class Clocks;
class AsyncState;
struct View;
struct MmaState;
class BlockOrder;
struct Block;
struct Cluster;

/// Kinds of report. Their names are part of the interface (docs/Simulator.md).
enum class FaultKind : u8 {
  OutOfBounds,
  Misaligned,
  UninitialisedShared,
  UninitialisedGlobal,
  SharedRace,
  GlobalRace,
  BarrierDivergence,
  Deadlock,
  InactiveLane,
  ReadOnly,
  AsyncInFlight,
  Trap,
  BadOperand,
  StackOverflow,
  StepLimit,
  BadLaunch,
  MissingProxyFence,
  MissingMmaFence,
  RegisterInFlight
};
const char *nameOf(FaultKind kind);

/// A fault found while a kernel ran.
struct Fault {
  FaultKind kind;
  std::string what;
  const Code *code = nullptr;
  const Op *op = nullptr;
  int lane = -1;
  int warp = -1;
  const Block *block = nullptr;
};

/// Where the frame of a function call keeps its registers.
struct Frame {
  const Code *code = nullptr;
  u8 *regs = nullptr;
};

/// A stretch of memory that the interpreter may touch: an allocation.
struct Extent {
  u64 lo = 1, hi = 0;  // addresses as the kernel sees them
  s64 delta = 0;       // add to get the host address
  u8 *init = nullptr;  // one byte per byte: written yet? (of `lo`)
  u32 *race = nullptr; // global race shadow of `shadowBase`
  u64 shadowBase = 0;
  bool readOnly = false;
};

struct CallState; // per-lane call stacks, only where a module has calls

struct Warp {
  u8 *regs = nullptr; // registers of the running frame
  u32 mask = 0;       // lanes for which the current operation executes
  u32 active = 0;     // lanes at `pc`
  u32 alive = 0;      // lanes that have not ended
  u32 blocked = 0;    // lanes that wait at a barrier
  u32 pc = 0;
  u32 limit = ~0u; // while diverged: regroup when pc reaches this
  bool diverged = false;
  bool yielded = false; // the handler asks to stand back
  bool progress = false;
  bool waitsForPhase = false; // stands back because an mbarrier is not done
  u32 phaseAddress = 0;       // of that mbarrier
  bool touched = false; // shared accesses since the last own synchronisation
  u32 id = 0;
  u32 agent = 0; // number among the warps of the cluster
  Block *block = nullptr;
  const Code *code = nullptr;
  Extent hit;        // the allocation of the last access
  u32 syncStamp = 0; // tick of the last synchronisation of this warp
  u32 carry = 0;     // the condition code of add.cc and friends, per lane
  u32 pcs[32];
  std::unique_ptr<CallState> calls;
  u8 *local = nullptr; // lane-major
  u32 localStride = 0;
  const Op *op = nullptr;

  // cp.async: copies of the open group and of the committed ones, in order.
  struct Copy {
    u32 dst;
    const u8 *src; // the host's alias
    u8 bytes, fromSource;
    u8 lane;
  };
  struct CopyGroup {
    std::vector<Copy> copies;
    u32 lanes = 0;
  };
  std::vector<Copy> openCopies;
  std::vector<std::vector<Copy>> copyGroups;

  // wgmma: see exec/Wgmma.h.
  std::shared_ptr<MmaState> mma;

  // bar.warp.sync: lanes that wait, and for whom each of them does.
  u32 warpWait = 0;
  u32 warpMask[32];
  // Lanes that wait at a collective for the others that it names.
  u32 collectiveWait = 0;
  void warpBarrier(u32 members);
  /// Takes a tick for this warp: its lanes are ordered from here on.
  void synchronise();

  // barrier.cluster: lanes that have arrived, in which phase, and that wait.
  u32 clusterArrived = 0, clusterWait = 0, clusterPhase = 0;

  // Barrier at which the blocked lanes wait.
  u32 barrierId = 0;
  const Op *barrierOp = nullptr;

  template <class T> T *reg(u32 offset) {
    return reinterpret_cast<T *>(regs + offset);
  }
  template <class T> const T *reg(u32 offset) const {
    return reinterpret_cast<const T *>(regs + offset);
  }

  [[noreturn]] void fault(FaultKind kind, const std::string &what,
                          int lane = -1) const;
};

/// Which schedule a launch runs under.
struct Schedule {
  enum Order : u8 { Forward, Reverse, Random } order = Forward;
  enum Async : u8 { Lazy, Eager, Mixed } async = Lazy;
  u64 seed = 1;
};

struct CheckFlags {
  bool init = true, sharedRace = true, globalRace = true;
};

/// Bytes of global memory that a launch touched, each counted once however
/// often: what a device with a large enough cache moves. Atomic accesses are
/// left out.
struct Traffic {
  std::atomic<u64> read{0}, written{0};
};

/// Everything that the blocks of a launch have in common.
struct LaunchInfo {
  const Program *program = nullptr;
  const Code *entry = nullptr;
  u32 grid[3] = {1, 1, 1}, blockDim[3] = {1, 1, 1};
  u32 cluster[3] = {1, 1, 1}; // divides grid
  u32 clusterBlocks = 1;
  bool explicitCluster = false; // launched with a size of clusters
  u32 threads = 1, warps = 1;
  u32 dynamicShared = 0;
  u32 sharedBytes = 0;
  std::vector<u8> params;
  DeviceMemory *memory = nullptr;
  u32 numSms = 132;
  u64 gridId = 0;
  u64 workspace = 0; // of a cooperative launch: a zeroed word of barriers
  Schedule schedule;
  CheckFlags checks;
  u32 launchStamp = 0; // tag of this launch in the global race shadow
  u64 maxSteps = 0;
  u32 granuleShift = 2;
  BlockOrder *order = nullptr;
  Traffic *traffic = nullptr; // where TDS_SIM_TRAFFIC asks for it
};

struct NamedBarrier {
  u32 arrived = 0;      // threads
  u32 expected = 0;     // 0: not in use
  u32 waiting[32] = {}; // lanes of each warp that wait here
  u32 votes = 0;        // bar.red
  bool all = true, any = false;
  std::shared_ptr<View> released; // what bar.arrive has released
};

/// A block's state while it runs.
struct Block {
  const LaunchInfo *launch = nullptr;
  u32 index[3] = {0, 0, 0};
  u64 linear = 0;
  u8 *shared = nullptr;
  u32 sharedBytes = 0;
  std::vector<Warp> warps;
  NamedBarrier barriers[16];
  u32 tick = 1, blockSync = 1; // see check/Shadow.h
  Shadow *shadow = nullptr;    // null: unchecked, or `clocks` checks
  Clocks *clocks = nullptr;    // null: unchecked, or `shadow` checks
  AsyncState *async = nullptr; // never null while it runs
  Cluster *cluster = nullptr;  // never null while it runs
  u32 rank = 0;                // in the cluster
  bool ended = false;          // its shared memory is no more
  u64 events = 0;              // grows whenever a barrier or mbarrier moves
  u64 rng = 1;
  u64 steps = 0;
  bool barriersMoved = false; // a barrier count has changed
  bool fenced = false;        // has executed a fence of device scope
  std::vector<bool> seen;     // blocks ordered before this one
  u64 seenCount = 0;

  /// Whether shared memory is checked.
  bool checked() const { return shadow || clocks; }

  u32 random() {
    rng = rng * 6364136223846793005ull + 1442695040888963407ull;
    return (u32)(rng >> 33);
  }
};

/// The blocks of a cluster, which run side by side on one host thread.
struct Cluster {
  std::vector<Block *> blocks; // by rank
  u32 phase = 0;               // of barrier.cluster
  std::shared_ptr<View> view;  // what arrivals have released
};

/// Frames of a warp's calls: per lane, the stack of frames and return places.
struct CallState {
  struct Entry {
    Frame *frame;
    u32 returnPc;
  };
  std::vector<Entry> stack[32]; // callers of the running frame
  Frame *current[32] = {};
  u32 localTop[32] = {};
  u32 depth[32] = {};
  // (depth, function) -> registers
  std::map<std::pair<u32, u32>, std::unique_ptr<Frame>> frames;
  std::vector<std::unique_ptr<u8[]>> storage;
};

} // namespace tds::sim

#endif // TDSL_SIM_EXEC_WARP_H
