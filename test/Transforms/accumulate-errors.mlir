// RUN: tds-opt -split-input-file -verify-diagnostics -tds-accumulate %s

// expected-error @below {{'micro' and 'last' must name copies of the step whose rows make up its own}}
func.func @train(%x: tensor<5xf32> {tds.input = "x", tds.data_axis}) -> (tensor<f32> {tds.result = "loss"}) attributes {tds.entry = "step", micro = @part} {
  %loss = tds.reduce sum %x axes [0] : tensor<5xf32> to tensor<f32>
  return %loss : tensor<f32>
}
func.func private @part(%x: tensor<2xf32> {tds.input = "x", tds.data_axis}) -> tensor<f32> {
  %loss = tds.reduce sum %x axes [0] : tensor<2xf32> to tensor<f32>
  return %loss : tensor<f32>
}

// -----

func.func @train(%x: tensor<4xf32> {tds.input = "x", tds.data_axis}) -> (tensor<f32> {tds.result = "loss"}) attributes {tds.entry = "step", micro = @part} {
  // expected-error @below {{--accum cannot split the step 'train': what it computes for a micro-batch of 2 rows differs from this in more than the rows}}
  %loss = tds.reduce sum %x axes [0] : tensor<4xf32> to tensor<f32>
  return %loss : tensor<f32>
}
func.func private @part(%x: tensor<2xf32> {tds.input = "x", tds.data_axis}) -> tensor<f32> {
  %loss = tds.generic () in () sum (%i) in (2) : tensor<f32> {
    %a = tds.read %x[%i] : tensor<2xf32>
    tds.yield %a : f32
  }
  return %loss : tensor<f32>
}
