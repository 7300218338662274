// RUN: not tds-opt %S/Inputs/recursion.mlir --tds-inline-calls 2>&1 | FileCheck %s
// CHECK: error: @f calls itself; recursion is not supported
