// RUN: tds-opt %s -tds-differentiate | FileCheck %s

// The sweep stands where the gradient stood; what the loss does not reach has the gradient 0.
// CHECK-LABEL: func.func @f
// CHECK-NOT: tds.gradient
// CHECK: tds.reduce sum
// CHECK: tds.cos %arg0 : tensor<4xf32>
// CHECK: return %{{.*}}, %{{.*}}, %{{.*}} : tensor<f32>, tensor<4xf32>, tensor<2xf32>
func.func @f(%x: tensor<4xf32>, %z: tensor<2xf32>) -> (tensor<f32>, tensor<4xf32>, tensor<2xf32>) {
  %s = tds.sin %x : tensor<4xf32>
  %l = tds.reduce sum %s axes [0] : tensor<4xf32> to tensor<f32>
  %g:2 = tds.gradient %l wrt %x, %z : tensor<f32> wrt tensor<4xf32>, tensor<2xf32>
  return %l, %g#0, %g#1 : tensor<f32>, tensor<4xf32>, tensor<2xf32>
}

// Refused: nothing asks for a derivative, so nothing changes.
// CHECK-LABEL: func.func @forward
// CHECK-NEXT: %[[S:.*]] = tds.sin %arg0 : tensor<4xf32>
// CHECK-NEXT: return %[[S]]
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = tds.sin %x : tensor<4xf32>
  return %s : tensor<4xf32>
}
