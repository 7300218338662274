//===- RuntimeProgram.h - an artefact in the runtime -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TESTING_RUNTIMEPROGRAM_H
#define TDSL_LIB_TESTING_RUNTIMEPROGRAM_H

#include "tdsl/Reference/Tensor.h"

#include "tds/runtime.h"

#include "llvm/Support/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace tdsl::testing {

/// A compiled program, loaded into the runtime of this process. It owns its
/// handle; one thread at a time.
class RuntimeProgram {
public:
  using Named = std::map<std::string, reference::Tensor>;

  /// Loads the bytes of a `.so` or `.ptx` file for a device, "cpu" or "cuda".
  static llvm::Expected<RuntimeProgram> load(llvm::StringRef artefact,
                                             const char *device);
  RuntimeProgram(RuntimeProgram &&other) : module(other.module) {
    other.module = nullptr;
  }
  RuntimeProgram &operator=(RuntimeProgram &&) = delete;
  ~RuntimeProgram();

  llvm::Error initialize(int64_t seed);
  llvm::Error write(const std::string &variable,
                    const reference::Tensor &value);
  /// `like` gives the type and shape.
  llvm::Expected<reference::Tensor> read(const std::string &variable,
                                         const reference::Tensor &like);
  /// The results by name. `raised` says that the program raised a flag (a
  /// gather out of range); there are no results then.
  llvm::Expected<Named> call(const std::string &entry, const Named &inputs,
                             bool &raised);

private:
  llvm::Error
  forEachLayer(const std::string &variable, const reference::Tensor &value,
               llvm::function_ref<tds_status(const std::string &name,
                                             size_t offset, size_t bytes)>
                   visit);
  explicit RuntimeProgram(tds_module *module) : module(module) {}
  tds_module *module = nullptr;
};

/// The bytes of a `.so` (x86-64-v3) or `.ptx` (sm_80) file of a plan. Fails
/// with what the emitter says, or says nothing where it has given diagnostics.
llvm::Expected<std::string> makeArtefact(mlir::ModuleOp plan, bool isCPU,
                                         llvm::StringRef text);

} // namespace tdsl::testing

#endif // TDSL_LIB_TESTING_RUNTIMEPROGRAM_H
