//===- LayerKernelTests.cpp - nvcc's PTX of larger kernels ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels that programs are made of: normalisation, sorting, attention,
// convolution, gather and scatter, matrix products of every kind, bulk copies
// and cooperative groups, under every schedule against references.
//
//===----------------------------------------------------------------------===//

#include "Client.h"
#include "Schedules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

using namespace simtest;

namespace {

using u16 = unsigned short;

/// f16 of a small multiple of 2^-6, exactly.
u16 halfOf(double v) {
  if (v == 0)
    return 0;
  int e;
  double m = std::frexp(std::fabs(v), &e);
  return (u16)((v < 0 ? 0x8000 : 0) | (e + 14) << 10 |
               ((int)std::lround(m * 2048) & 0x3ff));
}
double valueOf(u16 h) {
  if (!(h & 0x7fff))
    return 0;
  double v = std::ldexp((double)((h & 0x3ff) | 0x400), (h >> 10 & 31) - 25);
  return h & 0x8000 ? -v : v;
}

TEST(Layers, Normalisation) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("layernorm.ptx");
    const int rows = 3, n = 200;
    Random g(31);
    std::vector<u16> x(rows * n);
    for (u16 &v : x)
      v = halfOf(((int)(g.next() % 257) - 128) / 64.0);
    std::vector<float> scale(n), shift(n);
    for (int i = 0; i < n; ++i) {
      scale[i] = 1 + 0.25f * (float)(i % 5);
      shift[i] = 0.5f * (float)(i % 3);
    }
    CUdeviceptr X = gpu.upload(x), S = gpu.upload(scale), T = gpu.upload(shift),
                Y = gpu.alloc(x.size() * 2);
    ASSERT_EQ(gpu.launch("layernorm", rows, 64, 0, X, S, T, Y, n),
              CUDA_SUCCESS);
    auto y = gpu.download<u16>(Y, x.size());
    for (int r = 0; r < rows; ++r) {
      double sum = 0, squares = 0;
      for (int i = 0; i < n; ++i)
        sum += valueOf(x[r * n + i]);
      double mean = sum / n;
      for (int i = 0; i < n; ++i)
        squares += std::pow(valueOf(x[r * n + i]) - mean, 2);
      double inverse = 1 / std::sqrt(squares / n + 1e-5);
      for (int i = 0; i < n; ++i) {
        double want =
            (valueOf(x[r * n + i]) - mean) * inverse * scale[i] + shift[i];
        ASSERT_NEAR(valueOf(y[r * n + i]), want,
                    std::fabs(want) * 0x1p-10 + 1e-4);
      }
    }
  });
}

TEST(Layers, BitonicSort) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("bitonic.ptx");
    Random g(32);
    std::vector<unsigned> x(1024);
    for (unsigned &v : x)
      v = (unsigned)g.next();
    CUdeviceptr X = gpu.upload(x), Y = gpu.alloc(4096);
    ASSERT_EQ(gpu.launch("bitonic", 2, 256, 0, X, Y), CUDA_SUCCESS);
    auto want = x;
    std::sort(want.begin(), want.begin() + 512);
    std::sort(want.begin() + 512, want.end());
    EXPECT_EQ(gpu.download<unsigned>(Y, 1024), want);
    ASSERT_EQ(gpu.launch("bitonicWarp", 1, 64, 0, X, Y), CUDA_SUCCESS);
    want.assign(x.begin(), x.begin() + 64);
    std::sort(want.begin(), want.begin() + 32);
    std::sort(want.begin() + 32, want.end());
    EXPECT_EQ(gpu.download<unsigned>(Y, 64), want);
  });
}

TEST(Layers, MatrixProductsOfEveryKind) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("mmakinds.ptx");
    const int K = 64;
    Random g(33);
    std::vector<int> a(16 * K), b(8 * K), want(16 * 8);
    for (auto *m : {&a, &b})
      for (int &v : *m)
        v = (int)(g.next() % 7) - 3;
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 8; ++j)
        for (int k = 0; k < K; ++k)
          want[i * 8 + j] += a[i * K + k] * b[j * K + k];
    auto upload = [&](const std::vector<int> &m, auto convert) {
      std::vector<decltype(convert(0))> v;
      for (int e : m)
        v.push_back(convert(e));
      return gpu.upload(v);
    };
    auto f = [](int v) { return (float)v; };
    auto d = [](int v) { return (double)v; };
    auto s = [](int v) { return (signed char)v; };
    auto h = [](int v) { return halfOf(v); };
    CUdeviceptr C = gpu.alloc(16 * 8 * 8);
    ASSERT_EQ(gpu.launch("mmaTf32", 1, 32, 0, upload(a, f), upload(b, f), C, K),
              CUDA_SUCCESS);
    auto cf = gpu.download<float>(C, 128);
    ASSERT_EQ(
        gpu.launch("mmaBytes", 1, 32, 0, upload(a, s), upload(b, s), C, K),
        CUDA_SUCCESS);
    auto ci = gpu.download<int>(C, 128);
    ASSERT_EQ(gpu.launch("mmaHalf", 1, 32, 0, upload(a, h), upload(b, h), C, K),
              CUDA_SUCCESS);
    auto ch = gpu.download<u16>(C, 128);
    ASSERT_EQ(
        gpu.launch("mmaDouble", 1, 32, 0, upload(a, d), upload(b, d), C, K),
        CUDA_SUCCESS);
    auto cd = gpu.download<double>(C, 64);
    for (int i = 0; i < 128; ++i) {
      ASSERT_EQ(cf[i], (float)want[i]);
      ASSERT_EQ(ci[i], want[i]);
      ASSERT_EQ(valueOf(ch[i]), want[i]);
      if (i < 64)
        ASSERT_EQ(cd[i], want[i]);
    }
  });
}

TEST(Layers, WmmaOfEveryKind) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("wmmakinds.ptx");
    const int K = 32;
    Random g(38);
    for (const char *kernel :
         {"wmmaBf16", "wmmaTf32", "wmmaSigned", "wmmaUnsigned", "wmmaHalf"}) {
      SCOPED_TRACE(kernel);
      const bool isUnsigned = std::string(kernel) == "wmmaUnsigned";
      // a[k][m] and b[k][n]: A lies by columns, B by rows.
      std::vector<int> a(16 * K), b(16 * K), want(256);
      for (auto *m : {&a, &b})
        for (int &v : *m)
          v = isUnsigned ? 200 + (int)(g.next() % 50) : (int)(g.next() % 7) - 3;
      for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 16; ++j)
          for (int k = 0; k < K; ++k)
            want[i * 16 + j] += a[k * 16 + i] * b[k * 16 + j];
      auto upload = [&](const std::vector<int> &m) {
        switch (kernel[4]) {
        case 'B': {
          std::vector<u16> v;
          for (int e : m) {
            float f = (float)e;
            unsigned bits;
            memcpy(&bits, &f, 4);
            v.push_back((u16)(bits >> 16));
          }
          return gpu.upload(v);
        }
        case 'T':
          return gpu.upload(std::vector<float>(m.begin(), m.end()));
        case 'H': {
          std::vector<u16> v;
          for (int e : m)
            v.push_back(halfOf(e));
          return gpu.upload(v);
        }
        default:
          return gpu.upload(std::vector<unsigned char>(m.begin(), m.end()));
        }
      };
      CUdeviceptr A = upload(a), B = upload(b), C = gpu.alloc(1024);
      ASSERT_EQ(gpu.launch(kernel, 1, 32, 0, A, B, C, K), CUDA_SUCCESS);
      for (int i = 0; i < 256; ++i) {
        double got = kernel[4] == 'H' ? valueOf(gpu.download<u16>(C, 256)[i])
                     : kernel[4] == 'S' || isUnsigned
                         ? gpu.download<int>(C, 256)[i]
                         : gpu.download<float>(C, 256)[i];
        ASSERT_EQ(got, want[i]) << i;
      }
    }
  });
}

TEST(Layers, CopiesThatArrive) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("copyarrive.ptx");
    const int rounds = 5;
    std::vector<int> x(512 * rounds), want(128);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = (int)(i * 31 % 1009);
    for (int t = 0; t < 128; ++t)
      for (int r = 0; r < rounds; ++r)
        for (int i = 0; i < 4; ++i)
          want[t] += x[r * 512 + (t * 4 + i) * 7 % 512];
    CUdeviceptr X = gpu.upload(x), Y = gpu.alloc(512);
    for (const char *kernel : {"copyArriveNoinc", "copyArriveCounted"}) {
      ASSERT_EQ(gpu.launch(kernel, 1, 128, 0, X, Y, rounds), CUDA_SUCCESS)
          << gpu.reports()[0].text;
      EXPECT_EQ(gpu.download<int>(Y, 128), want) << kernel;
    }
  });
}

TEST(Layers, Attention) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("attention.ptx");
    const int n = 45, D = 32;
    Random g(34);
    std::vector<float> q(n * D), k(n * D), v(n * D);
    for (auto *m : {&q, &k, &v})
      for (float &x : *m)
        x = g.unit() * 2 - 1;
    CUdeviceptr Q = gpu.upload(q), Kd = gpu.upload(k), V = gpu.upload(v),
                O = gpu.alloc(n * D * 4);
    ASSERT_EQ(gpu.launch("attention", (n + 3) / 4, 128, 0, Q, Kd, V, O, n),
              CUDA_SUCCESS);
    auto o = gpu.download<float>(O, n * D);
    for (int i = 0; i < n; ++i) {
      std::vector<double> p(n);
      double sum = 0;
      for (int j = 0; j < n; ++j) {
        double s = 0;
        for (int d = 0; d < D; ++d)
          s += (double)q[i * D + d] * k[j * D + d];
        sum += p[j] = std::exp(s / std::sqrt(32.0));
      }
      for (int d = 0; d < D; ++d) {
        double want = 0;
        for (int j = 0; j < n; ++j)
          want += p[j] / sum * v[j * D + d];
        ASSERT_NEAR(o[i * D + d], want, 2e-6);
      }
    }
  });
}

TEST(Layers, Convolution) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("stencil.ptx");
    const int w = 37, h = 21;
    std::vector<float> x(w * h);
    Random g(35);
    for (float &v : x)
      v = (float)(g.next() % 16);
    CUdeviceptr X = gpu.upload(x), Y = gpu.alloc(x.size() * 4);
    ASSERT_EQ(gpu.launch("stencil", {3, 2}, {16, 16}, 0, X, Y, w, h),
              CUDA_SUCCESS);
    auto y = gpu.download<float>(Y, x.size());
    const float weights[3] = {1, 2, 1};
    for (int r = 0; r < h; ++r)
      for (int c = 0; c < w; ++c) {
        float want = 0;
        for (int i = -1; i <= 1; ++i)
          for (int j = -1; j <= 1; ++j)
            if (r + i >= 0 && r + i < h && c + j >= 0 && c + j < w)
              want += weights[i + 1] * weights[j + 1] * x[(r + i) * w + c + j];
        ASSERT_EQ(y[r * w + c], want);
      }
  });
}

TEST(Layers, GatherScatterAndCounts) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("embedding.ptx");
    const int rows = 11, width = 64, n = 40;
    Random g(36);
    std::vector<float> table(rows * width), grad(n * width);
    std::vector<int> index(n);
    for (float &v : table)
      v = (float)(g.next() % 32);
    for (float &v : grad)
      v = (float)(g.next() % 8);
    for (int &v : index)
      v = (int)(g.next() % rows);
    CUdeviceptr T = gpu.upload(table), I = gpu.upload(index),
                G = gpu.upload(grad), Y = gpu.alloc(n * width * 4);
    ASSERT_EQ(gpu.launch("gather", n, width / 4, 0, T, I, Y, width / 4),
              CUDA_SUCCESS);
    auto y = gpu.download<float>(Y, n * width);
    auto want = table;
    for (int i = 0; i < n; ++i)
      for (int c = 0; c < width; ++c) {
        ASSERT_EQ(y[i * width + c], table[index[i] * width + c]);
        want[index[i] * width + c] += grad[i * width + c];
      }
    ASSERT_EQ(gpu.launch("scatterAdd", n, width, 0, G, I, T, width),
              CUDA_SUCCESS);
    EXPECT_EQ(gpu.download<float>(T, want.size()), want);

    std::vector<int> key(256);
    std::map<int, int> counts;
    for (int &k : key)
      ++counts[k = (int)(g.next() % 9)];
    CUdeviceptr Kd = gpu.upload(key), N = gpu.upload(std::vector<int>(9)),
                M = gpu.upload(std::vector<int>(1));
    ASSERT_EQ(gpu.launch("countKeys", 2, 128, 0, Kd, N, M), CUDA_SUCCESS);
    auto count = gpu.download<int>(N, 9);
    int most = 0;
    for (int i = 0; i < 9; ++i) {
      EXPECT_EQ(count[i], counts[i]);
      most = std::max(most, counts[i]);
    }
    EXPECT_EQ(gpu.download<int>(M, 1)[0], most);
  });
}

TEST(Layers, RingOfBulkCopies) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("bulkring.ptx");
    for (int pieces : {1, 2, 7}) {
      std::vector<float> x(256 * pieces);
      for (size_t i = 0; i < x.size(); ++i)
        x[i] = (float)(i % 999);
      CUdeviceptr X = gpu.upload(x), Y = gpu.alloc(x.size() * 4);
      ASSERT_EQ(gpu.launch("bulkring", 1, 256, 0, X, Y, pieces), CUDA_SUCCESS)
          << gpu.reports()[0].text;
      auto y = gpu.download<float>(Y, x.size());
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(y[i], 2 * x[i] + 1) << i;
    }
  });
}

TEST(Layers, CooperativeGroups) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("cooperative.ptx");
    const int n = 1500, blocks = 4;
    std::vector<int> x(n);
    int sum = 0, odd = 0;
    Random g(37);
    for (int &v : x) {
      sum += v = (int)(g.next() % 100);
      odd += v & 1;
    }
    CUdeviceptr X = gpu.upload(x), P = gpu.alloc(blocks * 4), T = gpu.alloc(4),
                O = gpu.upload(std::vector<int>(1));
    int count = n;
    void *params[] = {&X, &P, &T, &O, &count};
    ASSERT_EQ(DRIVER(cuLaunchCooperativeKernel)(gpu.function("cooperative"),
                                                blocks, 1, 1, 128, 1, 1, 0,
                                                nullptr, params),
              CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_SUCCESS)
        << gpu.reports()[0].text;
    EXPECT_EQ(gpu.download<int>(T, 1)[0], sum);
    EXPECT_EQ(gpu.download<int>(O, 1)[0], odd);
  });
}

// The barrier of all blocks exists in a cooperative launch only; elsewhere the
// library's own check traps.
TEST(Layers, GridBarrierNeedsACooperativeLaunch) {
  Gpu gpu;
  gpu.loadFile("cooperative.ptx");
  CUdeviceptr X = gpu.upload(std::vector<int>(8)), P = gpu.alloc(8),
              T = gpu.alloc(4), O = gpu.upload(std::vector<int>(1));
  EXPECT_NE(gpu.launch("cooperative", 2, 128, 0, X, P, T, O, 8), CUDA_SUCCESS);
  ASSERT_EQ(gpu.reports().size(), 1u);
  EXPECT_STREQ(gpu.reports()[0].kind, "trap");
}

} // namespace
