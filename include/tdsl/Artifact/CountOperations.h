//===- CountOperations.h - how much a kernel computes -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_ARTIFACT_COUNTOPERATIONS_H
#define TDSL_ARTIFACT_COUNTOPERATIONS_H

#include "tdsl/Dialect/TDS/TDSOps.h"

namespace tdsl {

/// Operations on floats of one launch, for profiles. Each operation that
/// computes a float, a function such as `exp` too, counts one for each point
/// that it is computed at, and so does each term of a reduction; a product of
/// matrices counts a multiplication and an addition for each of its terms.
/// What moves, chooses, compares or converts counts nothing. At most 2^53 - 1,
/// which JSON keeps exactly.
int64_t countFloatOperations(tds::KernelOp kernel);

/// Those of them that are multiplications and additions of products whose
/// operands are both of `type`, as units for matrices of 16-bit floats do them.
int64_t countProducts(tds::KernelOp kernel, mlir::Type type);

} // namespace tdsl

#endif // TDSL_ARTIFACT_COUNTOPERATIONS_H
