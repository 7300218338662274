// RUN: tds-opt %s --tds-recognise-attention --remarks-filter=recognise --remark-format=emitRemark 2>&1 | FileCheck %s

// Many programs are in recognise-programs.test.
// CHECK: Function=plain{{.*}}attention
// CHECK: Function=dropped{{.*}}no attention: the weights are not a softmax, or are changed behind it
// CHECK-LABEL: func.func @plain
// CHECK-NEXT: %[[O:.*]], %{{.*}}, %{{.*}} = tds.attention %arg0, %arg1, %arg2 {extents = array<i64: 8, 6, 4, 4>
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[S:.*]]: f32):
// CHECK-NEXT: tds.yield %[[S]] : f32
// CHECK: return %[[O]]
func.func @plain(%q: tensor<8x4xf32>, %k: tensor<6x4xf32>, %v: tensor<6x4xf32>) -> tensor<8x4xf32> {
  %s = tds.contract %q[0, 2], %k[1, 2] to [0, 1] : tensor<8x4xf32>, tensor<6x4xf32> to tensor<8x6xf32>
  %m = tds.reduce max %s axes [1] : tensor<8x6xf32> to tensor<8xf32>
  %b = tds.broadcast %m axes [0] : tensor<8xf32> to tensor<8x6xf32>
  %d = tds.sub %s, %b : tensor<8x6xf32>
  %e = tds.exp %d : tensor<8x6xf32>
  %z = tds.reduce sum %e axes [1] : tensor<8x6xf32> to tensor<8xf32>
  %c = tds.broadcast %z axes [0] : tensor<8xf32> to tensor<8x6xf32>
  %w = tds.div %e, %c : tensor<8x6xf32>
  %o = tds.contract %w[0, 2], %v[2, 1] to [0, 1] : tensor<8x6xf32>, tensor<6x4xf32> to tensor<8x4xf32>
  return %o : tensor<8x4xf32>
}

// Refused: weights that are changed behind softmax, as dropout does.
// CHECK-LABEL: func.func @dropped
// CHECK-NOT: tds.attention
func.func @dropped(%u: tensor<8x6xf32>, %q: tensor<8x4xf32>, %k: tensor<6x4xf32>, %v: tensor<6x4xf32>) -> tensor<8x4xf32> {
  %s = tds.contract %q[0, 2], %k[1, 2] to [0, 1] : tensor<8x4xf32>, tensor<6x4xf32> to tensor<8x6xf32>
  %m = tds.reduce max %s axes [1] : tensor<8x6xf32> to tensor<8xf32>
  %b = tds.broadcast %m axes [0] : tensor<8xf32> to tensor<8x6xf32>
  %d = tds.sub %s, %b : tensor<8x6xf32>
  %e = tds.exp %d : tensor<8x6xf32>
  %z = tds.reduce sum %e axes [1] : tensor<8x6xf32> to tensor<8xf32>
  %c = tds.broadcast %z axes [0] : tensor<8xf32> to tensor<8x6xf32>
  %w = tds.div %e, %c : tensor<8x6xf32>
  %x = tds.mul %w, %u : tensor<8x6xf32>
  %o = tds.contract %x[0, 2], %v[2, 1] to [0, 1] : tensor<8x6xf32>, tensor<6x4xf32> to tensor<8x4xf32>
  return %o : tensor<8x4xf32>
}
