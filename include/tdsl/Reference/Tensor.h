//===- Tensor.h - tensor values of the reference evaluator -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain values: an element kind, a shape and the elements in row-major order.
// No MLIR is needed to make or read one, so tests, the constant folder and the
// evaluator share them.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_REFERENCE_TENSOR_H
#define TDSL_REFERENCE_TENSOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cassert>
#include <cstdint>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace tdsl::reference {

/// Element types of the language. Indices of loop bodies are I64.
enum class ElementKind : uint8_t {
  Bool,
  I8,
  U8,
  I32,
  I64,
  F16,
  BF16,
  F32,
  F64
};

/// Bytes of one stored element. A bool takes one byte, 0 or 1; f16 and bf16 are
/// stored as their bits.
unsigned bytesOf(ElementKind kind);

constexpr bool isFloat(ElementKind kind) { return kind >= ElementKind::F16; }

/// The language's name: "bool", "i8", ... "f64".
llvm::StringRef nameOf(ElementKind kind);

/// The C++ type that one element is stored as; 16-bit floats as uint16_t.
template <ElementKind> struct Stored;
template <> struct Stored<ElementKind::Bool> {
  using Type = uint8_t;
};
template <> struct Stored<ElementKind::I8> {
  using Type = int8_t;
};
template <> struct Stored<ElementKind::U8> {
  using Type = uint8_t;
};
template <> struct Stored<ElementKind::I32> {
  using Type = int32_t;
};
template <> struct Stored<ElementKind::I64> {
  using Type = int64_t;
};
template <> struct Stored<ElementKind::F16> {
  using Type = uint16_t;
};
template <> struct Stored<ElementKind::BF16> {
  using Type = uint16_t;
};
template <> struct Stored<ElementKind::F32> {
  using Type = float;
};
template <> struct Stored<ElementKind::F64> {
  using Type = double;
};

/// Calls `function` with a std::integral_constant of `kind`.
template <typename Function>
decltype(auto) withKind(ElementKind kind, Function &&function) {
  using K = ElementKind;
  switch (kind) {
  case K::Bool:
    return function(std::integral_constant<K, K::Bool>());
  case K::I8:
    return function(std::integral_constant<K, K::I8>());
  case K::U8:
    return function(std::integral_constant<K, K::U8>());
  case K::I32:
    return function(std::integral_constant<K, K::I32>());
  case K::I64:
    return function(std::integral_constant<K, K::I64>());
  case K::F16:
    return function(std::integral_constant<K, K::F16>());
  case K::BF16:
    return function(std::integral_constant<K, K::BF16>());
  case K::F32:
    return function(std::integral_constant<K, K::F32>());
  case K::F64:
    break;
  }
  return function(std::integral_constant<K, K::F64>());
}

/// A tensor value. Copies copy the elements.
class Tensor {
public:
  /// The f32 scalar 0.
  Tensor() : Tensor(ElementKind::F32, {}) {}
  /// Zeros. The extents must be >= 0 and their product must be small enough to
  /// be allocated.
  Tensor(ElementKind kind, llvm::ArrayRef<int64_t> shape);

  /// One value everywhere, converted as set() does.
  static Tensor splat(ElementKind kind, llvm::ArrayRef<int64_t> shape,
                      double value);
  static Tensor splat(ElementKind kind, llvm::ArrayRef<int64_t> shape,
                      int64_t value);
  /// Elements in row-major order, as many as `shape` has.
  static Tensor of(ElementKind kind, llvm::ArrayRef<int64_t> shape,
                   llvm::ArrayRef<double> values);

  ElementKind kind() const { return elementKind; }
  llvm::ArrayRef<int64_t> shape() const { return extents; }
  int64_t numElements() const { return count; }

  /// Never null, so that none of the 0 bytes of an empty tensor can be copied.
  uint8_t *data() { return bytes.empty() ? &nothing : bytes.data(); }
  const uint8_t *data() const {
    return bytes.empty() ? &nothing : bytes.data();
  }
  size_t numBytes() const { return bytes.size(); }

  /// The elements; `T` is the stored type of the kind.
  template <typename T> llvm::MutableArrayRef<T> elements() {
    assert(sizeof(T) == bytesOf(elementKind) && "another element type");
    return {reinterpret_cast<T *>(bytes.data()), static_cast<size_t>(count)};
  }
  template <typename T> llvm::ArrayRef<T> elements() const {
    assert(sizeof(T) == bytesOf(elementKind) && "another element type");
    return {reinterpret_cast<const T *>(bytes.data()),
            static_cast<size_t>(count)};
  }

  /// Element `i` as a number. getDouble rounds an i64 above 2^53; getInt
  /// truncates a float, saturates, and gives 0 for NaN.
  double getDouble(int64_t i) const;
  int64_t getInt(int64_t i) const;
  /// Stores a number as the language converts it: a float target rounds to
  /// nearest even, an integer target wraps (from an integer) or truncates and
  /// saturates (from a float).
  void set(int64_t i, double value);
  void set(int64_t i, int64_t value);

  /// The same elements converted to another kind, as `tds.cast` converts them.
  Tensor convertedTo(ElementKind kind) const;
  /// The same elements under another shape with equally many elements.
  Tensor reshapedTo(llvm::ArrayRef<int64_t> shape) const;

  /// Same kind, shape and bits.
  bool operator==(const Tensor &other) const {
    return elementKind == other.elementKind && extents == other.extents &&
           bytes == other.bytes;
  }

  /// Prints "f32[2, 2] [[1, 2], [3, 4]]" with enough digits to read every float
  /// back exactly.
  void print(llvm::raw_ostream &os) const;

private:
  ElementKind elementKind;
  llvm::SmallVector<int64_t, 4> extents;
  int64_t count;
  static inline uint8_t nothing = 0;
  std::vector<uint8_t> bytes;
};

/// Same kind, shape and bits, where any NaN equals any NaN: the sign and the
/// payload of a NaN are not promised.
bool sameBits(const Tensor &a, const Tensor &b);

} // namespace tdsl::reference

#endif // TDSL_REFERENCE_TENSOR_H
