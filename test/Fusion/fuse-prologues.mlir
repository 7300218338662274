// RUN: tds-opt %s --tds-fuse-prologues=target=a100 --split-input-file | FileCheck %s
// RUN: tds-opt %s --tds-fuse-prologues=target=a100 --split-input-file --remarks-filter=fusion --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARKS
// RUN: tds-opt %s --tds-fuse-prologues --split-input-file | FileCheck %s --check-prefix=CPU
// RUN: tds-opt %s --tds-fuse-prologues --split-input-file --remarks-filter=fusion --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=CPU-REMARKS
// CPU-REMARKS: Function=scaled {{.*}}Remark="not computed where the contraction loads it: a CPU packs factors from memory"

// A factor is converted and scaled as its tiles are loaded.
// REMARKS: [Passed] prologue | Category:fusion | Function=scaled | Decision=prologue, Remark="computed where the contraction loads it: {{[0-9.]+ [nu]s}} of work added, {{[0-9.]+ [nu]s}} of memory and launch saved"
// CHECK-LABEL: func.func @scaled
// CHECK: tds.kernel "contract"(%arg1, %arg0) : (tensor<200x96xf32>, tensor<64x200xui8>) -> tensor<64x96xf32> {
// CHECK-NEXT: ^bb0(%[[W:.*]]: tensor<200x96xf32>, %[[X:.*]]: tensor<64x200xui8>):
// CHECK: %[[A:.*]] = tds.generic (%{{.*}}, %{{.*}}) in (64, 200) : tensor<64x200xf32> {
// CHECK: tds.read %[[X]]
// CHECK: %[[F:.*]] = tds.generic (%{{.*}}, %{{.*}}) in (64, 200) : tensor<64x200xf32> {
// CHECK: tds.read %[[A]]
// CHECK: tds.contract %[[F]][0, 1], %[[W]][1, 2] to [0, 2]
// CHECK-NOT: tds.kernel
// CHECK: return
// Refused: a CPU has no tiles to load, so the factor stays in memory.
// CPU-LABEL: func.func @scaled
// CPU: tds.kernel "loop"
// CPU: tds.kernel "contract"
func.func @scaled(%x: tensor<64x200xui8> {tds.input = "x"}, %w: tensor<200x96xf32> {tds.input = "w"}) -> (tensor<64x96xf32> {tds.result = "y"})
    attributes {tds.entry = "function"} {
  %f = tds.kernel "loop"(%x) : (tensor<64x200xui8>) -> tensor<64x200xf32> {
  ^bb0(%p: tensor<64x200xui8>):
    %c = tds.generic (%i, %j) in (64, 200) : tensor<64x200xf32> {
      %e = tds.read %p[%i, %j] : tensor<64x200xui8>
      %g = tds.cast %e : ui8 to f32
      tds.yield %g : f32
    }
    %r = tds.generic (%i, %j) in (64, 200) : tensor<64x200xf32> {
      %d = tds.constant 255.0 : f32
      %e = tds.read %c[%i, %j] : tensor<64x200xf32>
      %g = tds.div %e, %d : f32
      tds.yield %g : f32
    }
    tds.yield %r : tensor<64x200xf32>
  }
  %y = tds.kernel "contract"(%f, %w) : (tensor<64x200xf32>, tensor<200x96xf32>) -> tensor<64x96xf32> {
  ^bb0(%p: tensor<64x200xf32>, %q: tensor<200x96xf32>):
    %r = tds.contract %p[0, 1], %q[1, 2] to [0, 2] : tensor<64x200xf32>, tensor<200x96xf32> to tensor<64x96xf32>
    tds.yield %r : tensor<64x96xf32>
  }
  return %y : tensor<64x96xf32>
}

// -----

// Refused: it is read elsewhere, too, and must be in memory for that.
// REMARKS: [Missed] prologue | Category:fusion | Function=shared | Decision=prologue, Producer={{.*}}, Remark="not computed where the contraction loads it: it is read elsewhere, too"
// CHECK-LABEL: func.func @shared
// CHECK: tds.kernel "loop"
// CHECK: tds.kernel "contract"
func.func @shared(%x: tensor<64x200xui8> {tds.input = "x"}, %w: tensor<200x96xf32> {tds.input = "w"})
    -> (tensor<64x96xf32> {tds.result = "y"}, tensor<64x200xf32> {tds.result = "z"}) attributes {tds.entry = "function"} {
  %f = tds.kernel "loop"(%x) : (tensor<64x200xui8>) -> tensor<64x200xf32> {
  ^bb0(%p: tensor<64x200xui8>):
    %c = tds.generic (%i, %j) in (64, 200) : tensor<64x200xf32> {
      %e = tds.read %p[%i, %j] : tensor<64x200xui8>
      %g = tds.cast %e : ui8 to f32
      tds.yield %g : f32
    }
    %r = tds.generic (%i, %j) in (64, 200) : tensor<64x200xf32> {
      %d = tds.constant 255.0 : f32
      %e = tds.read %c[%i, %j] : tensor<64x200xf32>
      %g = tds.div %e, %d : f32
      tds.yield %g : f32
    }
    tds.yield %r : tensor<64x200xf32>
  }
  %y = tds.kernel "contract"(%f, %w) : (tensor<64x200xf32>, tensor<200x96xf32>) -> tensor<64x96xf32> {
  ^bb0(%p: tensor<64x200xf32>, %q: tensor<200x96xf32>):
    %r = tds.contract %p[0, 1], %q[1, 2] to [0, 2] : tensor<64x200xf32>, tensor<200x96xf32> to tensor<64x96xf32>
    tds.yield %r : tensor<64x96xf32>
  }
  return %y, %f : tensor<64x96xf32>, tensor<64x200xf32>
}

// -----

// Refused: each element is in so many tiles that computing it there takes longer.
// REMARKS: [Missed] prologue | Category:fusion | Function=many | Decision=prologue, Producer={{.*}}, Remark="not computed where the contraction loads it: {{[0-9.]+ [nu]s}} of work added, {{[0-9.]+ [nu]s}} of memory and launch saved"
// CHECK-LABEL: func.func @many
// CHECK: tds.kernel "loop"
// CHECK: tds.kernel "contract"
func.func @many(%x: tensor<4096x4096xui8> {tds.input = "x"}, %w: tensor<4096x8192xf32> {tds.input = "w"}) -> (tensor<4096x8192xf32> {tds.result = "y"})
    attributes {tds.entry = "function"} {
  %f = tds.kernel "loop"(%x) : (tensor<4096x4096xui8>) -> tensor<4096x4096xf32> {
  ^bb0(%p: tensor<4096x4096xui8>):
    %c = tds.generic (%i, %j) in (4096, 4096) : tensor<4096x4096xf32> {
      %e = tds.read %p[%i, %j] : tensor<4096x4096xui8>
      %g = tds.cast %e : ui8 to f32
      tds.yield %g : f32
    }
    %r = tds.generic (%i, %j) in (4096, 4096) : tensor<4096x4096xf32> {
      %d = tds.constant 255.0 : f32
      %e = tds.read %c[%i, %j] : tensor<4096x4096xf32>
      %g = tds.div %e, %d : f32
      tds.yield %g : f32
    }
    tds.yield %r : tensor<4096x4096xf32>
  }
  %y = tds.kernel "contract"(%f, %w) : (tensor<4096x4096xf32>, tensor<4096x8192xf32>) -> tensor<4096x8192xf32> {
  ^bb0(%p: tensor<4096x4096xf32>, %q: tensor<4096x8192xf32>):
    %r = tds.contract %p[0, 1], %q[1, 2] to [0, 2] : tensor<4096x4096xf32>, tensor<4096x8192xf32> to tensor<4096x8192xf32>
    tds.yield %r : tensor<4096x8192xf32>
  }
  return %y : tensor<4096x8192xf32>
}

// -----

// Refused: a sum is no loop over the factor's elements alone.
// REMARKS: [Missed] prologue | Category:fusion | Function=sum | Decision=prologue, Producer={{.*}}, Remark="not computed where the contraction loads it: it is a sum"
// CHECK-LABEL: func.func @sum
// CHECK: tds.kernel "loop"
// CHECK: tds.kernel "contract"
func.func @sum(%x: tensor<3x64x200xf32> {tds.input = "x"}, %w: tensor<200x96xf32> {tds.input = "w"}) -> (tensor<64x96xf32> {tds.result = "y"})
    attributes {tds.entry = "function"} {
  %f = tds.kernel "loop"(%x) : (tensor<3x64x200xf32>) -> tensor<64x200xf32> {
  ^bb0(%p: tensor<3x64x200xf32>):
    %r = tds.generic (%i, %j) in (64, 200) sum (%k) in (3) : tensor<64x200xf32> {
      %e = tds.read %p[%k, %i, %j] : tensor<3x64x200xf32>
      tds.yield %e : f32
    }
    tds.yield %r : tensor<64x200xf32>
  }
  %y = tds.kernel "contract"(%f, %w) : (tensor<64x200xf32>, tensor<200x96xf32>) -> tensor<64x96xf32> {
  ^bb0(%p: tensor<64x200xf32>, %q: tensor<200x96xf32>):
    %r = tds.contract %p[0, 1], %q[1, 2] to [0, 2] : tensor<64x200xf32>, tensor<200x96xf32> to tensor<64x96xf32>
    tds.yield %r : tensor<64x96xf32>
  }
  return %y : tensor<64x96xf32>
}

// -----

// Refused: the variable that it reads has its new value by the time of the contraction.
// REMARKS: [Missed] prologue | Category:fusion | Function=variable | Decision=prologue, Producer={{.*}}, Remark="not computed where the contraction loads it: a value that it reads may be replaced before"
// CHECK-LABEL: func.func @variable
// CHECK: tds.kernel "loop"
// CHECK: tds.kernel "loop"
// CHECK: tds.kernel "contract"
tds.variable @v state : tensor<96x96xf32>
func.func @variable(%v: tensor<96x96xf32> {tds.variable = @v}) -> (tensor<96x96xf32> {tds.result = "y"}, tensor<96x96xf32> {tds.variable = @v})
    attributes {tds.entry = "step"} {
  %f = tds.kernel "loop"(%v) : (tensor<96x96xf32>) -> tensor<96x96xf32> {
  ^bb0(%p: tensor<96x96xf32>):
    %r = tds.generic (%i, %j) in (96, 96) : tensor<96x96xf32> {
      %e = tds.read %p[%i, %j] : tensor<96x96xf32>
      %g = tds.exp %e : f32
      tds.yield %g : f32
    }
    tds.yield %r : tensor<96x96xf32>
  }
  %n = tds.kernel "loop"(%v) : (tensor<96x96xf32>) -> tensor<96x96xf32> {
  ^bb0(%p: tensor<96x96xf32>):
    %r = tds.generic (%i, %j) in (96, 96) : tensor<96x96xf32> {
      %e = tds.read %p[%i, %j] : tensor<96x96xf32>
      %g = tds.add %e, %e : f32
      tds.yield %g : f32
    }
    tds.yield %r : tensor<96x96xf32>
  }
  %y = tds.kernel "contract"(%f, %n) : (tensor<96x96xf32>, tensor<96x96xf32>) -> tensor<96x96xf32> {
  ^bb0(%p: tensor<96x96xf32>, %q: tensor<96x96xf32>):
    %r = tds.contract %p[0, 1], %q[1, 2] to [0, 2] : tensor<96x96xf32>, tensor<96x96xf32> to tensor<96x96xf32>
    tds.yield %r : tensor<96x96xf32>
  }
  return %y, %n : tensor<96x96xf32>, tensor<96x96xf32>
}

// -----

// A factor of two contractions, which read it in another shape, is computed in both.
// REMARKS: [Passed] prologue | Category:fusion | Function=two
// REMARKS: [Passed] prologue | Category:fusion | Function=two
// CHECK-LABEL: func.func @two
// CHECK: %[[VIEW:.*]] = tds.reshape %arg0 : tensor<4096x10x20xui8> to tensor<4096x200xui8>
// CHECK: tds.kernel "contract"(%arg{{[12]}}, %[[VIEW]]) : (tensor<200x32xf32>, tensor<4096x200xui8>) -> tensor<4096x32xf32> {
// CHECK: tds.kernel "contract"(%arg{{[12]}}, %{{.*}}) : (tensor<200x32xf32>, tensor<4096x200xui8>) -> tensor<4096x32xf32> {
// CHECK-NOT: tds.kernel "loop"
// CHECK: return
func.func @two(%x: tensor<4096x10x20xui8> {tds.input = "x"}, %w: tensor<200x32xf32> {tds.input = "w"}, %v: tensor<200x32xf32> {tds.input = "v"})
    -> (tensor<4096x32xf32> {tds.result = "y"}, tensor<4096x32xf32> {tds.result = "z"}) attributes {tds.entry = "function"} {
  %f = tds.kernel "loop"(%x) : (tensor<4096x10x20xui8>) -> tensor<4096x10x20xf32> {
  ^bb0(%p: tensor<4096x10x20xui8>):
    %r = tds.generic (%i, %j, %k) in (4096, 10, 20) : tensor<4096x10x20xf32> {
      %e = tds.read %p[%i, %j, %k] : tensor<4096x10x20xui8>
      %g = tds.cast %e : ui8 to f32
      tds.yield %g : f32
    }
    tds.yield %r : tensor<4096x10x20xf32>
  }
  %flat = tds.reshape %f : tensor<4096x10x20xf32> to tensor<4096x200xf32>
  %y = tds.kernel "contract"(%flat, %w) : (tensor<4096x200xf32>, tensor<200x32xf32>) -> tensor<4096x32xf32> {
  ^bb0(%p: tensor<4096x200xf32>, %q: tensor<200x32xf32>):
    %r = tds.contract %p[0, 1], %q[1, 2] to [0, 2] : tensor<4096x200xf32>, tensor<200x32xf32> to tensor<4096x32xf32>
    tds.yield %r : tensor<4096x32xf32>
  }
  %z = tds.kernel "contract"(%flat, %v) : (tensor<4096x200xf32>, tensor<200x32xf32>) -> tensor<4096x32xf32> {
  ^bb0(%p: tensor<4096x200xf32>, %q: tensor<200x32xf32>):
    %r = tds.contract %p[0, 1], %q[1, 2] to [0, 2] : tensor<4096x200xf32>, tensor<200x32xf32> to tensor<4096x32xf32>
    tds.yield %r : tensor<4096x32xf32>
  }
  return %y, %z : tensor<4096x32xf32>, tensor<4096x32xf32>
}

// -----

// A gather is read at other indices than the point: in another shape they are computed. So are the edges of a window.
// REMARKS: [Passed] prologue | Category:fusion | Function=gathered
// CHECK-LABEL: func.func @gathered
// CHECK: tds.kernel "contract"(%arg2, %arg1, %arg0) : (tensor<32x64xf32>, tensor<40x100xi32>, tensor<50x32xf32>) -> tensor<4000x64xf32> {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<32x64xf32>, %[[IDS:.*]]: tensor<40x100xi32>, %[[TABLE:.*]]: tensor<50x32xf32>):
// CHECK: tds.generic (%[[I:.*]], %[[J:.*]]) in (4000, 32) : tensor<4000x32xf32> {
// CHECK: tds.read %[[IDS]]
// CHECK: tds.read %[[TABLE]]
func.func @gathered(%t: tensor<50x32xf32> {tds.input = "t"}, %n: tensor<40x100xi32> {tds.input = "n"}, %w: tensor<32x64xf32> {tds.input = "w"})
    -> (tensor<4000x64xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %f = tds.kernel "loop"(%t, %n) : (tensor<50x32xf32>, tensor<40x100xi32>) -> tensor<40x100x32xf32> {
  ^bb0(%p: tensor<50x32xf32>, %q: tensor<40x100xi32>):
    %r = tds.generic (%i, %j, %k) in (40, 100, 32) : tensor<40x100x32xf32> {
      %e = tds.read %q[%i, %j] : tensor<40x100xi32>
      %g = tds.cast %e : i32 to index
      %h = tds.read %p[%g, %k] guard 0.0 : f32 : tensor<50x32xf32>
      tds.yield %h : f32
    }
    tds.yield %r : tensor<40x100x32xf32>
  }
  %flat = tds.reshape %f : tensor<40x100x32xf32> to tensor<4000x32xf32>
  %y = tds.kernel "contract"(%flat, %w) : (tensor<4000x32xf32>, tensor<32x64xf32>) -> tensor<4000x64xf32> {
  ^bb0(%p: tensor<4000x32xf32>, %q: tensor<32x64xf32>):
    %r = tds.contract %p[0, 1], %q[1, 2] to [0, 2] : tensor<4000x32xf32>, tensor<32x64xf32> to tensor<4000x64xf32>
    tds.yield %r : tensor<4000x64xf32>
  }
  return %y : tensor<4000x64xf32>
}

// -----

// Refused: the kernel makes another value, which has to be stored.
// REMARKS: Function=several {{.*}}Remark="not computed where the contraction loads it: its kernel makes other values, too"
// CHECK-LABEL: func.func @several
// CHECK: tds.kernel "loop"
func.func @several(%x: tensor<64x200xf32> {tds.input = "x"}, %w: tensor<200x96xf32> {tds.input = "w"})
    -> (tensor<64x96xf32> {tds.result = "y"}, tensor<64x200xf32> {tds.result = "z"}) attributes {tds.entry = "function"} {
  %f:2 = tds.kernel "loop"(%x) : (tensor<64x200xf32>) -> (tensor<64x200xf32>, tensor<64x200xf32>) {
  ^bb0(%p: tensor<64x200xf32>):
    %r = tds.generic (%i, %j) in (64, 200) : tensor<64x200xf32> {
      %e = tds.read %p[%i, %j] : tensor<64x200xf32>
      %g = tds.neg %e : f32
      tds.yield %g : f32
    }
    %s = tds.generic (%i, %j) in (64, 200) : tensor<64x200xf32> {
      %e = tds.read %p[%i, %j] : tensor<64x200xf32>
      %g = tds.abs %e : f32
      tds.yield %g : f32
    }
    tds.yield %r, %s : tensor<64x200xf32>, tensor<64x200xf32>
  }
  %y = tds.kernel "contract"(%f#0, %w) : (tensor<64x200xf32>, tensor<200x96xf32>) -> tensor<64x96xf32> {
  ^bb0(%p: tensor<64x200xf32>, %q: tensor<200x96xf32>):
    %r = tds.contract %p[0, 1], %q[1, 2] to [0, 2] : tensor<64x200xf32>, tensor<200x96xf32> to tensor<64x96xf32>
    tds.yield %r : tensor<64x96xf32>
  }
  return %y, %f#1 : tensor<64x96xf32>, tensor<64x200xf32>
}
