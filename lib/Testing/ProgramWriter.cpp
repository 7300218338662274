//===- ProgramWriter.cpp - the frame of a random program -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations are in WriteDeclarations.cpp, entries in WriteEntries.cpp,
// bodies in the other Write*.cpp.
//
//===----------------------------------------------------------------------===//

#include "ProgramWriter.h"

using namespace tdsl::testing;
using tdsl::reference::nameOf;

RandomProgram tdsl::testing::makeRandomProgram(uint64_t seed) {
  return ProgramWriter(seed).write();
}

RandomProgram ProgramWriter::write() {
  static const char *const uses[] = {"use nn, optim", "use nn, optim, init"};
  line(uses[random.pick(2)]);
  std::string imported;
  if (random.chance(20))
    imported = writeImport();
  writeSizes();
  if (imported.empty()) {
    writeFunctions();
    writeModule();
  }
  writeLayer();
  writeVariables();
  writeOptimizer();
  unsigned exports = random.pick(3), steps = random.pick(3);
  if (exports + steps == 0)
    steps = 1;
  for (unsigned i = 0; i < exports; ++i)
    writeExport();
  for (unsigned i = 0; i < std::min(steps, 2u); ++i)
    writeStep();
  program.text += imported;
  return std::move(program);
}

void ProgramWriter::line(const std::string &text) {
  program.text += std::string(2 * indent, ' ') + text + "\n";
}

void ProgramWriter::noteExtent(int64_t extent) {
  if (extent <= 1)
    note("size " + std::to_string(extent));
  else if (extent == 2 || extent == 3 || extent == 5 || extent == 7 ||
           extent == 11 || extent == 13 || extent == 17 || extent == 19)
    note("size prime");
  else
    note("size composite");
}

/// A declared size of that value, or the number.
std::string ProgramWriter::sizeText(int64_t extent) {
  std::vector<std::string> names;
  for (const auto &[size, value] : sizes)
    if (value == extent)
      names.push_back(size);
  if (isGeneric || names.empty() || random.chance(30))
    return std::to_string(extent);
  note("size by name");
  return random.of(names);
}

std::string ProgramWriter::typeText(Kind kind, llvm::ArrayRef<int64_t> shape) {
  noteKind(kind);
  std::string text = nameOf(kind).str();
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "[") + sizeText(shape[i]);
  return text + (shape.empty() ? "" : "]");
}

Value &ProgramWriter::add(Value value) {
  for (int64_t extent : value.shape)
    noteExtent(extent);
  note("rank " + std::to_string(std::min<size_t>(value.rank(), 4)));
  pool.push_back(std::move(value));
  return pool.back();
}

void ProgramWriter::define(Value value, const std::string &text) {
  note("statement let");
  line("let " + value.name + " = " + text);
  add(std::move(value));
}

/// A value of the pool that is accepted; late ones more often, so that chains
/// form.
const Value *
ProgramWriter::pickValue(llvm::function_ref<bool(const Value &)> accept) {
  std::vector<const Value *> found;
  for (const Value &value : pool)
    if (accept(value))
      found.push_back(&value);
  if (found.empty())
    return nullptr;
  if (!hostile && inStep && random.chance(50)) {
    std::vector<const Value *> active;
    for (const Value *value : found)
      if (value->active)
        active.push_back(value);
    if (!active.empty())
      found = active;
  }
  return random.chance(40) ? found.back() : found[random.pick(found.size())];
}

Kind ProgramWriter::pickFloat() {
  static const std::vector<Kind> kinds = {Kind::F32, Kind::F32,  Kind::F32,
                                          Kind::F16, Kind::BF16, Kind::F64};
  return random.of(kinds);
}

Kind ProgramWriter::pickKind() {
  static const std::vector<Kind> kinds = {Kind::Bool, Kind::I8,  Kind::U8,
                                          Kind::I32,  Kind::I32, Kind::I64};
  return random.chance(50) ? pickFloat() : random.of(kinds);
}
