//===- Client.cpp - a small client of the driver interface ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Client.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <dlfcn.h>

namespace simtest {

static void *library() {
  static void *handle = [] {
    // Endless kernels shall end soon; two devices for the tests of several.
    setenv("TDS_SIM_MAX_STEPS", "1000000", 0);
    setenv("TDS_SIM_DEVICES", "2", 0);
    setenv("TDS_SIM_QUIET", "1", 0);
    const char *path = getenv("TDS_SIM_LIBRARY");
    void *h = dlopen(path ? path : TDS_SIM_LIBRARY_PATH, RTLD_NOW | RTLD_LOCAL);
    if (!h) {
      fprintf(stderr, "%s\n", dlerror());
      abort();
    }
    return h;
  }();
  return handle;
}

void *librarySymbol(const char *name) { return dlsym(library(), name); }

void *driverFunction(const char *name) {
  using Get = CUresult (*)(const char *, void **, int, cuuint64_t,
                           CUdriverProcAddressQueryResult *);
  static Get get = (Get)dlsym(library(), "cuGetProcAddress_v2");
  void *p = nullptr;
  CUdriverProcAddressQueryResult status;
  // The header renames some calls; the driver knows them by their base names.
  std::string base = name;
  // No newer forms than the driver has (a real one may be older).
  static int version = [] {
    auto ask = (CUresult (*)(int *))librarySymbol("cuDriverGetVersion");
    int v = 0;
    return ask && ask(&v) == CUDA_SUCCESS && v < 13000 ? v : 13000;
  }();
  CUresult r = get(base.c_str(), &p, version, 0, &status);
  if (r != CUDA_SUCCESS) {
    fprintf(stderr, "the driver has no %s\n", name);
    abort();
  }
  return p;
}

std::string readKernelFile(const std::string &name) {
  std::ifstream f(std::string(TDS_SIM_KERNELS) + "/" + name);
  std::stringstream s;
  s << f.rdbuf();
  return s.str();
}

Gpu::Gpu() {
  static CUresult init = DRIVER(cuInit)(0);
  EXPECT_EQ(init, CUDA_SUCCESS);
  // The one form of cuCtxCreate that every driver exports by name.
  auto create = (CUresult (*)(CUcontext *, unsigned, CUdevice))librarySymbol(
      "cuCtxCreate_v2");
  EXPECT_EQ(create(&context, 0, 0), CUDA_SUCCESS);
  if (auto clear = SIM(tdsSimClearReports)) // not in a real driver
    clear();
  configure("forward,lazy", 1, "all");
}
Gpu::~Gpu() { DRIVER(cuCtxDestroy)(context); }

CUresult Gpu::load(const std::string &ptx) {
  std::vector<char> error(4096);
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {error.data(), (void *)error.size()};
  module = nullptr;
  CUresult r =
      DRIVER(cuModuleLoadDataEx)(&module, ptx.c_str(), 2, options, values);
  jitLog = r == CUDA_SUCCESS ? "" : error.data();
  return r;
}
CUresult Gpu::loadFile(const std::string &name) {
  std::string text = readKernelFile(name);
  EXPECT_FALSE(text.empty()) << name;
  CUresult r = load(text);
  EXPECT_EQ(r, CUDA_SUCCESS) << name << ": " << jitLog;
  return r;
}
CUfunction Gpu::function(const char *name) {
  CUfunction f = nullptr;
  EXPECT_EQ(DRIVER(cuModuleGetFunction)(&f, module, name), CUDA_SUCCESS)
      << name;
  return f;
}
CUdeviceptr Gpu::alloc(size_t bytes) {
  CUdeviceptr p = 0;
  EXPECT_EQ(DRIVER(cuMemAlloc)(&p, bytes), CUDA_SUCCESS);
  return p;
}
void Gpu::copyIn(CUdeviceptr p, const void *s, size_t n) {
  EXPECT_EQ(DRIVER(cuMemcpyHtoD)(p, s, n), CUDA_SUCCESS);
}
void Gpu::copyOut(void *d, CUdeviceptr p, size_t n) {
  EXPECT_EQ(DRIVER(cuMemcpyDtoH)(d, p, n), CUDA_SUCCESS);
}
CUresult Gpu::run(const char *name, dim3v grid, dim3v block, unsigned shared,
                  void **params) {
  CUfunction f = function(name);
  if (!f)
    return CUDA_ERROR_NOT_FOUND;
  CUresult r =
      DRIVER(cuLaunchKernel)(f, grid.x, grid.y, grid.z, block.x, block.y,
                             block.z, shared, nullptr, params, nullptr);
  if (r != CUDA_SUCCESS)
    return r;
  return DRIVER(cuCtxSynchronize)();
}
std::vector<TdsSimReport> Gpu::reports() {
  std::vector<TdsSimReport> out;
  auto count = SIM(tdsSimReportCount);
  size_t n = count ? count() : 0;
  for (size_t i = 0; i < n; ++i) {
    TdsSimReport r;
    if (SIM(tdsSimReport)(i, &r))
      out.push_back(r);
  }
  return out;
}
void Gpu::configure(const char *schedule, unsigned long long seed,
                    const char *checks) {
  if (auto set = SIM(tdsSimConfigure))
    EXPECT_TRUE(set(schedule, seed, checks));
}

} // namespace simtest
