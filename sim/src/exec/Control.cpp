//===- Control.cpp - branches, calls, barriers, fences ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The flow of control itself is the scheduler's (exec/Run.cpp); here stand the
// spellings, and the handlers of barriers, fences and traps.
//
//===----------------------------------------------------------------------===//

#include "check/Clocks.h"
#include "decode/Registry.h"
#include "exec/Access.h"

namespace tds::sim {

namespace {

u32 uniform(Warp &w, u32 reg, const char *what) {
  const u32 *r = w.reg<u32>(reg);
  int first = __builtin_ctz(w.mask);
  for (u32 m = w.mask; m; m &= m - 1)
    if (r[__builtin_ctz(m)] != r[first])
      w.fault(FaultKind::BadOperand,
              std::string(what) + " differs between the lanes of a warp",
              __builtin_ctz(m));
  return r[first];
}

struct Arrival {
  NamedBarrier *barrier;
  u32 id, expected;
};

/// Counts the warp's executing lanes in at the barrier that `o` names.
Arrival arrive(Warp &w, const Op &o, bool aligned, bool needCount) {
  Block &block = *w.block;
  u32 id = o.a == noReg ? 0 : uniform(w, o.a, "the barrier's number");
  if (id > 15)
    w.fault(FaultKind::BadOperand,
            "barrier " + std::to_string(id) + " does not exist: there are 16");
  u32 threads = block.launch->threads;
  u32 expected =
      o.b == noReg ? 0 : uniform(w, o.b, "the barrier's thread count");
  if (o.b != noReg && (expected == 0 || expected % 32))
    w.fault(FaultKind::BadOperand,
            "a barrier's thread count must be a multiple of 32, not " +
                std::to_string(expected));
  if (o.b == noReg && needCount)
    w.fault(FaultKind::BadOperand, "bar.arrive needs a thread count");
  if (aligned && w.mask != w.alive) {
    u32 missing = w.alive & ~w.mask;
    w.fault(FaultKind::BarrierDivergence,
            "barrier reached by " + std::to_string(popcount(w.mask)) +
                " of the warp's " + std::to_string(popcount(w.alive)) +
                " running threads; lane " +
                std::to_string(__builtin_ctz(missing)) + " is elsewhere",
            __builtin_ctz(w.mask));
  }
  if (expected > (threads + 31) / 32 * 32)
    w.fault(FaultKind::BadOperand, "barrier for " + std::to_string(expected) +
                                       " threads in a block of " +
                                       std::to_string(threads));
  NamedBarrier &b = block.barriers[id];
  if (b.arrived && b.expected != expected)
    w.fault(FaultKind::BarrierDivergence,
            "barrier " + std::to_string(id) + " expects " +
                (expected ? std::to_string(expected) : std::string("all")) +
                " threads here and " +
                (b.expected ? std::to_string(b.expected) : std::string("all")) +
                " where other warps wait");
  b.expected = expected;
  // A warp counts as a whole: 32 threads, even where the block's last warp has
  // fewer.
  b.arrived += aligned ? 32 : popcount(w.mask);
  if (needCount && block.clocks) {
    // bar.arrive goes on at once: what it has done so far is released here.
    if (!b.released)
      b.released = std::make_shared<View>();
    block.clocks->release(w, *b.released);
  }
  return {&b, id, expected};
}

template <bool Aligned> void barrierSync(Warp &w, const Op &o) {
  Arrival a = arrive(w, o, Aligned, false);
  a.barrier->waiting[w.id] |= w.mask;
  w.blocked |= w.mask;
  w.barrierOp = &o;
  w.barrierId = a.id;
}
template <bool Aligned> void barrierArrive(Warp &w, const Op &o) {
  arrive(w, o, Aligned, true);
  w.block->barriersMoved = true;
}
/// aux: 0 popc, 1 and, 2 or.
template <bool Aligned> void barrierReduce(Warp &w, const Op &o) {
  Arrival a = arrive(w, o, Aligned, false);
  u32 p = *w.reg<u32>(o.c) & w.mask;
  if (o.aux2)
    p = w.mask & ~p;
  a.barrier->votes += popcount(p);
  a.barrier->any |= p != 0;
  a.barrier->all &= p == w.mask;
  a.barrier->waiting[w.id] |= w.mask;
  w.blocked |= w.mask;
  w.barrierOp = &o;
  w.barrierId = a.id;
}

void warpSync(Warp &w, const Op &o) {
  u32 mask = uniform(w, o.a, "the mask of bar.warp.sync");
  // Lanes that are in the mask but elsewhere come later: the scheduler holds
  // those that are here until all are.
  if ((mask & w.mask) != w.mask)
    w.fault(FaultKind::InactiveLane,
            "bar.warp.sync by a lane that its mask does not name",
            __builtin_ctz(w.mask & ~mask));
  w.warpBarrier(mask);
}

void fenceDevice(Warp &w, const Op &) { w.block->fenced = true; }
void nothing(Warp &, const Op &) {}
void trap(Warp &w, const Op &) {
  w.fault(FaultKind::Trap, "trap executed", __builtin_ctz(w.mask));
}
void backOff(Warp &w, const Op &) { w.yielded = true; }

} // namespace

void registerControl(Registry &r) {
  OpInfo info;
  info.form = Form::Branch;
  info.flow = Flow::Branch;
  r.add("bra", info);
  r.add("bra.uni", info);
  info.form = Form::IndexedBranch;
  info.flow = Flow::IndexedBranch;
  r.add("brx.idx", info);
  r.add("brx.idx.uni", info);
  info.form = Form::Call;
  info.flow = Flow::Call;
  r.add("call", info);
  r.add("call.uni", info);
  info.form = Form::Return;
  info.flow = Flow::Return;
  r.add("ret", info);
  r.add("ret.uni", info);
  info.form = Form::Exit;
  info.flow = Flow::Exit;
  r.add("exit", info);

  auto barrier = [&](const std::string &name, Handler fn, u8 low, u8 high,
                     u16 ptx = 0) {
    OpInfo b;
    b.form = Form::Barrier;
    b.flow = Flow::Barrier;
    b.fn = fn;
    b.counts[0] = low;
    b.counts[1] = high;
    b.minPtx = ptx;
    r.add(name, b);
  };
  barrier("bar.sync", barrierSync<true>, 1, 2);
  barrier("bar.cta.sync", barrierSync<true>, 1, 2, 78);
  barrier("barrier.sync.aligned", barrierSync<true>, 1, 2, 60);
  barrier("barrier.cta.sync.aligned", barrierSync<true>, 1, 2, 78);
  barrier("barrier.sync", barrierSync<false>, 1, 2, 60);
  barrier("barrier.cta.sync", barrierSync<false>, 1, 2, 78);
  barrier("bar.arrive", barrierArrive<true>, 2, 2);
  barrier("bar.cta.arrive", barrierArrive<true>, 2, 2, 78);
  barrier("barrier.arrive.aligned", barrierArrive<true>, 2, 2, 60);
  barrier("barrier.cta.arrive.aligned", barrierArrive<true>, 2, 2, 78);
  barrier("barrier.arrive", barrierArrive<false>, 2, 2, 60);
  barrier("barrier.cta.arrive", barrierArrive<false>, 2, 2, 78);
  struct Reduction {
    const char *name;
    Ty type;
    u8 aux;
  };
  for (Reduction k : {Reduction{"popc.u32", Ty::U32, 0},
                      {"and.pred", Ty::Pred, 1},
                      {"or.pred", Ty::Pred, 2}}) {
    OpInfo b;
    b.form = Form::BarrierRed;
    b.flow = Flow::Barrier;
    b.d = k.type;
    b.aux = k.aux;
    b.fn = barrierReduce<true>;
    r.add(std::string("bar.red.") + k.name, b);
    b.minPtx = 78;
    r.add(std::string("bar.cta.red.") + k.name, b);
    r.add(std::string("barrier.cta.red.aligned.") + k.name, b);
    b.minPtx = 60;
    // The aligned form spells the operation first or last by ISA version.
    r.add(std::string("barrier.red.") +
              std::string(k.name).substr(0, std::string(k.name).find('.')) +
              ".aligned" +
              std::string(k.name).substr(std::string(k.name).find('.')),
          b);
    b.fn = barrierReduce<false>;
    r.add(std::string("barrier.red.") + k.name, b);
    b.minPtx = 78;
    r.add(std::string("barrier.cta.red.") + k.name, b);
  }
  OpInfo sync;
  sync.flow = Flow::Barrier;
  sync.fn = warpSync;
  sync.s[0] = Ty::B32;
  sync.nSrc = 1;
  sync.minPtx = 60;
  r.add("bar.warp.sync", sync);

  auto simple = [&](const std::string &name, Handler fn, u16 ptx = 0,
                    u16 sm = 0, Flow flow = Flow::Plain) {
    OpInfo s;
    s.form = Form::Nothing;
    s.fn = fn;
    s.flow = flow;
    s.minPtx = ptx;
    s.minSm = sm;
    r.add(name, s);
  };
  simple("membar.cta", nothing);
  simple("membar.gl", fenceDevice);
  simple("membar.sys", fenceDevice);
  for (const char *sem : {".sc", ".acq_rel"})
    for (const char *scope : {".cta", ".cluster", ".gpu", ".sys"})
      simple(std::string("fence") + sem + scope,
             std::string(scope) == ".cta" ? nothing : fenceDevice, 60, 70);
  for (const char *sem : {".acquire", ".release"})
    for (const char *scope : {".cta", ".cluster", ".gpu", ".sys"})
      simple(std::string("fence") + sem + scope,
             std::string(scope) == ".cta" ? nothing : fenceDevice, 86, 90);
  simple("trap", trap);
  simple("brkpt", nothing);
  simple("griddepcontrol.wait", nothing, 78, 90);
  simple("griddepcontrol.launch_dependents", nothing, 78, 90);
  OpInfo sleep;
  sleep.flow = Flow::Yield;
  sleep.fn = backOff;
  sleep.s[0] = Ty::U32;
  sleep.nSrc = 1;
  sleep.minPtx = 63;
  r.add("nanosleep.u32", sleep);
  OpInfo pm;
  pm.form = Form::Immediate;
  pm.fn = nothing;
  r.add("pmevent", pm);
}

namespace {

u64 paramValue(Warp &w, const Op &o, u32 index, int lane, u32 bytes) {
  const u32 *ext = &w.code->ext[o.ext];
  u64 v = 0;
  memcpy(&v, w.regs + ext[2 * index] + (u32)lane * ext[2 * index + 1], bytes);
  return v;
}
/// A string in memory that a kernel points to, as far as it is readable.
std::string textAt(Warp &w, int lane, u64 address) {
  std::string s;
  while (s.size() < 4096) {
    u8 *p = resolveGlobal(w, lane, address + s.size(), 1, 1, Use::Read);
    if (!*p)
      break;
    s += (char)*p;
  }
  return s;
}
/// __assertfail(message, file, line, function, charSize)
void assertFail(Warp &w, const Op &o) {
  int lane = __builtin_ctz(w.mask);
  std::string message = textAt(w, lane, paramValue(w, o, 0, lane, 8));
  std::string file = textAt(w, lane, paramValue(w, o, 1, lane, 8));
  u64 line = paramValue(w, o, 2, lane, 4);
  w.fault(FaultKind::Trap,
          "assertion failed: " + message + " (" + file + ":" +
              std::to_string(line) + ")",
          lane);
}

/// vprintf(format, arguments): the arguments lie in local memory, each at a
/// multiple of its size.
void printText(Warp &w, const Op &o) {
  for (u32 m = w.mask; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    std::string format = textAt(w, lane, paramValue(w, o, 0, lane, 8));
    u64 args = paramValue(w, o, 1, lane, 8), at = 0;
    std::string out;
    auto fetch = [&](u32 bytes) {
      at = (at + bytes - 1) / bytes * bytes;
      u64 address[32];
      u8 *p[32];
      for (u64 &a : address)
        a = args + at;
      u32 all = w.mask;
      w.mask = 1u << lane;
      resolve(w, Space::Generic, address, bytes, bytes, Use::Read, p);
      w.mask = all;
      u64 v = 0;
      memcpy(&v, p[lane], bytes);
      at += bytes;
      return v;
    };
    for (size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%') {
        out += format[i];
        continue;
      }
      size_t end = format.find_first_of("diouxXeEfFgGaAcsp%", i + 1);
      if (end == std::string::npos || end - i > 30)
        break;
      std::string spec = format.substr(i, end - i + 1);
      i = end;
      char kind = spec.back(), text[512];
      bool isLong = spec.find('l') != std::string::npos;
      std::string flags;
      for (char c : spec.substr(1, spec.size() - 2))
        if (c != 'l' && c != 'h' && c != 'z' && c != 'j' && c != 't')
          flags += c;
      if (flags.find('*') != std::string::npos)
        flags.clear();
      // Widths that would overflow the buffer are cut.
      for (size_t d = 0, n = 0; d < flags.size(); ++d) {
        n = isdigit((unsigned char)flags[d]) ? n + 1 : 0;
        if (n > 2)
          flags.clear();
      }
      if (kind == '%') {
        out += '%';
        continue;
      }
      if (kind == 's') {
        out += textAt(w, lane, fetch(8));
        continue;
      }
      if (strchr("eEfFgGaA", kind)) {
        u64 bits = fetch(8);
        double v;
        memcpy(&v, &bits, 8);
        snprintf(text, sizeof text, ("%" + flags + kind).c_str(), v);
      } else if (kind == 'p') {
        snprintf(text, sizeof text, "0x%llx", (unsigned long long)fetch(8));
      } else if (kind == 'c') {
        snprintf(text, sizeof text, "%c", (int)fetch(4));
      } else {
        u64 v = fetch(isLong ? 8 : 4);
        if (!isLong && (kind == 'd' || kind == 'i'))
          v = (u64)(s64)(s32)v;
        snprintf(text, sizeof text, ("%" + flags + "ll" + kind).c_str(),
                 (long long)v);
      }
      out += text;
    }
    fwrite(out.data(), 1, out.size(), stdout);
    if (o.size) {
      u32 result = (u32)out.size();
      const u32 *ext = &w.code->ext[o.ext + 2 * o.nExt];
      memcpy(w.regs + ext[0] + (u32)lane * ext[1], &result, 4);
    }
  }
}

} // namespace

Handler systemCallHandler(const std::string &name) {
  if (name == "__assertfail")
    return assertFail;
  if (name == "vprintf")
    return printText;
  return nullptr;
}

} // namespace tds::sim
