//===- CheckKernels.cpp - the table of all scalar functions -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/ScalarMath/CheckModule.h"

#include "tdsl/ScalarMath/Emit.h"
#include "tdsl/ScalarMath/Host.h"

using namespace mlir;

namespace tdsl::scalarmath {

unsigned bytesOf(Element element) {
  static constexpr unsigned bytes[] = {1, 1, 4, 8, 2, 2, 4, 8};
  return bytes[unsigned(element)];
}

bool isFloat(Element element) { return element >= Element::F16; }

const char *nameOf(Element element) {
  static const char *const names[] = {"i8",  "u8",   "i32", "i64",
                                      "f16", "bf16", "f32", "f64"};
  return names[unsigned(element)];
}

Type typeOf(OpBuilder &builder, Element element) {
  switch (element) {
  case Element::F16:
    return builder.getF16Type();
  case Element::BF16:
    return builder.getBF16Type();
  case Element::F32:
    return builder.getF32Type();
  case Element::F64:
    return builder.getF64Type();
  default:
    return builder.getIntegerType(bytesOf(element) * 8);
  }
}

namespace {

/// The host type of an element, and what a 16-bit float widens to and from.
struct Half {
  uint16_t bits;
  operator float() const { return fromF16(bits); }
  static Half of(float x) { return {toF16(x)}; }
};
struct BFloat {
  uint16_t bits;
  operator float() const { return fromBF16(bits); }
  static BFloat of(float x) { return {toBF16(x)}; }
};
template <class T> struct ElementOf;
#define ELEMENT(T, KIND)                                                       \
  template <> struct ElementOf<T> {                                            \
    static constexpr Element value = Element::KIND;                            \
  };
ELEMENT(int8_t, I8)
ELEMENT(uint8_t, U8)
ELEMENT(int32_t, I32)
ELEMENT(int64_t, I64)
ELEMENT(Half, F16)
ELEMENT(BFloat, BF16)
ELEMENT(float, F32)
ELEMENT(double, F64)
#undef ELEMENT

template <class T>
constexpr bool isSmall = std::is_same_v<T, Half> || std::is_same_v<T, BFloat>;

/// A result of the arithmetic type as a stored element.
template <class T, class From> T store(From x) {
  if constexpr (isSmall<T>)
    return T::of(x);
  else
    return x;
}

template <class T> std::string withType(const char *name) {
  return std::string(name) + "_" + nameOf(ElementOf<T>::value);
}

class Table {
public:
  std::vector<CheckKernel> entries;

  /// An entry whose host form maps elements In... to an Out.
  template <class Out, class... In, class Host, class Emit>
  void add(std::string name, Host host, Emit emit) {
    CheckKernel entry;
    entry.name = std::move(name);
    entry.inputs = {ElementOf<In>::value...};
    entry.output = ElementOf<Out>::value;
    entry.emit = emit;
    entry.host = [host](const void *const *inputs, void *output, size_t n) {
      run<Out, In...>(host, inputs, output, n,
                      std::index_sequence_for<In...>());
    };
    entries.push_back(std::move(entry));
  }

  template <class T> void addFloatFunctions() {
    using Arithmetic = std::conditional_t<isSmall<T>, float, T>;
    for (unsigned i = 0; i < numUnary; ++i) {
      Unary f = Unary(i);
      add<T, T>(
          withType<T>(nameOf(f)),
          [f](T x) { return store<T>(evaluate(f, Arithmetic(x))); },
          [f](OpBuilder &builder, Location loc, ValueRange x,
              const EmitOptions &options) {
            return scalarmath::emit(builder, loc, f, x[0], options);
          });
      // Whole rows, which is how the evaluator computes.
      if constexpr (!isSmall<T>)
        entries.back().host = [f](const void *const *inputs, void *output,
                                  size_t n) {
          evaluate(f, static_cast<const T *>(inputs[0]),
                   static_cast<T *>(output), n);
        };
    }
    for (unsigned i = 0; i < numBinary; ++i) {
      Binary f = Binary(i);
      add<T, T, T>(
          withType<T>(nameOf(f)),
          [f](T x, T y) {
            return store<T>(evaluate(f, Arithmetic(x), Arithmetic(y)));
          },
          [f](OpBuilder &builder, Location loc, ValueRange x,
              const EmitOptions &options) {
            return scalarmath::emit(builder, loc, f, x[0], x[1], options);
          });
      if constexpr (!isSmall<T>)
        entries.back().host = [f](const void *const *inputs, void *output,
                                  size_t n) {
          evaluate(f, static_cast<const T *>(inputs[0]),
                   static_cast<const T *>(inputs[1]), static_cast<T *>(output),
                   n);
        };
    }
  }

  template <class From, class To, class Host> void addCast(Host host) {
    Element from = ElementOf<From>::value, to = ElementOf<To>::value;
    add<To, From>(std::string(nameOf(from)) + "_to_" + nameOf(to), host,
                  [from, to](OpBuilder &builder, Location loc, ValueRange x,
                             const EmitOptions &options) {
                    Type element = typeOf(builder, to);
                    if (!isFloat(from))
                      return emitIntToFloat(builder, loc, x[0], element,
                                            from == Element::U8, options);
                    if (!isFloat(to))
                      return emitFloatToInt(builder, loc, x[0], element,
                                            to == Element::U8, options);
                    return emitFloatCast(builder, loc, x[0], element, options);
                  });
  }

  template <class From> void addCastsFromFloat() {
    using Wide =
        std::conditional_t<std::is_same_v<From, double>, double, float>;
    if constexpr (!std::is_same_v<From, Half>)
      addCast<From, Half>([](From x) { return Half{toF16(Wide(x))}; });
    if constexpr (!std::is_same_v<From, BFloat>)
      addCast<From, BFloat>([](From x) { return BFloat{toBF16(Wide(x))}; });
    if constexpr (!std::is_same_v<From, float>)
      addCast<From, float>([](From x) { return toF32(double(Wide(x))); });
    if constexpr (!std::is_same_v<From, double>)
      addCast<From, double>([](From x) { return double(Wide(x)); });
    addCast<From, int8_t>([](From x) { return toI8(Wide(x)); });
    addCast<From, uint8_t>([](From x) { return toU8(Wide(x)); });
    addCast<From, int32_t>([](From x) { return toI32(Wide(x)); });
    addCast<From, int64_t>([](From x) { return toI64(Wide(x)); });
  }

  template <class I> void addIntegers() {
    constexpr bool isUnsigned = std::is_unsigned_v<I>;
    add<I, I, I>(
        withType<I>("floordiv"), [](I x, I y) { return floorDiv(x, y); },
        [](OpBuilder &builder, Location loc, ValueRange x,
           const EmitOptions &) {
          return emitIntFloorDiv(builder, loc, x[0], x[1], isUnsigned);
        });
    add<I, I, I>(
        withType<I>("mod"), [](I x, I y) { return mod(x, y); },
        [](OpBuilder &builder, Location loc, ValueRange x,
           const EmitOptions &) {
          return emitIntMod(builder, loc, x[0], x[1], isUnsigned);
        });
    addCast<I, Half>([](I x) { return Half{toF16(int64_t(x))}; });
    addCast<I, BFloat>([](I x) { return BFloat{toBF16(int64_t(x))}; });
    addCast<I, float>([](I x) { return toF32(int64_t(x)); });
    addCast<I, double>([](I x) { return toF64(int64_t(x)); });
  }

  void addRandom() {
    for (unsigned i = 0; i < 4; ++i)
      add<int32_t, int64_t, int32_t, int32_t, int32_t, int32_t>(
          "philox_word" + std::to_string(i),
          [i](int64_t key, int32_t a, int32_t b, int32_t c, int32_t d) {
            return int32_t(philox(uint64_t(key), a, b, c, d).word[i]);
          },
          [i](OpBuilder &builder, Location loc, ValueRange x,
              const EmitOptions &) {
            return emitPhilox(builder, loc, x[0], {x[1], x[2], x[3], x[4]})[i];
          });
    add<float, int64_t, int64_t, int32_t, int32_t, int32_t>(
        "uniform",
        [](int64_t seed, int64_t index, int32_t a, int32_t b, int32_t c) {
          return uniformAt(uint64_t(seed), uint64_t(index), a, b, c);
        },
        [](OpBuilder &builder, Location loc, ValueRange x,
           const EmitOptions &) {
          return emitUniformAt(builder, loc, x[0], x[1], x[2], x[3], x[4]);
        });
    add<float, int64_t, int64_t, int32_t, int32_t, int32_t>(
        "normal",
        [](int64_t seed, int64_t index, int32_t a, int32_t b, int32_t c) {
          return normalAt(uint64_t(seed), uint64_t(index), a, b, c);
        },
        [](OpBuilder &builder, Location loc, ValueRange x,
           const EmitOptions &) {
          return emitNormalAt(builder, loc, x[0], x[1], x[2], x[3], x[4]);
        });
    for (bool second : {false, true})
      add<float, int32_t, int32_t>(
          second ? "normal_second" : "normal_first",
          [second](int32_t a, int32_t b) {
            NormalPair pair = normalPair(a, b);
            return second ? pair.second : pair.first;
          },
          [second](OpBuilder &builder, Location loc, ValueRange x,
                   const EmitOptions &) {
            auto pair = emitNormalPair(builder, loc, x[0], x[1]);
            return second ? pair.second : pair.first;
          });
  }

private:
  template <class Out, class... In, class Host, size_t... index>
  static void run(const Host &host, const void *const *inputs, void *output,
                  size_t n, std::index_sequence<index...>) {
    Out *out = static_cast<Out *>(output);
    for (size_t i = 0; i < n; ++i)
      out[i] = host(static_cast<const In *>(inputs[index])[i]...);
  }
};

} // namespace

const std::vector<CheckKernel> &checkKernels() {
  static const std::vector<CheckKernel> kernels = [] {
    Table table;
    table.addFloatFunctions<float>();
    table.addFloatFunctions<double>();
    table.addFloatFunctions<Half>();
    table.addFloatFunctions<BFloat>();
    table.addCastsFromFloat<float>();
    table.addCastsFromFloat<double>();
    table.addCastsFromFloat<Half>();
    table.addCastsFromFloat<BFloat>();
    table.addIntegers<int8_t>();
    table.addIntegers<uint8_t>();
    table.addIntegers<int32_t>();
    table.addIntegers<int64_t>();
    table.addRandom();
    return std::move(table.entries);
  }();
  return kernels;
}

} // namespace tdsl::scalarmath
