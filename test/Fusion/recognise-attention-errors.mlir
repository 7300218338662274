// RUN: tds-opt %s --tds-recognise-attention --split-input-file --verify-diagnostics

func.func @kernel(%x: tensor<4xf32> {tds.input = "x"}) -> (tensor<4xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  // expected-error @+1 {{'tds.kernel' op holds what tds-recognise-attention looks for; run that before tds-form-kernels}}
  %k = tds.kernel "loop"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4xf32>):
    %y = tds.generic (%i) in (4) : tensor<4xf32> {
      %e = tds.read %p[%i] : tensor<4xf32>
      %f = tds.exp %e : f32
      tds.yield %f : f32
    }
    tds.yield %y : tensor<4xf32>
  }
  return %k : tensor<4xf32>
}
