//===- Reference.cpp - true values to measure against -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Reference.h"

#include <cmath>
#include <limits>

#include <mpfr.h>

namespace tdsl::scalarmath {

namespace {

/// An MPFR number with the precision it is made with.
class Real {
public:
  explicit Real(mpfr_prec_t precision) { mpfr_init2(value, precision); }
  ~Real() { mpfr_clear(value); }
  Real(const Real &) = delete;
  Real &operator=(const Real &) = delete;
  operator mpfr_ptr() { return value; }

private:
  mpfr_t value;
};

// Plain functions: enough that the rounding of the reference does not show.
constexpr mpfr_prec_t precisionOfFunctions = 160;
// Floor division: the integer quotient of any two f64 is exact in this.
constexpr mpfr_prec_t precisionOfQuotients = 2300;

template <class T> struct Traits;
template <> struct Traits<float> {
  static constexpr int digits = 24, minExponent = -125;
  static float get(mpfr_ptr x) { return mpfr_get_flt(x, MPFR_RNDN); }
};
template <> struct Traits<double> {
  static constexpr int digits = 53, minExponent = -1021;
  static double get(mpfr_ptr x) { return mpfr_get_d(x, MPFR_RNDN); }
};

template <class T> double distance(mpfr_ptr truth, T result, bool exact) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  T rounded = Traits<T>::get(truth);
  if (std::isnan(rounded) || std::isnan(result))
    return std::isnan(rounded) && std::isnan(result) ? 0 : wrong;
  if (exact)
    return rounded == result && std::signbit(rounded) == std::signbit(result)
               ? 0
               : wrong;
  if (std::signbit(rounded) != std::signbit(result))
    return wrong;
  if (std::isinf(rounded) || std::isinf(result)) {
    // Only next to the limit may one be infinite and the other the largest.
    T finite = std::isinf(rounded) ? result : rounded;
    return std::isinf(finite) ||
                   (std::fabs(finite) == std::numeric_limits<T>::max() &&
                    !mpfr_inf_p(truth))
               ? 0
               : wrong;
  }
  if (mpfr_zero_p(truth))
    return result == 0 ? 0 : wrong;
  long exponent = mpfr_get_exp(truth);
  if (exponent < Traits<T>::minExponent)
    exponent = Traits<T>::minExponent;
  Real difference(precisionOfFunctions);
  mpfr_sub_d(difference, truth, result, MPFR_RNDN);
  mpfr_abs(difference, difference, MPFR_RNDN);
  mpfr_mul_2si(difference, difference, Traits<T>::digits - exponent, MPFR_RNDN);
  return mpfr_get_d(difference, MPFR_RNDU);
}

template <class T> double unaryError(Unary function, T x, T result) {
  Real in(Traits<double>::digits), out(precisionOfFunctions);
  mpfr_set_d(in, x, MPFR_RNDN);
  switch (function) {
  case Unary::Exp:
    mpfr_exp(out, in, MPFR_RNDN);
    break;
  case Unary::Expm1:
    mpfr_expm1(out, in, MPFR_RNDN);
    break;
  case Unary::Log:
    mpfr_log(out, in, MPFR_RNDN);
    // Of -0 too, MPFR gives -inf.
    break;
  case Unary::Log1p:
    mpfr_log1p(out, in, MPFR_RNDN);
    break;
  case Unary::Sqrt:
    mpfr_sqrt(out, in, MPFR_RNDN);
    break;
  case Unary::Rsqrt:
    mpfr_rec_sqrt(out, in, MPFR_RNDN);
    // MPFR takes no heed of the sign of a zero; 1 / sqrt(-0) is -inf.
    if (x == 0 && std::signbit(x))
      mpfr_set_inf(out, -1);
    break;
  case Unary::Tanh:
    mpfr_tanh(out, in, MPFR_RNDN);
    break;
  case Unary::Sigmoid: {
    mpfr_neg(in, in, MPFR_RNDN);
    mpfr_exp(out, in, MPFR_RNDN);
    mpfr_add_ui(out, out, 1, MPFR_RNDN);
    mpfr_ui_div(out, 1, out, MPFR_RNDN);
    break;
  }
  case Unary::Erf:
    mpfr_erf(out, in, MPFR_RNDN);
    break;
  case Unary::Sin:
    mpfr_sin(out, in, MPFR_RNDN);
    break;
  case Unary::Cos:
    mpfr_cos(out, in, MPFR_RNDN);
    break;
  case Unary::Floor:
    mpfr_rint_floor(out, in, MPFR_RNDN);
    break;
  case Unary::Ceil:
    mpfr_rint_ceil(out, in, MPFR_RNDN);
    break;
  case Unary::Round:
    mpfr_rint_roundeven(out, in, MPFR_RNDN);
    break;
  case Unary::Abs:
    mpfr_abs(out, in, MPFR_RNDN);
    break;
  case Unary::Sign:
    if (x > 0 || x < 0)
      mpfr_set_si(out, x > 0 ? 1 : -1, MPFR_RNDN);
    else
      mpfr_set(out, in, MPFR_RNDN);
    break;
  }
  return distance<T>(out, result, isExact(function));
}

/// The exact x mod y (sign of y) and floor(x / y) of finite operands.
void floorDivMod(mpfr_ptr x, mpfr_ptr y, mpfr_ptr div, mpfr_ptr mod) {
  mpfr_fmod(mod, x, y, MPFR_RNDN);
  if (!mpfr_zero_p(mod) && mpfr_signbit(mod) != mpfr_signbit(y))
    mpfr_add(mod, mod, y, MPFR_RNDN);
  mpfr_sub(div, x, mod, MPFR_RNDN);
  mpfr_div(div, div, y, MPFR_RNDN);
}

template <class T> double quotientError(Binary function, T x, T y, T result) {
  bool isMod = function == Binary::Mod;
  Real truth(precisionOfQuotients);
  if (std::isfinite(x) && std::isfinite(y) && y != 0) {
    Real a(Traits<double>::digits), b(Traits<double>::digits);
    Real div(precisionOfQuotients), mod(precisionOfQuotients);
    mpfr_set_d(a, x, MPFR_RNDN);
    mpfr_set_d(b, y, MPFR_RNDN);
    floorDivMod(a, b, div, mod);
    if (isMod)
      mpfr_set(truth, mod, MPFR_RNDN);
    else
      mpfr_set(truth, div, MPFR_RNDN);
    // A zero takes the sign of y, or of the quotient.
    if (mpfr_zero_p(truth))
      mpfr_setsign(truth, truth,
                   isMod ? std::signbit(y) : std::signbit(x) != std::signbit(y),
                   MPFR_RNDN);
  } else if (std::isfinite(x) && std::isinf(y)) {
    bool opposite = x != 0 && std::signbit(x) != std::signbit(y);
    if (isMod)
      mpfr_set_d(truth, opposite ? y : std::copysign(x, y), MPFR_RNDN);
    else
      mpfr_set_d(truth, opposite ? -1.0 : double(x) / y, MPFR_RNDN);
  } else if (isMod) {
    mpfr_set_nan(truth);
  } else {
    mpfr_set_d(truth, double(x) / double(y), MPFR_RNDN);
  }
  return distance<T>(truth, result, true);
}

template <class T> double binaryError(Binary function, T x, T y, T result) {
  Real truth(precisionOfFunctions);
  switch (function) {
  case Binary::Pow: {
    Real a(Traits<double>::digits), b(Traits<double>::digits);
    mpfr_set_d(a, x, MPFR_RNDN);
    mpfr_set_d(b, y, MPFR_RNDN);
    bool isExactPower = mpfr_pow(truth, a, b, MPFR_RNDN) == 0 &&
                        mpfr_min_prec(truth) <= mpfr_prec_t(Traits<T>::digits);
    // An f32 power that is exact must come out exactly.
    return distance<T>(truth, result, isExactPower && sizeof(T) == 4);
  }
  case Binary::Min:
  case Binary::Max: {
    bool isMax = function == Binary::Max;
    if (std::isnan(x) || std::isnan(y))
      mpfr_set_nan(truth);
    else if (x == 0 && y == 0)
      mpfr_set_d(truth,
                 (isMax ? std::signbit(x) && std::signbit(y)
                        : std::signbit(x) || std::signbit(y))
                     ? -0.0
                     : 0.0,
                 MPFR_RNDN);
    else
      mpfr_set_d(truth, (x > y) == isMax ? x : y, MPFR_RNDN);
    return distance<T>(truth, result, true);
  }
  case Binary::FloorDiv:
  case Binary::Mod:
    return quotientError<T>(function, x, y, result);
  }
  return 0;
}

} // namespace

bool isExact(Unary function) {
  switch (function) {
  case Unary::Sqrt:
  case Unary::Floor:
  case Unary::Ceil:
  case Unary::Round:
  case Unary::Abs:
  case Unary::Sign:
    return true;
  default:
    return false;
  }
}

bool isExact(Binary function) { return function != Binary::Pow; }

/// x kept away from the arguments that the C library takes long over; the
/// result as an f32 is decided long before.
static double forExp(double x) { return x > 200 ? 200 : x < -200 ? -200 : x; }

double referenceInDouble(Unary function, double x) {
  switch (function) {
  case Unary::Exp:
    return std::exp(forExp(x));
  case Unary::Expm1:
    return std::expm1(forExp(x));
  case Unary::Log:
    return std::log(x);
  case Unary::Log1p:
    return std::log1p(x);
  case Unary::Sqrt:
    return std::sqrt(x);
  case Unary::Rsqrt:
    return 1 / std::sqrt(x);
  case Unary::Tanh:
    return std::tanh(x);
  case Unary::Sigmoid:
    return 1 / (1 + std::exp(forExp(-x)));
  case Unary::Erf:
    return std::erf(x);
  case Unary::Sin:
    return std::sin(x);
  case Unary::Cos:
    return std::cos(x);
  case Unary::Floor:
    return std::floor(x);
  case Unary::Ceil:
    return std::ceil(x);
  case Unary::Round:
    return std::nearbyint(x);
  case Unary::Abs:
    return std::fabs(x);
  case Unary::Sign:
    return x > 0 ? 1 : x < 0 ? -1 : x;
  }
  return 0;
}

double errorInUlps(Unary function, double x, double result) {
  return unaryError<double>(function, x, result);
}
double errorInUlps(Binary function, double x, double y, double result) {
  return binaryError<double>(function, x, y, result);
}
double errorInUlps(Unary function, float x, float result) {
  return unaryError<float>(function, x, result);
}
double errorInUlps(Binary function, float x, float y, float result) {
  return binaryError<float>(function, x, y, result);
}

} // namespace tdsl::scalarmath
