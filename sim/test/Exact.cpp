//===- Exact.cpp - exact binary numbers, rounded once -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Exact.h"

#include <algorithm>

namespace simtest {

Natural::Natural(unsigned long long v) {
  for (; v; v >>= 32)
    limbs.push_back((uint32_t)v);
}
void Natural::trim() {
  while (!limbs.empty() && !limbs.back())
    limbs.pop_back();
}
int Natural::bits() const {
  return limbs.empty() ? 0
                       : (int)limbs.size() * 32 - __builtin_clz(limbs.back());
}
bool Natural::bit(int i) const {
  return i >= 0 && (size_t)(i / 32) < limbs.size() &&
         (limbs[(size_t)(i / 32)] >> (i % 32) & 1);
}
bool Natural::anyBelow(int i) const {
  for (int k = 0; k < i && k < bits(); ++k)
    if (bit(k))
      return true;
  return false;
}
Natural Natural::operator<<(int n) const {
  if (n < 0)
    return *this >> -n;
  Natural r;
  r.limbs.assign(limbs.size() + (size_t)n / 32 + 1, 0);
  for (size_t i = 0; i < limbs.size(); ++i) {
    uint64_t v = (uint64_t)limbs[i] << (n % 32);
    r.limbs[i + (size_t)n / 32] |= (uint32_t)v;
    r.limbs[i + (size_t)n / 32 + 1] |= (uint32_t)(v >> 32);
  }
  r.trim();
  return r;
}
Natural Natural::operator>>(int n) const {
  if (n < 0)
    return *this << -n;
  Natural r;
  for (int i = n; i < bits(); ++i)
    if (bit(i)) {
      size_t at = (size_t)(i - n) / 32;
      if (r.limbs.size() <= at)
        r.limbs.resize(at + 1);
      r.limbs[at] |= 1u << ((i - n) % 32);
    }
  return r;
}
Natural Natural::operator+(const Natural &o) const {
  Natural r;
  uint64_t carry = 0;
  for (size_t i = 0; i < std::max(limbs.size(), o.limbs.size()) + 1; ++i) {
    carry += i < limbs.size() ? limbs[i] : 0;
    carry += i < o.limbs.size() ? o.limbs[i] : 0;
    r.limbs.push_back((uint32_t)carry);
    carry >>= 32;
  }
  r.trim();
  return r;
}
Natural Natural::operator-(const Natural &o) const {
  Natural r;
  int64_t borrow = 0;
  for (size_t i = 0; i < limbs.size(); ++i) {
    int64_t v = (int64_t)limbs[i] - borrow -
                (i < o.limbs.size() ? (int64_t)o.limbs[i] : 0);
    borrow = v < 0;
    r.limbs.push_back((uint32_t)v);
  }
  r.trim();
  return r;
}
Natural Natural::operator*(const Natural &o) const {
  Natural r;
  r.limbs.assign(limbs.size() + o.limbs.size() + 1, 0);
  for (size_t i = 0; i < limbs.size(); ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; j < o.limbs.size() || carry; ++j) {
      carry += r.limbs[i + j] +
               (j < o.limbs.size() ? (uint64_t)limbs[i] * o.limbs[j] : 0);
      r.limbs[i + j] = (uint32_t)carry;
      carry >>= 32;
    }
  }
  r.trim();
  return r;
}
bool Natural::operator<(const Natural &o) const {
  if (limbs.size() != o.limbs.size())
    return limbs.size() < o.limbs.size();
  for (size_t i = limbs.size(); i-- > 0;)
    if (limbs[i] != o.limbs[i])
      return limbs[i] < o.limbs[i];
  return false;
}
unsigned long long Natural::low() const {
  return (limbs.empty() ? 0 : limbs[0]) |
         (unsigned long long)(limbs.size() > 1 ? limbs[1] : 0) << 32;
}
Natural Natural::quotient(const Natural &a, const Natural &b, bool &exact) {
  Natural q, rest;
  for (int i = a.bits() - 1; i >= 0; --i) {
    rest = (rest << 1) + Natural(a.bit(i));
    q = q << 1;
    if (!(rest < b)) {
      rest = rest - b;
      q = q + Natural(1);
    }
  }
  exact = rest.isZero();
  return q;
}
Natural Natural::root(const Natural &a, bool &exact) {
  Natural r;
  for (int i = a.bits() / 2; i >= 0; --i) {
    Natural next = r + (Natural(1) << i);
    if (!(a < next * next))
      r = next;
  }
  exact = (a - r * r).isZero();
  return r;
}

const Format formatF16{11, 5, 0x7fff}, formatBf16{8, 8, 0x7fff},
    formatF32{24, 8, 0x7fffffff}, formatF64{53, 11, 0xfff8000000000000ull};

Exact Exact::whole(__int128 v) {
  Exact x;
  x.negative = v < 0;
  unsigned __int128 u = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
  x.m = (Natural((unsigned long long)(u >> 64)) << 64) +
        Natural((unsigned long long)u);
  return x;
}

Exact decode(const Format &f, unsigned long long bits) {
  const int stored = f.precision - 1;
  Exact x;
  x.negative = bits >> (f.width() - 1) & 1;
  int e = (int)(bits >> stored & ((1u << f.exponentBits) - 1));
  unsigned long long m = bits & ((1ull << stored) - 1);
  if (e == (1 << f.exponentBits) - 1) {
    x.kind = m ? Exact::Nan : Exact::Infinite;
    return x;
  }
  x.m = Natural(e ? m | 1ull << stored : m);
  x.e = std::max(e, 1) - f.bias() - stored;
  return x;
}

unsigned long long encode(const Format &f, const Exact &x, char mode) {
  const int stored = f.precision - 1, most = (1 << f.exponentBits) - 1;
  const unsigned long long sign = (unsigned long long)x.negative
                                  << (f.width() - 1),
                           inf = (unsigned long long)most << stored;
  if (x.kind == Exact::Nan)
    return f.nan;
  if (x.kind == Exact::Infinite)
    return sign | inf;
  if (x.m.isZero())
    return sign;
  const int least = 1 - f.bias() - stored; // exponent of the smallest unit
  int unit = std::max(x.e + x.m.bits() - f.precision, least);
  int drop = unit - x.e;
  Natural m = x.m >> drop;
  if (drop > 0) {
    bool half = x.m.bit(drop - 1), rest = x.m.anyBelow(drop - 1);
    bool up = mode == 'N'   ? half && (rest || m.bit(0))
              : mode == 'M' ? x.negative && (half || rest)
              : mode == 'P' ? !x.negative && (half || rest)
                            : false;
    if (up)
      m = m + Natural(1);
  }
  if (m.bits() > f.precision) {
    m = m >> 1;
    ++unit;
  }
  int e = m.bits() < f.precision ? 0 : unit + f.bias() + stored;
  if (e >= most) {
    // Beyond the largest: infinity, or the largest where rounding holds back.
    bool stay = mode == 'Z' || (mode == 'M' && !x.negative) ||
                (mode == 'P' && x.negative);
    return sign | (stay ? inf - 1 : inf);
  }
  return sign | (unsigned long long)e << stored |
         (m.low() & ((1ull << stored) - 1));
}

Exact roundToWhole(const Exact &x, char mode) {
  if (x.kind != Exact::Finite || x.e >= 0)
    return x;
  int drop = -x.e;
  Exact r = x;
  r.m = x.m >> drop;
  r.e = 0;
  bool half = x.m.bit(drop - 1), rest = x.m.anyBelow(drop - 1);
  bool up = mode == 'N'   ? half && (rest || r.m.bit(0))
            : mode == 'M' ? x.negative && (half || rest)
            : mode == 'P' ? !x.negative && (half || rest)
                          : false;
  if (up)
    r.m = r.m + Natural(1);
  return r;
}

Exact negated(Exact a) {
  a.negative = !a.negative;
  return a;
}

Exact sum(const Exact &a, const Exact &b, char mode) {
  Exact nan;
  nan.kind = Exact::Nan;
  if (a.kind == Exact::Nan || b.kind == Exact::Nan)
    return nan;
  if (a.kind == Exact::Infinite)
    return b.kind == Exact::Infinite && a.negative != b.negative ? nan : a;
  if (b.kind == Exact::Infinite)
    return b;
  Exact r;
  r.e = std::min(a.e, b.e);
  Natural x = a.m << (a.e - r.e), y = b.m << (b.e - r.e);
  if (a.negative == b.negative) {
    r.m = x + y;
    r.negative = a.negative;
  } else if (x < y) {
    r.m = y - x;
    r.negative = b.negative;
  } else {
    r.m = x - y;
    r.negative = a.negative;
    // An exact zero of opposite signs is minus only when rounding down.
    if (r.m.isZero())
      r.negative = mode == 'M';
  }
  return r;
}
Exact product(const Exact &a, const Exact &b) {
  Exact r;
  r.negative = a.negative != b.negative;
  if (a.kind == Exact::Nan || b.kind == Exact::Nan ||
      (a.kind == Exact::Infinite && b.isZero()) ||
      (b.kind == Exact::Infinite && a.isZero())) {
    r.kind = Exact::Nan;
    return r;
  }
  if (a.kind == Exact::Infinite || b.kind == Exact::Infinite) {
    r.kind = Exact::Infinite;
    return r;
  }
  r.m = a.m * b.m;
  r.e = a.e + b.e;
  return r;
}
Exact quotient(const Exact &a, const Exact &b) {
  Exact r;
  r.negative = a.negative != b.negative;
  if (a.kind == Exact::Nan || b.kind == Exact::Nan ||
      (a.kind == Exact::Infinite && b.kind == Exact::Infinite) ||
      (a.isZero() && b.isZero())) {
    r.kind = Exact::Nan;
    return r;
  }
  if (a.kind == Exact::Infinite || b.isZero()) {
    r.kind = Exact::Infinite;
    return r;
  }
  if (b.kind == Exact::Infinite || a.isZero())
    return r;
  const int extra = 140;
  bool exact;
  r.m = Natural::quotient(a.m << extra, b.m, exact) << 1;
  if (!exact)
    r.m = r.m + Natural(1);
  r.e = a.e - b.e - extra - 1;
  return r;
}
Exact squareRoot(const Exact &a) {
  Exact r;
  if (a.isZero())
    return a;
  if (a.kind == Exact::Nan || a.negative) {
    r.kind = Exact::Nan;
    return r;
  }
  if (a.kind == Exact::Infinite)
    return a;
  int extra = 200 + ((a.e - 200) & 1);
  bool exact;
  r.m = Natural::root(a.m << extra, exact) << 1;
  if (!exact)
    r.m = r.m + Natural(1);
  r.e = (a.e - extra) / 2 - 1;
  return r;
}
int compare(const Exact &a, const Exact &b) {
  if (a.kind == Exact::Nan || b.kind == Exact::Nan)
    return 2;
  if (a.kind == Exact::Infinite || b.kind == Exact::Infinite) {
    auto rank = [](const Exact &x) {
      return x.kind == Exact::Infinite ? (x.negative ? -1 : 1) : 0;
    };
    return rank(a) < rank(b) ? -1 : rank(a) > rank(b);
  }
  Exact d = sum(a, negated(b), 'N');
  return d.m.isZero() ? 0 : d.negative ? -1 : 1;
}
unsigned long long flushed(const Format &f, unsigned long long bits) {
  const int stored = f.precision - 1;
  if (bits >> stored & ((1u << f.exponentBits) - 1))
    return bits;
  return bits & 1ull << (f.width() - 1);
}

} // namespace simtest
