//===- DecodeMatrix.cpp - matrix and asynchronous forms ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "decode/FunctionDecoder.h"

namespace tds::sim {

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
    o.uses = Uses::Vector;
    o.aux = info.counts[0];
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
  o.uses = isStore ? Uses::Stores : Uses::WritesExt;
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

} // namespace tds::sim
