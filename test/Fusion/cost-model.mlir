// RUN: tds-opt %s --tds-fusion-pipeline=target=a100 --remarks-filter=fusion --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefixes=STORED
// RUN: sed 's/"cache_bytes": {"value": 41943040/"cache_bytes": {"value": 4096/' %S/../../lib/Fusion/Targets/a100.json > %t.json
// RUN: tds-opt %s --tds-fusion-pipeline=target=%t.json --remarks-filter=fusion --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefixes=AGAIN

// A value that a window reads is stored on an A100, whose cache holds it. With one number of the description changed, so that it must go through the memory,
// it is computed again in both readers.

// STORED: [Missed] recompute | Category:fusion | Function=window | Decision=recompute, Remark="not computed again in its readers instead of stored: {{[0-9.]+}} us of memory saved, {{[0-9.]+}} us of work added"
// STORED-LABEL: func.func @window
// STORED: tds.tanh
// STORED-NOT: tds.tanh
// STORED: return

// AGAIN: [Passed] recompute | Category:fusion | Function=window | Decision=recompute, Remark="computed again in its readers instead of stored: {{[0-9.]+}} us of memory saved, {{[0-9.]+}} us of work added"
// AGAIN-LABEL: func.func @window
// AGAIN: tds.tanh
// AGAIN: tds.tanh
// AGAIN: return
func.func @window(%x: tensor<1024x1024xf32> {tds.input = "x"})
    -> (tensor<1024x1023xf32> {tds.result = "r"}, tensor<1024xf32> {tds.result = "s"}) attributes {tds.entry = "function"} {
  %t = tds.tanh %x : tensor<1024x1024xf32>
  %r = tds.generic (%i, %j) in (1024, 1023) : tensor<1024x1023xf32> {
    %n = tds.apply affine_map<(d0) -> (d0 + 1)> (%j)
    %a = tds.read %t[%i, %j] : tensor<1024x1024xf32>
    %b = tds.read %t[%i, %n] : tensor<1024x1024xf32>
    %c = tds.sub %b, %a : f32
    tds.yield %c : f32
  }
  %s = tds.reduce sum %t axes [1] : tensor<1024x1024xf32> to tensor<1024xf32>
  return %r, %s : tensor<1024x1023xf32>, tensor<1024xf32>
}
