//===- Container.h - the files that carry a manifest -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See docs/Artifact.md for the formats. The same input gives the same bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_ARTIFACT_CONTAINER_H
#define TDSL_ARTIFACT_CONTAINER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace tdsl {

/// The section of a shared object that holds the manifest.
inline constexpr llvm::StringLiteral kManifestSection = ".tds.manifest";

/// 64 lower-case hex digits.
std::string getSHA256(llvm::StringRef bytes);

/// A `.ptx` file: the PTX text, the manifest in comment lines, the footer.
std::string makePTXFile(llvm::StringRef ptx, llvm::StringRef manifest);

/// Appends the footer to a linked shared object that holds the manifest in its
/// section `.tds.manifest`. Fails where there is none.
llvm::Error finishSharedObject(llvm::SmallVectorImpl<char> &object);

/// One member of a `.tdsx` file.
struct ContainerMember {
  /// Name in the container, e.g. "cpu.x86-64-v3.so".
  std::string file;
  /// "cpu" or "cuda", and the architecture.
  std::string kind, arch;
  /// A complete `.so` or `.ptx` file.
  llvm::StringRef bytes;
};

/// A `.tdsx` file: a zip with stored members. Fails where libzip does, or where
/// two members have one name.
llvm::Expected<std::string>
makeContainer(llvm::ArrayRef<ContainerMember> members);

} // namespace tdsl

#endif // TDSL_ARTIFACT_CONTAINER_H
