// RUN: tds-opt %s | tds-opt | FileCheck %s

tds.variable @"net.fc1.w" param : tensor<784x10xf32>

// CHECK-LABEL: func.func @train
func.func @train(%x: tensor<64x784xf32> {tds.input = "x", tds.data_axis}, %w: tensor<784x10xf32> {tds.variable = @"net.fc1.w"})
    -> (tensor<f32> {tds.result = "loss"}, tensor<784x10xf32> {tds.variable = @"net.fc1.w"}) attributes {tds.entry = "step"} {
  // CHECK: tds.contract %{{.*}}[0, 2], %{{.*}}[2, 1] to [0, 1]
  %c = tds.contract %x[0, 2], %w[2, 1] to [0, 1] : tensor<64x784xf32>, tensor<784x10xf32> to tensor<64x10xf32>
  // CHECK: tds.generic (%{{.*}}) in (64) max (%{{.*}}) in (10) : tensor<64xf32> {
  %m = tds.generic (%i) in (64) max (%q) in (10) : tensor<64xf32> {
    %e = tds.read %c[%i, %q] : tensor<64x10xf32>
    %z = tds.constant 0.0 : f32
    %r = tds.max %e, %z : f32
    tds.yield %r : f32
  }
  // CHECK: tds.reduce sum %{{.*}} axes [0] : tensor<64xf32> to tensor<f32>
  %l = tds.reduce sum %m axes [0] : tensor<64xf32> to tensor<f32>
  // CHECK: tds.gradient %{{.*}} wrt %{{.*}} : tensor<f32> wrt tensor<784x10xf32>
  %g = tds.gradient %l wrt %w : tensor<f32> wrt tensor<784x10xf32>
  %n = tds.sub %w, %g : tensor<784x10xf32>
  return %l, %n : tensor<f32>, tensor<784x10xf32>
}

// CHECK-LABEL: func.func private @gather
func.func private @gather(%t: tensor<256x8xf32>, %ids: tensor<4xui8>, %d: tensor<4x8xf32>, %seed: tensor<i64>) -> tensor<256x8xf32> {
  // CHECK: tds.read %{{.*}}[%{{.*}}, %{{.*}}] guard 0.000000e+00 : f32 : tensor<256x8xf32>
  %e = tds.generic (%i, %k) in (4, 8) : tensor<4x8xf32> {
    %id = tds.read %ids[%i] : tensor<4xui8>
    %at = tds.cast %id : ui8 to index
    %v = tds.read %t[%at, %k] guard 0.0 : f32 : tensor<256x8xf32>
    // CHECK: tds.apply #{{.*}} (%{{.*}}, %{{.*}})
    %lin = tds.apply affine_map<(d0, d1) -> (d0 * 8 + d1)> (%i, %k)
    %s = tds.read %seed[] : tensor<i64>
    // CHECK: tds.random uniform
    %u = tds.random uniform %s, %s, %lin {site = 3 : i32} : f32
    %r = tds.add %u, %v : f32
    tds.yield %r : f32
  }
  // CHECK: tds.scatter
  %s = tds.scatter (%i, %k) in (4, 8) : tensor<256x8xf32> {
    %id = tds.read %ids[%i] : tensor<4xui8>
    %at = tds.cast %id : ui8 to index
    %v = tds.read %d[%i, %k] : tensor<4x8xf32>
    tds.scatter_yield %v at [%at, %k] : f32
  }
  // CHECK: tds.kernel "loop"
  %k = tds.kernel "loop" (%s) : (tensor<256x8xf32>) -> tensor<256x8xf32> {
  ^bb0(%a: tensor<256x8xf32>):
    %y = tds.generic (%i, %j) in (256, 8) : tensor<256x8xf32> {
      %v = tds.read %a[%i, %j] : tensor<256x8xf32>
      %f = tds.exp %v : f32
      tds.yield %f : f32
    }
    tds.yield %y : tensor<256x8xf32>
  }
  // CHECK: tds.compare lt
  %c = tds.compare lt %k, %s : tensor<256x8xf32>
  %r = tds.select %c, %k, %s : tensor<256x8xi1>, tensor<256x8xf32>
  return %r : tensor<256x8xf32>
}
