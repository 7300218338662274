// RUN: tds-opt %s -tds-differentiate -canonicalize -cse -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @outer
// CHECK-SAME: %[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<4x8xf32>
func.func @outer(%a: tensor<4xf32>, %b: tensor<8xf32>, %w: tensor<4x8xf32>) -> tensor<4xf32> {
  %l = tds.generic () in () sum (%i, %j) in (4, 8) : tensor<f32> {
    %x = tds.read %a[%i] : tensor<4xf32>
    %y = tds.read %b[%j] : tensor<8xf32>
    %z = tds.read %w[%i, %j] : tensor<4x8xf32>
    %p = tds.mul %x, %y : f32
    %q = tds.add %p, %z : f32
    tds.yield %q : f32
  }
  // The index that the read lacks is summed over.
  // CHECK: %[[D:.*]] = tds.generic (%[[I:.*]]) in (4) sum (%[[J:.*]]) in (8) : tensor<4xf32> {
  // CHECK-NEXT: %[[Y:.*]] = tds.read %[[B]][%[[J]]]
  // CHECK-NEXT: tds.yield %[[Y]]
  // CHECK: return %[[D]]
  %d = tds.gradient %l wrt %a : tensor<f32> wrt tensor<4xf32>
  return %d : tensor<4xf32>
}

// -----

// A window: one index is solved for, guarded by the read of the adjoint.
// CHECK-DAG: #[[MINUS:.*]] = affine_map<(d0, d1) -> (d0 - d1)>
// CHECK-LABEL: func.func @window
// CHECK-SAME: %[[X:.*]]: tensor<12xf32>, %[[F:.*]]: tensor<3xf32>, %[[G:.*]]: tensor<10xf32>
func.func @window(%x: tensor<12xf32>, %f: tensor<3xf32>, %g: tensor<10xf32>) -> tensor<12xf32> {
  %y = tds.generic (%i) in (10) sum (%u) in (3) : tensor<10xf32> {
    %at = tds.apply affine_map<(d0, d1) -> (d0 + d1)> (%i, %u)
    %a = tds.read %x[%at] : tensor<12xf32>
    %b = tds.read %f[%u] : tensor<3xf32>
    %p = tds.mul %a, %b : f32
    tds.yield %p : f32
  }
  %w = tds.mul %y, %g : tensor<10xf32>
  %l = tds.reduce sum %w axes [0] : tensor<10xf32> to tensor<f32>
  // CHECK: %[[D:.*]] = tds.generic (%[[P:.*]]) in (12) sum (%[[U:.*]]) in (3) : tensor<12xf32> {
  // CHECK-NEXT: %[[AT:.*]] = tds.apply #[[MINUS]] (%[[P]], %[[U]])
  // CHECK-NEXT: %[[B:.*]] = tds.read %[[F]][%[[U]]]
  // CHECK-NEXT: %[[V:.*]] = tds.read %[[G]][%[[AT]]] guard 0.0
  // CHECK-NEXT: %[[M:.*]] = tds.mul %[[V]], %[[B]]
  // CHECK-NEXT: tds.yield %[[M]]
  // CHECK: return %[[D]]
  %d = tds.gradient %l wrt %x : tensor<f32> wrt tensor<12xf32>
  return %d : tensor<12xf32>
}

// -----

// A strided read keeps a divisibility guard.
// CHECK-LABEL: func.func @strided
func.func @strided(%x: tensor<9xf32>) -> tensor<9xf32> {
  %y = tds.generic (%i) in (4) : tensor<4xf32> {
    %at = tds.apply affine_map<(d0) -> (2 * d0 + 1)> (%i)
    %a = tds.read %x[%at] : tensor<9xf32>
    %e = tds.exp %a : f32
    tds.yield %e : f32
  }
  %l = tds.reduce sum %y axes [0] : tensor<4xf32> to tensor<f32>
  // CHECK: %[[D:.*]] = tds.generic (%[[P:.*]]) in (9) : tensor<9xf32> {
  // CHECK: tds.compare eq
  // CHECK: tds.compare ge
  // CHECK: tds.select
  // CHECK: return %[[D]]
  %d = tds.gradient %l wrt %x : tensor<f32> wrt tensor<9xf32>
  return %d : tensor<9xf32>
}

// -----

// A gather becomes a scatter, in f32 for f16.
// CHECK-LABEL: func.func @gather
func.func @gather(%t: tensor<100x8xf16>, %ids: tensor<4xi32>) -> tensor<100x8xf16> {
  %e = tds.generic (%i, %k) in (4, 8) : tensor<4x8xf16> {
    %id = tds.read %ids[%i] : tensor<4xi32>
    %at = tds.cast %id : i32 to index
    %v = tds.read %t[%at, %k] guard 0.0 : f16 : tensor<100x8xf16>
    tds.yield %v : f16
  }
  %l = tds.reduce sum %e axes [0, 1] : tensor<4x8xf16> to tensor<f16>
  // CHECK: %[[S:.*]] = tds.scatter (%[[I:.*]], %[[K:.*]]) in (4, 8) : tensor<100x8xf32> {
  // CHECK: %[[AT:.*]] = tds.cast %{{.*}} : i32 to index
  // CHECK: tds.scatter_yield %{{.*}} at[%[[AT]], %[[K]]] : f32
  // CHECK: tds.cast %[[S]] : tensor<100x8xf32> to tensor<100x8xf16>
  %d = tds.gradient %l wrt %t : tensor<f16> wrt tensor<100x8xf16>
  return %d : tensor<100x8xf16>
}

// -----

// Where the other axes determine the iteration, a gather is turned round too: the label of a row is compared with the place.
// CHECK-LABEL: func.func @label
// CHECK-NOT: tds.scatter
// CHECK: tds.generic (%[[I:.*]], %[[K:.*]]) in (4, 10) : tensor<4x10xf32> {
// CHECK: %[[ID:.*]] = tds.read %{{.*}}[%[[I]]] : tensor<4xi32>
// CHECK: %[[AT:.*]] = tds.cast %[[ID]] : i32 to index
// CHECK: %[[IS:.*]] = tds.compare eq %{{.*}}, %{{.*}} : index
// CHECK: tds.select %[[IS]]
func.func @label(%x: tensor<4x10xf32>, %ids: tensor<4xi32>) -> tensor<4x10xf32> {
  %e = tds.generic (%i) in (4) : tensor<4xf32> {
    %id = tds.read %ids[%i] : tensor<4xi32>
    %at = tds.cast %id : i32 to index
    %v = tds.read %x[%i, %at] guard 0.0 : f32 : tensor<4x10xf32>
    tds.yield %v : f32
  }
  %l = tds.reduce sum %e axes [0] : tensor<4xf32> to tensor<f32>
  %d = tds.gradient %l wrt %x : tensor<f32> wrt tensor<4x10xf32>
  return %d : tensor<4x10xf32>
}

// -----

// The adjoint of a scatter is a gather.
// CHECK-LABEL: func.func @scatter
// CHECK-SAME: %[[V:.*]]: tensor<4xf32>, %[[IDS:.*]]: tensor<4xi32>, %[[W:.*]]: tensor<9xf32>
func.func @scatter(%v: tensor<4xf32>, %ids: tensor<4xi32>, %w: tensor<9xf32>) -> tensor<4xf32> {
  %s = tds.scatter (%i) in (4) : tensor<9xf32> {
    %id = tds.read %ids[%i] : tensor<4xi32>
    %at = tds.cast %id : i32 to index
    %x = tds.read %v[%i] : tensor<4xf32>
    tds.scatter_yield %x at [%at] : f32
  }
  %p = tds.mul %s, %w : tensor<9xf32>
  %l = tds.reduce sum %p axes [0] : tensor<9xf32> to tensor<f32>
  // CHECK: %[[D:.*]] = tds.generic (%[[I:.*]]) in (4) : tensor<4xf32> {
  // CHECK: %[[AT:.*]] = tds.cast
  // CHECK: %[[G:.*]] = tds.read %[[W]][%[[AT]]] guard
  // CHECK: tds.yield %[[G]]
  %d = tds.gradient %l wrt %v : tensor<f32> wrt tensor<4xf32>
  return %d : tensor<4xf32>
}
