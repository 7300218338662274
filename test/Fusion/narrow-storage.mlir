// RUN: tds-opt --tds-fusion-pipeline %s | FileCheck %s

// What is rounded is kept in memory in 16 bits: widening goes into what reads it, also behind a reshape and at other places, and rounding stays with
// what is computed.
// CHECK-LABEL: func.func @stored
// CHECK: %[[Y:.*]] = tds.kernel "contract"{{.*}} -> tensor<64x256xbf16>
// CHECK: tds.cast %{{.*}} : f32 to bf16
// CHECK: %[[R:.*]] = tds.reshape %[[Y]] : tensor<64x256xbf16> to tensor<16384xbf16>
// CHECK: tds.kernel "parts"(%[[R]], %[[Y]])
// CHECK: tds.kernel "row"
// CHECK: tds.read %{{.*}} : tensor<16384xbf16>
// CHECK-NEXT: tds.cast %{{.*}} : bf16 to f32
// CHECK: tds.kernel "loop"
// CHECK: tds.read %{{.*}} : tensor<64x256xbf16>
// CHECK-NEXT: tds.cast %{{.*}} : bf16 to f32
// CHECK-NOT: -> tensor<64x256xf32>
func.func @stored(%x: tensor<64x32xbf16> {tds.input = "x"}, %w: tensor<32x256xbf16> {tds.input = "w"})
    -> (tensor<f32> {tds.result = "s"}, tensor<64x255xf32> {tds.result = "d"}) attributes {tds.entry = "function"} {
  %y = tds.contract %x[0, 1], %w[1, 2] to [0, 2] : tensor<64x32xbf16>, tensor<32x256xbf16> to tensor<64x256xf32>
  %n = tds.cast %y : tensor<64x256xf32> to tensor<64x256xbf16>
  %r = tds.reshape %n : tensor<64x256xbf16> to tensor<16384xbf16>
  %f = tds.cast %r : tensor<16384xbf16> to tensor<16384xf32>
  %e = tds.exp %f : tensor<16384xf32>
  %s = tds.reduce max %e axes [0] : tensor<16384xf32> to tensor<f32>
  %g = tds.cast %n : tensor<64x256xbf16> to tensor<64x256xf32>
  %d = tds.generic (%i, %j) in (64, 255) : tensor<64x255xf32> {
    %k = tds.apply affine_map<(d0) -> (d0 + 1)> (%j)
    %a = tds.read %g[%i, %k] : tensor<64x256xf32>
    %b = tds.read %g[%i, %j] : tensor<64x256xf32>
    %c = tds.sub %a, %b : f32
    tds.yield %c : f32
  }
  return %s, %d : tensor<f32>, tensor<64x255xf32>
}
