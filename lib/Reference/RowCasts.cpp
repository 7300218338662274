//===- RowCasts.cpp - conversions between registers and storage -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Frame.h"

#include "tdsl/ScalarMath/Host.h"

#include <array>
#include <cstring>

using namespace tdsl;
using namespace tdsl::reference;

namespace {

/// A value of register format `From` in register format `To`, rounded once.
template <ElementKind From, ElementKind To>
LaneType<To> convert(LaneType<From> x) {
  using K = ElementKind;
  if constexpr (From == To) {
    return x;
  } else if constexpr (To == K::Bool) {
    return x != 0;
  } else if constexpr (isFloat(From)) {
    if constexpr (To == K::I8)
      return scalarmath::toI8(x);
    else if constexpr (To == K::U8)
      return scalarmath::toU8(x);
    else if constexpr (To == K::I32)
      return scalarmath::toI32(x);
    else if constexpr (To == K::I64)
      return scalarmath::toI64(x);
    else if constexpr (To == K::F16)
      return scalarmath::fromF16(scalarmath::toF16(x));
    else if constexpr (To == K::BF16)
      return scalarmath::fromBF16(scalarmath::toBF16(x));
    else
      return static_cast<LaneType<To>>(x);
  } else {
    if constexpr (To == K::F16)
      return scalarmath::fromF16(scalarmath::toF16(static_cast<int64_t>(x)));
    else if constexpr (To == K::BF16)
      return scalarmath::fromBF16(scalarmath::toBF16(static_cast<int64_t>(x)));
    else
      return static_cast<LaneType<To>>(x);
  }
}

template <ElementKind From, ElementKind To>
void castRow(const Instruction &i, Frame &frame, unsigned n) {
  const auto *a = frame.row<LaneType<From>>(i.a);
  auto *dst = frame.row<LaneType<To>>(i.dst);
  for (unsigned lane = 0; lane < n; ++lane)
    dst[lane] = convert<From, To>(a[lane]);
}

void roundF16(const Instruction &i, Frame &frame, unsigned n) {
  std::array<uint16_t, rowLanes> bits;
  float *row = frame.row<float>(i.dst);
  scalarmath::toF16(row, bits.data(), n);
  scalarmath::fromF16(bits.data(), row, n);
}

void roundBF16(const Instruction &i, Frame &frame, unsigned n) {
  std::array<uint16_t, rowLanes> bits;
  float *row = frame.row<float>(i.dst);
  scalarmath::toBF16(row, bits.data(), n);
  scalarmath::fromBF16(bits.data(), row, n);
}

} // namespace

RunFn reference::getCastFunction(ElementKind from, ElementKind to) {
  return withKind(from, [&](auto f) -> RunFn {
    return withKind(to, [&](auto t) -> RunFn {
      return castRow<decltype(f)::value, decltype(t)::value>;
    });
  });
}

RunFn reference::getRoundFunction(ElementKind kind) {
  if (kind == ElementKind::F16)
    return roundF16;
  if (kind == ElementKind::BF16)
    return roundBF16;
  return nullptr;
}

void reference::loadLanes(ElementKind kind, const uint8_t *from, void *to,
                          unsigned n) {
  if (kind == ElementKind::F16)
    scalarmath::fromF16(reinterpret_cast<const uint16_t *>(from),
                        static_cast<float *>(to), n);
  else if (kind == ElementKind::BF16)
    scalarmath::fromBF16(reinterpret_cast<const uint16_t *>(from),
                         static_cast<float *>(to), n);
  else
    std::memcpy(to, from, size_t(n) * bytesOf(kind));
}

void reference::storeLanes(ElementKind kind, const void *from, uint8_t *to,
                           unsigned n) {
  if (kind == ElementKind::F16)
    scalarmath::toF16(static_cast<const float *>(from),
                      reinterpret_cast<uint16_t *>(to), n);
  else if (kind == ElementKind::BF16)
    scalarmath::toBF16(static_cast<const float *>(from),
                       reinterpret_cast<uint16_t *>(to), n);
  else
    std::memcpy(to, from, size_t(n) * bytesOf(kind));
}
