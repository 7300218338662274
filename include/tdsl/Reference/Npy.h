//===- Npy.h - tensors as .npy files -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_REFERENCE_NPY_H
#define TDSL_REFERENCE_NPY_H

#include "tdsl/Reference/Tensor.h"

#include "llvm/Support/Error.h"

namespace tdsl::reference {

/// Reads a .npy file (format 1 to 3, little-endian, C or Fortran order). numpy
/// has no bf16: two-byte void elements ("V2") are read as bf16.
llvm::Expected<Tensor> readNpy(llvm::StringRef path);
/// The same from bytes; `name` is for messages.
llvm::Expected<Tensor> parseNpy(llvm::StringRef bytes, llvm::StringRef name);

/// Writes a .npy file, bf16 as "V2".
llvm::Error writeNpy(llvm::StringRef path, const Tensor &tensor);

} // namespace tdsl::reference

#endif // TDSL_REFERENCE_NPY_H
