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
#include "decode/Registry.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_map>

namespace tds::sim {

namespace {

u64 alignUp(u64 value, u64 align) {
  return (value + align - 1) / align * align;
}

class FunctionDecoder {
public:
  FunctionDecoder(Module &module, const Function &fn, Code &code,
                  const std::map<std::string, u32> &indices)
      : module(module), fn(fn), code(code), indices(indices),
        regOffsets(fn.numRegs, noReg) {}

  void run();
  const std::set<u32> &callees() const { return called; }

private:
  [[noreturn]] void fail(const std::string &message) const {
    throw PtxError(current ? current->line : fn.line, message);
  }
  u32 allocate(u32 bytes) {
    u32 offset = (u32)alignUp(code.frameBytes, 64);
    if ((u64)offset + bytes > (1ull << 30))
      fail("the registers of '" + fn.name + "' need more than 1 GiB");
    code.frameBytes = offset + bytes;
    return offset;
  }
  u32 registerOffset(u32 reg, Ty type) {
    u32 &offset = regOffsets[reg];
    if (offset == noReg) {
      offset = allocate(type == Ty::Pred ? 4 : 32 * laneBytesOf(type));
      ++code.numRegs;
    }
    return offset;
  }
  u32 scratch() {
    if (scratchOffset == noReg)
      scratchOffset = allocate(512);
    return scratchOffset;
  }
  u32 immediate(u64 value, u8 bytes);
  u32 special(const std::string &name, Ty type, bool &isVolatileOut,
              Special &which);
  void checkType(Ty have, Ty want, const char *role) const;
  u32 dst(const Operand &op, Ty type);
  u32 src(const Operand &op, Ty type);
  u64 immediateBits(const Operand &op, Ty type) const;
  u64 symbolValue(const Operand &op, Space wanted);
  void addressOperand(Op &o, const Operand &op, const OpInfo &info);
  void emit(Op o) { code.ops.push_back(o); }
  Op blank(const OpInfo &info) const;
  void vectorOperand(Op &o, const Operand &op, Ty type, u32 count, bool isDst);
  void elementRegs(const Operand &op, std::vector<const Operand *> &out) const;

  void instruction(const Instr &in);
  void plain(const OpInfo &info);
  void predPair(const OpInfo &info);
  void collective(const OpInfo &info);
  void load(const OpInfo &info);
  void store(const OpInfo &info);
  void atom(const OpInfo &info, bool hasResult);
  void mov(const OpInfo &info);
  void cvta(const OpInfo &info);
  void convert(const OpInfo &info);
  void branch(const OpInfo &info);
  void call(const OpInfo &info);
  void barrier(const OpInfo &info, bool reduce);
  void matrix(const OpInfo &info);
  void copyAsync(const OpInfo &info);
  void operandCount(size_t low, size_t high) const;
  void noteAccess(Space space, u32 bytes) {
    if (space == Space::Shared || space == Space::Global ||
        space == Space::Generic)
      code.minAccess = std::min(code.minAccess, std::max(1u, bytes));
  }

  Module &module;
  const Function &fn;
  Code &code;
  const std::map<std::string, u32> &indices;
  std::vector<u32> regOffsets;
  std::map<std::pair<u64, u8>, u32> immediates;
  std::map<std::pair<Special, u8>, u32> specials;
  std::map<const Var *, u32> localOffsets, paramOffsets;
  std::set<u32> called;
  u32 scratchOffset = noReg;
  const Instr *current = nullptr;
};

u32 FunctionDecoder::immediate(u64 value, u8 bytes) {
  if (bytes == 4)
    value = (u32)value;
  else if (bytes == 2)
    value = (u16)value;
  auto key = std::make_pair(value, bytes);
  auto it = immediates.find(key);
  if (it != immediates.end())
    return it->second;
  u32 offset = allocate(32 * bytes);
  code.immediates.push_back({offset, bytes, value});
  immediates[key] = offset;
  return offset;
}

u32 FunctionDecoder::special(const std::string &name, Ty type,
                             bool &isVolatileOut, Special &which) {
  static const std::unordered_map<std::string, std::pair<Special, u8>> table = {
      {"%tid.x", {Special::TidX, 4}},
      {"%tid.y", {Special::TidY, 4}},
      {"%tid.z", {Special::TidZ, 4}},
      {"%ntid.x", {Special::NtidX, 4}},
      {"%ntid.y", {Special::NtidY, 4}},
      {"%ntid.z", {Special::NtidZ, 4}},
      {"%ctaid.x", {Special::CtaidX, 4}},
      {"%ctaid.y", {Special::CtaidY, 4}},
      {"%ctaid.z", {Special::CtaidZ, 4}},
      {"%nctaid.x", {Special::NctaidX, 4}},
      {"%nctaid.y", {Special::NctaidY, 4}},
      {"%nctaid.z", {Special::NctaidZ, 4}},
      {"%laneid", {Special::LaneId, 4}},
      {"%warpid", {Special::WarpId, 4}},
      {"%nwarpid", {Special::NWarpId, 4}},
      {"%smid", {Special::SmId, 4}},
      {"%nsmid", {Special::NSmId, 4}},
      {"%gridid", {Special::GridId, 8}},
      {"%lanemask_eq", {Special::LaneMaskEq, 4}},
      {"%lanemask_le", {Special::LaneMaskLe, 4}},
      {"%lanemask_lt", {Special::LaneMaskLt, 4}},
      {"%lanemask_ge", {Special::LaneMaskGe, 4}},
      {"%lanemask_gt", {Special::LaneMaskGt, 4}},
      {"%dynamic_smem_size", {Special::DynamicSmem, 4}},
      {"%total_smem_size", {Special::TotalSmem, 4}},
      {"%aggr_smem_size", {Special::TotalSmem, 4}},
      {"%clock", {Special::Clock, 4}},
      {"%clock64", {Special::Clock64, 8}},
      {"%clock_hi", {Special::ClockHi, 4}},
      {"%globaltimer", {Special::GlobalTimer, 8}},
      {"%globaltimer_lo", {Special::GlobalTimerLo, 4}},
      {"%globaltimer_hi", {Special::GlobalTimerHi, 4}},
      // A block that was launched without clusters is a cluster of its own.
      {"%clusterid.x", {Special::CtaidX, 4}},
      {"%clusterid.y", {Special::CtaidY, 4}},
      {"%clusterid.z", {Special::CtaidZ, 4}},
      {"%nclusterid.x", {Special::NctaidX, 4}},
      {"%nclusterid.y", {Special::NctaidY, 4}},
      {"%nclusterid.z", {Special::NctaidZ, 4}},
      {"%cluster_ctaid.x", {Special::Zero, 4}},
      {"%cluster_ctaid.y", {Special::Zero, 4}},
      {"%cluster_ctaid.z", {Special::Zero, 4}},
      {"%cluster_nctaid.x", {Special::One, 4}},
      {"%cluster_nctaid.y", {Special::One, 4}},
      {"%cluster_nctaid.z", {Special::One, 4}},
      {"%cluster_ctarank", {Special::Zero, 4}},
      {"%cluster_nctarank", {Special::One, 4}},
  };
  auto it = table.find(name);
  if (it == table.end())
    fail("unknown special register '" + name + "'");
  which = it->second.first;
  u8 bytes = it->second.second;
  u32 want = bytesOf(type);
  // %clock64 and friends are 64-bit; the 32-bit ones may be read as 64-bit
  // nowhere, but as 16-bit by old code.
  if (want != bytes && !(want == 2 && bytes == 4))
    fail("'" + name + "' is a " + std::to_string(bytes * 8) +
         "-bit register, the instruction wants ." + nameOf(type));
  isVolatileOut = isVolatile(which);
  if (isVolatileOut)
    return noReg;
  auto key = std::make_pair(which, (u8)want);
  auto slot = specials.find(key);
  if (slot != specials.end())
    return slot->second;
  u32 offset = allocate(32 * want);
  code.specials.push_back({offset, (u8)want, which});
  specials[key] = offset;
  return offset;
}

void FunctionDecoder::checkType(Ty have, Ty want, const char *role) const {
  bool ok;
  if (want == Ty::Pred || have == Ty::Pred)
    ok = want == have;
  else
    ok = laneBytesOf(have) == laneBytesOf(want) &&
         (isUntyped(have) || isUntyped(want) || isFloat(have) == isFloat(want));
  if (!ok)
    fail(std::string(role) + " register of type ." + nameOf(have) +
         " does not fit '" + current->opcode + "', which wants ." +
         nameOf(want));
}

u32 FunctionDecoder::dst(const Operand &op, Ty type) {
  if (op.kind == Operand::Sink)
    return scratch();
  if (op.kind != Operand::Reg)
    fail("the destination of '" + current->opcode + "' must be a register");
  checkType(op.regType, type, "destination");
  return registerOffset(op.reg, op.regType);
}

u64 FunctionDecoder::immediateBits(const Operand &op, Ty type) const {
  if (op.kind == Operand::Int) {
    if (type == Ty::F32 || type == Ty::F64 || type == Ty::F16 ||
        type == Ty::BF16)
      fail("an integer cannot be an operand of type ." +
           std::string(nameOf(type)) + "; write a float literal");
    return (u64)op.imm;
  }
  u32 bytes = bytesOf(type);
  bool typeOk =
      type == Ty::F32 || type == Ty::F64 || type == Ty::B32 || type == Ty::B64;
  if (!typeOk)
    fail("a float literal cannot be an operand of type ." +
         std::string(nameOf(type)));
  if (op.fltBits == 32) {
    if (bytes == 4)
      return (u64)op.imm;
    if (type == Ty::B64)
      fail("a 32-bit float literal does not fill a .b64 operand");
    float f;
    u32 bits = (u32)op.imm;
    memcpy(&f, &bits, 4);
    double d = f;
    u64 out;
    memcpy(&out, &d, 8);
    return out;
  }
  if (bytes == 8)
    return (u64)op.imm;
  if (type == Ty::B32)
    fail("a 64-bit float literal does not fit a .b32 operand");
  double d;
  memcpy(&d, &op.imm, 8);
  float f = (float)d;
  u32 out;
  memcpy(&out, &f, 4);
  return out;
}

/// The address of a variable in its own space (global and const: generic).
u64 FunctionDecoder::symbolValue(const Operand &op, Space wanted) {
  const Var &var = *op.var;
  (void)wanted;
  if (var.space == Space::Global || var.space == Space::Const ||
      var.space == Space::Shared)
    return var.address + (u64)op.imm;
  if (var.space == Space::Local)
    return localOffsets.at(&var) + (u64)op.imm;
  return paramOffsets.at(&var) + (u64)op.imm;
}

u32 FunctionDecoder::src(const Operand &op, Ty type) {
  switch (op.kind) {
  case Operand::Reg: {
    checkType(op.regType, type, "source");
    u32 offset = registerOffset(op.reg, op.regType);
    if (op.negated) {
      Op o;
      o.fn = notPredHandler();
      o.a = offset;
      o.d = allocate(4);
      o.line = current->line;
      o.loc = current->loc;
      emit(o);
      return o.d;
    }
    return offset;
  }
  case Operand::Int:
  case Operand::Flt: {
    if (type == Ty::Pred)
      fail("an immediate cannot be a predicate of '" + current->opcode + "'");
    return immediate(immediateBits(op, type), (u8)laneBytesOf(type));
  }
  case Operand::Special: {
    bool isVolatileRead = false;
    Special which;
    u32 offset = special(op.name, type, isVolatileRead, which);
    if (!isVolatileRead)
      return offset;
    Op o;
    o.fn = volatileSpecialHandler();
    o.d = allocate(32 * laneBytesOf(type));
    o.aux = (u8)which;
    o.size = (u16)bytesOf(type);
    o.line = current->line;
    o.loc = current->loc;
    emit(o);
    return o.d;
  }
  case Operand::Symbol: {
    u32 bytes = bytesOf(type);
    if (isFloat(type) || bytes < 4 || type == Ty::Pred)
      fail("the address of '" + op.var->name + "' cannot be a ." +
           nameOf(type));
    if (op.var->space == Space::Local && !code.isEntry) {
      Op o;
      o.fn = localAddressHandler(bytes);
      o.imm = (s64)symbolValue(op, Space::Local);
      o.d = allocate(32 * bytes);
      o.line = current->line;
      o.loc = current->loc;
      emit(o);
      return o.d;
    }
    if (op.var->space == Space::Param && !code.isEntry)
      fail("the address of a function's parameter '" + op.var->name +
           "' is not supported");
    if (op.var->space == Space::Param && op.var->owner == &fn &&
        localOffsets.count(op.var))
      fail("the address of '" + op.var->name + "' cannot be taken");
    u64 value = symbolValue(op, Space::None);
    if (bytes == 4 &&
        (op.var->space == Space::Global || op.var->space == Space::Const))
      fail("the address of '" + op.var->name + "' needs 64 bits");
    return immediate(value, (u8)bytes);
  }
  case Operand::Name:
    fail("unknown name '" + op.name + "'");
  case Operand::Sink:
    fail("'_' cannot be a source of '" + current->opcode + "'");
  default:
    fail("unexpected operand of '" + current->opcode + "'");
  }
}

void FunctionDecoder::operandCount(size_t low, size_t high) const {
  size_t n = current->operands.size();
  if (n < low || n > high)
    fail("'" + current->opcode + "' takes " + std::to_string(low) +
         (low == high ? "" : " to " + std::to_string(high)) +
         " operands, not " + std::to_string(n));
}

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

/// The address `[a]` of a memory operation into a/imm, as Op::aux says:
/// 0 register of 64 bits, 1 register of 32 bits, 2 none (imm alone),
/// 3 none, relative to the thread's local frame.
void FunctionDecoder::addressOperand(Op &o, const Operand &op,
                                     const OpInfo &info) {
  if (op.kind != Operand::Addr)
    fail("'" + current->opcode + "' wants an address in [ ]");
  if (op.sub.size() != 1)
    fail("'" + current->opcode + "' wants a single address");
  const Operand &base = op.sub[0];
  o.imm = op.imm;
  if (base.kind == Operand::Reg) {
    u32 bytes = base.regType == Ty::Pred ? 0 : bytesOf(base.regType);
    if (isFloat(base.regType) || (bytes != 8 && bytes != 4))
      fail("an address register must be a 32- or 64-bit integer");
    if (bytes == 4 && info.space != Space::Shared &&
        info.space != Space::Local && info.space != Space::Param &&
        info.space != Space::Const)
      fail("an address in ." + std::string(nameOf(info.space)) +
           " memory needs a 64-bit register");
    o.a = registerOffset(base.reg, base.regType);
    o.aux = bytes == 8 ? 0 : 1;
    return;
  }
  o.aux = 2;
  if (base.kind == Operand::Int) {
    o.imm = base.imm + op.imm;
    return;
  }
  const Var &var = *base.var;
  Space space = info.space;
  bool fits = var.space == space ||
              (space == Space::Generic &&
               (var.space == Space::Global || var.space == Space::Const));
  if (!fits)
    fail("'" + var.name + "' lies in ." + nameOf(var.space) + " memory, '" +
         current->opcode + "' accesses ." + nameOf(space));
  Operand symbol;
  symbol.kind = Operand::Symbol;
  symbol.var = base.var;
  symbol.imm = op.imm;
  o.imm = (s64)symbolValue(symbol, space);
  if (var.space == Space::Local)
    o.aux = 3;
}

void FunctionDecoder::elementRegs(const Operand &op,
                                  std::vector<const Operand *> &out) const {
  if (op.kind == Operand::Vec) {
    for (const Operand &e : op.sub)
      out.push_back(&e);
  } else {
    out.push_back(&op);
  }
}

void FunctionDecoder::load(const OpInfo &info) {
  operandCount(2, 2);
  const auto &ops = current->operands;
  std::vector<const Operand *> elements;
  elementRegs(ops[0], elements);
  u32 count = info.counts[0];
  if (elements.size() != count || (ops[0].kind == Operand::Vec) != (count > 1))
    fail("'" + current->opcode + "' loads " + std::to_string(count) +
         " values into " + std::to_string(elements.size()));
  Op o = blank(info);
  o.size = (u16)bytesOf(info.d);
  u32 regBytes = 0;
  std::vector<u32> regs;
  for (const Operand *e : elements) {
    if (e->kind == Operand::Sink && count > 1) {
      regs.push_back(scratch());
      continue;
    }
    if (e->kind != Operand::Reg || e->regType == Ty::Pred)
      fail("a load needs a register as its destination");
    u32 bytes = laneBytesOf(e->regType);
    if (bytes < bytesOf(info.d) ||
        (isFloat(info.d) && bytes != laneBytesOf(info.d)))
      fail("destination register of type ." + std::string(nameOf(e->regType)) +
           " does not fit '" + current->opcode + "'");
    if (regBytes && bytes != regBytes)
      fail("registers of a vector load must have one size");
    regBytes = bytes;
    regs.push_back(registerOffset(e->reg, e->regType));
  }
  if (!regBytes)
    regBytes = laneBytesOf(info.d);
  // Parameters of functions live in the frame, those of kernels in a buffer.
  const Operand &where = ops[1];
  Space space = info.space;
  if (space == Space::Param && where.kind == Operand::Addr &&
      where.sub[0].kind == Operand::Symbol) {
    const Var *var = where.sub[0].var;
    if (var->space != Space::Param)
      fail("'" + var->name + "' is not a parameter");
    if (!code.isEntry || localOffsets.count(var)) {
      if (where.imm < 0 ||
          (u64)where.imm + bytesOf(info.d) * count > var->bytes)
        fail("access beyond the end of parameter '" + var->name + "'");
      o.a = (code.isEntry || localOffsets.count(var)) ? localOffsets.at(var)
                                                      : paramOffsets.at(var);
      o.imm = where.imm;
      o.aux2 = 1;
      o.target = (u32)alignUp(var->bytes, 8); // stride of a lane
    }
  }
  if (!o.aux2)
    addressOperand(o, where, info);
  noteAccess(space, bytesOf(info.d));
  o.d = regs[0];
  o.ext = (u32)code.ext.size();
  o.nExt = (u16)count;
  for (u32 r : regs)
    code.ext.push_back(r);
  o.fn = loadHandler(o.aux2 ? Space::None : space, info.d, regBytes, count);
  if (!o.fn)
    fail("'" + current->opcode + "' is not supported");
  emit(o);
}

void FunctionDecoder::store(const OpInfo &info) {
  operandCount(2, 2);
  const auto &ops = current->operands;
  std::vector<const Operand *> elements;
  elementRegs(ops[1], elements);
  u32 count = info.counts[0];
  if (elements.size() != count || (ops[1].kind == Operand::Vec) != (count > 1))
    fail("'" + current->opcode + "' stores " + std::to_string(count) +
         " values from " + std::to_string(elements.size()));
  u32 regBytes = 0;
  for (const Operand *e : elements) {
    if (e->kind != Operand::Reg)
      continue;
    u32 bytes = e->regType == Ty::Pred ? 0 : laneBytesOf(e->regType);
    if (bytes < bytesOf(info.d) ||
        (isFloat(info.d) && bytes != laneBytesOf(info.d)))
      fail("source register of type ." + std::string(nameOf(e->regType)) +
           " does not fit '" + current->opcode + "'");
    if (regBytes && bytes != regBytes)
      fail("registers of a vector store must have one size");
    regBytes = bytes;
  }
  if (!regBytes)
    regBytes = laneBytesOf(info.d);
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
  o.size = (u16)bytesOf(info.d);
  Space space = info.space;
  if (space == Space::Param) {
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
    if (where.imm < 0 || (u64)where.imm + bytesOf(info.d) * count > var->bytes)
      fail("access beyond the end of parameter '" + var->name + "'");
    o.a = localOffsets.at(var);
    o.imm = where.imm;
    o.aux2 = 1;
    o.target = (u32)alignUp(var->bytes, 8);
  } else {
    addressOperand(o, ops[0], info);
  }
  noteAccess(space, bytesOf(info.d));
  o.d = regs[0];
  o.ext = (u32)code.ext.size();
  o.nExt = (u16)count;
  for (u32 r : regs)
    code.ext.push_back(r);
  o.fn = storeHandler(o.aux2 ? Space::None : space, info.d, regBytes, count);
  if (!o.fn)
    fail("'" + current->opcode + "' is not supported");
  emit(o);
}

void FunctionDecoder::atom(const OpInfo &info, bool hasResult) {
  const auto &ops = current->operands;
  size_t first = hasResult ? 2 : 1;
  bool optional = info.nSrc == 1 && info.counts[3] == 0;
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
      o.fn = unpackHandler(part, count);
    } else {
      o.d = other;
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

void FunctionDecoder::branch(const OpInfo &info) {
  const auto &ops = current->operands;
  if (info.form == Form::Branch) {
    operandCount(1, 1);
    if (ops[0].kind != Operand::Name)
      fail("a branch needs a label");
    s64 target = fn.findLabel(current->scope, ops[0].name);
    if (target < 0)
      fail("unknown label '" + ops[0].name + "'");
    Op o = blank(info);
    o.target = (u32)target;
    emit(o);
    return;
  }
  operandCount(2, 2);
  if (ops[1].kind != Operand::Name)
    fail("brx.idx needs the name of a table of labels");
  const LabelTable *table = fn.findTable(current->scope, ops[1].name);
  if (!table)
    fail("unknown table of labels '" + ops[1].name + "'");
  u32 a = src(ops[0], Ty::U32);
  Op o = blank(info);
  o.a = a;
  o.ext = (u32)code.ext.size();
  if (table->labels.size() > 65535)
    fail("table of labels is too long");
  o.nExt = (u16)table->labels.size();
  for (const std::string &label : table->labels) {
    s64 target = fn.findLabel(table->scope, label);
    if (target < 0)
      fail("unknown label '" + label + "'");
    code.ext.push_back((u32)target);
  }
  emit(o);
}

void FunctionDecoder::call(const OpInfo &info) {
  const auto &ops = current->operands;
  size_t at = 0;
  const Operand *rets = nullptr, *params = nullptr;
  if (at < ops.size() && ops[at].kind == Operand::List)
    rets = &ops[at++];
  if (at >= ops.size())
    fail("call needs the name of a function");
  const Operand &callee = ops[at++];
  if (callee.kind != Operand::Name)
    fail("indirect calls are not supported");
  if (at < ops.size() && ops[at].kind == Operand::List)
    params = &ops[at++];
  if (at != ops.size())
    fail("unexpected operand of call");
  auto found = module.functions.find(callee.name);
  if (found == module.functions.end())
    fail("call of unknown function '" + callee.name + "'");
  const Function &target = *found->second;
  if (target.isEntry)
    fail("'" + callee.name + "' is a kernel and cannot be called");
  Op o = blank(info);
  Handler system = nullptr;
  if (target.isDeclaration) {
    system = systemCallHandler(callee.name);
    if (!system)
      fail("function '" + callee.name + "' has no body in this module");
    o.flow = Flow::Plain;
    o.fn = system;
  } else {
    o.target = indices.at(callee.name);
    called.insert(o.target);
    code.usesCalls = true;
  }
  // ext: for each parameter, then each result: caller's offset, bytes.
  o.ext = (u32)code.ext.size();
  auto match = [&](const Operand *list,
                   const std::vector<std::unique_ptr<Var>> &formals,
                   const char *what) {
    size_t n = list ? list->sub.size() : 0;
    if (n != formals.size())
      fail("'" + callee.name + "' takes " + std::to_string(formals.size()) +
           " " + what + ", not " + std::to_string(n));
    for (size_t i = 0; i < n; ++i) {
      const Operand &e = list->sub[i];
      if (e.kind != Operand::Symbol || e.var->space != Space::Param ||
          !localOffsets.count(e.var))
        fail(std::string(what) + " of call must be .param variables");
      if (e.var->bytes != formals[i]->bytes)
        fail("'" + e.var->name + "' has " + std::to_string(e.var->bytes) +
             " bytes, the callee's '" + formals[i]->name + "' " +
             std::to_string(formals[i]->bytes));
      code.ext.push_back(localOffsets.at(e.var));
      code.ext.push_back((u32)alignUp(e.var->bytes, 8));
    }
    return n;
  };
  size_t p = match(params, target.params, "parameters");
  size_t r = match(rets, target.rets, "results");
  o.nExt = (u16)p;
  o.size = (u16)r;
  emit(o);
}

void FunctionDecoder::barrier(const OpInfo &info, bool reduce) {
  const auto &ops = current->operands;
  size_t first = reduce ? 1 : 0;
  operandCount(first + (reduce ? 2 : info.counts[0]),
               first + (reduce ? 3 : info.counts[1]));
  u32 a = noReg, b = noReg, c = noReg;
  size_t n = ops.size() - first - reduce;
  if (n > 0)
    a = src(ops[first], Ty::U32);
  if (n > 1)
    b = src(ops[first + 1], Ty::U32);
  if (reduce)
    c = src(ops.back(), Ty::Pred);
  Op o = blank(info);
  o.a = a;
  o.b = b;
  o.c = c;
  if (reduce)
    o.d = dst(ops[0], info.d);
  emit(o);
}

void FunctionDecoder::vectorOperand(Op &, const Operand &op, Ty type, u32 count,
                                    bool isDst) {
  std::vector<const Operand *> elements;
  elementRegs(op, elements);
  if (elements.size() != count)
    fail("'" + current->opcode + "' wants " + std::to_string(count) +
         " registers where " + std::to_string(elements.size()) + " are given");
  std::vector<u32> regs;
  for (const Operand *e : elements)
    regs.push_back(isDst ? dst(*e, type) : src(*e, type));
  for (u32 r : regs)
    code.ext.push_back(r);
}

void FunctionDecoder::matrix(const OpInfo &info) {
  const auto &ops = current->operands;
  if (info.form == Form::Vector) {
    u32 total = (info.d != Ty::None) + info.nSrc;
    operandCount(total, total);
    // Sources may emit code of their own, so ext is filled in operand order
    // only after the whole instruction is known.
    size_t start = code.ext.size();
    Op o = blank(info);
    vectorOperand(o, ops[0], info.d, info.counts[0], true);
    for (u32 i = 0; i < info.nSrc; ++i)
      vectorOperand(o, ops[i + 1], info.s[i], info.counts[i + 1], false);
    o.ext = (u32)start;
    o.nExt = (u16)(code.ext.size() - start);
    emit(o);
    return;
  }
  // Form::Matrix: {d…}, [a] or [a], {s…}; aux: store. An optional last operand
  // is the stride of wmma.
  bool isStore = info.counts[1] != 0;
  bool strided = info.counts[2] != 0;
  operandCount(2, 2 + strided);
  size_t start = code.ext.size();
  Op o = blank(info);
  vectorOperand(o, ops[isStore ? 1 : 0], info.d, info.counts[0], !isStore);
  if (strided) {
    if (ops.size() > 2)
      o.b = src(ops[2], Ty::U32);
    else
      o.b = noReg;
  }
  u8 keep = o.aux;
  addressOperand(o, ops[isStore ? 0 : 1], info);
  o.target = o.aux; // the form of the address
  o.aux = keep;
  o.ext = (u32)start;
  o.nExt = info.counts[0];
  noteAccess(info.space, strided ? info.size : 4);
  emit(o);
}

void FunctionDecoder::copyAsync(const OpInfo &info) {
  // cp.async.…  [dst], [src], size{, src-size or ignore}{, policy}
  const auto &ops = current->operands;
  bool policy = info.aux2 & 1;
  operandCount(3 + policy, 4 + policy);
  if (ops[2].kind != Operand::Int)
    fail("the size of cp.async must be a number");
  s64 bytes = ops[2].imm;
  bool onlySixteen = info.aux2 & 2;
  if (!(bytes == 16 || (!onlySixteen && (bytes == 4 || bytes == 8))))
    fail("cp.async cannot copy " + std::to_string(bytes) + " bytes");
  u32 sourceSize = noReg;
  bool ignore = false;
  if (ops.size() == 4u + policy) {
    const Operand &extra = ops[3];
    if (extra.kind == Operand::Reg && extra.regType == Ty::Pred) {
      sourceSize = src(extra, Ty::Pred);
      ignore = true;
    } else {
      sourceSize = src(extra, Ty::U32);
    }
  }
  OpInfo dstInfo = info, srcInfo = info;
  dstInfo.space = Space::Shared;
  srcInfo.space = Space::Global;
  Op to = blank(info), from = blank(info);
  addressOperand(to, ops[0], dstInfo);
  addressOperand(from, ops[1], srcInfo);
  Op o = blank(info);
  o.d = to.a;
  o.a = from.a;
  o.b = sourceSize;
  o.aux2 = ignore;
  o.aux = (u8)(to.aux | from.aux << 2);
  o.imm = from.imm;
  o.ext = (u32)code.ext.size();
  o.nExt = 1;
  code.ext.push_back((u32)to.imm);
  o.size = (u16)bytes;
  noteAccess(Space::Shared, 4);
  emit(o);
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
  code.isEntry = fn.isEntry;
  code.line = fn.line;
  std::copy(fn.reqThreads, fn.reqThreads + 3, code.reqThreads);
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

/// Shared variables that `fn` names.
void namedShared(const Function &fn, std::set<Var *> &out) {
  std::vector<const Operand *> work;
  for (const Instr &in : fn.body)
    for (const Operand &op : in.operands)
      work.push_back(&op);
  while (!work.empty()) {
    const Operand *op = work.back();
    work.pop_back();
    if (op->kind == Operand::Symbol && op->var->space == Space::Shared)
      out.insert(op->var);
    for (const Operand &sub : op->sub)
      work.push_back(&sub);
  }
}

/// Places shared variables. A kernel has only those that it names, so each
/// kernel's layout is its own; what device functions name comes first, at the
/// same place for every kernel.
class SharedLayout {
public:
  explicit SharedLayout(Module &module) {
    for (auto &var : module.vars)
      if (var->space == Space::Shared) {
        if (var->isExtern && !var->isDynamic && var->bytes)
          throw PtxError(var->line, "extern .shared '" + var->name +
                                        "' has a size: only x[] may be extern");
        inOrder.push_back(var.get());
      }
    std::set<Var *> common;
    for (auto &entry : module.functions)
      if (!entry.second->isDeclaration && !entry.second->isEntry)
        namedShared(*entry.second, common);
    commonBytes = place(common, 0);
    for (Var *var : common)
      commonDynamic |= isDynamic(*var);
    commonVars = common;
    u64 most = commonBytes;
    for (auto &entry : module.functions)
      if (entry.second->isEntry && !entry.second->isDeclaration)
        most = std::max(most, enter(*entry.second));
    // Functions see dynamic shared memory at one place only.
    if (commonDynamic) {
      fixedEnd = most;
      for (Var *var : inOrder)
        if (isDynamic(*var))
          var->address = most = alignUp(most, var->align);
      fixedEnd = most;
    }
  }

  /// Gives the variables of entry `fn` their addresses; the static bytes.
  u64 enter(const Function &fn) {
    std::set<Var *> own;
    namedShared(fn, own);
    for (Var *var : commonVars)
      own.erase(var);
    u64 end = place(own, commonBytes);
    if (fixedEnd)
      end = fixedEnd;
    for (Var *var : inOrder)
      if (isDynamic(*var) && own.count(var))
        end = alignUp(end, var->align);
    if (!commonDynamic)
      for (Var *var : inOrder)
        if (isDynamic(*var))
          var->address = end;
    return end;
  }

private:
  static bool isDynamic(const Var &var) {
    return var.isDynamic || (var.isExtern && var.bytes == 0);
  }
  u64 place(const std::set<Var *> &vars, u64 at) {
    for (Var *var : inOrder) {
      if (!vars.count(var) || isDynamic(*var))
        continue;
      at = alignUp(at, var->align);
      var->address = at;
      at += var->bytes;
      if (at > 1u << 20)
        throw PtxError(var->line, "shared variables exceed 1 MiB");
    }
    return at;
  }

  std::vector<Var *> inOrder;
  std::set<Var *> commonVars;
  u64 commonBytes = 0, fixedEnd = 0;
  bool commonDynamic = false;
};

} // namespace

void checkTarget(const Module &module, u32 maxPtx, u32 sm, char suffix) {
  auto version = [](u32 v) {
    return std::to_string(v / 10) + "." + std::to_string(v % 10);
  };
  if (module.version > maxPtx)
    throw PtxTargetError(1,
                         "the module is PTX ISA " + version(module.version) +
                             ", this driver takes up to " + version(maxPtx),
                         true);
  struct Known {
    u32 sm;
    u32 ptx;
  };
  static const Known known[] = {
      {30, 30},  {32, 40},  {35, 31},  {37, 41},  {50, 40},  {52, 41},
      {53, 42},  {60, 50},  {61, 50},  {62, 50},  {70, 60},  {72, 61},
      {75, 63},  {80, 70},  {86, 71},  {87, 74},  {89, 78},  {90, 78},
      {100, 86}, {101, 86}, {103, 88}, {110, 90}, {120, 87}, {121, 88}};
  const Known *entry = nullptr;
  for (const Known &k : known)
    if (k.sm == module.sm)
      entry = &k;
  if (!entry)
    throw PtxTargetError(1, "unknown target sm_" + std::to_string(module.sm),
                         false);
  u32 need = module.smSuffix ? std::max(entry->ptx, 80u) : entry->ptx;
  if (module.version < need)
    throw PtxError(
        1, "target sm_" + std::to_string(module.sm) +
               (module.smSuffix ? std::string(1, module.smSuffix) : "") +
               " needs PTX ISA " + version(need) + ", the module declares " +
               version(module.version));
  bool runs = module.smSuffix == 'a' ? module.sm == sm && suffix == 'a'
              : module.smSuffix == 'f'
                  ? module.sm / 10 == sm / 10 && sm >= module.sm
                  : module.sm <= sm;
  if (!runs)
    throw PtxTargetError(
        1,
        "the module targets sm_" + std::to_string(module.sm) +
            (module.smSuffix ? std::string(1, module.smSuffix) : "") +
            ", the device is sm_" + std::to_string(sm) +
            (suffix ? std::string(1, suffix) : ""),
        false);
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
