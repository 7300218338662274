// RUN: tds-opt %s --tds-fusion-pipeline=target=a100 --remarks-filter=fusion --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefixes=AGAIN
// RUN: sed 's/"element_gop_per_s": {"value": [0-9.]*/"element_gop_per_s": {"value": 1/' %S/../../lib/Fusion/Targets/a100.json > %t.json
// RUN: tds-opt %s --tds-fusion-pipeline=target=%t.json --remarks-filter=fusion --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefixes=STORED

// An activation is a factor of a product; its derivative needs two more values that follow from its argument. The argument alone is stored, which is the
// product itself, and the other kernel computes both from it. On a device whose operations were very slow all three would be stored.

// AGAIN: [Passed] recompute | Category:fusion | Function=activation | Decision=recompute, Remark="computed again in its readers, with all that its kernel makes of the same values, instead of stored: {{[0-9.]+}} us of memory saved, {{[0-9.]+}} us of work added"
// AGAIN-LABEL: func.func @activation
// AGAIN: tds.kernel "contract"{{.*}} -> (tensor<8192x2048xf32>, tensor<8192x2048xf32>) {
// AGAIN: tds.tanh
// AGAIN: tds.kernel "contract"
// AGAIN: tds.tanh
// AGAIN: return

// STORED: [Missed] recompute | Category:fusion | Function=activation | Decision=recompute, Remark="not computed again in its readers, with all that its kernel makes of the same values, instead of stored
// STORED-LABEL: func.func @activation
// STORED: tds.kernel "contract"{{.*}} -> (tensor<8192x2048xf32>, tensor<8192x2048xf32>, tensor<8192x2048xf32>) {
// STORED: tds.tanh
// STORED-NOT: tds.tanh
// STORED: return
func.func @activation(%x: tensor<8192x256xf32> {tds.input = "x"}, %w: tensor<256x2048xf32> {tds.input = "w"}, %v: tensor<2048x64xf32> {tds.input = "v"},
    %g: tensor<8192x64xf32> {tds.input = "g"})
    -> (tensor<8192x64xf32> {tds.result = "y"}, tensor<8192x2048xf32> {tds.result = "dx"}) attributes {tds.entry = "function"} {
  %u = tds.contract %x[0, 2], %w[2, 1] to [0, 1] : tensor<8192x256xf32>, tensor<256x2048xf32> to tensor<8192x2048xf32>
  %t = tds.tanh %u : tensor<8192x2048xf32>
  %one = tds.constant dense<1.0> : tensor<8192x2048xf32>
  %p = tds.add %t, %one : tensor<8192x2048xf32>
  %h = tds.mul %u, %p : tensor<8192x2048xf32>
  %y = tds.contract %h[0, 2], %v[2, 1] to [0, 1] : tensor<8192x2048xf32>, tensor<2048x64xf32> to tensor<8192x64xf32>
  %e = tds.sub %y, %g : tensor<8192x64xf32>
  %d = tds.contract %e[0, 2], %v[1, 2] to [0, 1] : tensor<8192x64xf32>, tensor<2048x64xf32> to tensor<8192x2048xf32>
  %q = tds.mul %t, %t : tensor<8192x2048xf32>
  %r = tds.sub %one, %q : tensor<8192x2048xf32>
  %s = tds.add %p, %r : tensor<8192x2048xf32>
  %a = tds.mul %d, %s : tensor<8192x2048xf32>
  %b = tds.mul %d, %p : tensor<8192x2048xf32>
  %dx = tds.add %a, %b : tensor<8192x2048xf32>
  return %y, %dx : tensor<8192x64xf32>, tensor<8192x2048xf32>
}
