//===- BulkReduce.cpp - the arithmetic of bulk reductions -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "cp.reduce.async.bulk": integers wrap, f32 additions flush
// subnormals, half types are rounded after each operation.
//
//===----------------------------------------------------------------------===//

#include "exec/BulkTask.h"
#include "exec/FloatSemantics.h"

namespace tds::sim {

namespace {

template <class T> T combine(BulkReduce kind, T old, T v) {
  switch (kind) {
  case BulkReduce::Add:
    return (T)(old + v);
  case BulkReduce::Min:
    return v < old ? v : old;
  case BulkReduce::Max:
    return v > old ? v : old;
  default:
    return v;
  }
}
template <class T> T combineBits(BulkReduce kind, T old, T v) {
  switch (kind) {
  case BulkReduce::And:
    return old & v;
  case BulkReduce::Or:
    return old | v;
  case BulkReduce::Xor:
    return old ^ v;
  case BulkReduce::Inc:
    return old >= v ? 0 : (T)(old + 1);
  case BulkReduce::Dec:
    return old == 0 || old > v ? v : (T)(old - 1);
  default:
    return combine(kind, old, v);
  }
}
/// Element by element, each atomically: other blocks may do the same.
template <class T, class F> void each(u8 *to, const u8 *from, u32 n, F f) {
  using Word = std::conditional_t<sizeof(T) == 2, u16,
                                  std::conditional_t<sizeof(T) == 4, u32, u64>>;
  for (u32 i = 0; i < n; i += (u32)sizeof(T)) {
    T b;
    memcpy(&b, from + i, sizeof(T));
    auto *at = (Word *)(to + i);
    Word old = __atomic_load_n(at, __ATOMIC_RELAXED), next;
    do
      next = bitCast<Word>(f(bitCast<T>(old), b));
    while (!__atomic_compare_exchange_n(at, &old, next, true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED));
  }
}

} // namespace

void bulkReduce(u8 *to, const u8 *from, u32 bytes, BulkReduce kind, Ty type) {
  switch (type) {
  case Ty::U32:
  case Ty::B32:
    each<u32>(to, from, bytes,
              [&](u32 a, u32 b) { return combineBits(kind, a, b); });
    break;
  case Ty::S32:
    each<s32>(to, from, bytes, [&](s32 a, s32 b) {
      return kind == BulkReduce::Add ? (s32)((u32)a + (u32)b)
                                     : combine(kind, a, b);
    });
    break;
  case Ty::U64:
  case Ty::B64:
    each<u64>(to, from, bytes,
              [&](u64 a, u64 b) { return combineBits(kind, a, b); });
    break;
  case Ty::S64:
    each<s64>(to, from, bytes,
              [&](s64 a, s64 b) { return combine(kind, a, b); });
    break;
  case Ty::F32:
    each<float>(to, from, bytes, [&](float a, float b) {
      return canon(flush<true>(flush<true>(a) + flush<true>(b)));
    });
    break;
  case Ty::F64:
    each<double>(to, from, bytes, [&](double a, double b) { return a + b; });
    break;
  case Ty::F16:
    each<u16>(to, from, bytes, [&](u16 a, u16 b) {
      float x = halfToFloat(a), y = halfToFloat(b);
      return floatToHalf(kind == BulkReduce::Add ? x + y : combine(kind, x, y));
    });
    break;
  case Ty::BF16:
    each<u16>(to, from, bytes, [&](u16 a, u16 b) {
      float x = bf16ToFloat(a), y = bf16ToFloat(b);
      return floatToBf16(kind == BulkReduce::Add ? x + y : combine(kind, x, y));
    });
    break;
  default:
    break;
  }
}

} // namespace tds::sim
