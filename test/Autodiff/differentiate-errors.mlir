// RUN: tds-opt %s -tds-differentiate -split-input-file -verify-diagnostics

func.func @kernel(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{no derivative for 'tds.kernel', which lies between the loss and a variable; stop_gradient(…) makes it a constant}}
  %k = tds.kernel "loop" (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %y = tds.generic (%i) in (4) : tensor<4xf32> {
      %v = tds.read %a[%i] : tensor<4xf32>
      tds.yield %v : f32
    }
    tds.yield %y : tensor<4xf32>
  }
  %l = tds.reduce sum %k axes [0] : tensor<4xf32> to tensor<f32>
  %d = tds.gradient %l wrt %x : tensor<f32> wrt tensor<4xf32>
  return %d : tensor<4xf32>
}

// -----

func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{@f calls itself; recursion is not supported}}
  %y = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tds.vjp = @g} {
  return %x : tensor<4xf32>
}
func.func private @g(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @wrong_derivative(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{the derivative @g of @f takes 'tensor<4xf32>', 'tensor<4xf32>', expected 'tensor<4xf32>', 'tensor<4xf32>', 'tensor<4xf32>'}}
  %y = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %l = tds.reduce sum %y axes [0] : tensor<4xf32> to tensor<f32>
  %d = tds.gradient %l wrt %x : tensor<f32> wrt tensor<4xf32>
  return %d : tensor<4xf32>
}
