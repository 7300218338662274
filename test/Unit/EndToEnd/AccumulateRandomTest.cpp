//===- AccumulateRandomTest.cpp - random steps in parts -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random steps whose losses read the parameters through what depends on no row
// (norms of weights, penalties, averages, loops, checkpoints, derivatives by
// hand) and through rows, compiled with --accum and without. The environment
// variable TDSL_ACCUMULATE_STEPS says how many, TDSL_ACCUMULATE_SEED where the
// seeds begin.
//
//===----------------------------------------------------------------------===//

#include "CompiledProgram.h"

#include <cstdlib>
#include <random>

using namespace tdsl;
using namespace tdsl::test;
using reference::ElementKind;

namespace {

/// Writes one program. Every value is a name of one of four kinds.
class StepWriter {
public:
  explicit StepWriter(unsigned seed) : random(seed) {}
  std::string write();
  int64_t getRows() const { return numRows; }

private:
  enum Kind { Matrix, Vector, Scalar, Rows, numKinds };

  unsigned pick(unsigned below) { return random() % below; }
  const std::string &any(Kind kind) {
    // The newest are likely, so that values depend on each other.
    std::vector<std::string> &all = names[kind];
    return pick(2) ? all.back() : all[pick(all.size())];
  }
  void let(Kind kind, const std::string &value) {
    std::string name = "v" + std::to_string(number++);
    body += "  let " + name + " = " + value + "\n";
    names[kind].push_back(name);
  }
  void writeMatrix();
  void writeVector();
  void writeScalar();
  void writeRows();
  std::string makeLoss();

  std::mt19937 random;
  int64_t numRows = 0;
  unsigned number = 0;
  std::string body;
  std::vector<std::string> names[numKinds];
};

void StepWriter::writeMatrix() {
  std::string m = any(Matrix), other = any(Matrix);
  switch (pick(13)) {
  case 0:
    return let(Matrix, "tanh(" + m + ") * 1.2");
  case 1:
    return let(Matrix, m + " / sqrt(sum(" + m + " * " + m +
                           ", axis = 0, keep = true) + 0.1)");
  case 2:
    return let(Matrix, "(" + m + " @ " + other + ") * 0.5");
  case 3:
    return let(Matrix, "tanh(" + m + " + " + other + " * " + any(Scalar) + ")");
  case 4:
    return let(Matrix, "stop_gradient(" + m + ") + 0.5 * " + other);
  case 5:
    return let(Matrix, "transpose(" + m + ")");
  case 6:
    return let(Matrix, "byhand(" + m + ")");
  case 7:
    return let(Matrix, "checkpoint(sin(" + m + ") * " + other + ")");
  case 8: {
    std::string name = "v" + std::to_string(number++);
    body += "  fold " + name + " = " + m + " for t in 0..3 {\n    tanh(" +
            name + " @ " + other + ") + 0.1 * " + m + "\n  }\n";
    return names[Matrix].push_back(name);
  }
  case 9: {
    std::string name = "v" + std::to_string(number++);
    body += "  let " + name + "[i, j] = sum[k](" + m + "[i, k] * sin(" + other +
            "[k, j]))\n";
    return names[Matrix].push_back(name);
  }
  case 10:
    return let(Matrix, "average * 0.5 + " + m);
  case 11:
    return let(Matrix, m + " * sigmoid(" + any(Vector) + ")");
  default:
    return let(Matrix, "grad(sum(sin(a * " + any(Scalar) + ") * a), a)");
  }
}

void StepWriter::writeVector() {
  std::string v = any(Vector);
  switch (pick(5)) {
  case 0:
    return let(Vector, "mean(" + any(Matrix) + ", axis = 0)");
  case 1:
    return let(Vector, "exp(" + v + ") / sum(exp(" + v + "))");
  case 2:
    return let(Vector, "tanh(" + any(Matrix) + " @ " + v + ")");
  case 3:
    return let(Vector, v + " * " + any(Scalar));
  default:
    return let(Vector, any(Matrix) + "[1, :] + stop_gradient(" + v + ")");
  }
}

void StepWriter::writeScalar() {
  switch (pick(5)) {
  case 0:
    return let(Scalar, "mean(" + any(Matrix) + " ** 2)");
  case 1:
    return let(Scalar, "sqrt(sum(" + any(Vector) + " ** 2) + 1) * 0.5");
  case 2:
    return let(Scalar, "tanh(" + any(Scalar) + " * " + any(Scalar) + ")");
  case 3:
    return let(Scalar, "checkpoint(sin(" + any(Scalar) + ") + mean(" +
                           any(Matrix) + "))");
  default:
    return let(Scalar, "max(" + any(Vector) + ")");
  }
}

void StepWriter::writeRows() {
  std::string r = any(Rows);
  switch (pick(8)) {
  case 0:
    return let(Rows, "tanh(" + r + " @ " + any(Matrix) + ")");
  case 1:
    return let(Rows, r + " * " + any(Scalar) + " + " + any(Vector));
  case 2:
    return let(Rows, "nn.gelu(" + r + ")");
  case 3:
    return let(Rows, "tanh(" + r + " * " + any(Rows) + ")");
  case 4:
    return let(Rows, "checkpoint(tanh(" + r + " @ " + any(Matrix) + " + " +
                         any(Vector) + "))");
  case 5: {
    std::string name = "v" + std::to_string(number++);
    body += "  fold " + name + " = " + r + " for t in 0..3 {\n    tanh(" +
            name + " @ " + any(Matrix) + " + " + any(Vector) + ")\n  }\n";
    return names[Rows].push_back(name);
  }
  case 6:
    return let(Rows, r + " / sqrt(sum(" + r + " * " + r +
                         ", axis = 1, keep = true) + 1)");
  default:
    return let(Rows, r + " * sigmoid(sum(" + r + " * " + any(Vector) +
                         ", axis = 1, keep = true) + " + any(Scalar) + ")");
  }
}

/// A mean over the rows, and what is added to it and multiplied with it.
std::string StepWriter::makeLoss() {
  std::string loss = "mean((" + any(Rows) + " - y) ** 2)";
  if (pick(2))
    loss += " * (1 + 0.3 * " + any(Scalar) + ")";
  if (pick(4))
    loss += " + 0.2 * " + any(Scalar);
  if (pick(2))
    loss += " + 0.1 * sum(" + any(Matrix) + " ** 2)";
  if (pick(3) == 0)
    loss += " + mean(" + any(Rows) + " @ " + any(Vector) + ")";
  // No parameter is left out.
  return loss + " + 0.1 * mean(tanh(x @ a @ b + c) * s)";
}

std::string StepWriter::write() {
  numRows = 4 + pick(5);
  names[Matrix] = {"a", "average", "b"};
  names[Vector] = {"average[0, :]", "b[1, :]", "c"};
  names[Scalar] = {"s"};
  names[Rows] = {"x"};
  unsigned count = 6 + pick(8);
  for (unsigned i = 0; i < count; ++i)
    switch (pick(8)) {
    case 0:
    case 1:
    case 2:
      writeMatrix();
      break;
    case 3:
      writeVector();
      break;
    case 4:
      writeScalar();
      break;
    default:
      writeRows();
    }
  // Losses read every kind.
  for (Kind kind : {Matrix, Scalar, Rows})
    if (pick(2))
      kind == Matrix   ? writeMatrix()
      : kind == Scalar ? writeScalar()
                       : writeRows();
  body += "  let l1 = " + makeLoss() + "\n  let l2 = " + makeLoss() + "\n";
  bool isOne = pick(2), hasRows = pick(3) == 0;
  body += isOne ? "  let (ga, gb, gc, gs) = grad(l1, (a, b, c, s))\n"
                : "  let (ga, gs) = grad(l1, (a, s))\n  let (gb, gc) = "
                  "grad(l2, (b, c))\n";
  std::string each = any(Rows), kept = any(Matrix);
  if (hasRows) {
    body += "  let gx = grad(l2, x)\n";
    each = "gx * 10";
  }
  body += "  let norm = sqrt(sum(ga * ga) + gs * gs)\n";
  if (pick(2))
    body += "  a <- a - 0.2 * ga / max(norm, 1.0)\n"
            "  apply gb to b with optim.momentum(lr = 0.1)\n";
  else
    body += "  apply ga to a with optim.sgd(lr = 0.1) as one\n"
            "  apply gb to b with optim.sgd(lr = 0.1) as two\n";
  body += "  c <- c - 0.1 * gc\n  s <- s - 0.1 * gs\n"
          "  average <- 0.8 * average + 0.2 * a\n"
          "  (l1, l2, norm, " +
          each + ", " + kept + ", mean(a), average[0, 0] * 2)\n";
  return "use nn, optim\n"
         "dim B = " +
         std::to_string(numRows) +
         "\n"
         "fn byhand(x: f32[3, 3]) -> f32[3, 3] { 0.5 * x * sin(x) }\n"
         "vjp (x, y, dy) -> (dx) { 0.5 * dy * (sin(x) + x * cos(x)) }\n"
         "param a: f32[3, 3] = reshape(sin(f32(iota(9)) + 1), [3, 3])\n"
         "param b: f32[3, 3] = reshape(cos(f32(iota(9)) * 2), [3, 3])\n"
         "param c: f32[3] = 0.5\n"
         "param s: f32 = 1.1\n"
         "state average: f32[3, 3] = 0.3\n"
         "step go(x: f32[B, 3], y: f32[B, 3]) -> (l1: f32, l2: f32, norm: "
         "f32, each: f32[B, 3], kept: f32[3, 3], after: f32, mean: f32) {\n" +
         body + "}\n";
}

std::vector<Named> runSteps(Path &path, int64_t rows, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<Named> all;
  for (unsigned step = 0; step < 2; ++step) {
    Tensor x(ElementKind::F32, {rows, 3}), y(ElementKind::F32, {rows, 3});
    for (int64_t i = 0; i < 3 * rows; ++i) {
      x.set(i, normal(generator));
      y.set(i, normal(generator));
    }
    all.push_back(path.call("go", {{"x", x}, {"y", y}}));
  }
  Named variables;
  for (const char *name : {"a", "b", "c", "s", "average"})
    variables.insert({name, path.read(name)});
  all.push_back(variables);
  return all;
}

unsigned getNumber(const char *name, unsigned otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoul(text, nullptr, 10) : otherwise;
}

} // namespace

TEST(AccumulateRandom, EqualsTheWholeStep) {
  unsigned first = getNumber("TDSL_ACCUMULATE_SEED", 1),
           count = getNumber("TDSL_ACCUMULATE_STEPS", 8);
  for (unsigned seed = first; seed < first + count; ++seed) {
    StepWriter writer(seed);
    std::string program = writer.write();
    int64_t rows = writer.getRows();
    CompileOptions whole;
    whole.ptx = whole.cpu = false;
    auto reference = compileProgram(program, whole);
    ASSERT_EQ(reference.size(), 1u) << program;
    std::vector<Named> expected = runSteps(*reference.front(), rows, seed);
    CompileOptions options;
    options.flags = "--accum=" + std::to_string(2 + seed % (rows - 1));
    if (seed % 4 == 0)
      options.flags += " --fusion=off";
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + options.flags);
    auto paths = compileProgram(program, options);
    ASSERT_GE(paths.size(), 2u);
    for (auto &path : paths) {
      SCOPED_TRACE(path->name());
      std::vector<Named> actual = runSteps(*path, rows, seed);
      for (unsigned i = 0; i < expected.size(); ++i)
        for (const auto &[name, tensor] : actual[i])
          if (name != "tds.flags") // the evaluator's alone
            EXPECT_TRUE(areClose(tensor, expected[i].at(name), 5e-4, 5e-5))
                << name << " in step " << i << "\n"
                << program;
    }
    if (HasFailure())
      return;
  }
}
