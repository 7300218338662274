// RUN: tds-opt %s -tds-differentiate -canonicalize -cse -split-input-file | FileCheck %s

// Empty extents, and index arithmetic that would overflow.
// CHECK-LABEL: func.func @empty
func.func @empty(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = tds.generic (%i) in (0) sum (%u) in (3) : tensor<0xf32> {
    %at = tds.apply affine_map<(d0, d1) -> (2 * d0 + d1)> (%i, %u)
    %a = tds.read %x[%at] : tensor<2xf32>
    tds.yield %a : f32
  }
  %l = tds.reduce sum %y axes [0] : tensor<0xf32> to tensor<f32>
  %d = tds.gradient %l wrt %x : tensor<f32> wrt tensor<2xf32>
  return %d : tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @large
func.func @large(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = tds.generic (%i) in (3) : tensor<3xf32> {
    %at = tds.apply affine_map<(d0) -> (d0 * 4611686018427387904 - 9223372036854775807)> (%i)
    %a = tds.read %x[%at] guard 0.0 : f32 : tensor<2xf32>
    tds.yield %a : f32
  }
  %l = tds.reduce sum %y axes [0] : tensor<3xf32> to tensor<f32>
  %d = tds.gradient %l wrt %x : tensor<f32> wrt tensor<2xf32>
  return %d : tensor<2xf32>
}
