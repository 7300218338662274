//===- Reducer.h - shrinks a program that shows a fault -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TESTING_REDUCER_H
#define TDSL_TESTING_REDUCER_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace tdsl::testing {

/// Shrinks the text of a TDS program while `stillFails` holds for it. Tries to
/// leave out declarations, statements, arguments, results and operands, to put
/// an operand in the place of an expression, and to lower numbers, until
/// nothing of that helps. Texts that are no programs are tried too:
/// `stillFails` has to be false for them. The given text must fail.
std::string
reduceProgram(std::string text,
              llvm::function_ref<bool(const std::string &)> stillFails);

} // namespace tdsl::testing

#endif // TDSL_TESTING_REDUCER_H
