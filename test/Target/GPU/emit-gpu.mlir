// GPU code can be looked at, and read again, before it is PTX.
// RUN: tds-opt %s --tds-select-schedule=target=cuda --tds-emit-gpu | tds-opt | FileCheck %s

// CHECK: llvm.func @k({{.*}}nvvm.kernel
// CHECK: nvvm.read.ptx.sreg.tid.x
// CHECK: llvm.store
// CHECK-NOT: tds.kernel
func.func private @k(%x: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = tds.kernel "loop" (%x) : (tensor<1000xf32>) -> tensor<1000xf32> {
  ^bb0(%p: tensor<1000xf32>):
    %y = tds.generic (%i) in (1000) : tensor<1000xf32> {
      %a = tds.read %p[%i] : tensor<1000xf32>
      %b = tds.mul %a, %a : f32
      tds.yield %b : f32
    }
    tds.yield %y : tensor<1000xf32>
  }
  return %0 : tensor<1000xf32>
}

// Rows of odd length that lie behind each other are one long row: four floats at once, and three points by themselves.
// RUN: tds-opt %s --tds-select-schedule=target=cuda | FileCheck %s --check-prefix=ODD
// RUN: tds-translate --tds-to-ptx %s | FileCheck %s --check-prefix=ODDPTX
// ODD-LABEL: @odd
// ODD: block = array<i64: 256, 1, 1>, collapse = 2 : i64, grid = array<i64: 250, 1, 1>
// ODD-SAME: vector = 4 : i64
// ODDPTX-LABEL: .entry odd(
// ODDPTX: ld.global{{.*}}.v4
// ODDPTX: st.global.v4
// ODDPTX: st.global.b32
func.func private @odd(%x: tensor<1001x255xf32>, %y: tensor<255x1001xf32>) -> tensor<1001x255xf32> {
  %0 = tds.kernel "loop" (%x) : (tensor<1001x255xf32>) -> tensor<1001x255xf32> {
  ^bb0(%p: tensor<1001x255xf32>):
    %y0 = tds.generic (%i, %j) in (1001, 255) : tensor<1001x255xf32> {
      %a = tds.read %p[%i, %j] : tensor<1001x255xf32>
      %b = tds.mul %a, %a : f32
      tds.yield %b : f32
    }
    tds.yield %y0 : tensor<1001x255xf32>
  }
  return %0 : tensor<1001x255xf32>
}
