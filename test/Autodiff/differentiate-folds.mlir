// RUN: tds-opt %s --tds-differentiate --canonicalize | FileCheck %s

// The derivative runs backwards. The forward loop keeps what enters each iteration, and the result of tanh instead of the product it is made of; the
// adjoint of the weight is one contraction over all iterations.
// CHECK-LABEL: func.func @rnn
// CHECK: %[[F:.*]]:3 = tds.fold 3 carry(%arg0) slices(%arg1) invariants(%arg2)
// CHECK: %[[C:.*]] = tds.contract
// CHECK: %[[N:.*]] = tds.add %[[C]]
// CHECK: %[[U:.*]] = tds.tanh %[[N]]
// CHECK: tds.yield %[[U]], %{{.*}}, %[[U]]
// CHECK: %[[B:.*]]:2 = tds.fold 3 reverse carry(%{{.*}}) slices(%[[F]]#2) invariants(%arg2)
// CHECK-NOT: tds.tanh
// CHECK: %[[W:.*]] = tds.contract %[[F]]#1[2, 0], %[[B]]#1[2, 1] to [0, 1] : tensor<3x4xf32>, tensor<3x4xf32> to tensor<4x4xf32>
// CHECK: return %[[B]]#0, %[[B]]#1, %[[W]]
func.func @rnn(%h: tensor<4xf32>, %x: tensor<3x4xf32>, %m: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>, tensor<4x4xf32>) {
  %r = tds.fold 3 carry(%h) slices(%x) invariants(%m) : (tensor<4xf32>, tensor<3x4xf32>, tensor<4x4xf32>) -> (tensor<4xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<4xf32>, %xt: tensor<4xf32>, %b: tensor<4x4xf32>):
    %p = tds.contract %a[0], %b[0, 1] to [1] : tensor<4xf32>, tensor<4x4xf32> to tensor<4xf32>
    %n = tds.add %p, %xt : tensor<4xf32>
    %u = tds.tanh %n : tensor<4xf32>
    tds.yield %u : tensor<4xf32>
  }
  %s = tds.mul %r, %r : tensor<4xf32>
  %l = tds.reduce sum %s axes [0] : tensor<4xf32> to tensor<f32>
  %g:3 = tds.gradient %l wrt %h, %x, %m : tensor<f32> wrt tensor<4xf32>, tensor<3x4xf32>, tensor<4x4xf32>
  return %g#0, %g#1, %g#2 : tensor<4xf32>, tensor<3x4xf32>, tensor<4x4xf32>
}

// A tensor that is read at the iteration is given in slices, so that its adjoint is collected.
// CHECK-LABEL: func.func @read
// CHECK: %[[X:.*]] = tds.generic (%{{.*}}, %{{.*}}) in (3, 4) : tensor<3x4xf32>
// CHECK: tds.fold 3 carry(%{{.*}}) slices(%[[X]])
// CHECK: tds.fold 3 reverse carry({{.*}}) {{.*}} -> ({{.*}}tensor<3x4xf32>) {
func.func @read(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %h = tds.constant dense<0.5> : tensor<4xf32>
  %r = tds.fold 3 carry(%h) invariants(%x) : (tensor<4xf32>, tensor<4x3xf32>) -> (tensor<4xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<4xf32>, %b: tensor<4x3xf32>):
    %e = tds.generic (%i) in (4) : tensor<4xf32> {
      %n = tds.read %t[] : tensor<i32>
      %at = tds.cast %n : i32 to index
      %p = tds.read %b[%i, %at] : tensor<4x3xf32>
      tds.yield %p : f32
    }
    %m = tds.mul %a, %e : tensor<4xf32>
    %u = tds.sin %m : tensor<4xf32>
    tds.yield %u : tensor<4xf32>
  }
  %l = tds.reduce sum %r axes [0] : tensor<4xf32> to tensor<f32>
  %g = tds.gradient %l wrt %x : tensor<f32> wrt tensor<4x3xf32>
  return %g : tensor<4x3xf32>
}

// A checkpoint keeps its input only, and its derivative stays apart. The adjoint of what it is given is no sum over iterations: nothing is added to zeros.
// CHECK-LABEL: func.func @checkpoint
// CHECK: tds.sin
// CHECK: %[[F:.*]] = tds.fold 1 reverse carry() slices(%{{.*}}) invariants(%arg0) {tds.recompute} : {{.*}} -> tensor<1x4xf32> {
// CHECK: tds.sin
// CHECK-NOT: tds.add
// CHECK: tds.yield %{{.*}} : tensor<4xf32>
// CHECK: tds.reshape %[[F]] : tensor<1x4xf32> to tensor<4xf32>
func.func @checkpoint(%h: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  %c = tds.fold 1 carry() invariants(%h) {tds.checkpoint} : (tensor<4xf32>) -> (tensor<1x4xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<4xf32>):
    %p = tds.sin %a : tensor<4xf32>
    %q = tds.exp %p : tensor<4xf32>
    tds.yield %q : tensor<4xf32>
  }
  %s = tds.mul %c, %c : tensor<1x4xf32>
  %l = tds.reduce sum %s axes [0, 1] : tensor<1x4xf32> to tensor<f32>
  %g = tds.gradient %l wrt %h : tensor<f32> wrt tensor<4xf32>
  return %l, %g : tensor<f32>, tensor<4xf32>
}
