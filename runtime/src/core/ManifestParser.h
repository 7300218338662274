//===- ManifestParser.h - parse and check the manifest -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pass over the document: each value is checked as it is read, against
// what was read before it (slabs before variables, kernels before commands).
//
//===----------------------------------------------------------------------===//

#ifndef TDS_CORE_MANIFESTPARSER_H
#define TDS_CORE_MANIFESTPARSER_H

#include "core/Json.h"
#include "core/Manifest.h"

#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tdsrt {

inline constexpr unsigned formatMajor = 1;
inline constexpr unsigned kernelAbi = 1;
inline constexpr uint64_t variableAlignment = 256;
inline constexpr uint64_t argumentAlignment = 16;
// No slab, slot or arena of one device comes near this; sums of a few thousand
// of them stay far below 2^64.
inline constexpr uint64_t spaceLimit = uint64_t(1) << 50;
inline constexpr uint32_t maxKernelArguments = 4096;
// A short entry may stand for many variables.
inline constexpr uint64_t maxVariables = 1 << 20;

/// [offset, offset + bytes) of something named, to find overlaps.
struct Range {
  uint64_t begin, end;
  std::string name;
};

/// The names of the first two ranges that share a byte, if any do.
std::optional<std::pair<std::string, std::string>>
findOverlap(std::vector<Range> ranges);
tds_role parseRole(const JsonCursor &at);
ElementType parseType(const JsonCursor &at);
/// The bytes of a tensor; `at` is its shape, for the message about too many.
uint64_t countBytes(const JsonCursor &at, const std::vector<int64_t> &shape,
                    ElementType type);
bool isHex(const std::string &text);
bool isSymbol(const std::string &text);
std::vector<uint8_t> decodeBase64(const JsonCursor &at, uint64_t bytes);
/// Bits of a float in 16 bits, rounded to nearest even.
uint16_t narrowFloat(double value, ElementType type);

/// Reads a manifest; what is wrong with it is thrown as an error that names the
/// place in the document.
class ManifestParser {
public:
  ManifestParser(const nlohmann::json &document, const std::string &where)
      : where(where), root(document, where) {}

  Manifest parse();

private:
  void parseHead();
  void parseTarget();
  void parseSlabs();
  /// Keeps the running sum of everything a module holds below the limit.
  void addTotal(const JsonCursor &at, uint64_t bytes);
  void parseVariables();
  /// One variable for each layer: `*` in the name is its number, axis 0 of the
  /// shape counts them.
  void addLayers(const JsonCursor &at, const Variable &all,
                 std::unordered_set<std::string> &names);
  void checkPlacement(const JsonCursor &at, uint64_t offset, uint64_t bytes,
                      uint64_t spaceBytes, const char *space);
  void parseConstants();
  void parseKernels();
  Port parsePort(const JsonCursor &at, uint64_t slotBytes, const char *slot);
  void parseDefault(const JsonCursor &at, Port &port);
  void checkSlot(const JsonCursor &list, const std::vector<Range> &ranges);
  void parseEntry(const JsonCursor &at);
  void parsePeak(const JsonCursor &at, EntryPlan &entry);
  void parseInputs(const JsonCursor &list, EntryPlan &entry);
  void parseResults(const JsonCursor &at, EntryPlan &entry);
  Operand parseOperand(const JsonCursor &at, const EntryPlan &entry);
  /// In the last iteration of all loops the range still lies in its space.
  void parseStrides(const JsonCursor &at, Operand &operand, uint64_t spaceBytes,
                    const std::string &space);
  /// Past the last byte of the range in any iteration.
  uint64_t spanEnd(const Operand &operand, uint64_t bytes) const;
  /// Whether a copy may read what it has written in part.
  bool overlapInPart(const Operand &to, const Operand &from,
                     uint64_t bytes) const;
  /// An operand that a copy or a fill of `bytes` bytes writes.
  Operand parseTarget(const JsonCursor &at, const EntryPlan &entry,
                      uint64_t bytes);
  Command parseCommand(const JsonCursor &at, const EntryPlan &entry);
  void parseLoop(const JsonCursor &at, const EntryPlan &entry,
                 Command &command);
  void parseLaunch(const JsonCursor &at, const EntryPlan &entry,
                   Command &command);

  const std::string &where;
  JsonCursor root;
  Manifest manifest;
  uint64_t totalBytes = 0;
  /// Iterations of the loops around the command that is read.
  std::vector<uint64_t> loops;
};

} // namespace tdsrt

#endif // TDS_CORE_MANIFESTPARSER_H
