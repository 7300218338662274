//===- ReadInversionTest.cpp - inverted index expressions -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadInversion.h"

#include "Programs.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/AffineMap.h"

#include <functional>
#include <map>

using namespace mlir;
using namespace tdsl::autodiff;
using namespace tdsl::test;

using Point = std::vector<int64_t>;

static void forEachPoint(ArrayRef<int64_t> extents,
                         const std::function<void(const Point &)> &visit) {
  Point point(extents.size(), 0);
  for (int64_t extent : extents)
    if (extent == 0)
      return;
  while (true) {
    visit(point);
    size_t i = 0;
    for (; i < point.size(); ++i) {
      if (++point[i] < extents[i])
        break;
      point[i] = 0;
    }
    if (i == point.size())
      return;
  }
}

static int64_t evaluateAt(AffineExpr expr, const Point &point) {
  MLIRContext *context = expr.getContext();
  SmallVector<AffineExpr> values;
  for (int64_t value : point)
    values.push_back(getAffineConstantExpr(value, context));
  return cast<AffineConstantExpr>(
             simplifyAffineExpr(expr.replaceDims(values), 0, 0))
      .getValue();
}

/// The inversion must list, for every element, exactly the iterations that read
/// it, each once, and stay in range wherever it says so.
static void expectInverse(const std::string &map, Point extents, Point shape) {
  auto affine = cast<AffineMapAttr>(
                    parseAttribute("affine_map<" + map + ">", &getContext()))
                    .getValue();
  ReadInversion inversion =
      invertRead(affine.getResults(), shape, extents, 1, &getContext());
  std::map<Point, std::multiset<Point>> expected, found;
  forEachPoint(extents, [&](const Point &point) {
    Point element;
    for (AffineExpr expr : affine.getResults())
      element.push_back(evaluateAt(expr, point));
    for (size_t i = 0; i < shape.size(); ++i)
      if (element[i] < 0 || element[i] >= shape[i])
        return;
    expected[element].insert(point);
  });
  Point space = shape;
  space.insert(space.end(), inversion.freeExtents.begin(),
               inversion.freeExtents.end());
  forEachPoint(space, [&](const Point &point) {
    Point iteration;
    for (AffineExpr expr : inversion.indexExprs)
      iteration.push_back(evaluateAt(expr, point));
    for (size_t i = 0; i < extents.size(); ++i)
      if (!inversion.mayLeave[i])
        ASSERT_TRUE(iteration[i] >= 0 && iteration[i] < extents[i]) << map;
    for (const auto &conditions : {inversion.equations, inversion.ranges})
      for (const ReadCondition &condition : conditions) {
        int64_t value = evaluateAt(condition.expr, point);
        if (condition.kind == ReadCondition::Zero ? value != 0 : value < 0)
          return;
      }
    found[Point(point.begin(), point.begin() + shape.size())].insert(iteration);
  });
  EXPECT_TRUE(found == expected) << map;
}

TEST(ReadInversion, listsTheIterationsOfEachElement) {
  expectInverse("(d0, d1) -> (d1, d0)", {4, 3}, {3, 4});
  expectInverse("(d0, d1) -> (d0)", {4, 3}, {4});
  expectInverse("(d0) -> (d0)", {4}, {9});
  expectInverse("(d0) -> (d0, d0)", {4}, {4, 6});
  expectInverse("(d0) -> (2, d0)", {4}, {5, 4});
  expectInverse("(d0, d1) -> (d0 + d1)", {6, 3}, {8});
  expectInverse("(d0, d1) -> (d0 + d1 - 2)", {9, 3}, {7});
  expectInverse("(d0, d1) -> (2 * d0 + d1)", {4, 3}, {11});
  expectInverse("(d0, d1) -> (4 * d0 + 6 * d1 + 1)", {4, 3}, {30});
  expectInverse("(d0, d1) -> (d0 + d1, d0 - d1 + 4)", {4, 5}, {9, 9});
  expectInverse("(d0, d1) -> (2 * d0 + d1, d0 + 2 * d1)", {4, 5}, {11, 12});
  expectInverse("(d0, d1) -> (2 * d0 + 4 * d1, d0 + 3 * d1)", {4, 5}, {23, 16});
  expectInverse("(d0) -> (-d0 + 7)", {8}, {8});
  expectInverse("(d0) -> (d0 floordiv 3)", {10}, {4});
  expectInverse("(d0) -> (d0 mod 3)", {10}, {5});
  expectInverse("(d0, d1) -> ((d0 + d1) floordiv 2, d1)", {6, 4}, {5, 4});
  expectInverse("(d0, d1) -> ((d0 - d1) mod 4)", {6, 5}, {4});
  expectInverse("(d0) -> (d0 floordiv 4, d0 mod 4)", {12}, {3, 4});
  expectInverse("(d0) -> (d0 floordiv 8 + d0 mod 4)", {20}, {6});
  expectInverse("(d0) -> (d0 ceildiv 3)", {10}, {4});
  expectInverse("(d0, d1) -> (d0 + d1)", {0, 3}, {4});
  expectInverse("(d0, d1, d2) -> (d0 + d1 + d2, d1)", {5, 3, 2}, {8, 3});
}

/// Random linear maps of small coefficients.
TEST(ReadInversion, randomLinearMaps) {
  uint64_t state = 12345;
  auto draw = [&](int64_t low, int64_t high) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + static_cast<int64_t>((state >> 33) % (high - low + 1));
  };
  for (int trial = 0; trial < 200; ++trial) {
    int64_t dims = draw(1, 3), axes = draw(1, 3);
    Point extents, shape;
    std::string map = "(";
    for (int64_t i = 0; i < dims; ++i) {
      extents.push_back(draw(1, 5));
      map += (i ? ", d" : "d") + std::to_string(i);
    }
    map += ") -> (";
    for (int64_t k = 0; k < axes; ++k) {
      shape.push_back(draw(1, 8));
      map += (k ? ", " : "") + std::to_string(draw(-2, 3));
      for (int64_t i = 0; i < dims; ++i)
        map += " + " + std::to_string(draw(-2, 2)) + " * d" + std::to_string(i);
      int64_t form = draw(0, 5);
      if (form == 0)
        map += " floordiv 2";
      else if (form == 1)
        map += " mod 3";
    }
    expectInverse(map + ")", extents, shape);
  }
}
