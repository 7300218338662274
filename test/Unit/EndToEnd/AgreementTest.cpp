//===- AgreementTest.cpp - evaluator, CPU code and PTX agree -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CompiledProgram.h"

#include <cctype>
#include <random>
#include <regex>
#include <sstream>

using namespace tdsl;
using namespace tdsl::test;
using reference::ElementKind;

/// Random images or labels below `bound`.
static Tensor randomIntegers(ElementKind kind, llvm::ArrayRef<int64_t> shape,
                             int bound, std::mt19937 &generator) {
  Tensor tensor(kind, shape);
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    tensor.set(i, static_cast<int64_t>(generator() % bound));
  return tensor;
}

static Tensor randomFloats(llvm::ArrayRef<int64_t> shape,
                           std::mt19937 &generator) {
  std::normal_distribution<double> normal;
  Tensor tensor(ElementKind::F32, shape);
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    tensor.set(i, normal(generator));
  return tensor;
}

/// Trains `steps` steps on every path and compares results and variables with
/// the evaluator's.
static void checkTraining(const std::string &program,
                          const CompileOptions &options, unsigned steps,
                          llvm::function_ref<Named(std::mt19937 &)> makeBatch,
                          llvm::ArrayRef<std::string> variables,
                          double relative, double absolute) {
  auto paths = compileProgram(readSource(program), options);
  ASSERT_GE(paths.size(), 2u);
  std::vector<Named> expected;
  for (auto &path : paths) {
    SCOPED_TRACE(path->name());
    std::mt19937 generator(1);
    for (unsigned step = 0; step < steps; ++step) {
      Named results = path->call("train", makeBatch(generator));
      if (path == paths.front()) {
        expected.push_back(results);
        continue;
      }
      for (auto &[name, tensor] : results)
        EXPECT_TRUE(areClose(tensor, expected[step][name], relative, absolute))
            << name << " in step " << step;
    }
    for (const std::string &variable : variables)
      EXPECT_TRUE(areClose(path->read(variable), paths.front()->read(variable),
                           relative, absolute))
          << variable;
  }
}

TEST(Agreement, TenStepsOfThePerceptron) {
  checkTraining(
      "examples/02-mlp-fashion/mlp.tds", {}, 10,
      [](std::mt19937 &generator) {
        return Named{
            {"x",
             randomIntegers(ElementKind::U8, {64, 28, 28}, 256, generator)},
            {"y", randomIntegers(ElementKind::I32, {64}, 10, generator)}};
      },
      {"net.fc1.w", "net.fc1.b", "net.fc2.w", "net.fc2.b",
       "opt.train.0.net.fc2.w.m", "it", "tds.step"},
      1e-4, 2e-5);
}

TEST(Agreement, TenStepsOfThePerceptronUnfused) {
  CompileOptions options;
  options.flags = "--fusion=off -D B=8 -D H=33";
  checkTraining(
      "examples/02-mlp-fashion/mlp.tds", options, 10,
      [](std::mt19937 &generator) {
        return Named{
            {"x", randomIntegers(ElementKind::U8, {8, 28, 28}, 256, generator)},
            {"y", randomIntegers(ElementKind::I32, {8}, 10, generator)}};
      },
      {"net.fc1.w", "net.fc2.w", "it"}, 1e-4, 2e-5);
}

TEST(Agreement, TenStepsOfTheDigits) {
  checkTraining(
      "examples/03-digits/digits.tds", {}, 10,
      [](std::mt19937 &generator) {
        return Named{
            {"x", randomIntegers(ElementKind::U8, {50, 8, 8}, 17, generator)},
            {"y", randomIntegers(ElementKind::I32, {50}, 10, generator)}};
      },
      {"net.body.a.w", "net.norm.scale", "net.head.w", "tds.step"}, 1e-4, 2e-5);
}

TEST(Agreement, TenStepsOfTheRegression) {
  checkTraining(
      "examples/01-regression/regression.tds", {}, 10,
      [](std::mt19937 &generator) {
        return Named{{"x", randomFloats({32, 4}, generator)},
                     {"y", randomFloats({32}, generator)}};
      },
      {"w", "b"}, 1e-5, 1e-6);
}

// A label out of range: the call fails with the source place, and nothing has
// changed.
TEST(Agreement, AGatherOutOfRangeChangesNothing) {
  auto paths = compileProgram(readSource("examples/03-digits/digits.tds"));
  std::mt19937 generator(1);
  Named batch{{"x", randomIntegers(ElementKind::U8, {50, 8, 8}, 17, generator)},
              {"y", randomIntegers(ElementKind::I32, {50}, 10, generator)}};
  ASSERT_GE(paths.size(), 2u);
  batch.at("y").set(7, static_cast<int64_t>(10));
  for (auto &path : paths) {
    SCOPED_TRACE(path->name());
    Tensor before = path->read("net.head.w");
    std::string text = path->callToFail("train", batch);
    EXPECT_TRUE(areClose(path->read("net.head.w"), before, 0, 0));
    EXPECT_EQ(path->read("tds.step").getInt(0), 0);
    if (path == paths.front())
      continue;
    EXPECT_NE(text.find("a gather reads out of range"), std::string::npos)
        << text;
    EXPECT_NE(text.find(".tds:"), std::string::npos) << text;
  }
}

namespace {

/// The tensor inputs of `export fn name(x: f32[M, 2], ...)` in a program whose
/// sizes are one `dim A = 1, B = 2` line.
struct EntryInputs {
  std::string entry;
  std::vector<std::tuple<std::string, ElementKind, std::vector<int64_t>>>
      inputs;
};

std::vector<EntryInputs> findEntries(const std::string &text) {
  std::map<std::string, int64_t> sizes;
  std::smatch match;
  std::regex size("(\\w+) = (\\d+)"), entry("export fn (\\w+)\\((.*)\\) ->"),
      input("(\\w+): (\\w+)\\[([^\\]]*)\\]"), factor("\\w+");
  std::string dims = text.substr(text.find("\ndim ") + 5);
  dims = dims.substr(0, dims.find('\n'));
  for (std::sregex_iterator it(dims.begin(), dims.end(), size), end; it != end;
       ++it)
    sizes[(*it)[1]] = std::stoll((*it)[2]);
  const std::map<std::string, ElementKind> kinds = {
      {"f32", ElementKind::F32}, {"bf16", ElementKind::BF16},
      {"u8", ElementKind::U8},   {"i8", ElementKind::I8},
      {"i32", ElementKind::I32}, {"bool", ElementKind::Bool}};
  std::vector<EntryInputs> result;
  for (std::sregex_iterator it(text.begin(), text.end(), entry), end; it != end;
       ++it) {
    EntryInputs found{(*it)[1], {}};
    std::string inputs = (*it)[2];
    for (std::sregex_iterator in(inputs.begin(), inputs.end(), input);
         in != end; ++in) {
      std::vector<int64_t> shape;
      std::istringstream extents((*in)[3]);
      for (std::string extent; std::getline(extents, extent, ',');) {
        int64_t product = 1;
        for (std::sregex_iterator f(extent.begin(), extent.end(), factor);
             f != end; ++f) {
          std::string name = f->str();
          product *= std::isdigit(static_cast<unsigned char>(name[0]))
                         ? std::stoll(name)
                         : sizes.at(name);
        }
        shape.push_back(product);
      }
      found.inputs.emplace_back((*in)[1], kinds.at((*in)[2]), shape);
    }
    result.push_back(found);
  }
  return result;
}

} // namespace

// However a product or a convolution is written, its recognised form has the
// values of its definition.
TEST(Agreement, RecognisedProgramsAndNearMisses) {
  for (const char *name : {"contractions", "convolutions", "rows", "pools",
                           "attentions", "near-misses"}) {
    SCOPED_TRACE(name);
    std::string text =
        readSource(std::string("test/Fusion/Inputs/") + name + ".tds");
    auto paths = compileProgram(text);
    ASSERT_GE(paths.size(), 2u);
    std::vector<EntryInputs> entries = findEntries(text);
    ASSERT_GE(entries.size(), 10u);
    for (const EntryInputs &entry : entries) {
      SCOPED_TRACE(entry.entry);
      std::mt19937 generator(7);
      std::normal_distribution<double> normal;
      Named inputs;
      for (auto &[input, kind, shape] : entry.inputs) {
        Tensor tensor(kind, shape);
        bool isFloat = reference::isFloat(kind);
        for (int64_t i = 0; i < tensor.numElements(); ++i)
          if (isFloat)
            tensor.set(i, normal(generator));
          else
            tensor.set(
                i, static_cast<int64_t>(generator() %
                                        (kind == ElementKind::Bool ? 2 : 100)));
        inputs.insert({input, tensor});
      }
      Named expected = paths.front()->call(entry.entry, inputs);
      ASSERT_FALSE(expected.empty());
      for (size_t i = 1; i < paths.size(); ++i) {
        SCOPED_TRACE(paths[i]->name());
        Named results = paths[i]->call(entry.entry, inputs);
        for (auto &[result, tensor] : expected)
          EXPECT_TRUE(areClose(results[result], tensor, 1e-5, 2e-5));
      }
    }
  }
}

// The adjoint of slices joins three reads, each of which is guarded and off in
// one half of a vector of 16 lanes.
TEST(Agreement, GuardsThatAreOffInHalfAVector) {
  auto paths = compileProgram(R"(
use init
param u: f32[2, 15] = init.normal()
param w: f32[2, 5] = init.normal()
export fn f() -> (d: f32[2, 15]) {
  (grad(sum(u[:, 0:5] * w * tanh(u[:, 5:10]) * u[:, 10:15]), u))
}
)");
  ASSERT_GE(paths.size(), 2u);
  Tensor expected = paths.front()->call("f", {}).at("d");
  for (auto &path : paths)
    EXPECT_TRUE(areClose(path->call("f", {}).at("d"), expected, 1e-5, 1e-6))
        << path->name();
}
