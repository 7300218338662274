//===- WriteDeclarations.cpp - sizes, modules and variables of a random program
//-*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramWriter.h"

using namespace tdsl::testing;
using tdsl::reference::isFloat;

/// Functions and a module in a file of their own, or in one behind another. The
/// result stands at the end of the text.
std::string ProgramWriter::writeImport() {
  note("declaration import");
  std::string main = std::move(program.text);
  program.text.clear();
  line("// file parts/lib.tds");
  line("use nn");
  bool isChain = random.chance(30);
  if (isChain) {
    note("import of an import");
    line("import \"more/base.tds\" as base");
    line("const shift: f32 = 2 * base.half");
    line("fn shifted(x: float[...s]) -> float[...s] { base.twice(x) - "
         "float(shift) }");
  }
  writeFunctions();
  writeModule();
  for (Function &function : functions)
    function.name = "lib." + function.name;
  if (!module.empty())
    module = "lib." + module;
  if (isChain) {
    functions.push_back({"lib.shifted", Function::Form::Elementwise, 1});
    line("// file parts/more/base.tds");
    line("const half: f32 = 0.5");
    line("fn twice(x: float[...s]) -> float[...s] { x + x }");
  }
  std::string imported = std::move(program.text);
  program.text = std::move(main);
  line("import \"parts/lib.tds\" as lib");
  return imported;
}

void ProgramWriter::writeSizes() {
  static const std::vector<int64_t> extents = {1,  2,  3,  4,  5, 6, 7, 8,
                                               11, 13, 16, 17, 3, 5, 7};
  unsigned count = 2 + random.pick(3);
  bool hasZero = random.chance(12);
  std::string text;
  for (unsigned i = 0; i < count; ++i) {
    int64_t extent = i == 1 && hasZero ? 0 : random.of(extents);
    std::string size(1, static_cast<char>('A' + i));
    text += (i ? ", " : "dim ") + size + " = " + std::to_string(extent);
    sizes.push_back({size, extent});
    noteExtent(extent);
  }
  batchSize = random.pick(count);
  note("declaration dim");
  line(text);
  if (random.chance(10)) {
    // Known from outside only.
    note("dim without a value");
    std::string size(1, static_cast<char>('A' + count));
    int64_t extent = random.of(extents);
    line("dim " + size);
    line("// define " + size + " = " + std::to_string(extent));
    sizes.push_back({size, extent});
    noteExtent(extent);
  }
  if (random.chance(30)) {
    note("declaration const");
    line("const rate: f32 = 0.37 / 2");
    constants.push_back("rate");
    if (random.chance(40)) {
      note("const tensor");
      line("const taps: f32[3] = [1, -2.5, 0.75]");
      constants.push_back("taps");
    }
  }
}

void ProgramWriter::writeModule() {
  if (!random.chance(45))
    return;
  note("declaration module");
  module = name("M");
  bool writes = random.chance(40), biased = random.chance(50);
  hasBias = biased;
  line("module " + module + "(In, Out, bias: bool = true) {");
  line("  param w: f32[In, Out] = " +
       std::string(random.oneOf({"0", "init.kaiming_uniform()", "0.1"})));
  if (biased) {
    note("member under a condition");
    line("  if bias { param b: f32[Out] = 0 }");
  }
  if (writes) {
    note("declaration state of a module");
    line("  state seen: f32[Out] = 0");
  }
  line("  fn call(x: f32[n, In]) -> f32[n, Out] {");
  line("    let y = x @ w");
  if (writes) {
    note("write in training");
    line("    if training { seen <- 0.9 * seen + 0.1 * sum(y, axis = 0) }");
  }
  const char *function = random.oneOf({"tanh", "nn.relu", "sin", "sigmoid"});
  line("    " + std::string(function) + "(" +
       (biased ? "if bias { y + b } else { y }" : "y") + ")");
  line("  }");
  line("}");
}

void ProgramWriter::writeLayer() {
  if (module.empty())
    return;
  Layer layer;
  layer.name = name("m");
  layer.in = random.of(sizes).second;
  layer.out = random.of(sizes).second;
  if (layer.in == 0 || layer.out == 0)
    layer.in = layer.out = 2;
  if (random.chance(40)) {
    note("declaration layer array");
    layer.count = 2;
    layer.out = layer.in;
    line("layer " + layer.name + "[2] = " + module + "(" + sizeText(layer.in) +
         ", " + sizeText(layer.in) + ")");
  } else {
    note("declaration layer");
    line("layer " + layer.name + " = " + module + "(" + sizeText(layer.in) +
         ", " + sizeText(layer.out) +
         (hasBias && random.chance(40) ? ", bias = false)" : ")"));
  }
  layers.push_back(layer);
}

void ProgramWriter::writeVariables() {
  unsigned params = 1 + random.pick(3);
  for (unsigned i = 0; i < params + random.pick(2); ++i) {
    Value value;
    bool isParam = i < params;
    value.name = name(isParam ? "p" : "q");
    value.kind =
        isParam ? (random.chance(75) ? Kind::F32 : pickFloat()) : pickKind();
    value.active = isParam ? 1u << i : 0;
    value.bound = isFloat(value.kind) ? 1 : 4;
    value.bound = value.kind == Kind::Bool ? 1 : value.bound;
    unsigned rank = random.chance(15) ? 0 : 1 + random.pick(3);
    for (unsigned axis = 0; axis < rank; ++axis) {
      int64_t extent = random.of(sizes).second;
      if (value.size() * extent > 600)
        extent = 2;
      value.shape.push_back(extent);
    }
    std::string initial = value.kind == Kind::Bool ? "false" : "0";
    if (isParam && value.kind == Kind::F32 && rank > 0 && random.chance(6)) {
      note("initialiser init");
      initial = random.oneOf({"init.normal()", "init.kaiming_uniform()"});
    }
    note(isParam ? "declaration param" : "declaration state");
    line(std::string(isParam ? "param " : "state ") + value.name + ": " +
         typeText(value.kind, value.shape) + " = " + initial);
    variables.push_back(value);
  }
}

void ProgramWriter::writeOptimizer() {
  if (!random.chance(20))
    return;
  note("declaration optimizer");
  ownOptimizer = name("o");
  line("optimizer " + ownOptimizer + "(lr: f32, decay: f32 = 0.9) {");
  line("  state m: like param = 0");
  if (random.chance(50)) {
    note("optimizer with begin");
    line("  state t: i64 = 0");
    line("  fn begin() { t <- t + 1 }");
  }
  line("  fn update(p, g) {");
  line("    m <- decay * m + (1 - decay) * g");
  line("    p <- p - lr * m");
  line("  }");
  line("}");
}
