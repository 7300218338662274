//===- RowProgram.cpp - building and stepping row programs -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Frame.h"

#include "tdsl/ScalarMath/Host.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstring>

using namespace tdsl;
using namespace tdsl::reference;

//===----------------------------------------------------------------------===//
// Frame
//===----------------------------------------------------------------------===//

Frame::Frame(const RowProgram &program, unsigned numDims,
             llvm::ArrayRef<const Tensor *> tensors, StopRecorder *stops)
    : program(program), numDims(numDims), tensors(tensors), stops(stops),
      registers(new unsigned char[program.numRegs * registerBytes]()),
      uniform(numDims, 0), innerDim(numDims) {
  for (const auto &[reg, value] : program.constants)
    withKind(value.kind(), [&, reg = reg, &value = value](auto k) {
      using T = LaneType<decltype(k)::value>;
      T lane;
      loadLanes(value.kind(), value.data(), &lane, 1);
      std::fill_n(row<T>(reg), rowLanes, lane);
    });
}

void Frame::setLanes(unsigned begin, unsigned end,
                     llvm::ArrayRef<int64_t> extents, int64_t first,
                     unsigned lanes) {
  segments.clear();
  segmentIndices.clear();
  innerDim = begin == end ? numDims : end - 1;
  llvm::SmallVector<int64_t, 6> index(uniform.begin(), uniform.end());
  int64_t rest = first;
  for (unsigned d = end; d-- > begin;) {
    index[d] = rest % extents[d];
    rest /= extents[d];
  }
  for (unsigned lane = 0; lane < lanes;) {
    unsigned length = 1;
    if (begin != end)
      length = static_cast<unsigned>(
          std::min<int64_t>(lanes - lane, extents[innerDim] - index[innerDim]));
    segments.push_back({lane, length});
    segmentIndices.append(index.begin(), index.end());
    lane += length;
    if (begin == end)
      break;
    index[innerDim] += length;
    for (unsigned d = innerDim; d > begin && index[d] == extents[d]; --d) {
      index[d] = 0;
      ++index[d - 1];
    }
  }
  for (unsigned d = 0; d < program.indexRegs.size(); ++d) {
    if (!program.indexRegs[d])
      continue;
    int64_t *values = row<int64_t>(*program.indexRegs[d]);
    for (auto [s, segment] : llvm::enumerate(segments)) {
      int64_t value = indexAt(s, d), step = d == innerDim;
      for (unsigned l = 0; l < segment.length; ++l)
        values[segment.lane + l] = value + step * l;
    }
  }
}

void Frame::moveUniform(unsigned dim, int64_t value, unsigned lanes) {
  uniform[dim] = value;
  for (size_t s = 0; s < segments.size(); ++s)
    segmentIndices[s * numDims + dim] = value;
  if (dim < program.indexRegs.size() && program.indexRegs[dim])
    std::fill_n(row<int64_t>(*program.indexRegs[dim]), lanes, value);
}

//===----------------------------------------------------------------------===//
// Instructions with access to more than registers
//===----------------------------------------------------------------------===//

namespace {

template <ElementKind K>
void affineReadRow(const Instruction &i, Frame &frame, unsigned) {
  using T = typename Stored<K>::Type;
  const RowProgram::AffineAccess &access =
      frame.program.affineAccesses[i.extra];
  const T *data = frame.tensors[i.a]->elements<T>().data();
  auto *dst = frame.row<LaneType<K>>(i.dst);
  constexpr bool narrow = K == ElementKind::F16 || K == ElementKind::BF16;
  auto widen = [](T value) -> LaneType<K> {
    if constexpr (K == ElementKind::F16)
      return scalarmath::fromF16(value);
    else if constexpr (K == ElementKind::BF16)
      return scalarmath::fromBF16(value);
    else
      return value;
  };
  int64_t step =
      frame.innerDim < frame.numDims ? access.strides[frame.innerDim] : 0;
  for (auto [s, segment] : llvm::enumerate(frame.segments)) {
    int64_t offset = access.base;
    for (unsigned d = 0; d < frame.numDims; ++d)
      offset += access.strides[d] * frame.indexAt(s, d);
    auto *out = dst + segment.lane;
    const T *from = data + offset;
    if (step == 1 && !narrow) {
      std::memcpy(out, from, segment.length * sizeof(T));
    } else if (step == 1) {
      loadLanes(K, reinterpret_cast<const uint8_t *>(from), out,
                segment.length);
    } else if (step == 0) {
      std::fill_n(out, segment.length, widen(*from));
    } else {
      for (unsigned l = 0; l < segment.length; ++l)
        out[l] = widen(from[l * step]);
    }
  }
}

template <ElementKind K>
void indexedReadRow(const Instruction &i, Frame &frame, unsigned n) {
  using T = typename Stored<K>::Type;
  using Outside = RowProgram::Outside;
  const RowProgram::IndexedAccess &access =
      frame.program.indexedAccesses[i.extra];
  const Tensor &tensor = *frame.tensors[i.a];
  const T *data = tensor.elements<T>().data();
  auto *dst = frame.row<LaneType<K>>(i.dst);
  int64_t offsets[rowLanes] = {};
  bool inside[rowLanes];
  std::fill_n(inside, n, true);
  for (auto [axis, reg] : llvm::enumerate(access.indices)) {
    const int64_t *index = frame.row<int64_t>(reg);
    int64_t extent = access.shape[axis];
    for (unsigned l = 0; l < n; ++l) {
      int64_t at = index[l];
      if (access.outside == Outside::Clamp)
        at = std::max<int64_t>(0, std::min(at, extent - 1));
      if (at < 0 || at >= extent) {
        inside[l] = false;
        if (access.outside == Outside::Error && frame.error.empty()) {
          llvm::raw_string_ostream os(frame.error);
          os << "index " << at << " is out of range on axis " << axis
             << " of extent " << extent;
        }
        at = 0;
      }
      offsets[l] = offsets[l] * extent + at;
    }
  }
  if (tensor.numElements() == 0)
    std::fill_n(inside, n, false);
  const LaneType<K> *guard = access.outside == Outside::Guard
                                 ? frame.row<LaneType<K>>(access.guard)
                                 : nullptr;
  for (unsigned l = 0; l < n; ++l) {
    if (!inside[l]) {
      dst[l] = guard ? guard[l] : LaneType<K>();
      continue;
    }
    T value = data[offsets[l]];
    if constexpr (K == ElementKind::F16)
      dst[l] = scalarmath::fromF16(value);
    else if constexpr (K == ElementKind::BF16)
      dst[l] = scalarmath::fromBF16(value);
    else
      dst[l] = value;
  }
}

template <bool Uniform>
void randomRow(const Instruction &i, Frame &frame, unsigned n) {
  const int64_t *seed = frame.row<int64_t>(i.a);
  const int64_t *step = frame.row<int64_t>(i.b);
  const int64_t *linear = frame.row<int64_t>(i.c);
  // The iteration register comes second in `extra`'s table.
  const RowProgram::IndexedAccess &extra =
      frame.program.indexedAccesses[i.extra];
  const int64_t *iteration = frame.row<int64_t>(extra.indices[0]);
  uint32_t site = static_cast<uint32_t>(extra.shape[0]);
  float *dst = frame.row<float>(i.dst);
  bool regular = true;
  for (unsigned l = 1; l < n; ++l)
    regular &= linear[l] == linear[0] + l && seed[l] == seed[0] &&
               step[l] == step[0] && iteration[l] == iteration[0];
  if (regular) {
    (Uniform ? scalarmath::uniformRow : scalarmath::normalRow)(
        seed[0], linear[0], static_cast<uint32_t>(iteration[0]),
        static_cast<uint32_t>(step[0]), site, dst, n);
    return;
  }
  for (unsigned l = 0; l < n; ++l)
    dst[l] = (Uniform ? scalarmath::uniformAt : scalarmath::normalAt)(
        seed[l], linear[l], static_cast<uint32_t>(iteration[l]),
        static_cast<uint32_t>(step[l]), site);
}

template <ElementKind K>
void stopRow(const Instruction &i, Frame &frame, unsigned n) {
  using T = LaneType<K>;
  T *dst = frame.row<T>(i.dst);
  std::memcpy(dst, frame.row<T>(i.a), n * sizeof(T));
  StopRecorder *stops = frame.stops;
  if (!stops)
    return;
  auto *bytes = reinterpret_cast<uint8_t *>(dst);
  if (!stops->replay) {
    stops->bytes.insert(stops->bytes.end(), bytes, bytes + n * sizeof(T));
    return;
  }
  if (stops->position + n * sizeof(T) > stops->bytes.size()) {
    frame.error = "a replayed evaluation passes more stopped values than the "
                  "recorded one";
    return;
  }
  std::memcpy(dst, stops->bytes.data() + stops->position, n * sizeof(T));
  stops->position += n * sizeof(T);
}

} // namespace

//===----------------------------------------------------------------------===//
// RowProgram
//===----------------------------------------------------------------------===//

Reg RowProgram::constant(const Tensor &value) {
  Reg reg = newReg();
  constants.emplace_back(reg, value);
  return reg;
}

Reg RowProgram::index(unsigned dim) {
  if (indexRegs.size() <= dim)
    indexRegs.resize(dim + 1);
  if (!indexRegs[dim])
    indexRegs[dim] = newReg();
  return *indexRegs[dim];
}

Reg RowProgram::op(Opcode opcode, ElementKind kind, Reg a, Reg b, Reg c) {
  RunFn function = getRowFunction(opcode, kind);
  assert(function && "the language has no such operation");
  Reg dst = newReg();
  instructions.push_back({function, dst, a, b, c, 0, kind});
  bool givesKind = !(opcode >= Opcode::IsNan && opcode <= Opcode::GreaterEqual);
  if (givesKind && opcode != Opcode::Copy && opcode != Opcode::Select)
    if (RunFn round = getRoundFunction(kind))
      instructions.push_back({round, dst, dst, 0, 0, 0, kind});
  return dst;
}

Reg RowProgram::cast(Reg a, ElementKind from, ElementKind to) {
  if (from == to)
    return a;
  Reg dst = newReg();
  instructions.push_back({getCastFunction(from, to), dst, a, 0, 0, 0, to});
  return dst;
}

Reg RowProgram::stopGradient(Reg a, ElementKind kind) {
  Reg dst = newReg();
  RunFn run = withKind(
      kind, [](auto k) -> RunFn { return stopRow<decltype(k)::value>; });
  instructions.push_back({run, dst, a, 0, 0, 0, kind});
  return dst;
}

Reg RowProgram::random(bool uniform, Reg seed, Reg step, Reg linear,
                       Reg iteration, uint32_t site) {
  Reg dst = newReg();
  uint32_t extra = static_cast<uint32_t>(indexedAccesses.size());
  indexedAccesses.push_back(
      {{static_cast<int64_t>(site)}, {iteration}, Outside::Error, 0});
  instructions.push_back({uniform ? randomRow<true> : randomRow<false>, dst,
                          seed, step, linear, extra, ElementKind::F32});
  return dst;
}

Reg RowProgram::affineRead(unsigned slot, ElementKind kind, int64_t base,
                           llvm::ArrayRef<int64_t> strides) {
  Reg dst = newReg();
  uint32_t extra = static_cast<uint32_t>(affineAccesses.size());
  affineAccesses.push_back({base, llvm::SmallVector<int64_t, 4>(strides)});
  RunFn run = withKind(
      kind, [](auto k) -> RunFn { return affineReadRow<decltype(k)::value>; });
  instructions.push_back({run, dst, slot, 0, 0, extra, kind});
  return dst;
}

Reg RowProgram::indexedRead(unsigned slot, ElementKind kind,
                            llvm::ArrayRef<int64_t> shape,
                            llvm::ArrayRef<Reg> indices, Outside outside,
                            Reg guard) {
  Reg dst = newReg();
  uint32_t extra = static_cast<uint32_t>(indexedAccesses.size());
  indexedAccesses.push_back({llvm::SmallVector<int64_t, 4>(shape),
                             llvm::SmallVector<Reg, 4>(indices), outside,
                             guard});
  RunFn run = withKind(
      kind, [](auto k) -> RunFn { return indexedReadRow<decltype(k)::value>; });
  instructions.push_back({run, dst, slot, 0, 0, extra, kind});
  return dst;
}
