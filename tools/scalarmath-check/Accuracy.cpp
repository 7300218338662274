//===- Accuracy.cpp - the worst error over many inputs -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Accuracy.h"

#include "Inputs.h"
#include "Reference.h"
#include "tdsl/ScalarMath/Host.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

namespace tdsl::scalarmath {

static constexpr size_t rowLength = 8192;

static void note(Worst &worst, double ulps, double x, double y, double result) {
  if (!(ulps > worst.ulps))
    return;
  worst.ulps = ulps;
  worst.x = x;
  worst.y = y;
  worst.result = result;
}

/// Runs work(thread) on each thread and joins the results.
template <class Work> static Worst onThreads(unsigned threads, Work work) {
  std::vector<Worst> parts(threads);
  std::vector<std::thread> running;
  for (unsigned t = 0; t < threads; ++t)
    running.emplace_back([&, t] { parts[t] = work(t); });
  Worst worst;
  for (unsigned t = 0; t < threads; ++t) {
    running[t].join();
    worst.points += parts[t].points;
    note(worst, parts[t].ulps, parts[t].x, parts[t].y, parts[t].result);
  }
  return worst;
}

/// The error by the double reference, or a negative number where only MPFR can
/// tell (results of the wrong kind or sign, and at the ends of the range).
static double quickError(Unary function, float x, float result) {
  double truth = referenceInDouble(function, double(x));
  float rounded = float(truth);
  if (isExact(function))
    return rounded == result && std::signbit(rounded) == std::signbit(result)
               ? 0
               : -1;
  if (std::isnan(rounded) || std::isnan(result))
    return std::isnan(rounded) && std::isnan(result) ? 0 : -1;
  if (std::isinf(rounded) || std::isinf(result))
    return rounded == result ? 0 : -1;
  if (std::signbit(rounded) != std::signbit(result))
    return -1;
  uint64_t bits;
  std::memcpy(&bits, &truth, sizeof(bits));
  int exponent = std::max(int(bits >> 52 & 0x7ff) - 1022, -125);
  // 2^(24 - exponent), made from its bits.
  uint64_t scaleBits = uint64_t(24 - exponent + 1023) << 52;
  double scale;
  std::memcpy(&scale, &scaleBits, sizeof(scale));
  return std::fabs(double(result) - truth) * scale;
}

Worst sweepF32(Unary function, uint32_t stride, unsigned threads) {
  uint64_t total = ((uint64_t(1) << 32) + stride - 1) / stride;
  return onThreads(threads, [=](unsigned thread) {
    Worst worst;
    std::vector<float> in(rowLength), out(rowLength);
    for (uint64_t first = thread * rowLength; first < total;
         first += threads * rowLength) {
      size_t n = std::min<uint64_t>(rowLength, total - first);
      for (size_t i = 0; i < n; ++i) {
        uint32_t pattern = uint32_t((first + i) * stride);
        std::memcpy(&in[i], &pattern, sizeof(pattern));
      }
      evaluate(function, in.data(), out.data(), n);
      worst.points += n;
      for (size_t i = 0; i < n; ++i) {
        double error = quickError(function, in[i], out[i]);
        // Only a new worst value above what rounding gives anyway is worth
        // MPFR's time.
        if (error < 0 || (error > 0.5 && error > worst.ulps))
          error = errorInUlps(function, in[i], out[i]);
        note(worst, error, in[i], 0, out[i]);
      }
    }
    return worst;
  });
}

template <class T> struct ElementFor;
template <> struct ElementFor<float> {
  static constexpr Element value = Element::F32;
};
template <> struct ElementFor<double> {
  static constexpr Element value = Element::F64;
};

template <class T>
static Worst sweepPoints(Unary function, uint64_t points, unsigned threads) {
  return onThreads(threads, [=](unsigned thread) {
    Worst worst;
    Inputs inputs({ElementFor<T>::value}, thread + 1);
    std::vector<T> out(rowLength);
    while (worst.points < points / threads) {
      inputs.fill(rowLength);
      const T *in = static_cast<const T *>(inputs.row(0));
      evaluate(function, in, out.data(), rowLength);
      for (size_t i = 0; i < rowLength; ++i)
        note(worst, errorInUlps(function, in[i], out[i]), in[i], 0, out[i]);
      worst.points += rowLength;
    }
    return worst;
  });
}

template <class T>
static Worst sweepPoints(Binary function, uint64_t points, unsigned threads) {
  return onThreads(threads, [=](unsigned thread) {
    Worst worst;
    Inputs inputs({ElementFor<T>::value, ElementFor<T>::value}, thread + 1);
    std::vector<T> out(rowLength);
    while (worst.points < points / threads) {
      inputs.fill(rowLength);
      const T *x = static_cast<const T *>(inputs.row(0));
      const T *y = static_cast<const T *>(inputs.row(1));
      evaluate(function, x, y, out.data(), rowLength);
      for (size_t i = 0; i < rowLength; ++i)
        note(worst, errorInUlps(function, x[i], y[i], out[i]), x[i], y[i],
             out[i]);
      worst.points += rowLength;
    }
    return worst;
  });
}

Worst sweepF64(Unary function, uint64_t points, unsigned threads) {
  return sweepPoints<double>(function, points, threads);
}
Worst sweepF32(Binary function, uint64_t points, unsigned threads) {
  return sweepPoints<float>(function, points, threads);
}
Worst sweepF64(Binary function, uint64_t points, unsigned threads) {
  return sweepPoints<double>(function, points, threads);
}

} // namespace tdsl::scalarmath
