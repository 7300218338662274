//===- TargetDescription.h - the figures of a device -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_FUSION_TARGETDESCRIPTION_H
#define TDSL_FUSION_TARGETDESCRIPTION_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace tdsl {

/// What the cost model knows of a device. The figures come from a JSON file
/// (lib/Fusion/Targets, which are part of the compiler, or a file of the user),
/// never from the code. docs/Fusion.md lists them with their units.
struct TargetDescription {
  std::string name;
  bool isCPU = false;
  /// The architectures (`--arch`, `--cpu`) that are taken to be this device.
  std::vector<std::string> archs;

  /// Processors of the GPU, or cores.
  double multiprocessors = 0;
  /// Of a GPU: what one of them, a block and a thread may have.
  double threadsPerMultiprocessor = 0, registersPerMultiprocessor = 0,
         registersPerThread = 0, sharedBytesPerBlock = 0,
         sharedBytesPerMultiprocessor = 0;
  /// Bytes of the parameters of one kernel; a buffer takes 8.
  double parameterBytes = 0;
  /// Of the whole device; 10^9 bytes and operations a second. A fused
  /// multiply-add counts as two.
  double memoryGBPerS = 0, cacheBytes = 0, cacheGBPerS = 0, f32GflopPerS = 0;
  /// Of a GPU with units that multiply matrices of such numbers: at most, and
  /// for reports only. 0 where it has none.
  double f16TensorGflopPerS = 0, bf16TensorGflopPerS = 0;
  /// Operations of bodies, as in element kernels; 10^9 a second.
  double elementGopPerS = 0;
  /// Of a GPU: how long a multiprocessor waits for an answer of the cache.
  double cacheLatencyNs = 0;
  /// What a launch costs beside the work of its kernel.
  double launchNs = 0;

  /// A description of the compiler's own by its name, or one of a file. Fails
  /// with a sentence for the user, which names the file.
  static llvm::Expected<TargetDescription> load(llvm::StringRef nameOrPath);
  /// The same from its text; `name` stands in messages.
  static llvm::Expected<TargetDescription> parse(llvm::StringRef text,
                                                 llvm::StringRef name);
  /// The name of the compiler's own description that `arch` is taken for.
  static std::string getNameFor(llvm::StringRef arch);
};

} // namespace tdsl

#endif // TDSL_FUSION_TARGETDESCRIPTION_H
