//===- Wgmma.cpp - warpgroup matrix products --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate
// Instructions": fragments by "Register Fragments and Shared Memory Matrix
// Layouts", descriptors by "Matrix Descriptor Format" and "Canonical Layouts".
//
//===----------------------------------------------------------------------===//

#include "exec/Wgmma.h"
#include "decode/Registry.h"
#include "exec/Access.h"
#include "exec/Async.h"
#include "exec/FloatSemantics.h"
#include "exec/TensorMap.h"

#include <algorithm>

namespace tds::sim {

namespace {

enum class El : u8 { F16, BF16, TF32, S8, U8 };
template <El E> constexpr u32 sizeOf() {
  return E == El::TF32 ? 4 : E == El::S8 || E == El::U8 ? 1 : 2;
}
constexpr u32 markSize = 64;

MmaState &stateOf(Warp &w) {
  if (!w.mma)
    w.mma = std::make_shared<MmaState>();
  if (w.mma->marks.empty())
    w.mma->marks.resize(w.code->frameBytes / markSize + 1);
  return *w.mma;
}

/// A matrix in shared memory as its descriptor says, read in chunks of 16
/// bytes: eight bytes of line number, then the chunk.
class Matrix {
public:
  Matrix(Warp &w, const MmaTask &task, u64 descriptor, bool transposed,
         u32 elementBytes)
      : w(w), task(task), transposed(transposed), size(elementBytes) {
    start = (u32)(descriptor & 0x3fff) << 4;
    leading = (u32)(descriptor >> 16 & 0x3fff) << 4;
    stride = (u32)(descriptor >> 32 & 0x3fff) << 4;
    if (descriptor >> 49 & 7)
      w.fault(FaultKind::BadOperand,
              "a matrix descriptor with a base offset: let the swizzle pattern "
              "begin at its own alignment");
    switch (descriptor >> 62) {
    case 1:
      span = 128;
      break;
    case 2:
      span = 64;
      break;
    case 3:
      span = 32;
      break;
    }
  }
  /// Calls f(mn, k, bytes) for the chunks that hold rows [first, first + rows)
  /// and K elements of each: 16 bytes from (mn, k) on, along k, or along mn
  /// where the matrix is transposed.
  template <class F> void chunks(u32 first, u32 rows, u32 K, F f) {
    const u32 T = 16 / size, c = span ? span / 16 : 1;
    if (!transposed) {
      for (u32 mn = first; mn < first + rows; ++mn)
        for (u32 k = 0; k < K; k += T)
          f(mn, k,
            at(span ? mn % 8 * c * 16 + mn / 8 * stride + k * size
                    : mn % 8 * 16 + mn / 8 * stride + k / T * leading));
      return;
    }
    for (u32 k = 0; k < K; ++k)
      for (u32 mn = first; mn < first + rows; mn += T)
        f(mn, k,
          at(span ? mn / T % c * 16 + mn / (c * T) * leading + k % 8 * c * 16 +
                        k / 8 * stride
                  : mn / T * stride + k % 8 * 16 + k / 8 * leading));
  }

private:
  const u8 *at(u32 offset) {
    u32 address = swizzled(start + offset, span);
    Block &block = *w.block;
    if (address + 16 > block.sharedBytes)
      w.fault(FaultKind::OutOfBounds,
              "wgmma reads 16 bytes at shared address " +
                  std::to_string(address) + ": the block has " +
                  std::to_string(block.sharedBytes) +
                  " bytes of shared memory");
    if (block.clocks)
      block.clocks->access(w, 0, address, 16, false, &task.stamp);
    return block.shared + address;
  }
  Warp &w;
  const MmaTask &task;
  bool transposed;
  u32 size, start, leading, stride, span = 0;
};

template <El E> inline float floatAt(const u8 *p, u32 i) {
  if (E == El::TF32) {
    u32 v;
    memcpy(&v, p + 4 * i, 4);
    return bitCast<float>(v & 0xffffe000u);
  }
  u16 v;
  memcpy(&v, p + 2 * i, 2);
  return E == El::F16 ? halfToFloat(v) : bf16ToFloat(v);
}

/// Row of the warp's 16 and column of result `i` of lane `l` (f32 and s32).
inline u32 rowOf(int l, u32 i) { return (u32)l / 4 + (i >> 1 & 1) * 8; }
inline u32 columnOf(int l, u32 i) {
  return (i >> 2) * 8 + (u32)(l & 3) * 2 + (i & 1);
}

template <El E> void multiplyFloat(Warp &w, MmaTask &t) {
  const Op &o = *t.op;
  const u32 N = o.size, K = E == El::TF32 ? 8 : 16;
  const bool half = o.aux2 & mmaHalfResult, registers = o.a == noReg;
  const u32 nD = half ? N / 4 : N / 2;
  const u32 *ext = &t.code->ext[o.ext];
  const u32 flags = (u32)o.imm;
  const float signA = flags & mmaNegateA ? -1.f : 1.f,
              signB = flags & mmaNegateB ? -1.f : 1.f;
  alignas(32) static thread_local float A[16][16], B[16][256], C[16][256];
  constexpr u32 T = 16 / sizeOf<E>();
  if (registers) {
    for (u32 r = 0; r < 4; ++r) {
      const u32 *v = (const u32 *)(t.regs + ext[nD + r]);
      for (u32 l = 0; l < 32; ++l) {
        u32 row = l / 4 + (r & 1) * 8;
        if (E == El::TF32) {
          A[row][l % 4 + (r >> 1) * 4] =
              signA * bitCast<float>(v[l] & 0xffffe000u);
          continue;
        }
        u32 col = l % 4 * 2 + (r >> 1) * 8;
        A[row][col] = signA * floatAt<E>((const u8 *)&v[l], 0);
        A[row][col + 1] = signA * floatAt<E>((const u8 *)&v[l], 1);
      }
    }
  } else {
    bool trans = flags & mmaTransposeA;
    u32 first = w.id % 4 * 16;
    Matrix(w, t, t.a, trans, sizeOf<E>())
        .chunks(first, 16, K, [&](u32 m, u32 k, const u8 *p) {
          for (u32 i = 0; i < T; ++i)
            (trans ? A[m - first + i][k] : A[m - first][k + i]) =
                signA * floatAt<E>(p, i);
        });
  }
  bool trans = flags & mmaTransposeB;
  Matrix(w, t, t.b, trans, sizeOf<E>())
      .chunks(0, N, K, [&](u32 n, u32 k, const u8 *p) {
        for (u32 i = 0; i < T; ++i)
          (trans ? B[k][n + i] : B[k + i][n]) = signB * floatAt<E>(p, i);
      });
  for (u32 r = 0; r < nD; ++r) {
    const u32 *v = (const u32 *)(t.regs + ext[r]);
    for (int l = 0; l < 32; ++l) {
      if (half) {
        u32 row = rowOf(l, 2 * r), col = columnOf(l, 2 * r);
        C[row][col] = t.keep ? halfToFloat((u16)v[l]) : 0;
        C[row][col + 1] = t.keep ? halfToFloat((u16)(v[l] >> 16)) : 0;
      } else {
        C[rowOf(l, r)][columnOf(l, r)] = t.keep ? bitCast<float>(v[l]) : 0;
      }
    }
  }
  for (u32 i = 0; i < 16; ++i)
    for (u32 k = 0; k < K; ++k) {
      const float a = A[i][k];
      for (u32 j = 0; j < N; ++j)
        C[i][j] = __builtin_fmaf(a, B[k][j], C[i][j]);
    }
  for (u32 r = 0; r < nD; ++r) {
    u32 *v = (u32 *)(t.regs + ext[r]);
    for (int l = 0; l < 32; ++l) {
      if (half) {
        u32 row = rowOf(l, 2 * r), col = columnOf(l, 2 * r);
        v[l] = (u32)floatToHalf(C[row][col]) | (u32)floatToHalf(C[row][col + 1])
                                                   << 16;
      } else {
        v[l] = bitCast<u32>(canon(C[rowOf(l, r)][columnOf(l, r)]));
      }
    }
  }
}

template <El EA, El EB> void multiplyInt(Warp &w, MmaTask &t) {
  const Op &o = *t.op;
  const u32 N = o.size, nD = N / 2;
  constexpr u32 K = 32;
  const u32 *ext = &t.code->ext[o.ext];
  static thread_local s32 A[16][K], B[K][256];
  static thread_local s64 C[16][256];
  auto byte = [](El e, u8 v) { return e == El::S8 ? (s32)(s8)v : (s32)v; };
  if (o.a == noReg) {
    for (u32 r = 0; r < 4; ++r) {
      const u32 *v = (const u32 *)(t.regs + ext[nD + r]);
      for (u32 l = 0; l < 32; ++l)
        for (u32 i = 0; i < 4; ++i)
          A[l / 4 + (r & 1) * 8][l % 4 * 4 + i + (r >> 1) * 16] =
              byte(EA, (u8)(v[l] >> (8 * i)));
    }
  } else {
    u32 first = w.id % 4 * 16;
    Matrix(w, t, t.a, false, 1)
        .chunks(first, 16, K, [&](u32 m, u32 k, const u8 *p) {
          for (u32 i = 0; i < 16; ++i)
            A[m - first][k + i] = byte(EA, p[i]);
        });
  }
  Matrix(w, t, t.b, false, 1).chunks(0, N, K, [&](u32 n, u32 k, const u8 *p) {
    for (u32 i = 0; i < 16; ++i)
      B[k + i][n] = byte(EB, p[i]);
  });
  for (u32 r = 0; r < nD; ++r) {
    const s32 *v = (const s32 *)(t.regs + ext[r]);
    for (int l = 0; l < 32; ++l)
      C[rowOf(l, r)][columnOf(l, r)] = t.keep ? v[l] : 0;
  }
  for (u32 i = 0; i < 16; ++i)
    for (u32 k = 0; k < K; ++k)
      for (u32 j = 0; j < N; ++j)
        C[i][j] += (s64)A[i][k] * B[k][j];
  for (u32 r = 0; r < nD; ++r) {
    s32 *v = (s32 *)(t.regs + ext[r]);
    for (int l = 0; l < 32; ++l) {
      s64 c = C[rowOf(l, r)][columnOf(l, r)];
      if (o.aux2 & mmaSaturate)
        c = std::min<s64>(std::max<s64>(c, INT32_MIN), INT32_MAX);
      v[l] = (s32)(u32)c;
    }
  }
}

void perform(Warp &w, MmaTask &t) {
  if (t.done)
    return;
  t.done = true;
  ++w.block->events;
  if (t.isCopy) {
    memcpy(t.regs + t.op->d, t.regs + t.op->a, 128);
    return;
  }
  const Op *op = w.op;
  w.op = t.op;
  switch (t.op->aux) {
  case (u8)El::F16:
    multiplyFloat<El::F16>(w, t);
    break;
  case (u8)El::BF16:
    multiplyFloat<El::BF16>(w, t);
    break;
  case (u8)El::TF32:
    multiplyFloat<El::TF32>(w, t);
    break;
  case 16 | (u8)El::S8:
    multiplyInt<El::S8, El::S8>(w, t);
    break;
  case 16 | (u8)El::U8:
    multiplyInt<El::U8, El::U8>(w, t);
    break;
  case 32 | (u8)El::S8:
    multiplyInt<El::S8, El::U8>(w, t);
    break;
  default:
    multiplyInt<El::U8, El::S8>(w, t);
    break;
  }
  w.op = op;
}

u8 &mark(MmaState &s, u32 offset) { return s.marks[offset / markSize]; }

[[noreturn]] void inFlight(Warp &w, const char *what) {
  w.fault(FaultKind::RegisterInFlight,
          std::string(what) +
              " of a register that a wgmma in flight uses: wait for its group "
              "(wgmma.wait_group) first");
}

/// Marks the registers of all tasks that are not waited for anew.
void remark(MmaState &s) {
  for (u8 &m : s.marks)
    m &= 4;
  s.inFlight = 0;
  auto enter = [&](const MmaTask &t) {
    ++s.inFlight;
    if (t.isCopy) {
      mark(s, t.op->d) |= 1;
      return;
    }
    const u32 *ext = &t.code->ext[t.op->ext];
    const u32 nA = t.op->a == noReg ? 4 : 0;
    for (u32 i = 0; i < t.op->nExt; ++i)
      mark(s, ext[i]) |= i + nA < t.op->nExt ? 1 : 2;
  };
  for (const auto &group : s.groups)
    for (const MmaTask &t : group)
      enter(t);
  for (const MmaTask &t : s.open)
    enter(t);
}

void issue(Warp &w, const Op &o) {
  if (w.mask != ~0u)
    w.fault(FaultKind::InactiveLane, "wgmma needs all 32 lanes of a warp, " +
                                         std::to_string(popcount(w.mask)) +
                                         " execute it");
  if (w.block->launch->warps < w.id / 4 * 4 + 4)
    w.fault(FaultKind::BadOperand,
            "wgmma needs a warpgroup: four whole warps, the first a multiple "
            "of four");
  MmaState &s = stateOf(w);
  const u32 *ext = &w.code->ext[o.ext];
  if (!s.fenced)
    w.fault(FaultKind::MissingMmaFence,
            "the first wgmma without a wgmma.fence before it");
  const u32 nA = o.a == noReg ? 4 : 0;
  for (u32 i = 0; i < o.nExt; ++i) {
    if (mark(s, ext[i]) & 4)
      w.fault(
          FaultKind::MissingMmaFence,
          std::string(i + nA < o.nExt ? "an accumulator" : "a fragment of A") +
              " was written after the last wgmma.fence");
    if (i + nA >= o.nExt && (mark(s, ext[i]) & 1))
      inFlight(w, "use as a fragment of A");
  }
  MmaTask t;
  t.op = &o;
  t.code = w.code;
  t.regs = w.regs;
  t.keep = o.target == noReg ? ((u32)o.imm & mmaKeep) != 0
                             : (*w.reg<u32>(o.target) & 1) != 0;
  auto descriptor = [&](u32 reg) {
    const u64 *d = w.reg<u64>(reg);
    for (int i = 1; i < 32; ++i)
      if (d[i] != d[0])
        w.fault(FaultKind::BadOperand,
                "a matrix descriptor that differs between lanes", i);
    return d[0];
  };
  if (o.a != noReg)
    t.a = descriptor(o.a);
  t.b = descriptor(o.b);
  if (w.block->clocks)
    t.stamp = w.block->clocks->issue(w);
  for (u32 i = 0; i < o.nExt; ++i)
    mark(s, ext[i]) |= i + nA < o.nExt ? 1 : 2;
  ++s.inFlight;
  bool first = true;
  for (const auto &group : s.groups)
    for (const MmaTask &earlier : group)
      first &= earlier.done;
  for (const MmaTask &earlier : s.open)
    first &= earlier.done;
  // They are done in order: none at once while one before it waits.
  if (first && runsAtOnce(*w.block))
    perform(w, t);
  s.open.push_back(std::move(t));
}

void fence(Warp &w, const Op &) {
  MmaState &s = stateOf(w);
  s.fenced = true;
  for (u8 &m : s.marks)
    m &= 3;
}
void commit(Warp &w, const Op &) {
  MmaState &s = stateOf(w);
  s.groups.push_back(std::move(s.open));
  s.open.clear();
}
void waitGroup(Warp &w, const Op &o) {
  if (o.imm < 0)
    w.fault(FaultKind::BadOperand, "wgmma.wait_group with a negative number");
  MmaState &s = stateOf(w);
  while (s.groups.size() > (size_t)o.imm) {
    for (MmaTask &t : s.groups.front()) {
      perform(w, t);
      if (w.block->clocks && !t.isCopy)
        w.block->clocks->completeFor(w, t.stamp);
    }
    s.groups.pop_front();
  }
  remark(s);
}
void setMaxRegisters(Warp &w, const Op &o) {
  if (o.imm < 24 || o.imm > 256 || o.imm % 8)
    w.fault(FaultKind::BadOperand,
            "setmaxnreg with " + std::to_string(o.imm) +
                " registers: a multiple of 8 from 24 to 256 is needed");
  if (w.mask != w.alive)
    w.fault(FaultKind::InactiveLane, "setmaxnreg by a part of a warp");
}

} // namespace

bool watchRegisters(Warp &w, const Op &o) {
  MmaState &s = stateOf(w);
  if (w.code->frameBytes / markSize + 1 > s.marks.size())
    s.marks.resize(w.code->frameBytes / markSize + 1);
  if (o.uses == Uses::Mma)
    return true;
  const u32 *ext = o.nExt ? &w.code->ext[o.ext] : nullptr;
  auto read = [&](u32 reg) {
    if (reg != noReg && (mark(s, reg) & 1))
      inFlight(w, "read");
  };
  auto write = [&](u32 reg) {
    if (reg == noReg)
      return;
    u8 &m = mark(s, reg);
    if (m & 3)
      inFlight(w, "write");
    m |= 4;
  };
  switch (o.uses) {
  case Uses::Move: {
    if (mark(s, o.d) & 3)
      inFlight(w, "write");
    if (!(mark(s, o.a) & 1)) {
      mark(s, o.d) = (u8)((mark(s, o.d) & ~4) | (mark(s, o.a) & 4));
      return true;
    }
    // A copy of an accumulator in flight: ptxas makes both one register. It
    // is done right after the operation that it waits for.
    MmaTask t;
    t.op = &o;
    t.code = w.code;
    t.regs = w.regs;
    t.isCopy = true;
    auto uses = [&](const MmaTask &task) {
      if (task.isCopy)
        return task.op->d == o.a;
      const u32 *regs = &task.code->ext[task.op->ext];
      return std::find(regs, regs + task.op->nExt, o.a) != regs + task.op->nExt;
    };
    std::vector<MmaTask> *where = nullptr;
    for (auto &group : s.groups)
      for (const MmaTask &task : group)
        if (uses(task))
          where = &group;
    for (const MmaTask &task : s.open)
      if (uses(task))
        where = &s.open;
    if (w.mask != ~0u || !where)
      inFlight(w, "read");
    bool ready = true;
    for (const MmaTask &task : *where)
      ready &= task.done;
    if (ready)
      perform(w, t);
    where->push_back(t);
    mark(s, o.d) |= 1;
    ++s.inFlight;
    return false;
  }
  case Uses::WritesExt:
    read(o.a);
    for (u32 i = 0; i < o.nExt; ++i)
      write(ext[i]);
    break;
  case Uses::ReadsExt:
    for (u32 i = 0; i < o.nExt; ++i)
      read(ext[i]);
    write(o.d);
    break;
  case Uses::Stores:
    read(o.a);
    for (u32 i = 0; i < o.nExt; ++i)
      read(ext[i]);
    break;
  case Uses::Vector:
    for (u32 i = 0; i < o.nExt; ++i)
      i < o.aux ? write(ext[i]) : read(ext[i]);
    break;
  default:
    if (s.inFlight) {
      read(o.a);
      read(o.b);
      read(o.c);
    }
    write(o.d);
  }
  return true;
}

void registerWgmma(Registry &r) {
  struct Kind {
    const char *d, *a, *b;
    u8 code, flags;
    u32 k;
  };
  const Kind kinds[] = {
      {"f32", "f16", "f16", (u8)El::F16, mma16Bits, 16},
      {"f16", "f16", "f16", (u8)El::F16, mma16Bits | mmaHalfResult, 16},
      {"f32", "bf16", "bf16", (u8)El::BF16, mma16Bits, 16},
      {"f32", "tf32", "tf32", (u8)El::TF32, 0, 8},
      {"s32", "s8", "s8", 16 | (u8)El::S8, mmaIntegers, 32},
      {"s32", "u8", "u8", 16 | (u8)El::U8, mmaIntegers, 32},
      {"s32", "s8", "u8", 32 | (u8)El::S8, mmaIntegers, 32},
      {"s32", "u8", "s8", 32 | (u8)El::U8, mmaIntegers, 32}};
  for (const Kind &k : kinds)
    for (u32 n = 8; n <= 256; n += 8) {
      const bool isInt = k.flags & mmaIntegers;
      if (isInt && n > 24 && n % 16)
        continue;
      OpInfo info;
      info.form = Form::Wgmma;
      info.flow = Flow::Collective;
      info.fn = issue;
      info.d = isInt || (k.flags & mmaHalfResult) ? Ty::B32 : Ty::F32;
      info.counts[0] = (u8)(k.flags & mmaHalfResult ? n / 4 : n / 2);
      info.counts[1] = 0;
      info.aux = k.code;
      info.aux2 = k.flags;
      info.size = (u16)n;
      info.minPtx = 80;
      info.minSm = 90;
      info.smSuffix = 'a';
      std::string head = "wgmma.mma_async.sync.aligned.m64n" +
                         std::to_string(n) + "k" + std::to_string(k.k);
      std::string types = std::string(".") + k.d + "." + k.a + "." + k.b;
      r.add(head + types, info);
      if (isInt) {
        info.aux2 |= mmaSaturate;
        r.add(head + ".satfinite" + types, info);
      }
    }
  OpInfo info;
  info.minPtx = 80;
  info.minSm = 90;
  info.smSuffix = 'a';
  info.flow = Flow::Collective;
  info.form = Form::Nothing;
  info.fn = fence;
  r.add("wgmma.fence.sync.aligned", info);
  info.fn = commit;
  r.add("wgmma.commit_group.sync.aligned", info);
  info.form = Form::Immediate;
  info.fn = waitGroup;
  r.add("wgmma.wait_group.sync.aligned", info);
  info.flow = Flow::Plain;
  info.fn = setMaxRegisters;
  r.add("setmaxnreg.inc.sync.aligned.u32", info);
  r.add("setmaxnreg.dec.sync.aligned.u32", info);
}

} // namespace tds::sim
