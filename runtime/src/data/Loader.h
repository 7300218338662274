//===- Loader.h - batches for an entry from files -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_DATA_LOADER_H
#define TDS_DATA_LOADER_H

#include "core/Manifest.h"
#include "data/DataSource.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tdsrt {

class Loader {
public:
  /// `entry` lives at least as long as the loader.
  Loader(const EntryPlan &entry, const std::string &bindings,
         const tds_loader_options &options);
  ~Loader();

  uint64_t rows() const { return rowCount; }
  uint64_t batchRows() const { return batchSize; }
  uint64_t batches() const { return batchCount; }
  void seek(uint64_t epoch, uint64_t batch);

  /// Null at the end of an epoch. Valid until the next call.
  const tds_tensor *next(uint64_t *rows);

private:
  struct Binding {
    std::unique_ptr<DataSource> source;
    uint64_t rowStride = 0; ///< bytes in the file from one row to the next
    uint64_t rowElements = 0;
    bool perRow = false; ///< false: the whole array is the input
  };
  struct Batch {
    uint64_t epoch = 0, batch = 0, rows = 0;
    std::vector<std::vector<char>> buffers;
    std::vector<tds_tensor> tensors;
    std::exception_ptr error;
  };

  void bind(size_t input, const std::string &file);
  void bindText(size_t input, Binding &binding);
  void checkRows();
  void checkPadding() const;
  void fill(Batch &batch, std::vector<char> &staging) const;
  void work();
  void start();
  void stop();

  const EntryPlan &entry;
  tds_loader_options options;
  std::vector<Binding> bindings; ///< one for each input; source may be null
  uint64_t rowCount = 0, batchSize = 1, batchCount = 1;

  // Batches travel free -> ready -> lent -> free. The mutex guards these.
  std::vector<Batch> pool;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Batch *> free, ready;
  Batch *lent = nullptr;
  bool stopping = false;
  std::thread worker;
  uint64_t makeEpoch = 0, makeBatch = 0; ///< what the worker makes next
  uint64_t giveEpoch = 0, giveBatch = 0; ///< what next() gives next
};

} // namespace tdsrt

#endif // TDS_DATA_LOADER_H
