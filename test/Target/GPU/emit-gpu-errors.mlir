// A kernel without a schedule, and one with a schedule for the CPU.
// RUN: not tds-opt %s --tds-emit-gpu 2>&1 | FileCheck %s
// RUN: not tds-opt %s --tds-select-schedule --tds-emit-gpu 2>&1 | FileCheck %s
// CHECK: error: 'tds.kernel' op has no schedule for a GPU; run tds-select-schedule{target=cuda} first

func.func private @kernel(%x: tensor<4xf32>) -> tensor<4xf32> {
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
