// RUN: tds-opt %s --tds-form-kernels=max-buffers=4 | FileCheck %s

// Refused: four buffers at most, the second addition would need a fifth.
// CHECK: tds.kernel "loop"({{.*}}) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: tds.kernel "loop"({{.*}}) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
func.func @limit(%a: tensor<4xf32> {tds.input = "a"}, %b: tensor<4xf32> {tds.input = "b"}, %c: tensor<4xf32> {tds.input = "c"},
                 %d: tensor<4xf32> {tds.input = "d"}, %e: tensor<4xf32> {tds.input = "e"})
    -> (tensor<4xf32> {tds.result = "r"}) attributes {tds.entry = "function"} {
  %s = tds.generic (%i) in (4) : tensor<4xf32> {
    %x = tds.read %a[%i] : tensor<4xf32>
    %y = tds.read %b[%i] : tensor<4xf32>
    %z = tds.read %c[%i] : tensor<4xf32>
    %p = tds.pow %x, %y : f32
    %q = tds.pow %p, %z : f32
    tds.yield %q : f32
  }
  %t = tds.generic (%i) in (4) : tensor<4xf32> {
    %x = tds.read %s[%i] : tensor<4xf32>
    %y = tds.read %d[%i] : tensor<4xf32>
    %z = tds.read %e[%i] : tensor<4xf32>
    %p = tds.pow %x, %y : f32
    %q = tds.pow %p, %z : f32
    tds.yield %q : f32
  }
  return %t : tensor<4xf32>
}
