// RUN: tds-translate --tds-to-ptx --arch=sm_75 %s > %t.75.ptx
// RUN: tds-translate --tds-to-ptx --arch=sm_90a %s > %t.90a.ptx
// RUN: FileCheck %s < %t.75.ptx
// RUN: %if ptxas %{ ptxas -arch=sm_75 -v %t.75.ptx -o /dev/null 2>&1 | FileCheck --check-prefix=PTXAS %s %}
// RUN: %if ptxas %{ ptxas -arch=sm_90a -v %t.90a.ptx -o /dev/null 2>&1 | FileCheck --check-prefix=PTXAS %s %}

// PTXAS-NOT: error
// PTXAS-COUNT-7: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
// CHECK-NOT: .approx
// CHECK-NOT: .extern

// Element kernels move 16 bytes an access.
// CHECK-LABEL: .entry tds_k0_loop
// CHECK: ld.global.nc.v4.b32
// CHECK: ld.global.nc.v4.b32
// CHECK: st.global.v4.b32
func.func private @tds_k0_loop(%x: tensor<64x256xf32>, %b: tensor<256xf32>) -> tensor<64x256xf32> attributes {plan.disjoint} {
  %r = tds.kernel "loop" (%x, %b) : (tensor<64x256xf32>, tensor<256xf32>) -> tensor<64x256xf32> {
  ^bb0(%x0: tensor<64x256xf32>, %b0: tensor<256xf32>):
    %y = tds.generic (%i, %j) in (64, 256) : tensor<64x256xf32> {
      %e = tds.read %x0[%i, %j] : tensor<64x256xf32>
      %f = tds.read %b0[%j] : tensor<256xf32>
      %s = tds.add %e, %f : f32
      %g = tds.tanh %s : f32
      tds.yield %g : f32
    }
    tds.yield %y : tensor<64x256xf32>
  }
  return %r : tensor<64x256xf32>
}

// A softmax row stays in registers between its two reductions; a warp holds it.
// CHECK-LABEL: .entry tds_k1_row
// CHECK-COUNT-1: ld.global.v4.b32
// CHECK-NOT: ld.global
// CHECK: shfl.sync.bfly
// CHECK-NOT: bar.sync
// CHECK: st.global.v4.b32
func.func private @tds_k1_row(%x: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<64xf32>) {
  %r:2 = tds.kernel "row" (%x) : (tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<64xf32>) {
  ^bb0(%x0: tensor<64x128xf32>):
    %m = tds.generic (%i) in (64) max (%q) in (128) : tensor<64xf32> {
      %e = tds.read %x0[%i, %q] : tensor<64x128xf32>
      tds.yield %e : f32
    }
    %e = tds.generic (%i, %j) in (64, 128) : tensor<64x128xf32> {
      %v = tds.read %x0[%i, %j] : tensor<64x128xf32>
      %w = tds.read %m[%i] : tensor<64xf32>
      %d = tds.sub %v, %w : f32
      %f = tds.exp %d : f32
      tds.yield %f : f32
    }
    %s = tds.generic (%i) in (64) sum (%q) in (128) : tensor<64xf32> {
      %v = tds.read %e[%i, %q] : tensor<64x128xf32>
      tds.yield %v : f32
    }
    %p = tds.generic (%i, %j) in (64, 128) : tensor<64x128xf32> {
      %v = tds.read %e[%i, %j] : tensor<64x128xf32>
      %w = tds.read %s[%i] : tensor<64xf32>
      %d = tds.div %v, %w : f32
      tds.yield %d : f32
    }
    tds.yield %p, %s : tensor<64x128xf32>, tensor<64xf32>
  }
  return %r#0, %r#1 : tensor<64x128xf32>, tensor<64xf32>
}

// Long rows take a block: warps meet in shared memory.
// CHECK-LABEL: .entry tds_k2_row
// CHECK: shfl.sync.bfly
// CHECK: bar.sync
func.func private @tds_k2_row(%x: tensor<4x5000xf32>) -> tensor<4xi32> {
  %r = tds.kernel "row" (%x) : (tensor<4x5000xf32>) -> tensor<4xi32> {
  ^bb0(%x0: tensor<4x5000xf32>):
    %m = tds.generic (%i) in (4) argmax (%q) in (5000) : tensor<4xi32> {
      %e = tds.read %x0[%i, %q] : tensor<4x5000xf32>
      tds.yield %e : f32
    }
    tds.yield %m : tensor<4xi32>
  }
  return %r : tensor<4xi32>
}

// Sums over rows: neighbouring threads have neighbouring columns.
// CHECK-LABEL: .entry tds_k3_row
// CHECK-NOT: shfl
func.func private @tds_k3_row(%x: tensor<64x256xf32>) -> tensor<256xf32> {
  %r = tds.kernel "row" (%x) : (tensor<64x256xf32>) -> tensor<256xf32> {
  ^bb0(%x0: tensor<64x256xf32>):
    %m = tds.generic (%j) in (256) sum (%q) in (64) : tensor<256xf32> {
      %e = tds.read %x0[%q, %j] : tensor<64x256xf32>
      tds.yield %e : f32
    }
    tds.yield %m : tensor<256xf32>
  }
  return %r : tensor<256xf32>
}

// A contraction with an epilogue; the left operand is transposed.
// CHECK-LABEL: .entry tds_k4_contract
// CHECK: bar.sync
// CHECK: fma.rn.f32
func.func private @tds_k4_contract(%a: tensor<100x65xf32>, %b: tensor<100x33xf32>, %c: tensor<33xf32>) -> tensor<65x33xf32> {
  %r = tds.kernel "contract" (%a, %b, %c) : (tensor<100x65xf32>, tensor<100x33xf32>, tensor<33xf32>) -> tensor<65x33xf32> {
  ^bb0(%a0: tensor<100x65xf32>, %b0: tensor<100x33xf32>, %c0: tensor<33xf32>):
    %p = tds.contract %a0[2, 0], %b0[2, 1] to [0, 1] : tensor<100x65xf32>, tensor<100x33xf32> to tensor<65x33xf32>
    %y = tds.generic (%i, %j) in (65, 33) : tensor<65x33xf32> {
      %e = tds.read %p[%i, %j] : tensor<65x33xf32>
      %f = tds.read %c0[%j] : tensor<33xf32>
      %s = tds.add %e, %f : f32
      %z = tds.constant 0.0 : f32
      %g = tds.max %s, %z : f32
      tds.yield %g : f32
    }
    tds.yield %y : tensor<65x33xf32>
  }
  return %r : tensor<65x33xf32>
}

// CHECK-LABEL: .entry tds_k5_scatter
// CHECK-NOT: atom
func.func private @tds_k5_scatter(%ids: tensor<40xi32>, %d: tensor<40x24xf32>) -> tensor<50x24xf32> {
  %r = tds.kernel "scatter" (%ids, %d) : (tensor<40xi32>, tensor<40x24xf32>) -> tensor<50x24xf32> {
  ^bb0(%ids0: tensor<40xi32>, %d0: tensor<40x24xf32>):
    %s = tds.scatter (%i, %k) in (40, 24) : tensor<50x24xf32> {
      %id = tds.read %ids0[%i] : tensor<40xi32>
      %at = tds.cast %id : i32 to index
      %v = tds.read %d0[%i, %k] : tensor<40x24xf32>
      tds.scatter_yield %v at [%at, %k] : f32
    }
    tds.yield %s : tensor<50x24xf32>
  }
  return %r : tensor<50x24xf32>
}

// bf16 operands accumulate in f32.
// CHECK-LABEL: .entry tds_k6_contract
// CHECK: fma.rn.f32
func.func private @tds_k6_contract(%a: tensor<4x16x8xbf16>, %b: tensor<4x8x16xbf16>) -> tensor<4x16x16xf32> {
  %r = tds.kernel "contract" (%a, %b) : (tensor<4x16x8xbf16>, tensor<4x8x16xbf16>) -> tensor<4x16x16xf32> {
  ^bb0(%a0: tensor<4x16x8xbf16>, %b0: tensor<4x8x16xbf16>):
    %p = tds.contract %a0[0, 1, 3], %b0[0, 3, 2] to [0, 1, 2] : tensor<4x16x8xbf16>, tensor<4x8x16xbf16> to tensor<4x16x16xf32>
    tds.yield %p : tensor<4x16x16xf32>
  }
  return %r : tensor<4x16x16xf32>
}
