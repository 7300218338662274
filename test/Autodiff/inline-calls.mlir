// RUN: tds-opt %s --tds-inline-calls | FileCheck %s

// Calls in calls go, functions that nothing calls any more too.
// Refused: a function with a derivative of its own.
// CHECK-NOT: @square
// CHECK: func.func private @own
// CHECK-LABEL: func.func @f
// CHECK: %[[A:.*]] = tds.mul %arg0, %arg0 : tensor<4xf32>
// CHECK: %[[B:.*]] = tds.mul %[[A]], %[[A]] : tensor<4xf32>
// CHECK: call @own(%[[B]])
func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = tds.mul %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @fourth(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = call @square(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = tds.mul %y, %y : tensor<4xf32>
  return %z : tensor<4xf32>
}
func.func private @own(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tds.vjp = @rule} {
  %y = tds.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @rule(%x: tensor<4xf32>, %y: tensor<4xf32>, %d: tensor<4xf32>) -> tensor<4xf32> {
  %z = tds.mul %y, %d : tensor<4xf32>
  return %z : tensor<4xf32>
}
func.func @f(%x: tensor<4xf32> {tds.input = "x"}) -> (tensor<4xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %y = call @fourth(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = call @own(%y) : (tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}
