// RUN: tds-opt -split-input-file -verify-diagnostics -tds-scale-losses %s
// RUN: not tds-opt -split-input-file -tds-scale-losses=initial-scale=3 %s 2>&1 | FileCheck %s --check-prefix=POWER
// RUN: not tds-opt -split-input-file -tds-scale-losses=largest-scale=inf %s 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not tds-opt -split-input-file '-tds-scale-losses=initial-scale=4 smallest-scale=8' %s 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not tds-opt -split-input-file -tds-scale-losses=growth-interval=0 %s 2>&1 | FileCheck %s --check-prefix=INTERVAL
// POWER: error: initial-scale is 3.000000e+00; give a power of two in the range of f32, so that scaling is exact
// RANGE: error: largest-scale is {{inf|INF}}; give a power of two in the range of f32, so that scaling is exact
// ORDER: error: the scale begins at 4.000000e+00, between 8.000000e+00 and 1.677722e+07, and grows every 2000 steps; give smallest-scale <= initial-scale <= largest-scale and a growth-interval of at least 1
// INTERVAL: error: {{.*}}, and grows every 0 steps; give {{.*}} a growth-interval of at least 1

// A step without a gradient has nothing to scale.
// CHECK-LABEL: func.func @count
// CHECK-NOT: amp
// CHECK: return
tds.variable @n state : tensor<i64>
func.func @count(%n: tensor<i64> {tds.variable = @n}) -> (tensor<i64> {tds.variable = @n}) attributes {tds.entry = "step"} {
  %m = tds.add %n, %n : tensor<i64>
  return %m : tensor<i64>
}
func.func @init(%seed: tensor<i64> {tds.input = "seed"}) -> (tensor<i64> {tds.variable = @n}) attributes {tds.entry = "init"} {
  return %seed : tensor<i64>
}

// -----

tds.variable @w param : tensor<f32>
// expected-error @below {{the step has a result 'amp_scale', which is the name of one that loss scaling (--amp=f16) adds; give it another name}}
func.func @train(%w: tensor<f32> {tds.variable = @w}) -> (tensor<f32> {tds.result = "amp_scale"}, tensor<f32> {tds.variable = @w}) attributes {tds.entry = "step"} {
  %loss = tds.mul %w, %w : tensor<f32>
  %g = tds.gradient %loss wrt %w : tensor<f32> wrt tensor<f32>
  return %loss, %g : tensor<f32>, tensor<f32>
}
func.func @init(%seed: tensor<i64> {tds.input = "seed"}) -> (tensor<f32> {tds.variable = @w}) attributes {tds.entry = "init"} {
  %w = tds.constant dense<0.0> : tensor<f32>
  return %w : tensor<f32>
}

// -----

tds.variable @w param : tensor<f32>
// expected-error @below {{there is no entry of kind "init" that could give the loss scale its first value}}
func.func @train(%w: tensor<f32> {tds.variable = @w}) -> (tensor<f32> {tds.result = "loss"}, tensor<f32> {tds.variable = @w}) attributes {tds.entry = "step"} {
  %loss = tds.mul %w, %w : tensor<f32>
  %g = tds.gradient %loss wrt %w : tensor<f32> wrt tensor<f32>
  return %loss, %g : tensor<f32>, tensor<f32>
}
