// RUN: tds-opt -tds-mixed-precision=type=f16 %s | FileCheck %s
// RUN: tds-opt -tds-mixed-precision=type=bf16 %s | FileCheck %s --check-prefix=BF16

// What comes behind an exponential ends no kernel of 16 bits: the scores are rounded, not the exponential, which two read.
// CHECK-LABEL: func.func @exponential
// CHECK: %[[S:.*]] = tds.contract
// CHECK: %[[T:.*]] = tds.cast %[[S]] : tensor<4x4xf32> to tensor<4x4xf16>
// CHECK: %[[W:.*]] = tds.cast %[[T]] : tensor<4x4xf16> to tensor<4x4xf32>
// CHECK: %[[E:.*]] = tds.exp %[[W]] : tensor<4x4xf32>
// CHECK-NOT: tds.cast
// CHECK: tds.reduce sum %[[E]] axes [0]
// CHECK: return
// BF16-LABEL: func.func @exponential
// BF16: %[[E:.*]] = tds.exp %{{.*}} : tensor<4x4xf32>
// BF16-NEXT: tds.cast %[[E]] : tensor<4x4xf32> to tensor<4x4xbf16>
func.func @exponential(%x: tensor<4x8xf32> {tds.input = "x"}, %y: tensor<8x4xf32> {tds.input = "y"})
    -> (tensor<4x4xf32> {tds.result = "p"}) attributes {tds.entry = "function"} {
  %s = tds.contract %x[0, 2], %y[2, 1] to [0, 1] : tensor<4x8xf32>, tensor<8x4xf32> to tensor<4x4xf32>
  %e = tds.exp %s : tensor<4x4xf32>
  %t = tds.reduce sum %e axes [0] : tensor<4x4xf32> to tensor<4xf32>
  %b = tds.broadcast %t axes [1] : tensor<4xf32> to tensor<4x4xf32>
  %p = tds.div %e, %b : tensor<4x4xf32>
  return %p : tensor<4x4xf32>
}

// A norm is as small as its terms: divided by a statistic, less a mean.
// CHECK-LABEL: func.func @norm
// CHECK: tds.rsqrt
// CHECK: %[[H:.*]] = tds.mul %{{.*}}, %{{.*}}
// CHECK-NEXT: tds.cast %[[H]] : tensor<4x4xf32> to tensor<4x4xf16>
func.func @norm(%x: tensor<4x4xf32> {tds.input = "x"}) -> (tensor<4xf32> {tds.result = "a"}, tensor<4x4xf32> {tds.result = "b"}) attributes {tds.entry = "function"} {
  %four = tds.constant dense<4.0> : tensor<4xf32>
  %sum = tds.reduce sum %x axes [1] : tensor<4x4xf32> to tensor<4xf32>
  %mean = tds.div %sum, %four : tensor<4xf32>
  %m = tds.broadcast %mean axes [0] : tensor<4xf32> to tensor<4x4xf32>
  %c = tds.sub %x, %m : tensor<4x4xf32>
  %q = tds.mul %c, %c : tensor<4x4xf32>
  %s = tds.reduce sum %q axes [1] : tensor<4x4xf32> to tensor<4xf32>
  %v = tds.div %s, %four : tensor<4xf32>
  %r = tds.rsqrt %v : tensor<4xf32>
  %f = tds.broadcast %r axes [0] : tensor<4xf32> to tensor<4x4xf32>
  %h = tds.mul %c, %f : tensor<4x4xf32>
  %a = tds.reduce max %h axes [0] : tensor<4x4xf32> to tensor<4xf32>
  %b = tds.neg %h : tensor<4x4xf32>
  return %a, %b : tensor<4xf32>, tensor<4x4xf32>
}

// A square is not, and neither is what is made of a sum; nothing is rounded.
// CHECK-LABEL: func.func @square
// CHECK-NOT: tds.cast
// CHECK: return
func.func @square(%x: tensor<4x4xf32> {tds.input = "x"}) -> (tensor<4xf32> {tds.result = "a"}, tensor<4x4xf32> {tds.result = "b"}) attributes {tds.entry = "function"} {
  %q = tds.mul %x, %x : tensor<4x4xf32>
  %sum = tds.reduce sum %x axes [1] : tensor<4x4xf32> to tensor<4xf32>
  %m = tds.broadcast %sum axes [0] : tensor<4xf32> to tensor<4x4xf32>
  %h = tds.add %x, %m : tensor<4x4xf32>
  %k = tds.reduce max %h axes [0] : tensor<4x4xf32> to tensor<4xf32>
  %l = tds.reduce max %q axes [0] : tensor<4x4xf32> to tensor<4xf32>
  %a = tds.add %k, %l : tensor<4xf32>
  %g = tds.neg %h : tensor<4x4xf32>
  %n = tds.neg %q : tensor<4x4xf32>
  %b = tds.add %g, %n : tensor<4x4xf32>
  return %a, %b : tensor<4xf32>, tensor<4x4xf32>
}
