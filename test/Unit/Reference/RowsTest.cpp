//===- RowsTest.cpp - scalar operations against wide arithmetic -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <cmath>
#include <ctime>

using namespace tdsl;
using namespace tdsl::test;

namespace {

using reference::LoopNest;
using reference::Opcode;

/// `opcode` on two tensors of one kind.
Tensor apply(Opcode opcode, const Tensor &a, const Tensor &b) {
  LoopNest nest;
  nest.parallel = {a.numElements()};
  reference::Reg x = nest.program.affineRead(0, a.kind(), 0, {1});
  reference::Reg y = nest.program.affineRead(1, b.kind(), 0, {1});
  nest.yield = nest.program.op(opcode, a.kind(), x, y);
  nest.yieldKind = a.kind();
  auto result = reference::runNest(nest, {&a, &b});
  EXPECT_TRUE(bool(result));
  return result->reshapedTo(a.shape());
}

__int128 floorDivide(__int128 a, __int128 b) {
  if (b == 0)
    return 0;
  __int128 quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// All pairs of 8-bit integers, and random ones of the wider types.
void checkIntegers(ElementKind kind) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  if (reference::bytesOf(kind) == 1) {
    for (int64_t a = 0; a < 256; ++a)
      for (int64_t b = 0; b < 256; ++b)
        pairs.emplace_back(a, b);
  } else {
    std::mt19937_64 random(1);
    Tensor values = hostile(kind, {2000}, random);
    for (int64_t i = 0; i < 2000; i += 2)
      pairs.emplace_back(values.getInt(i), values.getInt(i + 1));
  }
  Tensor a(kind, {int64_t(pairs.size())}), b = a;
  for (auto [i, pair] : llvm::enumerate(pairs)) {
    a.set(i, pair.first);
    b.set(i, pair.second);
  }
  Tensor sum = apply(Opcode::Add, a, b), difference = apply(Opcode::Sub, a, b),
         product = apply(Opcode::Mul, a, b),
         quotient = apply(Opcode::FloorDiv, a, b),
         remainder = apply(Opcode::Mod, a, b),
         larger = apply(Opcode::Max, a, b);
  Tensor wrapped(kind, {1});
  auto wrap = [&](__int128 value) {
    wrapped.set(0, static_cast<int64_t>(value));
    return wrapped.getInt(0);
  };
  for (int64_t i = 0; i < a.numElements(); ++i) {
    __int128 x = a.getInt(i), y = b.getInt(i);
    ASSERT_EQ(sum.getInt(i), wrap(x + y));
    ASSERT_EQ(difference.getInt(i), wrap(x - y));
    ASSERT_EQ(product.getInt(i), wrap(x * y));
    ASSERT_EQ(quotient.getInt(i), wrap(floorDivide(x, y)));
    ASSERT_EQ(remainder.getInt(i),
              y == 0 ? 0 : wrap(x - floorDivide(x, y) * y));
    ASSERT_EQ(larger.getInt(i), int64_t(x < y ? y : x));
  }
}

TEST(Rows, Integers) {
  for (ElementKind kind :
       {ElementKind::I8, ElementKind::U8, ElementKind::I32, ElementKind::I64})
    checkIntegers(kind);
}

/// 16-bit sums, products and quotients are the correctly rounded ones: computed
/// in double, where they are exact or far from a tie.
TEST(Rows, NarrowFloatsRoundOnce) {
  std::mt19937_64 random(2);
  for (ElementKind kind : {ElementKind::F16, ElementKind::BF16}) {
    Tensor a = hostile(kind, {5000}, random), b = hostile(kind, {5000}, random);
    Tensor sum = apply(Opcode::Add, a, b), product = apply(Opcode::Mul, a, b),
           quotient = apply(Opcode::Div, a, b);
    Tensor expected(kind, {5000});
    auto compare = [&](const Tensor &got, auto function) {
      for (int64_t i = 0; i < 5000; ++i)
        expected.set(i, double(function(a.getDouble(i), b.getDouble(i))));
      EXPECT_TRUE(reference::sameBits(got, expected));
    };
    compare(sum, [](double x, double y) { return x + y; });
    compare(product, [](double x, double y) { return x * y; });
    compare(quotient, [](double x, double y) { return x / y; });
  }
}

#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) &&                       \
    !__has_feature(address_sanitizer)
/// A body of eight operations over four million points.
TEST(Rows, IsFast) {
  LoopNest nest;
  nest.parallel = {2048, 2048};
  Tensor x = Tensor::splat(ElementKind::F32, {2048, 2048}, 0.5);
  reference::Reg value =
      nest.program.affineRead(0, ElementKind::F32, 0, {2048, 1});
  for (int i = 0; i < 4; ++i) {
    value = nest.program.op(Opcode::Mul, ElementKind::F32, value, value);
    value = nest.program.op(Opcode::Add, ElementKind::F32, value, value);
  }
  nest.yield = value;
  std::clock_t start = std::clock();
  auto result = reference::runNest(nest, {&x});
  double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  ASSERT_TRUE(bool(result));
  double rate = 8.0 * 2048 * 2048 / seconds;
  RecordProperty("operations_per_second", std::to_string(rate));
  EXPECT_GE(rate, 200e6);
}
#endif

} // namespace
