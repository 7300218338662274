//===- DecodeAsync.cpp - bulk copies and wgmma ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "decode/FunctionDecoder.h"
#include "exec/Bulk.h"
#include "exec/Wgmma.h"

namespace tds::sim {

void FunctionDecoder::bulk(const OpInfo &info) {
  const auto &ops = current->operands;
  auto form = (BulkForm)info.counts[0];
  const bool policy = info.aux2 & bulkPolicy,
             multicast = info.aux2 & bulkMulticast;
  const bool tensor = form == BulkForm::TensorLoad ||
                      form == BulkForm::TensorStore ||
                      form == BulkForm::TensorPrefetch;
  size_t want = form == BulkForm::Load             ? 4
                : form == BulkForm::Store          ? 3
                : form == BulkForm::TensorLoad     ? 3
                : form == BulkForm::TensorPrefetch ? 1
                                                   : 2;
  want += policy + multicast;
  operandCount(want, want);
  u32 words[bulkAddresses * 4 + bulkCoordinates + 5];
  std::fill(std::begin(words), std::end(words), noReg);
  u32 nAddress = 0;
  size_t at = 0;
  // Shared sides take 32-bit or generic addresses, global ones 64 bits.
  auto address = [&](Space space, bool isMap = false) {
    const Operand &op = ops[at++];
    Op o;
    OpInfo where = info;
    where.space = space;
    Operand plain = op;
    if (isMap) {
      if (op.kind != Operand::Addr || op.sub.size() != 2)
        fail("'" + current->opcode +
             "' wants [map, {coordinates}] for its tensor");
      plain.sub.resize(1);
      const Operand &c = op.sub[1];
      std::vector<const Operand *> list;
      elementRegs(c, list);
      if (list.size() != info.size)
        fail("'" + current->opcode + "' wants " + std::to_string(info.size) +
             " coordinates, not " + std::to_string(list.size()));
      for (size_t i = 0; i < list.size(); ++i)
        words[bulkAddresses * 4 + bulkCoordinates + i] = src(*list[i], Ty::S32);
      // A map may be named: a kernel's parameter has its generic address.
      const Operand &base = plain.sub[0];
      if (base.kind == Operand::Symbol && base.var->space == Space::Param)
        where.space = Space::Param;
    }
    addressOperand(o, plain, where);
    s64 offset = o.imm;
    if (where.space == Space::Param && isMap)
      offset += (s64)paramWindow;
    words[4 * nAddress] = o.a;
    words[4 * nAddress + 1] = o.aux;
    words[4 * nAddress + 2] = (u32)(u64)offset;
    words[4 * nAddress + 3] = (u32)((u64)offset >> 32);
    ++nAddress;
  };
  auto size = [&] {
    words[bulkAddresses * 4 + bulkSize] = src(ops[at++], Ty::U32);
  };
  switch (form) {
  case BulkForm::Load:
    address(Space::Cluster);
    address(current->opcode.find(".global") != std::string::npos
                ? Space::Global
                : Space::Shared);
    size();
    address(Space::Cluster);
    break;
  case BulkForm::Store:
    address(Space::Global);
    address(Space::Shared);
    size();
    break;
  case BulkForm::TensorLoad:
    address(Space::Cluster);
    address(Space::Generic, true);
    address(Space::Cluster);
    break;
  case BulkForm::TensorStore:
    address(Space::Generic, true);
    address(Space::Shared);
    break;
  case BulkForm::Prefetch:
    address(Space::Global);
    size();
    break;
  case BulkForm::TensorPrefetch:
    address(Space::Generic, true);
    break;
  }
  (void)tensor;
  if (multicast)
    words[bulkAddresses * 4 + bulkMask] = src(ops[at++], Ty::U16);
  if (policy)
    src(ops[at++], Ty::B64);
  Op o = blank(info);
  o.ext = (u32)code.ext.size();
  code.ext.insert(code.ext.end(), std::begin(words), std::end(words));
  noteAccess(Space::Shared, 4);
  emit(o);
}

/// st.async and red.async, see exec/StoreAsync.cpp.
void FunctionDecoder::storeAsync(const OpInfo &info) {
  operandCount(3, 3);
  const auto &ops = current->operands;
  std::vector<u32> regs;
  for (const Operand *e : accessElements(ops[1], info, "store"))
    regs.push_back(src(*e, info.d));
  Op barrier, o = blank(info);
  addressOperand(barrier, ops[2], info);
  addressOperand(o, ops[0], info);
  o.ext = (u32)code.ext.size();
  code.ext.insert(code.ext.end(),
                  {barrier.a, barrier.aux, (u32)(u64)barrier.imm,
                   (u32)((u64)barrier.imm >> 32)});
  code.ext.insert(code.ext.end(), regs.begin(), regs.end());
  o.nExt = (u16)(4 + regs.size());
  noteAccess(Space::Shared, info.size);
  emit(o);
}

/// wgmma.mma_async: {d…}, a-descriptor or {a…}, b-descriptor, scale-d, then
/// numbers: the signs of A and B and, for 16-bit types, their transpositions.
void FunctionDecoder::wgmma(const OpInfo &info) {
  const auto &ops = current->operands;
  const u32 nD = info.counts[0] + (info.counts[1] ? 256u : 0u);
  const bool isInt = info.aux2 & mmaIntegers, is16 = info.aux2 & mma16Bits;
  if (ops.size() < 4)
    fail("'" + current->opcode + "' takes at least 4 operands");
  const bool registers = ops[1].kind == Operand::Vec;
  size_t numbers = isInt ? 0 : 2 + (is16 ? (registers ? 1 : 2) : 0);
  operandCount(4 + numbers, 4 + numbers);
  std::vector<u32> words;
  std::vector<const Operand *> list;
  elementRegs(ops[0], list);
  if (list.size() != nD)
    fail("'" + current->opcode + "' has " + std::to_string(nD) +
         " registers of results, not " + std::to_string(list.size()));
  for (const Operand *e : list) {
    if (e->kind != Operand::Reg)
      fail("the results of '" + current->opcode + "' must be registers");
    words.push_back(dst(*e, info.d));
  }
  u32 a = noReg, scale = noReg;
  u32 flags = 0;
  if (registers) {
    list.clear();
    elementRegs(ops[1], list);
    if (list.size() != 4)
      fail("the fragment of A has 4 registers, not " +
           std::to_string(list.size()));
    for (const Operand *e : list)
      words.push_back(src(*e, Ty::B32));
  } else {
    a = src(ops[1], Ty::B64);
  }
  u32 b = src(ops[2], Ty::B64);
  if (ops[3].kind == Operand::Int)
    flags |= ops[3].imm ? mmaKeep : 0;
  else
    scale = src(ops[3], Ty::Pred);
  for (size_t i = 0; i < numbers; ++i) {
    const Operand &n = ops[4 + i];
    bool isSign = i < 2;
    if (n.kind != Operand::Int ||
        (isSign ? n.imm != 1 && n.imm != -1 : n.imm != 0 && n.imm != 1))
      fail("operand " + std::to_string(5 + i) + " of '" + current->opcode +
           "' must be " + (isSign ? "1 or -1" : "0 or 1"));
    if (isSign && n.imm < 0)
      flags |= i == 0 ? mmaNegateA : mmaNegateB;
    else if (!isSign && n.imm)
      flags |= i == 2 && !registers ? mmaTransposeA : mmaTransposeB;
  }
  Op o = blank(info);
  o.a = a;
  o.b = b;
  o.target = scale;
  o.imm = flags;
  o.uses = Uses::Mma;
  o.ext = (u32)code.ext.size();
  o.nExt = (u16)words.size();
  code.ext.insert(code.ext.end(), words.begin(), words.end());
  noteAccess(Space::Shared, 4);
  emit(o);
}

} // namespace tds::sim
