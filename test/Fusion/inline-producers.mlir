// RUN: tds-opt %s --tds-inline-producers | FileCheck %s

// CHECK: #[[MAP:.*]] = affine_map<(d0) -> (d0 * -2 + 7)>

// A transpose costs nothing: each reader reads around it.
// CHECK-LABEL: @free
// CHECK: tds.generic (%[[I:.*]], %[[J:.*]]) in (4, 8)
// CHECK-NEXT: tds.read %{{.*}}[%[[J]], %[[I]]] : tensor<8x4xf32>
// CHECK-NEXT: tds.exp
// CHECK: tds.generic (%[[I:.*]]) in (4)
// CHECK: tds.read %{{.*}}[%{{.*}}, %[[I]]] : tensor<8x4xf32>
// CHECK-NOT: tds.generic
func.func @free(%x: tensor<8x4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %t = tds.generic (%i, %j) in (4, 8) : tensor<4x8xf32> {
    %e = tds.read %x[%j, %i] : tensor<8x4xf32>
    tds.yield %e : f32
  }
  %a = tds.generic (%i, %j) in (4, 8) : tensor<4x8xf32> {
    %e = tds.read %t[%i, %j] : tensor<4x8xf32>
    %f = tds.exp %e : f32
    tds.yield %f : f32
  }
  %b = tds.generic (%i) in (4) : tensor<4xf32> {
    %k = tds.constant 3 : index
    %e = tds.read %t[%i, %k] : tensor<4x8xf32>
    tds.yield %e : f32
  }
  return %a, %b : tensor<4x8xf32>, tensor<4xf32>
}

// Affine indices compose.
// CHECK-LABEL: @compose
// CHECK: tds.generic (%[[I:.*]]) in (4)
// CHECK: %[[A:.*]] = tds.apply #[[MAP]] (%[[I]])
// CHECK: tds.read %{{.*}}[%[[A]]] : tensor<8xf32>
// CHECK: tds.exp
// CHECK-NOT: tds.generic
func.func @compose(%x: tensor<8xf32>) -> tensor<4xf32> {
  %t = tds.generic (%i) in (8) : tensor<8xf32> {
    %r = tds.apply affine_map<(d0) -> (7 - d0)> (%i)
    %e = tds.read %x[%r] : tensor<8xf32>
    %f = tds.exp %e : f32
    tds.yield %f : f32
  }
  %a = tds.generic (%i) in (4) : tensor<4xf32> {
    %r = tds.apply affine_map<(d0) -> (2 * d0)> (%i)
    %e = tds.read %t[%r] : tensor<8xf32>
    tds.yield %e : f32
  }
  return %a : tensor<4xf32>
}

// Refused: a dear producer is not evaluated once for each row; a cheap one may be.
// CHECK-LABEL: @broadcast
// CHECK: tds.generic (%{{.*}}) in (8)
// CHECK: tds.exp
// CHECK: tds.generic (%{{.*}}, %{{.*}}) in (4, 8)
// CHECK-NOT: tds.exp
// CHECK: tds.generic (%{{.*}}, %{{.*}}) in (4, 8)
// CHECK: tds.neg
// CHECK-NOT: tds.generic
func.func @broadcast(%x: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %t = tds.generic (%i) in (8) : tensor<8xf32> {
    %e = tds.read %x[%i] : tensor<8xf32>
    %f = tds.exp %e : f32
    tds.yield %f : f32
  }
  %c = tds.generic (%i) in (8) : tensor<8xf32> {
    %e = tds.read %x[%i] : tensor<8xf32>
    %f = tds.neg %e : f32
    tds.yield %f : f32
  }
  %a = tds.generic (%i, %j) in (4, 8) : tensor<4x8xf32> {
    %e = tds.read %t[%j] : tensor<8xf32>
    tds.yield %e : f32
  }
  %b = tds.generic (%i, %j) in (4, 8) : tensor<4x8xf32> {
    %e = tds.read %c[%j] : tensor<8xf32>
    tds.yield %e : f32
  }
  return %a, %b : tensor<4x8xf32>, tensor<4x8xf32>
}

// A gather of a few rows of a cheap producer takes the producer's rows only, and stays guarded.
// CHECK-LABEL: @gather
// CHECK: tds.generic (%{{.*}}, %[[K:.*]]) in (2, 8)
// CHECK: %[[AT:.*]] = tds.cast %{{.*}} : i32 to index
// CHECK: %[[E:.*]] = tds.read %{{.*}}[%[[AT]], %[[K]]] guard 0.000000e+00 : bf16 : tensor<100x8xbf16>
// CHECK: %[[F:.*]] = tds.cast %[[E]] : bf16 to f32
// CHECK: tds.compare ge %[[AT]]
// CHECK: tds.compare lt %[[AT]]
// CHECK: tds.select %{{.*}}, %[[F]], %{{.*}} : i1, f32
// CHECK-NOT: tds.generic
func.func @gather(%table: tensor<100x8xbf16>, %ids: tensor<2xi32>) -> tensor<2x8xf32> {
  %t = tds.generic (%i, %j) in (100, 8) : tensor<100x8xf32> {
    %e = tds.read %table[%i, %j] : tensor<100x8xbf16>
    %f = tds.cast %e : bf16 to f32
    tds.yield %f : f32
  }
  %r = tds.generic (%i, %k) in (2, 8) : tensor<2x8xf32> {
    %id = tds.read %ids[%i] : tensor<2xi32>
    %at = tds.cast %id : i32 to index
    %e = tds.read %t[%at, %k] guard 0.0 : f32 : tensor<100x8xf32>
    tds.yield %e : f32
  }
  return %r : tensor<2x8xf32>
}

// Refused: a padded read keeps its producer, and a dear one that many points gather from too.
// CHECK-LABEL: @guarded
// CHECK: tds.exp
// CHECK: tds.read %{{.*}} guard
func.func @guarded(%x: tensor<8xf32>) -> tensor<10xf32> {
  %t = tds.generic (%i) in (8) : tensor<8xf32> {
    %e = tds.read %x[%i] : tensor<8xf32>
    %f = tds.exp %e : f32
    tds.yield %f : f32
  }
  %r = tds.generic (%i) in (10) : tensor<10xf32> {
    %a = tds.apply affine_map<(d0) -> (d0 - 1)> (%i)
    %e = tds.read %t[%a] guard 0.0 : f32 : tensor<8xf32>
    tds.yield %e : f32
  }
  return %r : tensor<10xf32>
}

// What is rounded is what memory holds, unless its one reader only puts it in other places: there both are one, and the rounded elements are stored as before.
// CHECK-LABEL: func.func @padded_rounded
// CHECK: %[[P:.*]] = tds.generic (%{{.*}}) in (1030) : tensor<1030xbf16> {
// CHECK: tds.div
// CHECK: tds.cast %{{.*}} : f32 to bf16
// CHECK: tds.select
// CHECK: return %[[P]]
func.func @padded_rounded(%x: tensor<1024xui8> {tds.input = "x"}) -> (tensor<1030xbf16> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %d = tds.generic (%i) in (1024) : tensor<1024xf32> {
    %c = tds.constant 255.0 : f32
    %v = tds.read %x[%i] : tensor<1024xui8>
    %f = tds.cast %v : ui8 to f32
    %q = tds.div %f, %c : f32
    tds.yield %q : f32
  }
  %r = tds.generic (%i) in (1024) : tensor<1024xbf16> {
    %v = tds.read %d[%i] : tensor<1024xf32>
    %b = tds.cast %v : f32 to bf16
    tds.yield %b : bf16
  }
  %p = tds.generic (%i) in (1030) : tensor<1030xbf16> {
    %at = tds.apply affine_map<(d0) -> (d0 - 3)> (%i)
    %v = tds.read %r[%at] guard 0.0 : bf16 : tensor<1024xbf16>
    tds.yield %v : bf16
  }
  return %p : tensor<1030xbf16>
}

// Refused: the reader computes with it, so it is stored rounded.
// CHECK-LABEL: func.func @read_rounded
// CHECK: %[[R:.*]] = tds.generic (%{{.*}}) in (1024) : tensor<1024xbf16> {
// CHECK: tds.read %[[R]][%{{.*}}] guard
func.func @read_rounded(%x: tensor<1024xui8> {tds.input = "x"}) -> (tensor<1030xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %d = tds.generic (%i) in (1024) : tensor<1024xf32> {
    %c = tds.constant 255.0 : f32
    %v = tds.read %x[%i] : tensor<1024xui8>
    %f = tds.cast %v : ui8 to f32
    %q = tds.div %f, %c : f32
    tds.yield %q : f32
  }
  %r = tds.generic (%i) in (1024) : tensor<1024xbf16> {
    %v = tds.read %d[%i] : tensor<1024xf32>
    %b = tds.cast %v : f32 to bf16
    tds.yield %b : bf16
  }
  %p = tds.generic (%i) in (1030) : tensor<1030xf32> {
    %at = tds.apply affine_map<(d0) -> (d0 - 3)> (%i)
    %v = tds.read %r[%at] guard 0.0 : bf16 : tensor<1024xbf16>
    %w = tds.cast %v : bf16 to f32
    %e = tds.exp %w : f32
    tds.yield %e : f32
  }
  return %p : tensor<1030xf32>
}
