// RUN: tds-opt %s --tds-batch-folds --split-input-file | FileCheck %s
// RUN: tds-opt %s --tds-batch-folds --split-input-file --remarks-filter=folds --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Slices become the stacked tensors, what is the same in each iteration is repeated where it meets them, or computed once; every axis is one further.
// CHECK-LABEL: func.func @elements
// CHECK-SAME: (%[[X:.*]]: tensor<3x4xf32>, %[[S:.*]]: tensor<f32>)
// CHECK-NEXT: %[[E:.*]] = tds.exp %[[S]] : tensor<f32>
// CHECK-NEXT: %[[B:.*]] = tds.broadcast %[[E]] axes [] : tensor<f32> to tensor<4xf32>
// CHECK-NEXT: %[[C:.*]] = tds.broadcast %[[B]] axes [1] : tensor<4xf32> to tensor<3x4xf32>
// CHECK-NEXT: %[[M:.*]] = tds.mul %[[X]], %[[C]] : tensor<3x4xf32>
// CHECK-NEXT: %[[R:.*]] = tds.reduce sum %[[M]] axes [1] : tensor<3x4xf32> to tensor<3xf32>
// CHECK-NEXT: %[[Q:.*]] = tds.broadcast %[[R]] axes [0] : tensor<3xf32> to tensor<3x2xf32>
// CHECK-NEXT: %[[H:.*]] = tds.reshape %[[M]] : tensor<3x4xf32> to tensor<3x2x2xf32>
// CHECK-NEXT: %[[T:.*]] = tds.transpose %[[H]] [0, 2, 1] : tensor<3x2x2xf32> to tensor<3x2x2xf32>
// CHECK-NEXT: %[[U:.*]] = tds.broadcast %[[E]] axes [] : tensor<f32> to tensor<3xf32>
// CHECK-NEXT: return %[[Q]], %[[T]], %[[U]]
func.func @elements(%x: tensor<3x4xf32>, %s: tensor<f32>) -> (tensor<3x2xf32>, tensor<3x2x2xf32>, tensor<3xf32>) {
  %y:3 = tds.fold 3 carry() slices(%x) invariants(%s) : (tensor<3x4xf32>, tensor<f32>) -> (tensor<3x2xf32>, tensor<3x2x2xf32>, tensor<3xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<4xf32>, %b: tensor<f32>):
    %e = tds.exp %b : tensor<f32>
    %c = tds.broadcast %e axes [] : tensor<f32> to tensor<4xf32>
    %m = tds.mul %a, %c : tensor<4xf32>
    %r = tds.reduce sum %m axes [0] : tensor<4xf32> to tensor<f32>
    %q = tds.broadcast %r axes [] : tensor<f32> to tensor<2xf32>
    %h = tds.reshape %m : tensor<4xf32> to tensor<2x2xf32>
    %u = tds.transpose %h [1, 0] : tensor<2x2xf32> to tensor<2x2xf32>
    tds.yield %q, %u, %e : tensor<2xf32>, tensor<2x2xf32>, tensor<f32>
  }
  return %y#0, %y#1, %y#2 : tensor<3x2xf32>, tensor<3x2x2xf32>, tensor<3xf32>
}

// -----

// An index definition gets the iteration as its first index; the number of the iteration is that index.
// CHECK-LABEL: func.func @indices
// CHECK: %[[N:.*]] = tds.generic (%[[L:.*]]) in (3) : tensor<3xi32> {
// CHECK-NEXT: tds.cast %[[L]] : index to i32
// CHECK: tds.generic (%[[T:.*]], %[[I:.*]]) in (3, 2) sum (%[[J:.*]]) in (4) : tensor<3x2xf32> {
// CHECK: tds.read %arg0[%[[T]], %{{.*}}] guard 0.000000e+00 : f32 : tensor<3x4xf32>
// CHECK: tds.read %arg1[%[[J]]] : tensor<4xf32>
// CHECK: tds.read %[[N]][%[[T]]] : tensor<3xi32>
// CHECK-NOT: tds.fold
func.func @indices(%x: tensor<3x4xf32>, %w: tensor<4xf32>) -> tensor<3x2xf32> {
  %y = tds.fold 3 reverse carry() slices(%x) invariants(%w) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x2xf32> {
  ^bb0(%t: tensor<i32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    %g = tds.generic (%i) in (2) sum (%j) in (4) : tensor<2xf32> {
      %at = tds.apply affine_map<(d0, d1) -> (d0 + d1)> (%i, %j)
      %e = tds.read %a[%at] guard 0.0 : f32 : tensor<4xf32>
      %f = tds.read %b[%j] : tensor<4xf32>
      %n = tds.read %t[] : tensor<i32>
      %c = tds.cast %n : i32 to f32
      %m = tds.mul %e, %f : f32
      %p = tds.mul %m, %c : f32
      tds.yield %p : f32
    }
    tds.yield %g : tensor<2xf32>
  }
  return %y : tensor<3x2xf32>
}

// -----

// Refused: contractions stay in their loop, and a loop that carries something has an order.
// REMARK: [Missed] batch | Category:folds {{.*}}stays a loop: tds.contract is not done for all iterations at once
// CHECK-LABEL: func.func @stay
// CHECK: tds.fold 3
// CHECK: tds.fold 3
func.func @stay(%x: tensor<3x4xf32>, %w: tensor<4x4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>) {
  %y = tds.fold 3 carry() slices(%x) invariants(%w) : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32> {
  ^bb0(%t: tensor<i32>, %a: tensor<4xf32>, %b: tensor<4x4xf32>):
    %c = tds.contract %a[0], %b[0, 1] to [1] : tensor<4xf32>, tensor<4x4xf32> to tensor<4xf32>
    tds.yield %c : tensor<4xf32>
  }
  %zero = tds.constant dense<0.0> : tensor<4xf32>
  %z = tds.fold 3 carry(%zero) slices(%x) : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<4xf32> {
  ^bb0(%t: tensor<i32>, %h: tensor<4xf32>, %a: tensor<4xf32>):
    %c = tds.add %h, %a : tensor<4xf32>
    tds.yield %c : tensor<4xf32>
  }
  return %y, %z : tensor<3x4xf32>, tensor<4xf32>
}

// -----

// Refused: a checkpoint is known by its fold.
// CHECK-LABEL: func.func @checkpoint
// CHECK: tds.fold 1
func.func @checkpoint(%x: tensor<4xf32>) -> tensor<1x4xf32> {
  %y = tds.fold 1 carry() invariants(%x) {tds.checkpoint} : (tensor<4xf32>) -> tensor<1x4xf32> {
  ^bb0(%t: tensor<i32>, %a: tensor<4xf32>):
    %b = tds.exp %a : tensor<4xf32>
    tds.yield %b : tensor<4xf32>
  }
  return %y : tensor<1x4xf32>
}

// -----

// A sum that has no order is one over all iterations, behind what each adds to it.
// CHECK-LABEL: func.func @any_order
// CHECK-SAME: (%[[S:.*]]: tensor<f32>, %[[X:.*]]: tensor<3x4xf32>, %[[Y:.*]]: tensor<3xf32>)
// CHECK-NEXT: %[[R:.*]] = tds.reduce sum %[[X]] axes [1] : tensor<3x4xf32> to tensor<3xf32>
// CHECK-NEXT: %[[A:.*]] = tds.add %[[R]], %[[Y]] : tensor<3xf32>
// CHECK-NEXT: %[[T:.*]] = tds.reduce sum %[[A]] axes [0] : tensor<3xf32> to tensor<f32>
// CHECK-NEXT: %[[Z:.*]] = tds.add %[[S]], %[[T]] {tds.any_order} : tensor<f32>
// CHECK-NEXT: return %[[Z]], %[[R]]
func.func @any_order(%s: tensor<f32>, %x: tensor<3x4xf32>, %y: tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>) {
  %z:2 = tds.fold 3 carry(%s) slices(%x, %y) : (tensor<f32>, tensor<3x4xf32>, tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>) {
  ^bb0(%t: tensor<i32>, %h: tensor<f32>, %a: tensor<4xf32>, %b: tensor<f32>):
    %r = tds.reduce sum %a axes [0] : tensor<4xf32> to tensor<f32>
    %c = tds.add %h, %r {tds.any_order} : tensor<f32>
    %d = tds.add %c, %b {tds.any_order} : tensor<f32>
    tds.yield %d, %r : tensor<f32>, tensor<f32>
  }
  return %z#0, %z#1 : tensor<f32>, tensor<3xf32>
}

// -----

// Refused: the sum is used on the way, or two sums are added to each other.
// CHECK-LABEL: func.func @used
// CHECK: tds.fold 3
// CHECK: tds.fold 3
// CHECK: tds.fold 3
func.func @used(%s: tensor<f32>, %y: tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %p:2 = tds.fold 3 carry(%s) slices(%y) : (tensor<f32>, tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>) {
  ^bb0(%t: tensor<i32>, %h: tensor<f32>, %b: tensor<f32>):
    %d = tds.add %h, %b {tds.any_order} : tensor<f32>
    tds.yield %d, %d : tensor<f32>, tensor<f32>
  }
  %q = tds.fold 3 carry(%s) slices(%y) : (tensor<f32>, tensor<3xf32>) -> tensor<f32> {
  ^bb0(%t: tensor<i32>, %h: tensor<f32>, %b: tensor<f32>):
    %c = tds.mul %h, %b : tensor<f32>
    %d = tds.add %h, %c {tds.any_order} : tensor<f32>
    tds.yield %d : tensor<f32>
  }
  %r:2 = tds.fold 3 carry(%s, %s) slices(%y) : (tensor<f32>, tensor<f32>, tensor<3xf32>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%t: tensor<i32>, %g: tensor<f32>, %h: tensor<f32>, %b: tensor<f32>):
    %d = tds.add %g, %h {tds.any_order} : tensor<f32>
    tds.yield %d, %b : tensor<f32>, tensor<f32>
  }
  return %p#0, %p#1, %q, %r#0, %r#1, %s : tensor<f32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
