//===- RecordGolden.cpp - writes golden vectors -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the opcode suite on the driver that TDS_SIM_LIBRARY names and writes
// what it gives. See sim/tools/record-golden. Usage:
// tds_sim_record_golden FILE
//
//===----------------------------------------------------------------------===//

#include "Client.h"
#include "Golden.h"

#include <cstdio>

using namespace simtest;

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: tds_sim_record_golden FILE\n");
    return 2;
  }
  char name[256] = "";
  int major = 0, minor = 0, version = 0;
  {
    Gpu gpu; // initialises the driver
    DRIVER(cuDeviceGetName)(name, sizeof name, 0);
    DRIVER(cuDeviceGetAttribute)
    (&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
    DRIVER(cuDeviceGetAttribute)
    (&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
    DRIVER(cuDriverGetVersion)(&version);
  }
  if (major != 9 || minor != 0) {
    fprintf(stderr,
            "the suite is written for sm_90a; this device is sm_%d%d (%s)\n",
            major, minor, name);
    return 1;
  }
  std::string device = std::string(name) + ", sm_" + std::to_string(major) +
                       std::to_string(minor) + ", driver " +
                       std::to_string(version);
  std::string error;
  if (!recordGolden(argv[1], device, allCases(), warpCases(), error)) {
    fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  printf("%s: vectors of %s\n", argv[1], device.c_str());
  return 0;
}
