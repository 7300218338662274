// RUN: tds-opt %s --tds-recognise-contractions | FileCheck %s
// RUN: tds-opt %s --tds-generalize --tds-recognise-contractions | FileCheck %s --check-prefix=TRANSPOSE

// CHECK-LABEL: @matmul
// CHECK: tds.contract %{{.*}}[0, 2], %{{.*}}[2, 1] to [0, 1] : tensor<4x8xf32>, tensor<8x3xf32> to tensor<4x3xf32>
func.func @matmul(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>) -> tensor<4x3xf32> {
  %r = tds.generic (%i, %j) in (4, 3) sum (%k) in (8) : tensor<4x3xf32> {
    %x = tds.read %a[%i, %k] : tensor<4x8xf32>
    %y = tds.read %b[%k, %j] : tensor<8x3xf32>
    %p = tds.mul %x, %y : f32
    tds.yield %p : f32
  }
  return %r : tensor<4x3xf32>
}

// Casts to the accumulator's type are the contraction's own.
// CHECK-LABEL: @narrow
// CHECK-NOT: tds.cast
// CHECK: tds.contract %{{.*}} : tensor<4x8xbf16>, tensor<8x3xbf16> to tensor<4x3xf32>
func.func @narrow(%a: tensor<4x8xbf16>, %b: tensor<8x3xbf16>) -> tensor<4x3xf32> {
  %r = tds.generic (%i, %j) in (4, 3) sum (%k) in (8) : tensor<4x3xf32> {
    %x0 = tds.read %a[%i, %k] : tensor<4x8xbf16>
    %y0 = tds.read %b[%k, %j] : tensor<8x3xbf16>
    %x = tds.cast %x0 : bf16 to f32
    %y = tds.cast %y0 : bf16 to f32
    %p = tds.mul %x, %y : f32
    tds.yield %p : f32
  }
  return %r : tensor<4x3xf32>
}

// Another factor than a read becomes a generic of its own.
// CHECK-LABEL: @factor
// CHECK: %[[F:.*]] = tds.generic (%[[I:.*]], %[[K:.*]]) in (4, 8) : tensor<4x8xf32>
// CHECK-NEXT: tds.read %{{.*}}[%[[I]], %[[K]]] : tensor<4x8xui8>
// CHECK-NEXT: tds.cast %{{.*}} : ui8 to f32
// CHECK: tds.contract %[[F]][0, 2], %{{.*}}[2, 1] to [0, 1]
func.func @factor(%a: tensor<4x8xui8>, %b: tensor<8x3xf32>) -> tensor<4x3xf32> {
  %r = tds.generic (%i, %j) in (4, 3) sum (%k) in (8) : tensor<4x3xf32> {
    %x0 = tds.read %a[%i, %k] : tensor<4x8xui8>
    %x = tds.cast %x0 : ui8 to f32
    %y = tds.read %b[%k, %j] : tensor<8x3xf32>
    %p = tds.mul %x, %y : f32
    tds.yield %p : f32
  }
  return %r : tensor<4x3xf32>
}

// Refused: no side has an index of its own, so it is a sum over rows.
// CHECK-LABEL: @row_dot
// CHECK-NOT: tds.contract
// CHECK: return
func.func @row_dot(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<4xf32> {
  %r = tds.generic (%i) in (4) sum (%k) in (8) : tensor<4xf32> {
    %x = tds.read %a[%i, %k] : tensor<4x8xf32>
    %y = tds.read %b[%i, %k] : tensor<4x8xf32>
    %p = tds.mul %x, %y : f32
    tds.yield %p : f32
  }
  return %r : tensor<4xf32>
}

// Refused: narrow integers wrap in the body, in a contraction they would not.
// CHECK-LABEL: @wraps
// CHECK-NOT: tds.contract
// CHECK: return
func.func @wraps(%a: tensor<4x8xi8>, %b: tensor<8x3xi8>) -> tensor<4x3xi8> {
  %r = tds.generic (%i, %j) in (4, 3) sum (%k) in (8) : tensor<4x3xi8> {
    %x = tds.read %a[%i, %k] : tensor<4x8xi8>
    %y = tds.read %b[%k, %j] : tensor<8x3xi8>
    %p = tds.mul %x, %y : i8
    tds.yield %p : i8
  }
  return %r : tensor<4x3xi8>
}

// TRANSPOSE-LABEL: @transposed
// TRANSPOSE-NOT: tds.generic
// TRANSPOSE: tds.contract %{{.*}}[2, 0], %{{.*}}[1, 2] to [1, 0] : tensor<8x4xf32>, tensor<3x8xf32> to tensor<3x4xf32>
// TRANSPOSE-NOT: tds.generic
func.func @transposed(%a: tensor<8x4xf32>, %b: tensor<3x8xf32>) -> tensor<3x4xf32> {
  %at = tds.transpose %a [1, 0] : tensor<8x4xf32> to tensor<4x8xf32>
  %bt = tds.transpose %b [1, 0] : tensor<3x8xf32> to tensor<8x3xf32>
  %c = tds.contract %at[0, 2], %bt[2, 1] to [0, 1] : tensor<4x8xf32>, tensor<8x3xf32> to tensor<4x3xf32>
  %ct = tds.transpose %c [1, 0] : tensor<4x3xf32> to tensor<3x4xf32>
  return %ct : tensor<3x4xf32>
}
