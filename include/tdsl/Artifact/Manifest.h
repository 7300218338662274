//===- Manifest.h - the manifest of an artefact -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See docs/Artifact.md for the format.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_ARTIFACT_MANIFEST_H
#define TDSL_ARTIFACT_MANIFEST_H

#include "tdsl/Dialect/TDS/SourceLocation.h"
#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace tdsl {

/// The device that the kernels of an artefact are made for.
struct ArtifactTarget {
  enum class Kind { CPU, CUDA };
  Kind kind = Kind::CPU;
  /// "x86-64-v3", "native", "sm_80", ….
  std::string arch;
  /// CPU, for "native": the features that the code uses, e.g. "avx2".
  std::vector<std::string> features;
  /// CUDA: the PTX version, e.g. "7.0", and the least driver as
  /// cuDriverGetVersion prints it, e.g. 11000.
  std::string ptxISA;
  int64_t minDriver = 0;
};

struct ManifestOptions {
  ArtifactTarget target;
  /// Name and version of the compiler.
  std::string producer;
  /// Name of the source file, and 64 hex digits over source and options.
  std::string programName, programHash;
  /// The folder of the source file as the locations name it, with its last
  /// slash: sources are told relative to it, so that an artefact does not
  /// depend on where the program lay.
  std::string sourceFolder;
};

/// The manifest of a planned module whose kernels have schedules for the target
/// (`work` on the CPU; `grid`, `block` and `shared` on CUDA; optionally
/// `sizes`, the size arguments). The text is JSON, one kernel, variable or
/// command a line, and the same for the same module. Fails after an error at a
/// kernel without a schedule.
mlir::FailureOr<std::string> buildManifest(mlir::ModuleOp plan,
                                           const ManifestOptions &options);

/// A short readable expression for what a kernel computes, e.g. "max(a @ b + c,
/// 0)"; inputs are letters.
std::string describeKernel(tds::KernelOp kernel);

} // namespace tdsl

#endif // TDSL_ARTIFACT_MANIFEST_H
