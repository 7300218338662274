// RUN: tds-opt %s --tds-plan --split-input-file --verify-diagnostics

func.func @loose(%x: tensor<4xf32> {tds.input = "x"}) -> (tensor<4xf32> {tds.result = "r"}) attributes {tds.entry = "function"} {
  // expected-error @+1 {{'tds.exp' op stands outside a kernel in an entry that is planned; run tds-form-kernels first}}
  %r = tds.exp %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

tds.variable @w param : tensor<4xf32>
// expected-error @+1 {{'func.func' op returns variable @w twice}}
func.func @twice(%x: tensor<4xf32> {tds.input = "x"}) -> (tensor<4xf32> {tds.variable = @w}, tensor<4xf32> {tds.variable = @w}) attributes {tds.entry = "step"} {
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}
