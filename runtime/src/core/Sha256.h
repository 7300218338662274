//===- Sha256.h - the hash that artefacts are checked by -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_CORE_SHA256_H
#define TDS_CORE_SHA256_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tdsrt {

using Sha256 = std::array<uint8_t, 32>;

Sha256 sha256(std::string_view bytes);
std::string hexText(const Sha256 &hash); ///< 64 lower-case digits

} // namespace tdsrt

#endif // TDS_CORE_SHA256_H
