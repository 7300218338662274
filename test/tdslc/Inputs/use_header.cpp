//===- use_header.cpp - trains the regression through its header -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "regression.h"

#include <cstdio>
#include <random>
#include <vector>

int main(int, char **argv) {
  tds::Device cpu = tds::Device::open("cpu");
  regression::Model model = regression::Model::load(argv[1], cpu, 0);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> x(32 * 4), y(32);
  float loss = 0;
  for (int step = 0; step < 400; ++step) {
    for (int row = 0; row < 32; ++row) {
      float *r = &x[4 * row];
      for (int i = 0; i < 4; ++i)
        r[i] = uniform(random);
      y[row] = 2 * r[0] - 3 * r[1] + 0.5f * r[2] + r[3] + 0.75f;
    }
    loss = model.train(x.data(), y.data(), 0.3f).loss;
  }
  std::printf("loss after 400 steps %g\n", loss);
  tds::Tensor w = model.module.read("w"), b = model.module.read("b");
  const float *k = w.as<float>();
  std::printf("w %.3f %.3f %.3f %.3f b %.3f\n", k[0], k[1], k[2], k[3],
              b.as<float>()[0]);
  x.assign(x.size(), 0);
  x[4] = 1; // the second row
  tds::Tensor result = model.predict(x.data()).result;
  std::printf("predicts %.3f %.3f\n", result.as<float>()[0],
              result.as<float>()[1]);
  regression::Model best = regression::Model::load(argv[1], 1);
  std::printf("takes %s\n", best.module.device().reason().c_str());
  try {
    regression::Model::load("nowhere.so", cpu);
  } catch (const tds::Error &error) {
    std::printf("refuses: %s\n", error.what());
  }
}
