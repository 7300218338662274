// RUN: tds-opt %s --pass-pipeline='builtin.module(func.func(tds-reorder-products))' | FileCheck %s
// RUN: tds-opt %s --pass-pipeline='builtin.module(func.func(tds-reorder-products{floats=true}))' | FileCheck --check-prefix=FLOATS %s
// RUN: tds-opt %s --pass-pipeline='builtin.module(func.func(tds-reorder-products))' --remarks-filter='.*' 2>&1 >/dev/null | FileCheck --check-prefix=REMARK %s

// (a b) v is a (b v): two products of a matrix and a vector.
// CHECK-LABEL: @vector
// CHECK: %[[P:.*]] = tds.contract %arg1[2, 1], %arg2[1] to [2] : tensor<512x512xi32>, tensor<512xi32> to tensor<512xi32>
// CHECK-NEXT: %[[Q:.*]] = tds.contract %arg0[0, 2], %[[P]][2] to [0] : tensor<512x512xi32>, tensor<512xi32> to tensor<512xi32>
// CHECK-NEXT: return %[[Q]]
// REMARK-DAG: product of 3 tensors in another order: 5.24e+05 multiplications instead of 1.34e+08
func.func @vector(%a: tensor<512x512xi32>, %b: tensor<512x512xi32>, %v: tensor<512xi32>) -> tensor<512xi32> {
  %p = tds.contract %a[0, 2], %b[2, 1] to [0, 1] : tensor<512x512xi32>, tensor<512x512xi32> to tensor<512x512xi32>
  %q = tds.contract %p[0, 1], %v[1] to [0] : tensor<512x512xi32>, tensor<512xi32> to tensor<512xi32>
  return %q : tensor<512xi32>
}

// Floats only where they may; the transpose of a product is a product of transposes.
// CHECK-LABEL: @floats
// CHECK: tds.contract %arg0
// CHECK: tds.transpose
// CHECK: tds.contract %{{.*}}, %arg2
// FLOATS-LABEL: @floats
// FLOATS: %[[P:.*]] = tds.contract %arg0[2, {{.*}}], %arg2[2, 1] to
// FLOATS-NEXT: %[[Q:.*]] = tds.contract %[[P]][3, 1], %arg1[3, 0] to [0, 1]
// FLOATS-NEXT: return %[[Q]]
// REMARK-DAG: product of 3 tensors in another order: 8.19e+03 multiplications instead of 8.19e+04, with --fast-math=reassociate
func.func @floats(%a: tensor<64x16xf32>, %b: tensor<16x64xf32>, %c: tensor<64x4xf32>) -> tensor<64x4xf32> {
  %p = tds.contract %a[0, 2], %b[2, 1] to [0, 1] : tensor<64x16xf32>, tensor<16x64xf32> to tensor<64x64xf32>
  %t = tds.transpose %p [1, 0] : tensor<64x64xf32> to tensor<64x64xf32>
  %q = tds.contract %t[0, 2], %c[2, 1] to [0, 1] : tensor<64x64xf32>, tensor<64x4xf32> to tensor<64x4xf32>
  return %q : tensor<64x4xf32>
}

// Four matrices in pairs; a batch axis runs through all.
// CHECK-LABEL: @chain
// CHECK: %[[P:.*]] = tds.contract %arg0[0, 1, 4], %arg1[0, 4, 5] to [0, 1, 5]
// CHECK-NEXT: %[[Q:.*]] = tds.contract %arg2[0, 5, 3], %arg3[0, 3, 2] to [0, 5, 2]
// CHECK-NEXT: tds.contract %[[P]][0, 1, 5], %[[Q]][0, 5, 2] to [0, 1, 2]
func.func @chain(%a: tensor<5x2x32xi64>, %b: tensor<5x32x2xi64>, %c: tensor<5x2x64xi64>, %d: tensor<5x64x2xi64>) -> tensor<5x2x2xi64> {
  %p = tds.contract %b[0, 1, 3], %c[0, 3, 2] to [0, 1, 2] : tensor<5x32x2xi64>, tensor<5x2x64xi64> to tensor<5x32x64xi64>
  %q = tds.contract %a[0, 1, 3], %p[0, 3, 2] to [0, 1, 2] : tensor<5x2x32xi64>, tensor<5x32x64xi64> to tensor<5x2x64xi64>
  %r = tds.contract %q[0, 1, 3], %d[0, 3, 2] to [0, 1, 2] : tensor<5x2x64xi64>, tensor<5x64x2xi64> to tensor<5x2x2xi64>
  return %r : tensor<5x2x2xi64>
}

// Refused: a product that something else reads.
// CHECK-LABEL: @shared
// CHECK: %[[P:.*]] = tds.contract %arg0
// CHECK: tds.contract %[[P]]
func.func @shared(%a: tensor<512x512xi32>, %b: tensor<512x512xi32>, %v: tensor<512xi32>) -> (tensor<512x512xi32>, tensor<512xi32>) {
  %p = tds.contract %a[0, 2], %b[2, 1] to [0, 1] : tensor<512x512xi32>, tensor<512x512xi32> to tensor<512x512xi32>
  %q = tds.contract %p[0, 1], %v[1] to [0] : tensor<512x512xi32>, tensor<512xi32> to tensor<512xi32>
  return %p, %q : tensor<512x512xi32>, tensor<512xi32>
}

// Refused: bytes, whose products are summed in a wider type.
// CHECK-LABEL: @narrow
// CHECK: %[[P:.*]] = tds.contract %arg0
// CHECK: tds.contract %[[P]]
func.func @narrow(%a: tensor<512x512xi8>, %b: tensor<512x512xi8>, %v: tensor<512xi32>) -> tensor<512xi32> {
  %p = tds.contract %a[0, 2], %b[2, 1] to [0, 1] : tensor<512x512xi8>, tensor<512x512xi8> to tensor<512x512xi32>
  %q = tds.contract %p[0, 1], %v[1] to [0] : tensor<512x512xi32>, tensor<512xi32> to tensor<512xi32>
  return %q : tensor<512xi32>
}

// Refused: the best order.
// CHECK-LABEL: @best
// CHECK: %[[P:.*]] = tds.contract %arg1
// CHECK: tds.contract %arg0{{.*}}, %[[P]]
func.func @best(%a: tensor<512x512xi32>, %b: tensor<512x512xi32>, %v: tensor<512xi32>) -> tensor<512xi32> {
  %p = tds.contract %b[0, 1], %v[1] to [0] : tensor<512x512xi32>, tensor<512xi32> to tensor<512xi32>
  %q = tds.contract %a[0, 1], %p[1] to [0] : tensor<512x512xi32>, tensor<512xi32> to tensor<512xi32>
  return %q : tensor<512xi32>
}
