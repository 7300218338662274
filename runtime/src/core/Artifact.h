//===- Artifact.h - containers of code and manifest -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens .ptx, .so and .tdsx files (docs/Artifact.md). Everything about the
// container is checked here: sizes, offsets and hashes; the manifest by
// parseManifest. Nothing of an artefact runs before that.
//
//===----------------------------------------------------------------------===//

#ifndef TDS_CORE_ARTIFACT_H
#define TDS_CORE_ARTIFACT_H

#include "core/Manifest.h"
#include "core/Sha256.h"

#include <memory>
#include <string>
#include <vector>

namespace tdsrt {

/// The code of one target, checked.
struct Artifact {
  std::string name; ///< path, or path(member), for messages
  Manifest manifest;
  Sha256 manifestHash; ///< of the JSON text without newlines
  std::string image;   ///< the whole .ptx or .so
};

/// A file that holds one artefact or several.
class Container {
public:
  static Container open(const std::string &path);
  static Container fromMemory(std::string bytes, std::string name);

  struct Member {
    tds_device_kind kind;
    std::string arch;
    std::string image;
    std::string name;
  };
  const std::string &name() const { return containerName; }
  bool isBundle() const { return bundle; }
  size_t size() const { return members.size(); }
  const Member &member(size_t index) const { return members[index]; }

  /// Checks one member throughout.
  Artifact load(size_t index) const;

private:
  std::string containerName;
  bool bundle = false;
  std::vector<Member> members;
};

/// Checks the footer and the manifest of one .ptx or .so.
Artifact readArtifact(std::string image, const std::string &name);

/// Reads a whole regular file of at most `limit` bytes.
std::string readFile(const std::string &path, uint64_t limit);

} // namespace tdsrt

#endif // TDS_CORE_ARTIFACT_H
