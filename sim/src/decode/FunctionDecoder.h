//===- FunctionDecoder.h - decodes one function -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal to decode/. The members lie in files by what they decode: operands
// (Operands.cpp), memory (DecodeMemory.cpp), control flow (DecodeControl.cpp),
// matrix and asynchronous forms (DecodeMatrix.cpp), the rest (Decoder.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_DECODE_FUNCTIONDECODER_H
#define TDSL_SIM_DECODE_FUNCTIONDECODER_H

#include "decode/Registry.h"

#include <algorithm>
#include <map>
#include <set>

namespace tds::sim {

inline u64 alignUp(u64 value, u64 align) {
  return (value + align - 1) / align * align;
}

/// Loads and stores with a memory order, see exec/Strong.cpp.
Handler strongHandler(Space space, Ty type, u32 regBytes, bool isStore);

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
  std::vector<const Operand *> accessElements(const Operand &op,
                                              const OpInfo &info,
                                              const std::string &verb);
  u32 accessRegBytes(const std::vector<const Operand *> &elements,
                     const OpInfo &info, const std::string &verb);
  bool frameParameter(Op &o, const Operand &where, const OpInfo &info);
  void emitAccess(Op &o, const OpInfo &info, const std::vector<u32> &regs,
                  u32 regBytes, bool isStore);
  void atom(const OpInfo &info, bool hasResult);
  void mov(const OpInfo &info);
  void cvta(const OpInfo &info);
  void convert(const OpInfo &info);
  void branch(const OpInfo &info);
  void call(const OpInfo &info);
  void barrier(const OpInfo &info, bool reduce);
  void matrix(const OpInfo &info);
  void copyAsync(const OpInfo &info);
  void bulk(const OpInfo &info);
  void storeAsync(const OpInfo &info);
  void wgmma(const OpInfo &info);
  void operandCount(size_t low, size_t high) const;
  void noteAccess(Space space, u32 bytes) {
    if (space == Space::Shared || space == Space::Global ||
        space == Space::Generic || space == Space::Cluster)
      code.minAccess = std::min(code.minAccess, std::max(1u, bytes));
  }

  Module &module;
  const Function &fn;
  Code &code;
  const std::map<std::string, u32> &indices;
  std::vector<u32> regOffsets;
  std::vector<u32> mentions; // of each register, as operand or guard
  std::map<std::pair<u64, u8>, u32> immediates;
  std::map<std::pair<Special, u8>, u32> specials;
  std::map<const Var *, u32> localOffsets, paramOffsets;
  std::set<u32> called;
  u32 scratchOffset = noReg;
  const Instr *current = nullptr;
};

} // namespace tds::sim

#endif // TDSL_SIM_DECODE_FUNCTIONDECODER_H
