// Code for x86-64-v3 holds a second inner loop for AVX-512 and asks the processor, once; code for v4 has no need to.
// RUN: tds-opt %s --tds-select-schedule --tds-emit-cpu | FileCheck %s
// RUN: tds-opt %s --tds-select-schedule=arch=x86-64-v4 --tds-emit-cpu=arch=x86-64-v4 | FileCheck %s --check-prefix=V4

// CHECK: llvm.func internal @tds_inner_f32_f32_6x16of32(
// CHECK: llvm.func internal @tds_inner_f32_f32_6x32_wide({{.*}}"target-cpu", "x86-64-v4"
// CHECK: llvm.mlir.global external @tds_wide_vectors(0 : i8)
// CHECK: llvm.func internal @tds_has_wide_vectors() -> i1
// CHECK: llvm.inline_asm has_side_effects "cpuid"
// CHECK: llvm.inline_asm has_side_effects "xgetbv"
// V4-NOT: wide
func.func private @k(%x: tensor<48x64xf32>, %y: tensor<64x96xf32>) -> tensor<48x96xf32> {
  %0 = tds.kernel "contract" (%x, %y) : (tensor<48x64xf32>, tensor<64x96xf32>) -> tensor<48x96xf32> {
  ^bb0(%p: tensor<48x64xf32>, %q: tensor<64x96xf32>):
    %c = tds.contract %p[0, 2], %q[2, 1] to [0, 1] : tensor<48x64xf32>, tensor<64x96xf32> to tensor<48x96xf32>
    tds.yield %c : tensor<48x96xf32>
  }
  return %0 : tensor<48x96xf32>
}
