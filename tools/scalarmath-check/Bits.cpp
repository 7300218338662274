//===- Bits.cpp - host results against compiled ones -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Bits.h"

#include "Inputs.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cstring>

using namespace llvm;

namespace tdsl::scalarmath {

// A multiple of every vector length.
static constexpr size_t rowLength = 8192;

static uint64_t load(const void *row, size_t i, Element element) {
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const char *>(row) + i * bytesOf(element),
              bytesOf(element));
  return bits;
}

static bool isNaN(uint64_t bits, Element element) {
  switch (element) {
  case Element::F16:
    return (bits & 0x7fff) > 0x7c00;
  case Element::BF16:
    return (bits & 0x7fff) > 0x7f80;
  case Element::F32:
    return (bits & 0x7fffffff) > 0x7f800000;
  case Element::F64:
    return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
  default:
    return false;
  }
}

/// Runs both forms on one row.
static std::string compareRow(const CheckKernel &kernel, KernelRunner &compiled,
                              const std::vector<const void *> &inputs,
                              std::vector<uint64_t> &host,
                              std::vector<uint64_t> &target) {
  kernel.host(inputs.data(), host.data(), rowLength);
  if (Error error =
          compiled.run(kernel, inputs.data(), target.data(), rowLength))
    return toString(std::move(error));
  if (!std::memcmp(host.data(), target.data(),
                   rowLength * bytesOf(kernel.output)))
    return "";
  for (size_t i = 0; i < rowLength; ++i) {
    uint64_t expected = load(host.data(), i, kernel.output);
    uint64_t actual = load(target.data(), i, kernel.output);
    if (expected == actual ||
        (isNaN(expected, kernel.output) && isNaN(actual, kernel.output)))
      continue;
    std::string text = kernel.name + "(";
    for (size_t k = 0; k < inputs.size(); ++k)
      text += formatv("{0}{1:x}", k ? ", " : "",
                      load(inputs[k], i, kernel.inputs[k]))
                  .str();
    return text +
           formatv("): host {0:x}, compiled {1:x}", expected, actual).str();
  }
  return "";
}

std::string compareBits(const CheckKernel &kernel, KernelRunner &compiled,
                        uint64_t points) {
  Inputs inputs(kernel.inputs, 1);
  points = std::max<uint64_t>(points, inputs.edgeCount());
  std::vector<uint64_t> host(rowLength), target(rowLength);
  for (uint64_t done = 0; done < points; done += rowLength) {
    inputs.fill(rowLength);
    std::string text =
        compareRow(kernel, compiled, inputs.pointers(), host, target);
    if (!text.empty())
      return text;
  }
  return "";
}

std::string compareAllF32(const CheckKernel &kernel, KernelRunner &compiled,
                          uint32_t stride) {
  std::vector<uint64_t> host(rowLength), target(rowLength);
  std::vector<uint32_t> in(rowLength);
  for (uint64_t first = 0; first < uint64_t(1) << 32;
       first += uint64_t(rowLength) * stride) {
    for (size_t i = 0; i < rowLength; ++i)
      in[i] = uint32_t(first + i * stride);
    std::string text = compareRow(kernel, compiled, {in.data()}, host, target);
    if (!text.empty())
      return text;
  }
  return "";
}

} // namespace tdsl::scalarmath
