// RUN: tds-opt %s --tds-plan | FileCheck %s

// What a loop carries and collects lies in the stack, which has a place more than there are iterations: each iteration finds the value where the one before left
// it, and no copy is made but that of the initial value.
// CHECK-LABEL: plan.entry @forward
// CHECK: plan.copy <input[0] 0 + 64> to <arena[0] [[S:[0-9]+]] + 64>
// CHECK-NEXT: plan.loop 4 carried (<arena[0] [[S]] + 64 by 64 * 4>) slices () invariants () collected (<arena[0] [[S]] + 64 by 64 * 4>, <arena[0] [[B:[0-9]+]] + 64 by 64 * 4>)
// CHECK-NEXT: plan.launch @tds_k0_loop (<arena[0] [[S]] + 64 by 64 * 4>) -> (<arena[0] [[B]] + 64 by 64 * 4>)
// CHECK: plan.launch @tds_k1_loop (<arena[0] [[S]] + 256>, <arena[0] [[B]] + 256>, <arena[0] {{[0-9]+}} + 64>)
func.func @forward(%x: tensor<16xf32> {tds.input = "x"}) -> (tensor<4x16xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %r:3 = tds.fold 4 carry(%x) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) {
  ^bb0(%n: tensor<i32>, %a: tensor<16xf32>):
    %m = tds.kernel "loop"(%a) : (tensor<16xf32>) -> tensor<16xf32> {
    ^bb0(%p: tensor<16xf32>):
      %g = tds.generic (%i) in (16) : tensor<16xf32> {
        %v = tds.read %p[%i] : tensor<16xf32>
        %s = tds.sin %v : f32
        tds.yield %s : f32
      }
      tds.yield %g : tensor<16xf32>
    }
    tds.yield %m, %a, %m : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
  }
  %y = tds.kernel "loop"(%r#1, %r#2, %r#0) : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32> {
  ^bb0(%p: tensor<4x16xf32>, %q: tensor<4x16xf32>, %l: tensor<16xf32>):
    %g = tds.generic (%i, %j) in (4, 16) : tensor<4x16xf32> {
      %u = tds.read %p[%i, %j] : tensor<4x16xf32>
      %v = tds.read %q[%i, %j] : tensor<4x16xf32>
      %w = tds.read %l[%j] : tensor<16xf32>
      %s = tds.mul %u, %v : f32
      %t = tds.add %s, %w : f32
      tds.yield %t : f32
    }
    tds.yield %g : tensor<4x16xf32>
  }
  return %y : tensor<4x16xf32>
}

// Backwards the value moves towards the beginning of the stack. An initial value that dies in the loop is made in the stack.
// CHECK-LABEL: plan.entry @backward
// CHECK-NEXT: plan.input
// CHECK-NEXT: plan.result
// CHECK-NEXT: plan.launch @tds_k0_loop (<input[0] 0 + 64>) -> (<arena[0] 256 + 64>)
// CHECK-NEXT: plan.loop 4 reverse carried (<arena[0] 64 + 64 by 64 * 4>) slices () invariants () collected (<arena[0] 0 + 64 by 64 * 4>)
// CHECK-NEXT: plan.launch @tds_k0_loop (<arena[0] 64 + 64 by 64 * 4>) -> (<arena[0] 0 + 64 by 64 * 4>)
// CHECK: plan.launch @tds_k2_loop (<arena[0] 0 + 256>)
func.func @backward(%x: tensor<16xf32> {tds.input = "x"}) -> (tensor<4x16xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %z = tds.kernel "loop"(%x) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %g = tds.generic (%i) in (16) : tensor<16xf32> {
      %v = tds.read %p[%i] : tensor<16xf32>
      %s = tds.sin %v : f32
      tds.yield %s : f32
    }
    tds.yield %g : tensor<16xf32>
  }
  %r:2 = tds.fold 4 reverse carry(%z) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<4x16xf32>) {
  ^bb0(%n: tensor<i32>, %a: tensor<16xf32>):
    %m = tds.kernel "loop"(%a) : (tensor<16xf32>) -> tensor<16xf32> {
    ^bb0(%p: tensor<16xf32>):
      %g = tds.generic (%i) in (16) : tensor<16xf32> {
        %v = tds.read %p[%i] : tensor<16xf32>
        %s = tds.sin %v : f32
        tds.yield %s : f32
      }
      tds.yield %g : tensor<16xf32>
    }
    tds.yield %m, %m : tensor<16xf32>, tensor<16xf32>
  }
  %y = tds.kernel "loop"(%r#1) : (tensor<4x16xf32>) -> tensor<4x16xf32> {
  ^bb0(%p: tensor<4x16xf32>):
    %g = tds.generic (%i, %j) in (4, 16) : tensor<4x16xf32> {
      %u = tds.read %p[%i, %j] : tensor<4x16xf32>
      %s = tds.cos %u : f32
      tds.yield %s : f32
    }
    tds.yield %g : tensor<4x16xf32>
  }
  return %y : tensor<4x16xf32>
}

// What the loop collects and the program returns lies in the slot of the result: the carried value has a place of its own, and is copied.
// CHECK-LABEL: plan.entry @returned
// CHECK: plan.loop 4 carried (<arena[0] [[P:[0-9]+]] + 64>) slices () invariants () collected (<result[0] 0 + 64 by 64 * 4>)
// CHECK: plan.copy
func.func @returned(%x: tensor<16xf32> {tds.input = "x"}) -> (tensor<4x16xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %r:2 = tds.fold 4 carry(%x) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<4x16xf32>) {
  ^bb0(%n: tensor<i32>, %a: tensor<16xf32>):
    %m = tds.kernel "loop"(%a) : (tensor<16xf32>) -> tensor<16xf32> {
    ^bb0(%p: tensor<16xf32>):
      %g = tds.generic (%i) in (16) : tensor<16xf32> {
        %v = tds.read %p[%i] : tensor<16xf32>
        %s = tds.sin %v : f32
        tds.yield %s : f32
      }
      tds.yield %g : tensor<16xf32>
    }
    tds.yield %m, %m : tensor<16xf32>, tensor<16xf32>
  }
  return %r#1 : tensor<4x16xf32>
}
