// RUN: tds-opt -canonicalize %s | FileCheck %s

// What IEEE 754 makes an identity folds.
// CHECK-LABEL: @float_identities
// CHECK-NEXT: return %arg0, %arg0, %arg0, %arg0, %arg0, %arg0 :
func.func @float_identities(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = tds.constant dense<0.0> : tensor<4xf32>
  %minus = tds.constant dense<-0.0> : tensor<4xf32>
  %one = tds.constant dense<1.0> : tensor<4xf32>
  %a = tds.add %x, %minus : tensor<4xf32>
  %b = tds.sub %x, %zero : tensor<4xf32>
  %c = tds.mul %one, %x : tensor<4xf32>
  %d = tds.div %x, %one : tensor<4xf32>
  %n = tds.neg %x : tensor<4xf32>
  %e = tds.neg %n : tensor<4xf32>
  %f = tds.pow %x, %one : tensor<4xf32>
  return %a, %b, %c, %d, %e, %f : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// What loses a NaN, an infinity or the sign of a zero stays.
// CHECK-LABEL: @no_float_identities
// CHECK-DAG: tds.add %arg0, %{{.*}}
// CHECK-DAG: tds.sub %arg0, %{{.*}}
// CHECK-DAG: tds.mul %arg0, %{{.*}}
// CHECK-DAG: tds.sub %{{.*}}, %arg0
// CHECK-DAG: tds.sub %arg0, %arg0
// CHECK-DAG: tds.div %arg0, %arg0
// CHECK-DAG: tds.compare eq %arg0, %arg0
func.func @no_float_identities(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>) {
  %zero = tds.constant dense<0.0> : tensor<4xf32>
  %minus = tds.constant dense<-0.0> : tensor<4xf32>
  %a = tds.add %x, %zero : tensor<4xf32>
  %b = tds.sub %x, %minus : tensor<4xf32>
  %c = tds.mul %x, %zero : tensor<4xf32>
  %d = tds.sub %zero, %x : tensor<4xf32>
  %e = tds.sub %x, %x : tensor<4xf32>
  %f = tds.div %x, %x : tensor<4xf32>
  %g = tds.compare eq %x, %x : tensor<4xf32>
  return %a, %b, %c, %d, %e, %f, %g : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>
}

// CHECK-LABEL: @int_identities
// CHECK-DAG: %[[ZERO:.*]] = tds.constant dense<0> : tensor<4xi32>
// CHECK-DAG: %[[TRUE:.*]] = tds.constant dense<true> : tensor<4xi1>
// CHECK: return %arg0, %arg0, %[[ZERO]], %[[ZERO]], %[[ZERO]], %arg0, %[[ZERO]], %[[TRUE]] :
func.func @int_identities(%x: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi1>) {
  %zero = tds.constant dense<0> : tensor<4xi32>
  %one = tds.constant dense<1> : tensor<4xi32>
  %a = tds.add %x, %zero : tensor<4xi32>
  %b = tds.mul %x, %one : tensor<4xi32>
  %c = tds.mul %zero, %x : tensor<4xi32>
  %d = tds.sub %x, %x : tensor<4xi32>
  %e = tds.floordiv %x, %zero : tensor<4xi32>
  %f = tds.max %x, %x : tensor<4xi32>
  %g = tds.mod %x, %one : tensor<4xi32>
  %h = tds.compare le %x, %x : tensor<4xi32>
  return %a, %b, %c, %d, %e, %f, %g, %h : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi1>
}

// A division by a power of two is a product, another is not.
// CHECK-LABEL: @division
// CHECK-DAG: %[[QUARTER:.*]] = tds.constant dense<2.500000e-01>
// CHECK-DAG: %[[THREE:.*]] = tds.constant dense<3.000000e+00>
// CHECK-DAG: tds.mul %arg0, %[[QUARTER]]
// CHECK-DAG: tds.div %arg0, %[[THREE]]
func.func @division(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %four = tds.constant dense<4.0> : tensor<4xf32>
  %three = tds.constant dense<3.0> : tensor<4xf32>
  %a = tds.div %x, %four : tensor<4xf32>
  %b = tds.div %x, %three : tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// Literal exponents multiply; 0.5 is no square root (pow(-0, 0.5) is +0).
// CHECK-LABEL: @power
// CHECK-DAG: %[[ONE:.*]] = tds.constant dense<1.000000e+00>
// CHECK-DAG: %[[HALF:.*]] = tds.constant dense<5.000000e-01>
// CHECK: %[[SQUARE:.*]] = tds.mul %arg0, %arg0
// CHECK: %[[X2:.*]] = tds.mul %arg0, %arg0
// CHECK: %[[CUBE:.*]] = tds.mul %[[X2]], %arg0
// CHECK: %[[S:.*]] = tds.mul %arg0, %arg0
// CHECK: %[[FOURTH:.*]] = tds.mul %[[S]], %[[S]]
// CHECK: %[[ROOT:.*]] = tds.pow %arg0, %[[HALF]]
// CHECK: return %[[ONE]], %[[SQUARE]], %[[CUBE]], %[[FOURTH]], %[[ROOT]]
func.func @power(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = tds.constant dense<0.0> : tensor<4xf32>
  %c2 = tds.constant dense<2.0> : tensor<4xf32>
  %c3 = tds.constant dense<3.0> : tensor<4xf32>
  %c4 = tds.constant dense<4.0> : tensor<4xf32>
  %half = tds.constant dense<0.5> : tensor<4xf32>
  %a = tds.pow %x, %c0 {literal} : tensor<4xf32>
  %b = tds.pow %x, %c2 {literal} : tensor<4xf32>
  %c = tds.pow %x, %c3 {literal} : tensor<4xf32>
  %d = tds.pow %x, %c4 {literal} : tensor<4xf32>
  %e = tds.pow %x, %half : tensor<4xf32>
  return %a, %b, %c, %d, %e : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @select
// CHECK-NEXT: %[[S:.*]] = tds.select %arg0, %arg2, %arg1
// CHECK-NEXT: return %arg1, %arg2, %arg1, %arg0, %[[S]]
func.func @select(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>, tensor<4xf32>) {
  %true = tds.constant dense<true> : tensor<4xi1>
  %false = tds.constant dense<false> : tensor<4xi1>
  %a = tds.select %true, %x, %y : tensor<4xi1>, tensor<4xf32>
  %b = tds.select %false, %x, %y : tensor<4xi1>, tensor<4xf32>
  %d = tds.select %c, %x, %x : tensor<4xi1>, tensor<4xf32>
  %e = tds.select %c, %true, %false : tensor<4xi1>, tensor<4xi1>
  %n = tds.not %c : tensor<4xi1>
  %f = tds.select %n, %x, %y : tensor<4xi1>, tensor<4xf32>
  return %a, %b, %d, %e, %f : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>, tensor<4xf32>
}

// Chains of conversions shorten where nothing is lost on the way.
// CHECK-LABEL: @cast_chains
// CHECK-DAG: %[[A:.*]] = tds.cast %arg0 : tensor<4xui8> to tensor<4xf32>
// CHECK-DAG: %[[N:.*]] = tds.cast %arg1 : tensor<4xf32> to tensor<4xbf16>
// CHECK-DAG: %[[W:.*]] = tds.cast %[[N]] : tensor<4xbf16> to tensor<4xf32>
// CHECK-DAG: %[[F:.*]] = tds.cast %arg2 : tensor<4xi32> to tensor<4xf64>
// CHECK-DAG: %[[I:.*]] = tds.cast %[[F]] : tensor<4xf64> to tensor<4xi8>
// CHECK-DAG: %[[T:.*]] = tds.cast %arg2 : tensor<4xi32> to tensor<4xi8>
// CHECK: return %[[A]], %[[W]], %[[I]], %arg1, %[[T]]
func.func @cast_chains(%b: tensor<4xui8>, %x: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi8>, tensor<4xf32>, tensor<4xi8>) {
  %b1 = tds.cast %b : tensor<4xui8> to tensor<4xi32>
  %b2 = tds.cast %b1 : tensor<4xi32> to tensor<4xf32>
  %x1 = tds.cast %x : tensor<4xf32> to tensor<4xbf16>
  %x2 = tds.cast %x1 : tensor<4xbf16> to tensor<4xf32>
  // Saturates by way of the float, wraps without: it stays.
  %i1 = tds.cast %i : tensor<4xi32> to tensor<4xf64>
  %i2 = tds.cast %i1 : tensor<4xf64> to tensor<4xi8>
  %d = tds.cast %x : tensor<4xf32> to tensor<4xf64>
  %d2 = tds.cast %d : tensor<4xf64> to tensor<4xf32>
  %j = tds.cast %i : tensor<4xi32> to tensor<4xi64>
  %j2 = tds.cast %j : tensor<4xi64> to tensor<4xi8>
  return %b2, %x2, %i2, %d2, %j2 : tensor<4xf32>, tensor<4xf32>, tensor<4xi8>, tensor<4xf32>, tensor<4xi8>
}

// The negation of a comparison of floats is no comparison: NaN.
// CHECK-LABEL: @not_compare
// CHECK-DAG: tds.compare ge %arg1, %arg2 : tensor<4xi32>
// CHECK-DAG: tds.compare ne %arg0, %arg0 : tensor<4xf32>
// CHECK-DAG: %[[C:.*]] = tds.compare lt %arg0, %{{.*}} : tensor<4xf32>
// CHECK-DAG: tds.not %[[C]]
func.func @not_compare(%x: tensor<4xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %one = tds.constant dense<1.0> : tensor<4xf32>
  %a = tds.compare lt %i, %j : tensor<4xi32>
  %na = tds.not %a : tensor<4xi1>
  %b = tds.compare eq %x, %x : tensor<4xf32>
  %nb = tds.not %b : tensor<4xi1>
  %c = tds.compare gt %one, %x : tensor<4xf32>
  %nc = tds.not %c : tensor<4xi1>
  return %na, %nb, %nc : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// CHECK-LABEL: @negations
// CHECK-DAG: tds.sub %arg0, %arg1
// CHECK-DAG: tds.add %arg0, %arg1
// CHECK-DAG: tds.mul %arg0, %arg1
// CHECK-DAG: tds.abs %arg0 : tensor<4xf32>
// CHECK-DAG: %[[U:.*]] = tds.neg %arg2
// CHECK-DAG: tds.abs %[[U]] : tensor<4xui8>
func.func @negations(%x: tensor<4xf32>, %y: tensor<4xf32>, %u: tensor<4xui8>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xui8>) {
  %nx = tds.neg %x : tensor<4xf32>
  %ny = tds.neg %y : tensor<4xf32>
  %a = tds.add %x, %ny : tensor<4xf32>
  %b = tds.sub %x, %ny : tensor<4xf32>
  %c = tds.mul %nx, %ny : tensor<4xf32>
  %d = tds.abs %nx : tensor<4xf32>
  %nu = tds.neg %u : tensor<4xui8>
  %e = tds.abs %nu : tensor<4xui8>
  return %a, %b, %c, %d, %e : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xui8>
}
