// RUN: tds-opt -tds-mixed-precision=type=bf16 -canonicalize -cse %s | FileCheck %s
// RUN: tds-opt -tds-mixed-precision=type=f16 -canonicalize -cse %s | FileCheck %s --check-prefix=F16
// RUN: tds-opt -tds-mark-phases -tds-differentiate -canonicalize -cse -tds-mixed-precision -canonicalize -cse %s | FileCheck %s --check-prefix=STEP

tds.variable @w param : tensor<8x2xf32>
tds.variable @v param : tensor<2x2xf32>
tds.variable @u param : tensor<16x2x2xf32>

// Both operands are rounded; the bias, which the result of the contraction goes into, and the result of the entry stay as they are.
// CHECK-LABEL: func.func @linear
// CHECK: %[[W:.*]] = tds.cast %arg1 : tensor<8x2xf32> to tensor<8x2xbf16>
// CHECK: %[[X:.*]] = tds.cast %arg0 : tensor<4x8xf32> to tensor<4x8xbf16>
// CHECK: %[[Y:.*]] = tds.contract %[[X]][0, 1], %[[W]][1, 2] to [0, 2] : tensor<4x8xbf16>, tensor<8x2xbf16> to tensor<4x2xf32>
// CHECK: %[[Z:.*]] = tds.add %[[Y]], %{{.*}} : tensor<4x2xf32>
// CHECK-NEXT: return %[[Z]]
// F16-LABEL: func.func @linear
// F16: tds.contract {{.*}} : tensor<4x8xf16>, tensor<8x2xf16> to tensor<4x2xf32>
func.func @linear(%x: tensor<4x8xf32> {tds.input = "x"}, %w: tensor<8x2xf32> {tds.variable = @w}, %b: tensor<2xf32> {tds.input = "b"})
    -> (tensor<4x2xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %y = tds.contract %x[0, 1], %w[1, 2] to [0, 2] : tensor<4x8xf32>, tensor<8x2xf32> to tensor<4x2xf32>
  %c = tds.broadcast %b axes [1] : tensor<2xf32> to tensor<4x2xf32>
  %z = tds.add %y, %c : tensor<4x2xf32>
  return %z : tensor<4x2xf32>
}

// A value that a contraction reads is rounded for all: the sum reads the same one. The weight is rounded once, before it is transposed.
// CHECK-LABEL: func.func @hidden
// CHECK: %[[W:.*]] = tds.cast %arg1 : tensor<8x2xf32> to tensor<8x2xbf16>
// CHECK-NOT: tds.cast %arg1
// CHECK: %[[X:.*]] = tds.cast %arg0
// CHECK: %[[Y:.*]] = tds.contract %[[X]][0, 1], %[[W]][1, 2]
// CHECK: %[[T:.*]] = tds.tanh %[[Y]] : tensor<4x2xf32>
// CHECK: %[[N:.*]] = tds.cast %[[T]] : tensor<4x2xf32> to tensor<4x2xbf16>
// CHECK: %[[F:.*]] = tds.cast %[[N]] : tensor<4x2xbf16> to tensor<4x2xf32>
// CHECK: %[[S:.*]] = tds.transpose %[[W]] [1, 0] : tensor<8x2xbf16> to tensor<2x8xbf16>
// CHECK: tds.contract %[[N]][0, 1], %[[S]][1, 2]
// CHECK: tds.reduce sum %[[F]] axes [1] : tensor<4x2xf32>
func.func @hidden(%x: tensor<4x8xf32> {tds.input = "x"}, %w: tensor<8x2xf32> {tds.variable = @w})
    -> (tensor<4x8xf32> {tds.result = "y"}, tensor<4xf32> {tds.result = "s"}) attributes {tds.entry = "function"} {
  %y = tds.contract %x[0, 1], %w[1, 2] to [0, 2] : tensor<4x8xf32>, tensor<8x2xf32> to tensor<4x2xf32>
  %t = tds.tanh %y : tensor<4x2xf32>
  %u = tds.transpose %w [1, 0] : tensor<8x2xf32> to tensor<2x8xf32>
  %z = tds.contract %t[0, 1], %u[1, 2] to [0, 2] : tensor<4x2xf32>, tensor<2x8xf32> to tensor<4x8xf32>
  %s = tds.reduce sum %t axes [1] : tensor<4x2xf32> to tensor<4xf32>
  return %z, %s : tensor<4x8xf32>, tensor<4xf32>
}

// A sum of products that is a convolution reads 16-bit tensors; the guard is rounded with them.
// CHECK-LABEL: func.func @conv
// CHECK: tds.generic {{.*}} sum
// CHECK: tds.read %{{.*}} guard 0.000000e+00 : bf16 : tensor<2x9xbf16>
// CHECK-NEXT: tds.cast %{{.*}} : bf16 to f32
// CHECK: tds.read %{{.*}} : tensor<3x3xbf16>
// CHECK: tds.mul %{{.*}} : f32
func.func @conv(%x: tensor<2x9xf32> {tds.input = "x"}, %f: tensor<3x3xf32> {tds.input = "f"})
    -> (tensor<2x3x9xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %y = tds.generic (%b, %c, %i) in (2, 3, 9) sum (%u) in (3) : tensor<2x3x9xf32> {
    %at = tds.apply affine_map<(d0, d1) -> (d0 + d1 - 1)> (%i, %u)
    %e = tds.read %x[%b, %at] guard 0.0 : f32 : tensor<2x9xf32>
    %k = tds.read %f[%c, %u] : tensor<3x3xf32>
    %p = tds.mul %e, %k : f32
    tds.yield %p : f32
  }
  return %y : tensor<2x3x9xf32>
}

// Refused: sums bound by memory, floats of other types, reductions and what they read stay as they are.
// CHECK-LABEL: func.func @others
// CHECK-NOT: bf16
// CHECK: return
// F16-LABEL: func.func @others
// F16-NOT: f16
// F16: return
func.func @others(%x: tensor<4x8xf32> {tds.input = "x"}, %d: tensor<8x8xf64> {tds.input = "d"})
    -> (tensor<4xf32> {tds.result = "y"}, tensor<8x8xf64> {tds.result = "e"}, tensor<4xf32> {tds.result = "l"}) attributes {tds.entry = "function"} {
  %y = tds.generic (%i) in (4) sum (%k) in (8) : tensor<4xf32> {
    %a = tds.read %x[%i, %k] : tensor<4x8xf32>
    %p = tds.mul %a, %a : f32
    tds.yield %p : f32
  }
  %e = tds.contract %d[0, 1], %d[1, 2] to [0, 2] : tensor<8x8xf64>, tensor<8x8xf64> to tensor<8x8xf64>
  %q = tds.exp %x : tensor<4x8xf32>
  %s = tds.reduce sum %q axes [1] : tensor<4x8xf32> to tensor<4xf32>
  %l = tds.log %s : tensor<4xf32>
  return %y, %e, %l : tensor<4xf32>, tensor<8x8xf64>, tensor<4xf32>
}

// What a loop does not change is rounded before it.
// CHECK-LABEL: func.func @loop
// CHECK: %[[W:.*]] = tds.cast %arg1 : tensor<2x2xf32> to tensor<2x2xbf16>
// CHECK: tds.fold 16 carry(%arg0, %{{.*}}) invariants({{.*}}%[[W]])
// CHECK-NEXT: ^bb0(
// CHECK-NEXT: tds.contract
// CHECK-NEXT: tds.tanh
// CHECK-NEXT: tds.cast %{{.*}} : tensor<4x2xf32> to tensor<4x2xbf16>
// CHECK-NEXT: tds.yield
func.func @loop(%h: tensor<4x2xf32> {tds.input = "h"}, %v: tensor<2x2xf32> {tds.variable = @v})
    -> (tensor<4x2xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %y = tds.fold 16 carry(%h) invariants(%v) : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32> {
  ^bb0(%t: tensor<i32>, %a: tensor<4x2xf32>, %m: tensor<2x2xf32>):
    %n = tds.contract %a[0, 1], %m[1, 2] to [0, 2] : tensor<4x2xf32>, tensor<2x2xf32> to tensor<4x2xf32>
    %r = tds.tanh %n : tensor<4x2xf32>
    tds.yield %r : tensor<4x2xf32>
  }
  return %y : tensor<4x2xf32>
}

// The gradient of the weight keeps its bits, and so does a contraction of the update.
// STEP-LABEL: func.func @train
// STEP: %[[G:.*]] = tds.contract {{.*}} : tensor<4x8xbf16>, tensor<4x2xbf16> to tensor<8x2xf32>
// STEP: %[[P:.*]] = tds.contract %[[G]][0, 1], %{{.*}}[1, 2] to [0, 2] : tensor<8x2xf32>, tensor<2x2xf32> to tensor<8x2xf32>
// STEP: %[[N:.*]] = tds.sub %arg1, %[[P]] : tensor<8x2xf32>
// STEP: return %{{.*}}, %[[N]]
// STEP-NOT: phase
func.func @train(%x: tensor<4x8xf32> {tds.input = "x"}, %w: tensor<8x2xf32> {tds.variable = @w}, %v: tensor<2x2xf32> {tds.variable = @v})
    -> (tensor<f32> {tds.result = "loss"}, tensor<8x2xf32> {tds.variable = @w}) attributes {tds.entry = "step"} {
  %y = tds.contract %x[0, 1], %w[1, 2] to [0, 2] : tensor<4x8xf32>, tensor<8x2xf32> to tensor<4x2xf32>
  %t = tds.tanh %y : tensor<4x2xf32>
  %loss = tds.reduce sum %t axes [0, 1] : tensor<4x2xf32> to tensor<f32>
  %g = tds.gradient %loss wrt %w : tensor<f32> wrt tensor<8x2xf32>
  %p = tds.contract %g[0, 1], %v[1, 2] to [0, 2] : tensor<8x2xf32>, tensor<2x2xf32> to tensor<8x2xf32>
  %n = tds.sub %w, %p : tensor<8x2xf32>
  return %loss, %n : tensor<f32>, tensor<8x2xf32>
}

// What a loop collects for another is kept in 16 bits; what it collects for others keeps its bits.
// CHECK-LABEL: func.func @stores
// CHECK: %[[F:.*]]:4 = tds.fold 16 carry{{.*}} -> (tensor<4x2xf32>, tensor<4x2xbf16>, tensor<16x4x2xbf16>, tensor<16x4x2xf32>) {
// CHECK: tds.yield %{{.*}} : tensor<4x2xf32>, tensor<4x2xbf16>, tensor<4x2xbf16>, tensor<4x2xf32>
// CHECK: tds.fold 16 carry({{.*}}) slices(%[[F]]#2) : (tensor<4x2xf32>, tensor<16x4x2xbf16>) -> tensor<4x2xf32> {
// CHECK: ^bb0(%{{.*}}: tensor<i32>, %{{.*}}: tensor<4x2xf32>, %[[S:.*]]: tensor<4x2xbf16>):
// CHECK-NEXT: tds.cast %[[S]] : tensor<4x2xbf16> to tensor<4x2xf32>
func.func @stores(%h: tensor<4x2xf32> {tds.input = "h"}, %v: tensor<2x2xf32> {tds.variable = @v})
    -> (tensor<4x2xf32> {tds.result = "y"}, tensor<16x4x2xf32> {tds.result = "all"}) attributes {tds.entry = "function"} {
  %y, %kept, %all = tds.fold 16 carry(%h) invariants(%v) : (tensor<4x2xf32>, tensor<2x2xf32>) -> (tensor<4x2xf32>, tensor<16x4x2xf32>, tensor<16x4x2xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<4x2xf32>, %m: tensor<2x2xf32>):
    %n = tds.contract %a[0, 1], %m[1, 2] to [0, 2] : tensor<4x2xf32>, tensor<2x2xf32> to tensor<4x2xf32>
    %r = tds.tanh %n : tensor<4x2xf32>
    %e = tds.exp %r : tensor<4x2xf32>
    tds.yield %r, %n, %e : tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>
  }
  %z = tds.fold 16 carry(%y) slices(%kept) : (tensor<4x2xf32>, tensor<16x4x2xf32>) -> tensor<4x2xf32> {
  ^bb0(%t: tensor<i32>, %a: tensor<4x2xf32>, %k: tensor<4x2xf32>):
    %n = tds.add %a, %k : tensor<4x2xf32>
    tds.yield %n : tensor<4x2xf32>
  }
  return %z, %all : tensor<4x2xf32>, tensor<16x4x2xf32>
}

// Both factors of each product of an attention have 16 bits: its operands, and what it computes of them. Floats that the program gives another type stay.
// CHECK-LABEL: func.func @attention
// CHECK: %[[Q:.*]] = tds.cast %arg0 : tensor<8x4xf32> to tensor<8x4xbf16>
// CHECK: tds.attention %[[Q]], %[[Q]], %[[Q]] {{.*}}narrow_factors{{.*}} : (tensor<8x4xbf16>, tensor<8x4xbf16>, tensor<8x4xbf16>) -> (tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>)
// CHECK: %[[D:.*]]:3 = tds.attention_grad {{.*}}narrow_factors{{.*}} : (tensor<8x4xbf16>, tensor<8x4xbf16>, tensor<8x4xbf16>, tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x4xbf16>)
// CHECK: tds.attention %arg0, %arg0, %arg1
// CHECK-NOT: narrow_factors
#own = affine_map<(i, d) -> (i, d)>
func.func @attention(%q: tensor<8x4xf32> {tds.input = "q"}, %v: tensor<8x4xf16> {tds.input = "v"}) -> (tensor<8x4xf32> {tds.result = "o"},
    tensor<8x4xf32> {tds.result = "d"}, tensor<8x4xf32> {tds.result = "p"}) attributes {tds.entry = "function"} {
  %o, %m, %z = tds.attention %q, %q, %q {extents = array<i64: 8, 8, 4, 4>, query_map = #own, key_map = #own, value_map = #own, result_map = #own}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>) score {
  ^bb0(%i: index, %j: index, %s: f32):
    tds.yield %s : f32
  }
  %d:3 = tds.attention_grad %q, %q, %q, %o, %m, %z, %q {extents = array<i64: 8, 8, 4, 4>, query_map = #own, key_map = #own, value_map = #own,
      result_map = #own, grad_maps = [#own, #own, #own]}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x4xf32>)
      -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) score {
  ^bb0(%i: index, %j: index, %s: f32):
    tds.yield %s : f32
  } slope {
  ^bb0(%i: index, %j: index, %s: f32, %w: f32):
    tds.yield %w : f32
  }
  %p, %n, %y = tds.attention %q, %q, %v {extents = array<i64: 8, 8, 4, 4>, query_map = #own, key_map = #own, value_map = #own, result_map = #own}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf16>) -> (tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>) score {
  ^bb0(%i: index, %j: index, %s: f32):
    tds.yield %s : f32
  }
  return %o, %d#0, %p : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}

// A weight that a loop and that of its derivative round is rounded before both, all layers at once; and the rounded form of a carried value is carried, too:
// no kernel of the loop only rounds.
// CHECK-LABEL: func.func @layers
// CHECK-SAME: %[[H:.*]]: tensor<4x2xf32> {{.*}}, %[[W:.*]]: tensor<16x2x2xf32>
// CHECK-DAG: %[[W16:.*]] = tds.cast %[[W]] : tensor<16x2x2xf32> to tensor<16x2x2xbf16>
// CHECK-DAG: %[[H16:.*]] = tds.cast %[[H]] : tensor<4x2xf32> to tensor<4x2xbf16>
// CHECK: %[[F:.*]]:3 = tds.fold 16 carry(%[[H]], %[[H16]]) slices({{.*}}%[[W16]]) {{.*}} -> (tensor<4x2xf32>, tensor<4x2xbf16>, tensor<16x4x2xbf16>) {
// CHECK: ^bb0(%{{.*}}: tensor<i32>, %[[A:.*]]: tensor<4x2xf32>, %[[A16:.*]]: tensor<4x2xbf16>, {{.*}}%[[M:.*]]: tensor<2x2xbf16>):
// CHECK-NEXT: %[[N:.*]] = tds.contract %[[A16]][0, 1], %[[M]][1, 2]
// CHECK: %[[NEXT:.*]] = tds.add %[[A]], %{{.*}}
// CHECK: %[[NEXT16:.*]] = tds.cast %[[NEXT]]
// CHECK: tds.yield %[[NEXT]], %[[NEXT16]], %{{.*}} : tensor<4x2xf32>, tensor<4x2xbf16>, tensor<4x2xbf16>
// CHECK: tds.fold 16 reverse carry(%[[F]]#0, %{{.*}}) slices({{.*}}%[[F]]#2{{.*}}%[[W16]]
func.func @layers(%h: tensor<4x2xf32> {tds.input = "h"}, %w: tensor<16x2x2xf32> {tds.variable = @u})
    -> (tensor<4x2xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %y, %kept = tds.fold 16 carry(%h) slices(%w) : (tensor<4x2xf32>, tensor<16x2x2xf32>) -> (tensor<4x2xf32>, tensor<16x4x2xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<4x2xf32>, %m: tensor<2x2xf32>):
    %n = tds.contract %a[0, 1], %m[1, 2] to [0, 2] : tensor<4x2xf32>, tensor<2x2xf32> to tensor<4x2xf32>
    %e = tds.exp %n : tensor<4x2xf32>
    %s = tds.add %a, %e : tensor<4x2xf32>
    tds.yield %s, %n : tensor<4x2xf32>, tensor<4x2xf32>
  }
  %z = tds.fold 16 reverse carry(%y) slices(%w, %kept) : (tensor<4x2xf32>, tensor<16x2x2xf32>, tensor<16x4x2xf32>) -> tensor<4x2xf32> {
  ^bb0(%t: tensor<i32>, %a: tensor<4x2xf32>, %m: tensor<2x2xf32>, %k: tensor<4x2xf32>):
    %n = tds.contract %a[0, 1], %m[2, 1] to [0, 2] : tensor<4x2xf32>, tensor<2x2xf32> to tensor<4x2xf32>
    %r = tds.mul %n, %k : tensor<4x2xf32>
    %s = tds.add %a, %r : tensor<4x2xf32>
    tds.yield %s : tensor<4x2xf32>
  }
  return %z : tensor<4x2xf32>
}

// What is carried and collected for another loop is collected in 16 bits: the carried one of these, or rounded in the body.
// CHECK-LABEL: func.func @residuals
// CHECK: tds.fold 16 carry(%{{.*}}, %{{.*}}, %{{.*}}) {{.*}} -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xbf16>, tensor<16x4x2xbf16>, tensor<16x4x2xbf16>) {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<i32>, %{{.*}}: tensor<4x2xf32>, %[[B:.*]]: tensor<4x2xf32>, %[[A16:.*]]: tensor<4x2xbf16>, %{{.*}}
// CHECK: %[[B16:.*]] = tds.cast %[[B]] : tensor<4x2xf32> to tensor<4x2xbf16>
// CHECK: tds.yield %{{.*}}, %{{.*}}, %{{.*}}, %[[A16]], %[[B16]] :
// CHECK: tds.fold 16 reverse carry(%{{.*}}) slices(%{{.*}}, %{{.*}}) : (tensor<4x2xf32>, tensor<16x4x2xbf16>, tensor<16x4x2xbf16>)
func.func @residuals(%h: tensor<4x2xf32> {tds.input = "h"}, %v: tensor<2x2xf32> {tds.variable = @v})
    -> (tensor<4x2xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %y:2, %kept:2 = tds.fold 16 carry(%h, %h) invariants(%v) : (tensor<4x2xf32>, tensor<4x2xf32>, tensor<2x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<16x4x2xf32>, tensor<16x4x2xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<4x2xf32>, %b: tensor<4x2xf32>, %m: tensor<2x2xf32>):
    %n = tds.contract %a[0, 1], %m[1, 2] to [0, 2] : tensor<4x2xf32>, tensor<2x2xf32> to tensor<4x2xf32>
    %s = tds.add %a, %n : tensor<4x2xf32>
    %e = tds.sin %b : tensor<4x2xf32>
    tds.yield %s, %e, %a, %b : tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>
  }
  %z = tds.fold 16 reverse carry(%y#0) slices(%kept#0, %kept#1) : (tensor<4x2xf32>, tensor<16x4x2xf32>, tensor<16x4x2xf32>) -> tensor<4x2xf32> {
  ^bb0(%t: tensor<i32>, %a: tensor<4x2xf32>, %k: tensor<4x2xf32>, %l: tensor<4x2xf32>):
    %n = tds.add %a, %k : tensor<4x2xf32>
    %p = tds.mul %n, %l : tensor<4x2xf32>
    tds.yield %p : tensor<4x2xf32>
  }
  return %z : tensor<4x2xf32>
}

// Equal layers in a loop carry what they would store one after the other: in 16 bits what a contraction ends with, or reads; a sum of what is summed keeps its bits.
// CHECK-LABEL: func.func @equal_layers
// CHECK-SAME: %[[H:.*]]: tensor<4x2xf32> {{.*}}, %[[W:.*]]: tensor<16x2x2xf32>
// CHECK-DAG: %[[H16:.*]] = tds.cast %[[H]] : tensor<4x2xf32> to tensor<4x2xbf16>
// CHECK: %[[F:.*]]:2 = tds.fold 16 carry(%[[H16]], %{{.*}}) {{.*}} {tds.layers} : {{.*}} -> (tensor<4x2xbf16>, tensor<f32>) {
// CHECK: ^bb0(%{{.*}}: tensor<i32>, %[[A:.*]]: tensor<4x2xbf16>, %[[S:.*]]: tensor<f32>
// CHECK: %[[WIDE:.*]] = tds.cast %[[A]] : tensor<4x2xbf16> to tensor<4x2xf32>
// CHECK: tds.add %[[WIDE]]
// CHECK: tds.yield %{{.*}}, %{{.*}} : tensor<4x2xbf16>, tensor<f32>
// CHECK: %[[Y:.*]] = tds.cast %[[F]]#0 : tensor<4x2xbf16> to tensor<4x2xf32>
// CHECK: return %[[Y]], %[[F]]#1
func.func @equal_layers(%h: tensor<4x2xf32> {tds.input = "h"}, %w: tensor<16x2x2xf32> {tds.variable = @u})
    -> (tensor<4x2xf32> {tds.result = "y"}, tensor<f32> {tds.result = "sum"}) attributes {tds.entry = "function"} {
  %zero = tds.constant dense<0.0> : tensor<f32>
  %y, %total = tds.fold 16 carry(%h, %zero) slices(%w) {tds.layers} : (tensor<4x2xf32>, tensor<f32>, tensor<16x2x2xf32>) -> (tensor<4x2xf32>, tensor<f32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<4x2xf32>, %sum: tensor<f32>, %m: tensor<2x2xf32>):
    %e = tds.exp %a : tensor<4x2xf32>
    %n = tds.contract %e[0, 1], %m[1, 2] to [0, 2] : tensor<4x2xf32>, tensor<2x2xf32> to tensor<4x2xf32>
    %s = tds.add %a, %n : tensor<4x2xf32>
    %r = tds.reduce sum %e axes [0, 1] : tensor<4x2xf32> to tensor<f32>
    %next = tds.add %sum, %r : tensor<f32>
    tds.yield %s, %next : tensor<4x2xf32>, tensor<f32>
  }
  return %y, %total : tensor<4x2xf32>, tensor<f32>
}
