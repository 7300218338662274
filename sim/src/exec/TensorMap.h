//===- TensorMap.h - what a CUtensorMap holds here --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The 128 bytes that cuTensorMapEncodeTiled fills in are opaque; a format of
// our own, with a mark by which a copy tells it from anything else.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_EXEC_TENSORMAP_H
#define TDSL_SIM_EXEC_TENSORMAP_H

#include "ptx/Module.h"

namespace tds::sim {

struct TensorMap {
  static constexpr u32 expectedMark = 0x7d5c0de1;
  u32 mark = 0;
  u8 rank = 0;
  u8 elementBytes = 0;
  u8 swizzleBytes = 0; // 0, 32, 64, 128
  u8 nanFill = 0;      // outside reads as NaN, else as zero
  u64 address = 0;
  u64 size[5] = {}; // elements, innermost first
  u16 box[5] = {};  // elements
  u8 step[5] = {};  // element strides
  u8 type = 0;      // Ty of an element
  u32 strideHigh =
      0; // (four strides of 40 bits: the low words and 8 high bits)
  u32 strideLow[4] = {};
  u32 reserved[9] = {};

  u64 stride(int dim) const { // bytes, of dimension dim >= 1
    return (u64)strideLow[dim - 1] | (u64)(strideHigh >> (8 * (dim - 1)) & 255)
                                         << 32;
  }
  void setStride(int dim, u64 bytes) {
    strideLow[dim - 1] = (u32)bytes;
    strideHigh |= (u32)(bytes >> 32 & 255) << (8 * (dim - 1));
  }
};
static_assert(sizeof(TensorMap) == 128, "CUtensorMap has 128 bytes");

/// Where byte `address` of shared memory lies under a swizzle of `span` bytes
/// (0: none): the 16-byte chunk's number is combined with the line's. PTX
/// manual, "Tensor swizzling modes"; the same for wgmma's descriptors.
inline u32 swizzled(u32 address, u32 span) {
  u32 mask = span / 16;
  return mask ? address ^ ((address >> 7 & (mask - 1)) << 4) : address;
}

} // namespace tds::sim

#endif // TDSL_SIM_EXEC_TENSORMAP_H
