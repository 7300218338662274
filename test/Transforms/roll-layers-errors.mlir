// RUN: not tds-opt %s --tds-roll-layers=min-layers=1 2>&1 | FileCheck %s
// CHECK: error: min-layers is 1; a loop is made of at least 2 layers

func.func @f(%x: tensor<4xf32> {tds.input = "x"}) -> (tensor<4xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  return %x : tensor<4xf32>
}
