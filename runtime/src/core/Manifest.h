//===- Manifest.h - what an artefact says about itself -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The manifest (docs/Artifact.md) as a structure. parseManifest() is the only
// way to get one, and it returns only what has been checked throughout: after
// it, every index is in range, every range lies inside its space, every sum of
// sizes fits, and names are unique. Code behind it need not check again.
//
//===----------------------------------------------------------------------===//

#ifndef TDS_CORE_MANIFEST_H
#define TDS_CORE_MANIFEST_H

#include "core/ElementType.h"
#include "tds/runtime.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tdsrt {

struct Target {
  tds_device_kind kind = TDS_DEVICE_CPU;
  std::string arch;                  ///< x86-64-v3, native, sm_80, sm_90a
  std::vector<std::string> features; ///< CPU, arch "native"
  unsigned ptxMajor = 0, ptxMinor = 0;
  uint64_t minDriver = 0; ///< as cuDriverGetVersion counts
};

struct Slab {
  tds_role role;
  ElementType type;
  uint64_t bytes;
};

struct Variable {
  std::string name;
  tds_role role;
  ElementType type;
  std::vector<int64_t> shape;
  uint32_t slab;
  uint64_t offset;
  uint64_t bytes;
};

struct Kernel {
  std::string symbol, kind, title, source;
  std::array<uint32_t, 3> block;
  uint32_t sharedBytes;
  uint32_t buffers;
  uint32_t sizes;
};

enum class Space : uint8_t { Slab, Arena, Input, Result, Constant };

struct Operand {
  Space space = Space::Arena;
  uint32_t index = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  /// By the depth of a loop around the command: how far the range moves from
  /// one iteration to the next. Shorter than the depth where it does not.
  std::vector<uint64_t> strides;
};

/// A size argument of a kernel: a number, or the iteration of a loop.
struct SizeArgument {
  int64_t number = 0;
  int32_t loop = -1; ///< depth of the loop; -1: the number
};

struct Command {
  enum class Op : uint8_t { Launch, Copy, Fill, Loop };
  Op op = Op::Launch;
  uint32_t kernel = 0;
  std::array<uint32_t, 3> grid{};
  uint64_t work = 0;
  std::vector<Operand> args;
  std::vector<SizeArgument> sizes;
  uint64_t flops = 0; ///< operations of the whole launch; 0: not known
  /// Of all args, each range counted once for what reads or writes it, and
  /// once more where it is updated.
  uint64_t operandBytes = 0;
  Operand to, from;
  uint64_t bytes = 0;
  uint8_t byte = 0;
  /// Loop: iterations 0, 1, … trips - 1, or from the last one down.
  uint64_t trips = 0;
  bool reverse = false;
  std::vector<Command> body;
};

/// Deepest nesting of loops in an entry.
constexpr size_t maxLoopDepth = 8;

/// Where the loops around a command are.
struct Iterations {
  std::array<uint64_t, maxLoopDepth> at{};
  size_t depth = 0;

  /// How far an operand has moved.
  uint64_t offsetOf(const std::vector<uint64_t> &strides) const {
    uint64_t offset = 0;
    for (size_t d = 0; d < strides.size(); ++d)
      offset += strides[d] * at[d];
    return offset;
  }
  int64_t valueOf(const SizeArgument &size) const {
    return size.loop < 0
               ? size.number
               : static_cast<int64_t>(at[static_cast<size_t>(size.loop)]);
  }

  /// Calls `body` for each iteration of a loop inside these.
  template <typename Body>
  void forEach(uint64_t trips, bool reverse, const Body &body) {
    size_t d = depth++;
    for (uint64_t i = 0; i < trips; ++i) {
      at[d] = reverse ? trips - 1 - i : i;
      body();
    }
    depth = d;
  }
};

/// How many commands of `commands` are, or are not, launches; each as often as
/// its loops run it.
size_t countCommands(const std::vector<Command> &commands, bool launches);

/// How many launches, copies and fills a call makes, without the empty ones.
uint64_t countRuns(const std::vector<Command> &commands);

struct Port {
  std::string name;
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool hasDataAxis = false;
  bool isWeight = false;
  bool isDonated = false; ///< commands may write its place in the slot
  bool hasDefault = false;
  std::array<uint8_t, 8> defaultBytes{}; ///< one element in the port's type
};

/// Writes the default into every element of `to`, which has the port's bytes.
void fillDefault(const Port &port, void *to);

struct Flag {
  std::string text, source;
};

/// A tensor in memory when an entry uses most; told to people, never used.
struct PeakTensor {
  std::string role, name, source; ///< name and source may be empty
  uint64_t bytes = 0;
  std::optional<ElementType> type; ///< with `shape`
  std::vector<int64_t> shape;
};

struct EntryPlan {
  enum class Kind : uint8_t { Step, Function, Init };
  std::string name;
  Kind kind = Kind::Function;
  std::vector<Port> inputs;
  std::vector<Port> results; ///< without the hidden tds.flags
  std::optional<Port> flagsPort;
  std::vector<Flag> flags;
  uint64_t inputBytes = 0, resultBytes = 0, arenaBytes = 0, scratchBytes = 0;
  uint64_t peakBytes = 0;
  // For people, where the compiler says it.
  uint64_t peakCommand = 0;    ///< the command with the most in the arena
  uint64_t peakArenaBytes = 0; ///< what lives in the arena there
  std::vector<PeakTensor> largestAtPeak; ///< largest first; may be empty
  std::vector<Command> commands;
};

struct Manifest {
  std::string producer, programName, programHash;
  Target target;
  std::vector<Slab> slabs;
  std::vector<Variable> variables;
  std::vector<std::vector<uint8_t>> constants;
  std::vector<Kernel> kernels;
  std::vector<EntryPlan> entries;

  uint64_t slabBytes() const;
  uint64_t constantBytes() const;
  const EntryPlan *findEntry(std::string_view name) const;
};

/// Parses and checks; throws Error(TDS_BAD_DATA or TDS_UNSUPPORTED) whose
/// sentence begins with `where` and names the place in the document.
Manifest parseManifest(std::string_view json, const std::string &where);

} // namespace tdsrt

#endif // TDS_CORE_MANIFEST_H
