//===- toy_kernels.c - kernels of the tests' program -*- C -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tdslc would emit for a linear model of four features, written by hand
// to kernel ABI 1. ToyProgram.cpp holds the manifest that goes with it.
//
//===----------------------------------------------------------------------===//

#include <stdint.h>

#define API __attribute__((visibility("default")))
typedef void *const *Buffers;

enum { features = 4 };

// Replaced by the hash of the manifest when the program is packed.
API const unsigned char tds_plan_sha256[32] = {
    0xA5, 0x5A, 't', 'o', 'y', '-', 'p', 'l', 'a',  'n', '-',
    'h',  'a',  's', 'h', '-', 'g', 'o', 'e', 's',  '-', 'h',
    'e',  'r',  'e', '!', '!', '!', '!', '!', 0x5A, 0xA5};

static float noise(int64_t seed, int64_t step, int64_t index) {
  uint64_t x = (uint64_t)seed * 0x9e3779b97f4a7c15u + (uint64_t)step;
  x = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9u + (uint64_t)index;
  x = (x ^ (x >> 29)) * 0x94d049bb133111ebu;
  return (float)(x >> 40) * 0x1p-24f - 0.5f;
}

// (seed in, w, b, mw, mb, seen, step, seed)
API void toy_init(Buffers buf, const int64_t *size, int64_t first, int64_t last,
                  void *scratch) {
  (void)size, (void)first, (void)last, (void)scratch;
  int64_t seed = *(const int64_t *)buf[0];
  float *w = buf[1], *mw = buf[3];
  for (int i = 0; i < features; ++i) {
    w[i] = noise(seed, -1, i);
    mw[i] = 0;
  }
  *(float *)buf[2] = 0;
  *(float *)buf[4] = 0;
  *(int64_t *)buf[5] = 0;
  *(int64_t *)buf[6] = 0;
  *(int64_t *)buf[7] = seed;
}

// (x, w, b, p): one work item a row
API void toy_forward(Buffers buf, const int64_t *size, int64_t first,
                     int64_t last, void *scratch) {
  (void)size, (void)scratch;
  const float *x = buf[0], *w = buf[1], *b = buf[2];
  float *p = buf[3];
  for (int64_t row = first; row < last; ++row) {
    float sum = *b;
    for (int i = 0; i < features; ++i)
      sum += x[row * features + i] * w[i];
    p[row] = sum;
  }
}

// (x, y, p, seed, step, gw, gb, loss), sizes (rows)
API void toy_gradient(Buffers buf, const int64_t *size, int64_t first,
                      int64_t last, void *scratch) {
  (void)first, (void)last, (void)scratch;
  const float *x = buf[0], *y = buf[1], *p = buf[2];
  int64_t seed = *(const int64_t *)buf[3], step = *(const int64_t *)buf[4];
  float *gw = buf[5], gb = 0, loss = 0;
  for (int i = 0; i < features; ++i)
    gw[i] = noise(seed, step, i) * 1e-3f;
  for (int64_t row = 0; row < size[0]; ++row) {
    float error = p[row] - y[row];
    loss += error * error;
    gb += 2 * error / (float)size[0];
    for (int i = 0; i < features; ++i)
      gw[i] += 2 * error * x[row * features + i] / (float)size[0];
  }
  *(float *)buf[6] = gb;
  *(float *)buf[7] = loss / (float)size[0];
}

// (value, momentum, gradient, lr): momentum 0.5, one work item an element
API void toy_update(Buffers buf, const int64_t *size, int64_t first,
                    int64_t last, void *scratch) {
  (void)size, (void)scratch;
  float *value = buf[0], *momentum = buf[1];
  const float *gradient = buf[2], *lr = buf[3];
  for (int64_t i = first; i < last; ++i) {
    momentum[i] = 0.5f * momentum[i] + gradient[i];
    value[i] -= *lr * momentum[i];
  }
}

// (counter), sizes (by)
API void toy_count(Buffers buf, const int64_t *size, int64_t first,
                   int64_t last, void *scratch) {
  (void)first, (void)last, (void)scratch;
  *(int64_t *)buf[0] += size[0];
}

// (p, y, weight, mse, count), sizes (rows)
API void toy_evaluate(Buffers buf, const int64_t *size, int64_t first,
                      int64_t last, void *scratch) {
  (void)first, (void)last, (void)scratch;
  const float *p = buf[0], *y = buf[1], *weight = buf[2];
  float sum = 0, total = 0;
  int32_t count = 0;
  for (int64_t row = 0; row < size[0]; ++row) {
    float error = p[row] - y[row];
    sum += weight[row] * error * error;
    total += weight[row];
    count += weight[row] > 0;
  }
  *(float *)buf[3] = total > 0 ? sum / total : 0;
  *(int32_t *)buf[4] = count;
}

// (table, ids, out, flag), sizes (rows of the table): a checked gather
API void toy_gather(Buffers buf, const int64_t *size, int64_t first,
                    int64_t last, void *scratch) {
  (void)scratch;
  const float *table = buf[0];
  const int32_t *ids = buf[1];
  float *out = buf[2];
  for (int64_t i = first; i < last; ++i) {
    if (ids[i] >= 0 && ids[i] < size[0]) {
      out[i] = table[ids[i]];
    } else {
      out[i] = 0;
      __atomic_store_n((int32_t *)buf[3], 1, __ATOMIC_RELAXED);
    }
  }
}

// (out): writes through its scratch, one work item an element
API void toy_scratch(Buffers buf, const int64_t *size, int64_t first,
                     int64_t last, void *scratch) {
  (void)size;
  int64_t *mine = scratch;
  int64_t *out = buf[0];
  for (int64_t i = first; i < last; ++i) {
    mine[i % 8] = i;
    out[i] = mine[i % 8] * 3;
  }
}
