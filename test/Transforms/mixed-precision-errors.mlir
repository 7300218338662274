// RUN: not tds-opt %s --tds-mixed-precision=type=f64 2>&1 | FileCheck %s
// CHECK: error: tds-mixed-precision knows the types bf16 and f16, not 'f64'

func.func @f(%x: tensor<4xf32> {tds.input = "x"}) -> (tensor<4xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  return %x : tensor<4xf32>
}
