// No operation of the generated code may be reordered or contracted: no fast-math flag, and multiply-adds only for sums of products.
// RUN: tds-opt %s --tds-select-schedule --tds-emit-cpu > %t
// RUN: FileCheck %s < %t
// RUN: not grep -E "fastmath<|fastmathFlags|reassoc|contract>" %t

// CHECK-LABEL: llvm.func internal @dot.work
// CHECK: llvm.intr.fma
// Refused: a product and a sum beside each other are rounded twice, as they are written.
// Refused: a product and a sum beside each other are rounded twice, as they are written.
// CHECK-LABEL: llvm.func internal @norm.work
// CHECK-NOT: llvm.intr.fma
// CHECK: llvm.fadd
// CHECK: llvm.func @norm(
func.func private @dot(%x: tensor<100xf32>, %y: tensor<100xf32>) -> tensor<f32> {
  %0 = tds.kernel "row" (%x, %y) : (tensor<100xf32>, tensor<100xf32>) -> tensor<f32> {
  ^bb0(%p: tensor<100xf32>, %q: tensor<100xf32>):
    %s = tds.generic () in () sum (%i) in (100) : tensor<f32> {
      %a = tds.read %p[%i] : tensor<100xf32>
      %b = tds.read %q[%i] : tensor<100xf32>
      %c = tds.mul %a, %b : f32
      tds.yield %c : f32
    }
    tds.yield %s : tensor<f32>
  }
  return %0 : tensor<f32>
}
func.func private @norm(%x: tensor<8x100xf32>) -> tensor<8x100xf32> {
  %0 = tds.kernel "row" (%x) : (tensor<8x100xf32>) -> tensor<8x100xf32> {
  ^bb0(%p: tensor<8x100xf32>):
    %s = tds.generic (%i) in (8) sum (%j) in (100) : tensor<8xf32> {
      %a = tds.read %p[%i, %j] : tensor<8x100xf32>
      tds.yield %a : f32
    }
    %y = tds.generic (%i, %j) in (8, 100) : tensor<8x100xf32> {
      %a = tds.read %p[%i, %j] : tensor<8x100xf32>
      %b = tds.read %s[%i] : tensor<8xf32>
      %c = tds.mul %a, %b : f32
      %d = tds.add %c, %a : f32
      tds.yield %d : f32
    }
    tds.yield %y : tensor<8x100xf32>
  }
  return %0 : tensor<8x100xf32>
}
