//===- TensorMapApi.cpp - cuTensorMapEncodeTiled ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks what the driver's manual demands of each argument. Interleaved
// layouts, im2col maps and packed 4- and 6-bit elements are not implemented
// and say so.
//
//===----------------------------------------------------------------------===//

#include "driver/Driver.h"
#include "exec/TensorMap.h"

#include <cstring>

using namespace tds::sim;

namespace {

struct Element {
  u8 bytes;
  Ty type;
  bool isFloat;
};
bool elementOf(CUtensorMapDataType type, Element &out) {
  switch (type) {
  case CU_TENSOR_MAP_DATA_TYPE_UINT8:
    out = {1, Ty::U8, false};
    return true;
  case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    out = {2, Ty::U16, false};
    return true;
  case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    out = {4, Ty::U32, false};
    return true;
  case CU_TENSOR_MAP_DATA_TYPE_INT32:
    out = {4, Ty::S32, false};
    return true;
  case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    out = {8, Ty::U64, false};
    return true;
  case CU_TENSOR_MAP_DATA_TYPE_INT64:
    out = {8, Ty::S64, false};
    return true;
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    out = {2, Ty::F16, true};
    return true;
  case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
    out = {2, Ty::BF16, true};
    return true;
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    out = {4, Ty::F32, true};
    return true;
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
    out = {8, Ty::F64, true};
    return true;
  default:
    return false; // flushing and rounding copies, packed elements
  }
}

} // namespace

TDS_API cuTensorMapEncodeTiled(
    CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
    const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
    const cuuint32_t *boxDim, const cuuint32_t *elementStrides,
    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  TDS_ENTER(false);
  if (!map || ((u64)map & 63) || rank < 1 || rank > 5 || !globalDim ||
      !boxDim || !elementStrides || (rank > 1 && !globalStrides) ||
      ((u64)address & 15) || (unsigned)promotion > 3 || (unsigned)fill > 1)
    return CUDA_ERROR_INVALID_VALUE;
  if (entry.driver.settings().sm < 90 ||
      interleave != CU_TENSOR_MAP_INTERLEAVE_NONE)
    return CUDA_ERROR_NOT_SUPPORTED;
  Element element;
  if (!elementOf(type, element))
    return CUDA_ERROR_NOT_SUPPORTED;
  if (fill && !element.isFloat)
    return CUDA_ERROR_INVALID_VALUE;
  TensorMap out;
  out.mark = TensorMap::expectedMark;
  out.rank = (u8)rank;
  out.elementBytes = element.bytes;
  out.type = (u8)element.type;
  out.nanFill = fill != 0;
  out.address = (u64)address;
  switch (swizzle) {
  case CU_TENSOR_MAP_SWIZZLE_NONE:
    break;
  case CU_TENSOR_MAP_SWIZZLE_32B:
    out.swizzleBytes = 32;
    break;
  case CU_TENSOR_MAP_SWIZZLE_64B:
    out.swizzleBytes = 64;
    break;
  case CU_TENSOR_MAP_SWIZZLE_128B:
    out.swizzleBytes = 128;
    break;
  default:
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  u64 total = 1;
  for (cuuint32_t d = 0; d < rank; ++d) {
    if (globalDim[d] == 0 || globalDim[d] > 1ull << 32 || boxDim[d] == 0 ||
        boxDim[d] > 256 || elementStrides[d] == 0 || elementStrides[d] > 8)
      return CUDA_ERROR_INVALID_VALUE;
    out.size[d] = globalDim[d];
    out.box[d] = (u16)boxDim[d];
    out.step[d] = (u8)elementStrides[d];
    total *= boxDim[d];
    if (d == 0)
      continue;
    u64 stride = globalStrides[d - 1];
    u64 least = d == 1 ? globalDim[0] * element.bytes
                       : globalDim[d - 1] * globalStrides[d - 2];
    if (stride % 16 || stride >= 1ull << 40 || stride < least)
      return CUDA_ERROR_INVALID_VALUE;
    out.setStride((int)d, stride);
  }
  u64 inner = (u64)boxDim[0] * element.bytes;
  if (inner % 16 || (out.swizzleBytes && inner > out.swizzleBytes) ||
      total * element.bytes > 232448)
    return CUDA_ERROR_INVALID_VALUE;
  memcpy(map, &out, sizeof out);
  return CUDA_SUCCESS;
}

TDS_API cuTensorMapReplaceAddress(CUtensorMap *map, void *address) {
  TDS_ENTER(false);
  if (!map || ((u64)address & 15))
    return CUDA_ERROR_INVALID_VALUE;
  TensorMap out;
  memcpy(&out, map, sizeof out);
  if (out.mark != TensorMap::expectedMark)
    return CUDA_ERROR_INVALID_VALUE;
  out.address = (u64)address;
  memcpy(map, &out, sizeof out);
  return CUDA_SUCCESS;
}
