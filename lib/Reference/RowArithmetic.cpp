//===- RowArithmetic.cpp - element operations on rows -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One loop per operation and register type. What the language promises about
// NaN, zeros, overflow and division lies in ScalarMath for the functions and in
// the small functors here for the rest; evaluator and folder have no other
// source of truth.
//
//===----------------------------------------------------------------------===//

#include "Frame.h"

#include "tdsl/ScalarMath/Host.h"

#include <cmath>
#include <cstring>
#include <type_traits>

using namespace tdsl;
using namespace tdsl::reference;

namespace {

//===----------------------------------------------------------------------===//
// Functors
//===----------------------------------------------------------------------===//

/// Integer arithmetic in the unsigned type of 32 bits or more, so that it
/// wraps.
template <typename T>
using Wide = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

struct AddFn {
  template <typename T> static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a + b;
    else
      return static_cast<T>(Wide<T>(a) + Wide<T>(b));
  }
};
struct SubFn {
  template <typename T> static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a - b;
    else
      return static_cast<T>(Wide<T>(a) - Wide<T>(b));
  }
};
struct MulFn {
  template <typename T> static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a * b;
    else
      return static_cast<T>(Wide<T>(a) * Wide<T>(b));
  }
};
struct DivFn {
  template <typename T> static T of(T a, T b) { return a / b; }
};
struct FloorDivFn {
  template <typename T> static T of(T a, T b) {
    return scalarmath::floorDiv(a, b);
  }
};
struct ModFn {
  template <typename T> static T of(T a, T b) { return scalarmath::mod(a, b); }
};
/// Repeated multiplication; a negative exponent gives the floor of the real
/// value, and 0 for the base 0.
struct IntPowFn {
  template <typename T> static T of(T base, T exponent) {
    if constexpr (std::is_signed_v<T>) {
      if (exponent < 0) {
        bool odd = exponent & 1;
        if (base == 1 || (base == -1 && !odd))
          return 1;
        return base < 0 && odd ? -1 : 0;
      }
    }
    Wide<T> result = 1, square = Wide<T>(base);
    for (auto e = std::make_unsigned_t<T>(exponent); e; e >>= 1) {
      if (e & 1)
        result *= square;
      square *= square;
    }
    return static_cast<T>(result);
  }
};
struct MaxFn {
  template <typename T> static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return scalarmath::max(a, b);
    else
      return a < b ? b : a;
  }
};
struct MinFn {
  template <typename T> static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return scalarmath::min(a, b);
    else
      return b < a ? b : a;
  }
};
struct NegFn {
  template <typename T> static T of(T a) {
    if constexpr (std::is_floating_point_v<T>)
      return -a;
    else
      return static_cast<T>(0 - Wide<T>(a));
  }
};
struct IntAbsFn {
  template <typename T> static T of(T a) {
    if constexpr (std::is_signed_v<T>)
      return a < 0 ? static_cast<T>(0 - Wide<T>(a)) : a;
    else
      return a;
  }
};
struct IntSignFn {
  template <typename T> static T of(T a) {
    return static_cast<T>((a > 0) - (a < 0));
  }
};
struct EqualFn {
  template <typename T> static uint8_t of(T a, T b) { return a == b; }
};
struct NotEqualFn {
  template <typename T> static uint8_t of(T a, T b) { return a != b; }
};
struct LessFn {
  template <typename T> static uint8_t of(T a, T b) { return a < b; }
};
struct LessEqualFn {
  template <typename T> static uint8_t of(T a, T b) { return a <= b; }
};
struct GreaterFn {
  template <typename T> static uint8_t of(T a, T b) { return a > b; }
};
struct GreaterEqualFn {
  template <typename T> static uint8_t of(T a, T b) { return a >= b; }
};
struct AndFn {
  template <typename T> static T of(T a, T b) { return a & b; }
};
struct OrFn {
  template <typename T> static T of(T a, T b) { return a | b; }
};
struct NotFn {
  template <typename T> static T of(T a) { return a ^ 1; }
};
struct IsNanFn {
  template <typename T> static uint8_t of(T a) { return a != a; }
};
struct IsFiniteFn {
  // The difference is NaN for a NaN and for the infinities.
  template <typename T> static uint8_t of(T a) { return a - a == 0; }
};

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

template <typename Fn, typename T>
void unary(const Instruction &i, Frame &frame, unsigned n) {
  const T *a = frame.row<T>(i.a);
  auto *dst = frame.row<decltype(Fn::of(T()))>(i.dst);
  for (unsigned lane = 0; lane < n; ++lane)
    dst[lane] = Fn::of(a[lane]);
}

template <typename Fn, typename T>
void binary(const Instruction &i, Frame &frame, unsigned n) {
  const T *a = frame.row<T>(i.a);
  const T *b = frame.row<T>(i.b);
  auto *dst = frame.row<decltype(Fn::of(T(), T()))>(i.dst);
  for (unsigned lane = 0; lane < n; ++lane)
    dst[lane] = Fn::of(a[lane], b[lane]);
}

template <scalarmath::Unary F, typename T>
void mathUnary(const Instruction &i, Frame &frame, unsigned n) {
  scalarmath::evaluate(F, frame.row<T>(i.a), frame.row<T>(i.dst), n);
}

template <scalarmath::Binary F, typename T>
void mathBinary(const Instruction &i, Frame &frame, unsigned n) {
  scalarmath::evaluate(F, frame.row<T>(i.a), frame.row<T>(i.b),
                       frame.row<T>(i.dst), n);
}

template <typename T>
void clamp(const Instruction &i, Frame &frame, unsigned n) {
  const T *x = frame.row<T>(i.a), *low = frame.row<T>(i.b),
          *high = frame.row<T>(i.c);
  T *dst = frame.row<T>(i.dst);
  if constexpr (std::is_floating_point_v<T>) {
    scalarmath::evaluate(scalarmath::Binary::Max, x, low, dst, n);
    scalarmath::evaluate(scalarmath::Binary::Min, dst, high, dst, n);
    return;
  }
  for (unsigned lane = 0; lane < n; ++lane)
    dst[lane] = MinFn::of(MaxFn::of(x[lane], low[lane]), high[lane]);
}

template <typename T>
void select(const Instruction &i, Frame &frame, unsigned n) {
  const uint8_t *condition = frame.row<uint8_t>(i.a);
  const T *onTrue = frame.row<T>(i.b), *onFalse = frame.row<T>(i.c);
  T *dst = frame.row<T>(i.dst);
  for (unsigned lane = 0; lane < n; ++lane)
    dst[lane] = condition[lane] ? onTrue[lane] : onFalse[lane];
}

template <typename T>
void copy(const Instruction &i, Frame &frame, unsigned n) {
  std::memcpy(frame.row<T>(i.dst), frame.row<T>(i.a), n * sizeof(T));
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// Operations of every type.
template <typename T> RunFn anyFunction(Opcode opcode) {
  switch (opcode) {
  case Opcode::Equal:
    return binary<EqualFn, T>;
  case Opcode::NotEqual:
    return binary<NotEqualFn, T>;
  case Opcode::Select:
    return select<T>;
  case Opcode::Copy:
    return copy<T>;
  default:
    return nullptr;
  }
}

/// Operations of integers and floats.
template <typename T> RunFn numberFunction(Opcode opcode) {
  switch (opcode) {
  case Opcode::Add:
    return binary<AddFn, T>;
  case Opcode::Sub:
    return binary<SubFn, T>;
  case Opcode::Mul:
    return binary<MulFn, T>;
  case Opcode::Clamp:
    return clamp<T>;
  case Opcode::Neg:
    return unary<NegFn, T>;
  case Opcode::Less:
    return binary<LessFn, T>;
  case Opcode::LessEqual:
    return binary<LessEqualFn, T>;
  case Opcode::Greater:
    return binary<GreaterFn, T>;
  case Opcode::GreaterEqual:
    return binary<GreaterEqualFn, T>;
  default:
    return anyFunction<T>(opcode);
  }
}

template <typename T> RunFn intFunction(Opcode opcode) {
  switch (opcode) {
  case Opcode::FloorDiv:
    return binary<FloorDivFn, T>;
  case Opcode::Mod:
    return binary<ModFn, T>;
  case Opcode::Pow:
    return binary<IntPowFn, T>;
  case Opcode::Max:
    return binary<MaxFn, T>;
  case Opcode::Min:
    return binary<MinFn, T>;
  case Opcode::Abs:
    return unary<IntAbsFn, T>;
  case Opcode::Sign:
    return unary<IntSignFn, T>;
  default:
    return numberFunction<T>(opcode);
  }
}

template <typename T> RunFn floatFunction(Opcode opcode) {
  using scalarmath::Binary;
  using scalarmath::Unary;
  switch (opcode) {
  case Opcode::Div:
    return binary<DivFn, T>;
  case Opcode::FloorDiv:
    return mathBinary<Binary::FloorDiv, T>;
  case Opcode::Mod:
    return mathBinary<Binary::Mod, T>;
  case Opcode::Pow:
    return mathBinary<Binary::Pow, T>;
  case Opcode::Max:
    return mathBinary<Binary::Max, T>;
  case Opcode::Min:
    return mathBinary<Binary::Min, T>;
  case Opcode::Abs:
    return mathUnary<Unary::Abs, T>;
  case Opcode::Sign:
    return mathUnary<Unary::Sign, T>;
  case Opcode::Floor:
    return mathUnary<Unary::Floor, T>;
  case Opcode::Ceil:
    return mathUnary<Unary::Ceil, T>;
  case Opcode::Round:
    return mathUnary<Unary::Round, T>;
  case Opcode::Sqrt:
    return mathUnary<Unary::Sqrt, T>;
  case Opcode::Rsqrt:
    return mathUnary<Unary::Rsqrt, T>;
  case Opcode::Exp:
    return mathUnary<Unary::Exp, T>;
  case Opcode::Expm1:
    return mathUnary<Unary::Expm1, T>;
  case Opcode::Log:
    return mathUnary<Unary::Log, T>;
  case Opcode::Log1p:
    return mathUnary<Unary::Log1p, T>;
  case Opcode::Tanh:
    return mathUnary<Unary::Tanh, T>;
  case Opcode::Sigmoid:
    return mathUnary<Unary::Sigmoid, T>;
  case Opcode::Erf:
    return mathUnary<Unary::Erf, T>;
  case Opcode::Sin:
    return mathUnary<Unary::Sin, T>;
  case Opcode::Cos:
    return mathUnary<Unary::Cos, T>;
  case Opcode::IsNan:
    return unary<IsNanFn, T>;
  case Opcode::IsFinite:
    return unary<IsFiniteFn, T>;
  default:
    return numberFunction<T>(opcode);
  }
}

RunFn boolFunction(Opcode opcode) {
  switch (opcode) {
  case Opcode::And:
    return binary<AndFn, uint8_t>;
  case Opcode::Or:
    return binary<OrFn, uint8_t>;
  case Opcode::Not:
    return unary<NotFn, uint8_t>;
  default:
    return anyFunction<uint8_t>(opcode);
  }
}

} // namespace

RunFn reference::getRowFunction(Opcode opcode, ElementKind kind) {
  switch (kind) {
  case ElementKind::Bool:
    return boolFunction(opcode);
  case ElementKind::I8:
    return intFunction<int8_t>(opcode);
  case ElementKind::U8:
    return intFunction<uint8_t>(opcode);
  case ElementKind::I32:
    return intFunction<int32_t>(opcode);
  case ElementKind::I64:
    return intFunction<int64_t>(opcode);
  case ElementKind::F16:
  case ElementKind::BF16:
  case ElementKind::F32:
    return floatFunction<float>(opcode);
  case ElementKind::F64:
    return floatFunction<double>(opcode);
  }
  return nullptr;
}
