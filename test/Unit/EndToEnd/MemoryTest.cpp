//===- MemoryTest.cpp - memory is what the artefact promised --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each example is loaded and called while every allocation of its storage is
// counted: on the CPU by this program's own posix_memalign, on the simulated
// GPU by a driver of its own (MeasuringDriver.cpp). The sum is exactly what the
// manifest promises, and calls add nothing. The arena of each example at its
// full size is at most a tenth above what lives at once.
//
//===----------------------------------------------------------------------===//

#include "CompiledProgram.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>

using namespace tdsl;
using namespace tdsl::test;
using llvm::StringRef;

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TDSL_NO_INTERPOSITION
#endif
#endif

static std::atomic<size_t> cpuBytes{0};

#ifndef TDSL_NO_INTERPOSITION
extern "C" int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  cpuBytes += bytes;
  *memory =
      aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  return *memory ? 0 : ENOMEM;
}
#endif

namespace {

/// The options behind "// check:" in an example: small sizes.
std::string getSmallSizes(const std::string &text) {
  StringRef rest = StringRef(text).split("// check:").second;
  return rest.split('\n').first.trim().str();
}

/// Calls every entry with inputs of zero bytes.
void callEntries(tds_module *module, unsigned times) {
  for (size_t i = 0; i < tds_module_entry_count(module); ++i) {
    tds_entry *entry = nullptr;
    ASSERT_EQ(tds_module_entry_at(module, i, &entry), TDS_OK);
    std::vector<Tensor> tensors;
    std::vector<tds_tensor> inputs, results;
    auto add = [&](const tds_port_info &port, std::vector<tds_tensor> &to) {
      tensors.emplace_back(static_cast<reference::ElementKind>(port.type),
                           llvm::ArrayRef(port.shape, port.rank));
      to.push_back({port.type, port.rank, port.shape, tensors.back().data()});
    };
    tensors.reserve(tds_entry_input_count(entry) +
                    tds_entry_result_count(entry));
    for (size_t k = 0; k < tds_entry_input_count(entry); ++k) {
      tds_port_info port;
      ASSERT_EQ(tds_entry_input(entry, k, &port), TDS_OK);
      add(port, inputs);
    }
    for (size_t k = 0; k < tds_entry_result_count(entry); ++k) {
      tds_port_info port;
      ASSERT_EQ(tds_entry_result(entry, k, &port), TDS_OK);
      add(port, results);
    }
    for (unsigned call = 0; call < times; ++call)
      EXPECT_EQ(tds_entry_call(entry, inputs.data(), inputs.size(),
                               results.data(), results.size()),
                TDS_OK)
          << tds_last_error();
    tds_entry_release(entry);
  }
}

/// Loads an artefact on a device and calls it; gives what it promises.
size_t runAndGetPromise(const std::string &artefact, const char *device,
                        unsigned calls) {
  tds_device *handle = nullptr;
  tds_device_options deviceOptions{2};
  EXPECT_EQ(tds_device_open(device, &deviceOptions, &handle), TDS_OK)
      << tds_last_error();
  tds_module *module = nullptr;
  tds_module_options options{};
  if (tds_module_load(artefact.c_str(), handle, &options, &module) != TDS_OK) {
    ADD_FAILURE() << tds_last_error();
    return 0;
  }
  tds_device_release(handle);
  callEntries(module, calls);
  tds_memory_info memory;
  EXPECT_EQ(tds_module_memory(module, &memory), TDS_OK);
  tds_module_release(module);
  return memory.slabs + memory.constants + memory.arena + memory.slots +
         memory.scratch;
}

struct Example {
  const char *file;
  /// Whether the simulator runs every entry in a second.
  bool isFast;
  const char *flags = "";
};

void PrintTo(const Example &example, std::ostream *os) { *os << example.file; }

class Memory : public ::testing::TestWithParam<Example> {
protected:
  std::string getFile() const {
    return std::string("examples/") + GetParam().file;
  }
  std::string compile(const char *extension) {
    static int number = 0;
    std::string output = ::testing::TempDir() + "/tdsl-memory-" +
                         std::to_string(getpid()) + "-" +
                         std::to_string(number++) + extension;
    auto [code, errors] = runTdslc(TDSL_SOURCE_DIR "/" + getFile() + " " +
                                   getSmallSizes(readSource(getFile())) + " " +
                                   GetParam().flags + " -o " + output);
    EXPECT_EQ(code, 0) << errors;
    return output;
  }
};

TEST_P(Memory, MeasuredOnTheCPU) {
#ifdef TDSL_NO_INTERPOSITION
  GTEST_SKIP() << "the sanitizer has an allocator of its own";
#endif
  std::string artefact = compile(".so");
  size_t before = cpuBytes;
  size_t promised = runAndGetPromise(artefact, "cpu", 3);
  EXPECT_EQ(cpuBytes - before, promised);
  EXPECT_GT(promised, 0u);
  llvm::sys::fs::remove(artefact);
}

TEST_P(Memory, MeasuredOnTheSimulatedGPU) {
#ifndef TDSL_MEASURING_DRIVER
  GTEST_SKIP() << "the build has no simulator";
#else
  setenv("TDS_CUDA_DRIVER", TDSL_MEASURING_DRIVER, 1);
  void *driver = dlopen(TDSL_MEASURING_DRIVER, RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(driver) << dlerror();
  auto getBytes =
      reinterpret_cast<size_t (*)()>(dlsym(driver, "tdsMeasuredBytes"));
  ASSERT_TRUE(getBytes);
  std::string artefact = compile(".ptx");
  size_t before = getBytes();
  size_t promised =
      runAndGetPromise(artefact, "cuda", GetParam().isFast ? 3 : 0);
  EXPECT_EQ(getBytes() - before, promised);
  EXPECT_GT(promised, 0u);
  llvm::sys::fs::remove(artefact);
#endif
}

TEST_P(Memory, ArenaIsNearTheLeastPossible) {
  for (const char *target : {"cpu", "sm_80"}) {
    std::string plan =
        emitStage(readSource(getFile()), "plan",
                  std::string("--targets=") + target + " " + GetParam().flags);
    unsigned numEntries = 0;
    for (StringRef line : llvm::split(plan, '\n')) {
      line = line.trim();
      if (!line.consume_front("plan.entry @"))
        continue;
      ++numEntries;
      StringRef name = line.take_until([](char c) { return c == ' '; });
      int64_t arena = -1, live = -1;
      ASSERT_FALSE(line.split(" arena ").second.split(' ').first.getAsInteger(
          10, arena));
      ASSERT_FALSE(line.split(" live = ")
                       .second.split(' ')
                       .first.getAsInteger(10, live));
      EXPECT_GE(arena, live);
      EXPECT_LE(arena, 1.10 * live) << name.str() << " on " << target;
    }
    EXPECT_GE(numEntries, 2u);
  }
}

} // namespace

INSTANTIATE_TEST_SUITE_P(
    Examples, Memory,
    ::testing::Values(
        Example{"01-regression/regression.tds", true},
        Example{"02-mlp-fashion/mlp.tds", true},
        Example{"03-digits/digits.tds", true},
        Example{"03-digits/finetune.tds", true},
        Example{"04-lenet-fashion/lenet.tds", false},
        Example{"05-resnet/resnet.tds", false},
        Example{"06-chargpt/chargpt.tds", false},
        Example{"07-vae/vae.tds", true}, Example{"08-lstm/lstm.tds", false},
        Example{"09-gan/gan.tds", true}, Example{"10-newton/newton.tds", true},
        Example{"11-gpt2/gpt2.tds", false},
        Example{"06-chargpt/chargpt.tds", false, "--memory-budget=85%"},
        Example{"04-lenet-fashion/lenet.tds", false, "--amp=f16 --accum=2"}),
    [](const auto &info) {
      StringRef name = StringRef(info.param.file).split('/').second;
      std::string all = name.split('.').first.str() + info.param.flags;
      llvm::erase_if(all, [](char c) { return !llvm::isAlnum(c); });
      return all;
    });
