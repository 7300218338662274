// RUN: tds-opt %s --tds-split-reductions --split-input-file --verify-diagnostics
// RUN: not tds-opt %s --tds-split-reductions=target=nonsense --split-input-file 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: cannot read the target description 'nonsense' ({{.*}}); give a file, or one of t4, v100, a100, h100, h200, host-cpu

func.func @derivative(%x: tensor<4xf32> {tds.input = "x"}) -> (tensor<4xf32> {tds.result = "g"}) attributes {tds.entry = "function"} {
  %l = tds.reduce sum %x axes [0] : tensor<4xf32> to tensor<f32>
  // expected-error @+1 {{'tds.gradient' op must be expanded before this pass; run tds-differentiate first}}
  %g = tds.gradient %l wrt %x : tensor<f32> wrt tensor<4xf32>
  return %g : tensor<4xf32>
}
