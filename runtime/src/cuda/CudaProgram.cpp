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
#include "cuda/CudaCommands.h"

#include <cstdlib>
#include <cstring>
#include <optional>

namespace tdsrt {

namespace {

/// One of the calls of an entry that may be in flight.
struct Slot {
  CudaBlock input;
  std::vector<CudaStep> steps; ///< with the addresses of this input
  // From here on made at the first call with host memory.
  bool prepared = false;
  CudaPinned staged, fetched;
  CudaEvent uploaded, done;
  std::unique_ptr<CudaGraph> graph;
  uint64_t call = 0;
};

/// A call with the caller's memory as a graph.
struct DeviceGraph {
  std::vector<bool> given;        ///< by input and result: not null
  std::vector<CudaPlace> places;  ///< of the caller, by copy
  std::vector<CUgraphNode> nodes; ///< the copies
  std::unique_ptr<CudaGraph> graph;
  uint64_t lastUse = 0;
};

struct EntryState {
  CudaBlock result;
  std::array<Slot, callSlots> slots;
  /// What is copied to the host with each call: flags and small results.
  struct Range {
    uint64_t offset, bytes;
  };
  std::vector<Range> fetched;
  std::vector<bool> isFetched; ///< by result
  CudaPinned defaults;         ///< eight bytes for each input
  std::vector<DeviceGraph> deviceGraphs;
};

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
      allocate();
      for (uint32_t i = 0; i < artifact->manifest.entries.size(); ++i)
        resolve(i);
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
    Slot &slot = prepared(entry, index);
    slot.uploaded.synchronize("copying to the GPU");
    slot.call = number;
    return slot.staged.data();
  }

  void sendInputs(uint32_t entry, unsigned index) override {
    Slot &slot = entries[entry].slots[index];
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
    EntryState &state = entries[entry];
    Slot &slot = state.slots[index];
    const EntryPlan &entryPlan = artifact->manifest.entries[entry];
    Queue queue(*this, ownStream.get());
    slot.uploaded.waitOn(ownStream.get());
    CudaSink sink = sinkFor(entry, ownStream.get(), slot.call);
    auto emit = [&](CudaSink &sink) {
      for (CudaStep &step : slot.steps)
        sink.step(step);
      for (const EntryState::Range &range : state.fetched)
        sink.copy({slot.fetched.data() + range.offset, 0},
                  {nullptr, state.result.address + range.offset}, range.bytes,
                  "download");
    };
    // The initialisers run once; a graph pays from the second launch on.
    bool asGraph = useGraphs && !timing &&
                   entryPlan.kind != EntryPlan::Kind::Init &&
                   slot.steps.size() + state.fetched.size() > 1;
    if (asGraph) {
      if (!slot.graph)
        slot.graph = build(entry, emit);
      launch(*slot.graph, slot.steps, entryPlan, queue.stream);
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
    Slot &slot = entries[entry].slots[index];
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
    EntryState &state = entries[entry];
    Queue queue(*this, stream);
    Slot &slot = prepared(entry, 0);
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
    if (useGraphs && !timing) {
      DeviceGraph &found =
          deviceGraph(entry, before, after, given, number, emit);
      launch(*found.graph, slot.steps, artifact->manifest.entries[entry],
             stream);
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
    driver.check(call.memcpyHtoDAsync(addressOf(to), host, bytes, queue.stream),
                 "copying to the GPU");
    queue.commit();
    // Memory of the caller may be page-locked, and is then read later.
    driver.check(call.streamSynchronize(queue.stream), "work on the GPU");
  }

  void download(Address from, void *host, uint64_t bytes) override {
    if (!bytes)
      return;
    Queue queue(*this, ownStream.get());
    driver.check(
        call.memcpyDtoHAsync(host, addressOf(from), bytes, queue.stream),
        "copying from the GPU");
    queue.commit();
    driver.check(call.streamSynchronize(queue.stream), "work on the GPU");
  }

  void clearSlabs() override {
    Queue queue(*this, ownStream.get());
    for (const CudaBlock &slab : slabs)
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

  void launch(CudaGraph &graph, const std::vector<CudaStep> &steps,
              const EntryPlan &entry, CUstream stream) {
    graph.launch(stream, cat("launching entry '", entry.name, "'"));
    for (const CudaStep &step : steps)
      if (step.op == Command::Op::Launch)
        ++counts[step.kernel].calls;
  }

  /// A graph for these copies: one that has them, or else one that is pointed
  /// to them. Two are kept, for callers that alternate between two buffers.
  template <typename Emit>
  DeviceGraph &deviceGraph(uint32_t entry, const std::vector<PortCopy> &before,
                           const std::vector<PortCopy> &after,
                           const std::vector<bool> &given, uint64_t number,
                           Emit &&emit) {
    std::vector<PortCopy> ofCaller;
    std::vector<CudaPlace> places;
    for (const std::vector<PortCopy> *list : {&before, &after})
      for (const PortCopy &copy : *list)
        if (copy.ofCaller) {
          ofCaller.push_back(copy);
          places.push_back(list == &before ? copy.from : copy.to);
        }
    auto same = [&](const DeviceGraph &graph) {
      for (size_t i = 0; i < places.size(); ++i)
        if (graph.places[i].device != places[i].device)
          return false;
      return true;
    };
    std::vector<DeviceGraph> &list = entries[entry].deviceGraphs;
    DeviceGraph *like = nullptr, *oldest = nullptr;
    for (DeviceGraph &graph : list) {
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
    DeviceGraph made;
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
    EntryState &state = entries[index];
    const EntryPlan &entry = artifact->manifest.entries[index];
    for (size_t i = 0; i < entry.inputs.size(); ++i) {
      const Port &port = entry.inputs[i];
      given.push_back(inputs[i] != nullptr);
      if (!port.bytes)
        continue;
      if (!inputs[i] && !state.defaults.data())
        makeDefaults(index);
      CudaPlace from =
          inputs[i]
              ? CudaPlace{nullptr, reinterpret_cast<CUdeviceptr>(inputs[i])}
              : CudaPlace{state.defaults.data() + i * sizeof port.defaultBytes,
                          0};
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

  void makeDefaults(uint32_t index) {
    const EntryPlan &entry = artifact->manifest.entries[index];
    constexpr size_t bytes = sizeof(Port::defaultBytes);
    CudaPinned memory(driver, entry.inputs.size() * bytes, "defaults");
    for (size_t i = 0; i < entry.inputs.size(); ++i)
      std::memcpy(memory.data() + i * bytes,
                  entry.inputs[i].defaultBytes.data(), bytes);
    entries[index].defaults = std::move(memory);
  }

  Slot &prepared(uint32_t entry, unsigned index) {
    EntryState &state = entries[entry];
    Slot &slot = state.slots[index];
    if (slot.prepared)
      return slot;
    slot.staged = CudaPinned(driver, slot.input.bytes, "inputs");
    slot.fetched = CudaPinned(driver, state.result.bytes, "results");
    slot.uploaded = CudaEvent(driver);
    slot.done = CudaEvent(driver);
    if (slot.staged.data()) // The gaps between inputs are sent too.
      std::memset(slot.staged.data(), 0, slot.input.bytes);
    slot.prepared = true;
    return slot;
  }

  CudaBlock block(uint64_t bytes, const char *what) {
    bool ordered = driver.hasPools() && device->hasMemoryPools();
    return CudaBlock(driver, bytes, ordered ? ownStream.get() : nullptr, what);
  }

  void allocate() {
    const Manifest &manifest = artifact->manifest;
    for (const Slab &slab : manifest.slabs)
      slabs.push_back(block(slab.bytes, "variables"));
    for (const std::vector<uint8_t> &data : manifest.constants) {
      constants.push_back(block(data.size(), "constants"));
      if (!data.empty())
        driver.check(call.memcpyHtoDAsync(constants.back().address, data.data(),
                                          data.size(), ownStream.get()),
                     "copying constants to the GPU");
    }
    arena = block(plan.arena, "intermediate values");
    entries.resize(manifest.entries.size());
    for (size_t i = 0; i < entries.size(); ++i) {
      EntryState &state = entries[i];
      auto cleared = [&](CudaBlock &block) {
        if (block.bytes)
          driver.check(call.memsetD8Async(block.address, 0, block.bytes,
                                          ownStream.get()),
                       "clearing the slots");
      };
      for (Slot &slot : state.slots) {
        slot.input = block(manifest.entries[i].inputBytes, "inputs");
        cleared(slot.input);
      }
      state.result = block(manifest.entries[i].resultBytes, "results");
      cleared(state.result);
      chooseFetched(manifest.entries[i], state);
    }
  }

  static void chooseFetched(const EntryPlan &entry, EntryState &state) {
    // A slot of few bytes is one copy; of a large one only what is small.
    constexpr uint64_t smallSlot = 16 * 1024, smallPort = 1024;
    bool whole = entry.resultBytes <= smallSlot;
    if (whole && entry.resultBytes)
      state.fetched.push_back({0, entry.resultBytes});
    for (const Port &port : entry.results) {
      bool fetched = whole || port.bytes <= smallPort;
      state.isFetched.push_back(fetched);
      if (fetched && !whole && port.bytes)
        state.fetched.push_back({port.offset, port.bytes});
    }
    if (!whole && entry.flagsPort)
      state.fetched.push_back(
          {entry.flagsPort->offset, entry.flagsPort->bytes});
  }

  CUdeviceptr addressOf(Address at, unsigned slot = 0) const {
    switch (at.space) {
    case Space::Slab:
      return slabs[at.index].address + at.offset;
    case Space::Constant:
      return constants[at.index].address + at.offset;
    case Space::Arena:
      return arena.address + at.offset;
    case Space::Input:
      return entries[at.entry].slots[slot].input.address + at.offset;
    case Space::Result:
      return entries[at.entry].result.address + at.offset;
    }
    return 0;
  }

  void resolve(uint32_t index) {
    for (unsigned slot = 0; slot < callSlots; ++slot) {
      auto address = [&](const Operand &operand) {
        return addressOf({operand.space, operand.index, index, operand.offset},
                         slot);
      };
      std::vector<CudaStep> &steps = entries[index].slots[slot].steps;
      for (const Command &command :
           artifact->manifest.entries[index].commands) {
        CudaStep step;
        step.op = command.op;
        if (command.op == Command::Op::Launch) {
          if (command.work == 0)
            continue;
          step.kernel = command.kernel;
          step.grid = command.grid;
          for (const Operand &operand : command.args)
            step.buffers.push_back(address(operand));
          step.sizes = command.sizes;
          step.bytes = command.operandBytes;
          step.flops = command.flops;
        } else {
          step.to = address(command.to);
          step.from =
              command.op == Command::Op::Copy ? address(command.from) : 0;
          step.bytes = command.bytes;
          step.byte = command.byte;
          if (!step.bytes || step.to == step.from)
            continue;
        }
        steps.push_back(std::move(step));
      }
      // Only now do buffers and sizes stay where they are.
      for (CudaStep &step : steps) {
        for (CUdeviceptr &buffer : step.buffers)
          step.parameters.push_back(&buffer);
        for (int64_t &size : step.sizes)
          step.parameters.push_back(&size);
      }
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
    entries.clear();
    slabs.clear();
    constants.clear();
    arena = CudaBlock();
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
  std::vector<CudaBlock> slabs, constants;
  CudaBlock arena;
  std::vector<EntryState> entries;
  std::unique_ptr<CudaTiming> timing;
};

} // namespace

std::unique_ptr<Program>
makeCudaProgram(std::shared_ptr<const Artifact> artifact,
                std::shared_ptr<CudaDevice> device) {
  return std::make_unique<CudaProgram>(std::move(artifact), std::move(device));
}

} // namespace tdsrt
