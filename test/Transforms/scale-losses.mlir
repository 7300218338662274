// RUN: tds-opt -tds-scale-losses %s | FileCheck %s
// RUN: tds-opt -tds-scale-losses=check-numerics=true %s | FileCheck %s --check-prefix=CHECKED
// RUN: tds-opt '-tds-scale-losses=initial-scale=8 growth-interval=3 smallest-scale=2 largest-scale=32' %s | FileCheck %s --check-prefix=OTHER

// The scale and its counts are variables before the counters, and results behind the step's own.
// CHECK: tds.variable @w param
// CHECK-NEXT: tds.variable @amp.train.scale optimizer : tensor<f32>
// CHECK-NEXT: tds.variable @amp.train.good optimizer : tensor<i64>
// CHECK-NEXT: tds.variable @amp.train.skipped optimizer : tensor<i64>
// CHECK-NEXT: tds.variable @tds.step counter
// CHECK-LABEL: func.func @train
// CHECK-SAME: (tensor<f32> {tds.result = "loss"}, tensor<f32> {tds.result = "amp_scale"}, tensor<i64> {tds.result = "amp_skipped"},
// CHECK-SAME: tensor<4xf32> {tds.variable = @w}, tensor<i64> {tds.variable = @tds.step},
// CHECK-SAME: tensor<f32> {tds.variable = @amp.train.scale}, tensor<i64> {tds.variable = @amp.train.good}, tensor<i64> {tds.variable = @amp.train.skipped})
// CHECK: %[[INVERSE:.*]] = tds.div %{{.*}}, %[[SCALE:arg[0-9]+]] : tensor<f32>
// CHECK: %[[SCALED:.*]] = tds.mul %[[LOSS:.*]], %[[SCALE]] : tensor<f32>
// CHECK: %[[H:.*]] = tds.gradient %[[SCALED]] wrt %arg1
// CHECK: %[[G:.*]] = tds.mul %[[H]], %{{.*}} : tensor<4xf32>
// CHECK: %[[EACH:.*]] = tds.isfinite %[[G]] : tensor<4xf32>
// CHECK: %[[ALL:.*]] = tds.reduce all %[[EACH]] axes [0] : tensor<4xi1> to tensor<i1>
// CHECK: %[[NEW:.*]] = tds.sub %arg1, %[[G]] : tensor<4xf32>
// CHECK: %[[STEP:.*]] = tds.add %arg2
// CHECK: %[[OVERFLOW:.*]] = tds.not %[[ALL]] : tensor<i1>
// CHECK: %[[EVERY:.*]] = tds.broadcast %[[OVERFLOW]] axes [] : tensor<i1> to tensor<4xi1>
// CHECK: %[[KEPT:.*]] = tds.select %[[EVERY]], %arg1, %[[NEW]] : tensor<4xi1>, tensor<4xf32>
// CHECK: tds.constant dense<5.000000e-01> : tensor<f32>
// CHECK: return %[[LOSS]], %[[NEXT:.*]], %[[SKIPPED:.*]], %[[KEPT]], %[[STEP]], %[[NEXT]], %{{.*}}, %[[SKIPPED]] :

// Under --check-numerics the checks have to know.
// CHECKED-LABEL: func.func @train
// CHECKED-SAME: tensor<i1> {tds.skipped}
// CHECKED: tds.compare gt %{{.*}} : tensor<f32>

// OTHER-LABEL: func.func @train
// OTHER: tds.constant dense<3> : tensor<i64>
// OTHER: tds.constant dense<2.000000e+00> : tensor<f32>
// OTHER: tds.constant dense<3.200000e+01> : tensor<f32>
tds.variable @w param : tensor<4xf32>
tds.variable @tds.step counter : tensor<i64>

func.func @train(%x: tensor<4xf32> {tds.input = "x"}, %w: tensor<4xf32> {tds.variable = @w}, %n: tensor<i64> {tds.variable = @tds.step})
    -> (tensor<f32> {tds.result = "loss"}, tensor<4xf32> {tds.variable = @w}, tensor<i64> {tds.variable = @tds.step})
    attributes {tds.entry = "step"} {
  %p = tds.mul %x, %w : tensor<4xf32>
  %loss = tds.reduce sum %p axes [0] : tensor<4xf32> to tensor<f32>
  %g = tds.gradient %loss wrt %w : tensor<f32> wrt tensor<4xf32>
  %new = tds.sub %w, %g : tensor<4xf32>
  %one = tds.constant dense<1> : tensor<i64>
  %m = tds.add %n, %one : tensor<i64>
  return %loss, %new, %m : tensor<f32>, tensor<4xf32>, tensor<i64>
}

// Refused: an entry that is no step has nowhere to keep a scale.
// CHECK-LABEL: func.func @slope
// CHECK-NOT: amp
// CHECK: tds.gradient %{{.*}} wrt %arg0
// CHECK-NEXT: return
func.func @slope(%x: tensor<4xf32> {tds.input = "x"}) -> (tensor<4xf32> {tds.result = "g"}) attributes {tds.entry = "function"} {
  %loss = tds.reduce sum %x axes [0] : tensor<4xf32> to tensor<f32>
  %g = tds.gradient %loss wrt %x : tensor<f32> wrt tensor<4xf32>
  return %g : tensor<4xf32>
}

// CHECK-LABEL: func.func @init
// CHECK: %[[FIRST:.*]] = tds.constant dense<6.553600e+04> : tensor<f32>
// CHECK: return %{{.*}}, %{{.*}}, %[[FIRST]], %{{.*}}, %{{.*}} :
// OTHER-LABEL: func.func @init
// OTHER: tds.constant dense<8.000000e+00> : tensor<f32>
func.func @init(%seed: tensor<i64> {tds.input = "seed"})
    -> (tensor<4xf32> {tds.variable = @w}, tensor<i64> {tds.variable = @tds.step}) attributes {tds.entry = "init"} {
  %w = tds.constant dense<0.0> : tensor<4xf32>
  %n = tds.constant dense<0> : tensor<i64>
  return %w, %n : tensor<4xf32>, tensor<i64>
}
