// RUN: tds-opt %s --tds-merge-kernels=target=a100 --split-input-file | FileCheck %s
// RUN: tds-opt %s --tds-merge-kernels=target=a100 --split-input-file --remarks-filter=fusion --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARKS
// RUN: sed 's/"launch_ns": {"value": 500/"launch_ns": {"value": 300/' %S/../../lib/Fusion/Targets/a100.json > %t.json
// RUN: tds-opt %s --tds-merge-kernels=target=%t.json --split-input-file | FileCheck %s --check-prefix=NEVER
// RUN: tds-opt %s --tds-merge-kernels=target=host-cpu --split-input-file | FileCheck %s --check-prefix=NEVER

// What is little work and needs all of another kernel's results is run by the block of its launch that ends last. Where a launch costs less than two answers of the
// cache, and on a CPU, it stays a launch.
// NEVER-NOT: stage

// REMARKS: [Passed] last-block | Category:fusion | Function=total | Decision=stage, First=0, {{(Other=.*)?}}Remark="run by the last block of the kernel that it reads: {{[0-9.]+}} us so, {{[0-9.]+}} us apart", Second=1
// CHECK-LABEL: func.func @total
// CHECK: %[[R:.*]]:2 = tds.kernel "parts"(%arg0) : (tensor<512x256xf32>) -> (tensor<512xf32>, tensor<f32>) {
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<512x256xf32>):
// CHECK-NEXT: %[[A:.*]] = tds.kernel "row"(%[[X]]) : (tensor<512x256xf32>) -> tensor<512xf32>
// CHECK: %[[B:.*]] = tds.kernel "row"(%[[A]]) {stage = 1 : i64} : (tensor<512xf32>) -> tensor<f32>
// CHECK: tds.yield %[[A]], %[[B]]
// CHECK-NOT: tds.kernel
// CHECK: return %[[R]]#1
func.func @total(%x: tensor<512x256xf32> {tds.input = "x"}) -> (tensor<f32> {tds.result = "r"}) attributes {tds.entry = "function"} {
  %a = tds.kernel "row"(%x) : (tensor<512x256xf32>) -> tensor<512xf32> {
  ^bb0(%p: tensor<512x256xf32>):
    %r = tds.generic (%i) in (512) sum (%j) in (256) : tensor<512xf32> {
      %e = tds.read %p[%i, %j] : tensor<512x256xf32>
      tds.yield %e : f32
    }
    tds.yield %r : tensor<512xf32>
  }
  %b = tds.kernel "row"(%a) : (tensor<512xf32>) -> tensor<f32> {
  ^bb0(%p: tensor<512xf32>):
    %r = tds.generic () in () sum (%j) in (512) : tensor<f32> {
      %e = tds.read %p[%j] : tensor<512xf32>
      tds.yield %e : f32
    }
    tds.yield %r : tensor<f32>
  }
  return %b : tensor<f32>
}

// -----

// Stages behind stages; what does not read the one before is of the next stage all the same: one block runs them one after the other.
// CHECK-LABEL: func.func @chain
// CHECK: tds.kernel "parts"
// CHECK: tds.kernel "row"({{.*}}) :
// CHECK: tds.kernel "loop"({{.*}}) {stage = 1 : i64}
// CHECK: tds.kernel "row"({{.*}}) {stage = 2 : i64}
// CHECK: tds.yield
// CHECK-NOT: tds.kernel
func.func @chain(%x: tensor<64x256xf32> {tds.input = "x"}) -> (tensor<64xf32> {tds.result = "r"}, tensor<f32> {tds.result = "s"})
    attributes {tds.entry = "function"} {
  %a = tds.kernel "row"(%x) : (tensor<64x256xf32>) -> tensor<64xf32> {
  ^bb0(%p: tensor<64x256xf32>):
    %r = tds.generic (%i) in (64) sum (%j) in (256) : tensor<64xf32> {
      %e = tds.read %p[%i, %j] : tensor<64x256xf32>
      tds.yield %e : f32
    }
    tds.yield %r : tensor<64xf32>
  }
  %b = tds.kernel "loop"(%a) : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%p: tensor<64xf32>):
    %r = tds.generic (%i) in (64) : tensor<64xf32> {
      %e = tds.read %p[%i] : tensor<64xf32>
      %f = tds.exp %e : f32
      tds.yield %f : f32
    }
    tds.yield %r : tensor<64xf32>
  }
  %c = tds.kernel "row"(%b) : (tensor<64xf32>) -> tensor<f32> {
  ^bb0(%p: tensor<64xf32>):
    %r = tds.generic () in () sum (%j) in (64) : tensor<f32> {
      %e = tds.read %p[%j] : tensor<64xf32>
      tds.yield %e : f32
    }
    tds.yield %r : tensor<f32>
  }
  return %b, %c : tensor<64xf32>, tensor<f32>
}

// -----

// One block would take longer than a launch costs.
// REMARKS: [Missed] last-block | Category:fusion | Function=much | Decision=stage, First=0, {{(Other=.*)?}}Remark="not run by the last block of the kernel that it reads: {{[0-9.]+}} us so, {{[0-9.]+}} us apart", Second=1
// CHECK-LABEL: func.func @much
// CHECK-NOT: stage
// CHECK: return
func.func @much(%x: tensor<65536x4xf32> {tds.input = "x"}) -> (tensor<65536xf32> {tds.result = "r"}) attributes {tds.entry = "function"} {
  %a = tds.kernel "row"(%x) : (tensor<65536x4xf32>) -> tensor<65536xf32> {
  ^bb0(%p: tensor<65536x4xf32>):
    %r = tds.generic (%i) in (65536) sum (%j) in (4) : tensor<65536xf32> {
      %e = tds.read %p[%i, %j] : tensor<65536x4xf32>
      tds.yield %e : f32
    }
    tds.yield %r : tensor<65536xf32>
  }
  %b = tds.kernel "loop"(%a) : (tensor<65536xf32>) -> tensor<65536xf32> {
  ^bb0(%p: tensor<65536xf32>):
    %r = tds.generic (%i) in (65536) : tensor<65536xf32> {
      %e = tds.read %p[%i] : tensor<65536xf32>
      %f = tds.exp %e : f32
      tds.yield %f : f32
    }
    tds.yield %r : tensor<65536xf32>
  }
  return %b : tensor<65536xf32>
}

// -----

// A loop must run between the two.
// REMARKS: [Missed] last-block | Category:fusion | Function=between | Decision=stage, First=0, {{(Other=.*)?}}Remark="not run by the last block of the kernel that it reads: another kernel must run between the two", Second=2
// CHECK-LABEL: func.func @between
// CHECK-NOT: stage
// CHECK: return
func.func @between(%x: tensor<64x256xf32> {tds.input = "x"}) -> (tensor<64xf32> {tds.result = "r"}) attributes {tds.entry = "function"} {
  %a = tds.kernel "row"(%x) : (tensor<64x256xf32>) -> tensor<64xf32> {
  ^bb0(%p: tensor<64x256xf32>):
    %r = tds.generic (%i) in (64) sum (%j) in (256) : tensor<64xf32> {
      %e = tds.read %p[%i, %j] : tensor<64x256xf32>
      tds.yield %e : f32
    }
    tds.yield %r : tensor<64xf32>
  }
  %f = tds.fold 16 carry(%a) slices() invariants() : (tensor<64xf32>) -> (tensor<64xf32>) {
  ^bb0(%t: tensor<i32>, %h: tensor<64xf32>):
    %n = tds.kernel "loop"(%h) : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%p: tensor<64xf32>):
      %r = tds.generic (%i) in (64) : tensor<64xf32> {
        %e = tds.read %p[%i] : tensor<64xf32>
        %f = tds.exp %e : f32
        tds.yield %f : f32
      }
      tds.yield %r : tensor<64xf32>
    }
    tds.yield %n : tensor<64xf32>
  }
  %b = tds.kernel "loop"(%a, %f) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%p: tensor<64xf32>, %q: tensor<64xf32>):
    %r = tds.generic (%i) in (64) : tensor<64xf32> {
      %e = tds.read %p[%i] : tensor<64xf32>
      %g = tds.read %q[%i] : tensor<64xf32>
      %h = tds.add %e, %g : f32
      tds.yield %h : f32
    }
    tds.yield %r : tensor<64xf32>
  }
  return %b : tensor<64xf32>
}

// -----

// A part reads what another makes as it was made.
// REMARKS: [Missed] last-block | Category:fusion | Function=reshaped | Decision=stage, First=0, {{(Other=.*)?}}Remark="not run by the last block of the kernel that it reads: it reads what the kernel makes in another shape", Second=1
// CHECK-LABEL: func.func @reshaped
// CHECK-NOT: stage
// CHECK: return
func.func @reshaped(%x: tensor<64x256xf32> {tds.input = "x"}) -> (tensor<8x8xf32> {tds.result = "r"}) attributes {tds.entry = "function"} {
  %a = tds.kernel "row"(%x) : (tensor<64x256xf32>) -> tensor<64xf32> {
  ^bb0(%p: tensor<64x256xf32>):
    %r = tds.generic (%i) in (64) sum (%j) in (256) : tensor<64xf32> {
      %e = tds.read %p[%i, %j] : tensor<64x256xf32>
      tds.yield %e : f32
    }
    tds.yield %r : tensor<64xf32>
  }
  %v = tds.reshape %a : tensor<64xf32> to tensor<8x8xf32>
  %b = tds.kernel "loop"(%v) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%p: tensor<8x8xf32>):
    %r = tds.generic (%i, %j) in (8, 8) : tensor<8x8xf32> {
      %e = tds.read %p[%i, %j] : tensor<8x8xf32>
      %f = tds.exp %e : f32
      tds.yield %f : f32
    }
    tds.yield %r : tensor<8x8xf32>
  }
  return %b : tensor<8x8xf32>
}
