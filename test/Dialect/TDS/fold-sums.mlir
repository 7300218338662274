// RUN: tds-opt -canonicalize %s | FileCheck %s

// A float sum folds only where every order of its terms gives the same bits.

// CHECK-LABEL: @exact
// CHECK-DAG: tds.constant dense<1.000000e+01> : tensor<f32>
// CHECK-DAG: tds.constant dense<0.000000e+00> : tensor<f32>
// CHECK-DAG: tds.constant dense<4.096000e+03> : tensor<f16>
// CHECK-NOT: tds.reduce
func.func @exact() -> (tensor<f32>, tensor<f32>, tensor<f16>) {
  %a = tds.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %s = tds.reduce sum %a axes [0] : tensor<4xf32> to tensor<f32>
  %z = tds.constant dense<0.0> : tensor<7xf32>
  %t = tds.reduce sum %z axes [0] : tensor<7xf32> to tensor<f32>
  %h = tds.constant dense<1.0> : tensor<4096xf16>
  %u = tds.reduce sum %h axes [0] : tensor<4096xf16> to tensor<f16>
  return %s, %t, %u : tensor<f32>, tensor<f32>, tensor<f16>
}

// CHECK-LABEL: @ordered
// CHECK: tds.reduce sum
// CHECK: tds.reduce prod
// CHECK: tds.contract
// CHECK: tds.generic () in () sum
func.func @ordered() -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %a = tds.constant dense<[1.0, 0.1, 3.0e7, -1.0]> : tensor<4xf32>
  %s = tds.reduce sum %a axes [0] : tensor<4xf32> to tensor<f32>
  %p = tds.reduce prod %a axes [0] : tensor<4xf32> to tensor<f32>
  %c = tds.contract %a[0], %a[0] to [] : tensor<4xf32>, tensor<4xf32> to tensor<f32>
  %g = tds.generic () in () sum (%k) in (4) : tensor<f32> {
    %v = tds.read %a[%k] : tensor<4xf32>
    %m = tds.mul %v, %v : f32
    tds.yield %m : f32
  }
  return %s, %p, %c, %g : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// An infinity or a NaN decides the sum whatever the order, unless the finite terms overflow on the way.
// CHECK-LABEL: @not_finite
// CHECK-DAG: %[[INF:.*]] = tds.constant dense<0x7F800000> : tensor<f32>
// CHECK-DAG: %[[NAN:.*]] = tds.constant dense<0x7FC00000> : tensor<f32>
// CHECK-DAG: %[[BOTH:.*]] = tds.constant dense<0x{{[7F]}}FC00000> : tensor<f32>
// CHECK: %[[LARGE:.*]] = tds.reduce sum
// CHECK: %[[PRODUCT:.*]] = tds.contract
// CHECK: return %[[INF]], %{{.*}}, %{{.*}}, %[[LARGE]], %[[INF]], %[[PRODUCT]]
func.func @not_finite() -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %a = tds.constant dense<[0x7F800000, 1.0, 0.1]> : tensor<3xf32>
  %b = tds.constant dense<[0x7FC00000, 1.0, 0.1]> : tensor<3xf32>
  %c = tds.constant dense<[0x7F800000, 0xFF800000, 0.1]> : tensor<3xf32>
  %d = tds.constant dense<[0x7F800000, -3.0e38, -3.0e38]> : tensor<3xf32>
  %one = tds.constant dense<[1.0, 1.0, 2.0]> : tensor<3xf32>
  %large = tds.constant dense<[3.0e38, -3.0e38, 1.0]> : tensor<3xf32>
  %ten = tds.constant dense<10.0> : tensor<3xf32>
  %r = tds.reduce sum %a axes [0] : tensor<3xf32> to tensor<f32>
  %s = tds.reduce sum %b axes [0] : tensor<3xf32> to tensor<f32>
  %t = tds.reduce sum %c axes [0] : tensor<3xf32> to tensor<f32>
  %u = tds.reduce sum %d axes [0] : tensor<3xf32> to tensor<f32>
  %v = tds.contract %a[0], %one[0] to [] : tensor<3xf32>, tensor<3xf32> to tensor<f32>
  %w = tds.contract %large[0], %ten[0] to [] : tensor<3xf32>, tensor<3xf32> to tensor<f32>
  return %r, %s, %t, %u, %v, %w : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// Integers, extrema and what points at them have no order.
// CHECK-LABEL: @free
// CHECK-DAG: tds.constant dense<-2147483648> : tensor<i32>
// CHECK-DAG: tds.constant dense<3.000000e+07> : tensor<f32>
// CHECK-DAG: tds.constant dense<2> : tensor<i32>
// CHECK-DAG: tds.constant dense<{{\[\[}}7, 10], [15, 22]]> : tensor<2x2xi32>
// CHECK-DAG: tds.constant dense<{{\[\[}}7.000000e+00, 1.000000e+01], [1.500000e+01, 2.200000e+01]]> : tensor<2x2xf32>
// CHECK-NOT: tds.reduce
// CHECK-NOT: tds.contract
func.func @free() -> (tensor<i32>, tensor<f32>, tensor<i32>, tensor<2x2xi32>, tensor<2x2xf32>) {
  %i = tds.constant dense<[2147483647, 1]> : tensor<2xi32>
  %s = tds.reduce sum %i axes [0] : tensor<2xi32> to tensor<i32>
  %a = tds.constant dense<[1.0, 0.1, 3.0e7, -1.0]> : tensor<4xf32>
  %m = tds.reduce max %a axes [0] : tensor<4xf32> to tensor<f32>
  %g = tds.reduce argmax %a axes [0] : tensor<4xf32> to tensor<i32>
  %x = tds.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %c = tds.contract %x[0, 2], %x[2, 1] to [0, 1] : tensor<2x2xi32>, tensor<2x2xi32> to tensor<2x2xi32>
  %y = tds.cast %x : tensor<2x2xi32> to tensor<2x2xf32>
  %d = tds.contract %y[0, 2], %y[2, 1] to [0, 1] : tensor<2x2xf32>, tensor<2x2xf32> to tensor<2x2xf32>
  return %s, %m, %g, %c, %d : tensor<i32>, tensor<f32>, tensor<i32>, tensor<2x2xi32>, tensor<2x2xf32>
}

// Large results stay computed.
// CHECK-LABEL: @limit
// CHECK: tds.exp
func.func @limit() -> tensor<300x300xf32> {
  %r = tds.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %b = tds.broadcast %r axes [1, 2] : tensor<2x1xf32> to tensor<45000x2x1xf32>
  %s = tds.reshape %b : tensor<45000x2x1xf32> to tensor<300x300xf32>
  %e = tds.exp %s : tensor<300x300xf32>
  return %e : tensor<300x300xf32>
}
