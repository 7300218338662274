// RUN: tds-opt %s --tds-recognise-contractions --split-input-file --verify-diagnostics

// In a loop, too.
func.func @loop(%x: tensor<4xf32> {tds.input = "x"}) -> (tensor<4xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %y = tds.fold 3 carry(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%t: tensor<i32>, %h: tensor<4xf32>):
    // expected-error @+1 {{'tds.independent' op must be expanded before this pass; run tds-differentiate first}}
    %i = tds.independent %h : tensor<4xf32>
    tds.yield %i : tensor<4xf32>
  }
  return %y : tensor<4xf32>
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
