//===- FakeCuda.cpp - a recording CUDA driver for tests -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FakeCuda.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>

namespace toy {

FakeDriver *fake = nullptr;

static char *host(unsigned long long address) {
  return reinterpret_cast<char *>(address);
}

namespace {

/// A node as a thing to do.
struct FakeNode {
  std::function<CUresult(CUstream)> run;
};
struct FakeGraph {
  std::vector<std::unique_ptr<FakeNode>> nodes;
};

std::function<CUresult(CUstream)> copyNode(const CudaCopyNode &copy) {
  EXPECT_EQ(copy.height, 1u);
  EXPECT_EQ(copy.depth, 1u);
  return [copy](CUstream stream) {
    CudaSymbols s = fakeSymbols();
    if (copy.from.type == memoryHost)
      return s.memcpyHtoDAsync(copy.to.device, copy.from.host, copy.width,
                               stream);
    if (copy.to.type == memoryHost)
      return s.memcpyDtoHAsync(copy.to.host, copy.from.device, copy.width,
                               stream);
    return s.memcpyDtoDAsync(copy.to.device, copy.from.device, copy.width,
                             stream);
  };
}

void addGraphs(CudaSymbols &s) {
  static auto add = [](CUgraphNode *out, CUgraph graph,
                       const CUgraphNode *dependencies, size_t count,
                       std::function<CUresult(CUstream)> run) {
    auto *made = static_cast<FakeGraph *>(graph);
    // A chain: each node behind the one before.
    EXPECT_EQ(count, made->nodes.empty() ? 0u : 1u);
    if (count)
      EXPECT_EQ(dependencies[0], made->nodes.back().get());
    made->nodes.push_back(std::make_unique<FakeNode>());
    made->nodes.back()->run = std::move(run);
    *out = made->nodes.back().get();
    return 0;
  };
  s.graphCreate = [](CUgraph *out, unsigned) {
    EXPECT_GT(fake->contexts, 0);
    ++fake->graphs;
    ++fake->made;
    *out = new FakeGraph;
    return 0;
  };
  s.graphDestroy = [](CUgraph graph) {
    EXPECT_GT(fake->contexts, 0);
    --fake->graphs;
    delete static_cast<FakeGraph *>(graph);
    return 0;
  };
  s.graphAddKernel = [](CUgraphNode *out, CUgraph graph, const CUgraphNode *on,
                        size_t count, const CudaKernelNode *kernel) {
    // The driver copies the parameters: as many as the kernel has.
    auto *function = static_cast<FakeKernel *>(kernel->function);
    auto values = std::make_shared<std::vector<unsigned long long>>();
    for (unsigned i = 0; i < function->buffers + function->sizes; ++i)
      values->push_back(
          *static_cast<unsigned long long *>(kernel->parameters[i]));
    return add(out, graph, on, count,
               [node = *kernel, values](CUstream stream) {
                 std::vector<void *> pointers;
                 for (auto &value : *values)
                   pointers.push_back(&value);
                 return fakeSymbols().launchKernel(
                     node.function, node.grid[0], node.grid[1], node.grid[2],
                     node.block[0], node.block[1], node.block[2],
                     node.sharedBytes, stream, pointers.data(), nullptr);
               });
  };
  s.graphAddCopy = [](CUgraphNode *out, CUgraph graph, const CUgraphNode *on,
                      size_t count, const CudaCopyNode *copy, CUcontext) {
    return add(out, graph, on, count, copyNode(*copy));
  };
  s.graphAddFill = [](CUgraphNode *out, CUgraph graph, const CUgraphNode *on,
                      size_t count, const CudaFillNode *fill, CUcontext) {
    return add(out, graph, on, count, [node = *fill](CUstream stream) {
      return fakeSymbols().memsetD8Async(
          node.to, static_cast<unsigned char>(node.value), node.width, stream);
    });
  };
  s.graphInstantiate = [](CUgraphExec *out, CUgraph graph, unsigned long long) {
    ++fake->executables;
    ++fake->made;
    *out = graph;
    return 0;
  };
  s.graphExecDestroy = [](CUgraphExec) {
    --fake->executables;
    return 0;
  };
  s.graphExecSetCopy = [](CUgraphExec, CUgraphNode node,
                          const CudaCopyNode *copy, CUcontext) {
    fake->record("update");
    static_cast<FakeNode *>(node)->run = copyNode(*copy);
    return 0;
  };
  s.graphLaunch = [](CUgraphExec graph, CUstream stream) {
    fake->record("graph");
    for (auto &node : static_cast<FakeGraph *>(graph)->nodes)
      if (CUresult result = node->run(stream))
        return result;
    return 0;
  };
}

} // namespace

CudaSymbols fakeSymbols() {
  CudaSymbols s{};
  s.init = [](unsigned) { return fake->initResult; };
  s.driverGetVersion = [](int *out) {
    *out = fake->version;
    return 0;
  };
  s.getErrorName = [](CUresult result, const char **out) {
    *out = result == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
           : result == 218 ? "CUDA_ERROR_INVALID_PTX"
           : result == 222 ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
                           : "CUDA_ERROR_OTHER";
    return 0;
  };
  s.getErrorString = [](CUresult, const char **out) {
    *out = "words of the driver";
    return 0;
  };
  s.deviceGetCount = [](int *out) {
    *out = fake->count;
    return fake->count ? 0 : cudaErrorNoDevice;
  };
  s.deviceGet = [](CUdevice *out, int index) {
    *out = 40 + index;
    return 0;
  };
  s.deviceGetName = [](char *out, int size, CUdevice) {
    std::strncpy(out, "Fake GPU", static_cast<size_t>(size));
    return 0;
  };
  s.deviceGetAttribute = [](int *out, int which, CUdevice) {
    *out = which == attributeComputeMajor   ? fake->major
           : which == attributeComputeMinor ? fake->minor
                                            : 100 * 1024;
    return 0;
  };
  s.deviceTotalMem = [](size_t *out, CUdevice) {
    *out = fake->totalMemory;
    return 0;
  };
  s.primaryCtxRetain = [](CUcontext *out, CUdevice) {
    ++fake->retained;
    *out = fake;
    return 0;
  };
  s.primaryCtxRelease = [](CUdevice) {
    --fake->retained;
    return 0;
  };
  s.ctxPushCurrent = [](CUcontext context) {
    EXPECT_EQ(context, fake);
    ++fake->contexts;
    return 0;
  };
  s.ctxPopCurrent = [](CUcontext *) {
    --fake->contexts;
    return 0;
  };
  s.memGetInfo = [](size_t *free, size_t *total) {
    EXPECT_GT(fake->contexts, 0);
    *free = fake->freeMemory;
    *total = fake->totalMemory;
    return 0;
  };
  s.memAlloc = [](CUdeviceptr *out, size_t bytes) {
    EXPECT_GT(fake->contexts, 0);
    EXPECT_GT(bytes, 0u);
    if (fake->bytes() + bytes > fake->freeMemory)
      return cudaErrorOutOfMemory;
    auto *memory =
        static_cast<char *>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
    std::memset(memory, 0xcd, bytes);
    ++fake->made;
    fake->memory[memory] = bytes;
    fake->peakBytes = std::max(fake->peakBytes, fake->bytes());
    *out = reinterpret_cast<CUdeviceptr>(memory);
    return 0;
  };
  s.memFree = [](CUdeviceptr address) {
    EXPECT_GT(fake->contexts, 0);
    EXPECT_EQ(fake->memory.erase(host(address)), 1u);
    std::free(host(address));
    return 0;
  };
  s.memcpyHtoDAsync = [](CUdeviceptr to, const void *from, size_t bytes,
                         CUstream) {
    EXPECT_TRUE(fake->inside(to, bytes));
    std::memcpy(host(to), from, bytes);
    fake->record("HtoD " + std::to_string(bytes));
    return 0;
  };
  s.memcpyDtoHAsync = [](void *to, CUdeviceptr from, size_t bytes, CUstream) {
    std::memcpy(to, host(from), bytes);
    fake->record("DtoH " + std::to_string(bytes));
    return 0;
  };
  s.memcpyDtoDAsync = [](CUdeviceptr to, CUdeviceptr from, size_t bytes,
                         CUstream) {
    std::memcpy(host(to), host(from), bytes);
    fake->record("DtoD " + std::to_string(bytes));
    return 0;
  };
  s.memsetD8Async = [](CUdeviceptr to, unsigned char byte, size_t bytes,
                       CUstream) {
    EXPECT_TRUE(fake->inside(to, bytes));
    std::memset(host(to), byte, bytes);
    fake->record("memset " + std::to_string(bytes));
    return 0;
  };
  s.moduleLoadDataEx = [](CUmodule *out, const void *image, unsigned count,
                          int *options, void **values) {
    EXPECT_GT(fake->contexts, 0);
    if (!fake->rejectPtx.empty()) {
      for (unsigned i = 0; i < count; ++i)
        if (options[i] == jitErrorLog)
          std::strcpy(static_cast<char *>(values[i]), fake->rejectPtx.c_str());
      return 218;
    }
    fake->loadedPtx = static_cast<const char *>(image);
    ++fake->modules;
    *out = fake;
    return 0;
  };
  s.moduleUnload = [](CUmodule) {
    EXPECT_GT(fake->contexts, 0);
    --fake->modules;
    return 0;
  };
  s.moduleGetFunction = [](CUfunction *out, CUmodule, const char *name) {
    auto found = fake->kernels.find(name);
    if (found == fake->kernels.end())
      return cudaErrorNotFound;
    *out = &found->second;
    return 0;
  };
  s.moduleGetGlobal = [](CUdeviceptr *out, size_t *bytes, CUmodule,
                         const char *name) {
    EXPECT_STREQ(name, "tds_plan_sha256");
    if (fake->planHash.empty())
      return cudaErrorNotFound;
    *out = reinterpret_cast<CUdeviceptr>(fake->planHash.data());
    *bytes = fake->planHash.size();
    return 0;
  };
  s.funcSetAttribute = [](CUfunction function, int which, int value) {
    EXPECT_EQ(which, functionMaxDynamicShared);
    fake->record("shared " + static_cast<FakeKernel *>(function)->name + " " +
                 std::to_string(value));
    return 0;
  };
  s.launchKernel = [](CUfunction function, unsigned x, unsigned, unsigned,
                      unsigned blockX, unsigned, unsigned, unsigned shared,
                      CUstream stream, void **parameters, void **) {
    auto *kernel = static_cast<FakeKernel *>(function);
    EXPECT_GT(fake->contexts, 0);
    EXPECT_EQ(blockX, 64u);
    fake->sharedAtLaunch[kernel->name] = shared;
    if (fake->launchResult)
      return fake->launchResult;
    std::vector<void *> buffers;
    for (unsigned i = 0; i < kernel->buffers; ++i)
      buffers.push_back(*static_cast<void **>(parameters[i]));
    alignas(64) char scratch[64];
    int64_t noSizes = 0;
    bool hasSizes = kernel->sizes != 0;
    kernel->run(buffers.data(),
                hasSizes
                    ? static_cast<const int64_t *>(parameters[kernel->buffers])
                    : &noSizes,
                0, x, scratch);
    fake->record(
        "launch " + kernel->name + " on " +
        (stream ? std::to_string(*static_cast<int *>(stream)) : "default"));
    return 0;
  };
  s.streamCreate = [](CUstream *out, unsigned) {
    static int own = 1;
    ++fake->streams;
    ++fake->made;
    *out = &own;
    return 0;
  };
  s.streamDestroy = [](CUstream) {
    --fake->streams;
    return 0;
  };
  s.streamSynchronize = [](CUstream) { return 0; };
  s.streamWaitEvent = [](CUstream, CUevent, unsigned) {
    fake->record("wait");
    return 0;
  };
  s.eventCreate = [](CUevent *out, unsigned) {
    ++fake->events;
    ++fake->made;
    *out = fake;
    return 0;
  };
  s.eventDestroy = [](CUevent) {
    --fake->events;
    return 0;
  };
  s.eventRecord = [](CUevent, CUstream) { return 0; };
  s.eventSynchronize = [](CUevent) { return 0; };
  s.eventElapsedTime = [](float *out, CUevent, CUevent) {
    *out = 0.5f;
    return 0;
  };
  s.memHostAlloc = [](void **out, size_t bytes, unsigned) {
    EXPECT_GT(bytes, 0u);
    ++fake->made;
    *out = std::malloc(bytes);
    fake->pinned.insert(*out);
    return 0;
  };
  s.memFreeHost = [](void *memory) {
    EXPECT_EQ(fake->pinned.erase(memory), 1u);
    std::free(memory);
    return 0;
  };
  s.deviceGetPciBusId = [](char *out, int, CUdevice) {
    std::strcpy(out, "0000:65:00.0");
    return 0;
  };
  s.memAllocAsync = [](CUdeviceptr *out, size_t bytes, CUstream stream) {
    EXPECT_NE(stream, nullptr);
    return fakeSymbols().memAlloc(out, bytes);
  };
  s.memFreeAsync = [](CUdeviceptr address, CUstream stream) {
    EXPECT_GT(fake->streams, 0); // still there
    EXPECT_NE(stream, nullptr);
    return fakeSymbols().memFree(address);
  };
  addGraphs(s);
  return s;
}

void CudaFixture::SetUp() {
  fake = &driver;
  driver.library = dlopen(TOY_KERNELS, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(driver.library, nullptr);
  nlohmann::json manifest = toy::cudaManifest();
  for (const auto &kernel : manifest["kernels"]) {
    std::string name = kernel["symbol"];
    driver.kernels[name] = {name,
                            reinterpret_cast<decltype(FakeKernel::run)>(
                                dlsym(driver.library, name.c_str())),
                            kernel["buffers"].get<unsigned>(),
                            kernel["sizes"].get<unsigned>()};
  }
}
void CudaFixture::TearDown() {
  // Whatever happened, nothing is left behind.
  EXPECT_EQ(driver.contexts, 0);
  EXPECT_EQ(driver.retained, 0);
  EXPECT_EQ(driver.streams, 0);
  EXPECT_EQ(driver.events, 0);
  EXPECT_EQ(driver.modules, 0);
  EXPECT_EQ(driver.graphs, 0);
  EXPECT_EQ(driver.executables, 0);
  EXPECT_TRUE(driver.memory.empty());
  EXPECT_TRUE(driver.pinned.empty());
  dlclose(driver.library);
  fake = nullptr;
}

std::vector<float> trained(Module &module) {
  std::vector<float> x, y;
  toy::linearData(toy::batch, x, y);
  const int64_t shapeX[] = {toy::batch, toy::features}, shapeY[] = {toy::batch};
  float loss = 0;
  tds_tensor inputs[] = {{TDS_F32, 2, shapeX, x.data()},
                         {TDS_F32, 1, shapeY, y.data()},
                         {TDS_F32, 0, nullptr, nullptr}};
  tds_tensor results[] = {{TDS_F32, 0, nullptr, &loss}};
  for (int i = 0; i < 10; ++i)
    module.call(1, inputs, 3, results, 1);
  std::vector<float> w(toy::features);
  module.read(module.variable("net.w"), w.data());
  EXPECT_GT(loss, 0);
  return w;
}

} // namespace toy
