//===- LoopNest.cpp - running row programs over extents -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lanes of a row are points of the parallel extents where there are many of
// them, and points of the reduction extents otherwise. Either way the terms of
// one element are combined one after the other in lexicographic order, so that
// the result does not depend on the choice.
//
//===----------------------------------------------------------------------===//

#include "Frame.h"

#include "tdsl/ScalarMath/Host.h"

#include <cmath>
#include <limits>
#include <type_traits>

using namespace tdsl;
using namespace tdsl::reference;

static int64_t product(llvm::ArrayRef<int64_t> extents) {
  int64_t result = 1;
  for (int64_t extent : extents)
    result *= extent;
  return result;
}

static llvm::Error takeError(Frame &frame) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), frame.error);
}

namespace {

template <typename T> T lowest() {
  if constexpr (std::is_floating_point_v<T>)
    return -std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::min();
}
template <typename T> T highest() {
  if constexpr (std::is_floating_point_v<T>)
    return std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::max();
}

template <typename T> T add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(uint64_t(a) + uint64_t(b));
  else
    return a + b;
}
template <typename T> T multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(uint64_t(a) * uint64_t(b));
  else
    return a * b;
}
template <typename T> T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return scalarmath::max(a, b);
  else
    return a < b ? b : a;
}
template <typename T> T smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return scalarmath::min(a, b);
  else
    return b < a ? b : a;
}

/// One kind of reduction. Accumulators have the register format of the values:
/// f32 for 16-bit floats, and for narrow integers it wraps like a wider one.
struct SumStep {
  template <typename T> static T identity() { return T(0); }
  template <typename T> static T combine(T acc, T v) { return add(acc, v); }
};
struct ProdStep {
  template <typename T> static T identity() { return T(1); }
  template <typename T> static T combine(T acc, T v) {
    return multiply(acc, v);
  }
};
struct MaxStep {
  template <typename T> static T identity() { return lowest<T>(); }
  template <typename T> static T combine(T acc, T v) { return larger(acc, v); }
};
struct MinStep {
  template <typename T> static T identity() { return highest<T>(); }
  template <typename T> static T combine(T acc, T v) { return smaller(acc, v); }
};
struct AnyStep {
  template <typename T> static T identity() { return T(0); }
  template <typename T> static T combine(T acc, T v) { return acc | v; }
};
struct AllStep {
  template <typename T> static T identity() { return T(1); }
  template <typename T> static T combine(T acc, T v) { return acc & v; }
};

/// acc[l] = Step::combine(acc[l], v[l])
template <typename Step, typename T>
void combineRow(T *acc, const T *v, unsigned n) {
  if constexpr (std::is_floating_point_v<T> && std::is_same_v<Step, MaxStep>) {
    scalarmath::evaluate(scalarmath::Binary::Max, acc, v, acc, n);
  } else if constexpr (std::is_floating_point_v<T> &&
                       std::is_same_v<Step, MinStep>) {
    scalarmath::evaluate(scalarmath::Binary::Min, acc, v, acc, n);
  } else {
    for (unsigned l = 0; l < n; ++l)
      acc[l] = Step::combine(acc[l], v[l]);
  }
}

/// Whether `v` takes the place of the best term so far: the first NaN wins,
/// then the first best number.
template <bool Max, typename T> bool isBetter(T v, T best) {
  if constexpr (std::is_floating_point_v<T>) {
    if (best != best)
      return false;
    if (v != v)
      return true;
  }
  return Max ? v > best : v < best;
}

/// Drives a nest: calls `perRow` for every row of terms.
class Runner {
public:
  Runner(const LoopNest &nest, llvm::ArrayRef<const Tensor *> tensors,
         StopRecorder *stops)
      : nest(nest), extents(nest.parallel.begin(), nest.parallel.end()),
        numParallel(nest.parallel.size()), points(product(nest.parallel)),
        terms(product(nest.reduce)),
        frame(nest.program, nest.parallel.size() + nest.reduce.size(), tensors,
              stops) {
    extents.append(nest.reduce.begin(), nest.reduce.end());
  }

  llvm::Expected<Tensor> map();
  template <ElementKind K> llvm::Expected<Tensor> reduce();
  template <ElementKind K, bool Max> llvm::Expected<Tensor> argReduce();
  template <ElementKind K>
  llvm::Expected<Tensor> scatter(llvm::ArrayRef<Reg> places,
                                 llvm::ArrayRef<int64_t> shape);

private:
  template <ElementKind K, typename Step> llvm::Expected<Tensor> reduceBy();
  template <ElementKind K> llvm::Expected<Tensor> reduceProducts();

  /// Calls `row(first point, lanes)` for rows of points of the dims.
  template <typename Row>
  bool forRows(unsigned begin, unsigned end, int64_t count, Row row) {
    for (int64_t first = 0; first < count; first += rowLanes) {
      unsigned lanes =
          static_cast<unsigned>(std::min<int64_t>(rowLanes, count - first));
      frame.setLanes(begin, end, extents, first, lanes);
      row(first, lanes);
      if (!frame.error.empty())
        return false;
    }
    return true;
  }

  /// Calls `term(t)` for the reduction points, with the indices set; the lanes
  /// are parallel points.
  template <typename Term> void forTerms(unsigned lanes, Term term) {
    llvm::SmallVector<int64_t, 4> index(nest.reduce.size(), 0);
    for (unsigned d = 0; d < index.size(); ++d)
      frame.moveUniform(numParallel + d, 0, lanes);
    for (int64_t t = 0; t < terms; ++t) {
      frame.run(lanes);
      if (!frame.error.empty())
        return;
      term(t);
      for (unsigned d = index.size(); d-- > 0;) {
        bool wraps = ++index[d] == nest.reduce[d];
        if (wraps)
          index[d] = 0;
        frame.moveUniform(numParallel + d, index[d], lanes);
        if (!wraps)
          break;
      }
    }
  }

  /// Sets the parallel indices to point `p`.
  void setPoint(int64_t p) {
    for (unsigned d = numParallel; d-- > 0;) {
      frame.setUniform(d, p % extents[d]);
      p /= extents[d];
    }
  }

  bool lanesAreParallel() const { return points >= 32 || points >= terms; }

  template <ElementKind K>
  void finish(const LaneType<K> *acc, int64_t first, unsigned lanes,
              Tensor &result) {
    storeLanes(K, acc, result.data() + first * bytesOf(K), lanes);
  }

  const LoopNest &nest;
  llvm::SmallVector<int64_t, 6> extents;
  unsigned numParallel;
  int64_t points, terms;
  Frame frame;
};

llvm::Expected<Tensor> Runner::map() {
  Tensor result(nest.yieldKind, nest.parallel);
  unsigned size = bytesOf(nest.yieldKind);
  bool good = forRows(0, numParallel, points, [&](int64_t first, unsigned n) {
    frame.run(n);
    storeLanes(nest.yieldKind, frame.row<uint8_t>(nest.yield),
               result.data() + first * size, n);
  });
  if (!good)
    return takeError(frame);
  return result;
}

template <ElementKind K, typename Step>
llvm::Expected<Tensor> Runner::reduceBy() {
  using T = LaneType<K>;
  Tensor result(K, nest.parallel);
  T acc[rowLanes];
  bool good = true;
  if (lanesAreParallel()) {
    good = forRows(0, numParallel, points, [&](int64_t first, unsigned n) {
      std::fill_n(acc, n, Step::template identity<T>());
      forTerms(n, [&](int64_t) {
        combineRow<Step>(acc, frame.row<T>(nest.yield), n);
      });
      finish<K>(acc, first, n, result);
    });
  } else {
    for (int64_t p = 0; p < points && good; ++p) {
      setPoint(p);
      acc[0] = Step::template identity<T>();
      good =
          forRows(numParallel, extents.size(), terms, [&](int64_t, unsigned n) {
            frame.run(n);
            const T *v = frame.row<T>(nest.yield);
            T sum = acc[0];
            for (unsigned l = 0; l < n; ++l)
              sum = Step::combine(sum, v[l]);
            acc[0] = sum;
          });
      finish<K>(acc, p, 1, result);
    }
  }
  if (!good)
    return takeError(frame);
  return result;
}

template <ElementKind K> llvm::Expected<Tensor> Runner::reduceProducts() {
  using T = LaneType<K>;
  Tensor result(K, nest.parallel);
  Reg a = nest.factors->first, b = nest.factors->second;
  T acc[rowLanes];
  bool good = true;
  if (lanesAreParallel()) {
    good = forRows(0, numParallel, points, [&](int64_t first, unsigned n) {
      std::fill_n(acc, n, T(0));
      forTerms(n, [&](int64_t) {
        fmaRow(frame.row<T>(a), frame.row<T>(b), acc, n);
      });
      finish<K>(acc, first, n, result);
    });
  } else {
    for (int64_t p = 0; p < points && good; ++p) {
      setPoint(p);
      acc[0] = 0;
      good =
          forRows(numParallel, extents.size(), terms, [&](int64_t, unsigned n) {
            frame.run(n);
            acc[0] = fmaSerial(frame.row<T>(a), frame.row<T>(b), acc[0], n);
          });
      finish<K>(acc, p, 1, result);
    }
  }
  if (!good)
    return takeError(frame);
  return result;
}

template <ElementKind K> llvm::Expected<Tensor> Runner::reduce() {
  switch (*nest.reduction) {
  case Reduction::Sum:
    if constexpr (isFloat(K))
      if (nest.factors)
        return reduceProducts<K>();
    return reduceBy<K, SumStep>();
  case Reduction::Prod:
    return reduceBy<K, ProdStep>();
  case Reduction::Max:
    return reduceBy<K, MaxStep>();
  case Reduction::Min:
    return reduceBy<K, MinStep>();
  case Reduction::Any:
    if constexpr (K == ElementKind::Bool)
      return reduceBy<K, AnyStep>();
    break;
  case Reduction::All:
    if constexpr (K == ElementKind::Bool)
      return reduceBy<K, AllStep>();
    break;
  case Reduction::ArgMax:
    return argReduce<K, true>();
  case Reduction::ArgMin:
    return argReduce<K, false>();
  }
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 "any and all reduce bools only");
}

template <ElementKind K, bool Max> llvm::Expected<Tensor> Runner::argReduce() {
  using T = LaneType<K>;
  Tensor result(ElementKind::I32, nest.parallel);
  auto at = result.elements<int32_t>();
  T best[rowLanes];
  bool good = forRows(0, numParallel, points, [&](int64_t first, unsigned n) {
    forTerms(n, [&](int64_t t) {
      const T *v = frame.row<T>(nest.yield);
      for (unsigned l = 0; l < n; ++l) {
        if (t == 0 || isBetter<Max>(v[l], best[l])) {
          best[l] = v[l];
          at[first + l] = static_cast<int32_t>(t);
        }
      }
    });
  });
  if (!good)
    return takeError(frame);
  return result;
}

template <ElementKind K>
llvm::Expected<Tensor> Runner::scatter(llvm::ArrayRef<Reg> places,
                                       llvm::ArrayRef<int64_t> shape) {
  using T = LaneType<K>;
  Tensor result(K, shape);
  std::vector<T> sums(result.numElements(), T(0));
  bool good = forRows(0, numParallel, points, [&](int64_t, unsigned n) {
    frame.run(n);
    const T *v = frame.row<T>(nest.yield);
    for (unsigned l = 0; l < n; ++l) {
      int64_t offset = 0;
      bool inside = true;
      for (auto [axis, reg] : llvm::enumerate(places)) {
        int64_t index = frame.row<int64_t>(reg)[l];
        inside &= index >= 0 && index < shape[axis];
        if (!inside)
          break;
        offset = offset * shape[axis] + index;
      }
      if (inside)
        sums[offset] = add(sums[offset], v[l]);
    }
  });
  if (!good)
    return takeError(frame);
  for (int64_t first = 0; first < result.numElements(); first += rowLanes)
    finish<K>(sums.data() + first, first,
              static_cast<unsigned>(
                  std::min<int64_t>(rowLanes, result.numElements() - first)),
              result);
  return result;
}

} // namespace

llvm::Expected<Tensor>
reference::runNest(const LoopNest &nest, llvm::ArrayRef<const Tensor *> tensors,
                   StopRecorder *stops) {
  Runner runner(nest, tensors, stops);
  if (!nest.reduction)
    return runner.map();
  return withKind(nest.yieldKind,
                  [&](auto k) { return runner.reduce<decltype(k)::value>(); });
}

llvm::Expected<Tensor>
reference::runScatter(const LoopNest &nest, llvm::ArrayRef<Reg> places,
                      llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<const Tensor *> tensors,
                      StopRecorder *stops) {
  Runner runner(nest, tensors, stops);
  return withKind(nest.yieldKind, [&](auto k) {
    return runner.scatter<decltype(k)::value>(places, shape);
  });
}
