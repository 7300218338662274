// RUN: tds-opt -tds-recompute-segments=count=2 %s | FileCheck %s
// RUN: tds-opt -tds-recompute-segments=count=9 %s | FileCheck %s --check-prefix=ALL
// RUN: tds-opt '-tds-recompute-segments=count=9 join=9' %s | FileCheck %s --check-prefix=JOINED
// RUN: tds-opt -tds-recompute-segments %s | FileCheck %s --check-prefix=NONE
// RUN: tds-opt -tds-recompute-segments=count=9 --remarks-filter=memory --remark-format=emitRemark %s 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: operations from here on are computed again in the backward pass, so that {{[0-9]+}} bytes are not kept

tds.variable @a param : tensor<16x64xf32>
tds.variable @b param : tensor<64x16xf32>

// Three blocks that widen 16 to 64 and back. Little crosses between them; what a block keeps is computed again, and the bias, which is in every row, goes with
// it. The last block is no segment: the backward pass begins with it.
// CHECK-LABEL: func.func @train
// CHECK-SAME: segments = 2
// CHECK: %[[F:.*]] = tds.fold 1 carry() invariants({{.*}}) {tds.checkpoint} : ({{.*}}tensor<64xf32>{{.*}}) -> tensor<1x32x16xf32> {
// CHECK: tds.broadcast %{{.*}} axes [1] : tensor<64xf32> to tensor<32x64xf32>
// CHECK: tds.contract
// CHECK: tds.tanh
// CHECK: tds.contract
// CHECK: tds.yield %{{.*}} : tensor<32x16xf32>
// CHECK: %[[Y:.*]] = tds.reshape %[[F]] : tensor<1x32x16xf32> to tensor<32x16xf32>
// CHECK: tds.contract %[[Y]]
// CHECK: tds.gradient
// ALL-LABEL: func.func @train
// ALL-COUNT-2: tds.checkpoint
// ALL-NOT: tds.checkpoint
// ALL: tds.gradient
// JOINED-LABEL: func.func @train
// JOINED-COUNT-1: tds.checkpoint
// JOINED-NOT: tds.checkpoint
// JOINED: tds.gradient
// NONE-LABEL: func.func @train
// NONE-SAME: segments = 2
// NONE-NOT: tds.fold
// NONE: tds.gradient
func.func @train(%x: tensor<32x16xf32> {tds.input = "x", tds.data_axis}, %a: tensor<16x64xf32> {tds.variable = @a}, %b: tensor<64x16xf32> {tds.variable = @b}, %c: tensor<64xf32> {tds.input = "c"})
    -> (tensor<f32> {tds.result = "loss"}, tensor<16x64xf32> {tds.variable = @a}) attributes {tds.entry = "step"} {
  %bias = tds.broadcast %c axes [1] : tensor<64xf32> to tensor<32x64xf32>
  %h = tds.contract %x[0, 1], %a[1, 2] to [0, 2] : tensor<32x16xf32>, tensor<16x64xf32> to tensor<32x64xf32>
  %i = tds.add %h, %bias : tensor<32x64xf32>
  %t = tds.tanh %i : tensor<32x64xf32>
  %y = tds.contract %t[0, 1], %b[1, 2] to [0, 2] : tensor<32x64xf32>, tensor<64x16xf32> to tensor<32x16xf32>
  %h2 = tds.contract %y[0, 1], %a[1, 2] to [0, 2] : tensor<32x16xf32>, tensor<16x64xf32> to tensor<32x64xf32>
  %i2 = tds.add %h2, %bias : tensor<32x64xf32>
  %t2 = tds.tanh %i2 : tensor<32x64xf32>
  %y2 = tds.contract %t2[0, 1], %b[1, 2] to [0, 2] : tensor<32x64xf32>, tensor<64x16xf32> to tensor<32x16xf32>
  %h3 = tds.contract %y2[0, 1], %a[1, 2] to [0, 2] : tensor<32x16xf32>, tensor<16x64xf32> to tensor<32x64xf32>
  %t3 = tds.tanh %h3 : tensor<32x64xf32>
  %y3 = tds.contract %t3[0, 1], %b[1, 2] to [0, 2] : tensor<32x64xf32>, tensor<64x16xf32> to tensor<32x16xf32>
  %loss = tds.reduce sum %y3 axes [0, 1] : tensor<32x16xf32> to tensor<f32>
  %g = tds.gradient %loss wrt %a : tensor<f32> wrt tensor<16x64xf32>
  return %loss, %g : tensor<f32>, tensor<16x64xf32>
}

// A loop of the forward pass is cut within an iteration.
// ALL-LABEL: func.func @loop
// ALL: tds.fold 8 carry
// ALL: tds.fold 1 carry() {{.*}}tds.checkpoint
// ALL: tds.gradient
// JOINED-LABEL: func.func @loop
// JOINED: tds.fold 8 carry
// JOINED: tds.checkpoint
// JOINED: tds.gradient
func.func @loop(%x: tensor<32x16xf32> {tds.input = "x", tds.data_axis}, %a: tensor<16x64xf32> {tds.variable = @a}, %b: tensor<64x16xf32> {tds.variable = @b})
    -> (tensor<f32> {tds.result = "loss"}, tensor<16x64xf32> {tds.variable = @a}) attributes {tds.entry = "step"} {
  %y = tds.fold 8 carry(%x) invariants(%a, %b) : (tensor<32x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32> {
  ^bb0(%n: tensor<i32>, %v: tensor<32x16xf32>, %p: tensor<16x64xf32>, %q: tensor<64x16xf32>):
    %h = tds.contract %v[0, 1], %p[1, 2] to [0, 2] : tensor<32x16xf32>, tensor<16x64xf32> to tensor<32x64xf32>
    %t = tds.tanh %h : tensor<32x64xf32>
    %w = tds.contract %t[0, 1], %q[1, 2] to [0, 2] : tensor<32x64xf32>, tensor<64x16xf32> to tensor<32x16xf32>
    tds.yield %w : tensor<32x16xf32>
  }
  %loss = tds.reduce sum %y axes [0, 1] : tensor<32x16xf32> to tensor<f32>
  %g = tds.gradient %loss wrt %a : tensor<f32> wrt tensor<16x64xf32>
  return %loss, %g : tensor<f32>, tensor<16x64xf32>
}

// Refused: what is no step, and a step without a gradient, stay as they are.
// ALL-LABEL: func.func @predict
// ALL-NOT: tds.checkpoint
func.func @predict(%x: tensor<32x16xf32> {tds.input = "x"}, %a: tensor<16x64xf32> {tds.variable = @a}) -> (tensor<32x64xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %h = tds.contract %x[0, 1], %a[1, 2] to [0, 2] : tensor<32x16xf32>, tensor<16x64xf32> to tensor<32x64xf32>
  %t = tds.tanh %h : tensor<32x64xf32>
  return %t : tensor<32x64xf32>
}
