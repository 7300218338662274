//===- IndexLimit.h - How far indices may run -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_LIB_FRONTEND_SEMA_INDEXLIMIT_H
#define TDSL_LIB_FRONTEND_SEMA_INDEXLIMIT_H

#include "llvm/Support/MathExtras.h"

namespace tdsl {
namespace sema {

/// Coefficients and places stay far from where 64 bits end, so that sums and
/// opposites of them never wrap. No tensor has as many elements.
inline constexpr int64_t kIndexLimit = int64_t(1) << 62;

inline bool isWithinLimit(int64_t number) {
  return number < kIndexLimit && number > -kIndexLimit;
}

/// The product, or a number outside of the limit where it doesn't fit.
inline int64_t multiplySaturating(int64_t a, int64_t b) {
  int64_t product;
  return llvm::MulOverflow(a, b, product) ? kIndexLimit : product;
}

} // namespace sema
} // namespace tdsl

#endif // TDSL_LIB_FRONTEND_SEMA_INDEXLIMIT_H
