// Parts that are alike are one function, whatever buffers of the kernels they use and whatever floats stand in them.
// Refused: a part without its like stays where it is.
// RUN: tds-opt %s --tds-select-schedule=target=cuda --tds-emit-gpu | FileCheck %s
// RUN: tds-translate --tds-to-ptx %s | FileCheck %s --check-prefix=PTX

// The shared memory is the kernel's, and lies in one place for all parts.
// CHECK: llvm.func internal @tds_p0_row(%{{.*}}: !llvm.ptr<1> {{.*}}, %{{.*}}: !llvm.ptr<1> {{.*}}, %{{.*}}: f32, %{{.*}}: i64, %{{.*}}: !llvm.ptr<3>)
// CHECK-SAME: convergent
// CHECK-SAME: no_inline
// CHECK-NOT: llvm.func internal
// CHECK: llvm.func @k1
// CHECK: %[[HALF:.*]] = arith.constant 5.000000e-01 : f32
// CHECK: llvm.call @tds_p0_row({{.*}}, %[[HALF]], {{.*}}) {convergent} :
// CHECK: %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK: llvm.call @tds_p0_row({{.*}}, %[[TWO]], {{.*}}) {convergent} :
// CHECK: llvm.func @k2
// CHECK: llvm.call @tds_p0_row(
// CHECK-NOT: llvm.call @tds_p0_row(

// Nothing writes what the function reads while it runs.
// PTX-LABEL: .func tds_p0_row(
// PTX: ld.global.nc
// PTX: .entry k1(
// PTX: call.uni tds_p0_row,
// PTX: call.uni tds_p0_row,
// PTX: .entry k2(
// PTX: call.uni tds_p0_row,
func.func private @k1(%x: tensor<3x1500xf32>, %y: tensor<3x1500xf32>) -> (tensor<3xf32>, tensor<3xf32>) attributes {plan.disjoint} {
  %0:2 = tds.kernel "parts" (%x, %y) : (tensor<3x1500xf32>, tensor<3x1500xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  ^bb0(%a: tensor<3x1500xf32>, %b: tensor<3x1500xf32>):
    %p0 = tds.kernel "row" (%a) : (tensor<3x1500xf32>) -> tensor<3xf32> {
    ^bb0(%m: tensor<3x1500xf32>):
      %t = tds.generic (%i) in (3) max (%j) in (1500) : tensor<3xf32> {
        %v = tds.read %m[%i, %j] : tensor<3x1500xf32>
        %c = tds.constant 0.5 : f32
        %w = tds.mul %v, %c : f32
        tds.yield %w : f32
      }
      tds.yield %t : tensor<3xf32>
    }
    %p1 = tds.kernel "row" (%b) : (tensor<3x1500xf32>) -> tensor<3xf32> {
    ^bb0(%m: tensor<3x1500xf32>):
      %t = tds.generic (%i) in (3) max (%j) in (1500) : tensor<3xf32> {
        %v = tds.read %m[%i, %j] : tensor<3x1500xf32>
        %c = tds.constant 2.0 : f32
        %w = tds.mul %v, %c : f32
        tds.yield %w : f32
      }
      tds.yield %t : tensor<3xf32>
    }
    tds.yield %p0, %p1 : tensor<3xf32>, tensor<3xf32>
  }
  return %0#0, %0#1 : tensor<3xf32>, tensor<3xf32>
}

func.func private @k2(%x: tensor<3x1500xf32>, %y: tensor<70xf32>) -> (tensor<3xf32>, tensor<70xf32>) attributes {plan.disjoint} {
  %0:2 = tds.kernel "parts" (%x, %y) : (tensor<3x1500xf32>, tensor<70xf32>) -> (tensor<3xf32>, tensor<70xf32>) {
  ^bb0(%a: tensor<3x1500xf32>, %b: tensor<70xf32>):
    %p0 = tds.kernel "row" (%a) : (tensor<3x1500xf32>) -> tensor<3xf32> {
    ^bb0(%m: tensor<3x1500xf32>):
      %t = tds.generic (%i) in (3) max (%j) in (1500) : tensor<3xf32> {
        %v = tds.read %m[%i, %j] : tensor<3x1500xf32>
        %c = tds.constant 2.0 : f32
        %w = tds.mul %v, %c : f32
        tds.yield %w : f32
      }
      tds.yield %t : tensor<3xf32>
    }
    %p1 = tds.kernel "loop" (%b) : (tensor<70xf32>) -> tensor<70xf32> {
    ^bb0(%m: tensor<70xf32>):
      %r = tds.generic (%i) in (70) : tensor<70xf32> {
        %v = tds.read %m[%i] : tensor<70xf32>
        %w = tds.add %v, %v : f32
        tds.yield %w : f32
      }
      tds.yield %r : tensor<70xf32>
    }
    tds.yield %p0, %p1 : tensor<3xf32>, tensor<70xf32>
  }
  return %0#0, %0#1 : tensor<3xf32>, tensor<70xf32>
}
