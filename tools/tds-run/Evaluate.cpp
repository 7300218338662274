//===- Evaluate.cpp - run an entry over all rows of files -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Evaluate.h"
#include "Inputs.h"
#include "Outputs.h"
#include "Profile.h"

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>

namespace tdsrun {

static bool isFloatType(tds_type type) { return type >= TDS_F16; }

template <typename T> static T load(const char *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// f16 bits as a number.
static double halfValue(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31)
    return mantissa ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(1024 + mantissa, exponent - 25)
                          : std::ldexp(mantissa, -24));
}

static int64_t integerOf(tds_type type, const char *at) {
  switch (type) {
  case TDS_I8:
    return load<int8_t>(at);
  case TDS_I32:
    return load<int32_t>(at);
  case TDS_I64:
    return load<int64_t>(at);
  default: // u8 and bool
    return load<uint8_t>(at);
  }
}

static double numberOf(tds_type type, const char *at) {
  switch (type) {
  case TDS_F16:
    return halfValue(load<uint16_t>(at));
  case TDS_BF16: {
    uint32_t bits = uint32_t(load<uint16_t>(at)) << 16;
    return load<float>(reinterpret_cast<const char *>(&bits));
  }
  case TDS_F32:
    return load<float>(at);
  case TDS_F64:
    return load<double>(at);
  default:
    return static_cast<double>(integerOf(type, at));
  }
}

double elementOf(const NamedArray &array, size_t index) {
  return numberOf(array.type, &array.data[index * tds_type_size(array.type)]);
}

std::string elementText(const NamedArray &array, size_t index) {
  const char *at = &array.data[index * tds_type_size(array.type)];
  if (!isFloatType(array.type))
    return std::to_string(integerOf(array.type, at));
  char text[64];
  std::snprintf(text, sizeof text, array.type == TDS_F64 ? "%.10g" : "%.6g",
                numberOf(array.type, at));
  return text;
}

/// Everything that is needed between batches.
struct Sweep::State {
  State(const tds::Entry &entry, const std::string &data,
        const std::vector<std::string> &set, const tds_loader_options &options,
        bool gatherRows)
      : entry(entry), fixed(entry, set, data), loader(entry, data, options),
        gatherRows(gatherRows) {}

  bool isGathered(size_t result) const {
    return entry.results()[result].hasDataAxis;
  }
  void prepare();
  void begin(const tds_tensor *batch, uint64_t rows);
  void complete();
  void add(size_t result, const char *data, double weight);
  std::vector<NamedArray> combined();

  tds::Entry entry;
  FixedInputs fixed;
  tds::Loader loader;
  const bool gatherRows;
  std::vector<NamedArray> gathered; ///< one a result, empty where it adds up

  /// A sum of one result: integers in 64 bits, floats in double, weighted.
  struct Sum {
    std::vector<int64_t> integers;
    std::vector<double> floats;
  };
  std::vector<Sum> sums;
  double weight = 0;

  /// What a call in flight writes to.
  struct Slot {
    std::vector<std::vector<char>> data;
    std::vector<tds_tensor> raw;
  };
  static constexpr size_t inFlight = 2; ///< what the runtime allows
  std::array<Slot, inFlight> slots;     ///< by batch, modulo
  struct Flight {
    tds::Call call;
    uint64_t rows;
    double weight;
  };
  std::deque<Flight> flying;
  uint64_t completed = 0;
};

static tds_loader_options evalOptions() {
  tds_loader_options options{};
  options.mode = TDS_LOADER_EVAL;
  return options;
}

Sweep::Sweep(const tds::Entry &entry, const std::string &data,
             const std::vector<std::string> &set, bool gatherRows)
    : state(std::make_unique<State>(entry, data, set, evalOptions(),
                                    gatherRows)) {
  // Said now, not after an epoch of training.
  for (const tds::Port &port : entry.results())
    if (!port.hasDataAxis && port.type == TDS_BOOL &&
        state->loader.batches() > 1)
      throw tds::Error(TDS_INVALID_ARGUMENT,
                       "result '" + port.name + "' of entry '" + entry.name() +
                           "' is bool, which does not add up over batches; "
                           "return an i32 or f32 instead");
}

Sweep::~Sweep() = default;

uint64_t Sweep::rows() const { return state->loader.rows(); }

static size_t countElements(const std::vector<int64_t> &shape) {
  size_t count = 1;
  for (int64_t extent : shape)
    count *= static_cast<size_t>(extent);
  return count;
}

/// Sets everything to its beginning.
void Sweep::State::prepare() {
  const std::vector<tds::Port> &ports = entry.results();
  flying.clear();
  loader.seek(0, 0);
  completed = 0;
  weight = 0;
  sums.assign(ports.size(), {});
  gathered.clear();
  for (size_t i = 0; i < ports.size(); ++i) {
    gathered.push_back({ports[i].name, ports[i].type, ports[i].shape, {}});
    if (isGathered(i))
      continue;
    sums[i].integers.assign(countElements(ports[i].shape), 0);
    sums[i].floats.assign(sums[i].integers.size(), 0);
  }
  for (Slot &slot : slots) {
    slot.data.resize(ports.size());
    slot.raw.clear();
    for (size_t i = 0; i < ports.size(); ++i) {
      // data is null where a result is not wanted.
      const bool wanted = gatherRows || !isGathered(i);
      if (wanted)
        slot.data[i].resize(countElements(ports[i].shape) *
                            tds_type_size(ports[i].type));
      slot.raw.push_back({ports[i].type, int32_t(ports[i].shape.size()),
                          ports[i].shape.data(),
                          wanted ? slot.data[i].data() : nullptr});
    }
  }
}

void Sweep::State::begin(const tds_tensor *batch, uint64_t rows) {
  std::vector<tds_tensor> inputs(batch, batch + entry.inputs().size());
  fixed.apply(inputs);
  double batchWeight = static_cast<double>(rows);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const tds::Port &port = entry.inputs()[i];
    if (!port.isWeight)
      continue;
    batchWeight = 0;
    const char *at = static_cast<const char *>(inputs[i].data);
    for (int64_t row = 0; row < port.shape[0]; ++row)
      batchWeight += load<float>(at + 4 * row);
  }
  const Slot &slot = slots[(completed + flying.size()) % inFlight];
  flying.push_back({entry.start(inputs, slot.raw), rows, batchWeight});
}

/// Adds a batch's value of a result to its sum.
void Sweep::State::add(size_t result, const char *data, double batchWeight) {
  const tds_type type = entry.results()[result].type;
  const size_t size = tds_type_size(type);
  Sum &sum = sums[result];
  for (size_t e = 0; e < sum.integers.size(); ++e, data += size) {
    if (!isFloatType(type))
      sum.integers[e] =
          static_cast<int64_t>(static_cast<uint64_t>(sum.integers[e]) +
                               static_cast<uint64_t>(integerOf(type, data)));
    else if (batchWeight != 0)
      sum.floats[e] += batchWeight * numberOf(type, data);
  }
}

/// Waits for the batch that was begun first and takes its results.
void Sweep::State::complete() {
  const Slot &slot = slots[completed % inFlight];
  flying.front().call.wait();
  const uint64_t rows = flying.front().rows;
  const double batchWeight = flying.front().weight;
  flying.pop_front();
  ++completed;
  weight += batchWeight;
  const std::vector<tds::Port> &ports = entry.results();
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::vector<char> &data = slot.data[i];
    if (isGathered(i)) {
      if (!gatherRows)
        continue;
      const auto extent = static_cast<size_t>(ports[i].shape[0]);
      // Without a bound file every row counts.
      const size_t kept = loader.rows() ? static_cast<size_t>(rows) : extent;
      const size_t bytes = kept * (data.size() / extent);
      gathered[i].data.insert(gathered[i].data.end(), data.begin(),
                              data.begin() + static_cast<ptrdiff_t>(bytes));
    } else if (loader.batches() == 1) { // Nothing to combine.
      gathered[i].data = data;
    } else {
      add(i, data.data(), batchWeight);
    }
  }
}

/// The results of all batches together.
std::vector<NamedArray> Sweep::State::combined() {
  std::vector<NamedArray> results;
  for (size_t i = 0; i < gathered.size(); ++i) {
    NamedArray &array = gathered[i];
    if (isGathered(i)) {
      if (!gatherRows)
        continue;
      if (loader.rows())
        array.shape[0] = static_cast<int64_t>(loader.rows());
      results.push_back(std::move(array));
      continue;
    }
    if (loader.batches() == 1) {
      results.push_back(std::move(array));
      continue;
    }
    auto append = [&](auto value) {
      const char *at = reinterpret_cast<const char *>(&value);
      array.data.insert(array.data.end(), at, at + sizeof value);
    };
    bool isFloat = isFloatType(array.type);
    // Sums of integers may outgrow their type, averages of f16 and bf16 are
    // finer than theirs.
    array.type = !isFloat ? TDS_I64 : array.type == TDS_F64 ? TDS_F64 : TDS_F32;
    for (size_t e = 0; e < sums[i].integers.size(); ++e) {
      double mean = weight != 0 ? sums[i].floats[e] / weight : NAN;
      if (!isFloat)
        append(sums[i].integers[e]);
      else if (array.type == TDS_F64)
        append(mean);
      else
        append(static_cast<float>(mean));
    }
    results.push_back(std::move(array));
  }
  return results;
}

bool Sweep::run() {
  auto begin = std::chrono::steady_clock::now();
  State &s = *state;
  s.prepare();
  const tds_tensor *batch = nullptr;
  uint64_t rows = 0;
  // A batch travels to a GPU while the one before it computes.
  while (s.loader.next(batch, rows)) {
    if (interrupted())
      return false;
    if (s.flying.size() == State::inFlight)
      s.complete();
    s.begin(batch, rows);
  }
  while (!s.flying.empty())
    s.complete();
  results = s.combined();
  elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  return true;
}

static std::string arrayText(const NamedArray &array) {
  size_t count = array.data.size() / tds_type_size(array.type);
  if (array.shape.empty())
    return elementText(array, 0);
  std::string text = "[";
  constexpr size_t shown = 1000;
  for (size_t i = 0; i < count && i < shown; ++i)
    text += (i ? ", " : "") + elementText(array, i);
  return text + (count > shown ? ", …]" : "]");
}

/// Row by row results are not combined: said before the run.
static void checkCombined(const tds::Entry &entry) {
  std::string rows;
  size_t count = 0;
  for (const tds::Port &port : entry.results())
    if (port.hasDataAxis) {
      rows += (count ? ", '" : "'") + port.name + "'";
      ++count;
    }
  if (count == entry.results().size())
    throw tds::Error(TDS_INVALID_ARGUMENT,
                     "entry '" + entry.name() +
                         "' gives results row by row only; use `tds-run "
                         "predict` to write them to a file");
  if (count)
    std::fprintf(stderr,
                 "note: eval leaves out %s, given row by row; `tds-run "
                 "predict --entry %s -o FILE.npz` writes %s to a file\n",
                 rows.c_str(), entry.name().c_str(),
                 count == 1 ? "it" : "them");
}

int evaluate(const Options &options) {
  checkOutputs(options, Command::Predict);
  tds::Device device = openDevice(options);
  tds::Module module = loadModule(options, device);
  tds::Entry entry = module.entry(options.entry);
  checkSetNames(options.set, {entry});
  checkCombined(entry);
  Sweep sweep(entry, options.data, options.set, false);
  Profile profile(options, device, module);
  if (!sweep.run()) {
    std::fprintf(stderr, "interrupted\n");
    return interruptedExitCode;
  }
  profile.finish();
  for (const NamedArray &array : sweep.arrays())
    std::printf("%s: %s\n", array.name.c_str(), arrayText(array).c_str());
  std::printf("rows: %llu in %.2f s\n",
              static_cast<unsigned long long>(sweep.rows()), sweep.seconds());
  return 0;
}

} // namespace tdsrun
