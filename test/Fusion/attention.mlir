// Attention that was recognised: taken apart where nothing is to be joined, and with conversions to and from 16-bit floats as part of it.
// RUN: tds-opt %s --tds-generalize=steps=true | FileCheck %s --check-prefix=STEPS
// RUN: tds-opt %s --tds-generalize | FileCheck %s
// RUN: tds-opt %s --tds-fusion-pipeline=target=a100 --remarks-filter=fusion --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: tds-opt %s --tds-fusion-pipeline --remarks-filter=fusion --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=BESIDE

#map = affine_map<(b, i, d) -> (b, i, d)>

// STEPS-LABEL: func.func @forward
// STEPS-NOT: tds.attention
// STEPS: in (2, 8, 6) sum
// STEPS: in (2, 8) max
// STEPS: in (2, 8) sum
// STEPS: in (2, 8, 4) sum
// STEPS-NOT: tds.attention
// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[Q:.*]]: tensor<2x8x4xbf16>, %[[K:.*]]: tensor<2x24xbf16>
// CHECK: %[[VIEW:.*]] = tds.reshape %[[K]] : tensor<2x24xbf16> to tensor<2x6x4xbf16>
// CHECK: %[[O:.*]], %{{.*}}, %{{.*}} = tds.attention %[[Q]], %[[VIEW]], %{{.*}} : (tensor<2x8x4xbf16>, tensor<2x6x4xbf16>, tensor<2x6x4xf32>) -> (tensor<2x8x4xf16>,
// CHECK: return %[[O]] : tensor<2x8x4xf16>
func.func @forward(%q: tensor<2x8x4xbf16>, %k: tensor<2x24xbf16>, %v: tensor<2x6x4xf32>) -> tensor<2x8x4xf16> {
  %query = tds.cast %q : tensor<2x8x4xbf16> to tensor<2x8x4xf32>
  %keys = tds.cast %k : tensor<2x24xbf16> to tensor<2x24xf32>
  %key = tds.reshape %keys : tensor<2x24xf32> to tensor<2x6x4xf32>
  %o, %m, %z = tds.attention %query, %key, %v {extents = array<i64: 2, 8, 6, 4, 4>, query_map = #map, key_map = #map, value_map = #map, result_map = #map}
      : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>) score {
  ^bb0(%b: index, %i: index, %j: index, %s: f32):
    tds.yield %s : f32
  }
  %narrow = tds.cast %o : tensor<2x8x4xf32> to tensor<2x8x4xf16>
  return %narrow : tensor<2x8x4xf16>
}

// On a GPU that it fills an attention has a launch of its own: others beside it would need its shared memory. A CPU has none, and runs both side by side.
// ALONE: Function=fills{{.*}}Remark="not beside another kernel: an attention fills the device by itself"
// ALONE-LABEL: func.func @fills
// ALONE-NOT: tds.kernel "parts"
// ALONE: tds.kernel "attention"
// ALONE: tds.kernel "row"
// BESIDE: Function=fills{{.*}}Remark="beside another kernel
// BESIDE-LABEL: func.func @fills
// BESIDE: tds.kernel "parts"
// BESIDE: tds.kernel "attention"
// BESIDE: tds.kernel "row"
func.func @fills(%q: tensor<64x128x8xf32> {tds.input = "q"}, %x: tensor<64x1024xf32> {tds.input = "x"})
    -> (tensor<64x128x8xf32> {tds.result = "o"}, tensor<64xf32> {tds.result = "s"}) attributes {tds.entry = "function"} {
  %o, %m, %z = tds.attention %q, %q, %q {extents = array<i64: 64, 128, 128, 8, 8>, query_map = #map, key_map = #map, value_map = #map, result_map = #map}
      : (tensor<64x128x8xf32>, tensor<64x128x8xf32>, tensor<64x128x8xf32>) -> (tensor<64x128x8xf32>, tensor<64x128xf32>, tensor<64x128xf32>) score {
  ^bb0(%b: index, %i: index, %j: index, %s: f32):
    tds.yield %s : f32
  }
  %s = tds.reduce sum %x axes [1] : tensor<64x1024xf32> to tensor<64xf32>
  return %o, %s : tensor<64x128x8xf32>, tensor<64xf32>
}
