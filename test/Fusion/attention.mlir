// Attention that was recognised: taken apart where nothing is to be joined, and with conversions to and from 16-bit floats as part of it.
// RUN: tds-opt %s --tds-generalize=steps=true | FileCheck %s --check-prefix=STEPS
// RUN: tds-opt %s --tds-generalize | FileCheck %s

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
