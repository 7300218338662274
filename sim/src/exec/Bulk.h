//===- Bulk.h - operand words of bulk copies --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What decode/DecodeAsync.cpp and exec/Bulk.cpp agree on. Code::ext holds, for
// one instruction: three addresses (destination or tensor map first, in the
// order of the text; of four words: register, form, low and high word of the
// offset), then registers: size, multicast mask, coordinates.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_EXEC_BULK_H
#define TDSL_SIM_EXEC_BULK_H

#include "ptx/Module.h"

namespace tds::sim {

enum class BulkForm : u8 {
  Load,           // [dst], [src], size, [mbar] {, mask} {, policy}
  Store,          // [dst], [src], size {, policy}
  TensorLoad,     // [dst], [map, {c…}], [mbar] {, mask} {, policy}
  TensorStore,    // [map, {c…}], [src] {, policy}
  Prefetch,       // [src], size {, policy}
  TensorPrefetch, // [map, {c…}] {, policy}
};
// OpInfo::aux2; bulkOwn: only into the block's own memory.
constexpr u8 bulkMulticast = 1, bulkPolicy = 2, bulkOwn = 4;
constexpr u32 bulkAddresses = 3;
constexpr u32 bulkSize = 0, bulkMask = 1, bulkCoordinates = 2;

enum class BulkReduce : u8 { None, Add, Min, Max, Inc, Dec, And, Or, Xor };

} // namespace tds::sim

#endif // TDSL_SIM_EXEC_BULK_H
