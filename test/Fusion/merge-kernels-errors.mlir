// RUN: not tds-opt %s --tds-merge-kernels=target=nonsense --split-input-file 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: cannot read the target description 'nonsense' ({{.*}}); give a file, or one of t4, v100, a100, h100, h200, host-cpu

func.func @kernel(%x: tensor<4xf32> {tds.input = "x"}) -> (tensor<4xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %k = tds.kernel "loop"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4xf32>):
    %y = tds.generic (%i) in (4) : tensor<4xf32> {
      %e = tds.read %p[%i] : tensor<4xf32>
      %f = tds.exp %e : f32
      tds.yield %f : f32
    }
    tds.yield %y : tensor<4xf32>
  }
  return %k : tensor<4xf32>
}
