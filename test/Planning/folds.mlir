// RUN: tds-opt %s --tds-fusion-pipeline --tds-select-schedule --tds-plan -o %t
// RUN: FileCheck %s < %t
// RUN: tds-opt %t | cmp - %t

// The carried values live in the results' slot; the counter is added in place and comes as a size argument; what is collected goes to its part of
// the result; a slice is a part of the input.
// CHECK: plan.entry @f "function" arena 256 input 768 result 768 scratch 0 attributes {plan.peak = {{.*}}}} {
// CHECK: plan.copy <input[0] 0 + 16> to <result[0] 0 + 16> {plan.why = "the loop begins with the input `h`, and changes it in a place of its own"}
// CHECK-NEXT: plan.fill <result[0] 512 + 4> with 0
// CHECK-NEXT: plan.loop 3 carried (<result[0] 0 + 16>, <result[0] 512 + 4>) slices (<input[0] 256 + 16 by 16 * 3>) invariants (<input[0] 512 + 64>) collected (<result[0] 256 + 16 by 16 * 3>) attributes {origin = 0 : i64} {
// CHECK-NEXT: plan.copy <result[0] 0 + 16> to <result[0] 256 + 16 by 16 * 3>
// CHECK-NEXT: plan.launch @tds_k0_parts (<result[0] 0 + 16>, <input[0] 512 + 64>, <input[0] 256 + 16 by 16 * 3>, <result[0] 512 + 4>, <counter[0] 0 + 4>) -> (<arena[0] 0 + 16>, <result[0] 512 + 4>) {origin = 0 : i64}
// CHECK-NEXT: plan.copy <arena[0] 0 + 16> to <result[0] 0 + 16> {plan.why = "what the loop carries on is still read when its new value is made, which gets another place"}
// CHECK-NEXT: {{^ *}}}
func.func @f(%h: tensor<4xf32> {tds.input = "h"}, %x: tensor<3x4xf32> {tds.input = "x"}, %m: tensor<4x4xf32> {tds.input = "m"})
    -> (tensor<4xf32> {tds.result = "a"}, tensor<3x4xf32> {tds.result = "b"}, tensor<i32> {tds.result = "c"}) attributes {tds.entry = "function"} {
  %zero = tds.constant dense<0> : tensor<i32>
  %r:3 = tds.fold 3 carry(%h, %zero) slices(%x) invariants(%m) : (tensor<4xf32>, tensor<i32>, tensor<3x4xf32>, tensor<4x4xf32>) -> (tensor<4xf32>, tensor<i32>, tensor<3x4xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<4xf32>, %k: tensor<i32>, %xt: tensor<4xf32>, %b: tensor<4x4xf32>):
    %p = tds.contract %a[0], %b[0, 1] to [1] : tensor<4xf32>, tensor<4x4xf32> to tensor<4xf32>
    %n = tds.add %p, %xt : tensor<4xf32>
    %u = tds.tanh %n : tensor<4xf32>
    %v = tds.add %k, %t : tensor<i32>
    tds.yield %u, %v, %a : tensor<4xf32>, tensor<i32>, tensor<4xf32>
  }
  return %r#0, %r#2, %r#1 : tensor<4xf32>, tensor<3x4xf32>, tensor<i32>
}

// Parts of 24 and 12 bytes are no place for a kernel: they are copied. Values that change places are saved first; the inner loop works in the buffer of its
// result.
// CHECK: plan.entry @nested
// CHECK: plan.loop 5 carried (<result[0] 0 + 12>, <result[0] 256 + 12>) slices (<input[0] 512 + 24 by 24 * 5>)
// CHECK-NEXT: plan.copy <input[0] 512 + 24 by 24 * 5> to <arena[0] [[X:[0-9]+]] + 24> {plan.why = "parts of 24 bytes are no multiple of 16, where no kernel may read"}
// CHECK-NEXT: plan.copy <result[0] 256 + 12> to <arena[0] [[B:[0-9]+]] + 12>
// CHECK-NEXT: plan.copy <result[0] 0 + 12> to <arena[0] [[A:[0-9]+]] + 12>
// CHECK-NEXT: plan.loop 2 reverse carried (<arena[0] [[A]] + 12>) slices (<arena[0] [[X]] + 12 by 0 * 1, 12 * 2>)
// CHECK-NEXT: plan.copy <arena[0] [[X]] + 12 by 0 * 1, 12 * 2> to <arena[0] [[P:[0-9]+]] + 12>
// CHECK-NEXT: plan.launch @tds_k{{.*}} (<arena[0] [[A]] + 12>, <arena[0] [[P]] + 12>) -> (<arena[0] [[A]] + 12>) {origin = 0 : i64}
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: plan.copy <arena[0] [[B]] + 12> to <result[0] 0 + 12>
// CHECK-NEXT: plan.copy <arena[0] [[A]] + 12> to <result[0] 256 + 12>
func.func @nested(%h: tensor<3xf32> {tds.input = "h"}, %g: tensor<3xf32> {tds.input = "g"}, %x: tensor<5x2x3xf32> {tds.input = "x"})
    -> (tensor<3xf32> {tds.result = "a"}, tensor<3xf32> {tds.result = "b"}) attributes {tds.entry = "function"} {
  %r:2 = tds.fold 5 carry(%h, %g) slices(%x) : (tensor<3xf32>, tensor<3xf32>, tensor<5x2x3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<3xf32>, %b: tensor<3xf32>, %xt: tensor<2x3xf32>):
    %s = tds.fold 2 reverse carry(%a) slices(%xt) : (tensor<3xf32>, tensor<2x3xf32>) -> (tensor<3xf32>) {
    ^bb0(%u: tensor<i32>, %c: tensor<3xf32>, %xs: tensor<3xf32>):
      %p = tds.mul %c, %xs : tensor<3xf32>
      tds.yield %p : tensor<3xf32>
    }
    tds.yield %b, %s : tensor<3xf32>, tensor<3xf32>
  }
  return %r#0, %r#1 : tensor<3xf32>, tensor<3xf32>
}

// What the inner loop collects goes straight to its part of what the outer loop collects.
// CHECK: plan.entry @collected
// CHECK: plan.loop 3 carried (<result[0] 0 + 16>) slices () invariants () collected (<result[0] 256 + 32 by 32 * 3>)
// CHECK: plan.loop 2 carried ([[C:<.*>]]) slices () invariants () collected (<result[0] 256 + 16 by 32 * 3, 16 * 2>)
// CHECK-NEXT: plan.copy [[C]] to <result[0] 256 + 16 by 32 * 3, 16 * 2>
// CHECK-NEXT: plan.launch @{{.*}}
// CHECK-NEXT: {{^ *}}}
// CHECK-NOT: plan.copy {{.*}} to <result[0] 256
func.func @collected(%h: tensor<4xf32> {tds.input = "h"})
    -> (tensor<4xf32> {tds.result = "a"}, tensor<3x2x4xf32> {tds.result = "b"}) attributes {tds.entry = "function"} {
  %r:2 = tds.fold 3 carry(%h) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<3x2x4xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<4xf32>):
    %s:2 = tds.fold 2 carry(%a) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>) {
    ^bb0(%u: tensor<i32>, %c: tensor<4xf32>):
      %d = tds.exp %c : tensor<4xf32>
      tds.yield %d, %c : tensor<4xf32>, tensor<4xf32>
    }
    tds.yield %s#0, %s#1 : tensor<4xf32>, tensor<2x4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<3x2x4xf32>
}
