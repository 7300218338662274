//===- RollLayers.h - equal layers as one loop -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TRANSFORMS_ROLLLAYERS_H
#define TDSL_TRANSFORMS_ROLLLAYERS_H

#include "mlir/IR/BuiltinOps.h"

namespace tdsl {

/// The fewest equal layers that become a loop where nothing else is asked for:
/// fewer are worth more as code of their own, which is fused across layers.
inline constexpr int64_t kDefaultRolledLayers = 8;
/// The fewest operations, of all layers of an entry's loops together, that
/// become loops where nothing else is asked for. Code of fewer is compiled in
/// no time, has few kernels, and takes fewer launches as code of each layer.
inline constexpr int64_t kDefaultRolledOps = 1000;

struct RolledLayers {
  /// Variables that hold those of several layers.
  unsigned variables = 0;
  /// Loops made of unrolled ones.
  unsigned loops = 0;
};

/// Makes the variables of `minLayers` or more equal layers (`net.blocks.0.w`,
/// `net.blocks.1.w`, …) one variable each, `net.blocks.*.w`, with the layer as
/// axis 0, and what the entries do with them layer by layer a `tds.fold` each.
/// Works on what the front end emits, before calls are inlined. Layers whose
/// code differs stay as they are, and so do all where no entry has `minOps`
/// operations in such layers. 0 layers: does nothing.
RolledLayers rollLayers(mlir::ModuleOp module, int64_t minLayers,
                        int64_t minOps = 0);

} // namespace tdsl

#endif // TDSL_TRANSFORMS_ROLLLAYERS_H
