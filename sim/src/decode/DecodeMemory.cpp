//===- DecodeMemory.cpp - loads, stores, atomics, moves ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "decode/FunctionDecoder.h"

namespace tds::sim {

/// The elements of a load's destination or a store's source, as many as the
/// opcode says; `verb` is "load" or "store".
std::vector<const Operand *>
FunctionDecoder::accessElements(const Operand &op, const OpInfo &info,
                                const std::string &verb) {
  std::vector<const Operand *> elements;
  elementRegs(op, elements);
  const u32 count = info.counts[0];
  if (elements.size() != count || (op.kind == Operand::Vec) != (count > 1))
    fail("'" + current->opcode + "' " + verb + "s " + std::to_string(count) +
         " values, not " + std::to_string(elements.size()));
  return elements;
}

/// Bytes of a lane of the registers among `elements`, which must fit the type
/// in memory and have one size.
u32 FunctionDecoder::accessRegBytes(
    const std::vector<const Operand *> &elements, const OpInfo &info,
    const std::string &verb) {
  u32 regBytes = 0;
  for (const Operand *e : elements) {
    if (e->kind != Operand::Reg)
      continue;
    u32 bytes = e->regType == Ty::Pred ? 0 : laneBytesOf(e->regType);
    if (bytes < bytesOf(info.d) ||
        (isFloat(info.d) && bytes != laneBytesOf(info.d)))
      fail("register of type ." + std::string(nameOf(e->regType)) +
           " does not fit '" + current->opcode + "'");
    if (regBytes && bytes != regBytes)
      fail("registers of a vector " + verb + " must have one size");
    regBytes = bytes;
  }
  return regBytes ? regBytes : laneBytesOf(info.d);
}

/// Parameters of functions live in the frame: their place, and the bytes from
/// lane to lane. False where `where` is another place.
bool FunctionDecoder::frameParameter(Op &o, const Operand &where,
                                     const OpInfo &info) {
  if (info.space != Space::Param || where.kind != Operand::Addr ||
      where.sub[0].kind != Operand::Symbol)
    return false;
  const Var *var = where.sub[0].var;
  if (var->space != Space::Param)
    fail("'" + var->name + "' is not a parameter");
  auto local = localOffsets.find(var);
  if (code.isEntry && local == localOffsets.end())
    return false; // a kernel's own lie in a buffer
  if (where.imm < 0 ||
      (u64)where.imm + bytesOf(info.d) * info.counts[0] > var->bytes)
    fail("access beyond the end of parameter '" + var->name + "'");
  o.a = local != localOffsets.end() ? local->second : paramOffsets.at(var);
  o.imm = where.imm;
  o.aux2 = 1;
  o.target = (u32)alignUp(var->bytes, 8);
  return true;
}

/// Completes a load or store of `regs` and emits it.
void FunctionDecoder::emitAccess(Op &o, const OpInfo &info,
                                 const std::vector<u32> &regs, u32 regBytes,
                                 bool isStore) {
  noteAccess(info.space, bytesOf(info.d));
  o.size = (u16)bytesOf(info.d);
  o.d = regs[0];
  o.ext = (u32)code.ext.size();
  o.nExt = (u16)regs.size();
  code.ext.insert(code.ext.end(), regs.begin(), regs.end());
  o.uses = isStore ? Uses::Stores : Uses::WritesExt;
  if (info.size) {
    o.fn = strongHandler(info.space, info.d, regBytes, isStore);
    o.target = info.size;
    if (!isStore)
      o.flow = Flow::Yield; // a loop that waits for another block comes by here
  } else {
    Space space = o.aux2 ? Space::None : info.space;
    o.fn = isStore ? storeHandler(space, info.d, regBytes, info.counts[0])
                   : loadHandler(space, info.d, regBytes, info.counts[0]);
  }
  if (!o.fn)
    fail("'" + current->opcode + "' is not supported");
  emit(o);
}

void FunctionDecoder::load(const OpInfo &info) {
  operandCount(2, 2);
  const auto &ops = current->operands;
  const auto elements = accessElements(ops[0], info, "load");
  Op o = blank(info);
  const u32 regBytes = accessRegBytes(elements, info, "load");
  std::vector<u32> regs;
  u32 used = 0;
  for (u32 i = 0; i < elements.size(); ++i) {
    const Operand &e = *elements[i];
    if (e.kind == Operand::Sink && elements.size() > 1) {
      regs.push_back(scratch());
      continue;
    }
    if (e.kind != Operand::Reg || e.regType == Ty::Pred)
      fail("a load needs a register as its destination");
    // A register that stands nowhere else holds padding that nobody uses.
    if (mentions[e.reg] > 1)
      used |= 1u << i;
    regs.push_back(registerOffset(e.reg, e.regType));
  }
  if (!frameParameter(o, ops[1], info)) {
    addressOperand(o, ops[1], info);
    const bool some = used && used != (1u << elements.size()) - 1;
    o.target = some ? used : allElements;
  }
  emitAccess(o, info, regs, regBytes, false);
}

void FunctionDecoder::store(const OpInfo &info) {
  operandCount(2, 2);
  const auto &ops = current->operands;
  const auto elements = accessElements(ops[1], info, "store");
  const u32 regBytes = accessRegBytes(elements, info, "store");
  std::vector<u32> regs;
  for (const Operand *e : elements) {
    if (e->kind == Operand::Reg) {
      regs.push_back(registerOffset(e->reg, e->regType));
    } else if (e->kind == Operand::Special || e->kind == Operand::Symbol) {
      regs.push_back(src(*e, info.d));
    } else if (e->kind == Operand::Int || e->kind == Operand::Flt) {
      regs.push_back(immediate(immediateBits(*e, info.d), (u8)regBytes));
    } else {
      fail("a store needs a register or a number as its source");
    }
  }
  Op o = blank(info);
  if (info.space == Space::Param) {
    const Operand &where = ops[0];
    if (where.kind != Operand::Addr || where.sub[0].kind != Operand::Symbol ||
        where.sub[0].var->space != Space::Param)
      fail("st.param needs a parameter's name");
    const Var *var = where.sub[0].var;
    bool isReturn = false;
    for (auto &r : fn.rets)
      isReturn |= r.get() == var;
    if (!localOffsets.count(var) || (!isReturn && !var->owner))
      fail("parameter '" + var->name + "' cannot be written here");
    frameParameter(o, where, info);
  } else {
    addressOperand(o, ops[0], info);
  }
  emitAccess(o, info, regs, regBytes, true);
}

void FunctionDecoder::atom(const OpInfo &info, bool hasResult) {
  const auto &ops = current->operands;
  size_t first = hasResult ? 2 : 1;
  bool optional = info.counts[3] == 0;
  operandCount(first + info.nSrc - optional, first + info.nSrc);
  u32 offsets[2] = {noReg, noReg};
  for (u32 i = 0; first + i < ops.size(); ++i)
    offsets[i] = src(ops[first + i], info.s[i]);
  Op o = blank(info);
  u8 keep = o.aux2;
  addressOperand(o, ops[hasResult], info);
  o.aux2 = keep;
  o.size = info.size;
  o.b = offsets[0];
  o.c = offsets[1];
  if (hasResult)
    o.d = ops[0].kind == Operand::Sink ? noReg : dst(ops[0], info.d);
  noteAccess(info.space, info.size);
  code.usesAtomics = true;
  emit(o);
}

void FunctionDecoder::mov(const OpInfo &info) {
  operandCount(2, 2);
  const auto &ops = current->operands;
  const Operand &d = ops[0], &s = ops[1];
  Ty type = info.d;
  if (type == Ty::Pred) {
    Op o;
    if (s.kind == Operand::Int) {
      o = blank(info);
      o.fn = predImmediateHandler(s.imm != 0);
    } else {
      u32 a = src(s, Ty::Pred);
      o = blank(info);
      o.a = a;
      o.fn = movePredHandler();
    }
    o.d = dst(d, Ty::Pred);
    emit(o);
    return;
  }
  if (d.kind == Operand::Vec || s.kind == Operand::Vec) {
    const Operand &vec = d.kind == Operand::Vec ? d : s;
    if (d.kind == s.kind)
      fail("mov packs or unpacks one vector");
    u32 count = (u32)vec.sub.size();
    if (!isUntyped(type) || (count != 2 && count != 4) ||
        bytesOf(type) % count || bytesOf(type) < count ||
        bytesOf(type) / count < 1)
      fail("'" + current->opcode + "' cannot pack " + std::to_string(count) +
           " values");
    u32 part = bytesOf(type) / count;
    Ty partType = part == 4 ? Ty::B32 : part == 2 ? Ty::B16 : Ty::B8;
    if (part == 8)
      partType = Ty::B64;
    std::vector<u32> regs;
    for (const Operand &e : vec.sub)
      regs.push_back(&vec == &d ? dst(e, partType) : src(e, partType));
    u32 other = &vec == &d ? src(s, type) : dst(d, type);
    Op o = blank(info);
    o.ext = (u32)code.ext.size();
    o.nExt = (u16)count;
    for (u32 r : regs)
      code.ext.push_back(r);
    if (&vec == &d) {
      o.a = other;
      o.uses = Uses::WritesExt;
      o.fn = unpackHandler(part, count);
    } else {
      o.d = other;
      o.uses = Uses::ReadsExt;
      o.fn = packHandler(part, count);
    }
    if (!o.fn)
      fail("'" + current->opcode + "' with this vector is not supported");
    emit(o);
    return;
  }
  if (s.kind == Operand::Name && indices.count(s.name))
    fail("the address of a function ('" + s.name +
         "') is not supported: call it by name");
  u32 a = src(s, type);
  Op o = blank(info);
  o.a = a;
  o.d = dst(d, type);
  o.fn = moveHandler(laneBytesOf(type));
  o.uses = Uses::Move;
  if (!o.fn)
    fail("'" + current->opcode + "' is not supported");
  emit(o);
}

/// cvta: adds or takes away the window of the space (aux: to the space).
void FunctionDecoder::cvta(const OpInfo &info) {
  operandCount(2, 2);
  const auto &ops = current->operands;
  const Operand &s = ops[1];
  if (s.kind == Operand::Symbol && s.var->space != info.space)
    fail("'" + s.var->name + "' does not lie in ." + nameOf(info.space) +
         " memory");
  u32 a = src(s, info.d);
  Op o = blank(info);
  o.a = a;
  o.d = dst(ops[0], info.d);
  emit(o);
}

} // namespace tds::sim
