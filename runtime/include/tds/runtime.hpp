//===- runtime.hpp - the C++17 interface of the TDS runtime -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thin layer over runtime.h: handles that release themselves, tensors, and
// exceptions (tds::Error) instead of status codes. Header only; the binary
// interface is that of the C header.
//
//   tds::Module net = tds::Module::loadBest("model.tdsx");
//   tds::Entry train = net.entry("train");
//   tds::Loader loader(train, "x=images.idx.gz,y=labels.idx.gz");
//   for (const tds::Batch &b : loader)
//     float loss = train(b["x"], b["y"], 1e-3f).scalar<float>();
//   net.save("model.safetensors");
//
//===----------------------------------------------------------------------===//

#ifndef TDS_RUNTIME_HPP
#define TDS_RUNTIME_HPP

#include "tds/runtime.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tds {

/// What a failing call throws; what() is the sentence.
class Error : public std::runtime_error {
public:
  Error(tds_status status, const std::string &message)
      : std::runtime_error(message), status(status) {}
  tds_status status;
};

namespace detail {

inline void check(tds_status status) {
  if (status != TDS_OK)
    throw Error(status, tds_last_error());
}

/// Counts references of one kind of handle.
template <typename Handle, void (*Retain)(Handle *), void (*Release)(Handle *)>
class Ref {
public:
  Ref() = default;
  explicit Ref(Handle *handle) : handle(handle) {}
  Ref(const Ref &other) : handle(other.handle) {
    if (handle)
      Retain(handle);
  }
  Ref(Ref &&other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
  Ref &operator=(Ref other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  ~Ref() {
    if (handle)
      Release(handle);
  }
  Handle *get() const { return handle; }

private:
  Handle *handle = nullptr;
};

inline std::string takeText(char *text) {
  std::string copy = text;
  tds_string_free(text);
  return copy;
}

} // namespace detail

/// The bits of an f16 or bf16 element, for vectors, views and as<T>(). A float
/// is rounded to nearest, ties to even (IEEE 754); a NaN stays one.
struct F16 {
  uint16_t bits = 0;
  F16() = default;
  explicit F16(float value) {
    uint32_t wide;
    std::memcpy(&wide, &value, sizeof wide);
    uint32_t sign = wide >> 16 & 0x8000, rest = wide & 0x7fffffff, out;
    if (rest > 0x7f800000) { // NaN
      out = 0x7e00 | (rest >> 13 & 0x3ff);
    } else if (rest >= 0x47800000) { // 65536 and more
      out = 0x7c00;
    } else if (rest >= 0x38800000) { // normal; a carry goes up to infinity
      out = (rest + 0xfff + (rest >> 13 & 1) - 0x38000000) >> 13;
    } else if (rest >= 0x33000000) { // subnormal: counted in 2^-24
      uint32_t shift = 126 - (rest >> 23);
      uint32_t mantissa = (rest & 0x7fffff) | 0x800000;
      uint32_t half = 1u << (shift - 1), left = mantissa & (2 * half - 1);
      out = mantissa >> shift;
      out += left > half || (left == half && (out & 1));
    } else {
      out = 0;
    }
    bits = static_cast<uint16_t>(sign | out);
  }
  explicit operator float() const {
    uint32_t exponent = bits >> 10 & 31, mantissa = bits & 1023u;
    uint32_t wide = uint32_t(bits & 0x8000u) << 16;
    float value;
    if (exponent == 0) { // exact: 10 bits times a power of two
      value = static_cast<float>(mantissa) * 0x1p-24f;
      return wide ? -value : value;
    }
    wide |= (exponent == 31 ? 255 : exponent + 112) << 23 | mantissa << 13;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
};

struct BF16 {
  uint16_t bits = 0;
  BF16() = default;
  explicit BF16(float value) {
    uint32_t wide;
    std::memcpy(&wide, &value, sizeof wide);
    bits =
        static_cast<uint16_t>((wide & 0x7fffffff) > 0x7f800000
                                  ? wide >> 16 | 0x40
                                  : (wide + 0x7fff + (wide >> 16 & 1)) >> 16);
  }
  explicit operator float() const {
    uint32_t wide = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
};

/// The element type of a C++ type.
template <typename T> constexpr tds_type typeOf() {
  if constexpr (std::is_same_v<T, bool>)
    return TDS_BOOL;
  else if constexpr (std::is_same_v<T, F16>)
    return TDS_F16;
  else if constexpr (std::is_same_v<T, BF16>)
    return TDS_BF16;
  else if constexpr (std::is_same_v<T, float>)
    return TDS_F32;
  else if constexpr (std::is_same_v<T, double>)
    return TDS_F64;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 1)
    return std::is_signed_v<T> ? TDS_I8 : TDS_U8;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> &&
                     sizeof(T) == 4)
    return TDS_I32;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> &&
                     sizeof(T) == 8)
    return TDS_I64;
  else
    static_assert(!sizeof(T *), "no TDS element type has this C++ type");
}

/// A dense tensor in host memory: owns its elements, or views the caller's
/// (which must then outlive it). Copies of a Tensor share the elements.
class Tensor {
public:
  Tensor() = default;

  /// Owning, all elements 0.
  Tensor(tds_type type, std::vector<int64_t> shape)
      : elementType(type), extents(std::move(shape)),
        owned(std::make_shared<std::vector<unsigned char>>(bytes())),
        elements(owned->data()) {}

  /// Owning, with `values` in row-major order.
  template <typename T>
  Tensor(const std::vector<T> &values, std::vector<int64_t> shape)
      : Tensor(typeOf<T>(), std::move(shape)) {
    static_assert(!std::is_same_v<T, bool>, "use std::vector<uint8_t>");
    if (values.size() != size())
      throw Error(TDS_INVALID_ARGUMENT,
                  "a tensor's shape does not have as many elements as the "
                  "vector it is made of");
    if (!values.empty())
      std::memcpy(elements, values.data(), bytes());
  }

  /// A scalar.
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Tensor(T value) : Tensor(typeOf<T>(), std::vector<int64_t>{}) {
    std::memcpy(elements, &value, sizeof value);
  }

  /// A view of the caller's elements; those of any type by its name.
  template <typename T>
  static Tensor view(const T *data, std::vector<int64_t> shape) {
    return view(typeOf<T>(), data, std::move(shape));
  }
  static Tensor view(tds_type type, const void *data,
                     std::vector<int64_t> shape) {
    Tensor tensor;
    tensor.elementType = type;
    tensor.extents = std::move(shape);
    tensor.elements = const_cast<void *>(data);
    return tensor;
  }

  tds_type type() const { return elementType; }
  const std::vector<int64_t> &shape() const { return extents; }
  size_t size() const {
    size_t count = 1;
    for (int64_t extent : extents)
      count *= static_cast<size_t>(extent);
    return count;
  }
  size_t bytes() const { return size() * tds_type_size(elementType); }
  void *data() const { return elements; }

  /// The elements as T; throws when that is not the tensor's type.
  template <typename T> T *as() const {
    requireType<T>();
    return static_cast<T *>(elements);
  }
  template <typename T> T scalar() const {
    requireType<T>();
    if (size() != 1)
      throw Error(TDS_INVALID_ARGUMENT, "a tensor of several elements is no "
                                        "scalar");
    T value;
    std::memcpy(&value, elements, sizeof value);
    return value;
  }

  tds_tensor raw() const {
    return {elementType, static_cast<int32_t>(extents.size()), extents.data(),
            elements};
  }

private:
  template <typename T> void requireType() const {
    if (typeOf<T>() != elementType)
      throw Error(TDS_INVALID_ARGUMENT, std::string("a tensor of ") +
                                            tds_type_name(elementType) +
                                            " was asked for its elements as " +
                                            tds_type_name(typeOf<T>()));
  }

  tds_type elementType = TDS_F32;
  std::vector<int64_t> extents;
  std::shared_ptr<std::vector<unsigned char>> owned;
  void *elements = nullptr;
};

class Device {
public:
  /// The first usable GPU, otherwise the CPU; reason() says why.
  static Device best(int threads = 0) { return open("auto", threads); }

  /// The best device that the artefact at `path` has code for.
  static Device bestFor(const std::string &path, int threads = 0) {
    tds_device_options options{threads};
    tds_device *handle = nullptr;
    detail::check(tds_device_open_for(path.c_str(), &options, &handle));
    return Device(handle);
  }

  /// "cpu", "cuda", "cuda:1", "sim", "sim:sm_90a" or "auto".
  static Device open(const std::string &spec, int threads = 0) {
    tds_device_options options{threads};
    tds_device *handle = nullptr;
    detail::check(tds_device_open(spec.c_str(), &options, &handle));
    return Device(handle);
  }

  tds_device_kind kind() const { return tds_device_get_kind(get()); }
  std::string description() const { return tds_device_description(get()); }
  std::string reason() const { return tds_device_reason(get()); }
  /// What it can reach at most; see tds_device_peaks.
  double peakBytesPerSecond() const { return peaks().first; }
  double peakFlopsPerSecond() const { return peaks().second; }

  /// False where there are none; see tds_device_readings.
  bool readings(tds_gpu_readings &out) const {
    return tds_device_readings(get(), &out) == TDS_OK;
  }
  tds_device *get() const { return ref.get(); }

private:
  std::pair<double, double> peaks() const {
    double bytes = 0, flops = 0;
    detail::check(tds_device_peaks(get(), &bytes, &flops));
    return {bytes, flops};
  }
  explicit Device(tds_device *handle) : ref(handle) {}
  detail::Ref<tds_device, tds_device_retain, tds_device_release> ref;
};

/// One input or result of an entry.
struct Port {
  std::string name;
  tds_type type;
  std::vector<int64_t> shape;
  bool hasDataAxis, hasDefault, isWeight;
};

/// One variable of a module.
struct Variable {
  std::string name;
  tds_role role;
  tds_type type;
  std::vector<int64_t> shape;
};

/// What a call gave, by index or by name.
class Results {
public:
  Results(std::shared_ptr<const std::vector<Port>> ports,
          std::vector<Tensor> tensors)
      : ports(std::move(ports)), tensors(std::move(tensors)) {}

  size_t size() const { return tensors.size(); }
  const Tensor &operator[](size_t index) const { return tensors.at(index); }
  const Tensor &operator[](int index) const { // else 0 could be a null name
    return tensors.at(static_cast<size_t>(index));
  }
  const Tensor &operator[](const std::string &name) const {
    for (size_t i = 0; i < ports->size(); ++i)
      if ((*ports)[i].name == name)
        return tensors[i];
    throw Error(TDS_NOT_FOUND, "the entry has no result '" + name + "'");
  }
  const Tensor &operator[](const char *name) const {
    return (*this)[std::string(name)];
  }

  /// The first (or only) result as a number.
  template <typename T> T scalar(size_t index = 0) const {
    return tensors.at(index).scalar<T>();
  }
  template <typename T> T scalar(const std::string &name) const {
    return (*this)[name].scalar<T>();
  }

private:
  std::shared_ptr<const std::vector<Port>> ports;
  std::vector<Tensor> tensors;
};

/// A call that was started; see tds_entry_start. Letting go of it without
/// waiting abandons its results.
class Call {
public:
  explicit Call(tds_call *handle) : handle(handle) {}
  /// Throws what the call met.
  void wait() { detail::check(tds_call_wait(handle.get())); }

private:
  struct Release {
    void operator()(tds_call *call) const { tds_call_release(call); }
  };
  std::unique_ptr<tds_call, Release> handle;
};

class Entry {
public:
  explicit Entry(tds_entry *handle) : ref(handle) {
    auto read = [&](size_t count, auto ask) {
      auto list = std::make_shared<std::vector<Port>>();
      for (size_t i = 0; i < count; ++i) {
        tds_port_info info;
        detail::check(ask(handle, i, &info));
        list->push_back(
            {info.name, info.type,
             std::vector<int64_t>(info.shape, info.shape + info.rank),
             info.has_data_axis != 0, info.has_default != 0,
             info.is_weight != 0});
      }
      return list;
    };
    inputPorts = read(tds_entry_input_count(handle), tds_entry_input);
    resultPorts = read(tds_entry_result_count(handle), tds_entry_result);
  }

  std::string name() const { return tds_entry_name(get()); }
  bool isStep() const { return tds_entry_get_kind(get()) == TDS_ENTRY_STEP; }
  size_t peakBytes() const { return tds_entry_peak_bytes(get()); }
  const std::vector<Port> &inputs() const { return *inputPorts; }
  const std::vector<Port> &results() const { return *resultPorts; }

  /// Calls with tensors or numbers in the order of the inputs; those at the
  /// end that have defaults may be left out. A number takes the type of its
  /// input. Waits for the results.
  template <typename... Args> Results operator()(const Args &...args) const {
    std::vector<Tensor> tensors;
    tensors.reserve(sizeof...(args));
    (tensors.push_back(argument(tensors.size(), args)), ...);
    return call(tensors);
  }

  Results call(const std::vector<Tensor> &tensors) const {
    std::vector<tds_tensor> raw;
    for (const Tensor &tensor : tensors)
      raw.push_back(tensor.raw());
    return callRaw(std::move(raw));
  }

  /// As tds_entry_call; inputs that are missing at the end take their default.
  Results callRaw(std::vector<tds_tensor> raw) const {
    raw.resize(std::max(raw.size(), inputPorts->size()), tds_tensor{});
    std::vector<Tensor> outputs;
    std::vector<tds_tensor> rawOutputs;
    for (const Port &port : *resultPorts) {
      outputs.emplace_back(port.type, port.shape);
      rawOutputs.push_back(outputs.back().raw());
    }
    // raw() points to the shape inside the tensor, which has moved if the
    // vector grew.
    for (size_t i = 0; i < outputs.size(); ++i)
      rawOutputs[i] = outputs[i].raw();
    detail::check(tds_entry_call(get(), raw.data(), raw.size(),
                                 rawOutputs.data(), rawOutputs.size()));
    return Results(resultPorts, std::move(outputs));
  }

  /// Without waiting; see tds_entry_start. The tensors' shapes need not live
  /// on, the memory of the results must until Call::wait.
  Call start(const std::vector<tds_tensor> &inputs,
             const std::vector<tds_tensor> &results) const {
    tds_call *handle = nullptr;
    detail::check(tds_entry_start(get(), inputs.data(), inputs.size(),
                                  results.data(), results.size(), &handle));
    return Call(handle);
  }

  /// With memory of the caller on the device; see tds_entry_call_device.
  void callDevice(const std::vector<const void *> &inputs,
                  const std::vector<void *> &results,
                  void *stream = nullptr) const {
    detail::check(tds_entry_call_device(get(), inputs.data(), inputs.size(),
                                        results.data(), results.size(),
                                        stream));
  }

  tds_entry *get() const { return ref.get(); }

private:
  Tensor argument(size_t, const Tensor &tensor) const { return tensor; }
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Tensor argument(size_t index, T value) const {
    if (index < inputPorts->size())
      switch ((*inputPorts)[index].type) {
      case TDS_F32:
        return Tensor(static_cast<float>(value));
      case TDS_F64:
        return Tensor(static_cast<double>(value));
      case TDS_I32:
        if constexpr (std::is_integral_v<T>)
          return Tensor(static_cast<int32_t>(value));
        break;
      case TDS_I64:
        if constexpr (std::is_integral_v<T>)
          return Tensor(static_cast<int64_t>(value));
        break;
      default:
        break;
      }
    return Tensor(value);
  }

  detail::Ref<tds_entry, tds_entry_retain, tds_entry_release> ref;
  std::shared_ptr<const std::vector<Port>> inputPorts, resultPorts;
};

/// Where a run stands.
using Progress = tds_progress;

class Module {
public:
  /// See tds_module_load. `memoryLimit` is in bytes; 0: what the device has.
  static Module load(const std::string &path, const Device &device,
                     uint64_t seed = 0, uint64_t memoryLimit = 0) {
    tds_module_options options{};
    options.seed = seed;
    options.memory_limit = memoryLimit;
    tds_module *handle = nullptr;
    detail::check(
        tds_module_load(path.c_str(), device.get(), &options, &handle));
    return Module(handle, device);
  }
  static Module load(const void *data, size_t bytes, const std::string &name,
                     const Device &device, uint64_t seed = 0,
                     uint64_t memoryLimit = 0) {
    tds_module_options options{};
    options.seed = seed;
    options.memory_limit = memoryLimit;
    tds_module *handle = nullptr;
    detail::check(tds_module_load_memory(data, bytes, name.c_str(),
                                         device.get(), &options, &handle));
    return Module(handle, device);
  }

  /// Loads the artefact at `path` onto the best device that it has code for;
  /// device().reason() says which and why. `threads` is for a CPU, 0 takes all.
  static Module loadBest(const std::string &path, uint64_t seed = 0,
                         uint64_t memoryLimit = 0, int threads = 0) {
    return load(path, Device::bestFor(path, threads), seed, memoryLimit);
  }

  const Device &device() const { return home; }

  Entry entry(const std::string &name) const {
    tds_entry *handle = nullptr;
    detail::check(tds_module_entry(get(), name.c_str(), &handle));
    return Entry(handle);
  }
  std::vector<Entry> entries() const {
    std::vector<Entry> list;
    for (size_t i = 0; i < tds_module_entry_count(get()); ++i) {
      tds_entry *handle = nullptr;
      detail::check(tds_module_entry_at(get(), i, &handle));
      list.emplace_back(handle);
    }
    return list;
  }

  std::vector<Variable> variables() const {
    std::vector<Variable> list;
    for (size_t i = 0; i < tds_module_variable_count(get()); ++i) {
      tds_variable_info info;
      detail::check(tds_module_variable(get(), i, &info));
      list.push_back(variableOf(info));
    }
    return list;
  }
  Tensor read(const std::string &name) const {
    tds_variable_info info;
    detail::check(tds_module_find_variable(get(), name.c_str(), &info));
    Variable variable = variableOf(info);
    Tensor tensor(variable.type, variable.shape);
    detail::check(
        tds_module_read(get(), name.c_str(), tensor.data(), tensor.bytes()));
    return tensor;
  }
  /// Type and shape must be those of the variable.
  void write(const std::string &name, const Tensor &tensor) {
    tds_variable_info info;
    detail::check(tds_module_find_variable(get(), name.c_str(), &info));
    Variable variable = variableOf(info);
    if (variable.type != tensor.type() || variable.shape != tensor.shape())
      throw Error(TDS_INVALID_ARGUMENT, "variable '" + name +
                                            "' has another type or shape than "
                                            "the tensor for it");
    detail::check(
        tds_module_write(get(), name.c_str(), tensor.data(), tensor.bytes()));
  }

  void initialize(uint64_t seed) {
    detail::check(tds_module_initialize(get(), seed));
  }
  void synchronize() { detail::check(tds_module_synchronize(get())); }
  std::string programHash() const { return tds_module_program_hash(get()); }
  tds_memory_info memory() const {
    tds_memory_info info;
    detail::check(tds_module_memory(get(), &info));
    return info;
  }
  std::vector<tds_kernel_profile> profile() const {
    std::vector<tds_kernel_profile> list(tds_module_kernel_count(get()));
    for (size_t i = 0; i < list.size(); ++i)
      detail::check(tds_module_kernel_profile(get(), i, &list[i]));
    return list;
  }

  /// Times and records from here on; see tds_module_profile_start.
  void profileStart() { detail::check(tds_module_profile_start(get())); }
  void profileStop() { detail::check(tds_module_profile_stop(get())); }
  /// The recording as JSON for Perfetto.
  std::string trace() {
    char *text = nullptr;
    detail::check(tds_module_trace(get(), &text));
    return detail::takeText(text);
  }

  void save(const std::string &path, const Progress &progress = {}) const {
    detail::check(tds_module_save(get(), path.c_str(), &progress));
  }
  Progress restore(const std::string &path) {
    Progress progress{};
    detail::check(tds_module_restore(get(), path.c_str(), &progress));
    return progress;
  }
  void initFrom(const std::string &path, const std::string &map = "",
                const std::string &allowMissing = "") {
    detail::check(tds_module_init_from(get(), path.c_str(),
                                       map.empty() ? nullptr : map.c_str(),
                                       allowMissing.c_str()));
  }

  tds_module *get() const { return ref.get(); }

private:
  Module(tds_module *handle, const Device &device)
      : ref(handle), home(device) {}
  static Variable variableOf(const tds_variable_info &info) {
    return {info.name, info.role, info.type,
            std::vector<int64_t>(info.shape, info.shape + info.rank)};
  }
  detail::Ref<tds_module, tds_module_retain, tds_module_release> ref;
  Device home;
};

/// The inputs of one call, as a loader gives them; views, valid until the
/// loader makes the next.
class Batch {
public:
  Batch(const std::vector<Port> &ports, const tds_tensor *tensors,
        uint64_t rows)
      : rows(rows), ports(&ports), tensors(tensors) {}

  uint64_t rows; ///< rows that count; the rest of the batch is padding

  Tensor operator[](const std::string &name) const {
    for (size_t i = 0; i < ports->size(); ++i)
      if ((*ports)[i].name == name && tensors[i].data)
        return Tensor::view((*ports)[i].type, tensors[i].data,
                            (*ports)[i].shape);
    throw Error(TDS_NOT_FOUND,
                "no file is bound to an input '" + name + "' of the entry");
  }
  Tensor operator[](const char *name) const {
    return (*this)[std::string(name)];
  }
  /// All inputs in order; data is null where no file is bound.
  std::vector<tds_tensor> raw() const {
    return std::vector<tds_tensor>(tensors, tensors + ports->size());
  }

private:
  const std::vector<Port> *ports;
  const tds_tensor *tensors;
};

/// Batches for an entry from files; see tds_loader_create. A range-for goes
/// through one epoch, the next one through the next.
class Loader {
public:
  Loader(const Entry &entry, const std::string &bindings,
         const tds_loader_options &options = {})
      : entry(entry) {
    tds_loader *made = nullptr;
    detail::check(
        tds_loader_create(entry.get(), bindings.c_str(), &options, &made));
    handle.reset(made);
  }

  uint64_t rows() const { return tds_loader_rows(handle.get()); }
  uint64_t batchRows() const { return tds_loader_batch_rows(handle.get()); }
  uint64_t batches() const { return tds_loader_batches(handle.get()); }
  void seek(uint64_t epoch, uint64_t batch) {
    detail::check(tds_loader_seek(handle.get(), epoch, batch));
  }

  /// False at the end of an epoch.
  bool next(const tds_tensor *&inputs, uint64_t &rows) {
    detail::check(tds_loader_next(handle.get(), &inputs, &rows));
    return inputs != nullptr;
  }

  class Iterator {
  public:
    explicit Iterator(Loader *loader)
        : loader(loader),
          batch(loader ? loader->entry.inputs() : none(), nullptr, 0) {
      if (loader)
        ++*this;
    }
    const Batch &operator*() const { return batch; }
    Iterator &operator++() {
      const tds_tensor *inputs = nullptr;
      uint64_t rows = 0;
      if (loader->next(inputs, rows))
        batch = Batch(loader->entry.inputs(), inputs, rows);
      else
        loader = nullptr;
      return *this;
    }
    bool operator!=(const Iterator &other) const {
      return loader != other.loader;
    }

  private:
    static const std::vector<Port> &none() {
      static const std::vector<Port> empty;
      return empty;
    }
    Loader *loader;
    Batch batch;
  };
  Iterator begin() { return Iterator(this); }
  Iterator end() { return Iterator(nullptr); }

private:
  struct Release {
    void operator()(tds_loader *loader) const { tds_loader_release(loader); }
  };
  Entry entry;
  std::unique_ptr<tds_loader, Release> handle;
};

/// Where the run of the checkpoint at `path` stood; throws where the file is
/// none. See tds_checkpoint_inspect.
inline Progress inspectCheckpoint(const std::string &path) {
  Progress progress{};
  detail::check(tds_checkpoint_inspect(path.c_str(), &progress));
  return progress;
}

/// Receives one line (no newline), from any thread, one call at a time.
using LogFunction =
    std::function<void(tds_log_level level, const std::string &message)>;

/// Sets where notes and warnings of the whole process go; an empty function
/// silences them. What the function throws is dropped, since the code that logs
/// knows nothing of it. It must not call setLog.
inline void setLog(LogFunction function) {
  struct Sink {
    std::mutex mutex;
    LogFunction function;
  };
  static Sink *sink = new Sink; // Never destroyed: threads may log late.
  bool wanted = static_cast<bool>(function);
  {
    std::lock_guard<std::mutex> guard(sink->mutex);
    sink->function = std::move(function);
  }
  auto forward = [](void *user, tds_log_level level, const char *message) {
    auto *to = static_cast<Sink *>(user);
    try {
      std::lock_guard<std::mutex> guard(to->mutex);
      if (to->function)
        to->function(level, message);
    } catch (...) {
    }
  };
  tds_set_log_callback(wanted ? forward : tds_log_callback(nullptr), sink);
}

/// The artefact in words.
inline std::string describeArtifact(const std::string &path) {
  char *text = nullptr;
  detail::check(tds_artifact_describe(path.c_str(), &text));
  return detail::takeText(text);
}

/// This machine in words.
inline std::string describeDevices() {
  char *text = nullptr;
  detail::check(tds_devices_describe(&text));
  return detail::takeText(text);
}

} // namespace tds

#endif // TDS_RUNTIME_HPP
