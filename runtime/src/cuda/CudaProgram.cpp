//===- CudaProgram.cpp - an artefact's code and storage on a GPU -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Commands are resolved once to device addresses and parameter arrays that
// stay where they are, so that an entry is one graph, built at its first call
// and launched as a whole from then on. An entry has two slots for inputs and
// a graph for each: the copy stream fills one while the other is computed on.
//
// Work of one program is ordered whatever streams its calls name: each call
// leaves an event, and a call on another stream waits for it on the device.
//
//===----------------------------------------------------------------------===//

#include "cuda/CudaProgram.h"
#include "cuda/CudaStorage.h"

#include <cstdlib>
#include <cstring>
#include <optional>

namespace tdsrt {

namespace {

/// A copy between the caller's memory and a slot.
struct PortCopy {
  CudaPlace to, from;
  uint64_t bytes;
  bool ofCaller;
};

class CudaProgram : public Program {
public:
  CudaProgram(std::shared_ptr<const Artifact> artifactIn,
              std::shared_ptr<CudaDevice> deviceIn)
      : artifact(std::move(artifactIn)), device(std::move(deviceIn)),
        driver(device->api()), call(driver.call),
        plan(MemoryPlan::of(artifact->manifest, 0)) {
    const char *wish = std::getenv("TDS_CUDA_GRAPHS");
    useGraphs = driver.hasGraphs() && !(wish && std::strcmp(wish, "0") == 0);
    CudaContextScope scope(driver, device->context());
    try {
      ownStream = CudaStream(driver);
      copyStream = CudaStream(driver);
      lastWork = CudaEvent(driver);
      code.emplace(*artifact, *device);
      counts.resize(artifact->manifest.kernels.size());
      storage.emplace(*artifact, *device, plan, ownStream.get());
      driver.check(call.streamSynchronize(ownStream.get()), "work on the GPU");
    } catch (...) {
      free(); // The context is still current here, but not in the members'
              // destructors.
      throw;
    }
  }

  ~CudaProgram() override {
    CudaContextScope scope(driver, device->context(), std::nothrow);
    free();
  }

  char *stageInputs(uint32_t entry, unsigned index, uint64_t number) override {
    CudaContextScope scope(driver, device->context());
    CudaSlot &slot = storage->prepared(entry, index);
    slot.uploaded.synchronize("copying to the GPU");
    slot.call = number;
    return slot.staged.data();
  }

  void sendInputs(uint32_t entry, unsigned index) override {
    CudaSlot &slot = storage->entries[entry].slots[index];
    if (!slot.input.bytes)
      return;
    CudaContextScope scope(driver, device->context());
    // The call that had this slot may still be reading it.
    slot.done.waitOn(copyStream.get());
    CudaSink sink = sinkFor(entry, copyStream.get(), slot.call);
    sink.copy({nullptr, slot.input.address}, {slot.staged.data(), 0},
              slot.input.bytes, "upload");
    slot.uploaded.record(copyStream.get());
  }

  void start(uint32_t entry, unsigned index,
             const std::vector<bool> &wanted) override {
    CudaEntry &state = storage->entries[entry];
    CudaSlot &slot = state.slots[index];
    const EntryPlan &entryPlan = artifact->manifest.entries[entry];
    Queue queue(*this, ownStream.get());
    slot.uploaded.waitOn(ownStream.get());
    CudaSink sink = sinkFor(entry, ownStream.get(), slot.call);
    auto emit = [&](CudaSink &sink) {
      for (CudaStep &step : slot.steps)
        sink.step(step);
      for (const CudaEntry::Range &range : state.fetched)
        sink.copy({slot.fetched.data() + range.offset, 0},
                  {nullptr, state.result.address + range.offset}, range.bytes,
                  "download");
    };
    // The initialisers run once; a graph pays from the second launch on.
    bool asGraph = wantsGraph(state) &&
                   entryPlan.kind != EntryPlan::Kind::Init &&
                   state.runs + state.fetched.size() > 1;
    if (asGraph) {
      if (!slot.graph)
        slot.graph = build(entry, emit);
      launch(*slot.graph, entryPlan, queue.stream);
    } else {
      emit(sink);
    }
    for (size_t i = 0; i < wanted.size(); ++i)
      if (const Port &port = entryPlan.results[i];
          wanted[i] && !state.isFetched[i] && port.bytes)
        sink.copy({slot.fetched.data() + port.offset, 0},
                  {nullptr, state.result.address + port.offset}, port.bytes,
                  "download");
    slot.done.record(ownStream.get());
    queue.commit();
  }

  const char *finish(uint32_t entry, unsigned index) override {
    CudaContextScope scope(driver, device->context());
    CudaSlot &slot = storage->entries[entry].slots[index];
    slot.done.synchronize(cat("running entry '",
                              artifact->manifest.entries[entry].name,
                              "' on the GPU"));
    if (timing)
      timing->collect();
    return slot.fetched.data();
  }

  void runDevice(uint32_t entry, const void *const *inputs,
                 void *const *results, size_t resultCount, Stream stream,
                 uint64_t number) override {
    CudaEntry &state = storage->entries[entry];
    Queue queue(*this, stream);
    CudaSlot &slot = storage->prepared(entry, 0);
    slot.uploaded.waitOn(stream);
    std::vector<PortCopy> before, after;
    std::vector<bool> given;
    listCopies(entry, inputs, results, resultCount, before, after, given);
    auto emit = [&](CudaSink &sink, std::vector<CUgraphNode> *nodes) {
      auto copies = [&](const std::vector<PortCopy> &list, const char *what) {
        for (const PortCopy &copy : list) {
          CUgraphNode node = sink.copy(copy.to, copy.from, copy.bytes, what);
          if (nodes && copy.ofCaller)
            nodes->push_back(node);
        }
      };
      copies(before, "copying inputs");
      for (CudaStep &step : slot.steps)
        sink.step(step);
      copies(after, "copying results");
    };
    if (wantsGraph(state)) {
      CudaDeviceGraph &found =
          deviceGraph(entry, before, after, given, number, emit);
      launch(*found.graph, artifact->manifest.entries[entry], stream);
    } else {
      CudaSink sink = sinkFor(entry, stream, number);
      emit(sink, nullptr);
    }
    state.slots[0].done.record(stream);
    queue.commit();
  }

  void upload(Address to, const void *host, uint64_t bytes) override {
    if (!bytes)
      return;
    Queue queue(*this, ownStream.get());
    driver.check(
        call.memcpyHtoDAsync(storage->addressOf(to), host, bytes, queue.stream),
        "copying to the GPU");
    queue.commit();
    // Memory of the caller may be page-locked, and is then read later.
    driver.check(call.streamSynchronize(queue.stream), "work on the GPU");
  }

  void download(Address from, void *host, uint64_t bytes) override {
    if (!bytes)
      return;
    Queue queue(*this, ownStream.get());
    driver.check(call.memcpyDtoHAsync(host, storage->addressOf(from), bytes,
                                      queue.stream),
                 "copying from the GPU");
    queue.commit();
    driver.check(call.streamSynchronize(queue.stream), "work on the GPU");
  }

  void clearSlabs() override {
    Queue queue(*this, ownStream.get());
    for (const CudaBlock &slab : storage->slabs)
      if (slab.bytes)
        driver.check(
            call.memsetD8Async(slab.address, 0, slab.bytes, queue.stream),
            "clearing variables");
    queue.commit();
  }

  void synchronize() override {
    CudaContextScope scope(driver, device->context());
    lastWork.synchronize();
    if (timing)
      timing->collect();
  }

  bool readSymbol(const char *symbol, void *out, size_t bytes) override {
    CudaContextScope scope(driver, device->context());
    CUdeviceptr address = code->find(symbol, bytes);
    if (!address)
      return false;
    driver.check(call.memcpyDtoHAsync(out, address, bytes, ownStream.get()),
                 "copying from the GPU");
    driver.check(call.streamSynchronize(ownStream.get()), "work on the GPU");
    return true;
  }

  MemoryPlan memory() const override { return plan; }

  void profile(Recorder *recorder) override {
    CudaContextScope scope(driver, device->context());
    lastWork.synchronize();
    if (timing)
      timing->collect();
    timing.reset();
    if (!recorder)
      return;
    counts.assign(counts.size(), {});
    timing = std::make_unique<CudaTiming>(driver, *recorder, ownStream.get());
  }

  KernelCounters counters(size_t kernel) const override {
    return counts[kernel];
  }

private:
  /// Makes the context current and the stream wait for earlier work. commit()
  /// leaves an event behind what was queued; without it, after a failure, the
  /// destructor sees to it that nothing is freed that is still in use.
  struct Queue {
    Queue(CudaProgram &self, CUstream stream)
        : self(self), scope(self.driver, self.device->context()),
          stream(stream) {
      if (self.lastStream != stream)
        self.lastWork.waitOn(stream);
    }
    void commit() {
      self.lastWork.record(stream);
      self.lastStream = stream;
      committed = true;
    }
    ~Queue() {
      if (committed)
        return;
      if (!self.lastWork.tryRecord(stream))
        self.call.streamSynchronize(stream);
      self.lastStream = stream;
    }
    CudaProgram &self;
    CudaContextScope scope;
    CUstream stream;
    bool committed = false;
  };

  CudaSink sinkFor(uint32_t entry, CUstream stream, uint64_t number) {
    CudaSink sink(driver, *code, artifact->manifest, counts);
    sink.stream = stream;
    sink.timing = timing.get();
    sink.entry = &artifact->manifest.entries[entry].name;
    sink.call = number;
    return sink;
  }

  /// A graph holds every iteration of its loops as nodes of their own, which
  /// take memory and time to build; very long calls are sent to the stream.
  bool wantsGraph(const CudaEntry &entry) const {
    constexpr uint64_t mostNodes = 1 << 16;
    return useGraphs && !timing && entry.runs <= mostNodes;
  }

  template <typename Emit>
  std::unique_ptr<CudaGraph> build(uint32_t entry, Emit &&emit) {
    auto graph = std::make_unique<CudaGraph>(driver, device->context());
    CudaSink sink = sinkFor(entry, nullptr, 0);
    sink.timing = nullptr;
    sink.graph = graph.get();
    emit(sink);
    graph->finish();
    return graph;
  }

  void launch(CudaGraph &graph, const EntryPlan &entry, CUstream stream) {
    graph.launch(stream, cat("launching entry '", entry.name, "'"));
    countCalls(entry.commands, 1);
  }

  void countCalls(const std::vector<Command> &commands, uint64_t times) {
    for (const Command &command : commands) {
      if (command.op == Command::Op::Launch && command.work)
        counts[command.kernel].calls += times;
      else if (command.op == Command::Op::Loop)
        countCalls(command.body, times * command.trips);
    }
  }

  /// A graph for these copies: one that has them, or else one that is pointed
  /// to them. Two are kept, for callers that alternate between two buffers.
  template <typename Emit>
  CudaDeviceGraph &
  deviceGraph(uint32_t entry, const std::vector<PortCopy> &before,
              const std::vector<PortCopy> &after,
              const std::vector<bool> &given, uint64_t number, Emit &&emit) {
    std::vector<PortCopy> ofCaller;
    std::vector<CudaPlace> places;
    for (const std::vector<PortCopy> *list : {&before, &after})
      for (const PortCopy &copy : *list)
        if (copy.ofCaller) {
          ofCaller.push_back(copy);
          places.push_back(list == &before ? copy.from : copy.to);
        }
    auto same = [&](const CudaDeviceGraph &graph) {
      for (size_t i = 0; i < places.size(); ++i)
        if (graph.places[i].device != places[i].device)
          return false;
      return true;
    };
    std::vector<CudaDeviceGraph> &list = storage->entries[entry].deviceGraphs;
    CudaDeviceGraph *like = nullptr, *oldest = nullptr;
    for (CudaDeviceGraph &graph : list) {
      if (!oldest || graph.lastUse < oldest->lastUse)
        oldest = &graph;
      if (graph.given != given)
        continue;
      if (same(graph)) {
        graph.lastUse = number;
        return graph;
      }
      if (!like || graph.lastUse < like->lastUse)
        like = &graph;
    }
    constexpr size_t kept = 2;
    if (like && list.size() == kept) {
      for (size_t i = 0; i < places.size(); ++i) {
        if (like->places[i].device == places[i].device)
          continue;
        like->graph->setCopy(like->nodes[i], ofCaller[i].to, ofCaller[i].from,
                             ofCaller[i].bytes);
        like->places[i] = places[i];
      }
      like->lastUse = number;
      return *like;
    }
    CudaDeviceGraph made;
    made.given = given;
    made.places = places;
    made.lastUse = number;
    made.graph = build(entry, [&](CudaSink &sink) { emit(sink, &made.nodes); });
    if (list.size() < kept)
      return list.emplace_back(std::move(made));
    lastWork.synchronize(); // It may be running.
    *oldest = std::move(made);
    return *oldest;
  }

  void listCopies(uint32_t index, const void *const *inputs,
                  void *const *results, size_t resultCount,
                  std::vector<PortCopy> &before, std::vector<PortCopy> &after,
                  std::vector<bool> &given) {
    CudaEntry &state = storage->entries[index];
    const EntryPlan &entry = artifact->manifest.entries[index];
    for (size_t i = 0; i < entry.inputs.size(); ++i) {
      const Port &port = entry.inputs[i];
      given.push_back(inputs[i] != nullptr);
      if (!port.bytes)
        continue;
      CudaPlace from =
          inputs[i]
              ? CudaPlace{nullptr, reinterpret_cast<CUdeviceptr>(inputs[i])}
              : CudaPlace{storage->defaults(index) + port.offset, 0};
      before.push_back({{nullptr, state.slots[0].input.address + port.offset},
                        from,
                        port.bytes,
                        inputs[i] != nullptr});
    }
    for (size_t i = 0; i < resultCount; ++i) {
      const Port &port = entry.results[i];
      given.push_back(results[i] != nullptr);
      if (results[i] && port.bytes)
        after.push_back({{nullptr, reinterpret_cast<CUdeviceptr>(results[i])},
                         {nullptr, state.result.address + port.offset},
                         port.bytes,
                         true});
    }
  }

  /// Waits for whatever still runs, then frees all.
  void free() {
    if (lastWork.get())
      lastWork.trySynchronize();
    for (CudaStream *stream : {&copyStream, &ownStream})
      if (stream->get())
        call.streamSynchronize(stream->get());
    timing.reset();
    storage.reset();
    code.reset();
    lastWork = CudaEvent();
    copyStream = CudaStream();
    ownStream = CudaStream(); // Last: blocks are given back on it.
  }

  std::shared_ptr<const Artifact> artifact;
  std::shared_ptr<CudaDevice> device;
  const CudaDriver &driver;
  const CudaSymbols &call;
  MemoryPlan plan;
  bool useGraphs = false;
  CudaStream ownStream, copyStream;
  CudaEvent lastWork;
  CUstream lastStream = nullptr;
  std::optional<CudaCode> code;
  std::vector<KernelCounters> counts;
  std::optional<CudaStorage> storage;
  std::unique_ptr<CudaTiming> timing;
};

} // namespace

std::unique_ptr<Program>
makeCudaProgram(std::shared_ptr<const Artifact> artifact,
                std::shared_ptr<CudaDevice> device) {
  return std::make_unique<CudaProgram>(std::move(artifact), std::move(device));
}

} // namespace tdsrt
