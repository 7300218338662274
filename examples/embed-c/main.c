//===- main.c - train a TDS program inside a C program -*- C -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same as embed-cpp/main.cpp through the C interface.
//
//   tdslc examples/01-regression/regression.tds -o regression.so
//   embed-c regression.so
//
//===----------------------------------------------------------------------===//

#include <tds/runtime.h>

#include <stdio.h>
#include <stdlib.h>

enum { features = 4, maxRows = 4096 };

static float uniform(void) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) / 8388608.0f - 1.0f;
}

static void logLine(void *user, tds_log_level level, const char *message) {
  (void)user;
  fprintf(stderr, "%s: %s\n", level == TDS_LOG_WARNING ? "warning" : "note",
          message);
}

int main(int argc, char **argv) {
  static float x[maxRows * features], y[maxRows];
  const float truth[features] = {1, -2, 3, 0.5f};
  tds_device *device = NULL;
  tds_module *module = NULL;
  tds_entry *train = NULL;
  tds_port_info info;
  float loss = 0, lr = 0.1f;
  int code = 1;

  if (argc != 2) {
    fprintf(stderr, "usage: embed-c regression.so\n");
    return 2;
  }
  tds_set_log_callback(logLine, NULL);
  if (tds_device_open_for(argv[1], NULL, &device) ||
      tds_module_load(argv[1], device, NULL, &module) ||
      tds_module_entry(module, "train", &train) ||
      tds_entry_input(train, 0, &info))
    goto failed;
  printf("device: %s (%s)\n", tds_device_description(device),
         tds_device_reason(device));

  int64_t rows = info.shape[0];
  if (rows > maxRows) {
    fprintf(stderr, "error: this example takes batches of %d rows at most\n",
            maxRows);
    goto done;
  }
  const int64_t shapeX[2] = {rows, features};
  const tds_tensor inputs[3] = {
      {TDS_F32, 2, shapeX, x}, {TDS_F32, 1, &rows, y}, {TDS_F32, 0, NULL, &lr}};
  const tds_tensor results[1] = {{TDS_F32, 0, NULL, &loss}};
  for (int step = 0; step < 2000; ++step) {
    for (int64_t row = 0; row < rows; ++row) {
      y[row] = 0.25f;
      for (int i = 0; i < features; ++i) {
        x[row * features + i] = uniform();
        y[row] += truth[i] * x[row * features + i];
      }
    }
    if (tds_entry_call(train, inputs, 3, results, 1))
      goto failed;
    if (step % 500 == 0)
      printf("step %4d: loss %.6f\n", step, loss);
  }
  printf("at the end: loss %.2e\n", loss);

  for (size_t i = 0; i < tds_module_variable_count(module); ++i) {
    tds_variable_info variable;
    if (tds_module_variable(module, i, &variable))
      goto failed;
    if (variable.role != TDS_ROLE_PARAM || variable.type != TDS_F32)
      continue;
    float *value = malloc(variable.bytes);
    if (!value)
      goto done;
    if (tds_module_read(module, variable.name, value, variable.bytes)) {
      free(value);
      goto failed;
    }
    printf("%s =", variable.name);
    for (size_t j = 0; j < variable.bytes / sizeof(float); ++j)
      printf(" %.3f", value[j]);
    printf("\n");
    free(value);
  }
  if (tds_module_save(module, "embed-c.safetensors", NULL))
    goto failed;
  code = loss < 1e-3f ? 0 : 1; // also 1 where the loss is no number
  goto done;

failed:
  fprintf(stderr, "error: %s\n", tds_last_error());
done:
  tds_entry_release(train);
  tds_module_release(module);
  tds_device_release(device);
  return code;
}
