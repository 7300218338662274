// RUN: tds-opt %s --tds-guard-gathers --split-input-file --verify-diagnostics

func.func @derivative(%x: tensor<4xf32> {tds.input = "x"}) -> (tensor<4xf32> {tds.result = "g"}) attributes {tds.entry = "function"} {
  %l = tds.reduce sum %x axes [0] : tensor<4xf32> to tensor<f32>
  // expected-error @+1 {{'tds.gradient' op must be expanded before this pass; run tds-differentiate first}}
  %g = tds.gradient %l wrt %x : tensor<f32> wrt tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = tds.mul %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @call(%x: tensor<4xf32> {tds.input = "x"}) -> (tensor<4xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  // expected-error @+1 {{'func.call' op must be inlined before this pass; run tds-inline-calls first}}
  %y = func.call @square(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
