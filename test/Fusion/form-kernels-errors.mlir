// RUN: tds-opt %s --tds-form-kernels --split-input-file --verify-diagnostics

func.func @not_general(%x: tensor<4xf32> {tds.input = "x"}) -> (tensor<4xf32> {tds.result = "r"}) attributes {tds.entry = "function"} {
  // expected-error @+1 {{'tds.exp' op cannot become part of a kernel; run tds-generalize first}}
  %r = tds.exp %x : tensor<4xf32>
  return %r : tensor<4xf32>
}
