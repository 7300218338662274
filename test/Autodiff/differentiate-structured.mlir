// RUN: tds-opt %s -tds-differentiate -canonicalize -cse -split-input-file | FileCheck %s

// Adjoints of a contraction are contractions.
// CHECK-LABEL: func.func @matmul
// CHECK-SAME: %[[A:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<8x2xf32>, %[[G:.*]]: tensor<4x2xf32>
func.func @matmul(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>, %g: tensor<4x2xf32>) -> (tensor<4x8xf32>, tensor<8x2xf32>) {
  %c = tds.contract %a[0, 2], %b[2, 1] to [0, 1] : tensor<4x8xf32>, tensor<8x2xf32> to tensor<4x2xf32>
  %w = tds.mul %c, %g : tensor<4x2xf32>
  %l = tds.reduce sum %w axes [0, 1] : tensor<4x2xf32> to tensor<f32>
  // CHECK-DAG: %[[DA:.*]] = tds.contract %[[G]][0, 1], %[[B]][2, 1] to [0, 2]
  // CHECK-DAG: %[[DB:.*]] = tds.contract %[[A]][0, 2], %[[G]][0, 1] to [2, 1]
  // CHECK: return %[[DA]], %[[DB]]
  %da, %db = tds.gradient %l wrt %a, %b : tensor<f32> wrt tensor<4x8xf32>, tensor<8x2xf32>
  return %da, %db : tensor<4x8xf32>, tensor<8x2xf32>
}

// -----

// An axis that only one operand has, and that is summed, is broadcast.
// CHECK-LABEL: func.func @lone_axis
// CHECK: %[[P:.*]] = tds.contract {{.*}} to [0, 2] : {{.*}} to tensor<4x8xf32>
// CHECK: tds.broadcast %[[P]] axes [0, 2] : tensor<4x8xf32> to tensor<4x3x8xf32>
func.func @lone_axis(%a: tensor<4x3x8xf32>, %b: tensor<8x2xf32>) -> tensor<4x3x8xf32> {
  %c = tds.contract %a[0, 3, 2], %b[2, 1] to [0, 1] : tensor<4x3x8xf32>, tensor<8x2xf32> to tensor<4x2xf32>
  %l = tds.reduce sum %c axes [0, 1] : tensor<4x2xf32> to tensor<f32>
  %da = tds.gradient %l wrt %a : tensor<f32> wrt tensor<4x3x8xf32>
  return %da : tensor<4x3x8xf32>
}

// -----

// CHECK-LABEL: func.func @broadcast
// CHECK-SAME: %[[B:.*]]: tensor<1x3xf32>, %[[W:.*]]: tensor<5x4x3xf32>
// CHECK: %[[S:.*]] = tds.reduce sum %[[W]] axes [0, 1] : tensor<5x4x3xf32> to tensor<3xf32>
// CHECK: tds.reshape %[[S]] : tensor<3xf32> to tensor<1x3xf32>
func.func @broadcast(%b: tensor<1x3xf32>, %w: tensor<5x4x3xf32>) -> tensor<1x3xf32> {
  %c = tds.broadcast %b axes [1, 2] : tensor<1x3xf32> to tensor<5x4x3xf32>
  %p = tds.mul %c, %w : tensor<5x4x3xf32>
  %l = tds.reduce sum %p axes [0, 1, 2] : tensor<5x4x3xf32> to tensor<f32>
  %d = tds.gradient %l wrt %b : tensor<f32> wrt tensor<1x3xf32>
  return %d : tensor<1x3xf32>
}

// -----

// A custom derivative is used instead of the function's own, and nothing of the calls remains.
// CHECK-LABEL: func.func @custom
// CHECK-NOT: call
// CHECK: %[[M:.*]] = tds.max
// CHECK: %[[C:.*]] = tds.compare gt %[[M]],
// CHECK: %[[D:.*]] = tds.select %[[C]],
// CHECK: return %[[D]]
// CHECK-NOT: func.func
func.func private @relu(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tds.vjp = @relu_vjp} {
  %z = tds.constant dense<0.0> : tensor<4xf32>
  %r = tds.max %x, %z : tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func private @relu_vjp(%x: tensor<4xf32>, %y: tensor<4xf32>, %dy: tensor<4xf32>) -> tensor<4xf32> {
  %z = tds.constant dense<0.0> : tensor<4xf32>
  %c = tds.compare gt %y, %z : tensor<4xf32>
  %r = tds.select %c, %dy, %z : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func @custom(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %y = call @relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %p = tds.mul %y, %w : tensor<4xf32>
  %l = tds.reduce sum %p axes [0] : tensor<4xf32> to tensor<f32>
  %d = tds.gradient %l wrt %x : tensor<f32> wrt tensor<4xf32>
  return %d : tensor<4xf32>
}

// -----

// A gradient of a gradient.
// CHECK-LABEL: func.func @second
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK-NOT: tds.gradient
// CHECK: return
func.func @second(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = tds.sin %x : tensor<4xf32>
  %l = tds.reduce sum %a axes [0] : tensor<4xf32> to tensor<f32>
  %g = tds.gradient %l wrt %x : tensor<f32> wrt tensor<4xf32>
  %q = tds.mul %g, %g : tensor<4xf32>
  %m = tds.reduce sum %q axes [0] : tensor<4xf32> to tensor<f32>
  %h = tds.gradient %m wrt %x : tensor<f32> wrt tensor<4xf32>
  return %h : tensor<4xf32>
}
