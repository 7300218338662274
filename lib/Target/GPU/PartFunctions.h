//===- PartFunctions.h - parts that are alike, emitted once -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TARGET_GPU_PARTFUNCTIONS_H
#define TDSL_LIB_TARGET_GPU_PARTFUNCTIONS_H

#include "tdsl/Target/Common/KernelAnalysis.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/ADT/StringMap.h"

namespace tdsl::gpu {

/// A part of several kernels. They call one function of the module, with the
/// buffers, the numbers of iterations, the numbers in its bodies that are not
/// the same for all, the number of the block within the part and the address of
/// its shared memory.
struct SharedPart {
  /// The part with its own buffers, counted from 0, as it was met first.
  target::OutlinedKernel part;
  unsigned uses = 0;
  /// A number of its bodies: a scalar tds.constant or the site of a tds.random.
  struct Number {
    mlir::Operation *op;
    mlir::TypedAttr value;
    bool varies = false;
  };
  llvm::SmallVector<Number> numbers;
  /// Set when the function is emitted.
  mlir::LLVM::LLVMFuncOp function;
  int64_t sharedBytes = 0;
};

/// The parts of the kernels of a module. Parts are alike where their bodies,
/// types, schedules and patterns of shared buffers are; which buffers of the
/// kernels they are does not matter, nor which floats and sites of random
/// numbers stand in the bodies.
class PartFunctions {
public:
  explicit PartFunctions(llvm::ArrayRef<target::OutlinedKernel> kernels);

  /// What a kernel hands to the function of one of its parts.
  struct Call {
    SharedPart *shared;
    /// Buffers and counters of the kernel, in the order of the part's own.
    llvm::SmallVector<unsigned> buffers, counters;
    /// The values that the part's numbers have here.
    llvm::SmallVector<mlir::TypedAttr> numbers;
  };
  /// How to call the function of `part`, or null where no other part is alike.
  const Call *find(tds::KernelOp part) const;

  /// Visits each part that has several uses, in the order of their first ones.
  void forEachShared(llvm::function_ref<void(SharedPart &)> visit);

private:
  void add(const target::OutlinedKernel &part);

  std::vector<std::unique_ptr<SharedPart>> parts;
  llvm::StringMap<SharedPart *> byText;
  llvm::DenseMap<mlir::Operation *, Call> calls;
};

} // namespace tdsl::gpu

#endif // TDSL_LIB_TARGET_GPU_PARTFUNCTIONS_H
