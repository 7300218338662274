//===- matmul.cpp - f32 matrix products next to OpenBLAS -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread each, in one run, alternating: the best of several rounds counts.
// The exit code is 1 where the square product of 512 stays below half of
// OpenBLAS.
//
// OpenBLAS of Debian does not recognise every processor; without
// OPENBLAS_CORETYPE this program sets the one that fits and says so.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Target/CPU/CompileCPU.h"
#include "tdsl/Target/Common/KernelAnalysis.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

#include <cblas.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace tdsl;

namespace {

struct Shape {
  int m, n, k;
  bool transA, transB;
  const char *what;
};

const Shape shapes[] = {
    {512, 512, 512, false, false, "square"},
    {1024, 1024, 1024, false, false, "square"},
    {64, 256, 784, false, false, "x @ w"},
    {784, 256, 64, true, false, "xT @ dy"},
    {64, 784, 256, false, true, "dy @ wT"},
    {64, 10, 256, false, false, "narrow"},
    {256, 10, 64, true, false, "narrow, transposed"},
    {64, 256, 10, false, true, "short sums"},
    {1, 1024, 1024, false, false, "one row"},
    {1, 1024, 1024, false, true, "one row, transposed"},
};

/// What the first shape has to reach.
constexpr double leastRatio = 0.5;

using Kernel = void (*)(void *const *, const int64_t *, int64_t, int64_t,
                        void *);

/// Processor time of this thread: other programs do not count.
double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

/// A module with one kernel for each shape.
std::string program() {
  std::string text;
  unsigned number = 0;
  for (const Shape &s : shapes) {
    auto matrix = [](int rows, int columns, bool transposed) {
      if (transposed)
        std::swap(rows, columns);
      return llvm::formatv("tensor<{0}x{1}xf32>", rows, columns).str();
    };
    text += llvm::formatv(
        "func.func private @k{0}(%x: {1}, %y: {2}) -> {3} {{\n"
        "  %0 = tds.kernel \"contract\" (%x, %y) : ({1}, {2}) -> {3} {{\n"
        "  ^bb0(%p: {1}, %q: {2}):\n"
        "    %c = tds.contract %p{4}, %q{5} to [0, 1] : {1}, {2} to {3}\n"
        "    tds.yield %c : {3}\n  }\n  return %0 : {3}\n}\n",
        number++, matrix(s.m, s.k, s.transA), matrix(s.k, s.n, s.transB),
        matrix(s.m, s.n, false), s.transA ? "[2, 0]" : "[0, 2]",
        s.transB ? "[1, 2]" : "[2, 1]");
  }
  return text;
}

/// Seconds of one call, the best of `rounds`.
template <typename Function> double best(Function call, int repeats) {
  double begin = now();
  for (int i = 0; i < repeats; ++i)
    call();
  return (now() - begin) / repeats;
}

int run(llvm::StringRef arch) {
  mlir::DialectRegistry registry;
  registry.insert<tds::TDSDialect, mlir::func::FuncDialect>();
  cpu::registerCPUTarget(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(program(), &context);
  cpu::CPUOptions options;
  options.arch = arch.str();
  llvm::SmallVector<char> object;
  double begin = now();
  if (!module || failed(cpu::compileCPU(*module, options, "{}", object)))
    return 1;
  std::printf("%s: %zu kernels compiled in %.2f s, %zu bytes\n", arch.data(),
              std::size(shapes), now() - begin, object.size());
  int file = memfd_create("matmul", 0);
  if (write(file, object.data(), object.size()) != ssize_t(object.size()))
    return 1;
  void *handle =
      dlopen(llvm::formatv("/proc/self/fd/{0}", file).str().c_str(), RTLD_NOW);
  if (!handle) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  llvm::SmallVector<target::OutlinedKernel> kernels;
  if (failed(target::collectKernels(*module, kernels)))
    return 1;
  std::printf("  %-22s %16s %10s %10s %7s\n", "", "m x n x k", "GFLOP/s",
              "OpenBLAS", "ratio");
  bool isFast = true;
  for (size_t number = 0; number < std::size(shapes); ++number) {
    const Shape &s = shapes[number];
    auto schedule =
        kernels[number].kernel->getAttrOfType<mlir::DictionaryAttr>("schedule");
    int64_t work = schedule.getAs<mlir::IntegerAttr>("work").getInt();
    int64_t bytes = schedule.getAs<mlir::IntegerAttr>("scratch").getInt();
    auto *kernel = reinterpret_cast<Kernel>(
        dlsym(handle, llvm::formatv("k{0}", number).str().c_str()));
    auto allocate = [](size_t count) {
      void *memory = aligned_alloc(256, (count * 4 + 255) / 256 * 256);
      float *numbers = static_cast<float *>(memory);
      for (size_t i = 0; i < count; ++i)
        numbers[i] = float(int(i * 2654435761u >> 16 & 0xff) - 128) / 64;
      return numbers;
    };
    float *a = allocate(size_t(s.m) * s.k), *b = allocate(size_t(s.k) * s.n);
    float *c = allocate(size_t(s.m) * s.n), *d = allocate(size_t(s.m) * s.n);
    float *scratch = allocate(bytes / 4 + 16);
    void *buffers[] = {a, b, c};
    auto ours = [&] { kernel(buffers, nullptr, 0, work, scratch); };
    auto theirs = [&] {
      cblas_sgemm(CblasRowMajor, s.transA ? CblasTrans : CblasNoTrans,
                  s.transB ? CblasTrans : CblasNoTrans, s.m, s.n, s.k, 1, a,
                  s.transA ? s.m : s.k, b, s.transB ? s.k : s.n, 0, d, s.n);
    };
    double flops = 2.0 * s.m * s.n * s.k;
    int repeats = std::max(1, int(2e8 / flops));
    double mine = 1e9, other = 1e9;
    for (int round = 0; round < 15; ++round) {
      mine = std::min(mine, best(ours, repeats));
      other = std::min(other, best(theirs, repeats));
    }
    double largest = 0;
    for (int i = 0; i < s.m * s.n; ++i)
      largest = std::max<double>(largest, std::fabs(c[i] - d[i]));
    if (!(largest < 0.05)) {
      std::fprintf(stderr, "the results differ by %g\n", largest);
      return 1;
    }
    std::printf("  %-22s %4d x %4d x %4d %10.1f %10.1f %7.2f\n", s.what, s.m,
                s.n, s.k, flops / mine * 1e-9, flops / other * 1e-9,
                other / mine);
    isFast &= number > 0 || other / mine >= leastRatio;
    for (float *memory : {a, b, c, d, scratch})
      std::free(memory);
  }
  if (!isFast)
    std::fprintf(stderr, "the first product is below %.2f of OpenBLAS\n",
                 leastRatio);
  return isFast ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  // OpenBLAS reads it when it is loaded: start again with it set.
  if (!std::getenv("OPENBLAS_CORETYPE")) {
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    setenv("OPENBLAS_CORETYPE",
           __builtin_cpu_supports("avx512bw") ? "SkylakeX" : "Haswell", 1);
    execv("/proc/self/exe", argv);
  }
  std::printf("OPENBLAS_CORETYPE=%s, one thread\n",
              std::getenv("OPENBLAS_CORETYPE"));
  if (argc > 1)
    return run(argv[1]);
  int result = run("x86-64-v3");
  if (__builtin_cpu_supports("avx512bw"))
    result |= run("x86-64-v4");
  return result;
}
