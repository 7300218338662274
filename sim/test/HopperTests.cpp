//===- HopperTests.cpp - tensor copies and wgmma, lane by lane --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables of the PTX manual written out once more: "Tensor swizzling modes"
// and "Tiled mode" for tensor copies; for wgmma "Register Fragments", "Matrix
// Descriptor Format" and "Canonical Layouts". Layouts are dealt out and
// gathered here by index arithmetic of our own, on small integers, so that
// every product is exact.
//
//===----------------------------------------------------------------------===//

#include "Client.h"
#include "Schedules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

using namespace simtest;

namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = unsigned long long;

u16 toBf16(float f) {
  u32 v;
  memcpy(&v, &f, 4);
  return (u16)((v + 0x7fff + (v >> 16 & 1)) >> 16);
}

struct MapOptions {
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  std::vector<cuuint32_t> steps;
};
CUresult encode(CUtensorMap &map, CUtensorMapDataType type, CUdeviceptr p,
                std::vector<cuuint64_t> size, std::vector<cuuint64_t> strides,
                std::vector<cuuint32_t> box, MapOptions options = {}) {
  if (options.steps.empty())
    options.steps.assign(size.size(), 1);
  return DRIVER(cuTensorMapEncodeTiled)(
      &map, type, (cuuint32_t)size.size(), (void *)p, size.data(),
      strides.data(), box.data(), options.steps.data(),
      CU_TENSOR_MAP_INTERLEAVE_NONE, options.swizzle,
      CU_TENSOR_MAP_L2_PROMOTION_NONE, options.fill);
}

TEST(Hopper, MatrixProductWithTensorCopies) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("tmagemm.ptx");
    const int M = 128, N = 64, K = 320;
    Random g(21);
    std::vector<u16> a(M * K), b(N * K);
    std::vector<int> ia(M * K), ib(N * K);
    for (int i = 0; i < M * K; ++i)
      a[i] = toBf16((float)(ia[i] = (int)(g.next() % 9) - 4));
    for (int i = 0; i < N * K; ++i)
      b[i] = toBf16((float)(ib[i] = (int)(g.next() % 9) - 4));
    CUdeviceptr A = gpu.upload(a), B = gpu.upload(b), C = gpu.alloc(M * N * 4);
    CUtensorMap mapA, mapB, mapC;
    MapOptions swizzled;
    swizzled.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    ASSERT_EQ(encode(mapA, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, A, {K, M}, {K * 2},
                     {64, 64}, swizzled),
              CUDA_SUCCESS);
    ASSERT_EQ(encode(mapB, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, B, {K, N}, {K * 2},
                     {64, 64}, swizzled),
              CUDA_SUCCESS);
    ASSERT_EQ(encode(mapC, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, C, {N, M}, {N * 4},
                     {64, 64}),
              CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuFuncSetAttribute)(
                  gpu.function("tmagemm"),
                  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 70000),
              CUDA_SUCCESS);
    ASSERT_EQ(gpu.launch("tmagemm", {N / 64, M / 64}, 256, 66560, mapA, mapB,
                         mapC, K),
              CUDA_SUCCESS);
    auto c = gpu.download<float>(C, M * N);
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < N; ++j) {
        int s = 0;
        for (int k = 0; k < K; ++k)
          s += ia[i * K + k] * ib[j * K + k];
        ASSERT_EQ(c[i * N + j], (float)s) << i << "," << j;
      }
  });
}

// A box of a tensor of 2 to 4 dimensions is copied into shared memory; the
// kernel copies shared memory out as it lies.
const char *const dump = R"(
.version 8.0
.target sm_90a
.address_size 64
.shared .align 1024 .b8 s[16384];
.shared .align 8 .b64 bar;
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out,
                  .param .u32 bytes, .param .u32 x, .param .u32 y,
                  .param .u32 z) .reqntid 32
{
.reg .pred p, q; .reg .b32 %t, %s, %b, %n, %x, %y, %z, %v, %a; .reg .b64 %o, %m, %i;
mov.u32 %t, %tid.x; mov.u32 %s, s; mov.u32 %b, bar;
ld.param.u32 %n, [bytes]; ld.param.u32 %x, [x]; ld.param.u32 %y, [y];
ld.param.u32 %z, [z]; ld.param.u64 %o, [out];
mov.b64 %m, map; cvta.param.u64 %m, %m;
setp.ne.u32 p, %t, 0;
@p bra WAIT0;
mbarrier.init.shared.b64 [%b], 1;
fence.proxy.async;
mbarrier.arrive.expect_tx.shared.b64 _, [%b], %n;
COPY
WAIT0:
bar.warp.sync -1;
WAIT:
mbarrier.try_wait.parity.shared.b64 q, [%b], 0;
@!q bra WAIT;
mov.u32 %v, %t;
LOOP:
shl.b32 %a, %v, 2; add.u32 %a, %a, %s;
setp.ge.u32 q, %a, %n;
@q bra DONE;
ld.shared.u32 %x, [%a];
mul.wide.u32 %i, %v, 4; add.s64 %i, %i, %o;
st.global.u32 [%i], %x;
add.u32 %v, %v, 32;
bra LOOP;
DONE:
ret;
}
)";

std::string dumpKernel(int rank) {
  std::string text = dump,
              copy = "cp.async.bulk.tensor." + std::to_string(rank) +
                     "d.shared::cluster.global.mbarrier::complete_tx"
                     "::bytes [%s], [%m, {%x, %y";
  copy += rank > 2 ? ", %z" : "";
  copy += rank > 3 ? ", %z" : "";
  copy += "}], [%b];";
  text.replace(text.find("COPY"), 4, copy);
  return text;
}

TEST(Hopper, TensorCopySwizzles) {
  // Line r of `inner` bytes lies at r * inner; under a swizzle of S bytes the
  // chunk of 16 bytes with number c of a 128-byte row R goes to c ^ (R % (S /
  // 16)), as the manual's figures show.
  struct Mode {
    CUtensorMapSwizzle swizzle;
    u32 span;
  };
  for (Mode m : {Mode{CU_TENSOR_MAP_SWIZZLE_NONE, 0},
                 {CU_TENSOR_MAP_SWIZZLE_32B, 32},
                 {CU_TENSOR_MAP_SWIZZLE_64B, 64},
                 {CU_TENSOR_MAP_SWIZZLE_128B, 128}}) {
    SCOPED_TRACE(m.span);
    const u32 inner = m.span ? m.span : 48, rows = 24, width = 160;
    std::vector<u16> tensor(width * 40);
    std::iota(tensor.begin(), tensor.end(), (u16)1);
    Gpu gpu;
    ASSERT_EQ(gpu.load(dumpKernel(2)), CUDA_SUCCESS) << gpu.log();
    CUdeviceptr T = gpu.upload(tensor), O = gpu.alloc(inner * rows);
    CUtensorMap map;
    MapOptions options;
    options.swizzle = m.swizzle;
    ASSERT_EQ(encode(map, CU_TENSOR_MAP_DATA_TYPE_UINT16, T, {width, 40},
                     {width * 2}, {inner / 2, rows}, options),
              CUDA_SUCCESS);
    u32 x = 8, y = 5;
    ASSERT_EQ(gpu.launch("k", 1, 32, 0, map, O, inner * rows, x, y, 0u),
              CUDA_SUCCESS)
        << gpu.reports()[0].text;
    auto out = gpu.download<u16>(O, inner * rows / 2);
    for (u32 r = 0; r < rows; ++r)
      for (u32 e = 0; e < inner / 2; ++e) {
        u32 byte = r * inner + e * 2, row = byte / 128, chunk = byte / 16 % 8;
        if (m.span)
          chunk ^= row % (m.span / 16);
        u32 where = row * 128 + chunk * 16 + byte % 16;
        ASSERT_EQ(out[where / 2], tensor[(y + r) * width + x + e])
            << r << " " << e;
      }
  }
}

TEST(Hopper, TensorCopyEdgesStepsAndRanks) {
  // What lies outside reads as zero, or as NaN where the map says so; element
  // strides pick every second element; four dimensions.
  const int W = 12, H = 6, D = 5, Q = 3;
  std::vector<float> tensor(W * H * D * Q);
  std::iota(tensor.begin(), tensor.end(), 1.f);
  for (bool nan : {false, true})
    for (cuuint32_t step : {1u, 2u}) {
      Gpu gpu;
      ASSERT_EQ(gpu.load(dumpKernel(4)), CUDA_SUCCESS) << gpu.log();
      CUdeviceptr T = gpu.upload(tensor);
      CUtensorMap map;
      MapOptions options;
      options.fill = nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                         : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
      options.steps = {step, 1, 1, 1};
      ASSERT_EQ(encode(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, T, {W, H, D, Q},
                       {W * 4, W * H * 4, W * H * D * 4}, {8, 4, 2, 2},
                       options),
                CUDA_SUCCESS);
      const u32 inner = 8 / step, total = inner * 4 * 2 * 2;
      CUdeviceptr O = gpu.alloc(total * 4);
      int x = -3, y = 4, z = 2;
      ASSERT_EQ(gpu.launch("k", 1, 32, 0, map, O, total * 4, x, y, z),
                CUDA_SUCCESS)
          << gpu.reports()[0].text;
      auto out = gpu.download<u32>(O, total);
      u32 at = 0;
      for (int q = z; q < z + 2; ++q)
        for (int d = z; d < z + 2; ++d)
          for (int h = y; h < y + 4; ++h)
            for (int w = x; w < x + 8; w += (int)step, ++at) {
              bool in = w >= 0 && w < W && h < H && d < D && q < Q;
              float want = in ? tensor[((q * D + d) * H + h) * W + w] : 0;
              u32 bits;
              memcpy(&bits, &want, 4);
              ASSERT_EQ(out[at], in || !nan ? bits : 0x7fffffffu)
                  << q << d << h << w;
            }
    }
}

TEST(Hopper, TensorMapArgumentsAreChecked) {
  Gpu gpu;
  CUdeviceptr T = gpu.alloc(65536);
  CUtensorMap map;
  auto type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  EXPECT_EQ(encode(map, type, T, {64, 64}, {128}, {64, 8}), CUDA_SUCCESS);
  EXPECT_EQ(encode(map, type, T + 8, {64, 64}, {128}, {64, 8}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(map, type, T, {64, 64}, {120}, {64, 8}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(map, type, T, {64, 64}, {128}, {64, 257}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(map, type, T, {64, 64}, {128}, {4, 8}),
            CUDA_ERROR_INVALID_VALUE);
  MapOptions narrow;
  narrow.swizzle = CU_TENSOR_MAP_SWIZZLE_64B;
  EXPECT_EQ(encode(map, type, T, {64, 64}, {128}, {64, 8}, narrow),
            CUDA_ERROR_INVALID_VALUE);
  // A kernel that is handed something else says so.
  ASSERT_EQ(gpu.load(dumpKernel(2)), CUDA_SUCCESS) << gpu.log();
  memset(&map, 0, sizeof map);
  EXPECT_NE(gpu.launch("k", 1, 32, 0, map, T, 64u, 0u, 0u, 0u), CUDA_SUCCESS);
  ASSERT_FALSE(gpu.reports().empty());
  EXPECT_STREQ(gpu.reports()[0].kind, "bad-operand");
}

// Shared memory to global by a bulk reduction, to a tensor by a tensor copy and
// a tensor reduction, to shared memory; clusters of one block.
TEST(Hopper, ReductionsStoresAndClusters) {
  const char *ptx = R"(
.version 8.0
.target sm_90a
.address_size 64
.shared .align 128 .b8 s[1024];
.shared .align 8 .b64 bar;
.visible .entry k(.param .align 64 .b8 map[128], .param .align 64 .b8 sums[128],
                  .param .u64 out)
{
.reg .pred p, q; .reg .b32 %t, %s, %b, %x, %r, %v; .reg .b64 %o, %m, %n, %g;
mov.u32 %t, %tid.x; mov.u32 %b, bar; ld.param.u64 %o, [out];
mov.b64 %m, map; cvta.param.u64 %m, %m; mov.b64 %n, sums; cvta.param.u64 %n, %n;
prefetch.tensormap [%m];
mov.u32 %s, s; mad.lo.u32 %s, %t, 4, %s;
add.u32 %x, %t, 100; st.shared.u32 [%s], %x; mov.u32 %s, s;
setp.ne.u32 p, %t, 0;
@!p mbarrier.init.shared.b64 [%b], 1;
fence.proxy.async;
barrier.cluster.arrive.release.aligned;
barrier.cluster.wait.acquire.aligned;
@p bra REST;
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%o], [%s], 128;
cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32 [%o+128], [%s], 128;
cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%m, {4, 1}], [%s];
cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%n, {4, 1}], [%s];
cp.async.bulk.commit_group;
mbarrier.arrive.expect_tx.shared.b64 _, [%b], 128;
add.u32 %x, %s, 512;
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%x], [%s], 128, [%b];
cp.async.bulk.wait_group 0;
REST:
bar.warp.sync -1;
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 q, [%b], 0, 1000;
@!q bra WAIT;
mapa.shared::cluster.u32 %r, %s, 0;
mad.lo.u32 %r, %t, 4, %r;
ld.shared::cluster.u32 %v, [%r+512];
mul.wide.u32 %g, %t, 4; add.s64 %g, %g, %o;
st.global.u32 [%g+256], %v;
ret;
}
)";
  underAllSchedules([&](Gpu &gpu) {
    ASSERT_EQ(gpu.load(ptx), CUDA_SUCCESS) << gpu.log();
    std::vector<u32> start(96, 7);
    start[33] = 1000;
    std::vector<u32> tensor(12 * 6, 5);
    CUdeviceptr O = gpu.upload(start), T = gpu.upload(tensor),
                S = gpu.upload(tensor);
    CUtensorMap map, sums;
    ASSERT_EQ(
        encode(map, CU_TENSOR_MAP_DATA_TYPE_UINT32, T, {12, 6}, {48}, {8, 4}),
        CUDA_SUCCESS);
    ASSERT_EQ(
        encode(sums, CU_TENSOR_MAP_DATA_TYPE_UINT32, S, {12, 6}, {48}, {8, 4}),
        CUDA_SUCCESS);
    ASSERT_EQ(gpu.launch("k", 1, 32, 0, map, sums, O), CUDA_SUCCESS)
        << gpu.reports()[0].text;
    auto out = gpu.download<u32>(O, 96);
    for (u32 i = 0; i < 32; ++i) {
      ASSERT_EQ(out[i], 7 + 100 + i);
      ASSERT_EQ(out[32 + i], i == 1 ? 1000 : 100 + i);
      ASSERT_EQ(out[64 + i], 100 + i);
    }
    auto t = gpu.download<u32>(T, 72), sum = gpu.download<u32>(S, 72);
    for (u32 y = 0; y < 6; ++y)
      for (u32 x = 0; x < 12; ++x) {
        bool in = x >= 4 && y >= 1 && y < 5;
        u32 v = in ? 100 + (y - 1) * 8 + (x - 4) : 0;
        ASSERT_EQ(t[y * 12 + x], in ? v : 5);
        ASSERT_EQ(sum[y * 12 + x], 5 + v);
      }
  });
}

TEST(Hopper, WhatIsNotAllowedIsSaid) {
  auto refused = [](const std::string &body, const char *word) {
    Gpu gpu;
    std::string ptx = ".version 8.0\n.target sm_90a\n.address_size 64\n.shared "
                      ".align 128 .b8 s[1024];\n.visible .entry k(.param .u64 "
                      "p)\n{\n.reg .b64 %p; .reg .b32 %s, %x; .reg .f32 "
                      "%f<4>; .reg .pred q;\nld.param.u64 %p, [p]; mov.u32 "
                      "%s, s;\n" +
                      body + "\nret;\n}\n";
    CUdeviceptr P = gpu.alloc(1024);
    std::string text;
    if (gpu.load(ptx) != CUDA_SUCCESS)
      text = gpu.log();
    else if (gpu.launch("k", 1, 32, 0, P) != CUDA_SUCCESS)
      text = gpu.reports()[0].text;
    EXPECT_NE(text.find(word), std::string::npos) << body << "\n" << text;
  };
  refused("setmaxnreg.dec.sync.aligned.u32 20;", "multiple of 8 from 24");
  refused("cp.async.bulk.global.shared::cta.bulk_group [%p], [%s], 20;",
          "multiple of 16");
  refused("cp.async.bulk.global.shared::cta.bulk_group [%p], [%s+8], 16;",
          "not a multiple of 16");
  refused("cp.async.bulk.global.shared::cta.bulk_group [%p+1020], [%s], 16;",
          "multiple of 16");
  refused("cp.async.bulk.global.shared::cta.bulk_group [%p+1024], [%s], 16;",
          "behind the end of an allocation");
  refused("mapa.shared::cluster.u32 %x, %s, 1;", "the cluster has 1 block");
  refused("barrier.cluster.wait;", "without an arrival");
  refused("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, "
          "%f3}, %p, %p, 1, 1, 1, 0, 0;",
          "warpgroup");
  refused("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, "
          "%f2}, %p, %p, 1, 1, 1, 0, 0;",
          "4 registers of results");
  refused("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, "
          "%f3}, %p, %p, 1, 2, 1, 0, 0;",
          "must be 1 or -1");
  refused("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx"
          "::bytes [%s], [%p, {%x, %x, %x}], [%s];",
          "2 coordinates, not 3");
  refused("fence.proxy.magic;", "unknown instruction");
}

// ---- wgmma -----------------------------------------------------------------

struct Wgmma {
  const char *types;
  char element; // b bf16, h f16, t tf32, s s8, u u8
  u32 bytes, K;
  bool half; // D in f16
};
u32 bitsOf(char element, int v) {
  float f = (float)v;
  u32 bits;
  memcpy(&bits, &f, 4);
  switch (element) {
  case 'b':
    return bits >> 16;
  case 'h':
    if (v == 0)
      return 0;
    return (bits >> 16 & 0x8000) |
           (((bits >> 23 & 255) - 112) << 10 | (bits >> 13 & 0x3ff));
  case 't':
    return bits;
  default:
    return (u32)v & 255;
  }
}
int halfValue(u32 h) {
  h &= 0xffff;
  if (!(h & 0x7fff))
    return 0;
  float v = std::ldexp((float)((h & 0x3ff) | 0x400), (int)(h >> 10 & 31) - 25);
  return (int)(h & 0x8000 ? -v : v);
}

/// Byte offset of element (mn, k) by the manual's canonical layouts, with the
/// descriptor's two offsets for a matrix of `MN` rows.
struct Layout {
  u32 span; // 0, 32, 64, 128
  bool mnMajor;
  u32 bytes, MN;
  u32 leading() const {
    u32 T = 16 / bytes, c = span / 16;
    if (mnMajor)
      return span ? c * 16 * 16 : MN / T * 128; // SW: next block of c*T rows
    return span ? 16 : MN / 8 * 128;            // next chunk along K
  }
  u32 stride() const {
    if (mnMajor) {
      u32 T = 16 / bytes, c = span / 16;
      (void)T;
      return span ? c * 16 * 8 : 128; // SW: the next 8 of K; none: next T rows
    }
    return span ? span * 8 : 128; // the next 8 rows
  }
  u32 at(u32 mn, u32 k) const {
    u32 T = 16 / bytes, c = span / 16, o;
    if (!mnMajor)
      o = span ? mn % 8 * span + mn / 8 * stride() + k * bytes
               : mn % 8 * 16 + mn / 8 * stride() + k % T * bytes +
                     k / T * leading();
    else
      o = span ? mn % T * bytes + mn / T % c * 16 + mn / (c * T) * leading() +
                     k % 8 * span + k / 8 * stride()
               : mn % T * bytes + mn / T * stride() + k % 8 * 16 +
                     k / 8 * leading();
    u32 row = o / 128, chunk = o / 16 % 8;
    if (span)
      chunk ^= row % c;
    return row * 128 + chunk * 16 + o % 16;
  }
  u64 descriptor(u32 start) const {
    u64 mode = span == 128 ? 1 : span == 64 ? 2 : span == 32 ? 3 : 0;
    return (u64)(start >> 4) | (u64)(leading() >> 4) << 16 |
           (u64)(stride() >> 4) << 32 | mode << 62;
  }
};

void checkWgmma(const Wgmma &x, u32 N, bool registersA, u32 span, bool transA,
                bool transB, bool negate) {
  SCOPED_TRACE(std::string(x.types) + " n" + std::to_string(N) +
               (registersA ? " A in registers" : "") + " span " +
               std::to_string(span) + (transA ? " A M-major" : "") +
               (transB ? " B N-major" : ""));
  const bool isInt = x.element == 's' || x.element == 'u';
  const u32 nD = x.half ? N / 4 : N / 2, K = x.K;
  const u32 placeB = 32768;
  Layout la{span, transA, x.bytes, 64}, lb{span, transB, x.bytes, N};
  Random g(5 + N + span);
  auto draw = [&] {
    return x.element == 'u' ? (int)(g.next() % 7) : (int)(g.next() % 7) - 3;
  };
  std::vector<int> A(64 * K), B(N * K), C(64 * N);
  for (auto *m : {&A, &B, &C})
    for (int &v : *m)
      v = draw();
  // Shared memory as the kernel shall find it; what lies between stays zero.
  std::vector<unsigned char> memory(65536);
  auto put = [&](u32 at, int v) {
    u32 bits = bitsOf(x.element, v);
    memcpy(&memory[at], &bits, x.bytes);
  };
  for (u32 m = 0; m < 64; ++m)
    for (u32 k = 0; k < K; ++k)
      put(la.at(m, k), A[m * K + k]);
  for (u32 n = 0; n < N; ++n)
    for (u32 k = 0; k < K; ++k)
      put(placeB + lb.at(n, k), B[n * K + k]);
  // Registers: A's fragment, then D.
  std::vector<u32> regs(128 * (4 + nD));
  const u32 per = 4 / x.bytes; // elements of A in a register
  for (u32 t = 0; t < 128; ++t) {
    u32 w = t / 32, l = t % 32;
    for (u32 r = 0; r < 4; ++r)
      for (u32 e = 0; e < per; ++e) {
        u32 row = w * 16 + l / 4 + (r & 1) * 8;
        u32 col = l % 4 * per + e + (r >> 1) * (4 * per);
        regs[t * (4 + nD) + r] |= bitsOf(x.element, A[row * K + col])
                                  << (e * 8 * x.bytes % 32);
      }
    for (u32 i = 0; i < (x.half ? 2 * nD : nD); ++i) {
      u32 row = w * 16 + l / 4 + (i >> 1 & 1) * 8,
          col = (i >> 2) * 8 + l % 4 * 2 + (i & 1);
      int v = C[row * N + col];
      if (x.half)
        regs[t * (4 + nD) + 4 + i / 2] |= bitsOf('h', v) << (i % 2 * 16);
      else
        regs[t * (4 + nD) + 4 + i] = isInt ? (u32)v : bitsOf('t', v);
    }
  }
  std::string d = "{", type = isInt || x.half ? ".b32" : ".f32";
  for (u32 i = 0; i < nD; ++i)
    d += (i ? ", %d" : "%d") + std::to_string(i);
  d += "}";
  std::string tail = isInt ? "" : negate ? ", -1, 1" : ", 1, 1";
  if (x.bytes == 2)
    tail += (registersA ? ""
             : transA   ? ", 1"
                        : ", 0") +
            std::string(transB ? ", 1" : ", 0");
  std::string ptx =
      ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align "
      "1024 .b8 "
      "s[];\n.visible .entry k(.param .u64 m, .param .u64 r, .param .u64 "
      "da, .param .u64 db)\n{\n.reg .b64 %m, %r, %a, %b, %o, %q; .reg .b32 "
      "%t, %v, %x, %y, %w<4>; .reg .pred p, k1; .reg " +
      type + " %d<" + std::to_string(nD) +
      ">;\nld.param.u64 %m, [m]; ld.param.u64 %r, [r]; ld.param.u64 %a, [da]; "
      "ld.param.u64 %b, [db]; mov.u32 %t, %tid.x;\nmov.u32 %v, %t;\nLOOP:\n"
      "mov.u32 %y, s; shl.b32 %x, %v, 2; add.u32 %x, %x, %y; mul.wide.u32 %o, "
      "%v, 4; add.s64 %q, %m, %o;\n"
      "ld.global.u32 %w0, [%q]; st.shared.u32 [%x], %w0;\nadd.u32 %v, %v, "
      "128; setp.lt.u32 p, %v, 16384;\n@p bra LOOP;\nfence.proxy.async;\n"
      "bar.sync 0;\nmul.wide.u32 %o, %t, " +
      std::to_string(4 * (4 + nD)) + "; add.s64 %q, %r, %o;\n";
  for (u32 i = 0; i < 4; ++i)
    ptx += "ld.global.b32 %w" + std::to_string(i) + ", [%q+" +
           std::to_string(4 * i) + "];\n";
  for (u32 i = 0; i < nD; ++i)
    ptx += "ld.global" + type + " %d" + std::to_string(i) + ", [%q+" +
           std::to_string(16 + 4 * i) + "];\n";
  ptx += "setp.eq.u32 k1, 0, 0;\nwgmma.fence.sync.aligned;\n"
         "wgmma.mma_async.sync.aligned.m64n" +
         std::to_string(N) + "k" + std::to_string(K) + x.types + " " + d +
         ", " + (registersA ? "{%w0, %w1, %w2, %w3}" : "%a") + ", %b, k1" +
         tail +
         ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned "
         "0;\n";
  for (u32 i = 0; i < nD; ++i)
    ptx += "st.global" + type + " [%q+" + std::to_string(16 + 4 * i) + "], %d" +
           std::to_string(i) + ";\n";
  ptx += "ret;\n}\n";
  Gpu gpu;
  ASSERT_EQ(gpu.load(ptx), CUDA_SUCCESS) << gpu.log();
  CUdeviceptr M = gpu.upload(memory), R = gpu.upload(regs);
  u64 da = la.descriptor(0), db = lb.descriptor(placeB);
  CUfunction f = gpu.function("k");
  ASSERT_EQ(DRIVER(cuFuncSetAttribute)(
                f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536),
            CUDA_SUCCESS);
  ASSERT_EQ(gpu.launch("k", 1, 128, 65536, M, R, da, db), CUDA_SUCCESS)
      << (gpu.reports().empty() ? "" : gpu.reports()[0].text);
  auto out = gpu.download<u32>(R, regs.size());
  for (u32 t = 0; t < 128; ++t)
    for (u32 i = 0; i < (x.half ? 2 * nD : nD); ++i) {
      u32 row = t / 32 * 16 + t % 32 / 4 + (i >> 1 & 1) * 8,
          col = (i >> 2) * 8 + t % 4 * 2 + (i & 1);
      int want = C[row * N + col];
      for (u32 k = 0; k < K; ++k)
        want += (negate ? -1 : 1) * A[row * K + k] * B[col * K + k];
      u32 bits = out[t * (4 + nD) + 4 + (x.half ? i / 2 : i)];
      float value;
      memcpy(&value, &bits, 4);
      int got = x.half  ? halfValue(bits >> (i % 2 * 16))
                : isInt ? (int)bits
                        : (int)value;
      ASSERT_EQ(got, want) << "thread " << t << " result " << i;
    }
}

TEST(Hopper, WgmmaFragmentsAndDescriptors) {
  const Wgmma bf16{".f32.bf16.bf16", 'b', 2, 16, false},
      f16{".f32.f16.f16", 'h', 2, 16, false},
      f16half{".f16.f16.f16", 'h', 2, 16, true},
      tf32{".f32.tf32.tf32", 't', 4, 8, false},
      s8{".s32.s8.s8", 's', 1, 32, false}, u8{".s32.u8.u8", 'u', 1, 32, false};
  for (u32 span : {0u, 32u, 64u, 128u}) {
    for (const Wgmma &x : {bf16, f16, f16half, tf32, s8, u8}) {
      checkWgmma(x, 64, false, span, false, false, false);
      checkWgmma(x, 32, true, span, false, false, false);
    }
    for (bool transA : {false, true})
      for (bool transB : {false, true})
        checkWgmma(bf16, 128, false, span, transA, transB, true);
    checkWgmma(f16, 64, true, span, false, true, false);
  }
  checkWgmma(bf16, 8, false, 128, false, false, true);
  checkWgmma(bf16, 256, false, 128, false, false, false);
  checkWgmma(f16half, 24, true, 64, false, false, true);
}

// Copies of accumulators in flight, as compilers leave them for ptxas to merge:
// they get the result that their source will have.
TEST(Hopper, AccumulatorsInFlightMayBeCopied) {
  const char *ptx = R"(
.version 8.0
.target sm_90a
.address_size 64
.shared .align 1024 .b8 s[1024];
.visible .entry k(.param .u64 out, .param .u64 desc) .reqntid 128
{
.reg .b64 %o, %d, %i; .reg .b32 %t, %a; .reg .f32 %f<4>, %g<4>, %h<4>; .reg .pred p;
mov.u32 %t, %tid.x; mov.u32 %a, s; mad.lo.u32 %a, %t, 8, %a;
st.shared.v2.b32 [%a], {0x3f803f80, 0x3f803f80};
fence.proxy.async; bar.sync 0;
ld.param.u64 %o, [out]; ld.param.u64 %d, [desc];
mov.f32 %f0, 0f3F800000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
setp.eq.u32 p, 0, 0;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %d, %d, p, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
mov.f32 %g0, %f0; mov.f32 %g1, %f1; mov.f32 %g2, %f2; mov.f32 %g3, %f3;
wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%g0, %g1, %g2, %g3}, %d, %d, p, 1, 1, 0, 0;
mov.f32 %h0, %g0; mov.f32 %h1, %g1; mov.f32 %h2, %g2; mov.f32 %h3, %g3;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
add.f32 %h0, %h0, %h1; add.f32 %h2, %h2, %h3; add.f32 %h0, %h0, %h2;
add.f32 %h0, %h0, %f0;
mul.wide.u32 %i, %t, 4; add.s64 %o, %o, %i;
st.global.f32 [%o], %h0;
ret;
}
)";
  underAllSchedules([&](Gpu &gpu) {
    ASSERT_EQ(gpu.load(ptx), CUDA_SUCCESS) << gpu.log();
    CUdeviceptr O = gpu.alloc(512);
    // Rows of 32 bytes under the 32-byte swizzle; all of A's rows are the same
    // eight, and all elements are one.
    u64 descriptor = (u64)1 << 16 | (u64)(0 >> 4) << 32 | (u64)3 << 62;
    ASSERT_EQ(gpu.launch("k", 1, 128, 0, O, descriptor), CUDA_SUCCESS)
        << gpu.reports()[0].text;
    for (float v : gpu.download<float>(O, 128))
      ASSERT_EQ(v, 4 * (1 + 16 + 16) + 17.f);
  });
}

} // namespace
