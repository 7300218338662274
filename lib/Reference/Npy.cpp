//===- Npy.cpp - tensors as .npy files -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Reference/Npy.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <optional>

using namespace tdsl::reference;

static constexpr llvm::StringLiteral magic("\x93NUMPY");

static llvm::Error fail(llvm::StringRef name, const llvm::Twine &text) {
  return llvm::createStringError("'" + name + "': " + text);
}

/// The text after `'key':` in the header, without leading blanks.
static std::optional<llvm::StringRef> valueOf(llvm::StringRef header,
                                              llvm::StringRef key) {
  for (char quote : {'\'', '"'}) {
    std::string quoted = (llvm::Twine(quote) + key + llvm::Twine(quote)).str();
    size_t at = header.find(quoted);
    if (at == llvm::StringRef::npos)
      continue;
    llvm::StringRef rest = header.drop_front(at + quoted.size()).ltrim();
    if (rest.consume_front(":"))
      return rest.ltrim();
  }
  return std::nullopt;
}

static std::optional<ElementKind> kindOf(llvm::StringRef descr) {
  return llvm::StringSwitch<std::optional<ElementKind>>(descr)
      .Cases({"|b1", "?"}, ElementKind::Bool)
      .Cases({"|i1", "<i1"}, ElementKind::I8)
      .Cases({"|u1", "<u1"}, ElementKind::U8)
      .Case("<i4", ElementKind::I32)
      .Case("<i8", ElementKind::I64)
      .Case("<f2", ElementKind::F16)
      .Cases({"|V2", "<V2", "bfloat16"}, ElementKind::BF16)
      .Case("<f4", ElementKind::F32)
      .Case("<f8", ElementKind::F64)
      .Default(std::nullopt);
}

llvm::Expected<Tensor> tdsl::reference::parseNpy(llvm::StringRef bytes,
                                                 llvm::StringRef name) {
  llvm::StringRef rest = bytes;
  if (!rest.consume_front(magic) || rest.size() < 4)
    return fail(name, "is no .npy file");
  bool longHeader = rest[0] >= 2;
  size_t lengthBytes = longHeader ? 4 : 2;
  rest = rest.drop_front(2);
  if (rest.size() < lengthBytes)
    return fail(name, "ends inside its header");
  size_t length = longHeader ? llvm::support::endian::read32le(rest.data())
                             : llvm::support::endian::read16le(rest.data());
  rest = rest.drop_front(lengthBytes);
  if (rest.size() < length)
    return fail(name, "ends inside its header");
  llvm::StringRef header = rest.take_front(length);
  llvm::StringRef data = rest.drop_front(length);

  auto descr = valueOf(header, "descr"),
       order = valueOf(header, "fortran_order"),
       shapeText = valueOf(header, "shape");
  if (!descr || !order || !shapeText || descr->empty())
    return fail(name, "has a header without descr, fortran_order or shape");
  llvm::StringRef type =
      descr->drop_front().take_until([&](char c) { return c == (*descr)[0]; });
  std::optional<ElementKind> kind = kindOf(type);
  if (!kind)
    return fail(name, "has elements of type '" + type +
                          "', which is no type of the language");
  bool fortran = order->starts_with("True");
  if (!shapeText->consume_front("("))
    return fail(name, "has a malformed shape");
  llvm::SmallVector<llvm::StringRef> parts;
  shapeText->take_until([](char c) { return c == ')'; })
      .split(parts, ',', -1, /*KeepEmpty=*/false);
  llvm::SmallVector<int64_t> shape;
  int64_t count = 1;
  for (llvm::StringRef part : parts) {
    if (part.trim().empty())
      continue;
    int64_t extent;
    if (part.trim().getAsInteger(10, extent) || extent < 0 ||
        llvm::MulOverflow(count, extent, count))
      return fail(name, "has a malformed shape");
    shape.push_back(extent);
  }
  int64_t needed;
  if (llvm::MulOverflow<int64_t>(count, bytesOf(*kind), needed) ||
      static_cast<uint64_t>(needed) > data.size())
    return fail(name, "holds " + llvm::Twine(data.size()) +
                          " bytes of elements, fewer than its shape asks for");
  Tensor result(*kind, shape);
  unsigned size = bytesOf(*kind);
  if (!fortran) {
    if (needed)
      std::memcpy(result.data(), data.data(), needed);
  } else {
    llvm::SmallVector<int64_t> index(shape.size(), 0);
    for (int64_t i = 0; i < count; ++i) {
      int64_t offset = 0;
      for (size_t d = shape.size(); d-- > 0;)
        offset = offset * shape[d] + index[d];
      std::memcpy(result.data() + i * size, data.data() + offset * size, size);
      for (size_t d = shape.size(); d-- > 0;) {
        if (++index[d] < shape[d])
          break;
        index[d] = 0;
      }
    }
  }
  if (*kind == ElementKind::Bool)
    for (uint8_t &value : result.elements<uint8_t>())
      value = value != 0;
  return result;
}

llvm::Expected<Tensor> tdsl::reference::readNpy(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(path, "cannot be read: " + buffer.getError().message());
  return parseNpy((*buffer)->getBuffer(), path);
}

llvm::Error tdsl::reference::writeNpy(llvm::StringRef path,
                                      const Tensor &tensor) {
  static constexpr llvm::StringLiteral descrs[] = {
      "|b1", "|i1", "|u1", "<i4", "<i8", "<f2", "|V2", "<f4", "<f8"};
  std::string header;
  llvm::raw_string_ostream text(header);
  text << "{'descr': '" << descrs[static_cast<unsigned>(tensor.kind())]
       << "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : tensor.shape())
    text << extent << ", ";
  text << "), }";
  while ((header.size() + 11) % 64)
    header.push_back(' ');
  header.push_back('\n');

  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (error)
    return fail(path, "cannot be written: " + error.message());
  file << magic << '\x01' << '\x00';
  char length[2];
  llvm::support::endian::write16le(length,
                                   static_cast<uint16_t>(header.size()));
  file << llvm::StringRef(length, 2) << header;
  file << llvm::StringRef(reinterpret_cast<const char *>(tensor.data()),
                          tensor.numBytes());
  file.close();
  if (file.has_error()) {
    std::string message = file.error().message();
    file.clear_error();
    return fail(path, "cannot be written: " + message);
  }
  return llvm::Error::success();
}
