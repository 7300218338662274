//===- Module.h - parsed form of a PTX module -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the parser hands to the decoder: symbols, functions and instructions
// with their operands resolved to registers, variables and labels, but with
// the opcode still as text. Every entity remembers its line, because each
// later complaint names it.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_PTX_MODULE_H
#define TDSL_SIM_PTX_MODULE_H

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tds::sim {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;

/// A fault of the PTX text: what is wrong, and the line it stands on.
struct PtxError : std::runtime_error {
  PtxError(u32 line, const std::string &message)
      : std::runtime_error(message), line(line) {}
  u32 line;
};

/// The text asks for a newer PTX ISA or another architecture than the device.
struct PtxTargetError : PtxError {
  PtxTargetError(u32 line, const std::string &message, bool version)
      : PtxError(line, message), version(version) {}
  bool version; // the ISA version (not the architecture) is the obstacle
};

enum class Ty : u8 {
  None,
  Pred,
  B8,
  U8,
  S8,
  B16,
  U16,
  S16,
  F16,
  BF16,
  B32,
  U32,
  S32,
  F32,
  F16x2,
  BF16x2,
  TF32,
  B64,
  U64,
  S64,
  F64,
  B128
};

/// Bytes of a value of `type` in memory (0 for predicates).
u32 bytesOf(Ty type);
/// Bytes a lane needs for a register of `type`; narrow types take two.
u32 laneBytesOf(Ty type);
bool isFloat(Ty type);
bool isUntyped(Ty type);
bool isSigned(Ty type);
const char *nameOf(Ty type);
/// The type written as `name` (without the dot), or Ty::None.
Ty typeFromName(const std::string &name);

/// Shared is the block's own, Cluster that of all blocks of its cluster.
enum class Space : u8 {
  None,
  Local,
  Shared,
  Global,
  Const,
  Param,
  Generic,
  Cluster
};
const char *nameOf(Space space);

struct Function;

/// A variable in some state space. `address` is filled in when the module is
/// placed on a device (global, const), laid out in a block (shared), or in a
/// frame (local, param).
struct Var {
  std::string name;
  Space space = Space::None;
  Ty type = Ty::None;
  u64 bytes = 0;
  u32 align = 1;
  bool isExtern = false;
  bool isDynamic = false; // extern .shared x[]
  u32 line = 0;
  u64 address = 0;
  const Function *owner = nullptr; // function of a local or param variable
  std::vector<u8> init;
  struct Reloc {
    u64 offset;
    std::string symbol;
    s64 addend;
    bool generic;
  };
  std::vector<Reloc> relocs;
};

struct Operand {
  enum Kind : u8 {
    Reg,
    Int,
    Flt,
    Symbol,
    Special,
    Addr,
    Vec,
    List,
    Sink,
    Name
  };
  Kind kind = Sink;
  bool negated = false; // !p
  Ty regType = Ty::None;
  u8 fltBits = 0; // 32 for 0f…, 64 for 0d… and decimals
  u32 reg = 0;    // Reg: number inside the function
  s64 imm = 0;    // Int: value; Flt: bits; Addr, Symbol: byte offset
  Var *var = nullptr;
  std::string name;         // Name (label, function, …), Special
  std::vector<Operand> sub; // Addr: [base, coordinates…]; Vec, List: elements
  std::shared_ptr<Operand> second; // the q of p|q
};

struct Loc {
  u32 file = 0, line = 0, column = 0;
  u32 inlinedFile = 0, inlinedLine = 0, inlinedColumn = 0; // 0: not inlined
};

struct Instr {
  u32 line = 0;
  u32 loc = 0; // index into Module::locs
  u32 scope = 0;
  bool guarded = false, guardNegated = false;
  u32 guard = 0; // register number
  std::string opcode;
  std::vector<Operand> operands;
};

struct LabelTable {
  std::vector<std::string> labels;
  u32 scope = 0, line = 0;
};

/// What a device with clusters takes at most (non-portable sizes included).
constexpr u32 maxClusterBlocks = 16;
/// What every such device takes.
constexpr u32 portableClusterBlocks = 8;

struct Function {
  std::string name;
  bool isEntry = false, isDeclaration = true;
  u32 line = 0;
  std::vector<std::unique_ptr<Var>> params, rets, locals;
  std::vector<Instr> body;
  u32 numRegs = 0;
  /// scope number -> parent scope number; scope 0 is the body itself.
  std::vector<u32> scopeParents;
  std::map<std::pair<u32, std::string>, u32> labels; // -> instruction index
  std::map<std::pair<u32, std::string>, LabelTable> tables;
  u32 reqThreads[3] = {0, 0, 0}, maxThreads[3] = {0, 0, 0};
  u32 reqCluster[3] = {0, 0, 0}, maxClusterRank = 0;
  bool explicitCluster = false;
  u32 endLine = 0;

  /// Instruction index of `label` seen from `scope`, or -1.
  s64 findLabel(u32 scope, const std::string &label) const;
  const LabelTable *findTable(u32 scope, const std::string &label) const;
};

struct Module {
  u32 version = 0; // 84 for 8.4
  u32 sm = 0;      // 90 for sm_90a
  char smSuffix = 0;
  std::vector<std::unique_ptr<Var>> vars; // module scope and function .shared
  std::map<std::string, Var *> symbols;
  std::map<std::string, std::unique_ptr<Function>> functions;
  std::map<u32, std::string> files;
  std::vector<Loc> locs;
};

/// Parses `text` (`size` bytes). Throws PtxError.
std::unique_ptr<Module> parsePtx(const char *text, size_t size);

} // namespace tds::sim

#endif // TDSL_SIM_PTX_MODULE_H
