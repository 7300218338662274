// RUN: tds-opt -tds-scale-losses %s | FileCheck %s

tds.variable @v param : tensor<f32>
tds.variable @n state : tensor<i64>

// What results read of variables that were written is what stands, also between two writes; it goes behind the overflow. What a second loss reads is kept as far as
// the gradients before it say. What the loss itself reads, and what was written (an integer of the batch), stays.
// CHECK-LABEL: func.func @twice
// CHECK: %[[G1:.*]] = tds.gradient
// CHECK: %[[FIRST:.*]] = tds.isfinite
// CHECK: %[[COUNT:.*]] = tds.add %arg2
// CHECK: %[[A:.*]] = tds.stop_gradient %{{.*}} {tds.written = @v}
// CHECK: %[[EARLY:.*]] = tds.not %[[FIRST]]
// CHECK: %[[SOFAR:.*]] = tds.select %[[EARLY]], %arg1, %[[A]]
// CHECK: tds.mul %arg0, %[[SOFAR]]
// CHECK: %[[G2:.*]] = tds.gradient
// CHECK: %[[BOTH:.*]] = tds.and
// CHECK: %[[OVERFLOW:.*]] = tds.not %[[BOTH]]
// CHECK: %[[STANDS:.*]] = tds.select %[[OVERFLOW]], %arg1, %[[A]]
// CHECK: %[[R:.*]] = tds.exp %[[STANDS]]
// CHECK: %[[NEW:.*]] = tds.select %[[OVERFLOW]], %arg1,
// CHECK: return %[[R]], %[[COUNT]], %{{.*}}, %{{.*}}, %[[NEW]],
func.func @twice(%x: tensor<f32> {tds.input = "x"}, %w: tensor<f32> {tds.variable = @v}, %n: tensor<i64> {tds.variable = @n})
    -> (tensor<f32> {tds.result = "between"}, tensor<i64> {tds.result = "count"}, tensor<f32> {tds.variable = @v}, tensor<i64> {tds.variable = @n})
    attributes {tds.entry = "step"} {
  %loss = tds.mul %x, %w : tensor<f32>
  %g = tds.gradient %loss wrt %w : tensor<f32> wrt tensor<f32>
  %m = tds.add %n, %n : tensor<i64>
  %count = tds.stop_gradient %m : tensor<i64>
  %sub = tds.sub %w, %g : tensor<f32>
  %a = tds.stop_gradient %sub {tds.written = @v} : tensor<f32>
  %r = tds.exp %a : tensor<f32>
  %second = tds.mul %x, %a : tensor<f32>
  %h = tds.gradient %second wrt %a : tensor<f32> wrt tensor<f32>
  %b = tds.sub %a, %h : tensor<f32>
  %new = tds.stop_gradient %b : tensor<f32>
  return %r, %m, %new, %count : tensor<f32>, tensor<i64>, tensor<f32>, tensor<i64>
}

// Nothing is kept where no result reads what was written: what stands behind the gradient stays in its place.
// CHECK-LABEL: func.func @plain
// CHECK: tds.gradient
// CHECK: %[[NEW:.*]] = tds.sub %arg1
// CHECK: %[[SQUARE:.*]] = tds.mul %arg1, %arg1
// CHECK: tds.not
// CHECK-NEXT: tds.select %{{.*}}, %arg1, %[[NEW]]
// CHECK-NOT: tds.select %{{.*}}, %arg1
// CHECK: return %{{.*}}, %[[SQUARE]],
func.func @plain(%x: tensor<f32> {tds.input = "x"}, %w: tensor<f32> {tds.variable = @v}) -> (tensor<f32> {tds.result = "loss"}, tensor<f32> {tds.result = "square"}, tensor<f32> {tds.variable = @v})
    attributes {tds.entry = "step"} {
  %loss = tds.mul %x, %w : tensor<f32>
  %g = tds.gradient %loss wrt %w : tensor<f32> wrt tensor<f32>
  %new = tds.sub %w, %g : tensor<f32>
  %square = tds.mul %w, %w : tensor<f32>
  return %loss, %square, %new : tensor<f32>, tensor<f32>, tensor<f32>
}

func.func @init(%seed: tensor<i64> {tds.input = "seed"})
    -> (tensor<f32> {tds.variable = @v}, tensor<i64> {tds.variable = @n}) attributes {tds.entry = "init"} {
  %w = tds.constant dense<0.0> : tensor<f32>
  %n = tds.constant dense<0> : tensor<i64>
  return %w, %n : tensor<f32>, tensor<i64>
}
