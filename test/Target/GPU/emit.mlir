// GPU code can be looked at, and read again, before it is PTX; a kernel without a schedule for a GPU is refused.
// RUN: tds-opt %s --tds-select-schedule=target=cuda --tds-emit-gpu | tds-opt | FileCheck %s
// RUN: not tds-opt %s --tds-emit-gpu 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not tds-opt %s --tds-select-schedule --tds-emit-gpu 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: 'tds.kernel' op has no schedule for a GPU; run tds-select-schedule{target=cuda} first

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
