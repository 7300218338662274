// RUN: tds-opt %s --tds-generalize --tds-move-reshapes | FileCheck %s

// The mask runs at the shape of the contraction, so that it can be its epilogue; the reshape comes behind.
// CHECK-LABEL: @down
// CHECK: %[[C:.*]] = tds.contract
// CHECK: %[[M:.*]] = tds.reshape %{{.*}} : tensor<8x4x4xf32> to tensor<8x16xf32>
// CHECK: %[[R:.*]] = tds.generic (%{{.*}}, %{{.*}}) in (8, 16) : tensor<8x16xf32>
// CHECK: tds.reshape %[[R]] : tensor<8x16xf32> to tensor<8x4x4xf32>
func.func @down(%a: tensor<8x3xf32>, %b: tensor<3x16xf32>, %m: tensor<8x4x4xf32>) -> tensor<8x4x4xf32> {
  %c = tds.contract %a[0, 2], %b[2, 1] to [0, 1] : tensor<8x3xf32>, tensor<3x16xf32> to tensor<8x16xf32>
  %s = tds.reshape %c : tensor<8x16xf32> to tensor<8x4x4xf32>
  %r = tds.mul %s, %m : tensor<8x4x4xf32>
  return %r : tensor<8x4x4xf32>
}

// What comes before and is only read through the reshape takes its shape.
// CHECK-LABEL: @up
// CHECK: %[[V:.*]] = tds.reshape %{{.*}} : tensor<8x4x4xui8> to tensor<8x16xui8>
// CHECK: %[[C:.*]] = tds.generic (%[[I:.*]], %[[J:.*]]) in (8, 16) : tensor<8x16xf32>
// CHECK-NEXT: tds.read %[[V]][%[[I]], %[[J]]]
// CHECK-NOT: tds.reshape
// CHECK: tds.generic (%{{.*}}) in (8) sum (%{{.*}}) in (16)
func.func @up(%x: tensor<8x4x4xui8>) -> tensor<8xf32> {
  %f = tds.cast %x : tensor<8x4x4xui8> to tensor<8x4x4xf32>
  %s = tds.reshape %f : tensor<8x4x4xf32> to tensor<8x16xf32>
  %r = tds.reduce sum %s axes [1] : tensor<8x16xf32> to tensor<8xf32>
  return %r : tensor<8xf32>
}

// Unit axes are read around.
// CHECK-LABEL: @keep_axis
// CHECK: %[[S:.*]] = tds.generic (%{{.*}}) in (8) sum (%{{.*}}) in (16) : tensor<8xf32>
// CHECK-NOT: tds.reshape
// CHECK: tds.generic (%[[I:.*]], %{{.*}}) in (8, 16)
// CHECK: tds.read %[[S]][%[[I]]] : tensor<8xf32>
func.func @keep_axis(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %s = tds.reduce sum %x axes [1] : tensor<8x16xf32> to tensor<8xf32>
  %k = tds.reshape %s : tensor<8xf32> to tensor<8x1xf32>
  %b = tds.broadcast %k axes [0, 1] : tensor<8x1xf32> to tensor<8x16xf32>
  return %b : tensor<8x16xf32>
}

// Refused: an index that is used as a value ties a generic to its shape.
// CHECK-LABEL: @tied
// CHECK: tds.reshape
// CHECK: tds.generic (%{{.*}}, %{{.*}}, %{{.*}}) in (8, 4, 4)
func.func @tied(%a: tensor<8x3xf32>, %b: tensor<3x16xf32>) -> tensor<8x4x4xf32> {
  %c = tds.contract %a[0, 2], %b[2, 1] to [0, 1] : tensor<8x3xf32>, tensor<3x16xf32> to tensor<8x16xf32>
  %s = tds.reshape %c : tensor<8x16xf32> to tensor<8x4x4xf32>
  %r = tds.generic (%i, %j, %k) in (8, 4, 4) : tensor<8x4x4xf32> {
    %e = tds.read %s[%i, %j, %k] : tensor<8x4x4xf32>
    %w = tds.cast %k : index to i32
    %f = tds.cast %w : i32 to f32
    %p = tds.mul %e, %f : f32
    tds.yield %p : f32
  }
  return %r : tensor<8x4x4xf32>
}
