//===- Svg.cpp - text and frames of pictures ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Svg.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::report;

std::string report::escape(StringRef text) {
  std::string valid;
  if (!llvm::json::isUTF8(text)) {
    valid = llvm::json::fixUTF8(text);
    text = valid;
  }
  std::string result;
  result.reserve(text.size());
  for (char c : text)
    switch (c) {
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '&':
      result += "&amp;";
      break;
    case '"':
      result += "&quot;";
      break;
    case '\'':
      result += "&#39;";
      break;
    default:
      // Control characters may not stand in a page at all.
      if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t')
        result += c;
    }
  return result;
}

std::string report::getKindClass(StringRef kind) {
  if (kind.starts_with("attention")) // and its derivative
    return "k-attention";
  for (StringRef known : {"contract", "row", "loop", "scatter", "parts"})
    if (kind == known)
      return "k-" + known.str();
  return "k-other";
}

std::string report::makeSVG(const Picture &picture, StringRef label,
                            bool isScaled) {
  return llvm::formatv(
             "<div class=\"scroll\"><svg{4} role=\"img\" aria-label=\"{0}\" "
             "viewBox=\"0 0 {1:f0} {2:f0}\" width=\"{1:f0}\" "
             "height=\"{2:f0}\">\n{3}</svg></div>\n",
             escape(label), picture.width, picture.height, picture.body,
             isScaled ? " class=\"fit\"" : "")
      .str();
}
