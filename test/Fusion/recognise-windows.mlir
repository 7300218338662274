// A factor that is read at sums of multiples of loop indices is a window of the contraction; where it goes beyond the edges they are filled first.
// RUN: tds-opt %s --tds-recognise-contractions --split-input-file | FileCheck %s

// CHECK-DAG: #[[BACK:.*]] = affine_map<(d0) -> (d0 - 2)>
// CHECK-DAG: #[[WINDOW:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1 + d4, d2 + d5)>
// CHECK-LABEL: @padded
// CHECK: %[[FILLED:.*]] = tds.generic (%{{.*}}) in (4, 3, 14, 13)
// CHECK: tds.apply #[[BACK]]
// CHECK: tds.read %arg0{{.*}} guard 0.000000e+00 : f32
// CHECK: tds.contract %[[FILLED]][0, 2, 3, 4, 5, 6], %arg1[1, 4, 5, 6] to [0, 1, 2, 3] {lhs_map = #[[WINDOW]]}
#map = affine_map<(d0, d1) -> (d0 + d1 - 2)>
func.func @padded(%x: tensor<4x3x10x9xf32>, %f: tensor<8x3x5x5xf32>) -> tensor<4x8x10x9xf32> {
  %0 = tds.generic (%b, %k, %i, %j) in (4, 8, 10, 9) sum (%c, %u, %v) in (3, 5, 5) : tensor<4x8x10x9xf32> {
    %p = tds.apply #map (%i, %u)
    %q = tds.apply #map (%j, %v)
    %1 = tds.read %x[%b, %c, %p, %q] guard 0.000000e+00 : f32 : tensor<4x3x10x9xf32>
    %2 = tds.read %f[%k, %c, %u, %v] : tensor<8x3x5x5xf32>
    %3 = tds.mul %1, %2 : f32
    tds.yield %3 : f32
  }
  return %0 : tensor<4x8x10x9xf32>
}

// -----

// Steps and dilation need no copy where nothing lies outside; the window may be the right factor, and the edge may repeat.
// CHECK-DAG: #[[STEPS:.*]] = affine_map<(d0, d1, d2) -> (d0, d1 * 2 + d2 * 3 + 1)>
// CHECK-DAG: #[[EDGES:.*]] = affine_map<(d0, d1, d2) -> (d0, d1 + d2)>
// CHECK-LABEL: @strided
// CHECK-NEXT: tds.contract %arg1[1, 3], %arg0[0, 2, 3] to [0, 1, 2] {rhs_map = #[[STEPS]]}
// CHECK-NEXT: return
#steps = affine_map<(d0, d1) -> (d0 * 2 + d1 * 3 + 1)>
func.func @strided(%x: tensor<4x40xf32>, %f: tensor<6x5xf32>) -> tensor<4x6x12xf32> {
  %0 = tds.generic (%b, %k, %i) in (4, 6, 12) sum (%u) in (5) : tensor<4x6x12xf32> {
    %p = tds.apply #steps (%i, %u)
    %1 = tds.read %f[%k, %u] : tensor<6x5xf32>
    %2 = tds.read %x[%b, %p] : tensor<4x40xf32>
    %3 = tds.mul %1, %2 : f32
    tds.yield %3 : f32
  }
  return %0 : tensor<4x6x12xf32>
}
// CHECK-LABEL: @clamped
// CHECK: %[[EDGE:.*]] = tds.generic (%{{.*}}) in (4, 13)
// CHECK: tds.read %arg0{{.*}} clamped
// CHECK: tds.contract %[[EDGE]][0, 2, 3], %arg1[1, 3] to [0, 1, 2] {lhs_map = #[[EDGES]]}
#shifted = affine_map<(d0, d1) -> (d0 + d1 - 1)>
func.func @clamped(%x: tensor<4x9xf32>, %f: tensor<6x5xf32>) -> tensor<4x6x9xf32> {
  %0 = tds.generic (%b, %k, %i) in (4, 6, 9) sum (%u) in (5) : tensor<4x6x9xf32> {
    %p = tds.apply #shifted (%i, %u)
    %1 = tds.read %x[%b, %p] clamped : tensor<4x9xf32>
    %2 = tds.read %f[%k, %u] : tensor<6x5xf32>
    %3 = tds.mul %1, %2 : f32
    tds.yield %3 : f32
  }
  return %0 : tensor<4x6x9xf32>
}

// -----

// No window: a division in the index, two windows, and a filter for each channel (no index of its own).
// CHECK-LABEL: @divided
// CHECK-NOT: tds.contract
#halves = affine_map<(d0, d1) -> ((d0 + d1) floordiv 2)>
func.func @divided(%x: tensor<4x9xf32>, %f: tensor<6x5xf32>) -> tensor<4x6x9xf32> {
  %0 = tds.generic (%b, %k, %i) in (4, 6, 9) sum (%u) in (5) : tensor<4x6x9xf32> {
    %p = tds.apply #halves (%i, %u)
    %1 = tds.read %x[%b, %p] : tensor<4x9xf32>
    %2 = tds.read %f[%k, %u] : tensor<6x5xf32>
    %3 = tds.mul %1, %2 : f32
    tds.yield %3 : f32
  }
  return %0 : tensor<4x6x9xf32>
}
#sum = affine_map<(d0, d1) -> (d0 + d1)>
func.func @two(%x: tensor<4x40xf32>, %y: tensor<6x40xf32>) -> tensor<4x6x9x9xf32> {
  %0 = tds.generic (%b, %k, %i, %j) in (4, 6, 9, 9) sum (%u) in (5) : tensor<4x6x9x9xf32> {
    %p = tds.apply #sum (%i, %u)
    %q = tds.apply #sum (%j, %u)
    %1 = tds.read %x[%b, %p] : tensor<4x40xf32>
    %2 = tds.read %y[%k, %q] : tensor<6x40xf32>
    %3 = tds.mul %1, %2 : f32
    tds.yield %3 : f32
  }
  return %0 : tensor<4x6x9x9xf32>
}
func.func @depthwise(%x: tensor<4x6x40xf32>, %f: tensor<6x5xf32>) -> tensor<4x6x9xf32> {
  %0 = tds.generic (%b, %k, %i) in (4, 6, 9) sum (%u) in (5) : tensor<4x6x9xf32> {
    %p = tds.apply #sum (%i, %u)
    %1 = tds.read %x[%b, %k, %p] : tensor<4x6x40xf32>
    %2 = tds.read %f[%k, %u] : tensor<6x5xf32>
    %3 = tds.mul %1, %2 : f32
    tds.yield %3 : f32
  }
  return %0 : tensor<4x6x9xf32>
}
