//===- FaultStepTest.cpp - faults of steps, launches and names -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classes of faults that FaultTest's tables of values do not hold: variables
// that are updated in place, random numbers, optimisers, indices out of range,
// limits of launches, and names.
//
//===----------------------------------------------------------------------===//

#include "FaultCases.h"

#include <cmath>

using namespace tdsl;
using namespace tdsl::test;
using reference::ElementKind;

static Tensor floats(llvm::ArrayRef<int64_t> shape, double value) {
  return Tensor::splat(ElementKind::F32, shape, value);
}

/// Calls an entry on every path; all must give the bits of the first, which are
/// returned.
static Named callOnAll(const std::vector<std::unique_ptr<Path>> &paths,
                       const std::string &entry, const Named &inputs) {
  Named expected;
  for (auto &path : paths) {
    SCOPED_TRACE(path->name());
    Named results = path->call(entry, inputs);
    if (path == paths.front()) {
      expected = results;
      expected.erase("tds.flags");
      continue;
    }
    for (auto &[name, tensor] : expected)
      EXPECT_TRUE(areSame(results[name], tensor, {})) << name;
  }
  return expected;
}

//===-- Writing a buffer that is still read elsewhere --===//

TEST(FaultSteps, VariableBecomesItsReverse) {
  auto paths = compileProgram(R"(
dim B = 1
state x: i32[4] = 0
state y: i32[1000000] = 0
step reverse(b: f32[B]) -> (r: f32) {
  x <- x + flip(x, 0)
  y <- y + flip(y, 0)
  (sum(b))
}
)");
  ASSERT_GE(paths.size(), 2u);
  for (auto &path : paths) {
    SCOPED_TRACE(path->name());
    Tensor small(ElementKind::I32, {4}), large(ElementKind::I32, {1000000});
    for (int64_t i = 0; i < large.numElements(); ++i)
      large.set(i, i + 1);
    for (int64_t i = 0; i < 4; ++i)
      small.set(i, i + 1);
    path->write("x", small);
    path->write("y", large);
    path->call("reverse", {{"b", floats({1}, 0)}});
    EXPECT_TRUE(areSame(path->read("x"),
                        Tensor::splat(ElementKind::I32, {4}, int64_t(5)), {}));
    EXPECT_TRUE(areSame(
        path->read("y"),
        Tensor::splat(ElementKind::I32, {1000000}, int64_t(1000001)), {}));
  }
}

// Also through a transposition, and where two variables change places.
TEST(FaultSteps, VariablesChangePlaces) {
  auto paths = compileProgram(R"(
dim B = 1
state m: f32[33, 33] = 0
state a: f32[5] = 1
state b: f32[5] = 2
step turn(x: f32[B]) -> (r: f32) {
  m <- transpose(m) * 2
  let old = a
  a <- b
  b <- old
  (sum(x))
}
)");
  ASSERT_GE(paths.size(), 2u);
  Tensor m(ElementKind::F32, {33, 33}), turned(ElementKind::F32, {33, 33});
  for (int64_t i = 0; i < 33; ++i)
    for (int64_t j = 0; j < 33; ++j) {
      m.set(i * 33 + j, double(i * 33 + j));
      turned.set(j * 33 + i, double(i * 33 + j) * 2);
    }
  for (auto &path : paths) {
    SCOPED_TRACE(path->name());
    path->write("m", m);
    path->call("turn", {{"x", floats({1}, 0)}});
    EXPECT_TRUE(areSame(path->read("m"), turned, {}));
    EXPECT_TRUE(areSame(path->read("a"), floats({5}, 2), {}));
    EXPECT_TRUE(areSame(path->read("b"), floats({5}, 1), {}));
  }
}

//===-- Random numbers (the ends of the ranges: RandomTest) --===//

TEST(FaultSteps, DrawsAndMasks) {
  auto paths = compileProgram(R"(
use nn
dim B = 1000
step draw(x: f32[B]) -> (u: f32[B], n: f32[B], c: bool[B], first: f32[B], second: f32[B], dx: f32[B]) {
  let first = nn.dropout(x, 0.5)
  let second = nn.dropout(x, 0.5)
  (random.uniform([B]), random.normal([B]), random.bernoulli(0.3, [B]), first, second, grad(sum(first), x))
}
)",
                              {}, 42);
  ASSERT_GE(paths.size(), 2u);
  Tensor before;
  for (int step = 0; step < 2; ++step) {
    Named drawn = callOnAll(paths, "draw", {{"x", floats({1000}, 1)}});
    EXPECT_TRUE(areSame(drawn["dx"], drawn["first"], {}));
    EXPECT_FALSE(areSame(drawn["first"], drawn["second"], {}));
    EXPECT_FALSE(areSame(drawn["u"], before, {}));
    before = drawn["u"];
    for (int64_t i = 0; i < 1000; ++i) {
      EXPECT_TRUE(before.getDouble(i) >= 0 && before.getDouble(i) < 1);
      EXPECT_TRUE(std::isfinite(drawn["n"].getDouble(i)));
      double kept = drawn["first"].getDouble(i);
      EXPECT_TRUE(kept == 0 || kept == 2) << kept;
    }
  }
}

// 1000000 draws of 0.7 are within five standard deviations.
TEST(FaultSteps, CountOfKeptElements) {
  CompileOptions options;
  options.ptx = false;
  auto paths = compileProgram(R"(
dim B = 1
step draw(x: f32[B]) -> (kept: i32) { (sum(i32(random.bernoulli(0.7, [1000000])))) }
)",
                              options, 7);
  ASSERT_GE(paths.size(), 2u);
  Named drawn = callOnAll(paths, "draw", {{"x", floats({1}, 1)}});
  EXPECT_NEAR(drawn["kept"].getDouble(0), 700000, 2292);
}

//===-- Adam --===//

TEST(FaultSteps, Adam) {
  auto paths = compileProgram(R"(
use optim
dim B = 1
param p: f32 = 0
param q: f32 = 1
step adam(x: f32[B]) -> (loss: f32) {
  let loss = sum(x) * p
  minimize loss over p with optim.adam(lr = 1, beta1 = 0.9, beta2 = 0.999, eps = 1e-3) as a
  (loss)
}
step decay(x: f32[B]) -> (loss: f32) {
  let loss = sum(x) * q
  minimize loss over q with optim.adamw(lr = 0.1, weight_decay = 0.01) as w
  (loss)
}
)");
  ASSERT_GE(paths.size(), 2u);
  for (auto &path : paths) {
    SCOPED_TRACE(path->name());
    // Epsilon before the correction would give -0.00315, no correction
    // -0.00997.
    path->call("adam", {{"x", floats({1}, 1e-4)}});
    EXPECT_TRUE(areSame(path->read("p"), floats({}, -0.0909090909), {8, 0}));
    path->call("adam", {{"x", floats({1}, 1e-4)}});
    EXPECT_TRUE(areSame(path->read("p"), floats({}, -0.1818181818), {8, 0}));
    // Decay in the gradient would give about 0.9.
    path->call("decay", {{"x", floats({1}, 0)}});
    EXPECT_TRUE(areSame(path->read("q"), floats({}, 0.999), {1, 0}));
    EXPECT_EQ(path->read("opt.decay.w.q.m").getDouble(0), 0);
    EXPECT_EQ(path->read("opt.decay.w.q.v").getDouble(0), 0);
  }
}

//===-- Indices out of range --===//

TEST(FaultSteps, IndicesOutOfRange) {
  const std::string program = R"(
param t: f32[3, 2] = 1
export fn rows(table: f32[3, 2], ids: i32[2]) -> f32[2, 2] {
  let y[i, k] = table[ids[i], k]
  y
}
export fn slope(table: f32[3, 2], ids: i32[2]) -> f32[3, 2] {
  let y[i, k] = table[ids[i], k]
  grad(sum(y), table)
}
export fn constant_ids() -> f32[2, 2] { rows(t, stack([i32(3), i32(0)], 0)) }
export fn all_constant() -> f32[2, 2] {
  let table[i < 3, j < 2] = f32(1)
  rows(table, stack([i32(0), i32(-1)], 0))
}
)";
  for (int64_t wrong : {-1, 3, -2147483647, 2147483647}) {
    auto paths = compileProgram(program);
    ASSERT_GE(paths.size(), 2u);
    Tensor ids(ElementKind::I32, {2});
    ids.set(1, wrong);
    Named inputs{{"table", floats({3, 2}, 4)}, {"ids", ids}};
    for (auto &path : paths)
      for (const char *entry :
           {"rows", "slope", "constant_ids", "all_constant"}) {
        SCOPED_TRACE(path->name() + ", " + entry);
        bool takesInputs =
            std::string(entry).find("constant") == std::string::npos;
        Named given = takesInputs ? inputs : Named();
        if (path == paths.front()) {
          Named results = path->call(entry, given);
          ASSERT_TRUE(results.count("tds.flags"));
          EXPECT_NE(results["tds.flags"].getInt(0), 0);
        } else {
          std::string error = path->callToFail(entry, given);
          EXPECT_NE(error.find("a gather reads out of range"),
                    std::string::npos)
              << error;
        }
      }
    // Without checks it reads 0 and touches nothing else.
    CompileOptions unchecked;
    unchecked.flags = "--unchecked";
    paths = compileProgram(program, unchecked);
    Named results = callOnAll(paths, "rows", inputs);
    EXPECT_TRUE(areSame(results["result"],
                        Tensor::of(ElementKind::F32, {2, 2}, {4, 4, 0, 0}),
                        {}));
    results = callOnAll(paths, "slope", inputs);
    EXPECT_TRUE(
        areSame(results["result"],
                Tensor::of(ElementKind::F32, {3, 2}, {1, 1, 0, 0, 0, 0}), {}));
  }
}

//===-- Limits of launches --===//

TEST(FaultLaunches, ManyBlocks) {
  auto paths = compileProgram(R"(
export fn products(x: f32[65536, 1, 1], y: f32[65536, 1, 1]) -> (sum: f32, all: bool) {
  let z[b, i, j] = sum[k](x[b, i, k] * y[b, k, j])
  (sum(z), all(z == 1))
}
export fn rows(x: f32[65537, 2]) -> bool { all(sum(x, axis = 1) == 3) }
export fn columns(x: f32[2, 65537]) -> bool { all(sum(x, axis = 0) == 3) }
export fn planes(x: f32[3, 65537, 1]) -> bool {
  let y[j, i, k] = x[i, j, k] + 1
  all(y == 2.5)
}
)");
  ASSERT_GE(paths.size(), 2u);
  Named results = callOnAll(
      paths, "products",
      {{"x", floats({65536, 1, 1}, 1)}, {"y", floats({65536, 1, 1}, 1)}});
  EXPECT_EQ(results["sum"].getDouble(0), 65536);
  EXPECT_EQ(results["all"].getInt(0), 1);
  results = callOnAll(paths, "rows", {{"x", floats({65537, 2}, 1.5)}});
  EXPECT_EQ(results["result"].getInt(0), 1);
  results = callOnAll(paths, "columns", {{"x", floats({2, 65537}, 1.5)}});
  EXPECT_EQ(results["result"].getInt(0), 1);
  results = callOnAll(paths, "planes", {{"x", floats({3, 65537, 1}, 1.5)}});
  EXPECT_EQ(results["result"].getInt(0), 1);
}

/// The sum of scalar inputs 1, 2, ..., count.
static void sumManyInputs(int64_t count) {
  std::string inputs, sum;
  Named values;
  for (int64_t i = 1; i <= count; ++i) {
    std::string name = "x" + std::to_string(i);
    inputs += (i > 1 ? ", " : "") + name + ": f32";
    sum += (i > 1 ? " + " : "") + name;
    values.insert({name, floats({}, double(i))});
  }
  auto paths = compileProgram("export fn total(" + inputs + ") -> f32 { " +
                              sum + " }\n");
  ASSERT_GE(paths.size(), 2u);
  Named results = callOnAll(paths, "total", values);
  EXPECT_EQ(results["result"].getDouble(0), double(count * (count + 1) / 2));
}

// 4800 bytes of pointers are more than 4352, the older limit.
TEST(FaultLaunches, MoreParametersThanOldDriversTake) { sumManyInputs(600); }

// 32768 bytes of pointers are more than any kernel takes.
TEST(FaultLaunches, MoreParametersThanAnyKernelTakes) { sumManyInputs(4096); }

//===-- Names --===//

// Words of PTX, of LLVM and of C, long names, and names that look alike.
TEST(FaultNames, AreMangled) {
  std::string longName(300, 'n');
  std::string text;
  std::vector<std::string> names = {
      "add",    "entry",   "ret",    "reg",        "tid", "main",
      "malloc", "printf",  "tds_k0", "__",         "a_b", "a__b",
      longName, "visible", "global", "tds_k0_loop"};
  for (const std::string &name : names)
    text += "export fn " + name + "(" + name + "_x: f32[2]) -> f32[2] { " +
            name + "_x + 1 }\n";
  auto paths = compileProgram(text);
  ASSERT_GE(paths.size(), 2u);
  for (const std::string &name : names) {
    SCOPED_TRACE(name);
    Named results =
        callOnAll(paths, name,
                  {{name + "_x", Tensor::of(ElementKind::F32, {2}, {1, 2})}});
    EXPECT_TRUE(areSame(results["result"],
                        Tensor::of(ElementKind::F32, {2}, {2, 3}), {}));
  }
}

TEST(FaultNames, VariablesThatLookAlike) {
  auto paths = compileProgram(R"(
module M { param b: f32 = 1
  fn call(x: f32) -> f32 { x + b } }
layer a = M()
param a_b: f32 = 10
layer a_ = M()
export fn f(x: f32) -> f32 { a(x) + a_b + a_(x) }
)");
  ASSERT_GE(paths.size(), 2u);
  Named results = callOnAll(paths, "f", {{"x", floats({}, 1)}});
  EXPECT_EQ(results["result"].getDouble(0), 14);
}

TEST(FaultNames, OthersAreErrorsAtTheName) {
  for (const char *name : {"a.b", "x y", "a-b", "1st", "\xc3\xa9t\xc3\xa9"}) {
    SCOPED_TRACE(name);
    std::string text =
        std::string("export fn ") + name + "(x: f32[2]) -> f32[2] { x + 1 }\n";
    auto [code, errors] = compileForErrors(text);
    EXPECT_EQ(code, 1);
    EXPECT_NE(errors.find(":1:"), std::string::npos) << errors;
  }
}
