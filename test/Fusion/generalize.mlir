// RUN: tds-opt %s --tds-generalize | FileCheck %s

// An element operation reads each operand at its own indices; a splat is a scalar.
// CHECK-LABEL: @element
// CHECK: tds.generic (%[[I:.*]], %[[J:.*]]) in (4, 10) : tensor<4x10xf32> {
// CHECK-NEXT: %[[X:.*]] = tds.read %{{.*}}[%[[I]], %[[J]]]
// CHECK-NEXT: %[[TWO:.*]] = tds.constant 2.000000e+00 : f32
// CHECK-NEXT: %[[R:.*]] = tds.mul %[[X]], %[[TWO]] : f32
// CHECK-NEXT: tds.yield %[[R]]
func.func @element(%x: tensor<4x10xf32>) -> tensor<4x10xf32> {
  %two = tds.constant dense<2.0> : tensor<4x10xf32>
  %r = tds.mul %x, %two : tensor<4x10xf32>
  return %r : tensor<4x10xf32>
}

// CHECK-LABEL: @axes
func.func @axes(%x: tensor<4x10xf32>, %v: tensor<10xf32>) -> (tensor<4x10xf32>, tensor<10x4xf32>, tensor<10xf32>, tensor<4xi32>) {
  // CHECK: tds.generic (%{{.*}}, %[[J:.*]]) in (4, 10)
  // CHECK-NEXT: tds.read %{{.*}}[%[[J]]] : tensor<10xf32>
  %b = tds.broadcast %v axes [1] : tensor<10xf32> to tensor<4x10xf32>
  // CHECK: tds.generic (%[[I:.*]], %[[J:.*]]) in (10, 4)
  // CHECK-NEXT: tds.read %{{.*}}[%[[J]], %[[I]]] : tensor<4x10xf32>
  %t = tds.transpose %x [1, 0] : tensor<4x10xf32> to tensor<10x4xf32>
  // CHECK: tds.generic (%[[J:.*]]) in (10) sum (%[[K:.*]]) in (4)
  // CHECK-NEXT: tds.read %{{.*}}[%[[K]], %[[J]]] : tensor<4x10xf32>
  %s = tds.reduce sum %x axes [0] : tensor<4x10xf32> to tensor<10xf32>
  // CHECK: tds.generic (%{{.*}}) in (4) argmax (%{{.*}}) in (10) : tensor<4xi32>
  %a = tds.reduce argmax %x axes [1] : tensor<4x10xf32> to tensor<4xi32>
  return %b, %t, %s, %a : tensor<4x10xf32>, tensor<10x4xf32>, tensor<10xf32>, tensor<4xi32>
}

// A matrix times a vector is bound by memory; bf16 factors are widened as the contraction would.
// CHECK-LABEL: @matrix_vector
// CHECK: tds.generic (%[[I:.*]]) in (300) sum (%[[K:.*]]) in (200) : tensor<300xf32>
// CHECK: tds.cast %{{.*}} : bf16 to f32
// CHECK: tds.cast %{{.*}} : bf16 to f32
// CHECK: tds.mul %{{.*}}, %{{.*}} : f32
func.func @matrix_vector(%w: tensor<300x200xbf16>, %v: tensor<200xbf16>) -> tensor<300xf32> {
  %r = tds.contract %w[0, 1], %v[1] to [0] : tensor<300x200xbf16>, tensor<200xbf16> to tensor<300xf32>
  return %r : tensor<300xf32>
}

// Refused: a contraction whose work is of a higher order than its operands.
// Refused: a contraction whose work is of a higher order than its operands.
// CHECK-LABEL: @matrix_matrix
// CHECK: tds.contract
// CHECK-NOT: tds.generic
func.func @matrix_matrix(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %r = tds.contract %a[0, 1], %b[1, 2] to [0, 2] : tensor<3x4xf32>, tensor<4x5xf32> to tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}

// The gather's adjoint in cross-entropy: each element has one term at most.
// CHECK-LABEL: @one_hot
// CHECK-NOT: tds.scatter
// CHECK: tds.generic (%[[I:.*]], %[[J:.*]]) in (64, 10)
// CHECK: %[[AT:.*]] = tds.cast %{{.*}} : i32 to index
// CHECK: %[[V:.*]] = tds.read %{{.*}}[%[[I]]] : tensor<64xf32>
// CHECK: %[[S:.*]] = tds.add %{{.*}} : f32
// CHECK: %[[HIT:.*]] = tds.compare eq %[[AT]], %[[J]] : index
// CHECK: tds.select %[[HIT]], %[[S]], %{{.*}} : i1, f32
func.func @one_hot(%y: tensor<64xi32>, %d: tensor<64xf32>) -> tensor<64x10xf32> {
  %r = tds.scatter (%i) in (64) : tensor<64x10xf32> {
    %c = tds.read %y[%i] : tensor<64xi32>
    %at = tds.cast %c : i32 to index
    %v = tds.read %d[%i] : tensor<64xf32>
    tds.scatter_yield %v at [%i, %at] : f32
  }
  return %r : tensor<64x10xf32>
}

// Refused: several points may meet at one element, so it stays a scatter.
// CHECK-LABEL: @scatter_add
// CHECK: tds.scatter
func.func @scatter_add(%y: tensor<64xi32>, %d: tensor<64xf32>) -> tensor<10xf32> {
  %r = tds.scatter (%i) in (64) : tensor<10xf32> {
    %c = tds.read %y[%i] : tensor<64xi32>
    %at = tds.cast %c : i32 to index
    %v = tds.read %d[%i] : tensor<64xf32>
    tds.scatter_yield %v at [%at] : f32
  }
  return %r : tensor<10xf32>
}

// Refused: the loop is shorter than the axis, so rows without a point would be lost in a select.
// CHECK-LABEL: @scatter_short
// CHECK: tds.scatter
func.func @scatter_short(%y: tensor<63xi32>, %d: tensor<63xf32>) -> tensor<64x10xf32> {
  %r = tds.scatter (%i) in (63) : tensor<64x10xf32> {
    %c = tds.read %y[%i] : tensor<63xi32>
    %at = tds.cast %c : i32 to index
    %v = tds.read %d[%i] : tensor<63xf32>
    tds.scatter_yield %v at [%i, %at] : f32
  }
  return %r : tensor<64x10xf32>
}

// Axes of extent 1 are no loops. A maximum over one term is the term; a float sum is not, for the sign of zero.
// CHECK-LABEL: @units
func.func @units(%x: tensor<4x1x10xf32>, %y: tensor<1xi32>, %z: tensor<1xf32>) -> (tensor<4x1x10xf32>, tensor<i32>, tensor<f32>) {
  // CHECK: tds.reshape %{{.*}} : tensor<4x1x10xf32> to tensor<4x10xf32>
  // CHECK: tds.generic (%{{.*}}, %{{.*}}) in (4, 10) : tensor<4x10xf32>
  // CHECK: tds.reshape %{{.*}} : tensor<4x10xf32> to tensor<4x1x10xf32>
  %r = tds.exp %x : tensor<4x1x10xf32>
  // CHECK: tds.generic () in () : tensor<i32>
  %m = tds.reduce max %y axes [0] : tensor<1xi32> to tensor<i32>
  // CHECK: tds.generic () in () sum (%{{.*}}) in (1) : tensor<f32>
  %s = tds.reduce sum %z axes [0] : tensor<1xf32> to tensor<f32>
  return %r, %m, %s : tensor<4x1x10xf32>, tensor<i32>, tensor<f32>
}

// CHECK-LABEL: @unit_contract
// CHECK: tds.contract %{{.*}}[0, 2], %{{.*}}[2, 1] to [0, 1] : tensor<3x4xf32>, tensor<4x5xf32> to tensor<3x5xf32>
// CHECK: tds.reshape %{{.*}} : tensor<3x5xf32> to tensor<3x1x5xf32>
func.func @unit_contract(%a: tensor<3x1x4xf32>, %b: tensor<4x5xf32>) -> tensor<3x1x5xf32> {
  %r = tds.contract %a[0, 3, 2], %b[2, 1] to [0, 3, 1] : tensor<3x1x4xf32>, tensor<4x5xf32> to tensor<3x1x5xf32>
  return %r : tensor<3x1x5xf32>
}

// CHECK-LABEL: @stop
// CHECK-NOT: tds.stop_gradient
// CHECK: return
func.func @stop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = tds.stop_gradient %x : tensor<4xf32>
  %r = tds.generic (%i) in (4) : tensor<4xf32> {
    %e = tds.read %s[%i] : tensor<4xf32>
    %t = tds.stop_gradient %e : f32
    %f = tds.exp %t : f32
    tds.yield %f : f32
  }
  return %r : tensor<4xf32>
}
