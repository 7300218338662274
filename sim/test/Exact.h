//===- Exact.h - exact binary numbers, rounded once -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of floating-point opcodes are computed here with whole
// numbers of any length times a power of two, and rounded once to the format:
// nothing in common with how the simulator does it.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_TEST_EXACT_H
#define TDSL_SIM_TEST_EXACT_H

#include <cstdint>
#include <string>
#include <vector>

namespace simtest {

/// A natural number in limbs of 32 bits, lowest first, without leading zeros.
class Natural {
public:
  Natural(unsigned long long v = 0);
  bool isZero() const { return limbs.empty(); }
  int bits() const;
  bool bit(int i) const;
  /// Whether any bit below `i` is set.
  bool anyBelow(int i) const;
  Natural operator<<(int n) const;
  Natural operator>>(int n) const;
  Natural operator+(const Natural &o) const;
  Natural operator-(const Natural &o) const; // o <= *this
  Natural operator*(const Natural &o) const;
  bool operator<(const Natural &o) const;
  unsigned long long low() const;
  static Natural quotient(const Natural &a, const Natural &b, bool &exact);
  static Natural root(const Natural &a, bool &exact);

private:
  void trim();
  std::vector<uint32_t> limbs;
};

/// (negative ? -m : m) * 2^e, or not finite. Zeros keep their sign.
struct Exact {
  enum Kind { Finite, Infinite, Nan } kind = Finite;
  bool negative = false;
  Natural m;
  int e = 0;
  bool isZero() const { return kind == Finite && m.isZero(); }
  static Exact whole(__int128 v);
};

/// A binary format: bits of significand (with the hidden one) and of exponent.
struct Format {
  int precision, exponentBits;
  unsigned long long nan; // the pattern that results take
  int width() const { return precision + exponentBits; }
  int bias() const { return (1 << (exponentBits - 1)) - 1; }
};
extern const Format formatF16, formatBf16, formatF32, formatF64;

Exact decode(const Format &f, unsigned long long bits);
/// Rounds to nearest even (N), towards zero (Z), down (M) or up (P). A sticky
/// bit below the last one of `x` may stand for what was cut off.
unsigned long long encode(const Format &f, const Exact &x, char mode);
/// The whole number next to `x` in that mode.
Exact roundToWhole(const Exact &x, char mode);

Exact sum(const Exact &a, const Exact &b, char mode);
Exact product(const Exact &a, const Exact &b);
Exact quotient(const Exact &a, const Exact &b); // with a sticky bit
Exact squareRoot(const Exact &a);               // likewise
Exact negated(Exact a);
/// -1, 0, 1, or 2 where either is no number.
int compare(const Exact &a, const Exact &b);
/// Subnormals of `f` become zeros of their sign.
unsigned long long flushed(const Format &f, unsigned long long bits);

} // namespace simtest

#endif // TDSL_SIM_TEST_EXACT_H
