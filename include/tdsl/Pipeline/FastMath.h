//===- FastMath.h - what float arithmetic may change -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_PIPELINE_FASTMATH_H
#define TDSL_PIPELINE_FASTMATH_H

namespace tdsl {

/// What --fast-math allows; see tds-relax-math and tds-reorder-products.
struct FastMath {
  bool signedZeros = false; ///< the sign of a zero does not matter
  bool finite = false;      ///< no value is a NaN or an infinity
  bool reciprocal = false;  ///< a quotient may be a product
  bool reassociate = false; ///< sums and products in any order
};

} // namespace tdsl

#endif // TDSL_PIPELINE_FASTMATH_H
