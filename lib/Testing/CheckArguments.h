//===- CheckArguments.h - random arguments of a program -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TESTING_CHECKARGUMENTS_H
#define TDSL_LIB_TESTING_CHECKARGUMENTS_H

#include "Random.h"

#include "tdsl/Reference/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace tdsl::testing {

/// What the lines `// input NAME: …` of a text say.
struct InputHint {
  int64_t below = 0;
  bool whole = false, any = false, outside = false;
};
std::map<std::string, InputHint> parseHints(llvm::StringRef text);

/// A value for each variable of the module, by name.
std::map<std::string, reference::Tensor> drawVariables(mlir::ModuleOp module,
                                                       Random &random);

/// A value for each input of an entry, by name; some with a default are left
/// out. Integers that the entry takes for indices are within their range, also
/// where no hint says so.
std::map<std::string, reference::Tensor>
drawInputs(mlir::func::FuncOp entry,
           const std::map<std::string, InputHint> &hints, Random &random);

/// The arguments of a function by the names of its inputs and variables. Inputs
/// that are left out have their default.
std::vector<reference::Tensor>
makeArguments(mlir::func::FuncOp function,
              const std::map<std::string, reference::Tensor> &inputs,
              const std::map<std::string, reference::Tensor> &variables);

/// The names of the results of an entry, '@' before those of variables; empty
/// for checks.
std::vector<std::string> nameResults(mlir::func::FuncOp function);

} // namespace tdsl::testing

#endif // TDSL_LIB_TESTING_CHECKARGUMENTS_H
