//===- KernelTests.cpp - nvcc's PTX against references ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every kernel under kernels/ runs under every schedule with all checks on,
// and gives what a reference on the host gives; no checker complains.
//
//===----------------------------------------------------------------------===//

#include "Client.h"
#include "Schedules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

using namespace simtest;

namespace {

std::vector<float> randoms(size_t n, unsigned seed) {
  Random g(seed);
  std::vector<float> v(n);
  for (float &x : v)
    x = g.unit() * 2 - 1;
  return v;
}

unsigned short toBf16(float f) {
  unsigned v;
  memcpy(&v, &f, 4);
  return (unsigned short)((v + 0x7fff + (v >> 16 & 1)) >> 16);
}
float fromBf16(unsigned short b) {
  unsigned v = (unsigned)b << 16;
  float f;
  memcpy(&f, &v, 4);
  return f;
}

TEST(Kernels, VectorAddition) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("vadd.ptx");
    int n = 1003;
    auto a = randoms(n, 1), b = randoms(n, 2);
    CUdeviceptr A = gpu.upload(a), B = gpu.upload(b), C = gpu.alloc(n * 4);
    ASSERT_EQ(gpu.launch("vadd", 8, 128, 0, A, B, C, n), CUDA_SUCCESS);
    auto c = gpu.download<float>(C, n);
    for (int i = 0; i < n; ++i)
      ASSERT_EQ(c[i], a[i] + b[i]) << i;
  });
}

TEST(Kernels, Saxpy) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("saxpy.ptx");
    int n = 4096, n4 = n / 4;
    float a = 1.5f;
    auto x = randoms(n, 3), y = randoms(n, 4);
    for (bool vector : {false, true}) {
      CUdeviceptr X = gpu.upload(x), Y = gpu.upload(y);
      if (vector)
        ASSERT_EQ(gpu.launch("saxpy4", 3, 96, 0, a, X, Y, n4), CUDA_SUCCESS);
      else
        ASSERT_EQ(gpu.launch("saxpy", 3, 96, 0, a, X, Y, n), CUDA_SUCCESS);
      auto r = gpu.download<float>(Y, n);
      for (int i = 0; i < n; ++i)
        ASSERT_EQ(r[i], fmaf(a, x[i], y[i])) << i;
    }
  });
}

TEST(Kernels, Reductions) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("reduce.ptx");
    int n = 10000, blocks = 6;
    std::vector<float> x(n);
    Random g(5);
    double sum = 0;
    for (float &v : x)
      sum += v = (float)(g.next() % 17); // sums of integers are exact
    CUdeviceptr X = gpu.upload(x), P = gpu.alloc(blocks * 4), T = gpu.alloc(4);
    ASSERT_EQ(gpu.launch("reduce", blocks, 256, 0, X, P, n), CUDA_SUCCESS);
    double total = 0;
    for (float v : gpu.download<float>(P, blocks))
      total += v;
    EXPECT_EQ(total, sum);
    ASSERT_EQ(gpu.launch("reduceLast", blocks, 256, 0, X, P, T, n),
              CUDA_SUCCESS);
    EXPECT_EQ(gpu.download<float>(T, 1)[0], sum);
  });
}

TEST(Kernels, Transpose) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("transpose.ptx");
    int rows = 70, cols = 45;
    auto x = randoms(rows * cols, 6);
    CUdeviceptr X = gpu.upload(x), Y = gpu.alloc(x.size() * 4);
    ASSERT_EQ(gpu.launch("transpose", {2, 3}, {32, 8}, 0, X, Y, rows, cols),
              CUDA_SUCCESS);
    auto y = gpu.download<float>(Y, x.size());
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < cols; ++c)
        ASSERT_EQ(y[c * rows + r], x[r * cols + c]);
  });
}

TEST(Kernels, Softmax) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("softmax.ptx");
    int rows = 7, n = 77;
    auto x = randoms(rows * n, 8);
    CUdeviceptr X = gpu.upload(x), Y = gpu.alloc(x.size() * 4);
    ASSERT_EQ(gpu.launch("softmax", 2, 128, 0, X, Y, rows, n), CUDA_SUCCESS);
    auto y = gpu.download<float>(Y, x.size());
    for (int r = 0; r < rows; ++r) {
      double s = 0;
      for (int i = 0; i < n; ++i)
        s += exp((double)x[r * n + i]);
      for (int i = 0; i < n; ++i)
        ASSERT_NEAR(y[r * n + i], exp((double)x[r * n + i]) / s, 1e-7);
    }
  });
}

TEST(Kernels, TiledMatrixProduct) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("sgemm.ptx");
    int M = 64, N = 96, K = 64;
    auto a = randoms(M * K, 9), b = randoms(K * N, 10);
    CUdeviceptr A = gpu.upload(a), B = gpu.upload(b), C = gpu.alloc(M * N * 4);
    ASSERT_EQ(gpu.launch("sgemm", {3, 2}, 256, 0, A, B, C, M, N, K),
              CUDA_SUCCESS);
    auto c = gpu.download<float>(C, M * N);
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < N; ++j) {
        float s = 0;
        for (int k = 0; k < K; ++k)
          s = fmaf(a[i * K + k], b[k * N + j], s);
        ASSERT_EQ(c[i * N + j], s) << i << "," << j;
      }
  });
}

TEST(Kernels, Histogram) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("histogram.ptx");
    int n = 5000;
    Random g(11);
    std::vector<unsigned char> x(n);
    std::vector<unsigned> want(256);
    for (auto &v : x)
      ++want[v = (unsigned char)(g.next() % 199)];
    CUdeviceptr X = gpu.upload(x), B = gpu.upload(std::vector<unsigned>(256));
    ASSERT_EQ(gpu.launch("histogram", 4, 128, 0, X, B, n), CUDA_SUCCESS);
    EXPECT_EQ(gpu.download<unsigned>(B, 256), want);
  });
}

TEST(Kernels, Scans) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("scan.ptx");
    int n = 256;
    Random g(12);
    std::vector<int> x(n), want(n);
    int s = 0;
    for (int i = 0; i < n; ++i)
      want[i] = s += x[i] = (int)(g.next() % 100) - 50;
    CUdeviceptr X = gpu.upload(x), Y = gpu.alloc(n * 4);
    ASSERT_EQ(gpu.launch("scanWarps", 1, n, 0, X, Y, n), CUDA_SUCCESS);
    EXPECT_EQ(gpu.download<int>(Y, n), want);
    CUdeviceptr Z = gpu.alloc(n * 4);
    ASSERT_EQ(gpu.launch("scanDoubling", 1, n, 2 * n * 4, X, Z), CUDA_SUCCESS);
    EXPECT_EQ(gpu.download<int>(Z, n), want);
  });
}

TEST(Kernels, TensorCoreProduct) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("mmagemm.ptx");
    int M = 64, N = 128, K = 96;
    auto fa = randoms(M * K, 13), fb = randoms(K * N, 14);
    std::vector<unsigned short> a(fa.size()), b(fb.size());
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = toBf16(fa[i]);
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = toBf16(fb[i]);
    CUdeviceptr A = gpu.upload(a), B = gpu.upload(b), C = gpu.alloc(M * N * 4);
    ASSERT_EQ(gpu.launch("mmagemm", {2, 1}, 128, 0, A, B, C, M, N, K),
              CUDA_SUCCESS);
    auto c = gpu.download<float>(C, M * N);
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < N; ++j) {
        double s = 0;
        for (int k = 0; k < K; ++k)
          s += (double)fromBf16(a[i * K + k]) * fromBf16(b[k * N + j]);
        ASSERT_NEAR(c[i * N + j], s, 1e-4);
      }
  });
}

TEST(Kernels, WmmaProduct) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("wmmagemm.ptx");
    int M = 32, N = 48, K = 64;
    Random g(15);
    // Small integers are exact in f16.
    std::vector<int> ia(M * K), ib(K * N);
    std::vector<unsigned short> a(M * K), b(K * N);
    auto toHalf = [](int v) {
      static const unsigned short table[] = {0xc200, 0xc000, 0xbc00, 0,
                                             0x3c00, 0x4000, 0x4200};
      return table[v + 3];
    };
    for (int i = 0; i < M * K; ++i)
      a[i] = toHalf(ia[i] = (int)(g.next() % 7) - 3);
    for (int i = 0; i < K * N; ++i)
      b[i] = toHalf(ib[i] = (int)(g.next() % 7) - 3);
    CUdeviceptr A = gpu.upload(a), B = gpu.upload(b), C = gpu.alloc(M * N * 4);
    ASSERT_EQ(gpu.launch("wmmagemm", {3, 2}, 32, 0, A, B, C, N, K),
              CUDA_SUCCESS);
    auto c = gpu.download<float>(C, M * N);
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < N; ++j) {
        int s = 0;
        for (int k = 0; k < K; ++k)
          s += ia[i * K + k] * ib[j * K + k];
        ASSERT_EQ(c[i * N + j], s);
      }
  });
}

TEST(Kernels, CopyPipeline) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("pipeline.ptx");
    int n = 512 * 5 + 7;
    std::vector<float> x(n);
    Random g(16);
    for (float &v : x)
      v = (float)(g.next() % 9);
    CUdeviceptr X = gpu.upload(x), Y = gpu.alloc(128 * 4);
    ASSERT_EQ(gpu.launch("pipeline", 1, 128, 0, X, Y, n), CUDA_SUCCESS);
    auto y = gpu.download<float>(Y, 128);
    for (int t = 0; t < 128; ++t) {
      float s = 0;
      for (int tile = 0; tile < 6; ++tile)
        for (int i = 0; i < 4; ++i) {
          int at = tile * 512 + ((t * 4 + i) * 7) % 512;
          s += at < n ? x[at] : 0;
        }
      ASSERT_EQ(y[t], s) << t;
    }
  });
}

TEST(Kernels, Functions) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("functions.ptx");
    struct Pair {
      int a;
      float b;
      double c;
    } base{3, 0.25f, 1.5};
    int n = 64;
    CUdeviceptr F = gpu.alloc(n * 4), O = gpu.alloc(n * 4);
    ASSERT_EQ(gpu.launch("functions", 1, n, 0, F, O, base), CUDA_SUCCESS);
    auto f = gpu.download<int>(F, n);
    auto o = gpu.download<float>(O, n);
    int fib[12] = {0, 1};
    for (int i = 2; i < 12; ++i)
      fib[i] = fib[i - 1] + fib[i - 2];
    for (int t = 0; t < n; ++t) {
      EXPECT_EQ(f[t], fib[t % 12]);
      int a = base.a + t;
      float want = (float)((double)a * 0.25 + 1.5 + ((a & 7) * 0.5 + t));
      EXPECT_EQ(o[t], want);
    }
  });
}

TEST(Kernels, Divergence) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("divergent.ptx");
    int n = 300;
    std::vector<int> x(n), want(n);
    for (int i = 0; i < n; ++i) {
      x[i] = i * 37 % 1000 + 1;
      int v = x[i], s = 0;
      while (v != 1 && s < 200) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        s++;
      }
      switch (s % 7) {
      case 0:
        s += 100;
        break;
      case 1:
        s *= 3;
        break;
      case 2:
        s -= 7;
        break;
      case 3:
        s ^= 0x55;
        break;
      case 4:
        s = s * s;
        break;
      case 5:
        s = s > 50 ? -1 : s + 1;
        break;
      default:
        s = ~s;
      }
      want[i] = s;
    }
    CUdeviceptr X = gpu.upload(x), Y = gpu.alloc(n * 4);
    ASSERT_EQ(gpu.launch("divergent", 3, 128, 0, X, Y, n), CUDA_SUCCESS);
    EXPECT_EQ(gpu.download<int>(Y, n), want);
  });
}

TEST(Kernels, MathsLibrary) {
  Gpu gpu;
  gpu.loadFile("mathlib.ptx");
  int n = 32;
  std::vector<double> x(n);
  for (int i = 0; i < n; ++i)
    x[i] = 0.05 + i * 0.21;
  CUdeviceptr X = gpu.upload(x), D = gpu.alloc(6 * n * 8),
              F = gpu.alloc(6 * n * 4);
  ASSERT_EQ(gpu.launch("mathlib", 1, n, 0, X, D, F, n), CUDA_SUCCESS);
  auto d = gpu.download<double>(D, 6 * n);
  auto f = gpu.download<float>(F, 6 * n);
  for (int i = 0; i < n; ++i) {
    double v = x[i];
    double want[6] = {exp(v), log(v), sin(v), pow(v, 1.7), sqrt(v) / (1 + v),
                      erf(v)};
    for (int k = 0; k < 6; ++k)
      EXPECT_NEAR(d[k * n + i], want[k], 4e-16 * (1 + fabs(want[k]) * 4))
          << k << " of " << v;
    double u = (double)(float)v;
    double wantF[6] = {
        exp(u), log(u), tanh(u), pow(u, (double)1.7f), sqrt(u) / (1 + u),
        erf(u)};
    for (int k = 0; k < 6; ++k)
      EXPECT_NEAR(f[k * n + i], wantF[k], 4e-7 * (1 + fabs(wantF[k])))
          << k << " of " << u;
  }
}

TEST(Kernels, BarrierOfAllBlocks) {
  underAllSchedules([](Gpu &gpu) {
    gpu.loadFile("gridbarrier.ptx");
    int blocks = 5, threads = 64, rounds = 4, n = blocks * threads;
    std::vector<int> x(2 * n), now(n);
    for (int i = 0; i < n; ++i)
      now[i] = x[i] = i * i % 101;
    CUdeviceptr X = gpu.upload(x);
    ASSERT_EQ(gpu.launch("gridbarrier", blocks, threads, 0, X, rounds),
              CUDA_SUCCESS);
    for (int r = 0; r < rounds; ++r) {
      std::vector<int> next(n);
      for (int i = 0; i < n; ++i)
        next[i] = now[(i + threads) % n] + 1;
      now = next;
    }
    auto y = gpu.download<int>(X, n);
    EXPECT_EQ(y, now);
  });
}

TEST(Kernels, RingOfMbarriers) {
  auto run = [](Gpu &gpu, const char *kernel) {
    gpu.loadFile("mbarrier.ptx");
    int rounds = 9;
    std::vector<int> x(rounds * 32), want(32);
    for (int i = 0; i < rounds * 32; ++i)
      want[31 - i % 32] += x[i] = i * 7 % 23;
    CUdeviceptr X = gpu.upload(x), Y = gpu.alloc(32 * 4);
    CUresult r = gpu.launch(kernel, 1, 64, 0, X, Y, rounds);
    if (r == CUDA_SUCCESS)
      EXPECT_EQ(gpu.download<int>(Y, 32), want);
    return r;
  };
  underAllSchedules(
      [&](Gpu &gpu) { EXPECT_EQ(run(gpu, "ringGood"), CUDA_SUCCESS); });
  Gpu gpu;
  EXPECT_NE(run(gpu, "ringWrong"), CUDA_SUCCESS);
  auto reports = gpu.reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_NE(std::string("deadlock step-limit").find(reports[0].kind),
            std::string::npos)
      << reports[0].text;
}

} // namespace
