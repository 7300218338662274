//===- ClusterTests.cpp - clusters of several blocks ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "Cluster of Cooperative Thread Arrays", "mapa", "getctarank",
// "barrier.cluster", and the shared::cluster forms of ld, st, atom, mbarrier
// and cp.async.bulk. Planted bugs of clusters are in FaultTests.cpp.
//
//===----------------------------------------------------------------------===//

#include "Client.h"
#include "Schedules.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace simtest;

namespace {

using u32 = uint32_t;

CUresult launchClusters(Gpu &gpu, const char *name, Gpu::dim3v grid,
                        Gpu::dim3v cluster, unsigned threads, unsigned shared,
                        std::vector<void *> params) {
  CUlaunchAttribute attribute;
  memset(&attribute, 0, sizeof attribute);
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {cluster.x, cluster.y, cluster.z};
  CUlaunchConfig config;
  memset(&config, 0, sizeof config);
  config.gridDimX = grid.x;
  config.gridDimY = grid.y;
  config.gridDimZ = grid.z;
  config.blockDimX = threads;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = shared;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CUresult r = DRIVER(cuLaunchKernelEx)(&config, gpu.function(name),
                                        params.data(), nullptr);
  CUresult end = DRIVER(cuCtxSynchronize)();
  return r == CUDA_SUCCESS ? end : r;
}

std::string kernel(const std::string &body, const char *directives = "",
                   const char *target = "sm_90") {
  return std::string(".version 8.6\n.target ") + target +
         "\n.address_size 64\n.shared .align 128 .b8 s[1024];\n.shared .align "
         "8 .b64 bar;\n.visible .entry k(.param .u64 p)" +
         directives +
         "\n{\n.reg .b64 %p, %a, %g<8>; .reg .b32 %s, %t, %x<20>; .reg .pred "
         "q<4>;\nld.param.u64 %p, [p]; mov.u32 %s, s; mov.u32 %t, %tid.x;\n" +
         body + "\nret;\n}\n";
}

// Every register that says where a block stands, in three dimensions.
TEST(Cluster, SpecialRegisters) {
  const char *const names[] = {
      "%ctaid.x",          "%ctaid.y",          "%ctaid.z",
      "%clusterid.x",      "%clusterid.y",      "%clusterid.z",
      "%nclusterid.x",     "%nclusterid.y",     "%nclusterid.z",
      "%cluster_ctaid.x",  "%cluster_ctaid.y",  "%cluster_ctaid.z",
      "%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctaid.z",
      "%cluster_ctarank",  "%cluster_nctarank"};
  std::string body = "mov.u32 %x0, %ctaid.z; mov.u32 %x1, %nctaid.y;\n"
                     "mov.u32 %x2, %ctaid.y; mad.lo.u32 %x0, %x0, %x1, %x2;\n"
                     "mov.u32 %x1, %nctaid.x; mov.u32 %x2, %ctaid.x;\n"
                     "mad.lo.u32 %x0, %x0, %x1, %x2;\n"
                     "mul.wide.u32 %a, %x0, 72; add.s64 %p, %p, %a;\n";
  for (int i = 0; i < 17; ++i)
    body += std::string("mov.u32 %x3, ") + names[i] + "; st.global.u32 [%p+" +
            std::to_string(4 * i) + "], %x3;\n";
  body += "mov.pred q0, %is_explicit_cluster; selp.u32 %x3, 1, 0, q0;\n"
          "st.global.u32 [%p+68], %x3;";
  Gpu gpu;
  ASSERT_EQ(gpu.load(kernel(body)), CUDA_SUCCESS) << gpu.log();
  const u32 grid[3] = {6, 4, 2}, cluster[3] = {3, 2, 1};
  for (bool clusters : {true, false}) {
    CUdeviceptr P = gpu.alloc(48 * 72);
    CUresult r =
        clusters ? launchClusters(gpu, "k", {6, 4, 2}, {3, 2, 1}, 1, 0, {&P})
                 : gpu.launch("k", {6, 4, 2}, 1, 0, P);
    ASSERT_EQ(r, CUDA_SUCCESS);
    auto out = gpu.download<u32>(P, 48 * 18);
    for (u32 block = 0; block < 48; ++block) {
      const u32 *v = &out[block * 18];
      const u32 at[3] = {block % 6, block / 6 % 4, block / 24};
      u32 rank = 0, size = 1;
      for (int d = 0; d < 3; ++d) {
        const u32 c = clusters ? cluster[d] : 1;
        EXPECT_EQ(v[d], at[d]);
        EXPECT_EQ(v[3 + d], at[d] / c);
        EXPECT_EQ(v[6 + d], grid[d] / c);
        EXPECT_EQ(v[9 + d], at[d] % c);
        EXPECT_EQ(v[12 + d], c);
        rank += at[d] % c * size;
        size *= c;
      }
      EXPECT_EQ(v[15], rank);
      EXPECT_EQ(v[16], size);
      EXPECT_EQ(v[17], clusters ? 1u : 0u);
    }
  }
}

// Loads, stores, atomics and reductions at other blocks' memory, by addresses
// of shared::cluster and by generic ones; every block works on the next one.
TEST(Cluster, Accesses) {
  const std::string body = R"(
mov.u32 %x0, %cluster_ctarank; mov.u32 %x1, %cluster_nctarank;
add.u32 %x2, %x0, 1; rem.u32 %x2, %x2, %x1;
mad.lo.u32 %x3, %t, 4, %s;
mad.lo.u32 %x4, %x0, 1000, %t;
st.shared.u32 [%x3], %x4;
st.shared.u32 [%x3+128], 7;
st.shared.u32 [%x3+256], 0;
st.shared.u32 [%x3+384], %t;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
mapa.shared::cluster.u32 %x5, %x3, %x2;
getctarank.shared::cluster.u32 %x6, %x5;
ld.shared::cluster.u32 %x7, [%x5];
atom.shared::cluster.add.u32 %x8, [%x5+128], %x7;
red.relaxed.cluster.shared::cluster.max.u32 [%x5+256], %x7;
cvt.u64.u32 %a, %x3; cvta.shared.u64 %a, %a;
isspacep.shared::cta q0, %a;
mapa.u64 %g0, %a, %x2;
getctarank.u64 %x9, %g0;
isspacep.shared::cta q1, %g0; isspacep.shared::cluster q2, %g0;
ld.u32 %x10, [%g0+384];
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
atom.exch.b32 %x11, [%g0+384], %x4;
st.shared::cluster.v2.u32 [%x5+512], {%x6, %x9};
mapa.shared::cluster.u64 %g1, s, %x0;
getctarank.shared::cluster.u64 %x12, %g1;
barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
ld.shared.u32 %x13, [%x3+128]; ld.shared.u32 %x14, [%x3+256]; ld.shared.u32 %x15, [%x3+384];
selp.u32 %x16, 1, 0, q0; selp.u32 %x17, 2, 0, q1; selp.u32 %x18, 4, 0, q2;
add.u32 %x16, %x16, %x17; add.u32 %x16, %x16, %x18;
mov.u32 %x1, %ctaid.x; mad.lo.u32 %x1, %x1, 32, %t;
mul.wide.u32 %a, %x1, 48; add.s64 %p, %p, %a;
st.global.u32 [%p], %x7; st.global.u32 [%p+4], %x8; st.global.u32 [%p+8], %x13;
st.global.u32 [%p+12], %x14; st.global.u32 [%p+16], %x6; st.global.u32 [%p+20], %x9;
st.global.u32 [%p+24], %x16; st.global.u32 [%p+28], %x10; st.global.u32 [%p+32], %x11;
st.global.u32 [%p+36], %x15; st.global.u32 [%p+40], %x12;
)";
  // The pairs of 8 bytes do not overlap with only every second lane's.
  std::string pairs = body;
  const std::string store = "st.shared::cluster.v2.u32 [%x5+512]";
  pairs.replace(pairs.find(store), store.size(),
                "sub.u32 %x19, %x5, %s; and.b32 %x19, %x19, 0xffffff; add.u32 "
                "%x19, %x19, %x5; add.u32 %x19, %x19, 512;\n"
                "st.shared::cluster.v2.u32 [%x19]");
  underAllSchedules([&](Gpu &gpu) {
    ASSERT_EQ(gpu.load(kernel(pairs)), CUDA_SUCCESS) << gpu.log();
    const u32 size = 3, blocks = 6;
    CUdeviceptr P = gpu.alloc(blocks * 32 * 48);
    ASSERT_EQ(DRIVER(cuMemsetD8)(P, 0, blocks * 32 * 48), CUDA_SUCCESS);
    ASSERT_EQ(launchClusters(gpu, "k", blocks, size, 32, 0, {&P}),
              CUDA_SUCCESS);
    auto out = gpu.download<u32>(P, blocks * 32 * 12);
    for (u32 b = 0; b < blocks; ++b)
      for (u32 t = 0; t < 32; ++t) {
        const u32 *v = &out[(b * 32 + t) * 12];
        u32 rank = b % size, next = (rank + 1) % size;
        u32 theirs = next * 1000 + t, mine = rank * 1000 + t;
        ASSERT_EQ(v[0], theirs);
        ASSERT_EQ(v[1], 7u);
        // What the block before has done to this one.
        ASSERT_EQ(v[2], 7 + mine);
        ASSERT_EQ(v[3], mine);
        ASSERT_EQ(v[4], next);
        ASSERT_EQ(v[5], next);
        ASSERT_EQ(v[6], 1u + 4u);
        ASSERT_EQ(v[7], t);
        ASSERT_EQ(v[8], t);
        ASSERT_EQ(v[9], (rank + size - 1) % size * 1000 + t);
        ASSERT_EQ(v[10], rank);
      }
  });
}

TEST(Cluster, Histogram) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("cluster.ptx");
    Random g(5);
    int n = 3000, bins = 96;
    std::vector<int> x(n), want(bins);
    for (int &v : x)
      ++want[v = (int)(g.next() % 96)];
    CUdeviceptr X = gpu.upload(x), Y = gpu.upload(std::vector<int>(bins));
    ASSERT_EQ(launchClusters(gpu, "clusterHistogram", 8, 4, 128, 96,
                             {&X, &n, &bins, &Y}),
              CUDA_SUCCESS);
    EXPECT_EQ(gpu.download<int>(Y, bins), want);
    // The size of the cluster is the launch's to choose.
    Y = gpu.upload(std::vector<int>(bins));
    ASSERT_EQ(launchClusters(gpu, "clusterHistogram", {2, 1, 1}, 2, 128, 192,
                             {&X, &n, &bins, &Y}),
              CUDA_SUCCESS);
    EXPECT_EQ(gpu.download<int>(Y, bins), want);
  });
}

TEST(Cluster, Sums) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("cluster.ptx");
    std::vector<int> x(12 * 64), want(3);
    for (size_t i = 0; i < x.size(); ++i)
      want[i / 256] += x[i] = (int)(i * 37 % 101);
    CUdeviceptr X = gpu.upload(x), Y = gpu.alloc(12);
    ASSERT_EQ(gpu.launch("clusterSum", 12, 64, 0, X, Y), CUDA_SUCCESS);
    EXPECT_EQ(gpu.download<int>(Y, 3), want);
  });
}

TEST(Cluster, Multicast) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("cluster.ptx");
    std::vector<int> x(512);
    for (int i = 0; i < 512; ++i)
      x[i] = i * 3 + 1;
    CUdeviceptr X = gpu.upload(x), Y = gpu.alloc(4 * 256 * 4);
    ASSERT_EQ(gpu.launch("multicastHalves", 4, 256, 0, X, Y), CUDA_SUCCESS);
    auto y = gpu.download<int>(Y, 4 * 256);
    for (int b = 0; b < 4; ++b)
      for (int t = 0; t < 256; ++t)
        ASSERT_EQ(y[b * 256 + t], x[b / 2 * 256 + 255 - t] * (b % 2 + 1));
  });
}

TEST(Cluster, PipeBetweenBlocks) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("cluster.ptx");
    int rounds = 9;
    std::vector<int> x(rounds * 128);
    for (int i = 0; i < rounds * 128; ++i)
      x[i] = i ^ 0x155;
    CUdeviceptr X = gpu.upload(x);
    for (int bulk : {0, 1}) {
      CUdeviceptr Y = gpu.alloc(rounds * 512);
      ASSERT_EQ(gpu.launch("clusterPipe", 2, 128, 0, X, Y, rounds, bulk),
                CUDA_SUCCESS);
      auto y = gpu.download<int>(Y, rounds * 128);
      for (int r = 0; r < rounds; ++r)
        for (int t = 0; t < 128; ++t)
          ASSERT_EQ(y[r * 128 + t], x[r * 128 + 127 - t]) << bulk;
    }
  });
}

// A tensor copy that two of three blocks receive, each in its own memory.
TEST(Cluster, TensorMulticast) {
  const std::string ptx = R"(
.version 8.0
.target sm_90a
.address_size 64
.shared .align 128 .b8 s[256];
.shared .align 8 .b64 bar;
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out) .reqnctapercluster 3
{
.reg .pred p, q, r; .reg .b32 %t, %s, %b, %v, %r, %one; .reg .b16 %m; .reg .b64 %o, %d;
mov.u32 %t, %tid.x; mov.u32 %s, s; mov.u32 %b, bar; mov.u32 %r, %cluster_ctarank;
ld.param.u64 %o, [out]; mov.u32 %one, 1; mov.u16 %m, 6;
mov.b64 %d, map; cvta.param.u64 %d, %d;
setp.ne.u32 p, %t, 0; setp.ne.u32 r, %r, 0;
@p bra SYNC;
mbarrier.init.shared.b64 [%b], 1;
fence.mbarrier_init.release.cluster;
@r mbarrier.arrive.expect_tx.shared.b64 _, [%b], 128;
SYNC:
barrier.cluster.arrive; barrier.cluster.wait;
or.pred q, p, r;
@!q cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%s], [%d, {%one, %one}], [%b], %m;
@!r bra END;
WAIT:
mbarrier.try_wait.parity.shared.b64 q, [%b], 0;
@!q bra WAIT;
mad.lo.u32 %s, %t, 4, %s; ld.shared.u32 %v, [%s];
mad.lo.u32 %t, %r, 32, %t; mul.wide.u32 %d, %t, 4; add.s64 %o, %o, %d;
st.global.u32 [%o], %v;
END:
ret;
}
)";
  underAllSchedules([&](Gpu &gpu) {
    ASSERT_EQ(gpu.load(ptx), CUDA_SUCCESS) << gpu.log();
    std::vector<u32> x(12 * 6);
    for (u32 i = 0; i < 72; ++i)
      x[i] = i;
    CUdeviceptr X = gpu.upload(x), Y = gpu.upload(std::vector<u32>(96, 999));
    CUtensorMap map;
    const cuuint64_t size[] = {12, 6}, stride[] = {48};
    const cuuint32_t box[] = {8, 4}, step[] = {1, 1};
    ASSERT_EQ(DRIVER(cuTensorMapEncodeTiled)(
                  &map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, (void *)X, size,
                  stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                  CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
              CUDA_SUCCESS);
    ASSERT_EQ(gpu.launch("k", 3, 32, 0, map, Y), CUDA_SUCCESS);
    auto y = gpu.download<u32>(Y, 96);
    for (u32 i = 0; i < 32; ++i) {
      ASSERT_EQ(y[i], 999u);
      u32 want = (1 + i / 8) * 12 + 1 + i % 8;
      ASSERT_EQ(y[32 + i], want);
      ASSERT_EQ(y[64 + i], want);
    }
  });
}

// Each lane of each block sends registers to the next block, which waits for
// the bytes at its own mbarrier.
TEST(Cluster, AsynchronousStores) {
  const std::string body = R"(
mov.u32 %x0, %cluster_ctarank; mov.u32 %x1, %cluster_nctarank;
add.u32 %x2, %x0, 1; rem.u32 %x2, %x2, %x1;
mov.u32 %x3, bar; setp.eq.u32 q0, %t, 0;
mad.lo.u32 %x6, %t, 4, %s; st.shared.u32 [%x6+512], 100; st.shared.u32 [%x6+640], 9;
@q0 mbarrier.init.shared.b64 [%x3], 1;
@q0 mbarrier.arrive.expect_tx.shared.b64 _, [%x3], 768;
barrier.cluster.arrive; barrier.cluster.wait;
mapa.shared::cluster.u32 %x4, %x3, %x2; mapa.shared::cluster.u32 %x5, %s, %x2;
mad.lo.u32 %x7, %x0, 1000, %t; add.u32 %x8, %x7, 500;
mad.lo.u32 %x9, %t, 16, %x5;
st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%x9], {%x7, %x8, %x0, %t}, [%x4];
mad.lo.u32 %x9, %t, 4, %x5;
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%x9+512], %x7, [%x4];
cvt.u64.u32 %a, %s; cvta.shared.u64 %a, %a; mapa.u64 %g0, %a, %x2;
cvt.u64.u32 %a, %x3; cvta.shared.u64 %a, %a; mapa.u64 %g1, %a, %x2;
mul.wide.u32 %a, %t, 4; add.s64 %g0, %g0, %a;
red.async.relaxed.cluster.mbarrier::complete_tx::bytes.max.u32 [%g0+640], %t, [%g1];
WAIT:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 q1, [%x3], 0;
@!q1 bra WAIT;
mad.lo.u32 %x9, %t, 16, %s; ld.shared.v4.u32 {%x10, %x11, %x12, %x13}, [%x9];
ld.shared.u32 %x14, [%x6+512]; ld.shared.u32 %x15, [%x6+640];
mad.lo.u32 %x1, %x0, 32, %t; mul.wide.u32 %a, %x1, 24; add.s64 %p, %p, %a;
st.global.u32 [%p], %x10; st.global.u32 [%p+4], %x11; st.global.u32 [%p+8], %x12;
st.global.u32 [%p+12], %x13; st.global.u32 [%p+16], %x14; st.global.u32 [%p+20], %x15;
barrier.cluster.arrive; barrier.cluster.wait;
)";
  underAllSchedules([&](Gpu &gpu) {
    ASSERT_EQ(gpu.load(kernel(body)), CUDA_SUCCESS) << gpu.log();
    CUdeviceptr P = gpu.alloc(3 * 32 * 24);
    ASSERT_EQ(launchClusters(gpu, "k", 3, 3, 32, 0, {&P}), CUDA_SUCCESS);
    auto out = gpu.download<u32>(P, 3 * 32 * 6);
    for (u32 rank = 0; rank < 3; ++rank)
      for (u32 t = 0; t < 32; ++t) {
        const u32 *v = &out[(rank * 32 + t) * 6];
        const u32 from = (rank + 2) % 3, sent = from * 1000 + t;
        ASSERT_EQ(v[0], sent);
        ASSERT_EQ(v[1], sent + 500);
        ASSERT_EQ(v[2], from);
        ASSERT_EQ(v[3], t);
        ASSERT_EQ(v[4], 100 + sent);
        ASSERT_EQ(v[5], std::max(9u, t));
      }
  });
}

// A barrier of the cluster orders its blocks' accesses to global memory; blocks
// of other clusters stay unordered.
TEST(Cluster, BarrierOrdersGlobalMemory) {
  const std::string body = R"(
mov.u32 %x0, %cluster_ctarank; mov.u32 %x1, %cluster_nctarank;
mov.u32 %x2, %ctaid.x; mul.wide.u32 %a, %x2, 4; add.s64 %g0, %p, %a;
xor.b32 %x3, %x2, 1; mul.wide.u32 %a, %x3, 4; add.s64 %g1, %p, %a;
ld.global.u32 %x4, [%g1];
barrier.cluster.arrive; barrier.cluster.wait;
st.global.u32 [%g0], %x2;
barrier.cluster.arrive; barrier.cluster.wait;
ld.global.u32 %x4, [%g1];
barrier.cluster.arrive; barrier.cluster.wait;
st.global.u32 [%g0], %x4;
)";
  underAllSchedules([&](Gpu &gpu) {
    ASSERT_EQ(gpu.load(kernel(body)), CUDA_SUCCESS) << gpu.log();
    CUdeviceptr P = gpu.upload(std::vector<u32>(4));
    ASSERT_EQ(launchClusters(gpu, "k", 4, 2, 1, 0, {&P}), CUDA_SUCCESS);
    EXPECT_EQ(gpu.download<u32>(P, 4), (std::vector<u32>{1, 0, 3, 2}));
  });
  // In clusters of one, nothing orders them.
  Gpu gpu;
  ASSERT_EQ(gpu.load(kernel(body)), CUDA_SUCCESS);
  CUdeviceptr P = gpu.upload(std::vector<u32>(4));
  EXPECT_NE(gpu.launch("k", 4, 1, 0, P), CUDA_SUCCESS);
  ASSERT_FALSE(gpu.reports().empty());
  EXPECT_STREQ(gpu.reports()[0].kind, "global-race");
}

TEST(Cluster, SizesThatAreRefused) {
  auto launch = [](const char *directives, Gpu::dim3v grid, Gpu::dim3v cluster,
                   bool large = false) {
    Gpu gpu;
    EXPECT_EQ(gpu.load(kernel("st.global.u32 [%p], 1;", directives)),
              CUDA_SUCCESS)
        << gpu.log();
    CUdeviceptr P = gpu.alloc(64);
    if (large)
      EXPECT_EQ(DRIVER(cuFuncSetAttribute)(
                    gpu.function("k"),
                    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
                CUDA_SUCCESS);
    gpu.configure("forward", 1, "0"); // all blocks write one word
    return cluster.x ? launchClusters(gpu, "k", grid, cluster, 1, 0, {&P})
                     : gpu.launch("k", grid, 1, 0, P);
  };
  const CUresult bad = CUDA_ERROR_INVALID_CLUSTER_SIZE;
  EXPECT_EQ(launch("", 8, 8), CUDA_SUCCESS);
  EXPECT_EQ(launch("", 9, 2), bad);
  EXPECT_EQ(launch("", {2, 3, 1}, {1, 2, 1}), bad);
  EXPECT_EQ(launch("", 16, 16), bad);
  EXPECT_EQ(launch("", 16, 16, true), CUDA_SUCCESS);
  EXPECT_EQ(launch("", 32, 32, true), bad);
  EXPECT_EQ(launch(" .reqnctapercluster 2, 2", {4, 4, 1}, 0), CUDA_SUCCESS);
  EXPECT_EQ(launch(" .reqnctapercluster 2, 2", {4, 3, 1}, 0), bad);
  EXPECT_EQ(launch(" .reqnctapercluster 2, 2", {4, 4, 1}, 2), bad);
  EXPECT_EQ(launch(" .explicitcluster", 4, 0), bad);
  EXPECT_EQ(launch(" .explicitcluster", 4, 2), CUDA_SUCCESS);
  EXPECT_EQ(launch(" .maxclusterrank 2", 4, 4), bad);
  EXPECT_EQ(launch(" .maxclusterrank 4", 4, 4), CUDA_SUCCESS);
  Gpu gpu;
  EXPECT_NE(gpu.load(kernel("", " .reqnctapercluster 17")), CUDA_SUCCESS);
  EXPECT_NE(gpu.log().find("at most 16 blocks"), std::string::npos);
  EXPECT_NE(gpu.load(kernel("ld.shared::cluster.u32 %x0, [%s];", "", "sm_80")),
            CUDA_SUCCESS);
  EXPECT_NE(gpu.log().find("needs sm_90"), std::string::npos);
}

// A graph keeps the size of its clusters.
TEST(Cluster, InGraphs) {
  Gpu gpu;
  ASSERT_EQ(gpu.load(kernel("mov.u32 %x0, %ctaid.x; mul.wide.u32 %a, %x0, 4;\n"
                            "add.s64 %p, %p, %a; mov.u32 %x1, "
                            "%cluster_nctarank; st.global.u32 [%p], %x1;")),
            CUDA_SUCCESS);
  CUdeviceptr P = gpu.alloc(16);
  CUstream stream;
  ASSERT_EQ(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING),
            CUDA_SUCCESS);
  ASSERT_EQ(
      DRIVER(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
      CUDA_SUCCESS);
  CUlaunchAttribute attribute;
  memset(&attribute, 0, sizeof attribute);
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {2, 1, 1};
  CUlaunchConfig config;
  memset(&config, 0, sizeof config);
  config.gridDimX = 4;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  void *params[] = {&P};
  ASSERT_EQ(
      DRIVER(cuLaunchKernelEx)(&config, gpu.function("k"), params, nullptr),
      CUDA_SUCCESS);
  CUgraph graph;
  CUgraphExec exec;
  ASSERT_EQ(DRIVER(cuStreamEndCapture)(stream, &graph), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuGraphLaunch)(exec, stream), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuStreamSynchronize)(stream), CUDA_SUCCESS);
  EXPECT_EQ(gpu.download<u32>(P, 4), (std::vector<u32>{2, 2, 2, 2}));
  DRIVER(cuGraphExecDestroy)(exec);
  DRIVER(cuGraphDestroy)(graph);
  DRIVER(cuStreamDestroy)(stream);
}

TEST(Cluster, WhatIsNotAllowedIsSaid) {
  auto refused = [](const std::string &body, const char *word) {
    Gpu gpu;
    CUdeviceptr P = gpu.alloc(1024);
    std::string text;
    if (gpu.load(kernel(body)) != CUDA_SUCCESS)
      text = gpu.log();
    else if (launchClusters(gpu, "k", 2, 2, 32, 0, {&P}) != CUDA_SUCCESS)
      text = gpu.reports()[0].text;
    EXPECT_NE(text.find(word), std::string::npos) << body << "\n" << text;
  };
  const std::string other = "mov.u32 %x0, %cluster_ctarank; xor.b32 %x0, %x0, "
                            "1; mapa.shared::cluster.u32 %x1, %s, %x0;\n";
  const std::string sync = "barrier.cluster.arrive; barrier.cluster.wait;\n";
  refused("mapa.shared::cluster.u32 %x1, %s, 2;",
          "mapa to rank 2: the cluster has 2 blocks");
  refused(other + "add.u32 %x1, %x1, 1022; ld.shared::cluster.u32 %x2, [%x1];",
          "the block of rank 1 has 1024 bytes of shared memory");
  refused("ld.shared::cluster.u32 %x2, [0x5000000];", "names rank 4");
  refused(other + "ld.shared::cluster.u32 %x2, [%x1+2];",
          "not a multiple of 4");
  refused(other + "mbarrier.test_wait.parity.shared::cluster.b64 q0, [%x1], 0;",
          "unknown instruction");
  refused(other + "mbarrier.init.shared.b64 [%x1], 1;",
          "another block of the cluster");
  refused("setp.eq.u32 q0, %t, 0;\n"
          "@q0 mbarrier.init.shared.b64 [%s], 64;\n" +
              sync + other + "mbarrier.arrive.shared::cluster.b64 %a, [%x1];",
          "gives no token");
  refused("mov.u32 %x2, bar;" + other +
              "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
              "bytes [%x1], [%p], 16, [%x2];",
          "another block's shared memory than what the copy writes");
  refused(other + "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::"
                  "bytes [%x1], [%p], 16, [%s];",
          "only the block's own");
  refused("cp.async.bulk.global.shared::cta.bulk_group [%p], [0x3000000], 16;",
          "names rank 2");
  refused(other + "cp.async.bulk.global.shared::cta.bulk_group [%p], [%x1], "
                  "16;",
          "only the block's own");
}

} // namespace
