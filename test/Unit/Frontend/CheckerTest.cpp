//===- CheckerTest.cpp - What programs mean -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Support.h"
#include <fstream>
#include <sstream>

using namespace tdsl;
using namespace tdsl::test;
using typed::Op;

static std::string readInput(const std::string &name) {
  std::ifstream file(TDSL_SOURCE_DIR "/test/Unit/Frontend/Inputs/" + name);
  std::stringstream buffer;
  buffer << file.rdbuf();
  return buffer.str();
}

/// The type of the first result of entry `f` of a program.
static std::string typeOf(const std::string &body) {
  Checked checked("use nn\ndim B = 4\nfn body(x: f32[4, 3], n: i32[4]) { " +
                  body +
                  " }\nexport fn f(x: f32[4, 3], n: i32[4]) { "
                  "body(x, n) }");
  if (!checked.result->program)
    return checked.text();
  const typed::Function *f = checked.function("f");
  return f->results.empty() ? "none" : toString(f->results[0].value.type());
}

static unsigned count(const typed::Function *fn, Op op) {
  unsigned n = 0;
  for (const typed::Node *node : fn->nodes) {
    n += node->op == op;
    if (node->body)
      for (const typed::Node *inner : node->body->nodes)
        n += inner->op == op;
  }
  return n;
}

TEST(Checker, Programs) {
  for (const char *name :
       {"page.tds", "layers.tds", "misc.tds", "lines.tds", "language.tds"}) {
    Checked checked(readInput(name));
    EXPECT_EQ(checked.codes(), "") << name << "\n" << checked.text();
  }
}

TEST(Checker, Types) {
  EXPECT_EQ(typeOf("x"), "f32[4, 3]");
  EXPECT_EQ(typeOf("sum(x, axis = -1)"), "f32[4]");
  EXPECT_EQ(typeOf("sum(x, axis = 1, keep = true)"), "f32[4, 1]");
  EXPECT_EQ(typeOf("sum(x, axis = [0, 1])"), "f32");
  EXPECT_EQ(typeOf("x / sum(x, axis = 1, keep = true)"), "f32[4, 3]");
  EXPECT_EQ(typeOf("mean(n)"), "i64");
  EXPECT_EQ(typeOf("sum(i8(n))"), "i32");
  EXPECT_EQ(typeOf("argmax(x, axis = 0)"), "i32[3]");
  EXPECT_EQ(typeOf("x > 0"), "bool[4, 3]");
  EXPECT_EQ(typeOf("x @ transpose(x)"), "f32[4, 4]");
  EXPECT_EQ(typeOf("f16(x) @ f16(transpose(x))"), "f16[4, 4]");
  EXPECT_EQ(typeOf("x[1:3, -1]"), "f32[2]");
  EXPECT_EQ(typeOf("3"), "i32");
  EXPECT_EQ(typeOf("1 / 2.0"), "f32");
  EXPECT_EQ(typeOf("max(1, 2)"), "i32");
  EXPECT_EQ(typeOf("f64(x) * (1 / 3)"), "f64[4, 3]");
  EXPECT_EQ(typeOf("if x > 0 then 1 else 2"), "i32[4, 3]");
  EXPECT_EQ(typeOf("nn.relu(n)"), "i32[4]");
  EXPECT_EQ(typeOf("n + 2 * B"), "i32[4]");
  EXPECT_EQ(typeOf("let y[i, j] = x[i, j] * f32(j)\n y"), "f32[4, 3]");
  EXPECT_EQ(typeOf("let y[i < 3, j] = x[i + 1, j] - x[i, j]\n y"), "f32[3, 3]");
  EXPECT_EQ(typeOf("let y[i] = x[n[i], 0]\n y"), "f32[4]");
  EXPECT_EQ(typeOf("let y[i < 4, j < 9] = padded(x, 1)[i - 1, j // 3]\n y"),
            "f32[4, 9]");
  EXPECT_EQ(typeOf("sum[i, j](x[i, j] ** 2)"), "f32");
  EXPECT_EQ(typeOf("split(x, 2)"), "f32[2, 3]");
  EXPECT_EQ(typeOf("concat([x, x, x])"), "f32[12, 3]");
}

TEST(Checker, SizesThatHappenToBeOneDontStretch) {
  Checked named("dim N = 1\nexport fn f(x: f32[N, 3], y: f32[4, 3]) -> "
                "f32[4, 3] { x + y }");
  EXPECT_EQ(named.codes(), "E0401");
  Checked literal("export fn f(x: f32[1, 3], y: f32[4, 3]) -> f32[4, 3] { x + "
                  "y }");
  EXPECT_EQ(literal.codes(), "");
  // A parameter's own type decides inside a function.
  Checked inside("fn g(x: f32[n, k], y: f32[m, k]) { x + y }\n"
                 "export fn f(x: f32[1, 3], y: f32[4, 3]) { g(x, y) }");
  EXPECT_EQ(inside.codes(), "E0401");
  Checked pack("fn g(x: f32[...s]) -> f32[...s] { x * 2 }\n"
               "export fn f(x: f32[1, 3], y: f32[4, 3]) { g(x) + y }");
  EXPECT_EQ(pack.codes(), "");
}

TEST(Checker, PartsOfARecord) {
  const std::string net = R"(use nn
module Net {
  layer a = nn.Linear(4, 3)
  param s: f32 = 1
  fn call(x: f32[n, 4]) -> f32[n, 3] { a(x) * s }
  fn own(x: f32[n, 4]) -> f32[4, 3] {
    let g = grad(sum(a(x)), a)
    g.w
  }
}
layer net = Net()
)";
  Checked checked(net + R"(
export fn f(x: f32[2, 4]) -> (f32[4, 3], f32[3], f32, f32[4, 3], f32[3, 4]) {
  let g = grad(sum(net(x)), net)
  let both = g + g
  let ga = both.a
  let y[i, j] = g.a.w[j, i] * 2
  (both.a.w, ga.b, g.s, net.own(x), y)
})");
  EXPECT_EQ(checked.codes(), "") << checked.text();
  Checked wrong(net + "export fn f(x: f32[2, 4]) -> f32[4, 3] {\n"
                      "  let g = grad(sum(net(x)), net)\n  g.a.v\n}");
  EXPECT_EQ(wrong.codes(), "E0204");
  EXPECT_NE(wrong.text().find("there is no `v` in this record"),
            std::string::npos)
      << wrong.text();
}

TEST(Checker, Defines) {
  FrontendOptions options;
  options.defines["B"] = 7;
  Checked checked("dim B = 4, C = B * 2\nexport fn f(x: f32[B]) -> f32[C] { "
                  "concat([x, x]) }",
                  options);
  ASSERT_NE(checked.result->program, nullptr);
  EXPECT_EQ(toString(checked.function("f")->results[0].value.type()),
            "f32[14]");
}

TEST(Checker, InstantiatesOncePerShape) {
  Checked checked("fn g(x: f32[...s]) -> f32[...s] { x * 2 }\n"
                  "export fn f(x: f32[4], y: f32[3]) -> (f32[4], f32[3]) {\n"
                  "  (g(g(g(x))), g(y)) }");
  ASSERT_NE(checked.result->program, nullptr);
  EXPECT_EQ(checked.result->program->order.size(), 4u); // g, g, f, init
  // Layers of one kind share their function.
  Checked layers("use nn\nlayer a[5] = nn.Linear(3, 3)\n"
                 "export fn f(x: f32[2, 3]) -> f32[2, 3] {\n"
                 "  let y = x\n  for l in a { y = l(y) }\n  y }");
  ASSERT_NE(layers.result->program, nullptr);
  EXPECT_EQ(count(layers.function("f"), Op::Call), 5u);
  EXPECT_EQ(layers.function("nn.Linear.call.1"), nullptr);
}

TEST(Checker, VariablesAndTheirOrder) {
  Checked checked(readInput("page.tds"));
  EXPECT_EQ(checked.variables(), "net.fc1.w: f32[784, 256]\n"
                                 "net.fc1.b: f32[256]\n"
                                 "net.fc2.w: f32[256, 10]\n"
                                 "net.fc2.b: f32[10]\n"
                                 "opt.train.0.t: i64\n"
                                 "opt.train.0.net.fc1.w.m: f32[784, 256]\n"
                                 "opt.train.0.net.fc1.w.v: f32[784, 256]\n"
                                 "opt.train.0.net.fc1.b.m: f32[256]\n"
                                 "opt.train.0.net.fc1.b.v: f32[256]\n"
                                 "opt.train.0.net.fc2.w.m: f32[256, 10]\n"
                                 "opt.train.0.net.fc2.w.v: f32[256, 10]\n"
                                 "opt.train.0.net.fc2.b.m: f32[10]\n"
                                 "opt.train.0.net.fc2.b.v: f32[10]\n"
                                 "tds.step: i64\n"
                                 "tds.seed: i64\n");
  const typed::Function *train = checked.function("train");
  ASSERT_NE(train, nullptr);
  EXPECT_EQ(train->writes.size(), 14u);
  EXPECT_EQ(train->writes.back().name, "tds.step");
  EXPECT_TRUE(train->inputs[0].dataAxis);
  EXPECT_FALSE(train->inputs[2].dataAxis);
  ASSERT_TRUE(train->inputs[2].defaultValue.has_value());
  EXPECT_EQ(checked.result->program->dataDim, "B");
  EXPECT_TRUE(checked.function("predict")->results[0].dataAxis);
}

TEST(Checker, WritesThreadValues) {
  Checked checked("dim B = 4\nstate n: i64 = 0\n"
                  "step s(x: f32[B]) -> (a: i64, b: i64) {\n"
                  "  let a = n\n  n <- n + 1\n  n <- n * 2\n  (a, n) }");
  const typed::Function *s = checked.function("s");
  ASSERT_NE(s, nullptr) << checked.text();
  EXPECT_EQ(s->results[0].value.node->op, Op::Argument);
  // What reads a variable is told from what was written.
  EXPECT_EQ(s->results[1].value.node->op, Op::StopGradient);
  EXPECT_EQ(s->results[1].value.node->written, "n");
  EXPECT_EQ(s->results[1].value.node->operands[0].node->op, Op::Mul);
  EXPECT_EQ(s->writes[0].value, s->results[1].value);
}

TEST(Checker, ModuleStateIsWrittenInTrainingOnly) {
  const char *text = "module Count(N) {\n  state n: i64 = 0\n"
                     "  fn call(x: f32[N]) -> f32[N] {\n"
                     "    if training { n <- n + 1 }\n    x }\n}\n"
                     "dim B = 4\nlayer c = Count(B)\n"
                     "export fn f(x: f32[B]) -> f32[B] { c(x) }\n"
                     "step s(x: f32[B]) -> f32[B] { c(c(x)) + f(x) }\n";
  Checked checked(text);
  ASSERT_NE(checked.result->program, nullptr) << checked.text();
  EXPECT_TRUE(checked.function("f")->writes.empty());
  ASSERT_EQ(checked.function("s")->writes.size(), 2u);
  EXPECT_EQ(checked.function("s")->writes[0].name, "c.n");
}

TEST(Checker, DrawsHaveSitesOfTheirOwn) {
  Checked checked("dim B = 4\n"
                  "fn noise(x: f32[n]) -> f32[n] { random.normal(like = x) }\n"
                  "step s(x: f32[B]) -> f32[B] { noise(x) + noise(x) + "
                  "random.uniform([B]) }");
  ASSERT_NE(checked.result->program, nullptr) << checked.text();
  std::set<int64_t> sites;
  for (const typed::Function *fn : checked.result->program->order)
    for (const typed::Node *node : fn->nodes)
      if (node->body)
        for (const typed::Node *inner : node->body->nodes)
          if (inner->op == Op::Random)
            sites.insert(inner->number);
  EXPECT_EQ(sites, (std::set<int64_t>{0, 1, 2}));
}

TEST(Checker, NestedReductionsBecomeGenerics) {
  Checked checked("export fn f(x: f32[4, 3]) -> f32[4, 3] {\n"
                  "  let p[i, j] = exp(x[i, j]) / sum[q](exp(x[i, q]))\n  p }");
  const typed::Function *f = checked.function("f");
  ASSERT_NE(f, nullptr) << checked.text();
  EXPECT_EQ(count(f, Op::Generic), 2u);
  EXPECT_EQ(toString(f->nodes[0]->types[0]), "f32[4]");
  ASSERT_TRUE(f->nodes[0]->body->reduction.has_value());
  EXPECT_FALSE(f->nodes[1]->body->reduction.has_value());
}

TEST(Checker, NarrowSumsAccumulateWide) {
  Checked checked("export fn f(x: f16[4, 3]) -> f16[4] {\n"
                  "  let s[i] = sum[j](x[i, j] * x[i, j])\n  s }");
  const typed::Function *f = checked.function("f");
  ASSERT_NE(f, nullptr) << checked.text();
  EXPECT_EQ(f->nodes[0]->types[0].elem, typed::Elem::F32);
  EXPECT_EQ(f->results[0].value.node->op, Op::Cast);
}

TEST(Checker, UncalledBodiesAreResolved) {
  EXPECT_EQ(Checked("fn g(x: f32[n]) -> f32[n] { x + oops }").codes(), "E0201");
  EXPECT_EQ(Checked("module M(N) { fn call(x: f32[N]) { y } }").codes(),
            "E0201");
  EXPECT_EQ(Checked("use nn\nfn g(x: f32) { nn.nothing(x) }").codes(), "E0204");
}

TEST(Checker, OneMistakeInAFunctionCalledTwiceIsReportedOnce) {
  Checked checked("fn g(x: f32[n]) -> f32[n] { x + i32(x) }\n"
                  "export fn f(x: f32[4], y: f32[3]) { (g(x), g(y)) }");
  EXPECT_EQ(checked.codes(), "E0301");
}

TEST(Checker, StandardModulesCheck) {
  for (const char *call :
       {"nn.relu(x)", "nn.gelu(x)", "nn.softmax(x)", "nn.log_softmax(x)",
        "nn.mse(x, x)", "nn.cross_entropy(x, n)",
        "nn.layer_norm(x, x[0, :], x[1, :])", "nn.dropout(x, 0.5)"})
    EXPECT_EQ(typeOf(call).find("error"), std::string::npos) << typeOf(call);
}

TEST(Checker, MembersUnderACondition) {
  const char *module = "module K { param w: f32[2] = 1\n"
                       "  fn call(x: f32) -> f32 { x * sum(w) } }\n"
                       "module M(a: bool = true, n: dim = 1) {\n"
                       "  if a { param w: f32[2] = 1; state s: f32 = 0 }\n"
                       "  else if n == 1 { param w: f32[3] = 2 }\n"
                       "  else { layer inner = K() }\n"
                       "  fn call(x: f32) -> f32 {\n"
                       "    if a or n == 1 { x * sum(w) } else { inner(x) }\n"
                       "  }\n"
                       "}\n";
  auto variablesOf = [&](const std::string &layer) {
    Checked checked(module + ("layer m = " + layer) +
                    "\nexport fn f(x: f32) -> f32 { m(x) }");
    EXPECT_EQ(checked.codes(), "") << checked.text();
    return checked.variables();
  };
  EXPECT_EQ(variablesOf("M()"), "m.w: f32[2]\nm.s: f32\n");
  EXPECT_EQ(variablesOf("M(a = false)"), "m.w: f32[3]\n");
  EXPECT_EQ(variablesOf("M(false, 2)"), "m.inner.w: f32[2]\n");
  Checked linear("use nn\nlayer l = nn.Linear(2, 3, bias = false)\n"
                 "export fn f(x: f32[2]) -> f32[3] { l(x) }");
  EXPECT_EQ(linear.codes(), "") << linear.text();
  EXPECT_EQ(linear.variables(), "l.w: f32[2, 3]\n");
}

TEST(Checker, MembersThatAreNotChosen) {
  const char *module = "module M(a: bool) {\n"
                       "  if a { param w: f32[2] = 1 }\n"
                       "  fn call(x: f32) -> f32 { x * sum(w) }\n"
                       "}\n";
  EXPECT_EQ(Checked(module + std::string("layer m = M(false)\nexport fn f(x: "
                                         "f32) -> f32 { m(x) }"))
                .codes(),
            "E0201");
  EXPECT_EQ(Checked(module + std::string("layer m = M(false)\nexport fn f(x: "
                                         "f32) -> f32 { x * sum(m.w) }"))
                .codes(),
            "E0204");
  EXPECT_EQ(Checked("module M(a: bool) {\n  param w: f32 = 0\n"
                    "  if a { param w: f32 = 1 }\n}")
                .codes(),
            "E0202");
  EXPECT_EQ(Checked("if true { param w: f32 = 1 }").codes(), "E0111");
}

TEST(Checker, RankLimit) {
  std::string ones = "1";
  for (int i = 1; i < 3000; ++i)
    ones += ", 1";
  EXPECT_EQ(
      Checked("param w: f32[" + ones + "] = 0\nexport fn f() -> f32 { sum(w) }")
          .codes(),
      "E0805");
  EXPECT_EQ(
      Checked("export fn f(x: f32) -> f32 { sum(reshape(x, [" + ones + "])) }")
          .codes(),
      "E0805");
  std::string indices = "i0 < 1";
  for (int i = 1; i < 3000; ++i)
    indices += ", i" + std::to_string(i) + " < 1";
  EXPECT_EQ(Checked("export fn f(x: f32) -> f32 { let y[" + indices +
                    "] = x\n  sum(y) }")
                .codes(),
            "E0805");
  EXPECT_EQ(
      Checked("export fn f(x: f32) -> f32 { sum[" + indices + "](x) }").codes(),
      "E0805");
}

TEST(Checker, TensorsThatAreWrittenOut) {
  EXPECT_EQ(typeOf("[1, 2, 3]"), "i32[3]");
  EXPECT_EQ(typeOf("[[1, 2.5], [3, 4]]"), "f32[2, 2]");
  EXPECT_EQ(typeOf("[true, false]"), "bool[2]");
  EXPECT_EQ(typeOf("[f16(1), 2]"), "f16[2]");
  EXPECT_EQ(typeOf("x * [1, 2, 3]"), "f32[4, 3]");
  EXPECT_EQ(typeOf("f64([1, 2])"), "f64[2]");
  EXPECT_EQ(typeOf("sum([1, 2])"), "i32");
  EXPECT_EQ(typeOf("[1, 2, 3][1:]"), "i32[2]");
  EXPECT_EQ(typeOf("let y[i] = [1.5, 2.5][i % 2] * f32(n[i])\n y"), "f32[4]");
  Checked checked("dim B = 2\n"
                  "const k: f32[3] = [1, -2, 1]\n"
                  "const z: i8[2, 2] = 7\n"
                  "const same: f32[3] = k\n"
                  "const free = [[1], [2]]\n"
                  "export fn f(x: f32[B, 8]) -> (a: f32[B, 6], b: i8[2, 2], c: "
                  "f32[3], d: i32[2, 1]) {\n"
                  "  let y[b, i] = sum[u](x[b, i + u] * k[u])\n"
                  "  (y, z, same, free)\n}");
  EXPECT_EQ(checked.codes(), "") << checked.text();
  for (const char *wrong : {"const k: f32[2] = [1, 2, 3]", "const k: f32 = [1]",
                            "const k: bool[1] = [1]"})
    EXPECT_EQ(Checked(wrong).codes(), "E0313") << wrong;
  for (const char *wrong :
       {"const k = []", "const k = [[1], 2]", "const k = [1, [2]]",
        "const k = [[1, 2], [3]]", "const k = [[[1]], [2]]",
        "fn f(x: f32[...s]) -> f32[1] { [...s] }\nexport fn g(x: f32) -> "
        "f32[1] { f(x) }",
        "export fn g(x: f32) -> f32[1] { [x] }"})
    EXPECT_EQ(Checked(wrong).codes(), "E0425") << wrong;
  EXPECT_EQ(Checked("const k: i8[2] = [1, 300]").codes(), "E0302");
  std::string deep = std::string(40, '[') + "1" + std::string(40, ']');
  EXPECT_EQ(Checked("const k = " + deep).codes(), "E0805");
}

TEST(Checker, DefaultsOfTensors) {
  Checked checked("dim B = 2\n"
                  "fn g(x: float[n], w: float[n] = 1, v: f32[3] = [1, 2, 3]) "
                  "-> float[n] { x * w + float(sum(v)) }\n"
                  "export fn f(x: f32[B], y: f32[B, 3] = 0.5, t: bool[B] = "
                  "true) -> f32[B] { g(x) + sum(y, axis = 1) }");
  EXPECT_EQ(checked.codes(), "") << checked.text();
  ASSERT_TRUE(checked.function("f"));
  EXPECT_TRUE(checked.function("f")->inputs[1].defaultValue.has_value());
  EXPECT_EQ(Checked("fn g(x: f32[n] = 1) -> f32 { sum(x) }\n"
                    "export fn f() -> f32 { g() }")
                .codes(),
            "E0413");
  EXPECT_EQ(
      Checked("export fn f(x: f32[2] = [1, 2]) -> f32 { sum(x) }").codes(),
      "E0312");
}

TEST(Checker, StatementsUnderAConditionInDefinitions) {
  Checked checked(
      "export fn f(x: f32[8]) -> f32[8] {\n"
      "  dim k = 3\n"
      "  let y[i] = if k > 2 { let a = x[i] * 2; let b = a + 1; a * b + "
      "max[j](x[j]) } else { let a = 0.5; a }\n  y\n}");
  EXPECT_EQ(checked.codes(), "") << checked.text();
  EXPECT_EQ(
      Checked("export fn f(x: f32[8]) -> f32[8] {\n"
              "  let y[i < 8] = if true { let a = i + 1; x[a % 8] } else { 0 "
              "}\n  y\n}")
          .codes(),
      "");
  EXPECT_EQ(Checked("export fn f(x: f32[8]) -> f32[8] {\n"
                    "  let y[i] = if true { let a = x[i]; if a > 0 { a } else "
                    "{ 0 } } else { 0 }\n  y\n}")
                .codes(),
            "E0311");
  EXPECT_EQ(Checked("export fn f(x: f32[8]) -> f32[8] {\n"
                    "  let y[i] = if true { dim a = i; x[i] } else { 0 }\n  "
                    "y\n}")
                .codes(),
            "E0409");
  EXPECT_EQ(Checked("export fn f(x: f32[8]) -> f32[8] {\n"
                    "  let y[i] = if true { for k in 0..2 { } ; x[i] } else { "
                    "0 }\n  y\n}")
                .codes(),
            "E0512");
}

TEST(Checker, AssertsAtRunTime) {
  const char *text = "dim B = 4\n"
                     "fn positive(x: f32[...s]) -> f32[...s] {\n"
                     "  assert x > 0, \"positive\"\n  sqrt(x)\n}\n"
                     "export fn f(x: f32[B], b: bool) -> f32[B] {\n"
                     "  assert b\n  assert B == 4\n  positive(x)\n}";
  Checked plain(text);
  EXPECT_EQ(plain.codes(), "") << plain.text();
  EXPECT_EQ(plain.function("f")->checks.size(), 0u);
  FrontendOptions options;
  options.checked = true;
  Checked checked(text, options);
  ASSERT_EQ(checked.codes(), "") << checked.text();
  const auto &checks = checked.function("f")->checks;
  ASSERT_EQ(checks.size(), 2u);
  EXPECT_EQ(checks[0].text, "b");
  EXPECT_EQ(checks[1].text, "positive");
  EXPECT_EQ(checked.sources.getLineColumn(checks[1].range.begin).line, 3u);
  for (bool on : {false, true}) {
    options.checked = on;
    EXPECT_EQ(Checked("fn g(x: f32) -> f32 { assert x > 0; x }\n"
                      "export fn f(x: f32[3]) -> f32[3] { let y[i] = g(x[i])\n "
                      "y }",
                      options)
                  .codes(),
              "E0602");
    EXPECT_EQ(
        Checked("export fn f(x: f32) -> f32 { assert x; x }", options).codes(),
        "E0310");
  }
}

TEST(Checker, NoGradientThroughIntegers) {
  auto codesOf = [](const std::string &loss) {
    return Checked("export fn a(x: f32[4], n: i32[4]) -> f32[4] { grad(" +
                   loss + ", x) }")
        .codes();
  };
  EXPECT_EQ(codesOf("f32(argmax(x, axis = 0))"), "E0613");
  EXPECT_EQ(codesOf("sum(f32(i32(x)))"), "E0613");
  EXPECT_EQ(codesOf("x[0] + sum(f32(i32(x)))"), "");
  EXPECT_EQ(codesOf("sum(f32(n))"), "");
  EXPECT_EQ(codesOf("sum(f32(i32(stop_gradient(x))))"), "");
  EXPECT_EQ(codesOf("sum(if x > 0 then 1.0 else 2.0)"), "");
}

TEST(Checker, ConstantsOfTheFileHaveNoGradient) {
  EXPECT_EQ(Checked("const s: f32 = 3\n"
                    "export fn f() -> f32 { grad(s * s, s) }")
                .codes(),
            "E0613");
  EXPECT_EQ(
      Checked("export fn f() -> f32 { let s = 3.0\n grad(s * s, s) }").codes(),
      "");
}

TEST(Checker, LoopsDontRunOnElements) {
  EXPECT_EQ(Checked("fn g(a: f32) -> f32 { fold h = a for t in 0..3 { h * h "
                    "}\n h }\n"
                    "export fn f(x: f32[3]) -> f32[3] { let y[i] = g(x[i])\n "
                    "y }")
                .codes(),
            "E0512");
}

/// Without a step there are counters where something reads them.
TEST(Checker, CountersWithoutAStep) {
  EXPECT_EQ(Checked("export fn f() -> i64 { tds.step + tds.seed }").codes(),
            "");
}

/// Operands that would both stretch are shown as the index definition that says
/// what was meant.
TEST(Checker, BothStretchShowsTheIndexForm) {
  auto noteOf = [](const std::string &expr) {
    return Checked("export fn f(x: f32[4, 1], y: f32[3]) -> f32[4, 3] { " +
                   expr + " }")
        .text();
  };
  EXPECT_NE(noteOf("x + y").find("`let out[i, j] = x[i, 0] + y[j]`"),
            std::string::npos)
      << noteOf("x + y");
  EXPECT_NE(
      noteOf("max(x * 2, y)").find("`let out[i, j] = max(a[i, 0], y[j])`"),
      std::string::npos)
      << noteOf("max(x * 2, y)");
}
