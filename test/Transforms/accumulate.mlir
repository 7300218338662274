// RUN: tds-opt -split-input-file -tds-accumulate %s | FileCheck %s

tds.variable @w param : tensor<4xf32>
tds.variable @n state : tensor<i64>

// Two micro-batches of 2 rows in a loop, and the one row that is left. What the step makes of the gradient stands outside, once, as does the counter.
// CHECK-LABEL: func.func @train
// CHECK-NOT: micro
// CHECK: %[[ZERO:.*]] = tds.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK: %[[HEAD:.*]] = tds.generic (%{{.*}}, %{{.*}}) in (4, 4) : tensor<4x4xf32>
// CHECK: %[[PARTS:.*]] = tds.reshape %[[HEAD]] : tensor<4x4xf32> to tensor<2x2x4xf32>
// CHECK: %[[LOOP:.*]]:3 = tds.fold 2 carry(%{{.*}}, %[[ZERO]]) slices(%[[PARTS]]) invariants({{.*}}) {{.*}} -> (tensor<f32>, tensor<4xf32>, tensor<2x2xf32>) {
// CHECK: ^bb0(%[[T:.*]]: tensor<i32>, %[[LOSS:.*]]: tensor<f32>, %[[SUM:.*]]: tensor<4xf32>, %[[X:.*]]: tensor<2x4xf32>,
// The draws of the rows before come first.
// CHECK: tds.read %[[T]][] : tensor<i32>
// CHECK: tds.apply #{{.*}} (%{{.*}}, %{{.*}})
// CHECK: tds.random uniform
// CHECK: %[[G:.*]] = tds.gradient %{{.*}} wrt %{{.*}} : tensor<f32> wrt tensor<4xf32>
// CHECK: %[[NEXT:.*]] = tds.add %[[SUM]], %[[G]] : tensor<4xf32>
// CHECK: tds.yield %{{.*}}, %[[NEXT]], %{{.*}} : tensor<f32>, tensor<4xf32>, tensor<2xf32>
// CHECK: }
// CHECK: %[[LAST:.*]] = tds.gradient %{{.*}} wrt %arg1
// CHECK: tds.constant dense<4.000000e-01> : tensor<4xf32>
// CHECK: %[[MANY:.*]] = tds.mul %[[LOOP]]#1
// CHECK: tds.constant dense<2.000000e-01> : tensor<4xf32>
// CHECK: %[[FEW:.*]] = tds.mul %[[LAST]]
// CHECK: %[[MEAN:.*]] = tds.add %[[MANY]], %[[FEW]] : tensor<4xf32>
// CHECK: tds.sub %arg1, %[[MEAN]] : tensor<4xf32>
// CHECK: tds.add %arg2
// CHECK-NOT: func.func {{.*}}@train.
func.func @train(%x: tensor<5x4xf32> {tds.input = "x", tds.data_axis}, %w: tensor<4xf32> {tds.variable = @w}, %n: tensor<i64> {tds.variable = @n})
    -> (tensor<f32> {tds.result = "loss"}, tensor<5xf32> {tds.result = "each", tds.data_axis}, tensor<4xf32> {tds.variable = @w}, tensor<i64> {tds.variable = @n})
    attributes {tds.entry = "step", micro = @train.micro, last = @train.last} {
  %u = tds.generic (%i, %j) in (5, 4) : tensor<5x4xf32> {
    %s = tds.constant 7 : i64
    %l = tds.apply affine_map<(d0, d1) -> (d0 * 4 + d1)> (%i, %j)
    %r = tds.random uniform %s, %s, %l {site = 0 : i32} : f32
    tds.yield %r : f32
  }
  %b = tds.broadcast %w axes [1] : tensor<4xf32> to tensor<5x4xf32>
  %p = tds.mul %x, %b : tensor<5x4xf32>
  %q = tds.mul %p, %u : tensor<5x4xf32>
  %each = tds.reduce sum %q axes [1] : tensor<5x4xf32> to tensor<5xf32>
  %loss = tds.reduce sum %each axes [0] : tensor<5xf32> to tensor<f32>
  %g = tds.gradient %loss wrt %w : tensor<f32> wrt tensor<4xf32>
  %new = tds.sub %w, %g : tensor<4xf32>
  %m = tds.add %n, %n : tensor<i64>
  return %loss, %each, %new, %m : tensor<f32>, tensor<5xf32>, tensor<4xf32>, tensor<i64>
}
func.func private @train.micro(%x: tensor<2x4xf32> {tds.input = "x", tds.data_axis}, %w: tensor<4xf32>, %n: tensor<i64>)
    -> (tensor<f32>, tensor<2xf32>, tensor<4xf32>, tensor<i64>) {
  %u = tds.generic (%i, %j) in (2, 4) : tensor<2x4xf32> {
    %s = tds.constant 7 : i64
    %l = tds.apply affine_map<(d0, d1) -> (d0 * 4 + d1)> (%i, %j)
    %r = tds.random uniform %s, %s, %l {site = 0 : i32} : f32
    tds.yield %r : f32
  }
  %b = tds.broadcast %w axes [1] : tensor<4xf32> to tensor<2x4xf32>
  %p = tds.mul %x, %b : tensor<2x4xf32>
  %q = tds.mul %p, %u : tensor<2x4xf32>
  %each = tds.reduce sum %q axes [1] : tensor<2x4xf32> to tensor<2xf32>
  %loss = tds.reduce sum %each axes [0] : tensor<2xf32> to tensor<f32>
  %g = tds.gradient %loss wrt %w : tensor<f32> wrt tensor<4xf32>
  %new = tds.sub %w, %g : tensor<4xf32>
  %m = tds.add %n, %n : tensor<i64>
  return %loss, %each, %new, %m : tensor<f32>, tensor<2xf32>, tensor<4xf32>, tensor<i64>
}
func.func private @train.last(%x: tensor<1x4xf32> {tds.input = "x", tds.data_axis}, %w: tensor<4xf32>, %n: tensor<i64>)
    -> (tensor<f32>, tensor<1xf32>, tensor<4xf32>, tensor<i64>) {
  %u = tds.generic (%i, %j) in (1, 4) : tensor<1x4xf32> {
    %s = tds.constant 7 : i64
    %l = tds.apply affine_map<(d0, d1) -> (d0 * 4 + d1)> (%i, %j)
    %r = tds.random uniform %s, %s, %l {site = 0 : i32} : f32
    tds.yield %r : f32
  }
  %b = tds.broadcast %w axes [1] : tensor<4xf32> to tensor<1x4xf32>
  %p = tds.mul %x, %b : tensor<1x4xf32>
  %q = tds.mul %p, %u : tensor<1x4xf32>
  %each = tds.reduce sum %q axes [1] : tensor<1x4xf32> to tensor<1xf32>
  %loss = tds.reduce sum %each axes [0] : tensor<1xf32> to tensor<f32>
  %g = tds.gradient %loss wrt %w : tensor<f32> wrt tensor<4xf32>
  %new = tds.sub %w, %g : tensor<4xf32>
  %m = tds.add %n, %n : tensor<i64>
  return %loss, %each, %new, %m : tensor<f32>, tensor<1xf32>, tensor<4xf32>, tensor<i64>
}

// -----

// Refused: a step that names no part of itself, and what is no step.
// CHECK-LABEL: func.func @whole
// CHECK-NEXT: %[[LOSS:.*]] = tds.reduce sum %arg0
// CHECK-NEXT: %[[G:.*]] = tds.gradient %[[LOSS]] wrt %arg0
// CHECK-NEXT: return %[[LOSS]], %[[G]]
// CHECK-LABEL: func.func @predict
// CHECK-NEXT: tds.reduce
// CHECK-NEXT: return
func.func @whole(%x: tensor<5xf32> {tds.input = "x", tds.data_axis}) -> (tensor<f32> {tds.result = "loss"}, tensor<5xf32> {tds.result = "g", tds.data_axis})
    attributes {tds.entry = "step"} {
  %loss = tds.reduce sum %x axes [0] : tensor<5xf32> to tensor<f32>
  %g = tds.gradient %loss wrt %x : tensor<f32> wrt tensor<5xf32>
  return %loss, %g : tensor<f32>, tensor<5xf32>
}
func.func @predict(%x: tensor<5xf32> {tds.input = "x", tds.data_axis}) -> (tensor<f32> {tds.result = "sum"}) attributes {tds.entry = "function"} {
  %sum = tds.reduce sum %x axes [0] : tensor<5xf32> to tensor<f32>
  return %sum : tensor<f32>
}
