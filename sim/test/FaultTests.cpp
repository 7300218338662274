//===- FaultTests.cpp - planted bugs and their repaired twins ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernels/faults.cu, asyncfaults.cu and clusterfaults.cu hold pairs of kernels.
// The bad one must be caught with the kind named here at the marked source
// line, by at least one schedule; the good one must be clean under all of them.
// A table of bugs, the schedules that caught each, and the message is printed.
//
//===----------------------------------------------------------------------===//

#include "Client.h"

#include <gtest/gtest.h>

#include <fstream>

using namespace simtest;

namespace {

struct Bug {
  const char *name, *kind;
  CUresult code; // what the host sees, 719 where hardware would see nothing
  unsigned grid = 1;
  const char *file = "faults";
};
const Bug bugs[] = {
    {"missingBarrier", "shared-race", CUDA_ERROR_LAUNCH_FAILED},
    {"reuse", "shared-race", CUDA_ERROR_LAUNCH_FAILED},
    {"beyondGlobal", "out-of-bounds", CUDA_ERROR_ILLEGAL_ADDRESS, 5},
    {"beyondShared", "out-of-bounds", CUDA_ERROR_ILLEGAL_ADDRESS},
    {"unwrittenShared", "uninitialised-shared", CUDA_ERROR_LAUNCH_FAILED},
    {"unwrittenGlobal", "uninitialised-global", CUDA_ERROR_LAUNCH_FAILED},
    {"misaligned", "misaligned", CUDA_ERROR_MISALIGNED_ADDRESS},
    {"divergentBarrier", "barrier-divergence", CUDA_ERROR_LAUNCH_FAILED},
    {"blocksWrite", "global-race", CUDA_ERROR_LAUNCH_FAILED, 2},
    {"blocksRead", "global-race", CUDA_ERROR_LAUNCH_FAILED, 2},
    {"missingWait", "uninitialised-shared", CUDA_ERROR_LAUNCH_FAILED},
    {"stageReuse", "shared-race", CUDA_ERROR_LAUNCH_FAILED},
    {"missingSyncwarp", "shared-race", CUDA_ERROR_LAUNCH_FAILED},
    {"plainCount", "shared-race", CUDA_ERROR_LAUNCH_FAILED},
    {"missingFence", "global-race", CUDA_ERROR_LAUNCH_FAILED, 3},
    {"inactiveShuffle", "inactive-lane", CUDA_ERROR_LAUNCH_FAILED},
    {"deadlock", "deadlock", CUDA_ERROR_LAUNCH_FAILED},
    {"nullPointer", "out-of-bounds", CUDA_ERROR_ILLEGAL_ADDRESS},
    {"trap", "trap", CUDA_ERROR_LAUNCH_FAILED},
    {"endless", "step-limit", CUDA_ERROR_LAUNCH_TIMEOUT},
    {"overflow", "stack-overflow", CUDA_ERROR_HARDWARE_STACK_ERROR},
    {"copyInFlight", "async-in-flight", CUDA_ERROR_LAUNCH_FAILED},
    {"beyondLocal", "out-of-bounds", CUDA_ERROR_ILLEGAL_ADDRESS},
    {"constantWrite", "read-only", CUDA_ERROR_ILLEGAL_ADDRESS},
    {"badSourceSize", "bad-operand", CUDA_ERROR_LAUNCH_FAILED},
    {"wrongParity", "uninitialised-shared", CUDA_ERROR_LAUNCH_FAILED, 1,
     "asyncfaults"},
    {"expectTooFew", "uninitialised-shared", CUDA_ERROR_LAUNCH_FAILED, 1,
     "asyncfaults"},
    {"expectTooMany", "deadlock", CUDA_ERROR_LAUNCH_FAILED, 1, "asyncfaults"},
    {"missingRecycling", "shared-race", CUDA_ERROR_LAUNCH_FAILED, 1,
     "asyncfaults"},
    {"missingProxyFence", "missing-proxy-fence", CUDA_ERROR_LAUNCH_FAILED, 1,
     "asyncfaults"},
    {"storeInFlight", "async-in-flight", CUDA_ERROR_LAUNCH_FAILED, 1,
     "asyncfaults"},
    {"storeOverwritten", "shared-race", CUDA_ERROR_LAUNCH_FAILED, 1,
     "asyncfaults"},
    {"missingMmaWait", "register-in-flight", CUDA_ERROR_LAUNCH_FAILED, 1,
     "asyncfaults"},
    {"missingMmaFence", "missing-wgmma-fence", CUDA_ERROR_LAUNCH_FAILED, 1,
     "asyncfaults"},
    {"earlyReuse", "shared-race", CUDA_ERROR_LAUNCH_FAILED, 1, "asyncfaults"},
    {"wrongCount", "deadlock", CUDA_ERROR_LAUNCH_FAILED, 1, "asyncfaults"},
    {"earlyArrive", "shared-race", CUDA_ERROR_LAUNCH_FAILED, 1, "asyncfaults"},
    {"blockBarrierOnly", "shared-race", CUDA_ERROR_LAUNCH_FAILED, 2,
     "clusterfaults"},
    {"readBeforeBegin", "uninitialised-shared", CUDA_ERROR_LAUNCH_FAILED, 2,
     "clusterfaults"},
    {"blockEnded", "out-of-bounds", CUDA_ERROR_ILLEGAL_ADDRESS, 2,
     "clusterfaults"},
    {"barrierNotReady", "uninitialised-shared", CUDA_ERROR_LAUNCH_FAILED, 2,
     "clusterfaults"},
    {"multicastTooFew", "uninitialised-shared", CUDA_ERROR_LAUNCH_FAILED, 2,
     "clusterfaults"},
    {"neverHandedOver", "deadlock", CUDA_ERROR_LAUNCH_FAILED, 2,
     "clusterfaults"},
    {"mappedAsOwn", "out-of-bounds", CUDA_ERROR_ILLEGAL_ADDRESS, 2,
     "clusterfaults"},
};

const char *const schedules[] = {"forward,lazy", "reverse,lazy",
                                 "forward,eager", "random,mixed"};

/// The marked lines of a bug: a race shows at whichever access comes second.
std::vector<std::string> markedLines(const Bug &bug) {
  const std::string name = bug.name, file = bug.file;
  std::ifstream f(std::string(TDS_SIM_KERNELS) + "/" + file + ".cu");
  std::string line;
  std::vector<std::string> out;
  for (unsigned n = 1; std::getline(f, line); ++n) {
    size_t at = line.find("// FAULT ");
    if (at != std::string::npos && line.substr(at + 9) == name)
      out.push_back(file + ".cu:" + std::to_string(n) + ":");
  }
  return out;
}

struct Outcome {
  CUresult code;
  std::string kind, source, text, kernel;
  unsigned ptxLine = 0;
};
Outcome runOne(const Bug &bug, const char *twin, const char *schedule) {
  Gpu gpu;
  gpu.configure(schedule, 3);
  gpu.loadFile(std::string(bug.file) + ".ptx");
  int n = 1279;
  std::vector<int> x(256);
  for (int i = 0; i < 256; ++i)
    x[i] = i + 1;
  CUdeviceptr X = gpu.upload(x), Y = gpu.alloc(n * 4);
  if (strcmp(bug.name, "unwrittenGlobal"))
    EXPECT_EQ(DRIVER(cuMemsetD32)(Y, 0, n), CUDA_SUCCESS);
  std::string kernel = std::string(bug.name) + "_" + twin;
  Outcome o;
  if (!strcmp(bug.name, "beyondGlobal"))
    o.code = gpu.launch(kernel.c_str(), bug.grid, 256, 0, X, Y, n);
  else
    o.code = gpu.launch(kernel.c_str(), bug.grid, 256, 0, X, Y);
  auto reports = gpu.reports();
  if (!reports.empty()) {
    o.kind = reports[0].kind;
    o.source = reports[0].source;
    o.text = reports[0].text;
    o.kernel = reports[0].kernel;
    o.ptxLine = reports[0].line;
  }
  return o;
}

class Faults : public testing::TestWithParam<Bug> {};

TEST_P(Faults, CaughtAndTwinClean) {
  const Bug &bug = GetParam();
  std::vector<std::string> lines = markedLines(bug);
  ASSERT_FALSE(lines.empty());
  std::string caught, first, others;
  for (const char *s : schedules) {
    Outcome o = runOne(bug, "bad", s);
    bool here = false;
    for (const std::string &want : lines)
      here |= o.source.find(want) != std::string::npos;
    if (o.kind == bug.kind && here && o.code == bug.code) {
      EXPECT_EQ(o.kernel, std::string(bug.name) + "_bad");
      EXPECT_NE(o.ptxLine, 0u);
      if (caught.empty())
        first = o.text.substr(0, o.text.find('\n'));
      caught += (caught.empty() ? "" : " ") + std::string(s);
    } else {
      others += std::string(s) + ": code " + std::to_string(o.code) + " " +
                o.text + "\n";
    }
  }
  printf("  %-17s %-21s caught by: %s\n    %s\n", bug.name, bug.kind,
         caught.c_str(), first.c_str());
  EXPECT_FALSE(caught.empty())
      << "wanted " << bug.kind << " at " << lines[0] << "\n"
      << others;
  for (const char *s : schedules) {
    Outcome o = runOne(bug, "good", s);
    EXPECT_EQ(o.code, CUDA_SUCCESS) << s;
    EXPECT_EQ(o.text, "") << s;
  }
}

INSTANTIATE_TEST_SUITE_P(Planted, Faults, testing::ValuesIn(bugs),
                         [](const testing::TestParamInfo<Bug> &info) {
                           return std::string(info.param.name);
                         });

TEST(Faults, UseAfterFree) {
  Gpu gpu;
  gpu.loadFile("vadd.ptx");
  int n = 64;
  CUdeviceptr A = gpu.upload(std::vector<float>(n, 1)),
              B = gpu.upload(std::vector<float>(n, 1)), C = gpu.alloc(n * 4);
  ASSERT_EQ(DRIVER(cuMemFree)(B), CUDA_SUCCESS);
  EXPECT_EQ(gpu.launch("vadd", 1, 64, 0, A, B, C, n),
            CUDA_ERROR_ILLEGAL_ADDRESS);
  ASSERT_EQ(gpu.reports().size(), 1u);
  EXPECT_STREQ(gpu.reports()[0].kind, "out-of-bounds");
  // The error sticks to the context.
  CUdeviceptr p;
  EXPECT_EQ(DRIVER(cuMemAlloc)(&p, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
}

// A vector of three is loaded as one of four: its padding may be unwritten as
// long as nothing uses it.
TEST(Faults, PaddingOfVectors) {
  const auto kernel = [](const std::string &body) {
    return ".version 7.8\n.target sm_80\n.address_size 64\n.shared .align 16 "
           ".b8 s[64];\n.visible .entry k(.param .u64 p, .param .u64 q)\n{\n"
           ".reg .b64 %p, %q; .reg .b32 %s, %a<8>;\nld.param.u64 %p, [p]; "
           "ld.param.u64 %q, [q]; mov.u32 %s, s;\n" +
           body +
           "\nadd.u32 %a0, %a0, %a2; st.global.u32 [%q], %a0;\nret;\n}\n";
  };
  const auto run = [&](const std::string &body, const char *kind) {
    Gpu gpu;
    ASSERT_EQ(gpu.load(kernel(body)), CUDA_SUCCESS) << gpu.log();
    CUdeviceptr P = gpu.alloc(64), Q = gpu.alloc(16);
    ASSERT_EQ(DRIVER(cuMemsetD32)(P, 5, 3), CUDA_SUCCESS);
    gpu.launch("k", 1, 1, 0, P, Q);
    auto reports = gpu.reports();
    if (!kind) {
      EXPECT_TRUE(reports.empty()) << body << reports[0].text;
      EXPECT_EQ(gpu.download<int>(Q, 1)[0], 10) << body;
      return;
    }
    ASSERT_FALSE(reports.empty()) << body;
    EXPECT_STREQ(reports[0].kind, kind) << body;
  };
  const std::string fill = "st.shared.v2.u32 [%s], {5, 5}; st.shared.u32 "
                           "[%s+8], 5;\n";
  run("ld.global.v4.u32 {%a0, %a1, %a2, %a3}, [%p];", nullptr);
  run("ld.global.v4.u32 {%a0, %a1, %a2, _}, [%p];", nullptr);
  run("ld.v4.u32 {%a0, %a1, %a2, %a3}, [%p];", nullptr);
  run(fill + "ld.shared.v4.u32 {%a0, %a1, %a2, %a3}, [%s];", nullptr);
  run("ld.global.v4.u32 {%a0, %a1, %a2, %a3}, [%p]; mov.u32 %a4, %a3;",
      "uninitialised-global");
  run("ld.global.v4.u32 {%a0, %a1, %a3, %a2}, [%p];", "uninitialised-global");
  run(fill + "ld.shared.v4.u32 {%a0, %a1, %a3, %a2}, [%s];",
      "uninitialised-shared");
  run("mov.u32 %a0, 5; mov.u32 %a2, 5; ld.global.v4.u32 {%a4, %a5, %a6, %a7}, "
      "[%p];",
      "uninitialised-global");
  run("ld.global.v4.u32 {%a0, %a1, %a2, %a3}, [%p+40];", "misaligned");
  run("ld.global.v4.u32 {%a0, %a1, %a2, %a3}, [%p+64];", "out-of-bounds");
}

TEST(Faults, ChecksCanBeTurnedOff) {
  Gpu gpu;
  gpu.configure("forward", 1, "0");
  gpu.loadFile("faults.ptx");
  CUdeviceptr X = gpu.upload(std::vector<int>(256, 1)), Y = gpu.alloc(4096);
  EXPECT_EQ(gpu.launch("missingBarrier_bad", 1, 256, 0, X, Y), CUDA_SUCCESS);
  EXPECT_EQ(gpu.launch("unwrittenGlobal_bad", 1, 256, 0, X, Y), CUDA_SUCCESS);
  EXPECT_EQ(gpu.launch("blocksWrite_bad", 2, 256, 0, X, Y), CUDA_SUCCESS);
  EXPECT_EQ(gpu.reports().size(), 0u);
}

} // namespace
