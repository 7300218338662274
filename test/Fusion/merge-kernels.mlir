// RUN: tds-opt %s --tds-merge-kernels --split-input-file | FileCheck %s
// RUN: tds-opt %s --tds-merge-kernels --split-input-file --remarks-filter=fusion --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARKS

// Kernels of which none needs another run side by side, whatever their shapes; what reads one of them does not.

// REMARKS: [Passed] side-by-side | Category:fusion | Function=siblings | Decision=merge, First=0, {{(Other=.*)?}}Remark="beside another kernel: {{[0-9.]+}} us together, {{[0-9.]+}} us apart", Second=1
// CHECK-LABEL: func.func @siblings
// CHECK: %[[P:.*]]:2 = tds.kernel "parts"(%arg0, %arg1) : (tensor<4xf32>, tensor<3x3xf32>) -> (tensor<4xf32>, tensor<3x3xf32>)
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<3x3xf32>):
// CHECK-NEXT: %[[X:.*]] = tds.kernel "loop"(%[[A]])
// CHECK: %[[Y:.*]] = tds.kernel "contract"(%[[B]])
// CHECK: tds.yield %[[X]], %[[Y]]
// CHECK: tds.kernel "loop"(%[[P]]#0)
// CHECK-NOT: tds.kernel
func.func @siblings(%x: tensor<4xf32> {tds.input = "x"}, %m: tensor<3x3xf32> {tds.input = "m"})
    -> (tensor<4xf32> {tds.result = "r"}, tensor<3x3xf32> {tds.result = "s"}) attributes {tds.entry = "function"} {
  %a = tds.kernel "loop"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4xf32>):
    %r = tds.generic (%i) in (4) : tensor<4xf32> {
      %e = tds.read %p[%i] : tensor<4xf32>
      %f = tds.exp %e : f32
      tds.yield %f : f32
    }
    tds.yield %r : tensor<4xf32>
  }
  %b = tds.kernel "contract"(%m) : (tensor<3x3xf32>) -> tensor<3x3xf32> {
  ^bb0(%p: tensor<3x3xf32>):
    %r = tds.contract %p[0, 2], %p[2, 1] to [0, 1] : tensor<3x3xf32>, tensor<3x3xf32> to tensor<3x3xf32>
    tds.yield %r : tensor<3x3xf32>
  }
  %c = tds.kernel "loop"(%a) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4xf32>):
    %r = tds.generic (%i) in (4) : tensor<4xf32> {
      %e = tds.read %p[%i] : tensor<4xf32>
      %f = tds.sqrt %e : f32
      tds.yield %f : f32
    }
    tds.yield %r : tensor<4xf32>
  }
  return %c, %b : tensor<4xf32>, tensor<3x3xf32>
}

// -----

// What reads a variable's old value does not run beside the kernel that writes the new one: that would take a copy.
// CHECK-LABEL: func.func @reads_old_value
// CHECK-NOT: "parts"
// CHECK: return
tds.variable @v state : tensor<4xf32>
func.func @reads_old_value(%v: tensor<4xf32> {tds.variable = @v}) -> (tensor<4xf32> {tds.result = "r"}, tensor<4xf32> {tds.variable = @v})
    attributes {tds.entry = "step"} {
  %a = tds.kernel "loop"(%v) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4xf32>):
    %r = tds.generic (%i) in (4) : tensor<4xf32> {
      %e = tds.read %p[%i] : tensor<4xf32>
      %f = tds.exp %e : f32
      tds.yield %f : f32
    }
    tds.yield %r : tensor<4xf32>
  }
  %b = tds.kernel "loop"(%v) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4xf32>):
    %r = tds.generic (%i) in (4) : tensor<4xf32> {
      %e = tds.read %p[%i] : tensor<4xf32>
      %f = tds.sqrt %e : f32
      tds.yield %f : f32
    }
    tds.yield %r : tensor<4xf32>
  }
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

// Refused: a path through a third kernel keeps two apart, too; through a view as well.
// CHECK-LABEL: func.func @path
// CHECK-NOT: "parts"
// CHECK: return
func.func @path(%x: tensor<4xf32> {tds.input = "x"}) -> (tensor<2x2xf32> {tds.result = "r"}, tensor<4xf32> {tds.result = "s"})
    attributes {tds.entry = "function"} {
  %a = tds.kernel "loop"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4xf32>):
    %r = tds.generic (%i) in (4) : tensor<4xf32> {
      %e = tds.read %p[%i] : tensor<4xf32>
      %f = tds.exp %e : f32
      tds.yield %f : f32
    }
    tds.yield %r : tensor<4xf32>
  }
  %v = tds.reshape %a : tensor<4xf32> to tensor<2x2xf32>
  %b = tds.kernel "loop"(%v) : (tensor<2x2xf32>) -> tensor<2x2xf32> {
  ^bb0(%p: tensor<2x2xf32>):
    %r = tds.generic (%i, %j) in (2, 2) : tensor<2x2xf32> {
      %e = tds.read %p[%j, %i] : tensor<2x2xf32>
      tds.yield %e : f32
    }
    tds.yield %r : tensor<2x2xf32>
  }
  return %b, %a : tensor<2x2xf32>, tensor<4xf32>
}

// -----

// Refused: the first two chains are long in memory: beside each other they would need twice as much, which a launch is not worth.
// REMARKS: [Missed] side-by-side | Category:fusion | Function=memory | Decision=merge, First=0, {{(Other=.*)?}}Remark="not beside another kernel: 8000000 bytes would live at once, 4005504 are worth it"
// CHECK-LABEL: func.func @memory
// CHECK-NOT: "parts"
// CHECK: return
func.func @memory(%x: tensor<1000000xf32> {tds.input = "x"}) -> (tensor<f32> {tds.result = "r"}, tensor<f32> {tds.result = "s"})
    attributes {tds.entry = "function"} {
  %ka = tds.kernel "loop"(%x) : (tensor<1000000xf32>) -> tensor<1000000xf32> {
  ^bb0(%p: tensor<1000000xf32>):
    %r = tds.generic (%i) in (1000000) : tensor<1000000xf32> {
      %e = tds.read %p[%i] : tensor<1000000xf32>
      %f = tds.exp %e : f32
      tds.yield %f : f32
    }
    tds.yield %r : tensor<1000000xf32>
  }
  %kb = tds.kernel "row"(%ka) : (tensor<1000000xf32>) -> tensor<f32> {
  ^bb0(%p: tensor<1000000xf32>):
    %r = tds.generic () in () sum (%i) in (1000000) : tensor<f32> {
      %e = tds.read %p[%i] : tensor<1000000xf32>
      tds.yield %e : f32
    }
    tds.yield %r : tensor<f32>
  }
  %kc = tds.kernel "loop"(%x, %kb) : (tensor<1000000xf32>, tensor<f32>) -> tensor<1000000xf32> {
  ^bb0(%p: tensor<1000000xf32>, %q: tensor<f32>):
    %r = tds.generic (%i) in (1000000) : tensor<1000000xf32> {
      %e = tds.read %p[%i] : tensor<1000000xf32>
      %s = tds.read %q[] : tensor<f32>
      %f = tds.mul %e, %s : f32
      tds.yield %f : f32
    }
    tds.yield %r : tensor<1000000xf32>
  }
  %kd = tds.kernel "row"(%kc) : (tensor<1000000xf32>) -> tensor<f32> {
  ^bb0(%p: tensor<1000000xf32>):
    %r = tds.generic () in () sum (%i) in (1000000) : tensor<f32> {
      %e = tds.read %p[%i] : tensor<1000000xf32>
      tds.yield %e : f32
    }
    tds.yield %r : tensor<f32>
  }
  %ke = tds.kernel "loop"(%x) : (tensor<1000000xf32>) -> tensor<1000000xf32> {
  ^bb0(%p: tensor<1000000xf32>):
    %r = tds.generic (%i) in (1000000) : tensor<1000000xf32> {
      %e = tds.read %p[%i] : tensor<1000000xf32>
      %f = tds.sqrt %e : f32
      tds.yield %f : f32
    }
    tds.yield %r : tensor<1000000xf32>
  }
  %kf = tds.kernel "row"(%ke) : (tensor<1000000xf32>) -> tensor<f32> {
  ^bb0(%p: tensor<1000000xf32>):
    %r = tds.generic () in () sum (%i) in (1000000) : tensor<f32> {
      %e = tds.read %p[%i] : tensor<1000000xf32>
      tds.yield %e : f32
    }
    tds.yield %r : tensor<f32>
  }
  return %kd, %kf : tensor<f32>, tensor<f32>
}

// -----

// The kernels of a loop's body run side by side too, with the number of the iteration. What reads a carried value does not run beside the kernel that makes the
// next one.
// CHECK-LABEL: func.func @in_a_loop
// CHECK: tds.fold 3
// CHECK: ^bb0(%[[T:.*]]: tensor<i32>, %[[H:.*]]: tensor<4xf32>, %[[X:.*]]: tensor<4xf32>):
// CHECK: %[[P:.*]]:2 = tds.kernel "parts"(%[[H]], %[[T]], %[[X]])
// CHECK: tds.kernel "loop"(%[[P]]#0)
// CHECK-NOT: tds.kernel
// CHECK: tds.yield
func.func @in_a_loop(%h0: tensor<4xf32> {tds.input = "h"}, %xs: tensor<3x4xf32> {tds.input = "x"})
    -> (tensor<4xf32> {tds.result = "r"}, tensor<3x4xf32> {tds.result = "s"}) attributes {tds.entry = "function"} {
  %h, %s = tds.fold 3 carry(%h0) slices(%xs) : (tensor<4xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  ^bb0(%t: tensor<i32>, %c: tensor<4xf32>, %x: tensor<4xf32>):
    %a = tds.kernel "loop"(%c) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%p: tensor<4xf32>):
      %r = tds.generic (%i) in (4) : tensor<4xf32> {
        %e = tds.read %p[%i] : tensor<4xf32>
        %f = tds.exp %e : f32
        tds.yield %f : f32
      }
      tds.yield %r : tensor<4xf32>
    }
    %b = tds.kernel "loop"(%t, %x) : (tensor<i32>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%n: tensor<i32>, %p: tensor<4xf32>):
      %r = tds.generic (%i) in (4) : tensor<4xf32> {
        %e = tds.read %p[%i] : tensor<4xf32>
        %k = tds.read %n[] : tensor<i32>
        %f = tds.cast %k : i32 to f32
        %g = tds.mul %e, %f : f32
        tds.yield %g : f32
      }
      tds.yield %r : tensor<4xf32>
    }
    %d = tds.kernel "loop"(%a) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%p: tensor<4xf32>):
      %r = tds.generic (%i) in (4) : tensor<4xf32> {
        %e = tds.read %p[%i] : tensor<4xf32>
        %f = tds.sqrt %e : f32
        tds.yield %f : f32
      }
      tds.yield %r : tensor<4xf32>
    }
    tds.yield %d, %b : tensor<4xf32>, tensor<4xf32>
  }
  return %h, %s : tensor<4xf32>, tensor<3x4xf32>
}
