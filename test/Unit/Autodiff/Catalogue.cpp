//===- Catalogue.cpp - a differentiable program a rule -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Catalogue.h"

#include "Programs.h"

using namespace tdsl::test;

namespace {
class Builder {
public:
  void add(const std::string &op, const std::string &label,
           llvm::ArrayRef<Typed> arguments, const std::string &body,
           llvm::ArrayRef<int64_t> resultShape, llvm::ArrayRef<Typed> wrt) {
    entries.push_back({op, label,
                       gradientProgram(arguments, body, tensorOf(resultShape),
                                       resultShape.size(), wrt)});
  }

  void unary(const std::string &op, const std::string &before = "");
  void binary(const std::string &op);
  void elementwise();
  void attentions();
  void wholeTensors();
  void indexDefinitions();
  void windows();
  void gathers();
  void reductions();
  void folds();

  std::vector<CatalogueEntry> entries;
};
} // namespace

/// Shapes: rank 0, one element, odd sizes and none.
static const std::vector<std::vector<int64_t>> kShapes = {
    {}, {1}, {3, 5}, {0, 4}};

/// `before` maps %x to %in, the operand, where the operation is not defined on
/// all of [-1, 1).
void Builder::unary(const std::string &op, const std::string &before) {
  for (const auto &shape : kShapes) {
    std::string type = tensorOf(shape), body;
    if (!before.empty())
      body = "  %c = tds.constant dense<1.25> : " + type + "\n  %in = tds." +
             before + " %x, %c : " + type + "\n";
    body +=
        "  %y = tds." + op + (before.empty() ? " %x" : " %in") + " : " + type;
    add("tds." + op, type, {{"x", type}}, body, shape, {{"x", type}});
  }
}

void Builder::binary(const std::string &op) {
  for (const auto &shape : kShapes) {
    std::string type = tensorOf(shape);
    std::string body = "  %c = tds.constant dense<1.75> : " + type +
                       "\n  %a = tds.add %x, %c : " + type + "\n  %y = tds." +
                       op + " %a, %z : " + type;
    add("tds." + op, type, {{"x", type}, {"z", type}}, body, shape,
        {{"x", type}, {"z", type}});
  }
}

void Builder::elementwise() {
  for (const char *op :
       {"neg", "abs", "exp", "expm1", "tanh", "sigmoid", "erf", "sin", "cos"})
    unary(op);
  for (const char *op : {"sqrt", "rsqrt", "log", "log1p"})
    unary(op, "add");
  for (const char *op : {"add", "sub", "mul"})
    binary(op);
  std::string t = tensorOf({4, 3});
  Typed x{"x", t}, z{"z", t};
  std::string shifted = "  %c = tds.constant dense<1.5> : " + t +
                        "\n  %a = tds.add %x, %c : " + t +
                        "\n  %b = tds.add %z, %c : " + t + "\n";
  add("tds.div", "both", {x, z}, shifted + "  %y = tds.div %a, %b : " + t,
      {4, 3}, {x, z});
  add("tds.pow", "both", {x, z}, shifted + "  %y = tds.pow %a, %b : " + t,
      {4, 3}, {x, z});
  add("tds.mod", "both", {x, z}, shifted + "  %y = tds.mod %a, %b : " + t,
      {4, 3}, {x, z});
  const std::vector<std::vector<int64_t>> shapes = {{4, 3}, {0, 4}};
  for (const char *op : {"max", "min"})
    for (const auto &shape : shapes) {
      std::string type = tensorOf(shape);
      add(std::string("tds.") + op, type, {{"x", type}, {"z", type}},
          std::string("  %y = tds.") + op + " %x, %z : " + type, shape,
          {{"x", type}, {"z", type}});
    }
  add("tds.independent", "", {x}, "  %y = tds.independent %x : " + t, {4, 3},
      {x});
  add("tds.mul", "square", {x}, "  %y = tds.mul %x, %x : " + t, {4, 3}, {x});
  for (const char *exponent : {"1.0", "2.0", "3.0", "4.0", "-1.0", "0.5"})
    add("tds.pow", exponent, {x, z},
        shifted + "  %e = tds.constant dense<" + exponent + "> : " + t +
            "\n  %y = tds.pow %a, %e : " + t,
        {4, 3}, {x});
  add("tds.pow", "constant base", {x},
      "  %e = tds.constant dense<1.5> : " + t +
          "\n  %y = tds.pow %e, %x : " + t,
      {4, 3}, {x});
  add("tds.clamp", "bounds vary", {x, z, {"h", t}},
      "  %y = tds.clamp %x, %z, %h : " + t, {4, 3}, {x, z, {"h", t}});
  add("tds.select", "both", {x, z},
      "  %q = tds.compare lt %x, %z : " + t + "\n  %u = tds.mul %x, %z : " + t +
          "\n  %y = tds.select %q, %u, %z : " + tensorOf({4, 3}, "i1") + ", " +
          t,
      {4, 3}, {x, z});
  add("tds.cast", "through f16", {x},
      "  %n = tds.cast %x : " + t + " to " + tensorOf({4, 3}, "f64") +
          "\n  %s = tds.sin %n : " + tensorOf({4, 3}, "f64") +
          "\n  %y = tds.cast %s : " + tensorOf({4, 3}, "f64") + " to " + t,
      {4, 3}, {x});
  add("tds.stop_gradient", "held", {x},
      "  %e = tds.exp %x : " + t + "\n  %s = tds.stop_gradient %e : " + t +
          "\n  %y = tds.mul %x, %s : " + t,
      {4, 3}, {x});
}

/// Attention, and its derivative, whose gradient is a second derivative.
void Builder::attentions() {
  Typed q{"q", tensorOf({2, 4, 3})}, k{"k", tensorOf({2, 5, 3})},
      v{"v", tensorOf({5, 2})}, bias{"bias", tensorOf({4, 5})};
  const std::string extents =
      "{extents = array<i64: 2, 4, 5, 3, 2>, query_map = affine_map<(b, i, d) "
      "-> (b, i, d)>, key_map = affine_map<(b, j, d) -> (b, j, d)>, value_map "
      "= affine_map<(b, j, c) -> (j, c)>, result_map = affine_map<(b, i, c) -> "
      "(i, b, c)>";
  const std::string score = R"( score {
  ^bb0(%at: index, %i: index, %j: index, %s: f32):
    %e = tds.read %bias[%i, %j] : tensor<4x5xf32>
    %half = tds.constant 0.5 : f32
    %scaled = tds.mul %s, %half : f32
    %f = tds.add %scaled, %e : f32
    tds.yield %f : f32
  })";
  const std::string row = tensorOf({2, 4}), result = tensorOf({4, 2, 2});
  add("tds.attention", "a bias, values for the batch", {q, k, v, bias},
      "  %y, %most, %total = tds.attention %q, %k, %v " + extents + "} : (" +
          q.type + ", " + k.type + ", " + v.type + ") -> (" + result + ", " +
          row + ", " + row + ")" + score,
      {4, 2, 2}, {q, k, v, bias});
  add("tds.attention", "without the bias", {q, k, v, bias},
      "  %y, %most, %total = tds.attention %q, %k, %v " + extents + "} : (" +
          q.type + ", " + k.type + ", " + v.type + ") -> (" + result + ", " +
          row + ", " + row + ")" + score,
      {4, 2, 2}, {q, k, v});
  Typed x{"x", tensorOf({3, 4, 2})};
  add("tds.attention", "parts of one tensor, masked", {x},
      R"(  %y, %most, %total = tds.attention %x, %x, %x {extents = array<i64: 4, 4, 2, 2>,
      query_map = affine_map<(i, d) -> (0, i, d)>, key_map = affine_map<(i, d) -> (1, i, d)>,
      value_map = affine_map<(i, d) -> (2, i, d)>, result_map = affine_map<(i, d) -> (d, i)>} : ()" +
          x.type + ", " + x.type + ", " + x.type + ") -> (" + tensorOf({2, 4}) +
          ", " + tensorOf({4}) + ", " + tensorOf({4}) +
          R"() score {
  ^bb0(%i: index, %j: index, %s: f32):
    %later = tds.compare gt %j, %i : index
    %lowest = tds.constant 0xFF800000 : f32
    %f = tds.select %later, %lowest, %s : i1, f32
    tds.yield %f : f32
  })",
      {2, 4}, {x});
  Typed o{"o", result}, most{"most", row}, g{"g", result};
  const std::string maps =
      ", grad_maps = [affine_map<(b, i, d) -> (b, i, d)>, affine_map<(b, j, d) "
      "-> (b, j, d)>, affine_map<(b, j, c) -> (b, j, c)>]}";
  add("tds.attention_grad", "by the queries", {q, k, v, o, most, g},
      R"(  %one = tds.constant dense<1.5> : )" + row +
          "\n  %y, %dk, %dv = tds.attention_grad %q, %k, %v, %o, %most, %one, "
          "%g " +
          extents + maps + " : (" + q.type + ", " + k.type + ", " + v.type +
          ", " + o.type + ", " + row + ", " + row + ", " + g.type + ") -> (" +
          q.type + ", " + k.type + ", " + tensorOf({2, 5, 2}) + R"() score {
  ^bb0(%at: index, %i: index, %j: index, %s: f32):
    tds.yield %s : f32
  } slope {
  ^bb0(%at: index, %i: index, %j: index, %s: f32, %w: f32):
    tds.yield %w : f32
  })",
      {2, 4, 3}, {q, k, v, o, most, g});
}

void Builder::wholeTensors() {
  Typed a{"a", tensorOf({4, 3})}, b{"b", tensorOf({3, 5})};
  auto contract = [&](const std::string &label, Typed l, const std::string &la,
                      Typed r, const std::string &ra, const std::string &axes,
                      llvm::ArrayRef<int64_t> shape) {
    add("tds.contract", label, {l, r},
        "  %y = tds.contract %" + l.name + la + ", %" + r.name + ra + " to " +
            axes + " : " + l.type + ", " + r.type + " to " + tensorOf(shape),
        shape, {l, r});
  };
  contract("matmul", a, "[0, 2]", b, "[2, 1]", "[0, 1]", {4, 5});
  contract("transposed result", a, "[0, 2]", b, "[2, 1]", "[1, 0]", {5, 4});
  contract("dot", {"a", tensorOf({7})}, "[0]", {"b", tensorOf({7})}, "[0]",
           "[]", {});
  contract("outer", {"a", tensorOf({3})}, "[0]", {"b", tensorOf({2})}, "[1]",
           "[0, 1]", {3, 2});
  contract("batched", {"a", tensorOf({2, 3, 4})}, "[9, 0, 2]",
           {"b", tensorOf({2, 5, 4})}, "[9, 1, 2]", "[9, 0, 1]", {2, 3, 5});
  contract("lone axes", {"a", tensorOf({4, 2, 3})}, "[0, 7, 2]",
           {"b", tensorOf({3, 5, 2})}, "[2, 1, 8]", "[0, 1]", {4, 5});
  contract("empty sum", {"a", tensorOf({4, 0})}, "[0, 2]",
           {"b", tensorOf({0, 5})}, "[2, 1]", "[0, 1]", {4, 5});
  Typed none{"a", tensorOf({0, 3})};
  add("tds.contract", "empty result", {none, b},
      "  %y = tds.contract %a[0, 2], %b[2, 1] to [0, 1] : " + none.type + ", " +
          b.type + " to " + tensorOf({0, 5}),
      {0, 5}, {none});
  // The gradients above are linear in the other operand; this one is not.
  add("tds.contract", "with itself", {a},
      "  %y = tds.contract %a[0, 2], %a[1, 2] to [0, 1] : " + a.type + ", " +
          a.type + " to " + tensorOf({4, 4}),
      {4, 4}, {a});

  Typed r{"r", tensorOf({1, 3})};
  add("tds.broadcast", "stretched and new", {r},
      "  %y = tds.broadcast %r axes [1, 2] : " + r.type + " to " +
          tensorOf({2, 5, 3}),
      {2, 5, 3}, {r});
  Typed s{"s", tensorOf({})};
  add("tds.broadcast", "scalar", {s},
      "  %y = tds.broadcast %s axes [] : " + s.type + " to " + tensorOf({3, 2}),
      {3, 2}, {s});
  add("tds.broadcast", "unit axis", {r},
      "  %y = tds.broadcast %r axes [0, 2] : " + r.type + " to " +
          tensorOf({1, 1, 3}),
      {1, 1, 3}, {r});
  add("tds.reshape", "matrix", {a},
      "  %y = tds.reshape %a : " + a.type + " to " + tensorOf({2, 6}), {2, 6},
      {a});
  Typed p{"p", tensorOf({2, 3, 4})};
  add("tds.transpose", "cycle", {p},
      "  %y = tds.transpose %p [2, 0, 1] : " + p.type + " to " +
          tensorOf({4, 2, 3}),
      {4, 2, 3}, {p});
}

void Builder::reductions() {
  Typed x{"x", tensorOf({3, 4, 5})};
  for (const char *kind : {"sum", "prod", "max", "min"}) {
    std::string k = kind;
    add("tds.reduce", k + " middle", {x},
        "  %y = tds.reduce " + k + " %x axes [1] : " + x.type + " to " +
            tensorOf({3, 5}),
        {3, 5}, {x});
    add("tds.reduce", k + " two", {x},
        "  %y = tds.reduce " + k + " %x axes [0, 2] : " + x.type + " to " +
            tensorOf({4}),
        {4}, {x});
    Typed v{"v", tensorOf({7})}, one{"v", tensorOf({6, 1})},
        none{"v", tensorOf({3, 0})}, nothing{"v", tensorOf({0, 3})};
    add("tds.reduce", k + " all", {v},
        "  %y = tds.reduce " + k + " %v axes [0] : " + v.type + " to " +
            tensorOf({}),
        {}, {v});
    add("tds.reduce", k + " of one", {one},
        "  %y = tds.reduce " + k + " %v axes [1] : " + one.type + " to " +
            tensorOf({6}),
        {6}, {one});
    if (k == "sum" || k == "prod")
      add("tds.reduce", k + " of none", {none},
          "  %y = tds.reduce " + k + " %v axes [1] : " + none.type + " to " +
              tensorOf({3}),
          {3}, {none});
    add("tds.reduce", k + " to nothing", {nothing},
        "  %y = tds.reduce " + k + " %v axes [1] : " + nothing.type + " to " +
            tensorOf({0}),
        {0}, {nothing});
    // The generic form, with a body that is not just a read.
    add("tds.generic", k, {x},
        "  %y = tds.generic (%i, %j) in (5, 3) " + k +
            " (%q) in (4) : " + tensorOf({5, 3}) +
            " {\n    %e = tds.read %x[%j, %q, %i] : " + x.type +
            "\n    %s = tds.sin %e : f32\n    tds.yield %s : f32\n  }",
        {5, 3}, {x});
  }
  Typed big{"v", tensorOf({100})};
  add("tds.generic", "long prod", {big},
      "  %y = tds.generic () in () prod (%q) in (100) : tensor<f32> {\n"
      "    %e = tds.read %v[%q] : " +
          big.type +
          "\n    %c = tds.constant 1.5 : f32\n    %h = tds.exp %e : f32\n"
          "    tds.yield %h : f32\n  }",
      {}, {big});
}

void Builder::indexDefinitions() {
  Typed x{"x", tensorOf({4, 3})}, w{"w", tensorOf({3, 5})},
      b{"b", tensorOf({5})}, s{"s", tensorOf({})};
  auto generic = [&](const std::string &label, llvm::ArrayRef<Typed> wrt,
                     const std::string &head, const std::string &body,
                     llvm::ArrayRef<int64_t> shape) {
    add("tds.generic", label, wrt,
        "  %y = tds.generic " + head + " : " + tensorOf(shape) + " {\n" + body +
            "\n    tds.yield %r : f32\n  }",
        shape, wrt);
  };
  std::string readX = " : " + x.type + "\n", readW = " : " + w.type + "\n",
              readB = " : " + b.type + "\n", readS = " : " + s.type + "\n";
  generic("matmul", {x, w}, "(%i, %j) in (4, 5) sum (%k) in (3)",
          "    %u = tds.read %x[%i, %k]" + readX +
              "    %v = tds.read %w[%k, %j]" + readW +
              "    %r = tds.mul %u, %v : f32",
          {4, 5});
  generic("affine layer", {x, w, b, s}, "(%j, %i) in (5, 4) sum (%k) in (3)",
          "    %u = tds.read %x[%i, %k]" + readX +
              "    %v = tds.read %w[%k, %j]" + readW +
              "    %c = tds.read %b[%j]" + readB + "    %d = tds.read %s[]" +
              readS +
              "    %p = tds.mul %u, %v : f32\n    %q = tds.add %p, %c : f32\n"
              "    %t = tds.tanh %q : f32\n    %r = tds.mul %t, %d : f32",
          {5, 4});
  generic("read twice", {x}, "(%i, %j) in (4, 4) sum (%k) in (3)",
          "    %u = tds.read %x[%i, %k]" + readX +
              "    %v = tds.read %x[%j, %k]" + readX +
              "    %d = tds.sub %u, %v : f32\n"
              "    %r = tds.mul %d, %d : f32",
          {4, 4});
  generic("permuted", {x}, "(%i, %j) in (3, 4)",
          "    %u = tds.read %x[%j, %i]" + readX + "    %r = tds.exp %u : f32",
          {3, 4});
  generic("fewer than all", {x}, "(%i, %j) in (2, 2)",
          "    %u = tds.read %x[%i, %j]" + readX + "    %r = tds.exp %u : f32",
          {2, 2});
  generic("constant place", {x}, "(%j) in (3)",
          "    %at = tds.constant 2 : index\n    %u = tds.read %x[%at, %j]" +
              readX + "    %r = tds.exp %u : f32",
          {3});
  Typed m{"m", tensorOf({4, 4})};
  std::string readM = " : " + m.type + "\n";
  generic("diagonal", {m}, "(%i) in (4)",
          "    %u = tds.read %m[%i, %i]" + readM + "    %r = tds.exp %u : f32",
          {4});
  generic("trace", {m}, "() in () sum (%i) in (4)",
          "    %u = tds.read %m[%i, %i]" + readM + "    %r = tds.exp %u : f32",
          {});
  generic("triangle by select", {m}, "(%i, %j) in (4, 4)",
          "    %u = tds.read %m[%i, %j]" + readM +
              "    %q = tds.compare ge %i, %j : index\n"
              "    %z = tds.constant 0.0 : f32\n    %e = tds.exp %u : f32\n"
              "    %r = tds.select %q, %e, %z : i1, f32",
          {4, 4});
  generic(
      "random factor", {x}, "(%i, %j) in (4, 3)",
      "    %u = tds.read %x[%i, %j]" + readX +
          "    %sd = tds.constant 7 : i64\n"
          "    %lin = tds.apply affine_map<(d0, d1) -> (d0 * 3 + d1)> (%i, "
          "%j)\n"
          "    %n = tds.random uniform %sd, %sd, %lin {site = 1 : i32} : f32\n"
          "    %r = tds.mul %u, %n : f32",
      {4, 3});
}

void Builder::windows() {
  auto window = [&](const std::string &label, Typed x, const std::string &head,
                    const std::string &body, llvm::ArrayRef<int64_t> shape) {
    add("tds.generic", label, {x},
        "  %y = tds.generic " + head + " : " + tensorOf(shape) + " {\n" + body +
            "    %r = tds.sin %e : f32\n    tds.yield %r : f32\n  }",
        shape, {x});
  };
  auto apply = [](const std::string &name, const std::string &map,
                  const std::string &operands) {
    return "    %" + name + " = tds.apply affine_map<" + map + "> (" +
           operands + ")\n";
  };
  Typed x{"x", tensorOf({11})};
  std::string read = "    %e = tds.read %x[%at] : " + x.type + "\n";
  std::string guarded =
      "    %e = tds.read %x[%at] guard 0.5 : f32 : " + x.type + "\n";
  std::string clamped = "    %e = tds.read %x[%at] clamped : " + x.type + "\n";
  window("window", x, "(%i) in (9) sum (%u) in (3)",
         apply("at", "(d0, d1) -> (d0 + d1)", "%i, %u") + read, {9});
  window("flipped window", x, "(%i) in (9) sum (%u) in (3)",
         apply("at", "(d0, d1) -> (d0 - d1 + 2)", "%i, %u") + read, {9});
  window("strided", x, "(%i) in (4) sum (%u) in (3)",
         apply("at", "(d0, d1) -> (2 * d0 + d1)", "%i, %u") + read, {4});
  window("dilated", x, "(%i) in (5) sum (%u) in (3)",
         apply("at", "(d0, d1) -> (d0 + 3 * d1)", "%i, %u") + read, {5});
  window("strided and dilated", x, "(%i) in (2) max (%u) in (3)",
         apply("at", "(d0, d1) -> (4 * d0 + 3 * d1)", "%i, %u") + read, {2});
  window("max pool", x, "(%i) in (5) max (%u) in (2)",
         apply("at", "(d0, d1) -> (2 * d0 + d1)", "%i, %u") + read, {5});
  window("flip", x, "(%i) in (11)",
         apply("at", "(d0) -> (10 - d0)", "%i") + read, {11});
  window("shift", x, "(%i) in (7)",
         apply("at", "(d0) -> (d0 + 3)", "%i") + read, {7});
  window("repeat", x, "(%i) in (31)",
         apply("at", "(d0) -> (d0 floordiv 3)", "%i") + read, {31});
  window("tile", x, "(%i) in (25)",
         apply("at", "(d0) -> (d0 mod 11)", "%i") + read, {25});
  window("blocks", x, "(%i, %j) in (7, 3)",
         apply("at", "(d0, d1) -> ((d0 + 2 * d1) floordiv 2)", "%i, %j") + read,
         {7, 3});
  window("padded", x, "(%i) in (13) sum (%u) in (3)",
         apply("at", "(d0, d1) -> (d0 + d1 - 2)", "%i, %u") + guarded, {13});
  window("padded and strided", x, "(%i) in (6) sum (%u) in (3)",
         apply("at", "(d0, d1) -> (2 * d0 + d1 - 1)", "%i, %u") + guarded, {6});
  window("clamped", x, "(%i) in (13) sum (%u) in (3)",
         apply("at", "(d0, d1) -> (d0 + d1 - 2)", "%i, %u") + clamped, {13});
  window("clamped inside", x, "(%i) in (9) sum (%u) in (3)",
         apply("at", "(d0, d1) -> (d0 + d1)", "%i, %u") + clamped, {9});
  window("mixed quotients", x, "(%i) in (40)",
         apply("at", "(d0) -> (d0 floordiv 8 + d0 mod 4)", "%i") + read, {40});
  Typed m{"x", tensorOf({7, 9})};
  std::string read2 = "    %e = tds.read %x[%at, %bt] : " + m.type + "\n";
  window("skewed", m, "(%i, %j) in (4, 4)",
         apply("at", "(d0, d1) -> (d0 + d1)", "%i, %j") +
             apply("bt", "(d0, d1) -> (d0 - d1 + 4)", "%i, %j") + read2,
         {4, 4});
  window("shared window", m, "(%i) in (5) sum (%u, %v) in (3, 2)",
         apply("at", "(d0, d1) -> (d0 + d1)", "%i, %u") +
             apply("bt", "(d0, d1) -> (d0 + 2 * d1)", "%i, %v") + read2,
         {5});
  // A convolution with stride 2 and padding 1.
  Typed image{"x", tensorOf({2, 3, 7, 5})}, filter{"f", tensorOf({4, 3, 3, 3})};
  add("tds.generic", "convolution", {image, filter},
      "  %y = tds.generic (%b, %k, %i, %j) in (2, 4, 4, 3) sum (%c, %u, %v) in "
      "(3, 3, 3) : " +
          tensorOf({2, 4, 4, 3}) + " {\n" +
          apply("p", "(d0, d1) -> (2 * d0 + d1 - 1)", "%i, %u") +
          apply("q", "(d0, d1) -> (2 * d0 + d1 - 1)", "%j, %v") +
          "    %a = tds.read %x[%b, %c, %p, %q] guard 0.0 : f32 : " +
          image.type +
          "\n    %w = tds.read %f[%k, %c, %u, %v] : " + filter.type +
          "\n    %m = tds.mul %a, %w : f32\n    tds.yield %m : f32\n  }",
      {2, 4, 4, 3}, {image, filter});
}

void Builder::gathers() {
  Typed table{"t", tensorOf({9, 4})}, values{"v", tensorOf({6, 4})};
  std::string ids = "tensor<6xi32>";
  std::string index = "    %id = tds.read %ids[%i] : " + ids +
                      "\n    %at = tds.cast %id : i32 to index\n";
  add("tds.generic", "gather", {table, {"ids", ids}},
      "  %y = tds.generic (%i, %k) in (6, 4) : " + tensorOf({6, 4}) + " {\n" +
          index +
          "    %e = tds.read %t[%at, %k] guard 0.0 : f32 : " + table.type +
          "\n    %s = tds.sin %e : f32\n    tds.yield %s : f32\n  }",
      {6, 4}, {table});
  add("tds.generic", "gathered sum", {table, values, {"ids", ids}},
      "  %y = tds.generic (%k) in (4) sum (%i) in (6) : " + tensorOf({4}) +
          " {\n" + index + "    %e = tds.read %t[%at, %k] guard 0.0 : f32 : " +
          table.type + "\n    %w = tds.read %v[%i, %k] : " + values.type +
          "\n    %m = tds.mul %e, %w : f32\n    tds.yield %m : f32\n  }",
      {4}, {table, values});
  std::string label = "    %id = tds.read %ids[%i] : " + ids +
                      "\n    %at = tds.cast %id : i32 to index\n";
  add("tds.generic", "label", {values, {"ids", ids}},
      "  %y = tds.generic (%i) in (6) : " + tensorOf({6}) + " {\n" + label +
          "    %e = tds.read %v[%i, %at] guard 0.0 : f32 : " + values.type +
          "\n    %s = tds.exp %e : f32\n    tds.yield %s : f32\n  }",
      {6}, {values});
  add("tds.generic", "labels summed", {values, {"ids", ids}},
      "  %y = tds.generic () in () sum (%i) in (6) : tensor<f32> {\n" + label +
          "    %e = tds.read %v[%i, %at] guard 0.0 : f32 : " + values.type +
          "\n    %s = tds.sin %e : f32\n    tds.yield %s : f32\n  }",
      {}, {values});
  add("tds.scatter", "scatter", {values, {"ids", ids}},
      "  %y = tds.scatter (%i, %k) in (6, 4) : " + tensorOf({9, 4}) + " {\n" +
          index + "    %e = tds.read %v[%i, %k] : " + values.type +
          "\n    %s = tds.sin %e : f32\n    tds.scatter_yield %s at [%at, %k] "
          ": "
          "f32\n  }",
      {9, 4}, {values});
}

/// A fold over `x`, 3 iterations of rows of 4, whose body gives %y.
static std::string foldOver(const std::string &head, const std::string &body,
                            const std::string &types,
                            const std::string &arguments) {
  return "  %y = tds.fold 3 " + head + " : (" + types +
         ") -> (tensor<4xf32>) {\n  ^bb0(%t: tensor<i32>, " + arguments +
         "):\n" + body + "  }";
}

void Builder::folds() {
  Typed x{"x", "tensor<3x4xf32>"}, h{"h", "tensor<4xf32>"},
      w{"w", "tensor<4xf32>"}, m{"m", "tensor<4x4xf32>"};
  const std::string v = "tensor<4xf32>";
  std::string step =
      "    %p = tds.mul %a, %b : " + v + "\n    %q = tds.add %p, %xt : " + v +
      "\n    %r = tds.sin %q : " + v + "\n    tds.yield %r : " + v + "\n";
  for (const char *direction : {"", "reverse "})
    add("tds.fold", std::string("slices ") + direction, {x, h, w},
        foldOver(direction + std::string("carry(%h) slices(%x) invariants(%w)"),
                 step, v + ", tensor<3x4xf32>, " + v,
                 "%a: " + v + ", %xt: " + v + ", %b: " + v),
        {4}, {x, h, w});
  add("tds.fold", "a contraction, collected", {x, m},
      "  %h = tds.constant dense<0.5> : " + v +
          "\n  %last, %y = tds.fold 3 carry(%h) slices(%x) invariants(%m) : (" +
          v + ", tensor<3x4xf32>, tensor<4x4xf32>) -> (" + v +
          ", tensor<3x4xf32>) {\n  ^bb0(%t: tensor<i32>, %a: " + v +
          ", %xt: " + v + ", %b: tensor<4x4xf32>):\n" +
          "    %p = tds.contract %a[0], %b[0, 1] to [1] : " + v +
          ", tensor<4x4xf32> to " + v + "\n    %q = tds.add %p, %xt : " + v +
          "\n    %r = tds.tanh %q : " + v + "\n    %s = tds.mul %r, %a : " + v +
          "\n    tds.yield %r, %s : " + v + ", " + v + "\n  }",
      {3, 4}, {x, m});
  // Reads at the number of the iteration: on the first axis, and one place back
  // on the second, where there is a guard.
  add("tds.fold", "reads at the iteration", {x, m, h},
      foldOver("carry(%h) invariants(%x, %m)",
               R"(    %e = tds.generic (%i) in (4) : tensor<4xf32> {
      %n = tds.read %t[] : tensor<i32>
      %at = tds.cast %n : i32 to index
      %p = tds.read %xs[%at, %i] : tensor<3x4xf32>
      %one = tds.constant 1 : i32
      %less = tds.sub %n, %one : i32
      %before = tds.cast %less : i32 to index
      %q = tds.read %ms[%i, %before] guard 0.5 : f32 : tensor<4x4xf32>
      %o = tds.read %a[%i] : tensor<4xf32>
      %r = tds.mul %p, %q : f32
      %s = tds.add %r, %o : f32
      %u = tds.sin %s : f32
      tds.yield %u : f32
    }
    tds.yield %e : tensor<4xf32>
)",
               v + ", tensor<3x4xf32>, tensor<4x4xf32>",
               "%a: " + v + ", %xs: tensor<3x4xf32>, %ms: tensor<4x4xf32>"),
      {4}, {x, m, h});
  // Two carried values that change places, a loop inside, a counter that is
  // carried, and an invariant that is not read by every iteration alike.
  add("tds.fold", "nested", {x, h, w},
      "  %zero = tds.constant dense<0> : tensor<i32>\n" +
          std::string("  %y, %z, %n = tds.fold 3 carry(%h, %w, %zero) "
                      "slices(%x) invariants(%w) : (") +
          v + ", " + v + ", tensor<i32>, tensor<3x4xf32>, " + v + ") -> (" + v +
          ", " + v + ", tensor<i32>) {\n  ^bb0(%t: tensor<i32>, %a: " + v +
          ", %b: " + v + ", %k: tensor<i32>, %xt: " + v + ", %c: " + v +
          "):\n    %in = tds.fold 2 carry(%a) invariants(%xt, %c) : (" + v +
          ", " + v + ", " + v + ") -> (" + v +
          ") {\n    ^bb0(%s: tensor<i32>, %d: " + v + ", %xs: " + v +
          ", %cs: " + v + "):\n      %p = tds.mul %d, %xs : " + v +
          "\n      %q = tds.add %p, %cs : " + v +
          "\n      %r = tds.sin %q : " + v + "\n      tds.yield %r : " + v +
          "\n    }\n    %m = tds.mul %b, %in : " + v +
          "\n    %j = tds.add %k, %t : tensor<i32>\n    tds.yield %m, %in, %j "
          ": " +
          v + ", " + v + ", tensor<i32>\n  }",
      {4}, {x, h, w});
  // Nothing is kept of a checkpoint.
  add("tds.fold", "checkpoint", {h, w},
      "  %c = tds.fold 1 carry() invariants(%h, %w) {tds.checkpoint} : (" + v +
          ", " + v + ") -> (tensor<1x4xf32>) {\n  ^bb0(%t: tensor<i32>, %a: " +
          v + ", %b: " + v + "):\n    %p = tds.mul %a, %b : " + v +
          "\n    %q = tds.sin %p : " + v + "\n    tds.yield %q : " + v +
          "\n  }\n  %y = tds.reshape %c : tensor<1x4xf32> to " + v,
      {4}, {h, w});
}

const std::vector<CatalogueEntry> &tdsl::test::getCatalogue() {
  static const std::vector<CatalogueEntry> entries = [] {
    Builder builder;
    builder.elementwise();
    builder.attentions();
    builder.wholeTensors();
    builder.reductions();
    builder.indexDefinitions();
    builder.windows();
    builder.gathers();
    builder.folds();
    return std::move(builder.entries);
  }();
  return entries;
}
