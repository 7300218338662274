//===- LayerAttributes.h - marks on variables of layers -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_DIALECT_TDS_LAYERATTRIBUTES_H
#define TDSL_DIALECT_TDS_LAYERATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace tdsl::tds::attr {

/// On a variable that holds those of several layers, one at each place of its
/// axis 0: `*` in its name is the number of the layer.
/// On a fold: its iterations are equal layers, or their derivatives.
inline constexpr llvm::StringLiteral kLayers = "tds.layers";

} // namespace tdsl::tds::attr

#endif // TDSL_DIALECT_TDS_LAYERATTRIBUTES_H
