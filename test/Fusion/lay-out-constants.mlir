// RUN: tds-opt %s --tds-lay-out-constants | FileCheck %s
// RUN: tds-opt %s --tds-fusion-pipeline --tds-select-schedule --tds-plan | FileCheck %s --check-prefix=PLAN

// Columns of the result: the summed axis comes first.
// CHECK-LABEL: func.func @columns
// CHECK: %[[W:.*]] = tds.constant dense<{{\[\[}}1.000000e+00, 4.000000e+00], [2.000000e+00, 5.000000e+00], [3.000000e+00, 6.000000e+00]]> : tensor<3x2xf32>
// CHECK: tds.contract %arg0[0, 1], %[[W]][1, 2] to [0, 2] : tensor<8x3xf32>, tensor<3x2xf32> to tensor<8x2xf32>
// PLAN: plan.entry @columns
// PLAN: plan.launch {{.*}} (<input[0] 0 + 96>, <const[0] 0 + 24>) -> (<result[0] 0 + 64>)
// PLAN: plan.constant dense<{{\[\[}}1.000000e+00, 4.000000e+00], [2.000000e+00, 5.000000e+00], [3.000000e+00, 6.000000e+00]]> : tensor<3x2xf32>
func.func @columns(%x: tensor<8x3xf32> {tds.input = "x"}) -> (tensor<8x2xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %w = tds.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %y = tds.contract %x[0, 1], %w[2, 1] to [0, 2] : tensor<8x3xf32>, tensor<2x3xf32> to tensor<8x2xf32>
  return %y : tensor<8x2xf32>
}

// Rows of the result: the summed axes come last, in the order that they have on the left; the batch comes first.
// CHECK-LABEL: func.func @rows
// CHECK: %[[W:.*]] = tds.constant dense<{{\[\[\[\[}}0, 1], [2, 3], [4, 5]], {{\[\[}}6, 7], [8, 9], [10, 11]]]]> : tensor<1x2x3x2xi32>
// CHECK: tds.contract %[[W]][4, 0, 2, 1], %arg0[4, 1, 2, 3] to [4, 0, 3]
func.func @rows(%x: tensor<1x2x3x8xi32> {tds.input = "x"}) -> (tensor<1x2x8xi32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %w = tds.constant dense<[[[[0], [1]], [[2], [3]], [[4], [5]]], [[[6], [7]], [[8], [9]], [[10], [11]]]]> : tensor<2x3x2x1xi32>
  %y = tds.contract %w[0, 2, 1, 4], %x[4, 1, 2, 3] to [4, 0, 3] : tensor<2x3x2x1xi32>, tensor<1x2x3x8xi32> to tensor<1x2x8xi32>
  return %y : tensor<1x2x8xi32>
}

// Two contractions that want the same order share the constant.
// CHECK-LABEL: func.func @twice
// CHECK: tds.constant {{.*}} : tensor<3x2xf32>
// CHECK-NOT: tds.constant
// CHECK: tds.contract %arg0[0, 1], %{{.*}}[1, 2] to [0, 2]
// CHECK: tds.contract %arg1[0, 1], %{{.*}}[1, 2] to [0, 2]
func.func @twice(%x: tensor<8x3xf32> {tds.input = "x"}, %z: tensor<4x3xf32> {tds.input = "z"})
    -> (tensor<8x2xf32> {tds.result = "y"}, tensor<4x2xf32> {tds.result = "v"}) attributes {tds.entry = "function"} {
  %w = tds.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %y = tds.contract %x[0, 1], %w[2, 1] to [0, 2] : tensor<8x3xf32>, tensor<2x3xf32> to tensor<8x2xf32>
  %v = tds.contract %z[0, 1], %w[2, 1] to [0, 2] : tensor<4x3xf32>, tensor<2x3xf32> to tensor<4x2xf32>
  return %y, %v : tensor<8x2xf32>, tensor<4x2xf32>
}

// Refused: two orders, another reader, a constant in order, a vector of results, a window.
// CHECK-LABEL: func.func @stays
// CHECK: tds.contract %arg0[0, 1], %{{.*}}[2, 1] to [0, 2]
// CHECK: tds.contract %arg0[0, 2], %{{.*}}[1, 2] to [1, 0]
// CHECK: tds.contract %arg0[0, 1], %{{.*}}[2, 1] to [0, 2]
// CHECK: tds.contract %arg0[0, 1], %{{.*}}[1, 2] to [0, 2]
// CHECK: tds.contract %arg0[0, 1], %{{.*}}[1, 0] to [0]
// CHECK: tds.contract %arg0[0, 1, 2], %{{.*}}[3, 2] to [0, 3, 1]
func.func @stays(%x: tensor<8x8xf32> {tds.input = "x"}) -> (tensor<8x2xf32> {tds.result = "a"}, tensor<2x8xf32> {tds.result = "b"},
    tensor<8x2xf32> {tds.result = "c"}, tensor<2x8xf32> {tds.result = "e"}, tensor<8x2xf32> {tds.result = "d"}, tensor<8xf32> {tds.result = "f"},
    tensor<8x2x7xf32> {tds.result = "g"}) attributes {tds.entry = "function"} {
  %two = tds.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]]> : tensor<2x8xf32>
  %a = tds.contract %x[0, 1], %two[2, 1] to [0, 2] : tensor<8x8xf32>, tensor<2x8xf32> to tensor<8x2xf32>
  %b = tds.contract %x[0, 2], %two[1, 2] to [1, 0] : tensor<8x8xf32>, tensor<2x8xf32> to tensor<2x8xf32>
  %read = tds.constant dense<[[1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]]> : tensor<2x8xf32>
  %c = tds.contract %x[0, 1], %read[2, 1] to [0, 2] : tensor<8x8xf32>, tensor<2x8xf32> to tensor<8x2xf32>
  %e = tds.exp %read : tensor<2x8xf32>
  %own = tds.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<8x2xf32>
  %d = tds.contract %x[0, 1], %own[1, 2] to [0, 2] : tensor<8x8xf32>, tensor<8x2xf32> to tensor<8x2xf32>
  %v = tds.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]]> : tensor<8x8xf32>
  %f = tds.contract %x[0, 1], %v[1, 0] to [0] : tensor<8x8xf32>, tensor<8x8xf32> to tensor<8xf32>
  %filter = tds.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %g = tds.contract %x[0, 1, 2], %filter[3, 2] to [0, 3, 1] {lhs_map = affine_map<(d0, d1, d2) -> (d0, d1 + d2)>}
     : tensor<8x8xf32>, tensor<2x2xf32> to tensor<8x2x7xf32>
  return %a, %b, %c, %e, %d, %f, %g : tensor<8x2xf32>, tensor<2x8xf32>, tensor<8x2xf32>, tensor<2x8xf32>, tensor<8x2xf32>, tensor<8xf32>, tensor<8x2x7xf32>
}
