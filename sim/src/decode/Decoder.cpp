//===- Decoder.cpp - parsed module to executable program --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks each opcode up in the registry and turns its operands into frame
// offsets. Operand types are checked against the instruction's as the PTX
// manual demands (sizes agree; a float never meets an integer type; loads,
// stores and conversions may use wider registers).
//
//===----------------------------------------------------------------------===//

#include "decode/Decoder.h"
#include "decode/FunctionDecoder.h"
#include "decode/SharedLayout.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace tds::sim {

Op FunctionDecoder::blank(const OpInfo &info) const {
  Op o;
  o.fn = info.fn;
  o.flow = info.flow;
  o.aux = info.aux;
  o.aux2 = info.aux2;
  o.size = info.size;
  o.line = current->line;
  o.loc = current->loc;
  if (current->guarded) {
    o.pred = regOffsets[current->guard];
    o.predNegated = current->guardNegated;
  }
  return o;
}

void FunctionDecoder::plain(const OpInfo &info) {
  const auto &ops = current->operands;
  bool hasDst = info.d != Ty::None;
  operandCount(info.nSrc + hasDst, info.nSrc + hasDst);
  u32 offsets[4] = {noReg, noReg, noReg, noReg};
  for (u32 i = 0; i < info.nSrc; ++i)
    offsets[i] = src(ops[i + hasDst], info.s[i]);
  Op o = blank(info);
  o.a = offsets[0];
  o.b = offsets[1];
  o.c = offsets[2];
  if (info.nSrc > 3) {
    o.ext = (u32)code.ext.size();
    o.nExt = 1;
    code.ext.push_back(offsets[3]);
  }
  if (hasDst) {
    if (ops[0].second)
      fail("'" + current->opcode + "' has one destination");
    o.d = dst(ops[0], info.d);
  }
  emit(o);
}

/// d|q: the second destination is a predicate, kept in ext[0] (or noReg).
void FunctionDecoder::predPair(const OpInfo &info) {
  const auto &ops = current->operands;
  operandCount(info.nSrc + 1, info.nSrc + 1);
  u32 offsets[4] = {noReg, noReg, noReg, noReg};
  for (u32 i = 0; i < info.nSrc; ++i)
    offsets[i] = src(ops[i + 1], info.s[i]);
  Op o = blank(info);
  o.a = offsets[0];
  o.b = offsets[1];
  o.c = offsets[2];
  o.ext = (u32)code.ext.size();
  o.nExt = 2;
  u32 second = noReg;
  Operand first = ops[0];
  if (first.second)
    second = dst(*first.second, Ty::Pred);
  o.d = dst(first, info.d);
  code.ext.push_back(second);
  code.ext.push_back(offsets[3]);
  emit(o);
}

/// The last source is the member mask and goes into register c; what stood in
/// c goes into ext[1].
void FunctionDecoder::collective(const OpInfo &info) {
  const auto &ops = current->operands;
  operandCount(info.nSrc + 1, info.nSrc + 1);
  u32 offsets[4] = {noReg, noReg, noReg, noReg};
  for (u32 i = 0; i < info.nSrc; ++i)
    offsets[i] = src(ops[i + 1], info.s[i]);
  Op o = blank(info);
  o.c = offsets[info.nSrc - 1];
  if (info.nSrc > 1)
    o.a = offsets[0];
  if (info.nSrc > 2)
    o.b = offsets[1];
  u32 second = noReg;
  if (ops[0].second)
    second = dst(*ops[0].second, Ty::Pred);
  o.d = dst(ops[0], info.d);
  o.ext = (u32)code.ext.size();
  o.nExt = 2;
  code.ext.push_back(second);
  code.ext.push_back(info.nSrc > 3 ? offsets[2] : noReg);
  emit(o);
}

/// cvt: a wider source register counts by its low bits, a wider destination
/// is extended by the sign of the destination type.
void FunctionDecoder::convert(const OpInfo &info) {
  operandCount(2, 2);
  const Operand &d = current->operands[0], &s = current->operands[1];
  Ty from = info.s[0], to = info.d;
  u32 a;
  bool wideSource = s.kind == Operand::Reg && s.regType != Ty::Pred &&
                    !isFloat(from) && !isFloat(s.regType) &&
                    laneBytesOf(s.regType) > laneBytesOf(from);
  if (wideSource) {
    Op o = blank(info);
    o.fn = resizeHandler(laneBytesOf(from), laneBytesOf(s.regType), false);
    o.a = registerOffset(s.reg, s.regType);
    o.d = a = allocate(32 * laneBytesOf(from));
    emit(o);
  } else {
    a = src(s, from);
  }
  Op o = blank(info);
  o.a = a;
  bool wideTarget = d.kind == Operand::Reg && d.regType != Ty::Pred &&
                    !isFloat(to) && !isFloat(d.regType) &&
                    laneBytesOf(d.regType) > laneBytesOf(to);
  if (!wideTarget) {
    o.d = dst(d, to);
    emit(o);
    return;
  }
  o.d = allocate(32 * laneBytesOf(to));
  emit(o);
  Op extend = blank(info);
  extend.a = o.d;
  extend.d = registerOffset(d.reg, d.regType);
  extend.fn =
      resizeHandler(laneBytesOf(d.regType), laneBytesOf(to), isSigned(to));
  emit(extend);
}

void FunctionDecoder::instruction(const Instr &in) {
  const OpInfo *info = Registry::get().find(in.opcode);
  if (!info)
    fail("unknown instruction '" + in.opcode + "'");
  if (info->minPtx > module.version)
    fail("'" + in.opcode + "' needs PTX ISA " +
         std::to_string(info->minPtx / 10) + "." +
         std::to_string(info->minPtx % 10) + ", the module declares " +
         std::to_string(module.version / 10) + "." +
         std::to_string(module.version % 10));
  if (info->minSm > module.sm)
    fail("'" + in.opcode + "' needs sm_" + std::to_string(info->minSm) +
         ", the module targets sm_" + std::to_string(module.sm));
  if (info->smSuffix && (!module.smSuffix || info->minSm != module.sm))
    fail("'" + in.opcode + "' needs target sm_" + std::to_string(info->minSm) +
         "a");
  if (in.guarded)
    registerOffset(in.guard, Ty::Pred);
  // These order warps otherwise than by barriers of the whole block.
  auto begins = [&](const char *prefix) {
    return in.opcode.compare(0, strlen(prefix), prefix) == 0;
  };
  bool isBarrier = info->flow == Flow::Barrier && !begins("bar.warp");
  code.usesAsync |=
      begins("mbarrier.") || begins("cp.async.bulk") ||
      begins("cp.async.mbarrier") || begins("cp.reduce.async") ||
      begins("st.async") || begins("red.async") || begins("wgmma.") ||
      begins("barrier.cluster") ||
      (isBarrier && in.operands.size() > 1 && info->form != Form::BarrierRed);
  code.usesWgmma |= begins("wgmma.mma_async");
  switch (info->form) {
  case Form::Plain:
    plain(*info);
    break;
  case Form::PredPair:
    predPair(*info);
    break;
  case Form::Shuffle:
  case Form::Member:
  case Form::Elect:
    collective(*info);
    break;
  case Form::Load:
    load(*info);
    break;
  case Form::Store:
    store(*info);
    break;
  case Form::Atom:
    atom(*info, true);
    break;
  case Form::Red:
    atom(*info, false);
    break;
  case Form::Mov:
    mov(*info);
    break;
  case Form::Cvta:
    cvta(*info);
    break;
  case Form::Convert:
    convert(*info);
    break;
  case Form::Branch:
  case Form::IndexedBranch:
    branch(*info);
    break;
  case Form::Call:
    call(*info);
    break;
  case Form::Return:
  case Form::Exit:
  case Form::Nothing:
    operandCount(0, 0);
    emit(blank(*info));
    break;
  case Form::Barrier:
    barrier(*info, false);
    break;
  case Form::BarrierRed:
    barrier(*info, true);
    break;
  case Form::Vector:
  case Form::Matrix:
    matrix(*info);
    break;
  case Form::CopyAsync:
    copyAsync(*info);
    break;
  case Form::StoreAsync:
    storeAsync(*info);
    break;
  case Form::Bulk:
    bulk(*info);
    break;
  case Form::Wgmma:
    wgmma(*info);
    break;
  case Form::Immediate: {
    operandCount(1, 1);
    if (in.operands[0].kind != Operand::Int)
      fail("'" + in.opcode + "' needs a number");
    Op o = blank(*info);
    o.imm = in.operands[0].imm;
    emit(o);
    break;
  }
  case Form::Address: {
    operandCount(1, info->counts[0] ? info->counts[0] : 1);
    Op o = blank(*info);
    addressOperand(o, in.operands[0], *info);
    emit(o);
    break;
  }
  }
}

void FunctionDecoder::run() {
  code.name = fn.name;
  mentions.assign(fn.numRegs, 0);
  std::function<void(const Operand &)> mention = [&](const Operand &op) {
    if (op.kind == Operand::Reg)
      ++mentions[op.reg];
    for (const Operand &inner : op.sub)
      mention(inner);
    if (op.second)
      mention(*op.second);
  };
  for (const Instr &in : fn.body) {
    if (in.guarded)
      ++mentions[in.guard];
    for (const Operand &op : in.operands)
      mention(op);
  }
  code.isEntry = fn.isEntry;
  code.line = fn.line;
  std::copy(fn.reqThreads, fn.reqThreads + 3, code.reqThreads);
  std::copy(fn.reqCluster, fn.reqCluster + 3, code.reqCluster);
  code.maxClusterRank = fn.maxClusterRank;
  code.explicitCluster = fn.explicitCluster;
  code.maxThreads = fn.maxThreads[0] * fn.maxThreads[1] * fn.maxThreads[2];
  auto frameParam = [&](const Var &var) {
    u32 offset = allocate(32 * (u32)alignUp(std::max<u64>(var.bytes, 1), 8));
    localOffsets[&var] = offset;
    return offset;
  };
  if (fn.isEntry) {
    u64 at = 0;
    for (auto &p : fn.params) {
      at = alignUp(at, p->align);
      paramOffsets[p.get()] = (u32)at;
      code.params.push_back({p->name, (u32)at, (u32)p->bytes});
      at += p->bytes;
    }
    u64 limit = module.version >= 81 && module.sm >= 70 ? 32764 : 4352;
    if (at > limit)
      fail("the parameters of '" + fn.name + "' take " + std::to_string(at) +
           " bytes, more than " + std::to_string(limit));
    code.paramBytes = (u32)at;
  } else {
    for (auto &p : fn.params)
      code.params.push_back({p->name, frameParam(*p), (u32)p->bytes});
    for (auto &r : fn.rets)
      code.rets.push_back({r->name, frameParam(*r), (u32)r->bytes});
  }
  for (auto &var : fn.locals) {
    if (var->space == Space::Param) {
      frameParam(*var);
      continue;
    }
    u64 at = alignUp(code.localBytes, var->align);
    if (at + var->bytes > 512 * 1024)
      fail("'" + fn.name + "' needs more than 512 KiB of local memory");
    localOffsets[var.get()] = (u32)at;
    code.localBytes = (u32)(at + var->bytes);
  }
  code.localBytes = (u32)alignUp(code.localBytes, 16);

  std::vector<u32> firstOp(fn.body.size() + 1);
  for (size_t i = 0; i < fn.body.size(); ++i) {
    firstOp[i] = (u32)code.ops.size();
    current = &fn.body[i];
    instruction(*current);
  }
  firstOp[fn.body.size()] = (u32)code.ops.size();
  current = nullptr;
  // Falling off the end returns, as ptxas has it.
  Op end;
  end.flow = Flow::Return;
  end.line = fn.endLine;
  emit(end);
  for (Op &o : code.ops) {
    if (o.flow == Flow::Branch)
      o.target = firstOp[o.target];
    else if (o.flow == Flow::IndexedBranch)
      for (u32 i = 0; i < o.nExt; ++i)
        code.ext[o.ext + i] = firstOp[code.ext[o.ext + i]];
  }
  code.frameBytes = (u32)alignUp(code.frameBytes, 64);
}

std::unique_ptr<Program> decode(Module &module) {
  auto program = std::make_unique<Program>();
  program->version = module.version;
  program->sm = module.sm;
  program->locs = module.locs;
  program->files = module.files;
  SharedLayout layout(module);
  std::map<std::string, u32> indices;
  for (auto &entry : module.functions) {
    if (entry.second->isDeclaration)
      continue;
    u32 index = (u32)program->codes.size();
    indices[entry.first] = index;
    program->codes.push_back(std::make_unique<Code>());
    program->codes.back()->index = index;
  }
  std::vector<std::set<u32>> callees(program->codes.size());
  for (auto &entry : module.functions) {
    if (entry.second->isDeclaration)
      continue;
    u32 index = indices[entry.first];
    if (entry.second->isEntry)
      program->codes[index]->sharedBytes = (u32)layout.enter(*entry.second);
    FunctionDecoder decoder(module, *entry.second, *program->codes[index],
                            indices);
    decoder.run();
    callees[index] = decoder.callees();
    program->byName[entry.first] = index;
  }
  // What an entry's callees need, it needs.
  for (auto &code : program->codes) {
    if (!code->isEntry)
      continue;
    std::set<u32> seen{code->index};
    std::vector<u32> work{code->index};
    u64 local = 0;
    while (!work.empty()) {
      u32 at = work.back();
      work.pop_back();
      const Code &c = *program->codes[at];
      local += c.localBytes;
      code->minAccess = std::min(code->minAccess, c.minAccess);
      code->usesAtomics |= c.usesAtomics;
      code->usesAsync |= c.usesAsync;
      code->usesWgmma |= c.usesWgmma;
      for (u32 next : callees[at]) {
        code->recursive |= next == at;
        if (seen.insert(next).second)
          work.push_back(next);
        else if (next != at)
          code->recursive =
              true; // reached twice: maybe a cycle, so be generous
      }
    }
    code->reachableLocalBytes = (u32)std::min<u64>(
        code->recursive ? std::max<u64>(local, 65536) : local, 512 * 1024);
  }
  return program;
}

} // namespace tds::sim
