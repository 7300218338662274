// RUN: tds-opt -tds-recompute-segments=count=9 %s | FileCheck %s
// RUN: tds-opt -tds-recompute-segments=count=9 --remarks-filter=memory --remark-format=emitRemark %s 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: 4 iterations at a time of this loop are computed again in the backward pass, so that {{[0-9]+}} bytes are not kept

tds.variable @w param : tensor<16x16xf32>
tds.variable @ws param : tensor<16x16x16xf32>
tds.variable @seed state : tensor<i64>

// Nine layers of one width: what crosses is as large everywhere. A layer keeps its result and no more, so a segment has two of them at least; the last layer is
// there when the backward pass begins.
// CHECK-LABEL: func.func @chain
// CHECK-SAME: segments = 4
// CHECK: tds.fold 1 carry() {{.*}}tds.checkpoint
// CHECK-COUNT-2: tds.tanh
// CHECK-NEXT: tds.yield
// CHECK-COUNT-3: tds.checkpoint
// CHECK: tds.yield
// CHECK-NOT: tds.checkpoint
// CHECK: tds.tanh
// CHECK: tds.gradient
func.func @chain(%x: tensor<32x16xf32> {tds.input = "x", tds.data_axis}, %w: tensor<16x16xf32> {tds.variable = @w})
    -> (tensor<f32> {tds.result = "loss"}, tensor<16x16xf32> {tds.variable = @w}) attributes {tds.entry = "step"} {
  %h1 = tds.contract %x[0, 1], %w[1, 2] to [0, 2] : tensor<32x16xf32>, tensor<16x16xf32> to tensor<32x16xf32>
  %t1 = tds.tanh %h1 : tensor<32x16xf32>
  %h2 = tds.contract %t1[0, 1], %w[1, 2] to [0, 2] : tensor<32x16xf32>, tensor<16x16xf32> to tensor<32x16xf32>
  %t2 = tds.tanh %h2 : tensor<32x16xf32>
  %h3 = tds.contract %t2[0, 1], %w[1, 2] to [0, 2] : tensor<32x16xf32>, tensor<16x16xf32> to tensor<32x16xf32>
  %t3 = tds.tanh %h3 : tensor<32x16xf32>
  %h4 = tds.contract %t3[0, 1], %w[1, 2] to [0, 2] : tensor<32x16xf32>, tensor<16x16xf32> to tensor<32x16xf32>
  %t4 = tds.tanh %h4 : tensor<32x16xf32>
  %h5 = tds.contract %t4[0, 1], %w[1, 2] to [0, 2] : tensor<32x16xf32>, tensor<16x16xf32> to tensor<32x16xf32>
  %t5 = tds.tanh %h5 : tensor<32x16xf32>
  %h6 = tds.contract %t5[0, 1], %w[1, 2] to [0, 2] : tensor<32x16xf32>, tensor<16x16xf32> to tensor<32x16xf32>
  %t6 = tds.tanh %h6 : tensor<32x16xf32>
  %h7 = tds.contract %t6[0, 1], %w[1, 2] to [0, 2] : tensor<32x16xf32>, tensor<16x16xf32> to tensor<32x16xf32>
  %t7 = tds.tanh %h7 : tensor<32x16xf32>
  %h8 = tds.contract %t7[0, 1], %w[1, 2] to [0, 2] : tensor<32x16xf32>, tensor<16x16xf32> to tensor<32x16xf32>
  %t8 = tds.tanh %h8 : tensor<32x16xf32>
  %h9 = tds.contract %t8[0, 1], %w[1, 2] to [0, 2] : tensor<32x16xf32>, tensor<16x16xf32> to tensor<32x16xf32>
  %t9 = tds.tanh %h9 : tensor<32x16xf32>
  %loss = tds.reduce sum %t9 axes [0, 1] : tensor<32x16xf32> to tensor<f32>
  %g = tds.gradient %loss wrt %w : tensor<f32> wrt tensor<16x16xf32>
  return %loss, %g : tensor<f32>, tensor<16x16xf32>
}

// A loop whose iterations keep nothing but what they carry: of two loops, one in the other, the outer one keeps what it carries. Random numbers are those of
// the iteration.
// CHECK-LABEL: func.func @layers
// CHECK: tds.reshape %{{.*}} : tensor<16x16x16xf32> to tensor<4x4x16x16xf32>
// CHECK: tds.fold 4 carry
// CHECK: ^bb0(%[[OUTER:[^:]*]]: tensor<i32>
// CHECK-NEXT: tds.fold 4 carry(%{{.*}}) slices(%{{.*}}) invariants(%{{.*}}, %[[OUTER]])
// CHECK-NEXT: ^bb0(%[[INNER:[^:]*]]: tensor<i32>, {{.*}}, %[[O:[^:]*]]: tensor<i32>):
// CHECK: %[[FOUR:.*]] = tds.constant dense<4> : tensor<i32>
// CHECK: %[[P:.*]] = tds.mul %[[O]], %[[FOUR]]
// CHECK: %[[N:.*]] = tds.add %[[P]], %[[INNER]]
// CHECK: tds.read %[[N]][]
// CHECK-NOT: tds.checkpoint
// CHECK: tds.gradient
func.func @layers(%x: tensor<32x16xf32> {tds.input = "x", tds.data_axis}, %seed: tensor<i64> {tds.variable = @seed}, %w: tensor<16x16x16xf32> {tds.variable = @ws})
    -> (tensor<f32> {tds.result = "loss"}, tensor<16x16x16xf32> {tds.variable = @ws}, tensor<16x2xf32> {tds.result = "all"}) attributes {tds.entry = "step"} {
  %y:2 = tds.fold 16 carry(%x) slices(%w) invariants(%seed) : (tensor<32x16xf32>, tensor<16x16x16xf32>, tensor<i64>) -> (tensor<32x16xf32>, tensor<16x2xf32>) {
  ^bb0(%n: tensor<i32>, %v: tensor<32x16xf32>, %p: tensor<16x16xf32>, %s: tensor<i64>):
    %h = tds.contract %v[0, 1], %p[1, 2] to [0, 2] : tensor<32x16xf32>, tensor<16x16xf32> to tensor<32x16xf32>
    %t = tds.tanh %h : tensor<32x16xf32>
    %r = tds.generic (%i) in (2) : tensor<2xf32> {
      %zero = tds.constant 0 : i64
      %number = tds.read %n[] : tensor<i32>
      %iteration = tds.cast %number : i32 to index
      %key = tds.read %s[] : tensor<i64>
      %value = tds.random uniform %key, %zero, %i iteration %iteration {site = 3 : i32} : f32
      tds.yield %value : f32
    }
    tds.yield %t, %r : tensor<32x16xf32>, tensor<2xf32>
  }
  %loss = tds.reduce sum %y#0 axes [0, 1] : tensor<32x16xf32> to tensor<f32>
  %g = tds.gradient %loss wrt %w : tensor<f32> wrt tensor<16x16x16xf32>
  return %loss, %g, %y#1 : tensor<f32>, tensor<16x16x16xf32>, tensor<16x2xf32>
}
