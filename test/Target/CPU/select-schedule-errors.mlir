// RUN: not tds-opt %s --tds-select-schedule="arch=pentium" 2>&1 | FileCheck %s --check-prefix=ARCH
// RUN: not tds-opt %s --tds-select-schedule="target=tpu" 2>&1 | FileCheck %s --check-prefix=TARGET
// ARCH: unknown processor 'pentium'; choose x86-64-v2, x86-64-v3, x86-64-v4 or native
// TARGET: unknown target 'tpu'; choose cpu or cuda

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
