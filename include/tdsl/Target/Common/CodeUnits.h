//===- CodeUnits.h - code in pieces that are compiled alone -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A unit is a kernel with the functions that are inlined into it and the data
// that it alone uses, or a function that is not inlined, or data that several
// functions write. Every unit is compiled by itself and always: what comes of
// it depends on nothing else, so it may be kept and taken again, also by
// another program (docs/Artifact.md, "The cache of compiled kernels").
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TARGET_COMMON_CODEUNITS_H
#define TDSL_TARGET_COMMON_CODEUNITS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/ADT/StringMap.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace tdsl::target {

/// One unit. The names in it say nothing of the program that it is of: its
/// own function is `tds__self__`, and so on.
class CodeUnit {
public:
  /// A module that holds the unit, and declarations of what it calls.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The name that its function has in the program.
  std::string name;
  /// Where its function comes from.
  mlir::Location loc;
  /// Whether it is a kernel, and not a function that others call.
  bool isKernel;

  CodeUnit(mlir::Location loc, llvm::StringRef name, bool isKernel)
      : name(name), loc(loc), isKernel(isKernel) {}

  /// What the code of the unit depends on, besides the target and the compiler:
  /// the module without locations.
  std::string getText() const;
  /// `text` with the names of the program in place of those of the unit.
  std::string restoreNames(llvm::StringRef text) const;

private:
  friend class CodeSplitter;
  llvm::StringMap<std::string> names;
};

/// Splits emitted code (functions and globals of the llvm dialect, bodies also
/// of others) into units, and uses it up. Kernels are the functions with
/// external linkage. Functions that may be inlined and constant data are copied
/// into the units that use them. Functions come before those that call them.
std::vector<CodeUnit> splitCode(mlir::ModuleOp code);

/// Code of units that was made before.
class UnitStore {
public:
  virtual ~UnitStore();
  /// Nothing is ever found, and what is made is not handed over.
  virtual bool isOn() const = 0;
  /// The code of the unit whose text this is.
  virtual std::optional<std::string> load(llvm::StringRef text) = 0;
  virtual void keep(llvm::StringRef text, llvm::StringRef code) = 0;

  /// What was seen so far.
  unsigned numKernels = 0, numFunctions = 0, numLoaded = 0;
};

/// The code of each unit, from `store` (which may be null) or else made by
/// `compile` and kept there. Fails where that fails.
mlir::FailureOr<std::vector<std::string>> compileUnits(
    llvm::MutableArrayRef<CodeUnit> units, UnitStore *store,
    llvm::function_ref<mlir::FailureOr<std::string>(CodeUnit &)> compile);

/// LLVM IR of units, with the names of the program, as one module to look at.
/// Null where a text is not valid.
std::unique_ptr<llvm::Module> joinLLVM(llvm::ArrayRef<std::string> texts,
                                       llvm::LLVMContext &context);

} // namespace tdsl::target

#endif // TDSL_TARGET_COMMON_CODEUNITS_H
