//===- main.cpp - scalarmath-check -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures every function of the scalar maths library against true values and
// compares its bits on the host with those of the code it emits.
//
//===----------------------------------------------------------------------===//

#include "Accuracy.h"
#include "Bits.h"
#include "Driver.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstdio>

using namespace llvm;
using namespace tdsl::scalarmath;

static constexpr double allowedUlps = 2;

static cl::OptionCategory category("Options of scalarmath-check");

static cl::opt<uint32_t>
    stride("stride", cl::init(1),
           cl::desc("Take every Nth of the 2^32 f32 values"), cl::cat(category),
           cl::value_desc("N"));
static cl::opt<uint64_t>
    points("points", cl::init(10000000),
           cl::desc("Points for each f64 and each two-operand function"),
           cl::cat(category), cl::value_desc("N"));
static cl::opt<unsigned> threads("jobs", cl::init(2),
                                 cl::desc("Threads to use"), cl::cat(category),
                                 cl::value_desc("N"));
static cl::opt<std::string> only("function",
                                 cl::desc("Check only this function"),
                                 cl::cat(category), cl::value_desc("name"));
static cl::opt<bool> skipAccuracy("no-accuracy", cl::desc("Compare bits only"),
                                  cl::cat(category));
static cl::opt<bool> skipBits("no-bits", cl::desc("Measure accuracy only"),
                              cl::cat(category));
static cl::opt<std::string>
    ptxChip("ptx",
            cl::desc("Print the PTX of every function for a chip, as "
                     "sm_75, and end"),
            cl::cat(category), cl::value_desc("chip"));

static cl::opt<std::string>
    driver("driver",
           cl::desc("Compare with PTX run by a library with the CUDA driver's "
                    "interface, as libcuda.so.1 or the simulator's; no other "
                    "check is made"),
           cl::value_desc("file"), cl::cat(category));

static bool report(const char *name, const char *type, bool hasTwo,
                   const Worst &worst) {
  bool pass = worst.ulps <= allowedUlps;
  std::printf("%-9s %-4s %11llu points  worst %8.4f ulp at ", name, type,
              static_cast<unsigned long long>(worst.points), worst.ulps);
  if (hasTwo)
    std::printf("(%a, %a)", worst.x, worst.y);
  else
    std::printf("%a", worst.x);
  std::printf("  %s\n", pass ? "ok" : "TOO LARGE");
  if (!pass)
    std::printf("          result there: %a\n", worst.result);
  std::fflush(stdout);
  return pass;
}

static bool checkAccuracy() {
  bool pass = true;
  for (unsigned i = 0; i < numUnary; ++i) {
    Unary f = Unary(i);
    if (!only.empty() && only != nameOf(f))
      continue;
    pass &= report(nameOf(f), "f32", false, sweepF32(f, stride, threads));
    pass &= report(nameOf(f), "f64", false, sweepF64(f, points, threads));
  }
  for (unsigned i = 0; i < numBinary; ++i) {
    Binary f = Binary(i);
    if (!only.empty() && only != nameOf(f))
      continue;
    pass &= report(nameOf(f), "f32", true, sweepF32(f, points, threads));
    pass &= report(nameOf(f), "f64", true, sweepF64(f, points, threads));
  }
  return pass;
}

/// Compares every kernel on edge values and random points, and the kernels of
/// one f32 on every `step`-th value.
static bool compareWithHost(KernelRunner &runner, const std::string &where,
                            uint32_t step) {
  unsigned same = 0, different = 0;
  for (const CheckKernel &kernel : checkKernels()) {
    if (!only.empty() && kernel.name != only &&
        !StringRef(kernel.name).starts_with(only + "_"))
      continue;
    std::string text =
        compareBits(kernel, runner, std::min<uint64_t>(points, 100000));
    if (text.empty() && kernel.inputs == std::vector<Element>{Element::F32})
      text = compareAllF32(kernel, runner, step);
    if (!text.empty())
      std::printf("%s: %s\n", where.c_str(), text.c_str());
    ++(text.empty() ? same : different);
  }
  std::printf("%s: %u functions have the host's bits, %u differ\n",
              where.c_str(), same, different);
  std::fflush(stdout);
  return different == 0;
}

static bool checkBits() {
  bool pass = true;
  const std::pair<const char *, unsigned> targets[] = {
      {"x86-64", 1}, {"x86-64-v3", 1}, {"x86-64-v3", 8}, {"x86-64-v4", 16}};
  for (auto [cpu, lanes] : targets) {
    if (!hostHas(cpu)) {
      std::printf("%s: this processor cannot run it, left out\n", cpu);
      continue;
    }
    auto compiled = CompiledKernels::compile(cpu, lanes);
    if (!compiled) {
      errs() << "error: cannot compile for " << cpu << ": "
             << toString(compiled.takeError()) << "\n";
      return false;
    }
    // Without an fma instruction all values would take hours.
    uint32_t step = StringRef(cpu) == "x86-64"
                        ? std::max<uint32_t>(stride, 4099)
                        : uint32_t(stride);
    pass &= compareWithHost(**compiled,
                            std::string(cpu) + ", " + std::to_string(lanes) +
                                (lanes == 1 ? " lane" : " lanes"),
                            step);
  }
  return pass;
}

/// On a GPU, or the PTX simulator.
static bool checkDevice() {
  auto device = DeviceKernels::open(driver);
  if (!device) {
    errs() << "error: " << toString(device.takeError()) << "\n";
    return false;
  }
  return compareWithHost(
      **device, std::string(driver) + " (" + (*device)->chip().str() + ")",
      stride);
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Checks the scalar maths library: errors of at most 2 ulp, and the same "
      "bits from the host functions and from compiled code.\n");
  if (stride == 0 || threads == 0) {
    errs() << "error: --stride and --jobs take a number from 1 up\n";
    return 2;
  }
  if (!ptxChip.empty()) {
    auto ptx = compileToPtx(ptxChip);
    if (!ptx) {
      errs() << "error: " << toString(ptx.takeError()) << "\n";
      return 1;
    }
    outs() << *ptx;
    return 0;
  }
  bool pass = true;
  if (!driver.empty()) {
    pass = checkDevice();
    std::printf("%s\n", pass ? "all bits equal" : "FAILED, see above");
    return pass ? 0 : 1;
  }
  if (!skipAccuracy)
    pass &= checkAccuracy();
  if (!skipBits)
    pass &= checkBits();
  std::printf("%s\n",
              pass ? "all within 2 ulp, all bits equal" : "FAILED, see above");
  return pass ? 0 : 1;
}
