//===- Inputs.cpp - operands worth trying -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Inputs.h"

#include "tdsl/ScalarMath/Host.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace tdsl::scalarmath {

template <class To, class From> static To copyBits(From x) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &x, sizeof(to));
  return to;
}

static uint64_t bitsOfDouble(Element element, double x) {
  switch (element) {
  case Element::F16:
    return toF16(x);
  case Element::BF16:
    return toBF16(x);
  case Element::F32:
    return copyBits<uint32_t>(float(x));
  default:
    return copyBits<uint64_t>(x);
  }
}

/// The bits of the edge values of a type.
static std::vector<uint64_t> edgesOf(Element element) {
  std::vector<uint64_t> edges;
  unsigned width = bytesOf(element) * 8;
  uint64_t mask = width == 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
  if (!isFloat(element)) {
    uint64_t top = uint64_t(1) << (width - 1);
    for (uint64_t v : {uint64_t(0), uint64_t(1), uint64_t(2), uint64_t(3),
                       uint64_t(7), uint64_t(37), top, top - 1, top + 1,
                       ~uint64_t(0), ~uint64_t(1), ~uint64_t(6)})
      edges.push_back(v & mask);
    if (width == 64)
      for (unsigned bit : {24, 25, 31, 53, 54, 62})
        for (int64_t d : {-3, -1, 0, 1, 3})
          edges.push_back((uint64_t(1) << bit) + uint64_t(d));
    return edges;
  }
  // Around every limit that some conversion or function has.
  const double magnitudes[] = {0,
                               1,
                               2,
                               3,
                               10,
                               0.1,
                               0.2,
                               0.5,
                               0.55,
                               0.9,
                               1.5,
                               2.5,
                               37,
                               127,
                               127.5,
                               128,
                               255,
                               256,
                               0x1p31,
                               0x1p63,
                               0x1p24,
                               0x1p53,
                               0x1p-14,
                               0x1p-24,
                               0x1p-25,
                               0x1p-126,
                               0x1p-133,
                               0x1p-134,
                               0x1p-149,
                               0x1p-1022,
                               0x1p-1074,
                               65504,
                               65520,
                               0x1.fffffep127,
                               0x1.fep127,
                               0x1.ffp127,
                               std::numeric_limits<double>::max(),
                               88.7228,
                               103.97,
                               709.78,
                               745.13,
                               0x1.921fb54442d18p-1,
                               0x1.921fb54442d18p0,
                               0x1.921fb54442d18p1,
                               1e10,
                               1e30,
                               1e300};
  for (double m : magnitudes)
    for (double sign : {1.0, -1.0}) {
      uint64_t bits = bitsOfDouble(element, sign * m);
      edges.push_back(bits);
      // The neighbours too, where they are numbers.
      if (m > 0 && std::isfinite(m)) {
        edges.push_back(bits + 1);
        edges.push_back(bits - 1);
      }
    }
  for (double special : {std::numeric_limits<double>::infinity(),
                         -std::numeric_limits<double>::infinity(),
                         std::numeric_limits<double>::quiet_NaN()})
    edges.push_back(bitsOfDouble(element, special));
  // A NaN whose set bits are the lowest ones.
  edges.push_back(
      bitsOfDouble(element, std::numeric_limits<double>::infinity()) + 1);
  return edges;
}

uint64_t Inputs::next() {
  // splitmix64.
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint64_t Inputs::random(Element element) {
  uint64_t raw = next();
  if (raw & 1)
    return next();
  double unit = double(next() >> 11) * 0x1p-53;
  double sign = raw & 2 ? 1 : -1;
  // From 2^-12 to 2^12, or next to 1, or in +-25.
  double value = (raw & 12) == 0 ? std::exp2(24 * unit - 12)
                 : (raw & 12) == 4
                     ? 1 + (unit - 0.5) * std::exp2(-double(raw >> 59))
                     : 25 * unit;
  if (isFloat(element))
    return bitsOfDouble(element, sign * value);
  return uint64_t(int64_t(sign * value));
}

size_t Inputs::edgeCount() const {
  size_t count = 1;
  for (size_t i = 0; i < elements.size() && i < 2; ++i)
    count *= edgesOf(elements[i]).size();
  return count;
}

void Inputs::fill(size_t n) {
  rows.resize(elements.size());
  std::vector<std::vector<uint64_t>> edges;
  for (size_t k = 0; k < elements.size(); ++k) {
    edges.push_back(edgesOf(elements[k]));
    rows[k].resize(n * bytesOf(elements[k]));
  }
  size_t combinations = edgeCount();
  for (size_t i = 0; i < n; ++i, ++position) {
    size_t rest = position;
    for (size_t k = 0; k < elements.size(); ++k) {
      uint64_t bits;
      if (position < combinations) {
        bits = edges[k][rest % edges[k].size()];
        rest /= edges[k].size();
      } else {
        bits = random(elements[k]);
      }
      std::memcpy(&rows[k][i * bytesOf(elements[k])], &bits,
                  bytesOf(elements[k]));
    }
  }
}

std::vector<const void *> Inputs::pointers() const {
  std::vector<const void *> result;
  for (const auto &row : rows)
    result.push_back(row.data());
  return result;
}

} // namespace tdsl::scalarmath
