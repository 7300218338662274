// RUN: tds-opt %s --tds-select-schedule | FileCheck %s
// RUN: tds-opt %s --tds-select-schedule="arch=x86-64-v4" | FileCheck %s --check-prefixes=CHECK,V4

// The axes of an element kernel run as one.
// CHECK-LABEL: @elements
// CHECK: collapse = 2
// CHECK-SAME: lanes = "rows"
// CHECK-SAME: width = 16
func.func private @elements(%x: tensor<64x10xf32>) -> tensor<64x10xf32> {
  %0 = tds.kernel "loop" (%x) : (tensor<64x10xf32>) -> tensor<64x10xf32> {
  ^bb0(%p: tensor<64x10xf32>):
    %y = tds.generic (%i, %j) in (64, 10) : tensor<64x10xf32> {
      %a = tds.read %p[%i, %j] : tensor<64x10xf32>
      %b = tds.exp %a : f32
      tds.yield %b : f32
    }
    tds.yield %y : tensor<64x10xf32>
  }
  return %0 : tensor<64x10xf32>
}

// A bias keeps them apart.
// CHECK-LABEL: @bias
// CHECK-NOT: collapse
// CHECK: lanes = "rows"
func.func private @bias(%x: tensor<64x10xf32>, %v: tensor<10xf32>) -> tensor<64x10xf32> {
  %0 = tds.kernel "loop" (%x, %v) : (tensor<64x10xf32>, tensor<10xf32>) -> tensor<64x10xf32> {
  ^bb0(%p: tensor<64x10xf32>, %q: tensor<10xf32>):
    %y = tds.generic (%i, %j) in (64, 10) : tensor<64x10xf32> {
      %a = tds.read %p[%i, %j] : tensor<64x10xf32>
      %b = tds.read %q[%j] : tensor<10xf32>
      %c = tds.add %a, %b : f32
      tds.yield %c : f32
    }
    tds.yield %y : tensor<64x10xf32>
  }
  return %0 : tensor<64x10xf32>
}

// Rows of a matrix sum across the lanes, columns within them.
// CHECK-LABEL: @rows
// CHECK: lanes = "reduce"
func.func private @rows(%x: tensor<64x784xf32>) -> tensor<64xf32> {
  %0 = tds.kernel "row" (%x) : (tensor<64x784xf32>) -> tensor<64xf32> {
  ^bb0(%p: tensor<64x784xf32>):
    %y = tds.generic (%i) in (64) sum (%j) in (784) : tensor<64xf32> {
      %a = tds.read %p[%i, %j] : tensor<64x784xf32>
      tds.yield %a : f32
    }
    tds.yield %y : tensor<64xf32>
  }
  return %0 : tensor<64xf32>
}
// CHECK-LABEL: @columns
// CHECK: lanes = "rows"
func.func private @columns(%x: tensor<64x784xf32>) -> tensor<784xf32> {
  %0 = tds.kernel "row" (%x) : (tensor<64x784xf32>) -> tensor<784xf32> {
  ^bb0(%p: tensor<64x784xf32>):
    %y = tds.generic (%i) in (784) sum (%j) in (64) : tensor<784xf32> {
      %a = tds.read %p[%j, %i] : tensor<64x784xf32>
      tds.yield %a : f32
    }
    tds.yield %y : tensor<784xf32>
  }
  return %0 : tensor<784xf32>
}

// CHECK-LABEL: @product
// CHECK: emitter = "gemm"
// V4-SAME: rows = 8
func.func private @product(%x: tensor<64x784xf32>, %w: tensor<784x256xf32>) -> tensor<64x256xf32> {
  %0 = tds.kernel "contract" (%x, %w) : (tensor<64x784xf32>, tensor<784x256xf32>) -> tensor<64x256xf32> {
  ^bb0(%p: tensor<64x784xf32>, %q: tensor<784x256xf32>):
    %c = tds.contract %p[0, 2], %q[2, 1] to [0, 1] : tensor<64x784xf32>, tensor<784x256xf32> to tensor<64x256xf32>
    tds.yield %c : tensor<64x256xf32>
  }
  return %0 : tensor<64x256xf32>
}
// Refused: a schedule that is there stays.
// CHECK-LABEL: @given
// CHECK: {schedule = {emitter = "points", work = 1 : i64}}
func.func private @given(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tds.kernel "loop" (%x) {schedule = {emitter = "points", work = 1 : i64}} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4xf32>):
    %y = tds.generic (%i) in (4) : tensor<4xf32> {
      %a = tds.read %p[%i] : tensor<4xf32>
      tds.yield %a : f32
    }
    tds.yield %y : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
