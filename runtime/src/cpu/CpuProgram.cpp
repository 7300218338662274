//===- CpuProgram.cpp - an artefact's code and storage on the CPU -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands are resolved to pointers once, when the program is loaded; a call
// walks a flat list of launches.
//
//===----------------------------------------------------------------------===//

#include "cpu/CpuProgram.h"
#include "core/Error.h"
#include "profile/Recorder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tdsrt {

namespace {

using KernelFunction = void (*)(void *const *buffers, const int64_t *sizes,
                                int64_t first, int64_t last, void *scratch);

/// Aligned storage; exactly the bytes asked for are usable.
class Block {
public:
  Block() = default;
  Block(uint64_t bytes, const char *what) : bytes(bytes) {
    if (bytes == 0)
      return;
    // Large blocks are aligned so that the kernel can back them with huge
    // pages; the rest to a variable's alignment.
    constexpr uint64_t hugePage = uint64_t(2) << 20;
    size_t alignment = bytes >= 2 * hugePage ? hugePage : 256;
    void *memory = nullptr;
    if (bytes > SIZE_MAX / 2 || posix_memalign(&memory, alignment, bytes) != 0)
      fail(TDS_OUT_OF_MEMORY, "the CPU has no ", bytesInWords(bytes),
           " left for the ", what, "; use a smaller batch or free memory");
    if (alignment == hugePage)
      madvise(memory, bytes, MADV_HUGEPAGE); // Only a hint.
    pointer.reset(static_cast<char *>(memory));
  }
  char *data() const { return pointer.get(); }
  void clear() {
    if (bytes)
      std::memset(data(), 0, bytes);
  }

private:
  struct Free {
    void operator()(char *memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> pointer;
  uint64_t bytes = 0;
};

/// The shared object, opened from a copy in memory: what was hashed is what
/// runs, whatever happens to the file meanwhile.
class SharedObject {
public:
  SharedObject(const std::string &image, const std::string &name) {
    file = memfd_create("tds-program", MFD_CLOEXEC);
    if (file < 0)
      fail(TDS_OUT_OF_MEMORY, name, ": cannot be copied into memory (",
           std::strerror(errno), ")");
    try {
      fill(image, name);
      open(name);
    } catch (...) {
      ::close(file);
      throw;
    }
  }
  ~SharedObject() {
    dlclose(handle);
    ::close(file);
  }
  SharedObject(const SharedObject &) = delete;
  SharedObject &operator=(const SharedObject &) = delete;
  void *find(const char *symbol) const { return dlsym(handle, symbol); }

private:
  void fill(const std::string &image, const std::string &name) {
    size_t done = 0;
    while (done < image.size()) {
      ssize_t put = ::write(file, image.data() + done, image.size() - done);
      if (put < 0 && errno == EINTR)
        continue;
      if (put <= 0)
        fail(TDS_OUT_OF_MEMORY, name, ": cannot be copied into memory (",
             std::strerror(errno), ")");
      done += static_cast<size_t>(put);
    }
  }

  void open(const std::string &name) {
    handle = dlopen(cat("/proc/self/fd/", file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle)
      return;
    const char *error = dlerror();
    fail(TDS_BAD_DATA, name, ": its native code cannot be loaded (",
         printable(error ? error : "no reason given", 200),
         "); compile it again on this system");
  }

  void *handle = nullptr;
  /// Open as long as the object is loaded: dlopen takes two objects of one
  /// path for the same, and the path is made of this number.
  int file = -1;
};

struct Step {
  Command::Op op;
  uint32_t kernel;
  KernelFunction function;
  std::vector<void *> buffers;
  std::vector<int64_t> sizes;
  int64_t work;
  char *to;
  const char *from;
  uint64_t bytes; ///< of a copy or fill; of a launch's operands
  uint64_t flops;
  uint8_t byte;
  /// Inside a loop: where buffers, sizes, `to` and `from` are in the first
  /// iteration, and how they change; empty elsewhere.
  std::vector<void *> firstBuffers;
  std::vector<std::vector<uint64_t>> strides;
  std::vector<SizeArgument> loopSizes;
  char *firstTo;
  const char *firstFrom;
  std::vector<uint64_t> toStrides, fromStrides;
  uint64_t trips;
  bool reverse;
  std::vector<Step> body;
  /// What one work item has cost, for the choice of threads; 0: not known.
  double secondsPerItem = 0;
};

/// A launch shorter than this is not worth waking other threads for. The
/// result is the same either way (kernel ABI 1), only the time differs.
constexpr double shareSeconds = 3e-6;

class CpuProgram : public Program {
public:
  CpuProgram(std::shared_ptr<const Artifact> artifactIn,
             std::shared_ptr<ThreadPool> poolIn)
      : artifact(std::move(artifactIn)), pool(std::move(poolIn)),
        code(artifact->image, artifact->name),
        plan(MemoryPlan::of(artifact->manifest, pool->size())) {
    const Manifest &manifest = artifact->manifest;
    for (const Kernel &kernel : manifest.kernels) {
      void *address = code.find(kernel.symbol.c_str());
      if (!address)
        fail(TDS_BAD_DATA, artifact->name, ": its native code has no kernel '",
             kernel.symbol, "' that its manifest lists; compile it again");
      functions.push_back(reinterpret_cast<KernelFunction>(address));
    }
    counts.resize(manifest.kernels.size());
    allocate();
    for (uint32_t entry = 0; entry < manifest.entries.size(); ++entry)
      resolve(entry);
  }

  // Calls run at once, so that one slot does for both; the staged inputs are
  // the input slot itself.
  char *stageInputs(uint32_t entry, unsigned, uint64_t number) override {
    callNumber = number;
    return inputs[entry].data();
  }
  void sendInputs(uint32_t, unsigned) override {}
  void start(uint32_t entry, unsigned, const std::vector<bool> &) override {
    run(entry);
  }
  const char *finish(uint32_t entry, unsigned) override {
    return results[entry].data();
  }

  void runDevice(uint32_t index, const void *const *given, void *const *wanted,
                 size_t resultCount, Stream, uint64_t number) override {
    callNumber = number;
    const EntryPlan &entry = artifact->manifest.entries[index];
    for (size_t i = 0; i < entry.inputs.size(); ++i) {
      const Port &port = entry.inputs[i];
      if (!port.bytes)
        continue;
      char *to = inputs[index].data() + port.offset;
      if (given[i])
        std::memcpy(to, given[i], port.bytes);
      else
        fillDefault(port, to);
    }
    run(index);
    for (size_t i = 0; i < resultCount; ++i)
      if (const Port &port = entry.results[i]; wanted[i] && port.bytes)
        std::memcpy(wanted[i], results[index].data() + port.offset, port.bytes);
  }

  void upload(Address to, const void *host, uint64_t bytes) override {
    if (bytes)
      std::memcpy(pointerTo(to), host, bytes);
  }
  void download(Address from, void *host, uint64_t bytes) override {
    if (bytes)
      std::memcpy(host, pointerTo(from), bytes);
  }
  void clearSlabs() override {
    for (Block &slab : slabs)
      slab.clear();
  }
  void synchronize() override {}

  bool readSymbol(const char *symbol, void *out, size_t bytes) override {
    void *address = code.find(symbol);
    if (address)
      std::memcpy(out, address, bytes);
    return address != nullptr;
  }

  MemoryPlan memory() const override { return plan; }
  void profile(Recorder *wanted) override {
    recorder = wanted;
    if (recorder)
      counts.assign(counts.size(), {});
  }
  KernelCounters counters(size_t kernel) const override {
    return counts[kernel];
  }

private:
  void run(uint32_t entry) {
    FloatModeScope modes;
    Iterations iterations;
    run(entry, entries[entry], iterations);
  }

  void run(uint32_t entry, std::vector<Step> &steps, Iterations &iterations) {
    for (Step &step : steps) {
      if (iterations.depth)
        moveTo(step, iterations);
      switch (step.op) {
      case Command::Op::Launch:
        launch(step, entry);
        break;
      case Command::Op::Copy:
        if (step.bytes && step.to != step.from)
          std::memcpy(step.to, step.from, step.bytes);
        break;
      case Command::Op::Fill:
        if (step.bytes)
          std::memset(step.to, step.byte, step.bytes);
        break;
      case Command::Op::Loop:
        iterations.forEach(step.trips, step.reverse,
                           [&] { run(entry, step.body, iterations); });
        break;
      }
    }
  }

  static void moveTo(Step &step, const Iterations &iterations) {
    auto moved = [&](auto *first, const std::vector<uint64_t> &strides) {
      return first ? first + iterations.offsetOf(strides) : nullptr;
    };
    for (size_t i = 0; i < step.strides.size(); ++i)
      if (!step.strides[i].empty())
        step.buffers[i] =
            moved(static_cast<char *>(step.firstBuffers[i]), step.strides[i]);
    for (size_t i = 0; i < step.loopSizes.size(); ++i)
      step.sizes[i] = iterations.valueOf(step.loopSizes[i]);
    if (!step.toStrides.empty())
      step.to = moved(step.firstTo, step.toStrides);
    if (!step.fromStrides.empty())
      step.from = moved(step.firstFrom, step.fromStrides);
  }

  void allocate() {
    const Manifest &manifest = artifact->manifest;
    for (const Slab &slab : manifest.slabs)
      slabs.emplace_back(slab.bytes, "variables");
    for (const std::vector<uint8_t> &data : manifest.constants) {
      constants.emplace_back(data.size(), "constants");
      if (!data.empty())
        std::memcpy(constants.back().data(), data.data(), data.size());
    }
    arena = Block(plan.arena, "intermediate values");
    for (const EntryPlan &entry : manifest.entries) {
      inputs.emplace_back(entry.inputBytes, "inputs");
      inputs.back().clear();
      results.emplace_back(entry.resultBytes, "results");
      results.back().clear();
    }
    uint64_t perThread = plan.scratch / pool->size();
    for (unsigned thread = 0; thread < pool->size(); ++thread)
      scratch.emplace_back(perThread, "scratch of the threads");
  }

  char *pointerTo(Address at) const {
    const Block *block = nullptr;
    switch (at.space) {
    case Space::Slab:
      block = &slabs[at.index];
      break;
    case Space::Constant:
      block = &constants[at.index];
      break;
    case Space::Arena:
      block = &arena;
      break;
    case Space::Input:
      block = &inputs[at.entry];
      break;
    case Space::Result:
      block = &results[at.entry];
      break;
    }
    // An empty block has no address; nothing of it is ever touched.
    return block->data() ? block->data() + at.offset : nullptr;
  }

  void resolve(uint32_t index) {
    entries.push_back(
        resolve(index, artifact->manifest.entries[index].commands));
  }

  std::vector<Step> resolve(uint32_t index,
                            const std::vector<Command> &commands) {
    auto pointer = [&](const Operand &operand) {
      return pointerTo({operand.space, operand.index, index, operand.offset});
    };
    std::vector<Step> steps;
    for (const Command &command : commands) {
      Step step{};
      step.op = command.op;
      if (command.op == Command::Op::Launch) {
        if (command.work == 0)
          continue;
        step.kernel = command.kernel;
        step.function = functions[command.kernel];
        for (const Operand &operand : command.args) {
          step.buffers.push_back(pointer(operand));
          step.strides.push_back(operand.strides);
        }
        step.firstBuffers = step.buffers;
        for (const SizeArgument &size : command.sizes)
          step.sizes.push_back(size.number);
        step.loopSizes = command.sizes;
        step.work = static_cast<int64_t>(command.work);
        step.bytes = command.operandBytes;
        step.flops = command.flops;
      } else if (command.op == Command::Op::Loop) {
        step.trips = command.trips;
        step.reverse = command.reverse;
        step.body = resolve(index, command.body);
      } else {
        step.to = step.firstTo = pointer(command.to);
        step.from = step.firstFrom =
            command.op == Command::Op::Copy ? pointer(command.from) : nullptr;
        step.toStrides = command.to.strides;
        step.fromStrides = command.from.strides;
        step.bytes = command.bytes;
        step.byte = command.byte;
      }
      steps.push_back(std::move(step));
    }
    return steps;
  }

  void launch(Step &step, uint32_t entry) {
    struct Context {
      CpuProgram *self;
      Step *step;
    } context{this, &step};
    auto body = [](void *opaque, int64_t first, int64_t last, unsigned worker) {
      auto *context = static_cast<Context *>(opaque);
      Step &step = *context->step;
      step.function(step.buffers.data(), step.sizes.data(), first, last,
                    context->self->scratch[worker].data());
    };
    bool alone = pool->size() == 1 || step.work == 1 ||
                 (step.secondsPerItem > 0 &&
                  step.secondsPerItem * double(step.work) < shareSeconds);
    auto begin = Recorder::Clock::now();
    if (alone)
      body(&context, 0, step.work, 0);
    else
      pool->parallelFor(step.work, body, &context);
    double seconds =
        std::chrono::duration<double>(Recorder::Clock::now() - begin).count();
    // A launch on all threads bounds the cost from above; the least ever seen
    // is the one without cold caches and other processes.
    double cost = seconds * (alone ? 1 : pool->size()) / double(step.work);
    if (step.secondsPerItem == 0 || cost < step.secondsPerItem)
      step.secondsPerItem = cost;
    KernelCounters &counter = counts[step.kernel];
    ++counter.calls;
    ++counter.timedCalls;
    counter.seconds += seconds;
    counter.bytes += step.bytes;
    counter.flops += step.flops;
    if (recorder)
      recorder->kernel(step.kernel, &artifact->manifest.entries[entry].name,
                       callNumber, recorder->timeOf(begin), seconds, step.bytes,
                       step.flops);
  }

  std::shared_ptr<const Artifact> artifact;
  std::shared_ptr<ThreadPool> pool;
  SharedObject code;
  MemoryPlan plan;
  std::vector<KernelFunction> functions;
  std::vector<KernelCounters> counts;
  Recorder *recorder = nullptr;
  uint64_t callNumber = 0;
  std::vector<Block> slabs, constants, inputs, results, scratch;
  Block arena;
  std::vector<std::vector<Step>> entries;
};

} // namespace

std::unique_ptr<Program>
makeCpuProgram(std::shared_ptr<const Artifact> artifact,
               std::shared_ptr<ThreadPool> pool) {
  return std::make_unique<CpuProgram>(std::move(artifact), std::move(pool));
}

} // namespace tdsrt
