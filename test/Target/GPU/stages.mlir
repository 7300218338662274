// The parts of later stages are run by the block that comes last: it fences what it has written, counts itself, and the count starts anew for the next launch.
// RUN: tds-opt %s --tds-select-schedule=target=cuda --tds-emit-gpu | FileCheck %s
// RUN: tds-translate --tds-to-ptx %s > %t.ptx && FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: %if ptxas %{ ptxas -arch=sm_80 -v %t.ptx -o /dev/null 2>&1 | FileCheck --check-prefix=PTXAS %s %}
// RUN: not tds-opt %s --tds-select-schedule=target=cpu --tds-emit-cpu -o /dev/null 2>&1 | FileCheck %s --check-prefix=CPU

// CPU: has parts of several stages, which only GPUs run in one launch
// PTXAS-NOT: error
// PTXAS-COUNT-2: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads

// CHECK: llvm.mlir.global internal @total_arrived(0 : i32) {addr_space = 1 : i32
// Other blocks write the sums while the kernel runs: nothing may be assumed of them.
// CHECK-LABEL: llvm.func @total(%arg0: !llvm.ptr {llvm.align = 16 : i64, llvm.noalias}, %arg1: !llvm.ptr {llvm.align = 16 : i64}, %arg2: !llvm.ptr {llvm.align = 4 : i64, llvm.noalias})
// CHECK: nvvm.bar.warp.sync
// CHECK-NEXT: nvvm.barrier
// CHECK: llvm.fence syncscope("device") acq_rel
// CHECK: llvm.atomicrmw uinc_wrap {{.*}} syncscope("device") monotonic
// CHECK: llvm.fence syncscope("device") acq_rel
// CHECK: nvvm.bar.warp.sync
// CHECK-NEXT: nvvm.barrier
// CHECK: arith.cmpi eq
// CHECK-NEXT: scf.if

// PTX-LABEL: .entry total(
// PTX: ld.global.nc{{.*}}
// PTX: fence.acq_rel.gpu;
// PTX-NEXT: atom.global.inc.u32 %r{{[0-9]+}}, [total_arrived], 511;
// PTX-NEXT: fence.acq_rel.gpu;
// PTX-NOT: ld.global.nc
// PTX: ret;
func.func private @total(%x: tensor<512x4096xf32>) -> (tensor<512xf32>, tensor<f32>) attributes {plan.disjoint} {
  %0:2 = tds.kernel "parts" (%x) : (tensor<512x4096xf32>) -> (tensor<512xf32>, tensor<f32>) {
  ^bb0(%m: tensor<512x4096xf32>):
  %a = tds.kernel "row"(%m) : (tensor<512x4096xf32>) -> tensor<512xf32> {
  ^bb0(%p: tensor<512x4096xf32>):
    %r = tds.generic (%i) in (512) sum (%j) in (4096) : tensor<512xf32> {
      %e = tds.read %p[%i, %j] : tensor<512x4096xf32>
      tds.yield %e : f32
    }
    tds.yield %r : tensor<512xf32>
  }
  %b = tds.kernel "row"(%a) {stage = 1 : i64} : (tensor<512xf32>) -> tensor<f32> {
  ^bb0(%p: tensor<512xf32>):
    %r = tds.generic () in () sum (%j) in (512) : tensor<f32> {
      %e = tds.read %p[%j] : tensor<512xf32>
      tds.yield %e : f32
    }
    tds.yield %r : tensor<f32>
  }
    tds.yield %a, %b : tensor<512xf32>, tensor<f32>
  }
  return %0#0, %0#1 : tensor<512xf32>, tensor<f32>
}

// A single block knows that it is the last.
// PTX-LABEL: .entry single(
// PTX-NOT: atom
// PTX: ret;
func.func private @single(%x: tensor<2x256xf32>) -> (tensor<2xf32>, tensor<2xf32>) attributes {plan.disjoint} {
  %0:2 = tds.kernel "parts" (%x) : (tensor<2x256xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  ^bb0(%m: tensor<2x256xf32>):
  %a = tds.kernel "row"(%m) : (tensor<2x256xf32>) -> tensor<2xf32> {
  ^bb0(%p: tensor<2x256xf32>):
    %r = tds.generic (%i) in (2) sum (%j) in (256) : tensor<2xf32> {
      %e = tds.read %p[%i, %j] : tensor<2x256xf32>
      tds.yield %e : f32
    }
    tds.yield %r : tensor<2xf32>
  }
  %b = tds.kernel "loop"(%a) {stage = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%p: tensor<2xf32>):
    %r = tds.generic (%i) in (2) : tensor<2xf32> {
      %e = tds.read %p[%i] : tensor<2xf32>
      %f = tds.exp %e : f32
      tds.yield %f : f32
    }
    tds.yield %r : tensor<2xf32>
  }
    tds.yield %a, %b : tensor<2xf32>, tensor<2xf32>
  }
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xf32>
}
