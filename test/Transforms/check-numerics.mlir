// RUN: tds-opt -tds-mark-phases -tds-differentiate -canonicalize -cse '-tds-guard-gathers=numerics=true' %s | FileCheck %s

// The forward sweep, the backward sweep and the update are told apart, in the order of the program; the marks are gone.
// CHECK-LABEL: func.func @train
// CHECK-SAME: tds.flags = [
// CHECK-SAME: text = "input 'x' holds a NaN or an infinity before the call"
// CHECK-SAME: text = "variable 'w' holds a NaN or an infinity before the call"
// CHECK-SAME: {source = "{{.*}}check-numerics.mlir:[[# @LINE + 13]]:{{[0-9]+}}", text = "the first NaN or infinity comes from 'mul' in the forward pass"}
// CHECK-SAME: text = "the first NaN or infinity comes from 'log' in the forward pass"
// CHECK-SAME: in the backward pass"
// CHECK-SAME: text = "the first NaN or infinity comes from 'sub' in the update of the variables"
// CHECK-NOT: phase
// CHECK: tds.isfinite
// CHECK: return

tds.variable @w param : tensor<4xf32>

func.func @train(%x: tensor<4xf32> {tds.input = "x"}, %w: tensor<4xf32> {tds.variable = @w})
    -> (tensor<f32> {tds.result = "loss"}, tensor<4xf32> {tds.variable = @w})
    attributes {tds.entry = "step"} {
  %p = tds.mul %x, %w : tensor<4xf32>
  %l = tds.log %p : tensor<4xf32>
  %loss = tds.reduce sum %l axes [0] : tensor<4xf32> to tensor<f32>
  %g = tds.gradient %loss wrt %w : tensor<f32> wrt tensor<4xf32>
  %new = tds.sub %w, %g : tensor<4xf32>
  return %loss, %new : tensor<f32>, tensor<4xf32>
}

// An infinity that the program writes is let through until exp has taken it away.
// CHECK-LABEL: func.func @masked
// CHECK-SAME: text = "the first NaN comes from 'add' in the forward pass"
// CHECK-SAME: text = "the first NaN or infinity comes from 'exp' in the forward pass"
func.func @masked(%x: tensor<4xf32> {tds.input = "x"}, %m: tensor<4xi1> {tds.input = "m"})
    -> (tensor<4xf32> {tds.result = "p"}) attributes {tds.entry = "function"} {
  %inf = tds.constant dense<0xFF800000> : tensor<4xf32>
  %zero = tds.constant dense<0.0> : tensor<4xf32>
  %mask = tds.select %m, %zero, %inf : tensor<4xi1>, tensor<4xf32>
  %s = tds.add %x, %mask : tensor<4xf32>
  %e = tds.exp %s : tensor<4xf32>
  return %e : tensor<4xf32>
}
