//===- Operands.cpp - operands to frame offsets -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "decode/FunctionDecoder.h"

#include <cstring>
#include <unordered_map>

namespace tds::sim {

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
      {"%clusterid.x", {Special::ClusterIdX, 4}},
      {"%clusterid.y", {Special::ClusterIdY, 4}},
      {"%clusterid.z", {Special::ClusterIdZ, 4}},
      {"%nclusterid.x", {Special::NClusterIdX, 4}},
      {"%nclusterid.y", {Special::NClusterIdY, 4}},
      {"%nclusterid.z", {Special::NClusterIdZ, 4}},
      {"%cluster_ctaid.x", {Special::ClusterCtaidX, 4}},
      {"%cluster_ctaid.y", {Special::ClusterCtaidY, 4}},
      {"%cluster_ctaid.z", {Special::ClusterCtaidZ, 4}},
      {"%cluster_nctaid.x", {Special::ClusterNctaidX, 4}},
      {"%cluster_nctaid.y", {Special::ClusterNctaidY, 4}},
      {"%cluster_nctaid.z", {Special::ClusterNctaidZ, 4}},
      {"%cluster_ctarank", {Special::ClusterCtaRank, 4}},
      {"%cluster_nctarank", {Special::ClusterNctaRank, 4}},
      {"%envreg1", {Special::WorkspaceHigh, 4}},
      {"%envreg2", {Special::WorkspaceLow, 4}},
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
    if (type == Ty::Pred && op.name == "%is_explicit_cluster") {
      Op o;
      o.fn = explicitClusterHandler();
      o.d = allocate(4);
      o.line = current->line;
      o.loc = current->loc;
      emit(o);
      return o.d;
    }
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
        info.space != Space::Const && info.space != Space::Cluster)
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
              (space == Space::Cluster && var.space == Space::Shared) ||
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

} // namespace tds::sim
