//===- Loader.cpp - batches for an entry from files -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "data/Loader.h"
#include "core/Error.h"
#include "data/Permutation.h"

#include <algorithm>
#include <cstring>

namespace tdsrt {

namespace {

/// "x=a.npy,y=b.npy" as pairs.
std::vector<std::pair<std::string, std::string>>
splitBindings(const std::string &text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::string part = text.substr(begin, end - begin);
    begin = end + 1;
    size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size())
      fail(TDS_INVALID_ARGUMENT, "the data binding '", printable(part),
           "' is not of the form input=file");
    pairs.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return pairs;
}

std::vector<int64_t> withoutFirst(const std::vector<int64_t> &shape) {
  return shape.empty() ? shape
                       : std::vector<int64_t>(shape.begin() + 1, shape.end());
}

} // namespace

Loader::Loader(const EntryPlan &entry, const std::string &bindingText,
               const tds_loader_options &options)
    : entry(entry), options(options), bindings(entry.inputs.size()) {
  for (const auto &[name, file] : splitBindings(bindingText)) {
    size_t input = 0;
    while (input < entry.inputs.size() && entry.inputs[input].name != name)
      ++input;
    if (input == entry.inputs.size()) {
      std::string names;
      for (const Port &port : entry.inputs)
        names += cat(names.empty() ? "" : ", ", port.name);
      fail(TDS_INVALID_ARGUMENT, "entry '", entry.name, "' has no input '",
           printable(name), "' to bind ", printable(file), " to; it has ",
           names.empty() ? "none" : names);
    }
    if (bindings[input].source)
      fail(TDS_INVALID_ARGUMENT, "input '", name, "' of entry '", entry.name,
           "' is bound to two files");
    bind(input, file);
  }
  checkRows();
  if (options.mode == TDS_LOADER_EVAL)
    checkPadding();

  uint64_t batchBytes = 1;
  for (const Port &port : entry.inputs)
    batchBytes += port.bytes;
  // What was not asked for shall not take much memory either.
  constexpr uint64_t usualPrefetch = 4, usualBytes = uint64_t(256) << 20;
  uint64_t prefetch =
      options.prefetch > 0
          ? std::min(options.prefetch, 64)
          : std::clamp<uint64_t>(usualBytes / batchBytes, 1, usualPrefetch);
  pool.resize(prefetch + 1); // one of them is lent
  for (Batch &batch : pool) {
    for (size_t i = 0; i < entry.inputs.size(); ++i) {
      const Port &port = entry.inputs[i];
      bool given = bindings[i].source || port.isWeight;
      batch.buffers.emplace_back(given ? port.bytes : 0);
      tds_tensor tensor{};
      tensor.type = static_cast<tds_type>(port.type);
      tensor.rank = static_cast<int32_t>(port.shape.size());
      tensor.shape = port.shape.data();
      tensor.data = given ? batch.buffers.back().data() : nullptr;
      batch.tensors.push_back(tensor);
      if (bindings[i].source && !bindings[i].perRow) {
        std::vector<char> raw(bindings[i].source->bytes());
        bindings[i].source->read(0, raw.data(), raw.size());
        widenElements(raw.data(), bindings[i].source->type,
                      batch.buffers.back().data(), port.type,
                      bindings[i].rowElements);
      }
    }
  }
  start();
}

Loader::~Loader() { stop(); }

void Loader::bind(size_t input, const std::string &file) {
  const Port &port = entry.inputs[input];
  Binding &binding = bindings[input];
  binding.source = openDataSource(file);
  const DataSource &source = *binding.source;
  std::string what = cat("input '", port.name, "' of entry '", entry.name,
                         "' is ", nameOf(port.type), shapeText(port.shape));
  if (!widens(source.type, port.type)) {
    const char *fix = isInteger(source.type) && isInteger(port.type)
                          ? "integers are only widened, never narrowed: "
                            "convert the file, or change the input's type"
                          : "no conversion between integers, floats and bool "
                            "is made: convert the file, or declare the input "
                            "with the file's type and cast in the program";
    fail(TDS_INVALID_ARGUMENT, what, ", but ", source.name, " holds ",
         nameOf(source.type), "; ", fix);
  }
  if (source.name.size() > 4 &&
      source.name.compare(source.name.size() - 4, 4, ".txt") == 0)
    return bindText(input, binding);
  binding.perRow = port.hasDataAxis;
  std::vector<int64_t> wanted =
      binding.perRow ? withoutFirst(port.shape) : port.shape;
  std::vector<int64_t> have =
      binding.perRow ? withoutFirst(source.shape) : source.shape;
  if ((binding.perRow && source.shape.empty()) || !mergesOrSplits(have, wanted))
    fail(TDS_INVALID_ARGUMENT, what, ", but ", source.name, " holds ",
         nameOf(source.type), shapeText(source.shape), "; ",
         binding.perRow ? "its axes behind the first must merge or split into "
                          "those of the input"
                        : "its axes must merge or split into those of the "
                          "input");
  binding.rowElements = *elementCount(wanted);
  binding.rowStride = binding.rowElements * sizeOf(source.type);
}

/// Text is cut into windows of the input's width W that overlap by one byte:
/// with W = T + 1 each window holds T inputs and, shifted by one, T targets,
/// and every byte is a target once.
void Loader::bindText(size_t input, Binding &binding) {
  const Port &port = entry.inputs[input];
  DataSource &source = *binding.source;
  if (!port.hasDataAxis || port.shape.size() != 2 || port.shape[1] == 0)
    fail(TDS_INVALID_ARGUMENT, "input '", port.name, "' of entry '", entry.name,
         "' is ", nameOf(port.type), shapeText(port.shape),
         ", but text goes to inputs of two axes, [batch, window]");
  uint64_t width = static_cast<uint64_t>(port.shape[1]);
  uint64_t size = source.bytes();
  if (size < width)
    fail(TDS_INVALID_ARGUMENT, source.name, ": has ", size,
         " bytes, less than one window of ", width, " for input '", port.name,
         "'");
  binding.perRow = true;
  binding.rowElements = width;
  binding.rowStride = width > 1 ? width - 1 : 1;
  source.shape = {static_cast<int64_t>((size - width) / binding.rowStride + 1)};
}

void Loader::checkRows() {
  const Binding *first = nullptr;
  for (size_t i = 0; i < bindings.size(); ++i) {
    const Binding &binding = bindings[i];
    if (!binding.source || !binding.perRow)
      continue;
    uint64_t rows = static_cast<uint64_t>(binding.source->shape[0]);
    if (first && rows != rowCount)
      fail(TDS_INVALID_ARGUMENT, first->source->name, " has ", rowCount,
           " rows, but ", binding.source->name, " has ", rows,
           "; data that belongs together must have the same number of rows");
    if (!first) {
      first = &binding;
      rowCount = rows;
      batchSize = static_cast<uint64_t>(entry.inputs[i].shape[0]);
    }
  }
  if (!first)
    return; // One batch an epoch, made of whole arrays and defaults.
  if (rowCount == 0)
    fail(TDS_INVALID_ARGUMENT, first->source->name, ": has no rows");
  if (options.mode == TDS_LOADER_EVAL) {
    batchCount = (rowCount + batchSize - 1) / batchSize;
    return;
  }
  batchCount = rowCount / batchSize;
  if (batchCount == 0)
    fail(TDS_INVALID_ARGUMENT, first->source->name, ": has ", rowCount,
         " rows, but entry '", entry.name, "' takes ", batchSize,
         " at a time; compile it with a smaller batch");
  if (uint64_t rest = rowCount % batchSize)
    log(TDS_LOG_NOTE,
        cat("each epoch leaves out ", rest, " of ", rowCount,
            " rows, which do not fill a batch of ", batchSize,
            options.keep_order ? " (the last ones)" : " (others each time)"));
}

/// The last batch is padded by repeating a row. What a result makes of padding
/// is known where it has the data axis (rows are cut off) or where the entry
/// weights its rows; otherwise the padding would be counted.
void Loader::checkPadding() const {
  if (rowCount % batchSize == 0)
    return;
  for (const Port &port : entry.inputs)
    if (port.isWeight)
      return;
  for (const Port &port : entry.results)
    if (!port.hasDataAxis)
      fail(TDS_INVALID_ARGUMENT, "entry '", entry.name, "' combines all ",
           batchSize, " rows of a batch in its result '", port.name, "', but ",
           rowCount,
           " rows do not fill whole batches; give it an "
           "input `weight: f32[",
           batchSize,
           "]` (1 for rows that count, 0 for "
           "padding), or compile it with a batch that divides ",
           rowCount);
}

void Loader::fill(Batch &batch, std::vector<char> &staging) const {
  uint64_t begin = batch.batch * batchSize;
  bool shuffled = options.mode == TDS_LOADER_TRAIN && !options.keep_order;
  Permutation order(std::max<uint64_t>(rowCount, 1),
                    static_cast<uint64_t>(options.seed), batch.epoch);
  batch.rows = rowCount == 0 ? batchSize
                             : std::min<uint64_t>(batchSize, rowCount - begin);
  std::vector<uint64_t> picked;
  for (uint64_t row = 0; row < batchSize && rowCount; ++row) {
    uint64_t index = std::min(begin + row, rowCount - 1); // pads by repeating
    picked.push_back(shuffled ? order(index) : index);
  }
  for (size_t i = 0; i < bindings.size(); ++i) {
    const Binding &binding = bindings[i];
    const Port &port = entry.inputs[i];
    char *out = batch.buffers[i].data();
    if (!binding.source) {
      if (port.isWeight)
        for (int64_t row = 0; row < port.shape[0]; ++row) {
          float weight =
              rowCount == 0 || static_cast<uint64_t>(row) < batch.rows ? 1.0f
                                                                       : 0.0f;
          std::memcpy(out + row * sizeof weight, &weight, sizeof weight);
        }
      continue;
    }
    if (!binding.perRow)
      continue;
    uint64_t rowBytes = binding.rowElements * sizeOf(port.type);
    uint64_t sourceBytes = binding.rowElements * sizeOf(binding.source->type);
    if (binding.source->type != port.type)
      staging.resize(std::max<size_t>(staging.size(), sourceBytes));
    for (uint64_t row = 0; row < batchSize; ++row) {
      char *to = out + row * rowBytes;
      uint64_t at = picked[row] * binding.rowStride;
      if (binding.source->type == port.type) {
        binding.source->read(at, to, sourceBytes);
        continue;
      }
      binding.source->read(at, staging.data(), sourceBytes);
      widenElements(staging.data(), binding.source->type, to, port.type,
                    binding.rowElements);
    }
    // Rows of padding count nothing, also where weights come from a file.
    if (port.isWeight)
      std::memset(out + batch.rows * rowBytes, 0,
                  (batchSize - batch.rows) * rowBytes);
  }
}

void Loader::work() {
  std::vector<char> staging;
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return stopping || !free.empty(); });
    if (stopping)
      return;
    Batch *batch = free.front();
    free.pop_front();
    batch->epoch = makeEpoch;
    batch->batch = makeBatch;
    if (++makeBatch == batchCount) {
      makeBatch = 0;
      ++makeEpoch;
    }
    lock.unlock();
    batch->error = nullptr;
    try {
      fill(*batch, staging);
    } catch (...) {
      batch->error = std::current_exception();
    }
    lock.lock();
    ready.push_back(batch);
    changed.notify_all();
  }
}

void Loader::start() {
  stopping = false;
  free.clear();
  ready.clear();
  lent = nullptr;
  for (Batch &batch : pool)
    free.push_back(&batch);
  worker = std::thread([this] { work(); });
}

void Loader::stop() {
  {
    std::lock_guard<std::mutex> guard(mutex);
    stopping = true;
  }
  changed.notify_all();
  if (worker.joinable())
    worker.join();
}

void Loader::seek(uint64_t epoch, uint64_t batch) {
  if (batch > batchCount)
    fail(TDS_INVALID_ARGUMENT, "batch ", batch, " of an epoch of ", batchCount,
         " batches cannot be gone to");
  stop();
  giveEpoch = makeEpoch = epoch;
  giveBatch = makeBatch = batch;
  if (makeBatch == batchCount) {
    makeBatch = 0;
    ++makeEpoch;
  }
  start();
}

const tds_tensor *Loader::next(uint64_t *rows) {
  std::unique_lock<std::mutex> lock(mutex);
  if (lent) {
    free.push_back(lent);
    lent = nullptr;
    changed.notify_all();
  }
  if (giveBatch == batchCount) {
    giveBatch = 0;
    ++giveEpoch;
    return nullptr;
  }
  changed.wait(lock, [&] { return !ready.empty(); });
  Batch *batch = ready.front();
  ready.pop_front();
  lent = batch;
  if (batch->error)
    std::rethrow_exception(batch->error);
  ++giveBatch;
  if (rows)
    *rows = batch->rows;
  // Null is the end of the epoch, also where an entry takes no inputs.
  static const tds_tensor none{};
  return batch->tensors.empty() ? &none : batch->tensors.data();
}

} // namespace tdsrt
