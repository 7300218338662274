// Inputs that public bug reports of tensor compilers are about, with the right answers: evaluated as they stand, and folded. Both
// must give the same bits.
// RUN: tds-eval %s > %t.run
// RUN: tds-opt -canonicalize %s > %t.folded.mlir
// RUN: tds-eval %t.folded.mlir > %t.fold
// RUN: cmp %t.run %t.fold
// RUN: FileCheck %s < %t.run
// Everything is constant, so nothing is left to compute.
// RUN: FileCheck %s --check-prefix=FOLDED < %t.folded.mlir
// FOLDED-NOT: tds.{{[abd-z]}}
// FOLDED-NOT: tds.c{{[a-np-z]}}

//===-- Float identities that are none --===//

// CHECK: x_times_zero: f32[5] [0, nan, nan, nan, -0]
func.func @x_times_zero() -> tensor<5xf32> {
  %x = tds.constant dense<[1.0, 0x7FC00000, 0x7F800000, 0xFF800000, -3.0]> : tensor<5xf32>
  %z = tds.constant dense<0.0> : tensor<5xf32>
  %r = tds.mul %x, %z : tensor<5xf32>
  return %r : tensor<5xf32>
}

// CHECK: zeros.0: f32[2] [inf, inf]
// CHECK: zeros.1: f32[2] [-inf, inf]
// CHECK: zeros.2: f32[2] [-inf, inf]
// CHECK: zeros.3: f32[2] [inf, inf]
// CHECK: zeros.4: f32[2] [inf, -inf]
func.func @zeros() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %x = tds.constant dense<[-0.0, 0.0]> : tensor<2xf32>
  %zero = tds.constant dense<0.0> : tensor<2xf32>
  %minus = tds.constant dense<-0.0> : tensor<2xf32>
  %one = tds.constant dense<1.0> : tensor<2xf32>
  %a = tds.add %x, %zero : tensor<2xf32>
  %b = tds.sub %x, %zero : tensor<2xf32>
  %c = tds.add %x, %minus : tensor<2xf32>
  %d = tds.sub %zero, %x : tensor<2xf32>
  %e = tds.neg %x : tensor<2xf32>
  %ra = tds.div %one, %a : tensor<2xf32>
  %rb = tds.div %one, %b : tensor<2xf32>
  %rc = tds.div %one, %c : tensor<2xf32>
  %rd = tds.div %one, %d : tensor<2xf32>
  %re = tds.div %one, %e : tensor<2xf32>
  return %ra, %rb, %rc, %rd, %re : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

//===-- Integers wrap, and no division traps --===//

// CHECK: wrap.0: i32[3] [-2147483648, 0, -2147479015]
// CHECK: wrap.1: bool false
// CHECK: wrap.2: i32[3] [-2147483648, 0, 0]
// CHECK: wrap.3: i32[3] [0, 0, 0]
func.func @wrap() -> (tensor<3xi32>, tensor<i1>, tensor<3xi32>, tensor<3xi32>) {
  %a = tds.constant dense<[2147483647, 65536, 46341]> : tensor<3xi32>
  %b = tds.constant dense<[1, 65536, 46341]> : tensor<3xi32>
  %sum = tds.add %a, %b : tensor<3xi32>
  %product = tds.mul %a, %b : tensor<3xi32>
  %first = tds.constant dense<[true, false, false]> : tensor<3xi1>
  %s = tds.select %first, %sum, %product : tensor<3xi1>, tensor<3xi32>
  %x = tds.constant dense<2147483647> : tensor<i32>
  %one = tds.constant dense<1> : tensor<i32>
  %y = tds.add %x, %one : tensor<i32>
  %greater = tds.compare gt %y, %x : tensor<i32>
  %m = tds.constant dense<[-2147483648, 7, 0]> : tensor<3xi32>
  %n = tds.constant dense<[-1, 0, 0]> : tensor<3xi32>
  %q = tds.floordiv %m, %n : tensor<3xi32>
  %r = tds.mod %m, %n : tensor<3xi32>
  return %s, %greater, %q, %r : tensor<3xi32>, tensor<i1>, tensor<3xi32>, tensor<3xi32>
}

//===-- Division floors, also next to an integer --===//

// CHECK: floor_int.0: i32[4] [-4, -4, -1, -2]
// CHECK: floor_int.1: i32[4] [1, -1, 1, 0]
func.func @floor_int() -> (tensor<4xi32>, tensor<4xi32>) {
  %x = tds.constant dense<[-7, 7, -1, -6]> : tensor<4xi32>
  %y = tds.constant dense<[2, -2, 2, 3]> : tensor<4xi32>
  %q = tds.floordiv %x, %y : tensor<4xi32>
  %r = tds.mod %x, %y : tensor<4xi32>
  return %q, %r : tensor<4xi32>, tensor<4xi32>
}

// CHECK: floor_float.0: f32[3] [9, 29, 4]
// CHECK: floor_float.1: f64[3] [9, 29, 4]
// CHECK: floor_float.2: f32[3] [0.0999999866
// CHECK: floor_float.3: f64[3] [0.09999999999999995,
// CHECK: floor_float.4: f32[3] [3, 31, 65]
func.func @floor_float() -> (tensor<3xf32>, tensor<3xf64>, tensor<3xf32>, tensor<3xf64>, tensor<3xf32>) {
  %x = tds.constant dense<[1.0, 6.0, 0.5]> : tensor<3xf32>
  %y = tds.constant dense<[0.1, 0.2, 0.1]> : tensor<3xf32>
  %xd = tds.constant dense<[1.0, 6.0, 0.5]> : tensor<3xf64>
  %yd = tds.constant dense<[0.1, 0.2, 0.1]> : tensor<3xf64>
  %q = tds.floordiv %x, %y : tensor<3xf32>
  %qd = tds.floordiv %xd, %yd : tensor<3xf64>
  %r = tds.mod %x, %y : tensor<3xf32>
  %rd = tds.mod %xd, %yd : tensor<3xf64>
  %u = tds.constant dense<[111.0, 1147.0, 2145.0]> : tensor<3xf32>
  %v = tds.constant dense<[37.0, 37.0, 33.0]> : tensor<3xf32>
  %w = tds.div %u, %v : tensor<3xf32>
  return %q, %qd, %r, %rd, %w : tensor<3xf32>, tensor<3xf64>, tensor<3xf32>, tensor<3xf64>, tensor<3xf32>
}

//===-- Conversions of bools and out of range --===//

// CHECK: bools.0: i32[4] [1, 0, 1, 1]
// CHECK: bools.1: i64[4] [1, 0, 1, 1]
// CHECK: bools.2: f32[4] [1, 0, 1, 1]
// CHECK: bools.3: i32 3
func.func @bools() -> (tensor<4xi32>, tensor<4xi64>, tensor<4xf32>, tensor<i32>) {
  %b = tds.constant dense<[true, false, true, true]> : tensor<4xi1>
  %i = tds.cast %b : tensor<4xi1> to tensor<4xi32>
  %j = tds.cast %b : tensor<4xi1> to tensor<4xi64>
  %f = tds.cast %b : tensor<4xi1> to tensor<4xf32>
  %s = tds.reduce sum %i axes [0] : tensor<4xi32> to tensor<i32>
  return %i, %j, %f, %s : tensor<4xi32>, tensor<4xi64>, tensor<4xf32>, tensor<i32>
}

// CHECK: float_to_int.0: i32[9] [2147483520, 0, 2, -2, 2147483647, -2147483648, 2147483647, -2147483648, 0]
// CHECK: float_to_int.1: i8[9] [127, 0, 2, -2, 127, -128, 127, -128, 0]
// CHECK: float_to_int.2: u8[9] [255, 0, 2, 0, 255, 0, 255, 0, 0]
// CHECK: float_to_int.3: bool[9] [true, true, true, true, true, true, true, true, true]
// CHECK: float_to_int.4: f32 16777216
// CHECK: float_to_int.5: f64 9007199254740992
func.func @float_to_int() -> (tensor<9xi32>, tensor<9xi8>, tensor<9xui8>, tensor<9xi1>, tensor<f32>, tensor<f64>) {
  %x = tds.constant dense<[2147483520.0, -0.9, 2.9, -2.9, 3.0e9, -3.0e9, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<9xf32>
  %a = tds.cast %x : tensor<9xf32> to tensor<9xi32>
  %b = tds.cast %x : tensor<9xf32> to tensor<9xi8>
  %c = tds.cast %x : tensor<9xf32> to tensor<9xui8>
  %d = tds.cast %x : tensor<9xf32> to tensor<9xi1>
  %i = tds.constant dense<16777217> : tensor<i64>
  %j = tds.constant dense<9007199254740993> : tensor<i64>
  %e = tds.cast %i : tensor<i64> to tensor<f32>
  %f = tds.cast %j : tensor<i64> to tensor<f64>
  return %a, %b, %c, %d, %e, %f : tensor<9xi32>, tensor<9xi8>, tensor<9xui8>, tensor<9xi1>, tensor<f32>, tensor<f64>
}

//===-- Narrowing rounds to nearest even, once --===//

// Printed as f32, exactly.
// CHECK: to_bf16: f32[7] [3.140625, 1, 1.015625, 2, inf, 3.38953139e+38, nan]
func.func @to_bf16() -> tensor<7xf32> {
  %x = tds.constant dense<[3.14, 1.00390625, 1.01171875, 1.99609375, 0x7F7FFFFF, 3.3895313892515355e38, 0x7F800001]> : tensor<7xf32>
  %n = tds.cast %x : tensor<7xf32> to tensor<7xbf16>
  %w = tds.cast %n : tensor<7xbf16> to tensor<7xf32>
  return %w : tensor<7xf32>
}

// CHECK: to_f16: f32[6] [65504, inf, 5.96046448e-08, 0, 5.96046448e-08, 1.1920929e-07]
func.func @to_f16() -> tensor<6xf32> {
  %x = tds.constant dense<[65519.0, 65520.0, 5.960464477539063e-08, 2.9802322387695312e-08, 2.9803231881845568e-08, 8.940696716308594e-08]> : tensor<6xf32>
  %n = tds.cast %x : tensor<6xf32> to tensor<6xf16>
  %w = tds.cast %n : tensor<6xf16> to tensor<6xf32>
  return %w : tensor<6xf32>
}

// A conversion from f64 to f16 by way of f32 would round twice: 1 + 2^-11 + 2^-40 is above the tie.
// CHECK: once: f32 1.00097656
func.func @once() -> tensor<f32> {
  %x = tds.constant dense<1.00048828125090949> : tensor<f64>
  %n = tds.cast %x : tensor<f64> to tensor<f16>
  %w = tds.cast %n : tensor<f16> to tensor<f32>
  return %w : tensor<f32>
}

// CHECK: subnormal: f32 4.9999
func.func @subnormal() -> tensor<f32> {
  %x = tds.constant dense<1.0e-40> : tensor<f32>
  %h = tds.constant dense<0.5> : tensor<f32>
  %r = tds.mul %x, %h : tensor<f32>
  return %r : tensor<f32>
}

//===-- Transposed reads --===//

// CHECK: transposed: f32[3] [25, 47, 69]
func.func @transposed() -> tensor<3xf32> {
  %a = tds.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %t = tds.transpose %a [1, 0] : tensor<2x3xf32> to tensor<3x2xf32>
  %c = tds.constant dense<[[10.0], [20.0], [30.0]]> : tensor<3x1xf32>
  %b = tds.broadcast %c axes [0, 1] : tensor<3x1xf32> to tensor<3x2xf32>
  %s = tds.add %t, %b : tensor<3x2xf32>
  %r = tds.reduce sum %s axes [1] : tensor<3x2xf32> to tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK: diagonals.0: i32[2] [6, 33]
// CHECK: diagonals.1: i32[2, 3] {{\[\[}}1, 2, 3], [10, 11, 12]]
func.func @diagonals() -> (tensor<2xi32>, tensor<2x3xi32>) {
  %x = tds.constant dense<[[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]]> : tensor<2x2x3xi32>
  %s = tds.generic (%i) in (2) sum (%j) in (3) : tensor<2xi32> {
    %v = tds.read %x[%i, %i, %j] : tensor<2x2x3xi32>
    tds.yield %v : i32
  }
  %d = tds.generic (%i, %j) in (2, 3) : tensor<2x3xi32> {
    %v = tds.read %x[%i, %i, %j] : tensor<2x2x3xi32>
    tds.yield %v : i32
  }
  return %s, %d : tensor<2xi32>, tensor<2x3xi32>
}

//===-- Empty axes --===//

// CHECK: empty.0: f32[2] [0, 0]
// CHECK: empty.1: f32[2] [1, 1]
// CHECK: empty.2: bool[2] [false, false]
// CHECK: empty.3: bool[2] [true, true]
// CHECK: empty.4: f32[2] [-inf, -inf]
// CHECK: empty.5: i8[2] [127, 127]
// CHECK: empty.6: f32[3] [0, 0, 0]
// CHECK: empty.7: f32[0] []
// CHECK: empty.8: f32[2, 3] {{\[\[}}0, 0, 0], [0, 0, 0]]
func.func @empty() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xi1>, tensor<2xi1>, tensor<2xf32>, tensor<2xi8>, tensor<3xf32>, tensor<0xf32>, tensor<2x3xf32>) {
  %x = tds.constant dense<> : tensor<2x0xf32>
  %b = tds.constant dense<> : tensor<2x0xi1>
  %i = tds.constant dense<> : tensor<2x0xi8>
  %y = tds.constant dense<> : tensor<0x3xf32>
  %sum = tds.reduce sum %x axes [1] : tensor<2x0xf32> to tensor<2xf32>
  %prod = tds.reduce prod %x axes [1] : tensor<2x0xf32> to tensor<2xf32>
  %any = tds.reduce any %b axes [1] : tensor<2x0xi1> to tensor<2xi1>
  %all = tds.reduce all %b axes [1] : tensor<2x0xi1> to tensor<2xi1>
  %max = tds.reduce max %x axes [1] : tensor<2x0xf32> to tensor<2xf32>
  %min = tds.reduce min %i axes [1] : tensor<2x0xi8> to tensor<2xi8>
  %rows = tds.reduce sum %y axes [0] : tensor<0x3xf32> to tensor<3xf32>
  %none = tds.reduce max %y axes [1] : tensor<0x3xf32> to tensor<0xf32>
  %mm = tds.contract %x[0, 2], %y[2, 1] to [0, 1] : tensor<2x0xf32>, tensor<0x3xf32> to tensor<2x3xf32>
  return %sum, %prod, %any, %all, %max, %min, %rows, %none, %mm : tensor<2xf32>, tensor<2xf32>, tensor<2xi1>, tensor<2xi1>, tensor<2xf32>, tensor<2xi8>, tensor<3xf32>, tensor<0xf32>, tensor<2x3xf32>
}

//===-- NaN and ties --===//

// CHECK: extrema.0: i32 1
// CHECK: extrema.1: i32 1
// CHECK: extrema.2: f32[3] [nan, nan, 0]
// CHECK: extrema.3: f32[3] [nan, nan, 0]
// CHECK: extrema.4: f32 nan
// CHECK: extrema.5: i32 1
// CHECK: extrema.6: f32[3] [nan, 1, 0]
// CHECK: extrema.7: f32[3] [nan, nan, -0]
func.func @extrema() -> (tensor<i32>, tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<i32>, tensor<3xf32>, tensor<3xf32>) {
  %a = tds.constant dense<[1.0, 3.0, 3.0, 2.0]> : tensor<4xf32>
  %first = tds.reduce argmax %a axes [0] : tensor<4xf32> to tensor<i32>
  %b = tds.constant dense<[2.0, 1.0, 1.0]> : tensor<3xf32>
  %last = tds.reduce argmin %b axes [0] : tensor<3xf32> to tensor<i32>
  %x = tds.constant dense<[0x7FC00000, 1.0, -0.0]> : tensor<3xf32>
  %y = tds.constant dense<[1.0, 0x7FC00000, 0.0]> : tensor<3xf32>
  %xy = tds.max %x, %y : tensor<3xf32>
  %yx = tds.max %y, %x : tensor<3xf32>
  %c = tds.constant dense<[1.0, 0x7FC00000, 5.0, 0x7FC00000]> : tensor<4xf32>
  %m = tds.reduce max %c axes [0] : tensor<4xf32> to tensor<f32>
  %at = tds.reduce argmax %c axes [0] : tensor<4xf32> to tensor<i32>
  %zero = tds.constant dense<0.0> : tensor<3xf32>
  %one = tds.constant dense<1.0> : tensor<3xf32>
  %clamped = tds.clamp %x, %zero, %one : tensor<3xf32>
  %lower = tds.min %x, %y : tensor<3xf32>
  return %first, %last, %xy, %yx, %m, %at, %clamped, %lower : tensor<i32>, tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<i32>, tensor<3xf32>, tensor<3xf32>
}

//===-- Accumulators are wider than 16 bits --===//

// CHECK: accumulate.0: f16 4096
// CHECK: accumulate.1: f16 4.8
// CHECK: accumulate.2: i32 300
func.func @accumulate() -> (tensor<f16>, tensor<f16>, tensor<i32>) {
  %ones = tds.constant dense<1.0> : tensor<4096xf16>
  %sum = tds.reduce sum %ones axes [0] : tensor<4096xf16> to tensor<f16>
  // The sum, 120000, is no f16; the products lie in f32.
  %x = tds.constant dense<40000.0> : tensor<3xf16>
  %w = tds.constant dense<4.005432e-05> : tensor<3xf16>
  %mean = tds.contract %x[0], %w[0] to [] : tensor<3xf16>, tensor<3xf16> to tensor<f16>
  %true = tds.constant dense<true> : tensor<300xi1>
  %i = tds.cast %true : tensor<300xi1> to tensor<300xi32>
  %count = tds.reduce sum %i axes [0] : tensor<300xi32> to tensor<i32>
  return %sum, %mean, %count : tensor<f16>, tensor<f16>, tensor<i32>
}

//===-- Functions near 0 and the special cases of pow --===//

// CHECK: near_zero.0: f32[2] [1.00000001e-10, -1.00000008e-07]
// CHECK: near_zero.1: f32[2] [1.00000001e-10, 0.000100004996]
// CHECK: near_zero.2: f32[2] [1.00000001e-10, 9.99999975e-05]
func.func @near_zero() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %a = tds.constant dense<[1.0e-10, -1.0e-7]> : tensor<2xf32>
  %b = tds.constant dense<[1.0e-10, 1.0e-4]> : tensor<2xf32>
  %l = tds.log1p %a : tensor<2xf32>
  %e = tds.expm1 %b : tensor<2xf32>
  %t = tds.tanh %b : tensor<2xf32>
  return %l, %e, %t : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// CHECK: power.0: f32[13] [-8, 4, nan, 1, 1, 1, 0, 0, inf, 81, 1000, 0.5, 8]
// CHECK: power.1: i32[8] [0, 1, -1, 1, 1, 0, -1, 1024]
func.func @power() -> (tensor<13xf32>, tensor<8xi32>) {
  %x = tds.constant dense<[-2.0, -2.0, -2.0, 0.0, 0x7FC00000, 1.0, 0.0, -0.0, 0xFF800000, 3.0, 10.0, 2.0, 2.0]> : tensor<13xf32>
  %y = tds.constant dense<[3.0, 2.0, 0.5, 0.0, 0.0, 0x7FC00000, 0.5, 0.5, 0.5, 4.0, 3.0, -1.0, 3.0]> : tensor<13xf32>
  %p = tds.pow %x, %y : tensor<13xf32>
  %a = tds.constant dense<[0, 1, -1, -1, 0, 3, -3, 2]> : tensor<8xi32>
  %b = tds.constant dense<[-1, -5, -3, -4, 0, -1, -1, 10]> : tensor<8xi32>
  %q = tds.pow %a, %b : tensor<8xi32>
  return %p, %q : tensor<13xf32>, tensor<8xi32>
}

// CHECK: literal_power: f32[3] [-8, 0, 3.375]
func.func @literal_power() -> tensor<3xf32> {
  %x = tds.constant dense<[-2.0, 0.0, 1.5]> : tensor<3xf32>
  %three = tds.constant dense<3.0> : tensor<3xf32>
  %p = tds.pow %x, %three {literal} : tensor<3xf32>
  return %p : tensor<3xf32>
}

//===-- Gathers (out of range: evaluate.mlir) --===//

// CHECK: gather: f32[3, 2] {{\[\[}}4, 5], [0, 1], [4, 5]]
func.func @gather() -> tensor<3x2xf32> {
  %t = tds.constant dense<[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]> : tensor<3x2xf32>
  %ids = tds.constant dense<[2, 0, 2]> : tensor<3xi32>
  %e = tds.generic (%i, %k) in (3, 2) : tensor<3x2xf32> {
    %id = tds.read %ids[%i] : tensor<3xi32>
    %at = tds.cast %id : i32 to index
    %v = tds.read %t[%at, %k] guard 0.0 : f32 : tensor<3x2xf32>
    tds.yield %v : f32
  }
  return %e : tensor<3x2xf32>
}

//===-- Saturation of the logistic functions --===//

// CHECK: sigmoid: f32[5] [3.78{{.*}}e-44, 2.2273{{.*}}e-39, 0.5, 1, 1]
func.func @sigmoid() -> tensor<5xf32> {
  %x = tds.constant dense<[-100.0, -89.0, 0.0, 89.0, 100.0]> : tensor<5xf32>
  %s = tds.sigmoid %x : tensor<5xf32>
  return %s : tensor<5xf32>
}
