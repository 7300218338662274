// RUN: tds-opt %s --tds-form-kernels --split-input-file --verify-diagnostics
// RUN: not tds-opt %s --tds-form-kernels=target=nonsense --split-input-file 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: cannot read the target description 'nonsense' ({{.*}}); give a file, or one of t4, v100, a100, h100, h200, host-cpu
// RUN: not tds-opt %s --tds-form-kernels=max-buffers=1 --split-input-file 2>&1 | FileCheck %s --check-prefix=BUFFERS
// BUFFERS: max-buffers is 1; a kernel needs an input and an output, so give at least 2

func.func @not_general(%x: tensor<4xf32> {tds.input = "x"}) -> (tensor<4xf32> {tds.result = "r"}) attributes {tds.entry = "function"} {
  // expected-error @+1 {{'tds.exp' op cannot become part of a kernel; run tds-generalize first}}
  %r = tds.exp %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

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
