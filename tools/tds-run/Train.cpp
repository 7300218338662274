//===- Train.cpp - the training loop -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run is a function of artefact, data, seed and settings: the order of rows
// depends on the seed and the epoch alone, random numbers on tds.seed and
// tds.step. So a checkpoint needs nothing but the variables and the place
// (epoch, batch), and a resumed run ends in the same bits.
//
//===----------------------------------------------------------------------===//

#include "Evaluate.h"
#include "Inputs.h"
#include "Metrics.h"
#include "Numbers.h"
#include "Outputs.h"
#include "Plot.h"
#include "Profile.h"
#include "Progress.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <unistd.h>

namespace tdsrun {

namespace {

/// The scalar results of a step, read after each.
class ScalarResults {
public:
  explicit ScalarResults(const tds::Entry &entry) {
    const std::vector<tds::Port> &ports = entry.results();
    for (size_t i = 0; i < ports.size(); ++i) {
      bool scalar = ports[i].shape.empty();
      arrays.push_back(
          {ports[i].name, ports[i].type, ports[i].shape,
           std::vector<char>(scalar ? tds_type_size(ports[i].type) : 0)});
      // data is null where a result is not wanted.
      raw.push_back({ports[i].type, int32_t(ports[i].shape.size()),
                     ports[i].shape.data(),
                     scalar ? arrays.back().data.data() : nullptr});
    }
    // What the bar shows: `loss`, or else the first number.
    for (size_t i = 0; i < arrays.size(); ++i)
      if (arrays[i].shape.empty() &&
          (lossIndex < 0 || arrays[i].name == "loss"))
        lossIndex = static_cast<int>(i);
  }

  Figures figures() const {
    Figures list;
    for (const NamedArray &array : arrays)
      if (array.shape.empty())
        list.emplace_back(array.name, elementOf(array, 0));
    return list;
  }
  std::string lossName() const {
    return lossIndex < 0 ? "" : arrays[static_cast<size_t>(lossIndex)].name;
  }
  double loss() const {
    return lossIndex < 0 ? 0
                         : elementOf(arrays[static_cast<size_t>(lossIndex)], 0);
  }
  const std::vector<tds_tensor> &outputs() const { return raw; }

private:
  std::vector<NamedArray> arrays;
  std::vector<tds_tensor> raw;
  int lossIndex = -1;
};

class Training {
public:
  Training(const Options &options, tds::Device deviceIn, tds::Module moduleIn)
      : options(options), device(std::move(deviceIn)),
        module(std::move(moduleIn)), entry(module.entry(options.entry)),
        fixed(entry, options.set, options.data),
        scalars{ScalarResults(entry), ScalarResults(entry)} {
    if (!entry.isStep())
      throw UsageError("entry '" + options.entry +
                       "' is a function, which trains nothing; name a step "
                       "with --entry");
    prepareVariables();
    tds_loader_options loaderOptions{};
    loaderOptions.mode = TDS_LOADER_TRAIN;
    loaderOptions.seed = place.order_seed;
    loader = std::make_unique<tds::Loader>(entry, options.data, loaderOptions);
    batches = loader->batches();
    if (place.batch > batches)
      throw tds::Error(TDS_BAD_DATA,
                       options.checkpoint + ": was saved at batch " +
                           std::to_string(place.batch) +
                           " of an epoch, but this data has " +
                           std::to_string(batches) +
                           "; resume with the data it was trained on");
    if (place.epoch > maxCount / batches)
      throw tds::Error(TDS_BAD_DATA,
                       options.checkpoint + ": was saved in epoch " +
                           std::to_string(place.epoch) +
                           ", which no run reaches; the checkpoint is damaged");
    loader->seek(place.epoch, place.batch);
    done = firstStep = place.epoch * batches + place.batch;
    uint64_t epochs = options.epochs  ? options.epochs
                      : options.steps ? 0 // as many as the steps take
                                      : 1;
    if (epochs > maxCount / batches)
      throw UsageError("--epochs " + std::to_string(epochs) + ": with " +
                       std::to_string(batches) +
                       " batches an epoch these are more steps than can be "
                       "counted; write at most " +
                       std::to_string(maxCount / batches));
    total = epochs ? epochs * batches : options.steps;
    if (options.steps)
      total = std::min(total, options.steps);
    epochCount = (total + batches - 1) / batches;
    std::vector<tds::Entry> entries = {entry};
    if (!options.evalEntry.empty()) {
      entries.push_back(this->module.entry(options.evalEntry));
      checkEvaluation(entries[1]);
      sweep = std::make_unique<Sweep>(entries[1], options.evalData, options.set,
                                      false);
    }
    checkSetNames(options.set, entries);
    metrics = std::make_unique<Metrics>(options.metrics, resumed, firstStep);
    profile = std::make_unique<Profile>(options, device, module);
  }

  int run() {
    Progress progress(firstStep, total, epochCount, batches,
                      std::max<uint64_t>(loader->batchRows(), 1));
    if (resumed)
      progress.line("resumed from " + options.checkpoint + " at epoch " +
                    std::to_string(place.epoch + 1) + ", step " +
                    std::to_string(firstStep));
    End end = End::Done;
    try {
      while (done < total && end == End::Done)
        if (!runEpoch(progress))
          end = End::Interrupted;
      progress.clear();
      metrics->flush();
    } catch (const tds::Error &error) {
      progress.clear();
      countBegun();
      keepAfter(error, progress);
      throw;
    }
    finish(progress, end);
    profile->finish();
    return end == End::Interrupted ? interruptedExitCode : 0;
  }

private:
  enum class End { Done, Interrupted, Failed };

  /// Steps that were begun count, whatever else stopped the run: the variables
  /// have them.
  void countBegun() {
    for (; !flying.empty(); flying.pop_front(), ++done, ++place.batch) {
      try {
        flying.front().wait();
      } catch (const tds::Error &) {
        return flying.clear();
      }
    }
  }

  /// A failed step changed nothing, and neither does a failed evaluation or a
  /// file that cannot be read: what was trained until then is sound and kept.
  /// After a failure of the device or of saving itself it is not.
  void keepAfter(const tds::Error &error, Progress &progress) {
    if (saving || error.status == TDS_DEVICE_ERROR ||
        error.status == TDS_INTERNAL)
      return;
    try {
      finish(progress, End::Failed);
    } catch (const tds::Error &second) {
      std::fprintf(stderr, "error: %s\n", second.what());
    }
  }

  /// What --eval-entry cannot show is said before the first step, not after.
  void checkEvaluation(const tds::Entry &evaluation) {
    std::string left;
    bool shown = false;
    for (const tds::Port &port : evaluation.results()) {
      shown |= port.shape.empty();
      if (!port.shape.empty())
        left += (left.empty() ? "'" : ", '") + port.name + "'";
    }
    if (evaluation.isStep())
      throw UsageError("--eval-entry " + options.evalEntry +
                       ": the entry is a step, which would train on "
                       "--eval-data; name a function");
    if (!shown)
      throw UsageError("--eval-entry " + options.evalEntry +
                       ": the entry gives no number that could be shown after "
                       "an epoch; name one with a scalar result, such as a "
                       "loss or an accuracy");
    if (!left.empty())
      std::fprintf(stderr,
                   "note: --eval-entry %s shows numbers alone; it leaves out "
                   "%s, which is no scalar\n",
                   options.evalEntry.c_str(), left.c_str());
  }

  void prepareVariables() {
    place.order_seed = options.seed;
    if (options.resume && options.checkpoint.empty())
      throw UsageError("--resume goes with --checkpoint FILE, the file to "
                       "resume from");
    if (options.resume && access(options.checkpoint.c_str(), F_OK) == 0) {
      place = module.restore(options.checkpoint);
      resumed = true;
      if (place.order_seed != options.seed && options.seed != 0)
        std::fprintf(stderr,
                     "note: the run goes on with seed %llu of the checkpoint\n",
                     static_cast<unsigned long long>(place.order_seed));
      return;
    }
    if (options.resume)
      std::fprintf(stderr, "note: %s does not exist yet; the run begins anew\n",
                   options.checkpoint.c_str());
    if (!options.initFrom.empty())
      module.initFrom(options.initFrom, options.map, options.allowMissing);
    else if (!options.map.empty() || !options.allowMissing.empty())
      throw UsageError("--map and --allow-missing go with --init-from FILE");
  }

  /// Starts a step; its results are read by complete().
  void begin(const tds_tensor *batch) {
    inputs.assign(batch, batch + entry.inputs().size());
    fixed.apply(inputs);
    uint64_t number = done + flying.size();
    flying.push_back(entry.start(inputs, scalars[number % inFlight].outputs()));
  }

  /// Waits for the step that was started first.
  void complete(Progress &progress) {
    const ScalarResults &results = scalars[done % inFlight];
    flying.front().wait();
    flying.pop_front();
    ++done;
    ++place.batch;
    lossSum += results.loss();
    ++lossCount;
    if (!options.metrics.empty()) {
      Figures figures = results.figures();
      addReadings(figures);
      metrics->step(done, place.epoch + 1, figures);
    }
    if (!options.plot.empty())
      curve.emplace_back(done, results.loss());
    progress.step(done, results.lossName(), results.loss());
  }

  /// What NVML reads of the GPU, once a second: asking takes longer than a
  /// small step.
  void addReadings(Figures &figures) {
    auto now = std::chrono::steady_clock::now();
    tds_gpu_readings gpu;
    if (!hasReadings || now - lastReading < std::chrono::seconds(1))
      return;
    lastReading = now;
    hasReadings = device.readings(gpu);
    if (!hasReadings)
      return;
    for (auto [name, value] :
         {std::pair{"gpu_utilization", gpu.gpu_utilization},
          std::pair{"gpu_memory_used", gpu.memory_used},
          std::pair{"gpu_temperature", gpu.temperature},
          std::pair{"gpu_power", gpu.power}})
      if (value >= 0)
        figures.emplace_back(name, value);
  }

  /// The rest of the epoch that `place` is in; false when interrupted. Two
  /// steps are in flight, so that a batch travels to a GPU while the one
  /// before computes; where the variables are needed, all are completed first.
  bool runEpoch(Progress &progress) {
    const tds_tensor *batch = nullptr;
    uint64_t rows = 0;
    lossSum = 0;
    lossCount = 0;
    while (done < total && place.batch < batches) {
      uint64_t begun = done + flying.size();
      bool saveDue =
          options.checkpointEvery && begun % options.checkpointEvery == 0;
      bool hold = flying.size() == inFlight || begun == total ||
                  place.batch + flying.size() == batches ||
                  (!flying.empty() && (saveDue || interrupted()));
      if (!hold) {
        try {
          if (!loader->next(batch, rows))
            break;
          begin(batch);
        } catch (const tds::Error &) {
          // A step before this one may have failed; then that is the error.
          // In any case the place of the run is behind what was begun.
          while (!flying.empty())
            complete(progress);
          throw;
        }
        continue;
      }
      complete(progress);
      if (!flying.empty() || place.batch == batches)
        continue;
      if (interrupted())
        return false;
      if (options.checkpointEvery && done % options.checkpointEvery == 0)
        save();
    }
    while (!flying.empty())
      complete(progress);
    if (place.batch < batches)
      return true; // --steps ends within an epoch.
    const tds_tensor *end = nullptr;
    loader->next(end, rows); // The mark between two epochs.
    place.batch = 0;
    ++place.epoch;
    // Without --checkpoint-every an epoch's end is saved, but no more than once
    // a second: epochs may be of a single step.
    auto now = std::chrono::steady_clock::now();
    if (options.checkpointEvery ? done % options.checkpointEvery == 0
                                : now - lastSave > std::chrono::seconds(1))
      save();
    if (interrupted())
      return false;
    return endOfEpoch(progress, lossCount ? lossSum / double(lossCount) : 0);
  }

  bool endOfEpoch(Progress &progress, double meanLoss) {
    std::string text = "epoch " + std::to_string(place.epoch) + "/" +
                       std::to_string(epochCount) + ":";
    char number[64];
    if (!scalars[0].lossName().empty()) {
      std::snprintf(number, sizeof number, " %.4g,", meanLoss);
      text += " " + scalars[0].lossName() + number;
    }
    text += " " + countText(progress.rate()) + " rows/s";
    if (sweep) {
      if (!sweep->run())
        return false;
      Figures figures;
      for (const NamedArray &array : sweep->arrays()) {
        if (!array.shape.empty())
          continue;
        figures.emplace_back(array.name, elementOf(array, 0));
        text += ", " + options.evalEntry + " " + array.name + " " +
                elementText(array, 0);
      }
      metrics->evaluation(done, place.epoch, figures);
    }
    // Runs of very many epochs say how they fare once a second.
    auto now = std::chrono::steady_clock::now();
    if (epochCount <= 100 || done == total ||
        now - lastLine > std::chrono::seconds(1)) {
      progress.line(text);
      lastLine = now;
    }
    return true;
  }

  void save() {
    lastSave = std::chrono::steady_clock::now();
    if (options.checkpoint.empty())
      return;
    saving = true;
    module.save(options.checkpoint, place);
    saving = false;
  }

  void finish(Progress &progress, End end) {
    bool stopped = end != End::Done;
    // Without a step there is nothing to keep, but perhaps an older file.
    bool lost = end == End::Failed && done == firstStep;
    if (!lost)
      save();
    if (!lost && !options.plot.empty())
      writeFile(options.plot,
                plotSvg(scalars[0].lossName().empty() ? "result"
                                                      : scalars[0].lossName(),
                        curve));
    std::string text =
        end == End::Interrupted ? "interrupted at step " + std::to_string(done)
        : lost                  ? "failed at the first step"
        : end == End::Failed    ? "failed behind step " + std::to_string(done)
        : done == firstStep
            ? "nothing to do: " + std::to_string(done) +
                  (done == 1 ? " step is done" : " steps are done")
            : "trained " + countText(double(done - firstStep)) +
                  (done - firstStep == 1 ? " step" : " steps");
    char number[64];
    std::snprintf(number, sizeof number, " in %.2f s", progress.seconds());
    if (done > firstStep)
      text += number + (" (" + countText(progress.rate())) + " rows/s)";
    if (lost)
      text += "; nothing was saved";
    else if (!options.checkpoint.empty())
      text += "; saved to " + options.checkpoint +
              (stopped ? ", go on with --resume" : "");
    else if (stopped)
      text += "; nothing was saved, since there was no --checkpoint";
    progress.line(text);
  }

  static constexpr size_t inFlight = 2; ///< what the runtime allows

  const Options &options;
  tds::Device device;
  tds::Module module;
  tds::Entry entry;
  FixedInputs fixed;
  std::array<ScalarResults, inFlight> scalars; ///< by step, modulo
  std::deque<tds::Call> flying;                ///< begun, not completed
  double lossSum = 0;
  uint64_t lossCount = 0;
  bool hasReadings = true;
  std::chrono::steady_clock::time_point lastReading{};
  tds_progress place{};
  bool resumed = false;
  bool saving = false; ///< stays set where saving failed
  std::unique_ptr<tds::Loader> loader;
  std::unique_ptr<Sweep> sweep;
  std::unique_ptr<Metrics> metrics;
  std::unique_ptr<Profile> profile;
  uint64_t batches = 1, done = 0, firstStep = 0, total = 0, epochCount = 0;
  std::vector<tds_tensor> inputs;
  Curve curve;
  std::chrono::steady_clock::time_point lastSave{
      std::chrono::steady_clock::now()},
      lastLine{};
};

} // namespace

int train(const Options &options) {
  if (options.evalEntry.empty() != options.evalData.empty())
    throw UsageError("--eval-entry and --eval-data go together");
  if (options.checkpointEvery && options.checkpoint.empty())
    throw UsageError("--checkpoint-every goes with --checkpoint FILE, the file "
                     "to save to");
  checkOutputs(options, Command::Train);
  tds::Device device = openDevice(options);
  tds::Module module =
      tds::Module::load(options.artifact, device, options.seed);
  return Training(options, device, module).run();
}

} // namespace tdsrun
