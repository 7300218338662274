//===- Frame.h - what a row program runs on -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_REFERENCE_FRAME_H
#define TDSL_LIB_REFERENCE_FRAME_H

#include "tdsl/Reference/Rows.h"

#include <memory>

namespace tdsl::reference {

/// The C++ type of a register of a kind.
template <ElementKind K> struct Lane {
  using Type = typename Stored<K>::Type;
};
template <> struct Lane<ElementKind::F16> {
  using Type = float;
};
template <> struct Lane<ElementKind::BF16> {
  using Type = float;
};
template <ElementKind K> using LaneType = typename Lane<K>::Type;

/// Consecutive lanes that differ only in the innermost lane index.
struct Segment {
  unsigned lane;
  unsigned length;
};

/// Every register has room for lanes of the widest format.
inline constexpr size_t registerBytes = 8 * rowLanes;

struct Frame {
  Frame(const RowProgram &program, unsigned numDims,
        llvm::ArrayRef<const Tensor *> tensors, StopRecorder *stops);

  template <typename T> T *row(Reg reg) {
    return reinterpret_cast<T *>(registers.get() + size_t(reg) * registerBytes);
  }

  /// Makes the lanes the points first .. first + lanes of the dims
  /// [begin, end), whose extents are `extents`, and fills the index registers.
  void setLanes(unsigned begin, unsigned end, llvm::ArrayRef<int64_t> extents,
                int64_t first, unsigned lanes);
  /// Sets an index outside the lanes. setLanes must follow.
  void setUniform(unsigned dim, int64_t value) { uniform[dim] = value; }
  /// Sets an index outside the lanes and keeps the lanes.
  void moveUniform(unsigned dim, int64_t value, unsigned lanes);

  void run(unsigned lanes) {
    for (const Instruction &instruction : program.instructions)
      instruction.run(instruction, *this, lanes);
  }

  /// Index `dim` at the first lane of segment `s`.
  int64_t indexAt(size_t s, unsigned dim) const {
    return segmentIndices[s * numDims + dim];
  }

  const RowProgram &program;
  unsigned numDims;
  llvm::ArrayRef<const Tensor *> tensors;
  StopRecorder *stops;
  /// Non-empty once a read went wrong.
  std::string error;

  std::unique_ptr<unsigned char[]> registers;
  llvm::SmallVector<Segment> segments;
  llvm::SmallVector<int64_t> segmentIndices;
  llvm::SmallVector<int64_t, 4> uniform;
  /// The dim that changes inside a segment, or numDims.
  unsigned innerDim;
};

/// Loads element 0 .. n of storage into register format, and back.
void loadLanes(ElementKind kind, const uint8_t *from, void *to, unsigned n);
void storeLanes(ElementKind kind, const void *from, uint8_t *to, unsigned n);

} // namespace tdsl::reference

#endif // TDSL_LIB_REFERENCE_FRAME_H
