// What the folder leaves alone: scatters, kernels, calls, random numbers, clamped and padded reads.
// RUN: tds-eval %s | FileCheck %s
// RUN: tds-opt -canonicalize -cse %s | tds-eval | FileCheck %s
// RUN: tds-eval --f64 %s | FileCheck %s --check-prefix=F64

// Adds up in order; what lies outside is left out.
// CHECK: scatter: i32[4] [100, 0, 1011, 0]
func.func @scatter() -> tensor<4xi32> {
  %ids = tds.constant dense<[2, 2, 0, 2, 4, -1]> : tensor<6xi32>
  %values = tds.constant dense<[1, 10, 100, 1000, 10000, 100000]> : tensor<6xi32>
  %s = tds.scatter (%i) in (6) : tensor<4xi32> {
    %id = tds.read %ids[%i] : tensor<6xi32>
    %at = tds.cast %id : i32 to index
    %v = tds.read %values[%i] : tensor<6xi32>
    tds.scatter_yield %v at [%at] : i32
  }
  return %s : tensor<4xi32>
}

// A gather out of range reads its guard.
// CHECK: gather: f32[5, 2] {{\[\[}}4, 5], [0, 1], [4, 5], [0, 0], [0, 0]]
func.func @gather() -> tensor<5x2xf32> {
  %t = tds.constant dense<[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]> : tensor<3x2xf32>
  %ids = tds.constant dense<[2, 0, 2, -1, 3]> : tensor<5xi32>
  %e = tds.generic (%i, %k) in (5, 2) : tensor<5x2xf32> {
    %id = tds.read %ids[%i] : tensor<5xi32>
    %at = tds.cast %id : i32 to index
    %v = tds.read %t[%at, %k] guard 0.0 : f32 : tensor<3x2xf32>
    tds.yield %v : f32
  }
  return %e : tensor<5x2xf32>
}

// CHECK: kernel: f32[4] [1, 2, 4, 8]
func.func @kernel() -> tensor<4xf32> {
  %x = tds.constant dense<[0.0, 1.0, 2.0, 3.0]> : tensor<4xf32>
  %r = tds.kernel "loop" (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %y = tds.generic (%i) in (4) : tensor<4xf32> {
      %e = tds.read %a[%i] : tensor<4xf32>
      %two = tds.constant 2.0 : f32
      %f = tds.pow %two, %e : f32
      tds.yield %f : f32
    }
    tds.yield %y : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// CHECK: caller: f32 6
func.func private @twice(%x: tensor<f32>) -> tensor<f32> attributes {tds.vjp = @twice_vjp} {
  %r = tds.add %x, %x : tensor<f32>
  return %r : tensor<f32>
}
func.func private @twice_vjp(%x: tensor<f32>, %r: tensor<f32>, %d: tensor<f32>) -> tensor<f32> {
  return %d : tensor<f32>
}
func.func @caller() -> tensor<f32> {
  %x = tds.constant dense<3.0> : tensor<f32>
  %r = func.call @twice(%x) : (tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK: windows.0: f32[6] [0, 1, 2, 3, 4, 0]
// CHECK: windows.1: f32[6] [1, 1, 2, 3, 4, 4]
// CHECK: windows.2: f32[2] [14, 26]
func.func @windows() -> (tensor<6xf32>, tensor<6xf32>, tensor<2xf32>) {
  %x = tds.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %padded = tds.generic (%i) in (6) : tensor<6xf32> {
    %at = tds.apply affine_map<(d0) -> (d0 - 1)> (%i)
    %v = tds.read %x[%at] guard 0.0 : f32 : tensor<4xf32>
    tds.yield %v : f32
  }
  %clamped = tds.generic (%i) in (6) : tensor<6xf32> {
    %at = tds.apply affine_map<(d0) -> (d0 - 1)> (%i)
    %v = tds.read %x[%at] clamped : tensor<4xf32>
    tds.yield %v : f32
  }
  %s = tds.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  %w = tds.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %strided = tds.generic (%i) in (2) sum (%u) in (3) : tensor<2xf32> {
    %at = tds.apply affine_map<(d0, d1) -> (2 * d0 + d1)> (%i, %u)
    %v = tds.read %s[%at] : tensor<6xf32>
    %f = tds.read %w[%u] : tensor<3xf32>
    %p = tds.mul %v, %f : f32
    tds.yield %p : f32
  }
  return %padded, %clamped, %strided : tensor<6xf32>, tensor<6xf32>, tensor<2xf32>
}

// The words of Philox4x32-10 with key 0 and counter 0 are 6627e8d5 e169c58d bc57ac4c 9b00dbd8; a uniform number is the upper 24
// bits. Drawn one at a time or in a row, the numbers are the same.
// CHECK: random.0: f32[5] [0.399046{{[0-9]*}}, 0.880520{{[0-9]*}}, 0.735712{{[0-9]*}}, 0.605481{{[0-9]*}},
// CHECK: random.1: bool[5] [true, true, true, true, true]
func.func @random() -> (tensor<5xf32>, tensor<5xi1>) {
  %zero = tds.constant dense<0> : tensor<i64>
  %row = tds.generic (%i) in (5) : tensor<5xf32> {
    %s = tds.read %zero[] : tensor<i64>
    %u = tds.random uniform %s, %s, %i {site = 0 : i32} : f32
    tds.yield %u : f32
  }
  %reversed = tds.generic (%i) in (5) : tensor<5xf32> {
    %s = tds.read %zero[] : tensor<i64>
    %at = tds.apply affine_map<(d0) -> (4 - d0)> (%i)
    %u = tds.random uniform %s, %s, %at {site = 0 : i32} : f32
    tds.yield %u : f32
  }
  %same = tds.generic (%i) in (5) : tensor<5xi1> {
    %a = tds.read %row[%i] : tensor<5xf32>
    %at = tds.apply affine_map<(d0) -> (4 - d0)> (%i)
    %b = tds.read %reversed[%at] : tensor<5xf32>
    %c = tds.compare eq %a, %b : f32
    tds.yield %c : i1
  }
  return %row, %same : tensor<5xf32>, tensor<5xi1>
}

// The order of the sum is that of the index: 2^24 + 1 is 2^24, twice.
// CHECK: order.0: f32 16777216
// CHECK: order.1: f32 16777218
// F64: order.0: f64 16777218
func.func @order() -> (tensor<f32>, tensor<f32>) {
  %x = tds.constant dense<[16777216.0, 1.0, 1.0]> : tensor<3xf32>
  %a = tds.reduce sum %x axes [0] : tensor<3xf32> to tensor<f32>
  %b = tds.generic () in () sum (%i) in (3) : tensor<f32> {
    %at = tds.apply affine_map<(d0) -> (2 - d0)> (%i)
    %v = tds.read %x[%at] : tensor<3xf32>
    tds.yield %v : f32
  }
  return %a, %b : tensor<f32>, tensor<f32>
}

// A sum of products is fused: the low bits of (1 + 2^-12)^2 are not lost before -1 - 2^-11 takes the high ones away.
// CHECK: fused.0: f32 5.96046448e-08
// CHECK: fused.1: f32 5.96046448e-08
// CHECK: fused.2: f32 0
func.func @fused() -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %x = tds.constant dense<[-1.00048828125, 1.000244140625]> : tensor<2xf32>
  %y = tds.constant dense<[1.0, 1.000244140625]> : tensor<2xf32>
  %a = tds.contract %x[0], %y[0] to [] : tensor<2xf32>, tensor<2xf32> to tensor<f32>
  %b = tds.generic () in () sum (%i) in (2) : tensor<f32> {
    %u = tds.read %x[%i] : tensor<2xf32>
    %v = tds.read %y[%i] : tensor<2xf32>
    %p = tds.mul %u, %v : f32
    tds.yield %p : f32
  }
  %p = tds.mul %x, %y : tensor<2xf32>
  %c = tds.reduce sum %p axes [0] : tensor<2xf32> to tensor<f32>
  return %a, %b, %c : tensor<f32>, tensor<f32>, tensor<f32>
}
