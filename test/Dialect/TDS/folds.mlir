// RUN: tds-opt %s | tds-opt | FileCheck %s --check-prefix=SAME
// RUN: tds-opt %s --canonicalize | FileCheck %s

// SAME-LABEL: func.func @scan
// SAME: tds.fold 3 reverse carry(%{{.*}}) slices(%{{.*}}) invariants(%{{.*}}) : (tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
// SAME-NEXT: ^bb0(%{{.*}}: tensor<i32>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>):
// CHECK-LABEL: func.func @scan
// CHECK: tds.fold 3 reverse carry
func.func @scan(%h: tensor<4xf32>, %x: tensor<3x4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  %r:2 = tds.fold 3 reverse carry(%h) slices(%x) invariants(%w) : (tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<4xf32>, %xt: tensor<4xf32>, %b: tensor<4xf32>):
    %m = tds.mul %a, %b : tensor<4xf32>
    %n = tds.add %m, %xt : tensor<4xf32>
    tds.yield %n, %m : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<3x4xf32>
}

// What only invariants enter is computed once, in front of the loop; a constant is made inside.
// CHECK-LABEL: func.func @hoist
// CHECK: %[[E:.*]] = tds.exp %arg1
// CHECK: tds.fold 3 carry(%arg0) invariants(%[[E]]) :
// CHECK: ^bb0(%{{.*}}, %[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>):
// CHECK: %[[TWO:.*]] = tds.constant dense<2.0
// CHECK: %[[M:.*]] = tds.mul %[[A]], %[[B]]
// CHECK: tds.add %[[M]], %[[TWO]]
func.func @hoist(%h: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %two = tds.constant dense<2.0> : tensor<4xf32>
  %r = tds.fold 3 carry(%h) invariants(%w, %two) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    %e = tds.exp %b : tensor<4xf32>
    %m = tds.mul %a, %e : tensor<4xf32>
    %n = tds.add %m, %c : tensor<4xf32>
    tds.yield %n : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// But not what a gradient in the loop goes through: it would be no part of the derivative. What only the loss reads, or nothing of it, is.
// CHECK-LABEL: func.func @slope
// CHECK: %[[K:.*]] = tds.stop_gradient %arg1
// CHECK: %[[C:.*]] = tds.cos %[[K]]
// CHECK: tds.fold 3 carry(%arg0, %arg0) invariants(%arg1, %arg2, %[[C]]) :
// CHECK: ^bb0(%{{.*}}, %[[A:.*]]: tensor<f32>, %{{.*}}, %[[W:.*]]: tensor<f32>, %[[V:.*]]: tensor<f32>, %[[D:.*]]: tensor<f32>):
// CHECK: %[[E:.*]] = tds.exp %[[W]]
// CHECK: %[[M:.*]] = tds.mul %[[E]], %[[D]]
// CHECK: %[[N:.*]] = tds.mul %[[M]], %[[A]]
// CHECK: tds.gradient %[[N]] wrt %[[W]], %[[V]]
func.func @slope(%h: tensor<f32>, %w: tensor<f32>, %v: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %r:2 = tds.fold 3 carry(%h, %h) invariants(%w, %v, %w) : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>, %o: tensor<f32>):
    %k = tds.stop_gradient %o : tensor<f32>
    %s = tds.cos %k : tensor<f32>
    %e = tds.exp %c : tensor<f32>
    %m = tds.mul %e, %s : tensor<f32>
    %n = tds.mul %m, %a : tensor<f32>
    %g:2 = tds.gradient %n wrt %c, %d : tensor<f32> wrt tensor<f32>, tensor<f32>
    tds.yield %g#0, %g#1 : tensor<f32>, tensor<f32>
  }
  return %r#0, %r#1 : tensor<f32>, tensor<f32>
}

// Carried values that no result needs go, with the slices they used; those that are passed on are their initial values; what is collected alike everywhere is a
// broadcast.
// CHECK-LABEL: func.func @dead
// CHECK: %[[B:.*]] = tds.broadcast %arg1 axes [1] : tensor<4xf32> to tensor<3x4xf32>
// CHECK: %[[R:.*]] = tds.fold 3 carry(%arg0) invariants(%arg1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
// CHECK: return %[[R]], %arg1, %[[B]]
func.func @dead(%h: tensor<4xf32>, %w: tensor<4xf32>, %x: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>) {
  %r:4 = tds.fold 3 carry(%h, %w, %h) slices(%x) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %xt: tensor<4xf32>):
    %m = tds.mul %a, %b : tensor<4xf32>
    %n = tds.add %c, %xt : tensor<4xf32>
    tds.yield %m, %b, %n, %b : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1, %r#3 : tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>
}

// No iteration and one iteration are no loop.
// CHECK-LABEL: func.func @none
// CHECK: %[[E:.*]] = tds.constant dense<0.000000e+00> : tensor<0x4xf32>
// CHECK: return %arg0, %[[E]]
func.func @none(%h: tensor<4xf32>) -> (tensor<4xf32>, tensor<0x4xf32>) {
  %r:2 = tds.fold 0 carry(%h) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<0x4xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<4xf32>):
    %m = tds.exp %a : tensor<4xf32>
    tds.yield %m, %a : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<0x4xf32>
}

// CHECK-LABEL: func.func @once
// CHECK-NOT: tds.fold
// CHECK: tds.exp
func.func @once(%h: tensor<4xf32>, %x: tensor<1x4xf32>) -> (tensor<4xf32>, tensor<1x4xf32>) {
  %r:2 = tds.fold 1 carry(%h) slices(%x) : (tensor<4xf32>, tensor<1x4xf32>) -> (tensor<4xf32>, tensor<1x4xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<4xf32>, %xt: tensor<4xf32>):
    %m = tds.exp %a : tensor<4xf32>
    %n = tds.add %m, %xt : tensor<4xf32>
    tds.yield %n, %a : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<1x4xf32>
}

// The read of a guard at the iteration cannot leave the tensor, so the guard goes. A checkpoint stays, and nothing leaves it.
// CHECK-LABEL: func.func @stay
// CHECK: tds.fold 1 carry() invariants(%arg0)
// CHECK: tds.exp
// CHECK: tds.fold 3 carry
// CHECK: tds.read %{{.*}}[%{{.*}}] : tensor<3xf32>
func.func @stay(%h: tensor<f32>, %x: tensor<3xf32>) -> (tensor<1xf32>, tensor<f32>) {
  %c = tds.fold 1 carry() invariants(%h) {tds.checkpoint} : (tensor<f32>) -> (tensor<1xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<f32>):
    %m = tds.exp %a : tensor<f32>
    tds.yield %m : tensor<f32>
  }
  %r = tds.fold 3 carry(%h) invariants(%x) : (tensor<f32>, tensor<3xf32>) -> (tensor<f32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<f32>, %b: tensor<3xf32>):
    %e = tds.generic () in () : tensor<f32> {
      %n = tds.read %t[] : tensor<i32>
      %at = tds.cast %n : i32 to index
      %p = tds.read %b[%at] guard 0.0 : f32 : tensor<3xf32>
      %o = tds.read %a[] : tensor<f32>
      %s = tds.add %p, %o : f32
      tds.yield %s : f32
    }
    tds.yield %e : tensor<f32>
  }
  return %c, %r : tensor<1xf32>, tensor<f32>
}
