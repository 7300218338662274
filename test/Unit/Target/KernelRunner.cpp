//===- KernelRunner.cpp - compiles and runs kernels in tests -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelRunner.h"

#include "SimulatedGpu.h"

#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace tdsl;
using namespace tdsl::test;
using namespace mlir;

using KernelFunction = void (*)(void *const *, const int64_t *, int64_t,
                                int64_t, void *);

bool test::canRun(llvm::StringRef arch) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (arch == "x86-64-v4")
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq");
  if (arch == "x86-64-v3")
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return true;
#else
  return false;
#endif
}

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registry.insert<tds::TDSDialect, func::FuncDialect>();
  cpu::registerCPUTarget(registry);
  return registry;
}

KernelRunner::KernelRunner(llvm::StringRef text, llvm::StringRef arch)
    : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
  module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << "the test's module does not parse\n" << text.str();
    return;
  }
  cpu::CPUOptions options;
  options.arch = arch.str();
  if (const char *temps = std::getenv("TDSL_TEST_SAVE_TEMPS"))
    options.saveTemps = temps;
  SmallVector<char> object;
  if (failed(cpu::compileCPU(*module, options, "{\"test\": true}", object))) {
    ADD_FAILURE() << "does not compile\n" << text.str();
    return;
  }
  int file = memfd_create("kernels", MFD_CLOEXEC);
  EXPECT_EQ(write(file, object.data(), object.size()), ssize_t(object.size()));
  std::string path = "/proc/self/fd/" + std::to_string(file);
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_TRUE(handle) << dlerror();
  close(file);
}

bool KernelRunner::refuseWideVectors() {
  // The answer to the question in lib/Target/CPU/WideVectors.cpp.
  auto *answer = static_cast<uint8_t *>(dlsym(handle, "tds_wide_vectors"));
  if (answer)
    *answer = 1;
  return answer;
}

KernelRunner::~KernelRunner() {
  if (handle)
    dlclose(handle);
}

target::OutlinedKernel KernelRunner::find(llvm::StringRef name) {
  auto function = module->lookupSymbol<func::FuncOp>(name);
  FailureOr<target::OutlinedKernel> kernel =
      target::OutlinedKernel::get(function);
  EXPECT_TRUE(succeeded(kernel));
  return *kernel;
}

DictionaryAttr KernelRunner::scheduleOf(llvm::StringRef name) {
  return find(name).kernel->getAttrOfType<DictionaryAttr>("schedule");
}

int64_t KernelRunner::workOf(llvm::StringRef name) {
  return scheduleOf(name).getAs<IntegerAttr>("work").getInt();
}

static ElementKind kindOf(Type element) {
  if (element.isInteger(1))
    return ElementKind::Bool;
  if (element.isUnsignedInteger(8))
    return ElementKind::U8;
  if (element.isInteger(8))
    return ElementKind::I8;
  if (element.isInteger(32))
    return ElementKind::I32;
  if (element.isInteger(64))
    return ElementKind::I64;
  if (element.isF16())
    return ElementKind::F16;
  if (element.isBF16())
    return ElementKind::BF16;
  return element.isF32() ? ElementKind::F32 : ElementKind::F64;
}

static Tensor emptyTensor(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return Tensor(kindOf(tensor.getElementType()), tensor.getShape());
}

namespace {
/// Memory at the alignment that kernels may count on, with a guard behind it.
class Guarded {
public:
  explicit Guarded(size_t bytes) : bytes(bytes), memory(bytes + 192) {
    std::memset(memory.data(), guardByte, memory.size());
    begin = memory.data();
    // 16 bytes and no more.
    while (reinterpret_cast<uintptr_t>(begin) % 64 != 16)
      ++begin;
  }
  uint8_t *data() { return begin; }
  void alignFully() {
    while (reinterpret_cast<uintptr_t>(begin) % 64 != 0)
      ++begin;
  }
  bool isWhole() const {
    for (const uint8_t *p = memory.data(); p < begin; ++p)
      if (*p != guardByte)
        return false;
    for (const uint8_t *p = begin + bytes; p < memory.data() + memory.size();
         ++p)
      if (*p != guardByte)
        return false;
    return true;
  }

private:
  static constexpr uint8_t guardByte = 0xa5;
  size_t bytes;
  std::vector<uint8_t> memory;
  uint8_t *begin;
};
} // namespace

std::vector<Tensor> KernelRunner::run(llvm::StringRef name,
                                      llvm::ArrayRef<Tensor> arguments,
                                      llvm::ArrayRef<int64_t> cuts) {
  target::OutlinedKernel kernel = find(name);
  auto *function =
      reinterpret_cast<KernelFunction>(dlsym(handle, name.str().c_str()));
  EXPECT_TRUE(function) << "no symbol " << name.str();
  std::vector<std::unique_ptr<Guarded>> buffers;
  for (const Tensor &argument : arguments) {
    buffers.push_back(std::make_unique<Guarded>(argument.numBytes()));
    // An empty tensor has no memory to copy.
    if (argument.numBytes())
      std::memcpy(buffers.back()->data(), argument.data(), argument.numBytes());
  }
  std::vector<Tensor> results;
  for (Type type : kernel.kernel.getOutputs().getTypes())
    results.push_back(emptyTensor(type));
  for (size_t i = 0; i < results.size(); ++i)
    if (kernel.outputBuffers[i] >= arguments.size())
      buffers.push_back(std::make_unique<Guarded>(results[i].numBytes()));
  std::vector<void *> pointers;
  for (auto &buffer : buffers)
    pointers.push_back(buffer->data());
  Guarded scratch(scheduleOf(name).getAs<IntegerAttr>("scratch").getInt());
  scratch.alignFully();
  std::vector<int64_t> bounds{0};
  bounds.insert(bounds.end(), cuts.begin(), cuts.end());
  bounds.push_back(workOf(name));
  // Backwards: pieces may run in any order.
  for (size_t i = bounds.size() - 1; i-- > 0;)
    function(pointers.data(), nullptr, bounds[i], bounds[i + 1],
             scratch.data());
  for (size_t i = 0; i < buffers.size(); ++i)
    EXPECT_TRUE(buffers[i]->isWhole()) << "writes outside buffer " << i;
  EXPECT_TRUE(scratch.isWhole()) << "writes outside its scratch";
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].numBytes())
      std::memcpy(results[i].data(), buffers[kernel.outputBuffers[i]]->data(),
                  results[i].numBytes());
  return results;
}

std::vector<Tensor> KernelRunner::expected(llvm::StringRef name,
                                           llvm::ArrayRef<Tensor> arguments) {
  auto results = reference::runEntry(*module, name, arguments);
  if (!results) {
    ADD_FAILURE() << llvm::toString(results.takeError());
    return {};
  }
  return *results;
}

std::vector<Tensor> KernelRunner::randomArguments(llvm::StringRef name,
                                                  unsigned seed, bool hostile) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<Tensor> arguments;
  auto function = module->lookupSymbol<func::FuncOp>(name);
  for (Type type : function.getArgumentTypes()) {
    Tensor tensor = emptyTensor(type);
    for (int64_t i = 0; i < tensor.numElements(); ++i) {
      if (reference::isFloat(tensor.kind())) {
        double value = normal(random);
        unsigned special = random() % 16;
        if (hostile && special < 6) {
          const double values[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e30};
          value = values[special];
        }
        tensor.set(i, value);
      } else if (hostile) {
        const int64_t values[] = {0, -1, 1, INT64_MIN, INT32_MIN, 127, -128};
        unsigned special = random() % 14;
        int64_t value = int64_t(random()) - (int64_t(1) << 31);
        tensor.set(i, special < 7 ? values[special] : value);
      } else {
        tensor.set(i, int64_t(random() % 23) - int64_t(8));
      }
    }
    arguments.push_back(std::move(tensor));
  }
  return arguments;
}

static void compare(const std::vector<Tensor> &actual,
                    const std::vector<Tensor> &expected, double tolerance,
                    llvm::StringRef what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t r = 0; r < actual.size(); ++r) {
    if (reference::sameBits(actual[r], expected[r]))
      continue;
    double largest = 0;
    for (int64_t i = 0; i < expected[r].numElements(); ++i)
      if (std::isfinite(expected[r].getDouble(i)))
        largest = std::max(largest, std::fabs(expected[r].getDouble(i)));
    for (int64_t i = 0; i < expected[r].numElements(); ++i) {
      double got = actual[r].getDouble(i), want = expected[r].getDouble(i);
      bool isSame = got == want || (std::isnan(got) && std::isnan(want));
      if (tolerance > 0 && !isSame)
        isSame = std::fabs(got - want) <= tolerance * (largest + 1e-30);
      else if (tolerance == 0 && isSame)
        isSame = std::signbit(got) == std::signbit(want) || std::isnan(got);
      ASSERT_TRUE(isSame) << what.str() << ": result " << r << ", element " << i
                          << " is " << got << ", expected " << want;
    }
  }
}

void test::checkKernel(llvm::StringRef text, double tolerance, bool hostile) {
  std::vector<std::vector<Tensor>> ofLevels;
  for (llvm::StringRef arch : {"x86-64-v3", "x86-64-v4"}) {
    if (!canRun(arch))
      continue;
    SCOPED_TRACE(arch.str());
    KernelRunner runner(text, arch);
    if (!runner.isLoaded())
      return;
    std::vector<Tensor> arguments = runner.randomArguments("k", 7, hostile);
    std::vector<Tensor> whole = runner.run("k", arguments);
    std::vector<Tensor> expected = runner.expected("k", arguments);
    compare(whole, expected, tolerance, text);
    if (testing::Test::HasFatalFailure())
      return;
    if (ofLevels.empty())
      if (auto simulated = runInSimulator(text, "k", arguments))
        compare(*simulated, expected, tolerance, "PTX of\n" + text.str());
    int64_t work = runner.workOf("k");
    std::mt19937 random(3);
    for (int round = 0; round < 3 && work > 1; ++round) {
      std::vector<int64_t> cuts;
      for (int i = 0; i <= round; ++i)
        cuts.push_back(random() % (work + 1));
      std::sort(cuts.begin(), cuts.end());
      std::vector<Tensor> pieces = runner.run("k", arguments, cuts);
      for (size_t r = 0; r < whole.size(); ++r)
        EXPECT_TRUE(whole[r] == pieces[r]) << "depends on how the work is cut\n"
                                           << text.str();
    }
    if (arch == "x86-64-v3" && runner.refuseWideVectors()) {
      std::vector<Tensor> narrow = runner.run("k", arguments);
      for (size_t r = 0; r < whole.size(); ++r)
        EXPECT_TRUE(whole[r] == narrow[r])
            << "depends on the width of registers\n"
            << text.str();
    }
    ofLevels.push_back(std::move(whole));
  }
  if (ofLevels.size() == 2)
    for (size_t r = 0; r < ofLevels[0].size(); ++r)
      EXPECT_TRUE(reference::sameBits(ofLevels[0][r], ofLevels[1][r]))
          << "x86-64-v3 and v4 differ\n"
          << text.str();
}
