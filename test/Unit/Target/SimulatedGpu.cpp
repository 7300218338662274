//===- SimulatedGpu.cpp - runs kernels' PTX in the simulator -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Talks to the simulator as to libcuda, through the few driver calls that one
// launch needs. The simulator's own checks (bounds, races, uninitialised
// memory) are on: a fault fails the call.
//
//===----------------------------------------------------------------------===//

#include "SimulatedGpu.h"

#include "tdsl/Target/Common/KernelAnalysis.h"
#include "tdsl/Target/GPU/GPUTarget.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <dlfcn.h>

using namespace tdsl;
using namespace mlir;
using reference::Tensor;

namespace {
/// The driver functions that are needed, with plain types for its handles.
struct Driver {
  using Pointer = unsigned long long;
  int (*init)(unsigned);
  int (*deviceGet)(int *, int);
  int (*contextRetain)(void **, int);
  int (*contextSet)(void *);
  int (*moduleLoad)(void **, const void *);
  int (*moduleUnload)(void *);
  int (*getFunction)(void **, void *, const char *);
  int (*allocate)(Pointer *, size_t);
  int (*release)(Pointer);
  int (*toDevice)(Pointer, const void *, size_t);
  int (*toHost)(void *, Pointer, size_t);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned,
                unsigned, unsigned, void *, void **, void **);
  int (*synchronize)();
  bool good = false;

  Driver() {
    void *library =
        dlopen(TDSL_BUILD_DIR "/lib/libtds_cudasim.so", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return;
    auto find = [&](auto &function, const char *name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(
          dlsym(library, name));
      return function != nullptr;
    };
    good = find(init, "cuInit") && find(deviceGet, "cuDeviceGet") &&
           find(contextRetain, "cuDevicePrimaryCtxRetain") &&
           find(contextSet, "cuCtxSetCurrent") &&
           find(moduleLoad, "cuModuleLoadData") &&
           find(moduleUnload, "cuModuleUnload") &&
           find(getFunction, "cuModuleGetFunction") &&
           find(allocate, "cuMemAlloc_v2") && find(release, "cuMemFree_v2") &&
           find(toDevice, "cuMemcpyHtoD_v2") &&
           find(toHost, "cuMemcpyDtoH_v2") && find(launch, "cuLaunchKernel") &&
           find(synchronize, "cuCtxSynchronize");
    int device = 0;
    void *context = nullptr;
    good = good && init(0) == 0 && deviceGet(&device, 0) == 0 &&
           contextRetain(&context, device) == 0 && contextSet(context) == 0;
  }
};
} // namespace

std::optional<std::vector<Tensor>>
test::runInSimulator(llvm::StringRef text, llvm::StringRef name,
                     llvm::ArrayRef<Tensor> arguments) {
  static Driver driver;
  if (!driver.good)
    return std::nullopt;
  DialectRegistry registry;
  registry.insert<tds::TDSDialect, func::FuncDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  auto module = parseSourceString<ModuleOp>(text, &context);
  auto kernel =
      target::OutlinedKernel::get(module->lookupSymbol<func::FuncOp>(name));
  if (failed(kernel)) {
    ADD_FAILURE() << name.str() << " is no kernel";
    return std::nullopt;
  }
  kernel->kernel->setAttr("schedule", gpu::selectSchedule(kernel->kernel));
  auto schedule = kernel->kernel->getAttrOfType<DictionaryAttr>("schedule");
  auto ptx = gpu::compileKernels(*module, *gpu::lookupArch("sm_80"));
  if (failed(ptx)) {
    ADD_FAILURE() << "no PTX\n" << text.str();
    return std::nullopt;
  }
  auto check = [&](int status, const char *what) {
    if (status != 0)
      ADD_FAILURE() << what << " fails with CUDA error " << status << "\n"
                    << text.str();
    return status == 0;
  };
  void *loaded = nullptr, *function = nullptr;
  if (!check(driver.moduleLoad(&loaded, ptx->c_str()), "loading the PTX") ||
      !check(driver.getFunction(&function, loaded, name.str().c_str()),
             "finding the kernel"))
    return std::nullopt;

  // One buffer each; inputs are filled, outputs are not.
  std::vector<Driver::Pointer> buffers(kernel->numBuffers, 0);
  auto place = [&](unsigned buffer, size_t bytes) {
    if (!buffers[buffer])
      check(driver.allocate(&buffers[buffer], std::max<size_t>(bytes, 16)),
            "allocating");
    return buffers[buffer];
  };
  for (auto [i, argument] : llvm::enumerate(arguments))
    if (argument.numBytes())
      check(driver.toDevice(place(i, argument.numBytes()), argument.data(),
                            argument.numBytes()),
            "copying in");
    else
      place(i, 0);
  std::vector<Tensor> outputs;
  for (auto [type, buffer] :
       llvm::zip(kernel->kernel.getResultTypes(), kernel->outputBuffers)) {
    auto tensorType = cast<RankedTensorType>(type);
    reference::ElementKind kind = reference::ElementKind::F32;
    llvm::StringRef element = tds::getElementName(tensorType.getElementType());
    for (int k = 0; k <= int(reference::ElementKind::F64); ++k)
      if (reference::nameOf(reference::ElementKind(k)) == element)
        kind = reference::ElementKind(k);
    outputs.emplace_back(kind, tensorType.getShape());
    place(buffer, outputs.back().numBytes());
  }

  std::vector<void *> parameters;
  for (Driver::Pointer &buffer : buffers)
    parameters.push_back(&buffer);
  auto grid = cast<DenseI64ArrayAttr>(schedule.get("grid")).asArrayRef();
  auto block = cast<DenseI64ArrayAttr>(schedule.get("block")).asArrayRef();
  bool ran = check(driver.launch(function, grid[0], grid[1], grid[2], block[0],
                                 block[1], block[2], 0, nullptr,
                                 parameters.data(), nullptr),
                   "the launch") &&
             check(driver.synchronize(), "the kernel");
  for (auto [output, buffer] : llvm::zip(outputs, kernel->outputBuffers))
    if (ran && output.numBytes())
      check(driver.toHost(output.data(), buffers[buffer], output.numBytes()),
            "copying out");
  for (Driver::Pointer buffer : buffers)
    if (ran)
      check(driver.release(buffer), "freeing");
  if (ran)
    check(driver.moduleUnload(loaded), "unloading");
  return ran ? std::optional(outputs) : std::nullopt;
}
