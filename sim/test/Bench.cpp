//===- Bench.cpp - how fast the simulator is --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the processor time that matrix products take, checks off and on: the
// time on one core, however many run. Usage: tds_sim_bench [rounds [factor]]
//
// With a factor, fails where a product takes longer than that many times what
// it should (`limit` below, for a core of its own).
//
//===----------------------------------------------------------------------===//

#include "Client.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>

using namespace simtest;

namespace {

double processorTime() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/// `limit` in ms; 0: none.
bool measure(const char *what, int rounds, double limit,
             const std::function<CUresult()> &launch) {
  double best = 1e18;
  for (int i = 0; i < rounds; ++i) {
    double start = processorTime();
    if (launch() != CUDA_SUCCESS) {
      fprintf(stderr, "%s failed\n", what);
      return false;
    }
    best = std::min(best, processorTime() - start);
  }
  printf("%-44s %9.2f ms\n", what, best);
  if (limit == 0 || best <= limit)
    return true;
  fprintf(stderr, "%s: more than %.0f ms\n", what, limit);
  return false;
}

} // namespace

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? std::max(1, atoi(argv[1])) : 5;
  const double factor = argc > 2 ? atof(argv[2]) : 0;
  Gpu gpu;
  bool ok = true;
  gpu.loadFile("sgemm.ptx");
  {
    int S = 256;
    std::vector<float> a((size_t)S * S, 0.5f);
    CUdeviceptr A = gpu.upload(a), B = gpu.upload(a), C = gpu.upload(a);
    for (const char *checks : {"0", "all"}) {
      gpu.configure("forward,lazy", 1, checks);
      std::string what = std::string("f32 256^3, checks ") + checks;
      ok &= measure(what.c_str(), rounds, 0, [&] {
        return gpu.launch("sgemm", {8, 8}, 256, 0, A, B, C, S, S, S);
      });
    }
  }
  gpu.loadFile("mmagemm.ptx");
  for (int L : {512, 1024}) {
    std::vector<unsigned short> h((size_t)L * L, 0x3f80);
    CUdeviceptr A = gpu.upload(h), B = gpu.upload(h),
                C = gpu.alloc((size_t)L * L * 4);
    unsigned blocks = (unsigned)L / 64;
    for (const char *checks : {"0", "all"}) {
      const bool checked = checks[0] == 'a';
      const double limit =
          L == 512 ? (checked ? 250 : 40) : (checked ? 0 : 400);
      gpu.configure("forward,lazy", 1, checks);
      std::string what = "bf16 " + std::to_string(L) +
                         "^3 mma.sync ldmatrix cp.async, checks " + checks;
      ok &= measure(what.c_str(), rounds, factor * limit, [&] {
        return gpu.launch("mmagemm", {blocks, blocks}, 128, 0, A, B, C, L, L,
                          L);
      });
    }
  }
  return ok ? 0 : 1;
}
