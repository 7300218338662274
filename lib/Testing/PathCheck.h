//===- PathCheck.h - one program on every path -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TESTING_PATHCHECK_H
#define TDSL_LIB_TESTING_PATHCHECK_H

#include "BoundedEvaluation.h"
#include "CheckArguments.h"

#include "tdsl/Testing/ProgramCheck.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

namespace tdsl::testing {

using Named = std::map<std::string, reference::Tensor>;

/// The passes of the pipelines that compute what is known.
void addFolding(mlir::OpPassManager &manager);

/// One call of an entry and what it must give: results by name, variables by
/// '@' and name.
struct Call {
  std::string entry;
  Named inputs;
  std::map<std::string, BoundedResult> expected;
  /// An `assert` does not hold.
  bool isWrong = false;
  /// The call fails and changes nothing, for that or as a gather reads out of
  /// range. Set for guarded programs.
  bool raises = false;
};

class Check {
public:
  Check(llvm::StringRef text, const CheckOptions &options,
        mlir::MLIRContext &context, CheckReport &report)
      : text(text), options(options), context(context), report(report),
        handler(&context, [this](mlir::Diagnostic &diagnostic) {
          std::string line;
          llvm::raw_string_ostream os(line);
          os << diagnostic.getLocation() << ": " << diagnostic;
          messages += line + "\n";
          return mlir::success();
        }) {}
  void run();

private:
  bool runFrontend();
  bool makeReference();
  bool evaluate(mlir::ModuleOp module, std::vector<Call> &calls);
  void expectFailure(Call &call);
  void checkCanonical();
  void findFlags();
  void checkGradients();
  std::vector<Named> checkModule(const std::string &check,
                                 mlir::ModuleOp module,
                                 const std::vector<Call> &calls);
  void checkFolding();
  void checkRuntime(const std::string &check, mlir::ModuleOp plan, bool isCPU);
  void checkKernels();
  void compareFusion(const std::vector<Named> &fused,
                     const std::vector<Named> &unfused);
  void countLaunches(llvm::StringRef target);
  mlir::OwningOpRef<mlir::ModuleOp> makeKernels(bool fusion,
                                                llvm::StringRef target);
  void compare(const std::string &check, const Call &call, const Named &actual);
  bool runPasses(mlir::ModuleOp module,
                 llvm::function_ref<void(mlir::OpPassManager &)> build);
  void fail(const std::string &check, const llvm::Twine &message) {
    report.failures.push_back({check, message.str() + messages});
    messages.clear();
  }

  llvm::StringRef text;
  const CheckOptions &options;
  mlir::MLIRContext &context;
  CheckReport &report;
  std::string messages;
  mlir::ScopedDiagnosticHandler handler;
  mlir::OwningOpRef<mlir::ModuleOp> emitted; ///< by the front end
  /// As emitted, with calls inlined and each gradient replaced by what it is
  /// taken of: all but the derivatives, before anything is folded.
  mlir::OwningOpRef<mlir::ModuleOp> plain;
  /// Canonical, then differentiated. Where adjoints are added up depends on
  /// what was merged before, so that derivatives of the plain program round
  /// elsewhere.
  mlir::OwningOpRef<mlir::ModuleOp> reference;
  mlir::OwningOpRef<mlir::ModuleOp> canonical; ///< by the pipeline
  Named variables;
  std::vector<Call> calls;
};

} // namespace tdsl::testing

#endif // TDSL_LIB_TESTING_PATHCHECK_H
