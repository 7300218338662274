//===- CudaProgram.cpp - an artefact's code and storage on a GPU -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Commands are resolved once to device addresses and parameter arrays that
// stay where they are, so that queueing an entry is a flat loop (and so that
// it can be captured into a graph whose parameters never change).
//
// Work of one program is ordered whatever streams its calls name: each call
// leaves an event, and a call on another stream waits for it on the device.
//
//===----------------------------------------------------------------------===//

#include "cuda/CudaProgram.h"

namespace tdsrt {

namespace {

/// Device memory, freed when it goes. The context is current then.
class CudaBlock {
public:
  CudaBlock() = default;
  CudaBlock(const CudaDriver &driver, uint64_t bytes, const char *what)
      : driver(&driver), bytes(bytes) {
    if (bytes)
      driver.check(driver.call.memAlloc(&address, bytes),
                   cat("allocating ", bytesInWords(bytes), " for the ", what));
  }
  CudaBlock(CudaBlock &&other) noexcept { *this = std::move(other); }
  CudaBlock &operator=(CudaBlock &&other) noexcept {
    std::swap(driver, other.driver);
    std::swap(address, other.address);
    std::swap(bytes, other.bytes);
    return *this;
  }
  ~CudaBlock() {
    if (address)
      driver->call.memFree(address);
  }

  const CudaDriver *driver = nullptr;
  CUdeviceptr address = 0;
  uint64_t bytes = 0;
};

struct Step {
  Command::Op op = Command::Op::Launch;
  uint32_t kernel = 0;
  std::array<uint32_t, 3> grid{};
  std::vector<CUdeviceptr> buffers;
  std::vector<int64_t> sizes;
  std::vector<void *> parameters; ///< points into buffers and sizes
  CUdeviceptr to = 0, from = 0;
  uint64_t bytes = 0;
  uint8_t byte = 0;
};

class CudaProgram : public Program {
public:
  CudaProgram(std::shared_ptr<const Artifact> artifactIn,
              std::shared_ptr<CudaDevice> deviceIn)
      : artifact(std::move(artifactIn)), device(std::move(deviceIn)),
        driver(device->api()), call(driver.call),
        plan(MemoryPlan::of(artifact->manifest, 0)) {
    CudaContextScope scope(driver, device->context());
    try {
      driver.check(call.streamCreate(&ownStream, streamNonBlocking),
                   "creating a stream");
      driver.check(call.eventCreate(&lastWork, eventDisableTiming),
                   "creating an event");
      loadCode();
      allocate();
      for (uint32_t i = 0; i < artifact->manifest.entries.size(); ++i)
        resolve(i);
      synchronize(nullptr);
    } catch (...) {
      free(); // The context is still current here, but not in the members'
              // destructors.
      throw;
    }
  }

  ~CudaProgram() override {
    try {
      CudaContextScope scope(driver, device->context());
      if (hasWork)
        call.eventSynchronize(lastWork);
      free();
    } catch (const Error &) {
      // The context is gone, and with it all that would be freed.
    }
  }

  void run(uint32_t entry, Stream stream) override {
    Queue queue(*this, stream);
    for (Step &step : entries[entry]) {
      switch (step.op) {
      case Command::Op::Launch: {
        const Kernel &kernel = artifact->manifest.kernels[step.kernel];
        driver.check(call.launchKernel(
                         functions[step.kernel], step.grid[0], step.grid[1],
                         step.grid[2], kernel.block[0], kernel.block[1],
                         kernel.block[2], kernel.sharedBytes, queue.stream,
                         step.parameters.data(), nullptr),
                     cat("launching ", kernel.symbol, " (", kernel.title, ", ",
                         kernel.source, ")"));
        ++counts[step.kernel].calls;
        break;
      }
      case Command::Op::Copy:
        if (step.bytes && step.to != step.from)
          driver.check(call.memcpyDtoDAsync(step.to, step.from, step.bytes,
                                            queue.stream),
                       "copying on the GPU");
        break;
      case Command::Op::Fill:
        if (step.bytes)
          driver.check(
              call.memsetD8Async(step.to, step.byte, step.bytes, queue.stream),
              "filling memory on the GPU");
        break;
      }
    }
  }

  void upload(Address to, const void *host, uint64_t bytes,
              Stream stream) override {
    if (!bytes)
      return;
    Queue queue(*this, stream);
    driver.check(call.memcpyHtoDAsync(addressOf(to), host, bytes, queue.stream),
                 "copying to the GPU");
  }

  void download(Address from, void *host, uint64_t bytes,
                Stream stream) override {
    if (!bytes)
      return;
    Queue queue(*this, stream);
    driver.check(
        call.memcpyDtoHAsync(host, addressOf(from), bytes, queue.stream),
        "copying from the GPU");
    driver.check(call.streamSynchronize(queue.stream), "work on the GPU");
  }

  void copyIn(Address to, const void *memory, uint64_t bytes,
              Stream stream) override {
    if (!bytes)
      return;
    Queue queue(*this, stream);
    driver.check(call.memcpyDtoDAsync(addressOf(to),
                                      reinterpret_cast<CUdeviceptr>(memory),
                                      bytes, queue.stream),
                 "copying an input on the GPU");
  }

  void copyOut(Address from, void *memory, uint64_t bytes,
               Stream stream) override {
    if (!bytes)
      return;
    Queue queue(*this, stream);
    driver.check(call.memcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(memory),
                                      addressOf(from), bytes, queue.stream),
                 "copying a result on the GPU");
  }

  void clearSlabs(Stream stream) override {
    Queue queue(*this, stream);
    for (const CudaBlock &slab : slabs)
      if (slab.bytes)
        driver.check(
            call.memsetD8Async(slab.address, 0, slab.bytes, queue.stream),
            "clearing variables");
  }

  void synchronize(Stream) override {
    CudaContextScope scope(driver, device->context());
    if (hasWork)
      driver.check(call.eventSynchronize(lastWork), "work on the GPU");
  }

  bool readSymbol(const char *symbol, void *out, size_t bytes) override {
    CudaContextScope scope(driver, device->context());
    CUdeviceptr address = 0;
    size_t size = 0;
    CUresult found = call.moduleGetGlobal(&address, &size, code, symbol);
    if (found == cudaErrorNotFound)
      return false;
    driver.check(found, cat("finding ", symbol));
    if (size != bytes)
      return false;
    driver.check(call.memcpyDtoHAsync(out, address, bytes, ownStream),
                 "copying from the GPU");
    driver.check(call.streamSynchronize(ownStream), "work on the GPU");
    return true;
  }

  MemoryPlan memory() const override { return plan; }
  KernelCounters counters(size_t kernel) const override {
    return counts[kernel];
  }

private:
  /// Makes the context current and the stream wait for earlier work; leaves
  /// an event behind what is queued meanwhile.
  struct Queue {
    Queue(CudaProgram &self, Stream wanted)
        : self(self), scope(self.driver, self.device->context()),
          stream(wanted == programStream ? self.ownStream : wanted) {
      if (self.hasWork && self.lastStream != stream)
        self.driver.check(self.call.streamWaitEvent(stream, self.lastWork, 0),
                          "ordering two streams");
    }
    ~Queue() {
      self.hasWork = self.call.eventRecord(self.lastWork, stream) == 0;
      self.lastStream = stream;
    }
    CudaProgram &self;
    CudaContextScope scope;
    CUstream stream;
  };

  void loadCode() {
    // A NUL must end the text; std::string has one.
    constexpr size_t logBytes = 8192;
    std::string errors(logBytes, '\0'), infos(logBytes, '\0');
    int options[] = {jitErrorLog, jitErrorLogBytes, jitInfoLog,
                     jitInfoLogBytes};
    void *values[] = {errors.data(), reinterpret_cast<void *>(logBytes),
                      infos.data(), reinterpret_cast<void *>(logBytes)};
    CUresult result = call.moduleLoadDataEx(&code, artifact->image.c_str(), 4,
                                            options, values);
    if (result != 0) {
      errors[logBytes - 1] = '\0';
      std::string text = printable(errors.c_str(), 1000);
      fail(TDS_DEVICE_ERROR, artifact->name,
           ": the driver does not accept the PTX (", driver.errorText(result),
           text.empty() ? "" : "; its compiler says: ", text,
           "); compile it again, and if it happens again, report it");
    }
    for (const Kernel &kernel : artifact->manifest.kernels) {
      CUfunction function = nullptr;
      CUresult found =
          call.moduleGetFunction(&function, code, kernel.symbol.c_str());
      if (found == cudaErrorNotFound)
        fail(TDS_BAD_DATA, artifact->name, ": its PTX has no kernel '",
             kernel.symbol, "' that its manifest lists; compile it again");
      driver.check(found, cat("finding kernel ", kernel.symbol));
      if (kernel.sharedBytes > device->maxSharedBytes())
        fail(TDS_UNSUPPORTED, artifact->name, ": kernel '", kernel.symbol,
             "' needs ", bytesInWords(kernel.sharedBytes),
             " of shared memory, but a block has ",
             bytesInWords(device->maxSharedBytes()),
             " on this GPU; compile it for this GPU's --arch");
      constexpr uint32_t sharedWithoutAsking = 48 * 1024;
      if (kernel.sharedBytes > sharedWithoutAsking)
        driver.check(
            call.funcSetAttribute(function, functionMaxDynamicShared,
                                  static_cast<int>(kernel.sharedBytes)),
            cat("giving shared memory to ", kernel.symbol));
      functions.push_back(function);
    }
    counts.resize(functions.size());
  }

  void allocate() {
    const Manifest &manifest = artifact->manifest;
    for (const Slab &slab : manifest.slabs)
      slabs.emplace_back(driver, slab.bytes, "variables");
    for (const std::vector<uint8_t> &data : manifest.constants) {
      constants.emplace_back(driver, data.size(), "constants");
      if (!data.empty())
        driver.check(call.memcpyHtoDAsync(constants.back().address, data.data(),
                                          data.size(), ownStream),
                     "copying constants to the GPU");
    }
    arena = CudaBlock(driver, plan.arena, "intermediate values");
    for (const EntryPlan &entry : manifest.entries) {
      inputs.emplace_back(driver, entry.inputBytes, "inputs");
      results.emplace_back(driver, entry.resultBytes, "results");
      for (const CudaBlock *block : {&inputs.back(), &results.back()})
        if (block->bytes)
          driver.check(
              call.memsetD8Async(block->address, 0, block->bytes, ownStream),
              "clearing the slots");
    }
    driver.check(call.streamSynchronize(ownStream), "work on the GPU");
  }

  CUdeviceptr addressOf(Address at) const {
    switch (at.space) {
    case Space::Slab:
      return slabs[at.index].address + at.offset;
    case Space::Constant:
      return constants[at.index].address + at.offset;
    case Space::Arena:
      return arena.address + at.offset;
    case Space::Input:
      return inputs[at.entry].address + at.offset;
    case Space::Result:
      return results[at.entry].address + at.offset;
    }
    return 0;
  }

  void resolve(uint32_t index) {
    auto address = [&](const Operand &operand) {
      return addressOf({operand.space, operand.index, index, operand.offset});
    };
    std::vector<Step> steps;
    for (const Command &command : artifact->manifest.entries[index].commands) {
      Step step;
      step.op = command.op;
      if (command.op == Command::Op::Launch) {
        if (command.work == 0)
          continue;
        step.kernel = command.kernel;
        step.grid = command.grid;
        for (const Operand &operand : command.args)
          step.buffers.push_back(address(operand));
        step.sizes = command.sizes;
      } else {
        step.to = address(command.to);
        step.from = command.op == Command::Op::Copy ? address(command.from) : 0;
        step.bytes = command.bytes;
        step.byte = command.byte;
      }
      steps.push_back(std::move(step));
    }
    // Only now do buffers and sizes stay where they are.
    for (Step &step : steps) {
      for (CUdeviceptr &buffer : step.buffers)
        step.parameters.push_back(&buffer);
      for (int64_t &size : step.sizes)
        step.parameters.push_back(&size);
    }
    entries.push_back(std::move(steps));
  }

  void free() {
    slabs.clear();
    constants.clear();
    inputs.clear();
    results.clear();
    arena = CudaBlock();
    if (code)
      call.moduleUnload(code);
    if (lastWork)
      call.eventDestroy(lastWork);
    if (ownStream)
      call.streamDestroy(ownStream);
    code = lastWork = ownStream = nullptr;
  }

  std::shared_ptr<const Artifact> artifact;
  std::shared_ptr<CudaDevice> device;
  const CudaDriver &driver;
  const CudaSymbols &call;
  MemoryPlan plan;
  CUmodule code = nullptr;
  CUstream ownStream = nullptr;
  CUevent lastWork = nullptr;
  CUstream lastStream = nullptr;
  bool hasWork = false;
  std::vector<CUfunction> functions;
  std::vector<KernelCounters> counts;
  std::vector<CudaBlock> slabs, constants, inputs, results;
  CudaBlock arena;
  std::vector<std::vector<Step>> entries;
};

} // namespace

std::unique_ptr<Program>
makeCudaProgram(std::shared_ptr<const Artifact> artifact,
                std::shared_ptr<CudaDevice> device) {
  return std::make_unique<CudaProgram>(std::move(artifact), std::move(device));
}

} // namespace tdsrt
