// RUN: tds-opt %s --tds-fusion-pipeline | FileCheck %s
// RUN: tds-opt %s --tds-fusion-pipeline=fuse=false | FileCheck %s --check-prefix=OFF

// Layer-norm: one kernel over rows.
// CHECK-LABEL: @layer_norm
// CHECK: tds.kernel "row"
// CHECK: tds.generic (%{{.*}}) in (32) sum (%{{.*}}) in (100)
// CHECK: tds.generic (%{{.*}}) in (32) sum (%{{.*}}) in (100)
// CHECK: tds.generic (%{{.*}}, %{{.*}}) in (32, 100)
// CHECK-NOT: tds.kernel
// CHECK: return
// OFF-LABEL: @layer_norm
// OFF-COUNT-15: tds.kernel
// OFF: return
func.func @layer_norm(%x: tensor<32x100xf32> {tds.input = "x"}, %g: tensor<100xf32> {tds.input = "g"})
    -> (tensor<32x100xf32> {tds.result = "r"}) attributes {tds.entry = "function"} {
  %n = tds.constant dense<100.0> : tensor<32xf32>
  %eps = tds.constant dense<1.0e-5> : tensor<32xf32>
  %s = tds.reduce sum %x axes [1] : tensor<32x100xf32> to tensor<32xf32>
  %m = tds.div %s, %n : tensor<32xf32>
  %mb = tds.broadcast %m axes [0] : tensor<32xf32> to tensor<32x100xf32>
  %d = tds.sub %x, %mb : tensor<32x100xf32>
  %dd = tds.mul %d, %d : tensor<32x100xf32>
  %v0 = tds.reduce sum %dd axes [1] : tensor<32x100xf32> to tensor<32xf32>
  %v = tds.div %v0, %n : tensor<32xf32>
  %ve = tds.add %v, %eps : tensor<32xf32>
  %is = tds.rsqrt %ve : tensor<32xf32>
  %ib = tds.broadcast %is axes [0] : tensor<32xf32> to tensor<32x100xf32>
  %h = tds.mul %d, %ib : tensor<32x100xf32>
  %gb = tds.broadcast %g axes [1] : tensor<100xf32> to tensor<32x100xf32>
  %r = tds.mul %h, %gb : tensor<32x100xf32>
  return %r : tensor<32x100xf32>
}

// Softmax forward, and its adjoint, which reads the result: one kernel each.
// CHECK-LABEL: @softmax
// CHECK: tds.kernel "row"
// CHECK: max (
// CHECK: tds.exp
// CHECK: sum (
// CHECK: tds.kernel "row"
// CHECK: sum (
// CHECK-NOT: tds.kernel
// CHECK: return
func.func @softmax(%x: tensor<8x128xf32> {tds.input = "x"}, %w: tensor<8x128xf32> {tds.input = "w"}, %c: tensor<128x128xf32> {tds.input = "c"})
    -> (tensor<8x128xf32> {tds.result = "y"}, tensor<8x128xf32> {tds.result = "dx"}) attributes {tds.entry = "function"} {
  %m = tds.reduce max %x axes [1] : tensor<8x128xf32> to tensor<8xf32>
  %mb = tds.broadcast %m axes [0] : tensor<8xf32> to tensor<8x128xf32>
  %d = tds.sub %x, %mb : tensor<8x128xf32>
  %e = tds.exp %d : tensor<8x128xf32>
  %s = tds.reduce sum %e axes [1] : tensor<8x128xf32> to tensor<8xf32>
  %sb = tds.broadcast %s axes [0] : tensor<8xf32> to tensor<8x128xf32>
  %y = tds.div %e, %sb : tensor<8x128xf32>
  // Something in between, so that the two cannot be one.
  %dy = tds.contract %y[0, 2], %c[2, 1] to [0, 1] : tensor<8x128xf32>, tensor<128x128xf32> to tensor<8x128xf32>
  %ydy = tds.mul %y, %dy : tensor<8x128xf32>
  %t = tds.reduce sum %ydy axes [1] : tensor<8x128xf32> to tensor<8xf32>
  %tb = tds.broadcast %t axes [0] : tensor<8xf32> to tensor<8x128xf32>
  %u = tds.sub %dy, %tb : tensor<8x128xf32>
  %dx = tds.mul %y, %u : tensor<8x128xf32>
  return %y, %dx : tensor<8x128xf32>, tensor<8x128xf32>
}

// Momentum: the state and the parameter are two outputs of one kernel.
// CHECK-LABEL: @momentum
// CHECK: tds.kernel "loop"({{.*}}) : ({{.*}}) -> (tensor<100xf32>, tensor<100xf32>)
// CHECK-NOT: tds.kernel
// CHECK: return
func.func @momentum(%p: tensor<100xf32> {tds.input = "p"}, %m: tensor<100xf32> {tds.input = "m"}, %g: tensor<100xf32> {tds.input = "g"})
    -> (tensor<100xf32> {tds.result = "p1"}, tensor<100xf32> {tds.result = "m1"}) attributes {tds.entry = "function"} {
  %c = tds.constant dense<0.9> : tensor<100xf32>
  %m0 = tds.mul %c, %m : tensor<100xf32>
  %m1 = tds.add %m0, %g : tensor<100xf32>
  %p1 = tds.sub %p, %m1 : tensor<100xf32>
  return %p1, %m1 : tensor<100xf32>, tensor<100xf32>
}

// Refused: b depends on a kernel that depends on a, so joining a and b would be a cycle.
// CHECK-LABEL: @cycle
// CHECK: tds.kernel "loop"
// CHECK: tds.kernel "contract"
// CHECK: tds.kernel "loop"
// CHECK: return
func.func @cycle(%x: tensor<8x8xf32> {tds.input = "x"}, %w: tensor<8x4xf32> {tds.input = "w"})
    -> (tensor<8x8xf32> {tds.result = "r"}) attributes {tds.entry = "function"} {
  %a = tds.exp %x : tensor<8x8xf32>
  %c = tds.contract %a[2, 0], %w[2, 1] to [0, 1] : tensor<8x8xf32>, tensor<8x4xf32> to tensor<8x4xf32>
  %v = tds.generic (%i, %j) in (8, 8) : tensor<8x8xf32> {
    %h = tds.apply affine_map<(d0) -> (d0 floordiv 2)> (%j)
    %e = tds.read %a[%i, %j] : tensor<8x8xf32>
    %f = tds.read %c[%i, %h] : tensor<8x4xf32>
    %r = tds.mul %e, %f : f32
    tds.yield %r : f32
  }
  return %v : tensor<8x8xf32>
}

// The one that is evaluated twice is cheap and reads what is in memory anyway: stored nowhere.
// CHECK-LABEL: @recompute
// CHECK: tds.kernel "row"({{.*}}) : (tensor<64x64xui8>) -> (tensor<64x64xf32>, tensor<64xf32>)
// CHECK-NOT: tds.kernel
// CHECK: return
func.func @recompute(%x: tensor<64x64xui8> {tds.input = "x"})
    -> (tensor<64x64xf32> {tds.result = "r"}, tensor<64xf32> {tds.result = "s"}) attributes {tds.entry = "function"} {
  %f = tds.cast %x : tensor<64x64xui8> to tensor<64x64xf32>
  %r = tds.generic (%i, %j) in (64, 64) : tensor<64x64xf32> {
    %e = tds.read %f[%j, %i] : tensor<64x64xf32>
    %g = tds.exp %e : f32
    tds.yield %g : f32
  }
  %s = tds.reduce sum %f axes [1] : tensor<64x64xf32> to tensor<64xf32>
  return %r, %s : tensor<64x64xf32>, tensor<64xf32>
}

// What is only passed on stays as it is; a splat result is a constant for the plan to fill.
// CHECK-LABEL: @pass_on
// CHECK-NOT: tds.kernel
// CHECK: %[[V:.*]] = tds.reshape %arg0
// CHECK: %[[C:.*]] = tds.constant dense<0.000000e+00>
// CHECK: return %[[V]], %[[C]]
func.func @pass_on(%x: tensor<4x5xf32> {tds.input = "x"})
    -> (tensor<20xf32> {tds.result = "r"}, tensor<3xf32> {tds.result = "z"}) attributes {tds.entry = "function"} {
  %r = tds.reshape %x : tensor<4x5xf32> to tensor<20xf32>
  %z = tds.constant dense<0.0> : tensor<3xf32>
  return %r, %z : tensor<20xf32>, tensor<3xf32>
}
