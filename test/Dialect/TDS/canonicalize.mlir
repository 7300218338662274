// RUN: tds-opt -canonicalize %s | FileCheck %s

// CHECK-LABEL: @shapes
// CHECK-DAG: %[[T:.*]] = tds.transpose %arg0 [1, 2, 0]
// CHECK-DAG: %[[R:.*]] = tds.reshape %arg0 : tensor<2x3x4xf32> to tensor<24xf32>
// CHECK-DAG: %[[B:.*]] = tds.broadcast %arg1 axes [2] : tensor<4xf32> to tensor<2x3x4xf32>
// CHECK-DAG: %[[U:.*]] = tds.reshape %arg1 : tensor<4xf32> to tensor<1x4xf32>
// CHECK: return %[[T]], %arg0, %[[R]], %[[B]], %[[U]]
func.func @shapes(%x: tensor<2x3x4xf32>, %v: tensor<4xf32>) -> (tensor<3x4x2xf32>, tensor<2x3x4xf32>, tensor<24xf32>, tensor<2x3x4xf32>, tensor<1x4xf32>) {
  %t1 = tds.transpose %x [2, 0, 1] : tensor<2x3x4xf32> to tensor<4x2x3xf32>
  %t2 = tds.transpose %t1 [2, 0, 1] : tensor<4x2x3xf32> to tensor<3x4x2xf32>
  %t3 = tds.transpose %t2 [2, 0, 1] : tensor<3x4x2xf32> to tensor<2x3x4xf32>
  %r1 = tds.reshape %x : tensor<2x3x4xf32> to tensor<6x4xf32>
  %r2 = tds.reshape %r1 : tensor<6x4xf32> to tensor<24xf32>
  %b1 = tds.broadcast %v axes [1] : tensor<4xf32> to tensor<3x4xf32>
  %b2 = tds.broadcast %b1 axes [1, 2] : tensor<3x4xf32> to tensor<2x3x4xf32>
  %u = tds.broadcast %v axes [1] : tensor<4xf32> to tensor<1x4xf32>
  return %t2, %t3, %r2, %b2, %u : tensor<3x4x2xf32>, tensor<2x3x4xf32>, tensor<24xf32>, tensor<2x3x4xf32>, tensor<1x4xf32>
}

// Sums of f32 join; those of f16 are rounded in between.
// CHECK-LABEL: @reduce_of_reduce
// CHECK: tds.reduce sum %arg0 axes [0, 2] : tensor<2x3x4xf32> to tensor<3xf32>
// CHECK: tds.reduce max %arg1 axes [0, 2] : tensor<2x3x4xf16> to tensor<3xf16>
// CHECK: %[[S:.*]] = tds.reduce sum %arg1 axes [2]
// CHECK: tds.reduce sum %[[S]] axes [0]
func.func @reduce_of_reduce(%x: tensor<2x3x4xf32>, %h: tensor<2x3x4xf16>) -> (tensor<3xf32>, tensor<3xf16>, tensor<3xf16>) {
  %a = tds.reduce sum %x axes [2] : tensor<2x3x4xf32> to tensor<2x3xf32>
  %b = tds.reduce sum %a axes [0] : tensor<2x3xf32> to tensor<3xf32>
  %c = tds.reduce max %h axes [2] : tensor<2x3x4xf16> to tensor<2x3xf16>
  %d = tds.reduce max %c axes [0] : tensor<2x3xf16> to tensor<3xf16>
  %e = tds.reduce sum %h axes [2] : tensor<2x3x4xf16> to tensor<2x3xf16>
  %f = tds.reduce sum %e axes [0] : tensor<2x3xf16> to tensor<3xf16>
  return %b, %d, %f : tensor<3xf32>, tensor<3xf16>, tensor<3xf16>
}

// Guards and clamps that never act go; index expressions join.
// CHECK-LABEL: @indices
// CHECK: tds.generic (%[[I:.*]]) in (4)
// CHECK: tds.read %arg0[%[[I]]] : tensor<4xf32>
// CHECK: %[[M:.*]] = tds.apply #{{.*}} (%[[I]])
// CHECK: tds.read %arg0[%[[M]]] : tensor<4xf32>
// CHECK: %[[N:.*]] = tds.apply #{{.*}} (%[[I]])
// CHECK: tds.read %arg0[%[[N]]] guard 0.000000e+00 : f32 : tensor<4xf32>
func.func @indices(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = tds.generic (%i) in (4) : tensor<4xf32> {
    %a = tds.read %x[%i] guard 0.0 : f32 : tensor<4xf32>
    %m = tds.apply affine_map<(d0) -> ((d0 * 3) mod 4)> (%i)
    %b = tds.read %x[%m] clamped : tensor<4xf32>
    %n = tds.apply affine_map<(d0) -> (d0 + 3)> (%i)
    %o = tds.apply affine_map<(d0) -> (d0 - 2)> (%n)
    %c = tds.read %x[%o] guard 0.0 : f32 : tensor<4xf32>
    %d = tds.add %a, %b : f32
    %e = tds.add %d, %c : f32
    tds.yield %e : f32
  }
  return %y : tensor<4xf32>
}

// A copy is its tensor, a constant body a splat; constants in a body stay there.
// CHECK-LABEL: @generics
// CHECK: %[[C:.*]] = tds.constant dense<7.38{{[0-9]*}}> : tensor<100000xf32>
// CHECK: tds.generic
// CHECK-NEXT: tds.constant 7.38{{[0-9]*}} : f32
// CHECK: return %arg0, %[[C]]
func.func @generics(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<100000xf32>, tensor<4xf32>) {
  %a = tds.generic (%i) in (4) : tensor<4xf32> {
    %v = tds.read %x[%i] : tensor<4xf32>
    tds.yield %v : f32
  }
  %b = tds.generic (%i) in (100000) : tensor<100000xf32> {
    %two = tds.constant 2.0 : f32
    %e = tds.exp %two : f32
    tds.yield %e : f32
  }
  %two = tds.constant dense<2.0> : tensor<4xf32>
  %c = tds.generic (%i) in (4) : tensor<4xf32> {
    %v = tds.read %x[%i] : tensor<4xf32>
    %w = tds.read %two[%i] : tensor<4xf32>
    %e = tds.exp %w : f32
    %s = tds.add %v, %e : f32
    tds.yield %s : f32
  }
  return %a, %b, %c : tensor<4xf32>, tensor<100000xf32>, tensor<4xf32>
}

// CHECK-LABEL: @dead
// CHECK-NEXT: return
func.func @dead(%x: tensor<4xf32>, %l: tensor<f32>) {
  %e = tds.exp %x : tensor<4xf32>
  %g = tds.gradient %l wrt %e : tensor<f32> wrt tensor<4xf32>
  return
}

// What an index can be follows from types and operations.
// CHECK-LABEL: @index_ranges
// CHECK-COUNT-5: guard
// CHECK-NOT: guard
func.func @index_ranges(%t: tensor<256xf32>, %b: tensor<4xui8>, %s: tensor<4xi8>, %i: tensor<4xi32>, %l: tensor<4xi64>, %c: tensor<4xi1>)
    -> tensor<4xf32> {
  %r = tds.generic (%k) in (4) : tensor<4xf32> {
    %u8 = tds.read %b[%k] : tensor<4xui8>
    %i8 = tds.read %s[%k] : tensor<4xi8>
    %i32 = tds.read %i[%k] : tensor<4xi32>
    %i64 = tds.read %l[%k] : tensor<4xi64>
    %bool = tds.read %c[%k] : tensor<4xi1>
    %c0 = tds.constant 0 : i32
    %c255 = tds.constant 255 : i32
    %c256 = tds.constant 256 : i32
    %m1 = tds.constant -1 : i32
    // Inside: a u8, a clamped, a floored remainder, a bool, a choice of two, a constant less a u8.
    %a = tds.cast %u8 : ui8 to index
    %ra = tds.read %t[%a] guard 0.0 : f32 : tensor<256xf32>
    %d = tds.clamp %i32, %c0, %c255 : i32
    %di = tds.cast %d : i32 to index
    %rd = tds.read %t[%di] guard 0.0 : f32 : tensor<256xf32>
    %e = tds.mod %i32, %c256 : i32
    %ei = tds.cast %e : i32 to index
    %re = tds.read %t[%ei] guard 0.0 : f32 : tensor<256xf32>
    %f = tds.cast %bool : i1 to index
    %rf = tds.read %t[%f] guard 0.0 : f32 : tensor<256xf32>
    %g = tds.select %bool, %c255, %c0 : i1, i32
    %gi = tds.cast %g : i32 to index
    %rg = tds.read %t[%gi] guard 0.0 : f32 : tensor<256xf32>
    %u = tds.cast %u8 : ui8 to i32
    %h = tds.sub %c255, %u : i32
    %hi = tds.cast %h : i32 to index
    %rh = tds.read %t[%hi] guard 0.0 : f32 : tensor<256xf32>
    // Outside perhaps: an i8, an i32, an i64, a u8 plus 1, and a remainder whose divisor is negative.
    %n = tds.cast %i8 : i8 to index
    %rn = tds.read %t[%n] guard 1.0 : f32 : tensor<256xf32>
    %o = tds.cast %i32 : i32 to index
    %ro = tds.read %t[%o] guard 1.0 : f32 : tensor<256xf32>
    %p = tds.cast %i64 : i64 to index
    %rp = tds.read %t[%p] guard 1.0 : f32 : tensor<256xf32>
    %q = tds.sub %u, %m1 : i32
    %qi = tds.cast %q : i32 to index
    %rq = tds.read %t[%qi] guard 1.0 : f32 : tensor<256xf32>
    %v = tds.mod %i32, %m1 : i32
    %vi = tds.cast %v : i32 to index
    %rv = tds.read %t[%vi] guard 1.0 : f32 : tensor<256xf32>
    %s0 = tds.add %ra, %rd : f32
    %s1 = tds.add %s0, %re : f32
    %s2 = tds.add %s1, %rf : f32
    %s3 = tds.add %s2, %rg : f32
    %s4 = tds.add %s3, %rh : f32
    %s5 = tds.add %s4, %rn : f32
    %s6 = tds.add %s5, %ro : f32
    %s7 = tds.add %s6, %rp : f32
    %s8 = tds.add %s7, %rq : f32
    %s9 = tds.add %s8, %rv : f32
    tds.yield %s9 : f32
  }
  return %r : tensor<4xf32>
}
