//===- Sha256.cpp - the hash that artefacts are checked by -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core/Sha256.h"
#include "core/Error.h"

#include <openssl/evp.h>

namespace tdsrt {

Sha256 sha256(std::string_view bytes) {
  Sha256 hash{};
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), hash.data(), &size, EVP_sha256(),
                 nullptr) != 1 ||
      size != hash.size())
    fail(TDS_INTERNAL, "libcrypto cannot compute a SHA-256; check that its "
                       "default provider is installed");
  return hash;
}

std::string hexText(const Sha256 &hash) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : hash) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

} // namespace tdsrt
