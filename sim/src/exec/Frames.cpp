//===- Frames.cpp - register frames and calls -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "exec/BlockRunner.h"
#include "exec/Lanes.h"

#include <algorithm>

namespace tds::sim {

void fillFrame(Warp &w, const Code &code, u8 *regs) {
  memset(regs, 0xc7, code.frameBytes);
  for (const Code::Immediate &imm : code.immediates) {
    u8 *at = regs + imm.offset;
    if (imm.bytes == 8)
      std::fill((u64 *)at, (u64 *)at + 32, imm.value);
    else if (imm.bytes == 4)
      std::fill((u32 *)at, (u32 *)at + 32, (u32)imm.value);
    else
      std::fill((u16 *)at, (u16 *)at + 32, (u16)imm.value);
  }
  const Block &block = *w.block;
  const LaunchInfo &l = *block.launch;
  for (const Code::SpecialSlot &slot : code.specials) {
    for (u32 i = 0; i < 32; ++i) {
      u32 t = w.id * 32 + i;
      u64 v = 0;
      auto axisOf = [&](Special first, const u32 *sizes) {
        return sizes[(u32)slot.special - (u32)first];
      };
      switch (slot.special) {
      case Special::TidX:
        v = t % l.blockDim[0];
        break;
      case Special::TidY:
        v = t / l.blockDim[0] % l.blockDim[1];
        break;
      case Special::TidZ:
        v = t / l.blockDim[0] / l.blockDim[1];
        break;
      case Special::NtidX:
        v = l.blockDim[0];
        break;
      case Special::NtidY:
        v = l.blockDim[1];
        break;
      case Special::NtidZ:
        v = l.blockDim[2];
        break;
      case Special::CtaidX:
        v = block.index[0];
        break;
      case Special::CtaidY:
        v = block.index[1];
        break;
      case Special::CtaidZ:
        v = block.index[2];
        break;
      case Special::NctaidX:
        v = l.grid[0];
        break;
      case Special::NctaidY:
        v = l.grid[1];
        break;
      case Special::NctaidZ:
        v = l.grid[2];
        break;
      case Special::LaneId:
        v = i;
        break;
      case Special::WarpId:
        v = w.id;
        break;
      case Special::NWarpId:
        v = l.warps;
        break;
      case Special::SmId:
        v = block.linear % l.numSms;
        break;
      case Special::NSmId:
        v = l.numSms;
        break;
      case Special::GridId:
        v = l.gridId;
        break;
      case Special::LaneMaskEq:
        v = 1u << i;
        break;
      case Special::LaneMaskLt:
        v = (1u << i) - 1;
        break;
      case Special::LaneMaskLe:
        v = (2ull << i) - 1;
        break;
      case Special::LaneMaskGt:
        v = (u32) ~((2ull << i) - 1);
        break;
      case Special::LaneMaskGe:
        v = ~((1u << i) - 1);
        break;
      case Special::DynamicSmem:
        v = l.dynamicShared;
        break;
      case Special::TotalSmem:
        v = l.sharedBytes;
        break;
      case Special::WorkspaceHigh:
        v = l.workspace >> 32;
        break;
      case Special::WorkspaceLow:
        v = (u32)l.workspace;
        break;
      case Special::ClusterIdX:
      case Special::ClusterIdY:
      case Special::ClusterIdZ:
        v = axisOf(Special::ClusterIdX, block.index) /
            axisOf(Special::ClusterIdX, l.cluster);
        break;
      case Special::NClusterIdX:
      case Special::NClusterIdY:
      case Special::NClusterIdZ:
        v = axisOf(Special::NClusterIdX, l.grid) /
            axisOf(Special::NClusterIdX, l.cluster);
        break;
      case Special::ClusterCtaidX:
      case Special::ClusterCtaidY:
      case Special::ClusterCtaidZ:
        v = axisOf(Special::ClusterCtaidX, block.index) %
            axisOf(Special::ClusterCtaidX, l.cluster);
        break;
      case Special::ClusterNctaidX:
      case Special::ClusterNctaidY:
      case Special::ClusterNctaidZ:
        v = axisOf(Special::ClusterNctaidX, l.cluster);
        break;
      case Special::ClusterCtaRank:
        v = block.rank;
        break;
      case Special::ClusterNctaRank:
        v = l.clusterBlocks;
        break;
      default:
        break;
      }
      u8 *at = regs + slot.offset + i * slot.bytes;
      memcpy(at, &v, slot.bytes);
    }
  }
}

static Frame *frameFor(Warp &w, u32 depth, const Code &code) {
  CallState &calls = *w.calls;
  auto &slot = calls.frames[{depth, code.index}];
  if (!slot) {
    slot = std::make_unique<Frame>();
    slot->code = &code;
    auto bytes = std::make_unique<u8[]>(code.frameBytes + 64);
    slot->regs = (u8 *)(((u64)bytes.get() + 63) & ~63ull);
    calls.storage.push_back(std::move(bytes));
    fillFrame(w, code, slot->regs);
  }
  return slot.get();
}

void doCall(Warp &w, const Op &o, u32 lanes) {
  CallState &calls = *w.calls;
  const Code &callee = *w.block->launch->program->codes[o.target];
  const Code &caller = *w.code;
  int first = __builtin_ctz(lanes);
  u32 depth = calls.depth[first] + 1;
  if (depth > 1000)
    w.fault(FaultKind::StackOverflow, "calls are nested more than 1000 deep",
            first);
  Frame *frame = frameFor(w, depth, callee);
  Frame *from = calls.current[first];
  const u32 *ext = &caller.ext[o.ext];
  for (u32 p = 0; p < o.nExt; ++p) {
    u32 stride = ext[2 * p + 1];
    for (u32 m = lanes; m; m &= m - 1) {
      u32 i = (u32)__builtin_ctz(m);
      memcpy(frame->regs + callee.params[p].offset + i * stride,
             w.regs + ext[2 * p] + i * stride, stride);
    }
  }
  for (u32 m = lanes; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    calls.stack[i].push_back({from, w.pc + 1});
    calls.current[i] = frame;
    calls.depth[i] = depth;
    calls.localTop[i] += caller.localBytes;
    if (calls.localTop[i] + callee.localBytes > w.localStride)
      w.fault(FaultKind::StackOverflow,
              "local memory of " + std::to_string(w.localStride) +
                  " bytes is exhausted in the call of '" + callee.name + "'",
              i);
    w.pcs[i] = 0;
  }
}

void doReturn(Warp &w, u32 lanes) {
  CallState &calls = *w.calls;
  const Code &callee = *w.code;
  for (u32 m = lanes; m; m &= m - 1) {
    u32 i = (u32)__builtin_ctz(m);
    CallState::Entry entry = calls.stack[i].back();
    calls.stack[i].pop_back();
    const Code &caller = *entry.frame->code;
    const Op &call = caller.ops[entry.returnPc - 1];
    const u32 *ext = &caller.ext[call.ext + 2 * call.nExt];
    for (u32 r = 0; r < call.size; ++r) {
      u32 stride = ext[2 * r + 1];
      memcpy(entry.frame->regs + ext[2 * r] + i * stride,
             w.regs + callee.rets[r].offset + i * stride, stride);
    }
    calls.current[i] = entry.frame;
    calls.depth[i] -= 1;
    calls.localTop[i] -= caller.localBytes;
    w.pcs[i] = entry.returnPc;
  }
}

} // namespace tds::sim
