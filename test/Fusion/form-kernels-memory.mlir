// With save-memory a contraction whose operands are larger than its result does not wait for what an epilogue reads besides: the sum is a kernel of its own, behind
// the other contraction.
// RUN: tds-opt %s --tds-form-kernels=save-memory=true | FileCheck %s
// RUN: tds-opt %s --tds-form-kernels | FileCheck %s --check-prefix=WAITS
// RUN: tds-opt %s --tds-form-kernels=save-memory=true --remarks-filter=fusion --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: apart{{.*}}the contraction's operands would stay in memory until other kernels have run, which the memory budget has no room for

// CHECK-LABEL: func.func @waits
// CHECK: tds.kernel "loop"
// CHECK: %[[G:.*]] = tds.kernel "contract"
// CHECK-NOT: tds.add
// CHECK: tds.kernel "contract"
// WAITS-LABEL: func.func @waits
// WAITS: tds.kernel "loop"
// WAITS: tds.kernel "contract"
// WAITS: tds.kernel "contract"
// WAITS: tds.contract {{.*}} : tensor<512x8xf32>, tensor<512x8xf32> to tensor<8x8xf32>
// WAITS: tds.add
func.func @waits(%x: tensor<512x8xf32> {tds.input = "x"}, %w: tensor<8x8xf32> {tds.input = "w"}) -> (tensor<8x8xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %e = tds.generic (%i, %j) in (512, 8) : tensor<512x8xf32> {
    %a = tds.read %x[%i, %j] : tensor<512x8xf32>
    %b = tds.exp %a : f32
    tds.yield %b : f32
  }
  %g = tds.contract %e[2, 0], %e[2, 1] to [0, 1] : tensor<512x8xf32>, tensor<512x8xf32> to tensor<8x8xf32>
  %o = tds.contract %w[0, 2], %w[2, 1] to [0, 1] : tensor<8x8xf32>, tensor<8x8xf32> to tensor<8x8xf32>
  %s = tds.generic (%i, %j) in (8, 8) : tensor<8x8xf32> {
    %a = tds.read %g[%i, %j] : tensor<8x8xf32>
    %b = tds.read %o[%j, %i] : tensor<8x8xf32>
    %c = tds.add %a, %b : f32
    tds.yield %c : f32
  }
  return %s : tensor<8x8xf32>
}

// Refused: what only reads the contraction, and what is there before it.
// CHECK-LABEL: func.func @ready
// CHECK: tds.kernel "contract"
// CHECK: tds.contract {{.*}} : tensor<512x8xf32>, tensor<512x8xf32> to tensor<8x8xf32>
// CHECK: tds.add
// CHECK-NOT: tds.kernel
// CHECK: return
func.func @ready(%x: tensor<512x8xf32> {tds.input = "x"}, %w: tensor<8x8xf32> {tds.input = "w"}) -> (tensor<8x8xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %g = tds.contract %x[2, 0], %x[2, 1] to [0, 1] : tensor<512x8xf32>, tensor<512x8xf32> to tensor<8x8xf32>
  %s = tds.generic (%i, %j) in (8, 8) : tensor<8x8xf32> {
    %a = tds.read %g[%i, %j] : tensor<8x8xf32>
    %b = tds.read %w[%i, %j] : tensor<8x8xf32>
    %c = tds.add %a, %b : f32
    tds.yield %c : f32
  }
  return %s : tensor<8x8xf32>
}
