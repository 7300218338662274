// What cannot be evaluated is an error at its place.
// RUN: not tds-eval %s --entry outside 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// RUN: not tds-eval %s --entry gradient --input '1.0 : f32' 2>&1 | FileCheck %s --check-prefix=GRADIENT
// RUN: not tds-eval %s --entry recursive --input '1.0 : f32' 2>&1 | FileCheck %s --check-prefix=DEEP
// RUN: not tds-eval %s --entry undefined 2>&1 | FileCheck %s --check-prefix=EXTERNAL
// RUN: not tds-eval %s --entry gradient 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not tds-eval %s --entry gradient --input 'one' 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not tds-eval %s --entry gradient --input '%t.none.npy' 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not tds-eval %s --entry large --input '1.0 : f32' 2>&1 | FileCheck %s --check-prefix=LARGE

// LARGE: tds.broadcast: its result is larger than 16 GiB, too large for the reference evaluator
func.func @large(%x: tensor<f32>) -> tensor<f32> {
  %b = tds.broadcast %x axes [] : tensor<f32> to tensor<4294967296x4294967296x4294967296xf32>
  %r = tds.reduce max %b axes [0, 1, 2] : tensor<4294967296x4294967296x4294967296xf32> to tensor<f32>
  return %r : tensor<f32>
}

// OUTSIDE: error: loc("{{.*}}errors.mlir":[[# @LINE + 3]]:8): tds.generic: index 3 is out of range on axis 0 of extent 3
func.func @outside() -> tensor<3xf32> {
  %x = tds.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %y = tds.generic (%i) in (3) : tensor<3xf32> {
    %at = tds.apply affine_map<(d0) -> (d0 + 1)> (%i)
    %v = tds.read %x[%at] : tensor<3xf32>
    tds.yield %v : f32
  }
  return %y : tensor<3xf32>
}

// COUNT: error: {{.*}}function 'gradient' takes 1 arguments, got 0
// VALUE: error: 'one' is no number or tensor
// FILE: error: '{{.*}}none.npy': cannot be read
// GRADIENT: error: loc("{{.*}}errors.mlir":[[# @LINE + 2]]:8): a tds.gradient has no value of its own; run tds-differentiate first
func.func @gradient(%x: tensor<f32>) -> tensor<f32> {
  %g = tds.gradient %x wrt %x : tensor<f32> wrt tensor<f32>
  return %g : tensor<f32>
}

// DEEP: calls are nested deeper than 256
func.func @recursive(%x: tensor<f32>) -> tensor<f32> {
  %y = func.call @recursive(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}

// EXTERNAL: error: {{.*}}calls 'nowhere', which has no body to evaluate
func.func private @nowhere() -> tensor<f32>
func.func @undefined() -> tensor<f32> {
  %y = func.call @nowhere() : () -> tensor<f32>
  return %y : tensor<f32>
}
