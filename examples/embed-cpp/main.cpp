//===- main.cpp - train a TDS program inside a C++ program -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trains examples/01-regression/regression.tds on data that this program makes
// itself, and finds the line that it made them from.
//
//   tdslc examples/01-regression/regression.tds -o regression.so
//   embed-cpp regression.so
//
//===----------------------------------------------------------------------===//

#include <tds/runtime.hpp>

#include <cmath>
#include <cstdio>
#include <random>

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: embed-cpp regression.so\n");
    return 2;
  }
  try {
    tds::Module net = tds::Module::loadBest(argv[1]);
    std::printf("device: %s (%s)\n", net.device().description().c_str(),
                net.device().reason().c_str());
    tds::Entry train = net.entry("train");

    // y = 1 x0 - 2 x1 + 3 x2 + 0.5 x3 + 0.25; the batch is the program's.
    const int64_t rows = train.inputs()[0].shape[0], features = 4;
    const float truth[] = {1, -2, 3, 0.5f};
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> x(rows * features), y(rows);
    float loss = 0;
    for (int step = 0; step < 2000; ++step) {
      for (int64_t row = 0; row < rows; ++row) {
        y[row] = 0.25f;
        for (int64_t i = 0; i < features; ++i) {
          x[row * features + i] = uniform(random);
          y[row] += truth[i] * x[row * features + i];
        }
      }
      // Views: nothing is copied until the call takes the data in.
      loss = train(tds::Tensor::view(x.data(), {rows, features}),
                   tds::Tensor::view(y.data(), {rows}), 0.1f)
                 .scalar<float>();
      if (step % 500 == 0)
        std::printf("step %4d: loss %.6f\n", step, loss);
    }
    std::printf("at the end: loss %.2e\n", loss);

    for (const tds::Variable &variable : net.variables()) {
      if (variable.role != TDS_ROLE_PARAM)
        continue;
      tds::Tensor value = net.read(variable.name);
      std::printf("%s =", variable.name.c_str());
      for (size_t i = 0; i < value.size(); ++i)
        std::printf(" %.3f", value.as<float>()[i]);
      std::printf("\n");
    }
    net.save("embed-cpp.safetensors");
    return std::isfinite(loss) && loss < 1e-3f ? 0 : 1;
  } catch (const tds::Error &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
