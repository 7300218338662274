// What a gradient is taken by stays a value of its own until the gradient is expanded.
// RUN: tds-opt --tds-inline-calls --canonicalize --cse %s | FileCheck %s
// RUN: tds-opt --tds-inline-calls --canonicalize --cse --tds-differentiate --canonicalize %s | FileCheck %s --check-prefix=DONE

func.func private @f(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %p = tds.mul %x, %y : tensor<f32>
  %g = tds.gradient %p wrt %x : tensor<f32> wrt tensor<f32>
  return %g : tensor<f32>
}

// Two parameters with one argument.
// CHECK-LABEL: @same_argument
// CHECK: %[[X:.*]] = tds.independent %arg0
// CHECK: %[[P:.*]] = tds.mul %[[X]], %arg0
// CHECK: tds.gradient %[[P]] wrt %[[X]]
// DONE-LABEL: @same_argument
// DONE-NEXT: return %arg0
func.func @same_argument(%a: tensor<f32> {tds.input = "a"}) -> (tensor<f32> {tds.result = "r"}) attributes {tds.entry = "function"} {
  %r = func.call @f(%a, %a) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// A constant.
// CHECK-LABEL: @constant
// CHECK: tds.independent
// CHECK: tds.gradient
// DONE-LABEL: @constant
// DONE: %[[TWO:.*]] = tds.constant dense<2.000000e+00>
// DONE: return %[[TWO]]
func.func @constant() -> (tensor<f32> {tds.result = "r"}) attributes {tds.entry = "function"} {
  %c = tds.constant dense<3.0> : tensor<f32>
  %two = tds.constant dense<2.0> : tensor<f32>
  %r = func.call @f(%c, %two) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// Equal computations, of which the gradient names one.
// CHECK-LABEL: @equal
// CHECK: %[[A:.*]] = tds.exp %arg0
// CHECK: %[[B:.*]] = tds.independent %[[A]]
// CHECK: %[[P:.*]] = tds.mul %[[A]], %[[B]]
// CHECK: tds.gradient %[[P]] wrt %[[B]]
// DONE-LABEL: @equal
// DONE: %[[E:.*]] = tds.exp %arg0
// DONE-NEXT: return %[[E]]
func.func @equal(%x: tensor<f32> {tds.input = "x"}) -> (tensor<f32> {tds.result = "r"}) attributes {tds.entry = "function"} {
  %a = tds.exp %x : tensor<f32>
  %b = tds.exp %x : tensor<f32>
  %p = tds.mul %a, %b : tensor<f32>
  %g = tds.gradient %p wrt %b : tensor<f32> wrt tensor<f32>
  return %g : tensor<f32>
}
