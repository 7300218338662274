//===- DriverTests.cpp - streams, events, graphs, devices -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Client.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include <csetjmp>
#include <csignal>

using namespace simtest;

namespace {

const char *const text = R"(
.version 7.0
.target sm_70
.address_size 64
.global .align 4 .u32 counter = 5;
.visible .entry addTo(.param .u64 p, .param .u32 v, .param .u32 n)
{
  .reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .pred %p;
  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [v]; ld.param.u32 %r2, [n];
  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
  mad.lo.u32 %r6, %r3, %r4, %r5;
  setp.ge.u32 %p, %r6, %r2;
  @%p ret;
  mul.wide.u32 %rd2, %r6, 4; add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r7, [%rd3]; add.u32 %r7, %r7, %r1; st.global.u32 [%rd3], %r7;
  ret;
}
)";

CUresult add(CUfunction f, CUstream s, CUdeviceptr p, unsigned v, unsigned n) {
  void *params[] = {&p, &v, &n};
  return DRIVER(cuLaunchKernel)(f, (n + 63) / 64, 1, 1, 64, 1, 1, 0, s, params,
                                nullptr);
}

TEST(Driver, DevicesAndAttributes) {
  Gpu gpu;
  int n = 0, v = 0;
  ASSERT_EQ(DRIVER(cuDeviceGetCount)(&n), CUDA_SUCCESS);
  EXPECT_EQ(n, 2);
  ASSERT_EQ(DRIVER(cuDeviceGetAttribute)(
                &v, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(v, 9);
  ASSERT_EQ(DRIVER(cuDriverGetVersion)(&v), CUDA_SUCCESS);
  EXPECT_EQ(v, 13000);
  EXPECT_EQ(DRIVER(cuDeviceGetAttribute)(&v, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 7),
            CUDA_ERROR_INVALID_DEVICE);
  char name[64];
  ASSERT_EQ(DRIVER(cuDeviceGetName)(name, 64, 1), CUDA_SUCCESS);
  EXPECT_STREQ(name, "TDS simulated sm_90a");
}

TEST(Driver, MemoryInfoAndErrors) {
  Gpu gpu;
  size_t before, after, total;
  ASSERT_EQ(DRIVER(cuMemGetInfo)(&before, &total), CUDA_SUCCESS);
  CUdeviceptr p = gpu.alloc(1 << 20);
  ASSERT_EQ(DRIVER(cuMemGetInfo)(&after, &total), CUDA_SUCCESS);
  EXPECT_GE(before - after, 1u << 20);
  EXPECT_EQ(DRIVER(cuMemFree)(p + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DRIVER(cuMemFree)(p), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemFree)(p), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr q;
  EXPECT_EQ(DRIVER(cuMemAlloc)(&q, total * 2), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(DRIVER(cuMemAlloc)(&q, 0), CUDA_ERROR_INVALID_VALUE);
  char byte = 0;
  EXPECT_EQ(DRIVER(cuMemcpyHtoD)(p, &byte, 1), CUDA_ERROR_INVALID_VALUE);
  const char *s = nullptr;
  EXPECT_EQ(DRIVER(cuGetErrorName)(CUDA_ERROR_ILLEGAL_ADDRESS, &s),
            CUDA_SUCCESS);
  EXPECT_STREQ(s, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(DRIVER(cuGetErrorString)((CUresult)12345, &s),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DRIVER(cuStreamSynchronize)((CUstream)0x1234),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(DRIVER(cuEventQuery)((CUevent)0x1234), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(DRIVER(cuModuleUnload)((CUmodule)0x1234),
            CUDA_ERROR_INVALID_HANDLE);
}

sigjmp_buf jump;
void onSignal(int) { siglongjmp(jump, 1); }
TEST(Driver, TheHostCannotTouchDeviceMemory) {
  Gpu gpu;
  CUdeviceptr p = gpu.alloc(64);
  struct sigaction action{}, old{};
  action.sa_handler = onSignal;
  sigaction(SIGSEGV, &action, &old);
  volatile bool reached = false;
  if (!sigsetjmp(jump, 1)) {
    reached = *(volatile char *)p || true;
  }
  sigaction(SIGSEGV, &old, nullptr);
  EXPECT_FALSE(reached);
}

TEST(Driver, ModuleVariablesAndFunctions) {
  Gpu gpu;
  ASSERT_EQ(gpu.load(text), CUDA_SUCCESS) << gpu.log();
  CUdeviceptr p;
  size_t bytes;
  ASSERT_EQ(DRIVER(cuModuleGetGlobal)(&p, &bytes, gpu.module, "counter"),
            CUDA_SUCCESS);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(gpu.download<unsigned>(p, 1)[0], 5u);
  CUfunction f;
  EXPECT_EQ(DRIVER(cuModuleGetFunction)(&f, gpu.module, "nothing"),
            CUDA_ERROR_NOT_FOUND);
  f = gpu.function("addTo");
  EXPECT_EQ(add(f, nullptr, p, 3, 1), CUDA_SUCCESS);
  EXPECT_EQ(gpu.download<unsigned>(p, 1)[0], 8u);
  void *params[] = {&p, &p, &p};
  EXPECT_EQ(DRIVER(cuLaunchKernel)(f, 1, 1, 1, 2048, 1, 1, 0, nullptr, params,
                                   nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DRIVER(cuLaunchKernel)(f, 1, 1, 1, 32, 1, 1, 60000, nullptr, params,
                                   nullptr),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(DRIVER(cuFuncSetAttribute)(
                f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000),
            CUDA_SUCCESS);
  unsigned v = 1, n = 1;
  void *good[] = {&p, &v, &n};
  EXPECT_EQ(DRIVER(cuLaunchKernel)(f, 1, 1, 1, 32, 1, 1, 60000, nullptr, good,
                                   nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_SUCCESS);
}

TEST(Driver, StreamsAreInOrderAndEventsOrderThem) {
  for (const char *schedule : {"forward", "reverse", "random"}) {
    Gpu gpu;
    gpu.configure(schedule, 5);
    ASSERT_EQ(gpu.load(text), CUDA_SUCCESS);
    CUfunction f = gpu.function("addTo");
    const unsigned n = 200;
    CUdeviceptr p = gpu.alloc(n * 4);
    CUstream a, b;
    CUevent e;
    ASSERT_EQ(DRIVER(cuStreamCreate)(&a, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuStreamCreate)(&b, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuEventCreate)(&e, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    std::vector<unsigned> zero(n), out(n);
    ASSERT_EQ(DRIVER(cuMemcpyHtoDAsync)(p, zero.data(), n * 4, a),
              CUDA_SUCCESS);
    // Pageable sources are taken at the call.
    zero.assign(n, 77);
    for (int i = 0; i < 5; ++i)
      ASSERT_EQ(add(f, a, p, 1, n), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuEventRecord)(e, a), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuStreamWaitEvent)(b, e, 0), CUDA_SUCCESS);
    ASSERT_EQ(add(f, b, p, 100, n), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuMemcpyDtoHAsync)(out.data(), p, n * 4, b), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuStreamSynchronize)(b), CUDA_SUCCESS);
    EXPECT_EQ(out, std::vector<unsigned>(n, 105)) << schedule;
    EXPECT_EQ(DRIVER(cuEventQuery)(e), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuEventDestroy)(e), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuStreamDestroy)(a), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuStreamDestroy)(b), CUDA_SUCCESS);
  }
}

TEST(Driver, PinnedSourcesAreReadWhenTheCopyRuns) {
  Gpu gpu;
  ASSERT_EQ(gpu.load(text), CUDA_SUCCESS);
  CUstream s;
  ASSERT_EQ(DRIVER(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  void *host;
  ASSERT_EQ(DRIVER(cuMemHostAlloc)(&host, 4, 0), CUDA_SUCCESS);
  CUdeviceptr p = gpu.alloc(4);
  static volatile bool go;
  go = false;
  ASSERT_EQ(DRIVER(cuLaunchHostFunc)(
                s,
                [](void *) {
                  while (!go) {
                  }
                },
                nullptr),
            CUDA_SUCCESS);
  *(unsigned *)host = 1;
  ASSERT_EQ(DRIVER(cuMemcpyHtoDAsync)(p, host, 4, s), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuStreamQuery)(s), CUDA_ERROR_NOT_READY);
  *(unsigned *)host = 2; // too early: the copy has not run
  go = true;
  ASSERT_EQ(DRIVER(cuStreamSynchronize)(s), CUDA_SUCCESS);
  EXPECT_EQ(gpu.download<unsigned>(p, 1)[0], 2u);
  EXPECT_EQ(DRIVER(cuMemFreeHost)(host), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuStreamDestroy)(s), CUDA_SUCCESS);
}

TEST(Driver, CapturedGraphsRunAgainWithForkAndJoin) {
  for (const char *schedule : {"forward", "reverse", "random"}) {
    Gpu gpu;
    gpu.configure(schedule, 9);
    ASSERT_EQ(gpu.load(text), CUDA_SUCCESS);
    CUfunction f = gpu.function("addTo");
    const unsigned n = 64;
    CUdeviceptr p = gpu.alloc(n * 4), q = gpu.alloc(n * 4);
    CUstream a, b;
    CUevent fork, join;
    ASSERT_EQ(DRIVER(cuStreamCreate)(&a, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuStreamCreate)(&b, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuEventCreate)(&fork, 0), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuEventCreate)(&join, 0), CUDA_SUCCESS);
    ASSERT_EQ(
        DRIVER(cuStreamBeginCapture)(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
        CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuMemsetD32Async)(p, 10, n, a), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuEventRecord)(fork, a), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuStreamWaitEvent)(b, fork, 0), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuMemcpyDtoDAsync)(q, p, n * 4, b), CUDA_SUCCESS);
    ASSERT_EQ(add(f, b, q, 5, n), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuEventRecord)(join, b), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuStreamWaitEvent)(a, join, 0), CUDA_SUCCESS);
    ASSERT_EQ(add(f, a, q, 1, n), CUDA_SUCCESS);
    CUgraph graph;
    ASSERT_EQ(DRIVER(cuStreamEndCapture)(a, &graph), CUDA_SUCCESS);
    size_t count = 0;
    ASSERT_EQ(DRIVER(cuGraphGetNodes)(graph, nullptr, &count), CUDA_SUCCESS);
    EXPECT_EQ(count, 4u);
    CUgraphExec exec;
    auto instantiate =
        (CUresult (*)(CUgraphExec *, CUgraph,
                      unsigned long long))driverFunction("cuGraphInstantiate");
    ASSERT_EQ(instantiate(&exec, graph, 0), CUDA_SUCCESS);
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(DRIVER(cuGraphLaunch)(exec, a), CUDA_SUCCESS);
      ASSERT_EQ(DRIVER(cuStreamSynchronize)(a), CUDA_SUCCESS);
      EXPECT_EQ(gpu.download<unsigned>(q, n), std::vector<unsigned>(n, 16))
          << schedule;
    }
    EXPECT_EQ(DRIVER(cuGraphExecDestroy)(exec), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuGraphDestroy)(graph), CUDA_SUCCESS);
    // A capture that never joins is an error, and synchronising inside one too.
    ASSERT_EQ(
        DRIVER(cuStreamBeginCapture)(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
        CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuStreamSynchronize)(a),
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(DRIVER(cuStreamEndCapture)(a, &graph),
              CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
}

TEST(Driver, ADevicePointerOfAnotherDeviceFaults) {
  Gpu gpu;
  ASSERT_EQ(gpu.load(text), CUDA_SUCCESS);
  CUcontext other;
  ASSERT_EQ(DRIVER(cuDevicePrimaryCtxRetain)(&other, 1), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuCtxPushCurrent)(other), CUDA_SUCCESS);
  CUdeviceptr far = gpu.upload(std::vector<unsigned>{1});
  ASSERT_EQ(DRIVER(cuCtxPopCurrent)(nullptr), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuCtxEnablePeerAccess)(other, 0), CUDA_SUCCESS);
  EXPECT_EQ(add(gpu.function("addTo"), nullptr, far, 1, 1), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuCtxDisablePeerAccess)(other), CUDA_SUCCESS);
  EXPECT_EQ(add(gpu.function("addTo"), nullptr, far, 1, 1), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_ERROR_ILLEGAL_ADDRESS);
  ASSERT_EQ(DRIVER(cuDevicePrimaryCtxRelease)(1), CUDA_SUCCESS);
}

TEST(Driver, TextThatIsWrongIsRefusedWithItsLine) {
  struct Row {
    const char *body, *message;
    CUresult code = CUDA_ERROR_INVALID_PTX;
    const char *head = ".version 7.0\n.target sm_70\n.address_size 64\n";
  };
  const Row rows[] = {
      {".visible .entry k()\n{\n  frobnicate.u32;\n}",
       "line 6: error: unknown instruction 'frobnicate.u32'"},
      {".visible .entry k()\n{\n .reg .b32 %r<3>;\n add.s32.wrong %r1, %r2, "
       "%r2;\n}",
       "line 7: error: unknown instruction 'add.s32.wrong'"},
      {".visible .entry k()\n{\n .reg .b32 %r<3>;\n add.s32 %r1, %r2;\n}",
       "takes 3 operands, not 2"},
      {".visible .entry k()\n{\n .reg .f32 %f<3>;\n add.s32 %f1, %f2, %f2;\n}",
       "does not fit"},
      {".visible .entry k()\n{\n .reg .b64 %r<3>;\n add.s32 %r1, %r2, %r2;\n}",
       "does not fit"},
      {".visible .entry k()\n{\n add.s32 %r1, %r2, %r2;\n}",
       "unknown register '%r1'"},
      {".visible .entry k()\n{\n bra NOWHERE;\n}", "unknown label 'NOWHERE'"},
      {".visible .entry k()\n{\n bra L;\n", "is never closed"},
      {".visible .entry k()\n{\n .reg .b16 %h<3>;\n fma.rn.bf16 %h0, %h1, %h1, "
       "%h2;\n}",
       "needs sm_80"},
      {".visible .entry k()\n{\n .reg .b32 %r<3>;\n redux.sync.add.u32 %r0, "
       "%r1, -1;\n}",
       "needs sm_80"},
      {"", "needs PTX ISA", CUDA_ERROR_INVALID_PTX,
       ".version 6.0\n.target sm_80\n.address_size 64\n"},
      {"", "takes up to 9.0", CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
       ".version 9.9\n.target sm_80\n"},
      {"", "the device is sm_90a", CUDA_ERROR_NO_BINARY_FOR_GPU,
       ".version 8.7\n.target sm_100\n"},
  };
  for (const Row &r : rows) {
    Gpu gpu;
    EXPECT_EQ(gpu.load(std::string(r.head) + r.body), r.code) << r.body;
    EXPECT_NE(gpu.log().find(r.message), std::string::npos)
        << gpu.log() << "\nwanted " << r.message;
  }
}

// ---- hostile text ----------------------------------------------------------

TEST(Hostile, OddTexts) {
  std::vector<std::string> texts = {
      "",
      "\n\n",
      ".version",
      ".version 8.0",
      "/* never closed",
      "\xff\xfe\x01\x02",
      ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {" +
          std::string(100000, '{'),
      ".version 8.0\n.target sm_90a\n.address_size 64\n.global .b32 x = " +
          std::string(100000, '(') + "1;",
      ".version 8.0\n.target sm_90a\n.address_size 64\n.global .b8 "
      "x[4294967296000];",
      ".version 8.0\n.target sm_90a\n.address_size 64\n.global .b8 "
      "x[4294967296];",
      ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .b8 "
      "x[4000000000];",
      ".version 8.0\n.target sm_90a\n.address_size 64\n.entry k() { .reg .b32 "
      "%r<4000000000>; }",
      ".version 8.0\n.target sm_90a\n.address_size 64\n.entry k() { .local .b8 "
      "x[4000000000]; }",
      ".version 8.0\n.target sm_90a\n.address_size 64\n.entry k() { .reg .b32 "
      "%r<2>; mov.b32 %r1, {" +
          std::string(5000, '{') + "}; }",
      std::string(10 << 20, 'a'),
      ".version 8.0\n.target sm_90a\n// " + std::string(10 << 20, 'x')};
  Gpu gpu;
  for (const std::string &t : texts) {
    CUresult r = gpu.load(t);
    if (r == CUDA_SUCCESS)
      DRIVER(cuModuleUnload)(gpu.module);
    else
      EXPECT_NE(gpu.log(), "");
  }
}

TEST(Hostile, TruncatedAndMutatedTexts) {
  Gpu gpu;
  Random g(21);
  size_t refused = 0, tries = 0;
  for (const char *file :
       {"saxpy.ptx", "reduce.ptx", "functions.ptx", "mmagemm.ptx"}) {
    std::string whole = readKernelFile(file);
    for (int i = 0; i < 150; ++i) {
      std::string t = whole;
      if (i % 3 == 0) {
        t.resize(g.next() % t.size());
      } else {
        for (unsigned k = 0; k < 1 + g.next() % 4; ++k) {
          size_t at = g.next() % t.size();
          switch (g.next() % 4) {
          case 0:
            t[at] = (char)(g.next() % 255 + 1);
            break;
          case 1:
            t.erase(at, g.next() % 9);
            break;
          case 2:
            t.insert(at, t.substr(g.next() % t.size(), g.next() % 30));
            break;
          default:
            t[at] = "{}[]();,.%@0-"[g.next() % 13];
            break;
          }
        }
      }
      ++tries;
      CUresult r = gpu.load(t);
      if (r == CUDA_SUCCESS)
        EXPECT_EQ(DRIVER(cuModuleUnload)(gpu.module), CUDA_SUCCESS);
      else
        ++refused;
    }
  }
  EXPECT_GT(refused, tries / 4);
}

// What loads is also run: whatever a mutated kernel does, it ends in a report
// or a result.
TEST(Hostile, MutatedKernelsRun) {
  Random g(33);
  std::string whole = readKernelFile("saxpy.ptx");
  size_t ran = 0;
  for (int i = 0; i < 60; ++i) {
    std::string t = whole;
    size_t body = t.find('{');
    for (unsigned k = 0; k < 1 + g.next() % 3; ++k) {
      // Digits: register numbers, offsets, immediates.
      size_t at = body + g.next() % (t.size() - body);
      at = t.find_first_of("0123456789", at);
      if (at != std::string::npos)
        t[at] = (char)('0' + g.next() % 10);
    }
    Gpu gpu;
    if (gpu.load(t) != CUDA_SUCCESS)
      continue;
    CUfunction f;
    if (DRIVER(cuModuleGetFunction)(&f, gpu.module, "saxpy") != CUDA_SUCCESS)
      continue;
    ++ran;
    float a = 2;
    int n = 500;
    CUdeviceptr x = gpu.upload(std::vector<float>(512, 1)),
                y = gpu.upload(std::vector<float>(512, 1));
    void *params[] = {&a, &x, &y, &n};
    DRIVER(cuLaunchKernel)(f, 2, 1, 1, 64, 1, 1, 0, nullptr, params, nullptr);
    DRIVER(cuCtxSynchronize)();
  }
  EXPECT_GT(ran, 10u);
}

// docs/Simulator.md lists every call that the library exports, and no other.
TEST(Driver, CallsAreDocumented) {
  std::ifstream doc(TDS_SIM_DOC);
  ASSERT_TRUE(doc) << TDS_SIM_DOC;
  std::string line, text;
  bool inside = false;
  while (std::getline(doc, line)) {
    if (line == "<!-- end -->")
      inside = false;
    if (inside)
      text += line + " ";
    if (line == "<!-- driver calls -->")
      inside = true;
  }
  std::set<std::string> listed, exported;
  for (size_t at = 0; (at = text.find('`', at)) != std::string::npos;) {
    size_t end = text.find('`', at + 1);
    ASSERT_NE(end, std::string::npos);
    listed.insert(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  FILE *nm = popen("nm -D --defined-only " TDS_SIM_LIBRARY_PATH, "r");
  ASSERT_NE(nm, nullptr);
  char buffer[512];
  while (fgets(buffer, sizeof buffer, nm)) {
    std::string entry = buffer;
    size_t at = entry.find(" T cu");
    if (at != std::string::npos)
      exported.insert(
          entry.substr(at + 3, entry.find_last_not_of("\n ") - at - 2));
  }
  if (pclose(nm) != 0)
    GTEST_SKIP() << "nm is not there to list the library's calls";
  for (const std::string &name : exported)
    EXPECT_TRUE(listed.count(name)) << name << " is missing in the list";
  // Headers before CUDA 13 declare fewer calls.
  if (CUDA_VERSION >= 13000)
    EXPECT_EQ(exported, listed);
}

} // namespace
