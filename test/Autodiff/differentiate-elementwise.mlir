// RUN: tds-opt %s -tds-differentiate -canonicalize -cse -split-input-file | FileCheck %s

// A product keeps zero adjoints zero; constants are finite factors and need no guard.
// CHECK-LABEL: func.func @factors
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>
func.func @factors(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %c = tds.constant dense<3.0> : tensor<4xf32>
  %a = tds.mul %x, %c : tensor<4xf32>
  %b = tds.exp %a : tensor<4xf32>
  %p = tds.mul %b, %y : tensor<4xf32>
  %l = tds.reduce sum %p axes [0] : tensor<4xf32> to tensor<f32>
  // CHECK: %[[A:.*]] = tds.mul %[[X]],
  // CHECK: %[[B:.*]] = tds.exp %[[A]]
  // CHECK: %[[M:.*]] = tds.mul %[[Y]], %[[B]]
  // CHECK: %[[Z:.*]] = tds.compare eq %[[Y]],
  // CHECK: %[[S:.*]] = tds.select %[[Z]], %{{.*}}, %[[M]]
  // CHECK-NOT: strong_zero
  // CHECK: %[[D:.*]] = tds.mul %[[S]], %{{.*}} : tensor<4xf32>
  // CHECK-NEXT: return %[[D]]
  %d = tds.gradient %l wrt %x : tensor<f32> wrt tensor<4xf32>
  return %d : tensor<4xf32>
}

// -----

// No multiplication by one, no addition to zero.
// CHECK-LABEL: func.func @lean
// CHECK: %[[ONE:.*]] = tds.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK: return %[[ONE]]
func.func @lean(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = tds.add %x, %y : tensor<4xf32>
  %l = tds.reduce sum %a axes [0] : tensor<4xf32> to tensor<f32>
  %d = tds.gradient %l wrt %x : tensor<f32> wrt tensor<4xf32>
  return %d : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @square
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK: %[[D:.*]] = tds.mul %[[X]], %{{.*}}
// CHECK-NEXT: return %[[D]]
func.func @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = tds.constant dense<2.0> : tensor<4xf32>
  %a = tds.pow %x, %two {literal} : tensor<4xf32>
  %l = tds.reduce sum %a axes [0] : tensor<4xf32> to tensor<f32>
  %d = tds.gradient %l wrt %x : tensor<f32> wrt tensor<4xf32>
  return %d : tensor<4xf32>
}

// -----

// Stopped values, integers and comparisons carry nothing; a variable that is not reached has the gradient 0.
// CHECK-LABEL: func.func @blocked
// CHECK: %[[Z:.*]] = tds.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NOT: tds.stop_gradient
// CHECK: return %[[Z]]
func.func @blocked(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = tds.stop_gradient %x : tensor<4xf32>
  %e = tds.exp %s : tensor<4xf32>
  %i = tds.cast %x : tensor<4xf32> to tensor<4xi32>
  %f = tds.cast %i : tensor<4xi32> to tensor<4xf32>
  %g = tds.add %e, %f : tensor<4xf32>
  %l = tds.reduce sum %g axes [0] : tensor<4xf32> to tensor<f32>
  %d = tds.gradient %l wrt %x : tensor<f32> wrt tensor<4xf32>
  return %d : tensor<4xf32>
}

// -----

// Three contributions to an f16 adjoint are added in f32.
// CHECK-LABEL: func.func @narrow
// CHECK: tds.add {{.*}} : tensor<4xf32>
// CHECK: %[[S:.*]] = tds.add {{.*}} : tensor<4xf32>
// CHECK: %[[R:.*]] = tds.cast %[[S]] : tensor<4xf32> to tensor<4xf16>
// CHECK: return %[[R]]
func.func @narrow(%x: tensor<4xf16>) -> tensor<4xf16> {
  %a = tds.exp %x : tensor<4xf16>
  %b = tds.sin %x : tensor<4xf16>
  %c = tds.cos %x : tensor<4xf16>
  %d = tds.add %a, %b : tensor<4xf16>
  %e = tds.add %d, %c : tensor<4xf16>
  %l = tds.reduce sum %e axes [0] : tensor<4xf16> to tensor<f16>
  %g = tds.gradient %l wrt %x : tensor<f16> wrt tensor<4xf16>
  return %g : tensor<4xf16>
}
