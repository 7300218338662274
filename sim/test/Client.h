//===- Client.h - a small client of the driver interface --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tests see the simulator as any program sees libcuda.so.1: dlopen(), then
// cuGetProcAddress() for everything else.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_TEST_CLIENT_H
#define TDSL_SIM_TEST_CLIENT_H

#include "tds/cudasim.h"

#include <cuda.h>

#include <cstring>
#include <string>
#include <vector>

namespace simtest {

/// The address of driver function `name`, or a failed assertion.
void *driverFunction(const char *name);
/// The address of an exported symbol that is no driver function.
void *librarySymbol(const char *name);

#define DRIVER(name) ((decltype(&name))simtest::driverFunction(#name))
#define SIM(name) ((decltype(&name))simtest::librarySymbol(#name))

/// A context of its own on device 0, so that a fault stays inside a test.
class Gpu {
public:
  struct dim3v {
    unsigned x, y, z;
    dim3v(unsigned x, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  };

  Gpu();
  ~Gpu();
  Gpu(const Gpu &) = delete;

  /// Loads PTX text; on failure module is null and log() says why.
  CUresult load(const std::string &ptx);
  CUresult loadFile(const std::string &name);
  const std::string &log() const { return jitLog; }
  CUfunction function(const char *name);

  CUdeviceptr alloc(size_t bytes);
  template <class T> CUdeviceptr upload(const std::vector<T> &v) {
    CUdeviceptr p = alloc(v.size() * sizeof(T));
    copyIn(p, v.data(), v.size() * sizeof(T));
    return p;
  }
  template <class T> std::vector<T> download(CUdeviceptr p, size_t n) {
    std::vector<T> v(n);
    copyOut(v.data(), p, n * sizeof(T));
    return v;
  }
  template <class... Args>
  CUresult launch(const char *name, dim3v grid, dim3v block, unsigned shared,
                  Args... args) {
    void *params[] = {(void *)&args..., nullptr};
    return run(name, grid, block, shared, params);
  }

  /// Reports since the last call, each as "kind@line".
  std::vector<TdsSimReport> reports();
  void configure(const char *schedule, unsigned long long seed,
                 const char *checks = nullptr);

  CUcontext context = nullptr;
  CUmodule module = nullptr;

private:
  void copyIn(CUdeviceptr p, const void *s, size_t n);
  void copyOut(void *d, CUdeviceptr p, size_t n);
  CUresult run(const char *name, dim3v grid, dim3v block, unsigned shared,
               void **params);
  std::string jitLog;
};

std::string readKernelFile(const std::string &name);

/// A reproducible sequence of numbers.
struct Random {
  unsigned long long state;
  explicit Random(unsigned long long seed) : state(seed * 2654435761u + 1) {}
  unsigned long long next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
  float unit() { return (float)(next() >> 40) * (1.f / (1 << 24)); }
};

} // namespace simtest

#endif // TDSL_SIM_TEST_CLIENT_H
