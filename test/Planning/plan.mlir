// RUN: tds-opt %s --tds-plan | FileCheck %s

// CHECK: tds.variable @w param : tensor<4xf32> {plan.offset = 0 : i64, plan.slab = 0 : i64}
// CHECK: tds.variable @v param : tensor<4xf32> {plan.offset = 256 : i64, plan.slab = 0 : i64}
// CHECK: tds.variable @n counter : tensor<i64> {plan.offset = 0 : i64, plan.slab = 1 : i64}
tds.variable @w param : tensor<4xf32>
tds.variable @v param : tensor<4xf32>
tds.variable @n counter : tensor<i64>
// CHECK: plan.slab param f32 bytes 512
// CHECK: plan.slab counter i64 bytes 256

// The kernel of `@double` is used by every entry below that doubles four numbers.

// An element-wise update is written in place.
// CHECK: plan.entry @update "step" arena 0 input 0 result 0 scratch 96
// CHECK-NEXT: plan.launch @tds_k0_loop (<slab[0] 0 + 16>) -> (<slab[0] 0 + 16>) {origin = 0 : i64}
// CHECK-NEXT: {{^ *}}}
func.func @update(%w: tensor<4xf32> {tds.variable = @w}) -> (tensor<4xf32> {tds.variable = @w}) attributes {tds.entry = "step"} {
  %r = tds.kernel "loop" (%w) {schedule = {work = 1 : i64, scratch = 96 : i64}} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %y = tds.generic (%i) in (4) : tensor<4xf32> {
      %e = tds.read %a[%i] : tensor<4xf32>
      %f = tds.add %e, %e : f32
      tds.yield %f : f32
    }
    tds.yield %y : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// Refused: x + reverse(x) still reads elements that an update in place would have overwritten.
// CHECK: plan.entry @reverse "step" arena 256
// CHECK-NEXT: plan.launch @tds_k1_loop (<slab[0] 0 + 16>) -> (<arena[0] 0 + 16>)
// CHECK-NEXT: plan.copy <arena[0] 0 + 16> to <slab[0] 0 + 16>
func.func @reverse(%w: tensor<4xf32> {tds.variable = @w}) -> (tensor<4xf32> {tds.variable = @w}) attributes {tds.entry = "step"} {
  %r = tds.kernel "loop" (%w) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %y = tds.generic (%i) in (4) : tensor<4xf32> {
      %j = tds.apply affine_map<(d0) -> (3 - d0)> (%i)
      %e = tds.read %a[%i] : tensor<4xf32>
      %g = tds.read %a[%j] : tensor<4xf32>
      %f = tds.add %e, %g : f32
      tds.yield %f : f32
    }
    tds.yield %y : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// A later reader of the old value runs before the update.
// CHECK: plan.entry @reader "step"
// CHECK: plan.launch @tds_k2_row (<slab[0] 0 + 16>) -> (<result[0] 0 + 4>) {origin = 1 : i64}
// CHECK-NEXT: plan.launch @tds_k0_loop (<slab[0] 0 + 16>) -> (<slab[0] 0 + 16>) {origin = 0 : i64}
// CHECK-NOT: plan.copy
func.func @reader(%w: tensor<4xf32> {tds.variable = @w}) -> (tensor<f32> {tds.result = "s"}, tensor<4xf32> {tds.variable = @w}) attributes {tds.entry = "step"} {
  %r = tds.kernel "loop" (%w) {schedule = {work = 1 : i64, scratch = 96 : i64}} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %y = tds.generic (%i) in (4) : tensor<4xf32> {
      %e = tds.read %a[%i] : tensor<4xf32>
      %f = tds.add %e, %e : f32
      tds.yield %f : f32
    }
    tds.yield %y : tensor<4xf32>
  }
  %s = tds.kernel "row" (%w) : (tensor<4xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<4xf32>):
    %y = tds.generic () in () sum (%i) in (4) : tensor<f32> {
      %e = tds.read %a[%i] : tensor<4xf32>
      tds.yield %e : f32
    }
    tds.yield %y : tensor<f32>
  }
  return %s, %r : tensor<f32>, tensor<4xf32>
}

// The new value of w is read together with the old one: w changes at the end.
// CHECK: plan.entry @both "step" arena 256
// CHECK: plan.launch @tds_k3_loop (<slab[0] 0 + 16>) -> (<arena[0] 0 + 16>)
// CHECK: plan.launch @tds_k4_row (<slab[0] 0 + 16>, <arena[0] 0 + 16>) -> (<result[0] 0 + 4>)
// CHECK: plan.copy <arena[0] 0 + 16> to <slab[0] 0 + 16>
func.func @both(%w: tensor<4xf32> {tds.variable = @w}) -> (tensor<f32> {tds.result = "s"}, tensor<4xf32> {tds.variable = @w}) attributes {tds.entry = "step"} {
  %r = tds.kernel "loop" (%w) {schedule = {work = 1 : i64, scratch = 96 : i64}} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %y = tds.generic (%i) in (4) : tensor<4xf32> {
      %e = tds.read %a[%i] : tensor<4xf32>
      %f = tds.add %e, %e : f32
      tds.yield %f : f32
    }
    tds.yield %y : tensor<4xf32>
  }
  %s = tds.kernel "row" (%w, %r) : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %y = tds.generic () in () sum (%i) in (4) : tensor<f32> {
      %e = tds.read %a[%i] : tensor<4xf32>
      %f = tds.read %b[%i] : tensor<4xf32>
      %p = tds.mul %e, %f : f32
      tds.yield %p : f32
    }
    tds.yield %y : tensor<f32>
  }
  return %s, %r : tensor<f32>, tensor<4xf32>
}

// Two variables change places: one old value is kept.
// CHECK: plan.entry @swap "step" arena 512
// CHECK-NEXT: plan.copy <slab[0] 256 + 16> to <arena[0] [[V:[0-9]+]] + 16>
// CHECK-NEXT: plan.copy <slab[0] 0 + 16> to <arena[0] [[W:[0-9]+]] + 16>
// CHECK-NEXT: plan.copy <arena[0] [[V]] + 16> to <slab[0] 0 + 16>
// CHECK-NEXT: plan.copy <arena[0] [[W]] + 16> to <slab[0] 256 + 16>
func.func @swap(%w: tensor<4xf32> {tds.variable = @w}, %v: tensor<4xf32> {tds.variable = @v})
    -> (tensor<4xf32> {tds.variable = @w}, tensor<4xf32> {tds.variable = @v}) attributes {tds.entry = "step"} {
  return %v, %w : tensor<4xf32>, tensor<4xf32>
}

// An input, a view of it, a constant and an old value as results and variables.
// CHECK: plan.entry @pass "step" arena 0 input 512 result 1024 scratch 96
// CHECK-NEXT: plan.input "x" : tensor<2x2xf32> at 0 {data_axis}
// CHECK-NEXT: plan.input "lr" : tensor<f32> at 256 default 1.000000e-03 : f32
// CHECK-NEXT: plan.result "x" : tensor<2x2xf32> at 0
// CHECK-NEXT: plan.result "old" : tensor<4xf32> at 256
// CHECK-NEXT: plan.result "c" : tensor<3xi32> at 512
// CHECK-NEXT: plan.result "z" : tensor<3xf32> at 768
// CHECK-NEXT: plan.copy <input[0] 0 + 16> to <result[0] 0 + 16>
// CHECK-NEXT: plan.copy <slab[0] 0 + 16> to <result[0] 256 + 16>
// CHECK-NEXT: plan.launch @tds_k0_loop (<slab[0] 0 + 16>) -> (<slab[0] 0 + 16>)
// CHECK-NEXT: plan.copy <const[0] 0 + 12> to <result[0] 512 + 12>
// CHECK-NEXT: plan.copy <input[0] 0 + 16> to <slab[0] 256 + 16>
// CHECK-NEXT: plan.fill <result[0] 768 + 12> with 0
func.func @pass(%x: tensor<2x2xf32> {tds.input = "x", tds.data_axis}, %lr: tensor<f32> {tds.input = "lr", tds.default = 1.0e-3 : f32},
                %w: tensor<4xf32> {tds.variable = @w})
    -> (tensor<2x2xf32> {tds.result = "x"}, tensor<4xf32> {tds.result = "old"}, tensor<3xi32> {tds.result = "c"}, tensor<3xf32> {tds.result = "z"},
        tensor<4xf32> {tds.variable = @w}, tensor<4xf32> {tds.variable = @v}) attributes {tds.entry = "step"} {
  %c = tds.constant dense<[1, 2, 3]> : tensor<3xi32>
  %z = tds.constant dense<0.0> : tensor<3xf32>
  %flat = tds.reshape %x : tensor<2x2xf32> to tensor<4xf32>
  %r = tds.kernel "loop" (%w) {schedule = {work = 1 : i64, scratch = 96 : i64}} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %y = tds.generic (%i) in (4) : tensor<4xf32> {
      %e = tds.read %a[%i] : tensor<4xf32>
      %f = tds.add %e, %e : f32
      tds.yield %f : f32
    }
    tds.yield %y : tensor<4xf32>
  }
  return %x, %w, %c, %z, %r, %flat : tensor<2x2xf32>, tensor<4xf32>, tensor<3xi32>, tensor<3xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK: plan.constant dense<[1, 2, 3]> : tensor<3xi32>
// CHECK: func.func private @tds_k0_loop({{.*}}) -> tensor<4xf32> attributes {plan.disjoint, plan.in_place = array<i64: 0>}
// CHECK: func.func private @tds_k1_loop({{.*}}) -> tensor<4xf32> attributes {plan.disjoint, plan.in_place = array<i64: -1>}
