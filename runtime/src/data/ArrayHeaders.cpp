//===- ArrayHeaders.cpp - headers of .npy and IDX -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core/Error.h"
#include "data/DataSource.h"

#include <algorithm>

namespace tdsrt {

bool looksLikeNpy(std::string_view prefix) {
  return prefix.substr(0, 6) == "\x93NUMPY";
}

bool looksLikeIdx(std::string_view prefix) {
  if (prefix.size() < 4 || prefix[0] != 0 || prefix[1] != 0)
    return false;
  auto code = static_cast<uint8_t>(prefix[2]);
  return code == 8 || code == 9 || (code >= 11 && code <= 14);
}

static void setDataBytes(ArrayLayout &layout, const std::string &name) {
  std::optional<uint64_t> bytes = byteCount(layout.shape, layout.type);
  if (!bytes)
    fail(TDS_BAD_DATA, name, ": its header claims the shape ",
         shapeText(layout.shape),
         ", more than any file holds; the file is "
         "damaged");
  layout.dataBytes = *bytes;
}

namespace {

/// The Python literal of a .npy header: {'descr': '<f4', 'fortran_order':
/// False, 'shape': (3, 4), }.
class NpyDict {
public:
  NpyDict(std::string_view text, const std::string &name)
      : text(text), name(name) {}

  void parse(std::string &descr, bool &fortran, std::vector<int64_t> &shape) {
    bool hasDescr = false, hasOrder = false, hasShape = false;
    expect('{');
    while (!accept('}')) {
      std::string key = string();
      expect(':');
      if (key == "descr") {
        descr = string();
        hasDescr = true;
      } else if (key == "fortran_order") {
        fortran = boolean();
        hasOrder = true;
      } else if (key == "shape") {
        shape = tuple();
        hasShape = true;
      } else {
        bad();
      }
      if (!accept(',') && peek() != '}')
        bad();
    }
    if (!hasDescr || !hasOrder || !hasShape)
      bad();
  }

private:
  [[noreturn]] void bad() const {
    fail(TDS_BAD_DATA, name,
         ": its .npy header is not one that NumPy writes "
         "(near byte ",
         position, " of it); save it again with numpy.save");
  }
  char peek() {
    while (position < text.size() &&
           (text[position] == ' ' || text[position] == '\n'))
      ++position;
    return position < text.size() ? text[position] : '\0';
  }
  bool accept(char c) {
    if (peek() != c)
      return false;
    ++position;
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      bad();
  }
  std::string string() {
    char quote = peek();
    if (quote != '\'' && quote != '"')
      bad();
    size_t end = text.find(quote, ++position);
    if (end == std::string_view::npos || end - position > 64)
      bad();
    std::string value(text.substr(position, end - position));
    position = end + 1;
    return value;
  }
  bool boolean() {
    peek();
    for (bool value : {true, false}) {
      std::string_view word = value ? "True" : "False";
      if (text.substr(position, word.size()) == word) {
        position += word.size();
        return value;
      }
    }
    bad();
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> extents;
    expect('(');
    while (!accept(')')) {
      peek();
      size_t begin = position;
      while (position < text.size() && text[position] >= '0' &&
             text[position] <= '9')
        ++position;
      if (position == begin || position - begin > 18 || extents.size() >= 32)
        bad();
      extents.push_back(
          std::stoll(std::string(text.substr(begin, position - begin))));
      if (!accept(',') && peek() != ')')
        bad();
    }
    return extents;
  }

  std::string_view text;
  const std::string &name;
  size_t position = 0;
};

} // namespace

ArrayLayout parseNpyHeader(std::string_view prefix, const std::string &name) {
  auto cut = [&]() {
    fail(TDS_BAD_DATA, name,
         ": is cut short within its .npy header; save it "
         "again with numpy.save");
  };
  if (!looksLikeNpy(prefix))
    fail(TDS_BAD_DATA, name,
         ": does not begin as a .npy file does; save it "
         "again with numpy.save");
  if (prefix.size() < 12)
    cut();
  auto byte = [&](size_t at) {
    return static_cast<uint64_t>(static_cast<uint8_t>(prefix[at]));
  };
  unsigned major = static_cast<unsigned>(byte(6));
  if (major < 1 || major > 3)
    fail(TDS_BAD_DATA, name, ": is .npy version ", major,
         ", but versions 1 to "
         "3 are known; save it again with numpy.save");
  uint64_t length = byte(8) | byte(9) << 8;
  uint64_t begin = 10;
  if (major > 1) {
    length |= byte(10) << 16 | byte(11) << 24;
    begin = 12;
  }
  constexpr uint64_t longestHeader = 60000; // NumPy's own is below 10,000
  if (length > longestHeader || length > prefix.size() - begin)
    cut();

  std::string descr;
  bool fortran = false;
  ArrayLayout layout;
  NpyDict(prefix.substr(begin, length), name)
      .parse(descr, fortran, layout.shape);
  layout.firstIndexFastest = fortran && layout.shape.size() > 1;
  struct Known {
    const char *code;
    ElementType type;
  };
  static const Known known[] = {
      {"b1", ElementType::Bool}, {"i1", ElementType::I8},
      {"u1", ElementType::U8},   {"i2", ElementType::I16},
      {"u2", ElementType::U16},  {"i4", ElementType::I32},
      {"u4", ElementType::U32},  {"i8", ElementType::I64},
      {"u8", ElementType::U64},  {"f2", ElementType::F16},
      {"f4", ElementType::F32},  {"f8", ElementType::F64}};
  auto found = std::find_if(
      std::begin(known), std::end(known), [&](const Known &candidate) {
        return descr.size() == 3 && descr.substr(1) == candidate.code;
      });
  if (found == std::end(known) || (descr[0] != '<' && descr[0] != '>' &&
                                   descr[0] != '|' && descr[0] != '='))
    fail(TDS_BAD_DATA, name, ": holds elements of NumPy type '",
         printable(descr),
         "', which no input takes; convert it with astype "
         "to a bool, integer or float type");
  layout.type = found->type;
  layout.bigEndian = descr[0] == '>';
  layout.dataOffset = begin + length;
  setDataBytes(layout, name);
  return layout;
}

ArrayLayout parseIdxHeader(std::string_view prefix, const std::string &name) {
  if (!looksLikeIdx(prefix))
    fail(TDS_BAD_DATA, name,
         ": does not begin as an IDX file does (0, 0, type, axes)");
  auto byte = [&](size_t at) { return static_cast<uint8_t>(prefix[at]); };
  ArrayLayout layout;
  switch (byte(2)) {
  case 8:
    layout.type = ElementType::U8;
    break;
  case 9:
    layout.type = ElementType::I8;
    break;
  case 11:
    layout.type = ElementType::I16;
    break;
  case 12:
    layout.type = ElementType::I32;
    break;
  case 13:
    layout.type = ElementType::F32;
    break;
  default:
    layout.type = ElementType::F64;
    break;
  }
  size_t axes = byte(3);
  if (axes == 0 || axes > 32)
    fail(TDS_BAD_DATA, name, ": its IDX header claims ", axes,
         " axes; the file is damaged");
  layout.bigEndian = true;
  layout.dataOffset = 4 + 4 * axes;
  if (prefix.size() < layout.dataOffset)
    fail(TDS_BAD_DATA, name, ": is cut short within its IDX header");
  for (size_t axis = 0; axis < axes; ++axis) {
    size_t at = 4 + 4 * axis;
    layout.shape.push_back(int64_t(byte(at)) << 24 | byte(at + 1) << 16 |
                           byte(at + 2) << 8 | byte(at + 3));
  }
  setDataBytes(layout, name);
  return layout;
}

bool mergesOrSplits(const std::vector<int64_t> &a,
                    const std::vector<int64_t> &b) {
  auto significant = [](const std::vector<int64_t> &shape) {
    std::vector<int64_t> extents;
    for (int64_t extent : shape)
      if (extent != 1)
        extents.push_back(extent);
    return extents;
  };
  std::vector<int64_t> left = significant(a), right = significant(b);
  if (left == right)
    return true;
  std::optional<uint64_t> count = elementCount(left);
  if (!count || *count == 0 || count != elementCount(right))
    return false;
  size_t i = 0, j = 0;
  while (i < left.size() && j < right.size()) {
    int64_t fromLeft = left[i++], fromRight = right[j++];
    size_t mergedLeft = 1, mergedRight = 1;
    // The products are equal at the end, so neither side runs out before.
    while (fromLeft != fromRight) {
      if (fromLeft < fromRight) {
        fromLeft *= left[i++];
        ++mergedLeft;
      } else {
        fromRight *= right[j++];
        ++mergedRight;
      }
    }
    if (mergedLeft > 1 && mergedRight > 1)
      return false;
  }
  return true;
}

} // namespace tdsrt
