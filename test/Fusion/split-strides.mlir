// RUN: tds-opt %s --pass-pipeline='builtin.module(func.func(tds-split-strides))' | FileCheck %s
// RUN: tds-opt %s --pass-pipeline='builtin.module(func.func(tds-split-strides,tds-recognise-contractions))' | FileCheck --check-prefix=CONTRACT %s

// The input's derivative of a 3x3 window that moves by 2: four sums, over 1x1, 2x1, 1x2 and 2x2 places, of which the larger ones read
// beyond the edge.
// CHECK-DAG: #[[EVEN:.*]] = affine_map<(d0) -> (d0 * 2)>
// CHECK-DAG: #[[AT:.*]] = affine_map<(d0, d1) -> (d0 - d1 + 1)>
// CHECK-LABEL: @two
// CHECK: %[[A:.*]] = tds.generic (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) in (64, 32, 7, 7) sum (%{{.*}}) in (64) : tensor<64x32x7x7xf32> {
// CHECK-NOT: select
// CHECK: %[[B:.*]] = tds.generic (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) in (64, 32, 6, 7) sum (%{{.*}}, %{{.*}}) in (64, 2) : tensor<64x32x6x7xf32> {
// CHECK: %[[C:.*]] = tds.generic (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) in (64, 32, 7, 7) sum (%{{.*}}, %{{.*}}) in (64, 2) : tensor<64x32x7x7xf32> {
// CHECK: %[[D:.*]] = tds.generic (%{{.*}}, %{{.*}}, %[[H:.*]], %{{.*}}) in (64, 32, 6, 7) sum (%{{.*}}, %[[U:.*]], %{{.*}}) in (64, 2, 2) : tensor<64x32x6x7xf32> {
// CHECK-DAG: tds.apply #[[AT]] (%[[H]], %[[U]])
// CHECK-DAG: tds.apply #[[EVEN]] (%[[U]])
// CHECK-NOT: select
// CHECK: tds.generic (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) in (64, 32, 13, 14) : tensor<64x32x13x14xf32> {
// CHECK: tds.read %[[A]]
// CHECK: tds.read %[[B]]
// CHECK: tds.read %[[C]]
// CHECK: tds.read %[[D]]
// CONTRACT-LABEL: @two
// CONTRACT-COUNT-4: tds.contract
// CONTRACT: return
#div = affine_map<(d0, d1) -> ((d0 - d1 + 1) floordiv 2)>
#mod = affine_map<(d0, d1) -> (d0 - d1 - ((d0 - d1 + 1) floordiv 2) * 2 + 1)>
func.func @two(%w: tensor<64x32x3x3xf32>, %dy: tensor<64x64x7x7xf32>) -> tensor<64x32x13x14xf32> {
  %dx = tds.generic (%b, %c, %h, %v) in (64, 32, 13, 14) sum (%k, %r, %s) in (64, 3, 3) : tensor<64x32x13x14xf32> {
    %zero = tds.constant 0.0 : f32
    %none = tds.constant 0 : index
    %i = tds.apply #div (%h, %r)
    %j = tds.apply #div (%v, %s)
    %f = tds.read %w[%k, %c, %r, %s] : tensor<64x32x3x3xf32>
    %g = tds.read %dy[%b, %k, %i, %j] guard 0.0 : f32 : tensor<64x64x7x7xf32>
    %p = tds.mul %g, %f : f32
    %m = tds.apply #mod (%h, %r)
    %n = tds.apply #mod (%v, %s)
    %x = tds.compare eq %m, %none : index
    %y = tds.compare eq %n, %none : index
    %z = tds.and %x, %y : i1
    %t = tds.select %z, %p, %zero : i1, f32
    tds.yield %t : f32
  }
  return %dx : tensor<64x32x13x14xf32>
}

// A stride past a window of one place: where nothing is read is 0. The remainder is compared as an integer.
// CHECK-LABEL: @gaps
// CHECK: %[[A:.*]] = tds.generic (%{{.*}}, %{{.*}}, %{{.*}}) in (64, 32, 300) sum (%{{.*}}) in (64) : tensor<64x32x300xf32> {
// CHECK-NOT: sum
// CHECK: tds.generic (%{{.*}}, %{{.*}}, %{{.*}}) in (64, 32, 900) : tensor<64x32x900xf32> {
// CHECK: %[[Z:.*]] = tds.constant 0.000000e+00 : f32
// CHECK: %[[R:.*]] = tds.read %[[A]]
// CHECK: %[[S:.*]] = tds.select %{{.*}}, %[[R]], %[[Z]]
// CHECK-NEXT: tds.yield %[[S]]
func.func @gaps(%w: tensor<64x32xf32>, %dy: tensor<64x64x300xf32>) -> tensor<64x32x900xf32> {
  %dx = tds.generic (%b, %c, %h) in (64, 32, 900) sum (%k) in (64) : tensor<64x32x900xf32> {
    %zero = tds.constant 0.0 : f32
    %none = tds.constant 0 : i32
    %i = tds.apply affine_map<(d0) -> (d0 floordiv 3)> (%h)
    %f = tds.read %w[%k, %c] : tensor<64x32xf32>
    %g = tds.read %dy[%b, %k, %i] : tensor<64x64x300xf32>
    %p = tds.mul %g, %f : f32
    %m = tds.apply affine_map<(d0) -> (d0 mod 3)> (%h)
    %n = tds.cast %m : index to i32
    %x = tds.compare eq %n, %none : i32
    %t = tds.select %x, %p, %zero : i1, f32
    tds.yield %t : f32
  }
  return %dx : tensor<64x32x900xf32>
}

// Refused: a sum too small to pay for more launches,
// CHECK-LABEL: @small
// CHECK: tds.generic (%{{.*}}) in (6) sum (%{{.*}}) in (3)
// CHECK-NOT: tds.generic
func.func @small(%w: tensor<3xf32>, %dy: tensor<3xf32>) -> tensor<6xf32> {
  %dx = tds.generic (%h) in (6) sum (%r) in (3) : tensor<6xf32> {
    %zero = tds.constant 0.0 : f32
    %none = tds.constant 0 : index
    %i = tds.apply #div (%h, %r)
    %f = tds.read %w[%r] : tensor<3xf32>
    %g = tds.read %dy[%i] guard 0.0 : f32 : tensor<3xf32>
    %p = tds.mul %g, %f : f32
    %m = tds.apply #mod (%h, %r)
    %x = tds.compare eq %m, %none : index
    %t = tds.select %x, %p, %zero : i1, f32
    tds.yield %t : f32
  }
  return %dx : tensor<6xf32>
}

// Refused: a dilation that shares a factor with the stride,
// CHECK-LABEL: @shared
// CHECK: tds.generic (%{{.*}}, %{{.*}}) in (512, 4096) sum (%{{.*}}) in (512)
// CHECK-NOT: tds.generic
func.func @shared(%w: tensor<512xf32>, %dy: tensor<512x4096xf32>) -> tensor<512x4096xf32> {
  %dx = tds.generic (%b, %h) in (512, 4096) sum (%r) in (512) : tensor<512x4096xf32> {
    %zero = tds.constant 0.0 : f32
    %none = tds.constant 0 : index
    %i = tds.apply affine_map<(d0, d1) -> ((d0 - d1 * 2) floordiv 4)> (%h, %r)
    %f = tds.read %w[%r] : tensor<512xf32>
    %g = tds.read %dy[%b, %i] guard 0.0 : f32 : tensor<512x4096xf32>
    %p = tds.mul %g, %f : f32
    %m = tds.apply affine_map<(d0, d1) -> ((d0 - d1 * 2) mod 4)> (%h, %r)
    %x = tds.compare eq %m, %none : index
    %t = tds.select %x, %p, %zero : i1, f32
    tds.yield %t : f32
  }
  return %dx : tensor<512x4096xf32>
}

// Refused: a maximum, in which what does not hold counts as 0.
// CHECK-LABEL: @largest
// CHECK: tds.generic (%{{.*}}, %{{.*}}) in (512, 4096) max (%{{.*}}) in (512)
// CHECK-NOT: tds.generic
func.func @largest(%w: tensor<512xf32>, %dy: tensor<512x4096xf32>) -> tensor<512x4096xf32> {
  %dx = tds.generic (%b, %h) in (512, 4096) max (%r) in (512) : tensor<512x4096xf32> {
    %zero = tds.constant 0.0 : f32
    %none = tds.constant 0 : index
    %i = tds.apply #div (%h, %r)
    %f = tds.read %w[%r] : tensor<512xf32>
    %g = tds.read %dy[%b, %i] guard 0.0 : f32 : tensor<512x4096xf32>
    %p = tds.mul %g, %f : f32
    %m = tds.apply #mod (%h, %r)
    %x = tds.compare eq %m, %none : index
    %t = tds.select %x, %p, %zero : i1, f32
    tds.yield %t : f32
  }
  return %dx : tensor<512x4096xf32>
}

// Windows that do not overlap have one term: the derivative of pooling is no sum.
// CHECK-LABEL: @pool
// CHECK: tds.generic (%[[I:.*]]) in (12) : tensor<12xf32> {
// CHECK-DAG: %[[ZERO:.*]] = tds.constant 0.000000e+00 : f32
// CHECK-DAG: %[[H:.*]] = tds.apply #{{.*}} (%[[I]])
// CHECK: %[[X:.*]] = tds.read %arg0[%[[H]]]
// CHECK: tds.add %[[X]], %[[ZERO]]
// CHECK-NOT: sum
// CHECK: return
func.func @pool(%dy: tensor<6xf32>) -> tensor<12xf32> {
  %dx = tds.generic (%i) in (12) sum (%u) in (2) : tensor<12xf32> {
    %zero = tds.constant 0.0 : f32
    %none = tds.constant 0 : index
    %h = tds.apply affine_map<(d0, d1) -> ((d0 - d1) floordiv 2)> (%i, %u)
    %g = tds.read %dy[%h] guard 0.0 : f32 : tensor<6xf32>
    %m = tds.apply affine_map<(d0, d1) -> ((d0 - d1) mod 2)> (%i, %u)
    %x = tds.compare eq %m, %none : index
    %t = tds.select %x, %g, %zero : i1, f32
    tds.yield %t : f32
  }
  return %dx : tensor<12xf32>
}

// Between shorter windows lie places without a term.
// CHECK-LABEL: @short
// CHECK: tds.generic (%[[I:.*]]) in (12) : tensor<12xf32> {
// CHECK-DAG: %[[TWO:.*]] = tds.constant 2 : index
// CHECK-DAG: %[[PLACE:.*]] = tds.apply #{{.*}} (%[[I]])
// CHECK: %[[IN:.*]] = tds.compare lt %[[PLACE]], %[[TWO]]
// CHECK: tds.select %[[IN]]
// CHECK-NOT: sum
// CHECK: return
func.func @short(%dy: tensor<4xf32>) -> tensor<12xf32> {
  %dx = tds.generic (%i) in (12) sum (%u) in (2) : tensor<12xf32> {
    %zero = tds.constant 0.0 : f32
    %none = tds.constant 0 : index
    %h = tds.apply affine_map<(d0, d1) -> ((d0 - d1) floordiv 3)> (%i, %u)
    %g = tds.read %dy[%h] guard 0.0 : f32 : tensor<4xf32>
    %m = tds.apply affine_map<(d0, d1) -> ((d0 - d1) mod 3)> (%i, %u)
    %x = tds.compare eq %m, %none : index
    %t = tds.select %x, %g, %zero : i1, f32
    tds.yield %t : f32
  }
  return %dx : tensor<12xf32>
}

// Refused: windows that overlap have several terms.
// CHECK-LABEL: @overlap
// CHECK: tds.generic (%{{.*}}) in (12) sum (%{{.*}}) in (3) : tensor<12xf32> {
// CHECK: return
func.func @overlap(%dy: tensor<6xf32>) -> tensor<12xf32> {
  %dx = tds.generic (%i) in (12) sum (%u) in (3) : tensor<12xf32> {
    %zero = tds.constant 0.0 : f32
    %none = tds.constant 0 : index
    %h = tds.apply affine_map<(d0, d1) -> ((d0 - d1) floordiv 2)> (%i, %u)
    %g = tds.read %dy[%h] guard 0.0 : f32 : tensor<6xf32>
    %m = tds.apply affine_map<(d0, d1) -> ((d0 - d1) mod 2)> (%i, %u)
    %x = tds.compare eq %m, %none : index
    %t = tds.select %x, %g, %zero : i1, f32
    tds.yield %t : f32
  }
  return %dx : tensor<12xf32>
}
