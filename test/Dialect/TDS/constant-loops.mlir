// RUN: tds-opt %s --canonicalize | FileCheck %s

// A loop of constants is its results; backwards, too.
// CHECK-LABEL: func.func @counts
// CHECK-DAG: tds.constant dense<[27, 43]> : tensor<2xi32>
// CHECK-DAG: tds.constant dense<{{\[}}[1, 2], [2, 4], [5, 9], [12, 20]]> : tensor<4x2xi32>
// CHECK-NOT: tds.fold
func.func @counts() -> (tensor<2xi32>, tensor<4x2xi32>) {
  %x = tds.constant dense<[1, 2]> : tensor<2xi32>
  %two = tds.constant dense<2> : tensor<2xi32>
  %r:2 = tds.fold 4 carry(%x) invariants(%two) : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<4x2xi32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<2xi32>, %b: tensor<2xi32>):
    %m = tds.mul %a, %b : tensor<2xi32>
    %c = tds.broadcast %t axes [] : tensor<i32> to tensor<2xi32>
    %n = tds.add %m, %c : tensor<2xi32>
    tds.yield %n, %a : tensor<2xi32>, tensor<2xi32>
  }
  return %r#0, %r#1 : tensor<2xi32>, tensor<4x2xi32>
}

// CHECK-LABEL: func.func @backwards
// CHECK: tds.constant dense<4.000000e+00> : tensor<f32>
// CHECK-NOT: tds.fold
func.func @backwards() -> tensor<f32> {
  %zero = tds.constant dense<0.0> : tensor<f32>
  %rows = tds.constant dense<[4.0, 2.0, 8.0]> : tensor<3xf32>
  %r = tds.fold 3 reverse carry(%zero) slices(%rows) : (tensor<f32>, tensor<3xf32>) -> tensor<f32> {
  ^bb0(%t: tensor<i32>, %a: tensor<f32>, %x: tensor<f32>):
    %zero0 = tds.constant dense<0.0> : tensor<f32>
    %s = tds.mul %a, %zero0 : tensor<f32>
    %n = tds.add %s, %x : tensor<f32>
    tds.yield %n : tensor<f32>
  }
  return %r : tensor<f32>
}

// A sum of floats has the order of the schedule, and what is not known is computed.
// CHECK-LABEL: func.func @sums
// CHECK: tds.fold 3
// CHECK: tds.fold 3
func.func @sums(%y: tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>) {
  %zero = tds.constant dense<0.0> : tensor<f32>
  %rows = tds.constant dense<[[0.1, 0.2], [0.3, 0.4], [0.5, 0.7]]> : tensor<3x2xf32>
  %r = tds.fold 3 carry(%zero) slices(%rows) : (tensor<f32>, tensor<3x2xf32>) -> tensor<f32> {
  ^bb0(%t: tensor<i32>, %a: tensor<f32>, %x: tensor<2xf32>):
    %s = tds.reduce sum %x axes [0] : tensor<2xf32> to tensor<f32>
    %n = tds.mul %a, %s : tensor<f32>
    %e = tds.exp %n : tensor<f32>
    tds.yield %e : tensor<f32>
  }
  %q = tds.fold 3 carry(%y) slices(%rows) : (tensor<2xf32>, tensor<3x2xf32>) -> tensor<2xf32> {
  ^bb0(%t: tensor<i32>, %a: tensor<2xf32>, %x: tensor<2xf32>):
    %n = tds.mul %a, %x : tensor<2xf32>
    tds.yield %n : tensor<2xf32>
  }
  return %r, %q : tensor<f32>, tensor<2xf32>
}

// More than the compiler is willing to run.
// CHECK-LABEL: func.func @long
// CHECK: tds.fold 1000000000
func.func @long() -> tensor<i32> {
  %one = tds.constant dense<1> : tensor<i32>
  %r = tds.fold 1000000000 carry(%one) : (tensor<i32>) -> tensor<i32> {
  ^bb0(%t: tensor<i32>, %a: tensor<i32>):
    %n = tds.add %a, %t : tensor<i32>
    tds.yield %n : tensor<i32>
  }
  return %r : tensor<i32>
}

// The adjoint of a gather; a place outside adds nothing.
// CHECK-LABEL: func.func @scatter
// CHECK: tds.constant dense<[4.000000e+00, 0.000000e+00, 6.000000e+00]> : tensor<3xf32>
// CHECK-NOT: tds.scatter
func.func @scatter() -> tensor<3xf32> {
  %ids = tds.constant dense<[0, 0, 2, 7]> : tensor<4xi32>
  %d = tds.constant dense<[1.0, 3.0, 6.0, 9.0]> : tensor<4xf32>
  %r = tds.scatter (%i) in (4) : tensor<3xf32> {
    %id = tds.read %ids[%i] : tensor<4xi32>
    %at = tds.cast %id : i32 to index
    %v = tds.read %d[%i] : tensor<4xf32>
    tds.scatter_yield %v at [%at] : f32
  }
  return %r : tensor<3xf32>
}
