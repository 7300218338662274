//===- CheckModule.h - every scalar function as a kernel -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table of everything the library computes, each entry both as host code
// over rows and as emitted IR, and a module with one kernel per entry. With it
// one loop compares the bits of all entries on any target.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_SCALARMATH_CHECKMODULE_H
#define TDSL_SCALARMATH_CHECKMODULE_H

#include "tdsl/ScalarMath/Emit.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <string>
#include <vector>

namespace tdsl::scalarmath {

enum class Element : uint8_t { I8, U8, I32, I64, F16, BF16, F32, F64 };
unsigned bytesOf(Element element);
bool isFloat(Element element);
const char *nameOf(Element element);
mlir::Type typeOf(mlir::OpBuilder &builder, Element element);

/// One entry. `host` and `emit` must agree in every bit, NaNs apart (any NaN
/// equals any other).
struct CheckKernel {
  /// A valid symbol name, as "exp_f32" or "i64_to_bf16".
  std::string name;
  std::vector<Element> inputs;
  Element output;
  std::function<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange,
                            const EmitOptions &)>
      emit;
  /// Computes n elements; the rows have the element types above.
  std::function<void(const void *const *inputs, void *output, size_t n)> host;
};

/// All entries, in a fixed order.
const std::vector<CheckKernel> &checkKernels();

struct CheckModuleOptions {
  /// Elements that a CPU kernel handles at once: 1 for scalars, more for
  /// vectors of that length (n must then be a multiple).
  unsigned lanes = 1;
  /// Makes NVPTX kernels, one element a thread, instead of CPU loops.
  bool forGpu = false;
  EmitOptions emit;
};

/// A module in the LLVM (and NVVM) dialect, ready to be translated, with
/// `void NAME(ptr input0, ..., ptr output, i64 n)` for every entry. The context
/// must be allowed to load dialects. Null after an error was reported to the
/// context's diagnostic handler.
mlir::OwningOpRef<mlir::ModuleOp>
buildCheckModule(mlir::MLIRContext &context, const CheckModuleOptions &options);

} // namespace tdsl::scalarmath

#endif // TDSL_SCALARMATH_CHECKMODULE_H
