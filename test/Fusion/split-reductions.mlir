// RUN: tds-opt %s --tds-generalize --tds-split-reductions | FileCheck %s

// A million terms to one: rows that stay together in memory, then a sum over these.
// CHECK: #[[MAP:.*]] = affine_map<(d0, d1) -> (d0 * 4 + d1)>
// CHECK-LABEL: @total
// CHECK: %[[P:.*]] = tds.generic (%[[S:.*]]) in (250) sum (%[[K:.*]], %[[J:.*]]) in (4, 1003) : tensor<250xf32>
// CHECK-NEXT: %[[A:.*]] = tds.apply #[[MAP]] (%[[S]], %[[K]])
// CHECK-NEXT: tds.read %{{.*}}[%[[A]], %[[J]]]
// CHECK: tds.generic () in () sum (%[[S:.*]]) in (250) : tensor<f32>
// CHECK-NEXT: tds.read %[[P]][%[[S]]]
func.func @total(%x: tensor<1000x1003xf32>) -> tensor<f32> {
  %s = tds.reduce sum %x axes [0, 1] : tensor<1000x1003xf32> to tensor<f32>
  return %s : tensor<f32>
}

// The column sums of a long table.
// CHECK-LABEL: @columns
// CHECK: tds.generic (%{{.*}}, %{{.*}}) in (800, 10) sum (%{{.*}}) in (75) : tensor<800x10xf32>
// CHECK: tds.generic (%{{.*}}) in (10) sum (%{{.*}}) in (800) : tensor<10xf32>
func.func @columns(%x: tensor<60000x10xf32>) -> tensor<10xf32> {
  %s = tds.reduce sum %x axes [0] : tensor<60000x10xf32> to tensor<10xf32>
  return %s : tensor<10xf32>
}

// A prime number of terms leaves a rest, which is a reduction of its own.
// CHECK-LABEL: @rest
// CHECK: tds.generic (%{{.*}}) in (19) max (%{{.*}}) in (1053) : tensor<19xi32>
// CHECK: tds.generic () in () max (%{{.*}}) in (4) : tensor<i32>
// CHECK: tds.generic () in () max (%{{.*}}) in (19) : tensor<i32>
// CHECK: tds.generic () in () : tensor<i32>
// CHECK: tds.max %{{.*}}, %{{.*}} : i32
func.func @rest(%x: tensor<20011xi32>) -> tensor<i32> {
  %s = tds.reduce max %x axes [0] : tensor<20011xi32> to tensor<i32>
  return %s : tensor<i32>
}

// Half-precision sums accumulate in f32 throughout and are rounded once.
// CHECK-LABEL: @half
// CHECK: tds.generic (%{{.*}}) in ({{.*}}) sum (%{{.*}}) in ({{.*}}) : tensor<{{.*}}xf32>
// CHECK: tds.generic () in () sum (%{{.*}}) in ({{.*}}) : tensor<f32>
// CHECK: tds.generic () in () : tensor<f16>
// CHECK: tds.cast %{{.*}} : f32 to f16
func.func @half(%x: tensor<65536xf16>) -> tensor<f16> {
  %s = tds.reduce sum %x axes [0] : tensor<65536xf16> to tensor<f16>
  return %s : tensor<f16>
}

// Refused: enough rows, or few terms, or an argmax.
// CHECK-LABEL: @whole
// CHECK: tds.generic (%{{.*}}) in (4096) sum (%{{.*}}) in (16384)
// CHECK: tds.generic () in () sum (%{{.*}}) in (1000)
// CHECK: tds.generic () in () argmax (%{{.*}}) in (100000)
// CHECK-NOT: tds.generic
func.func @whole(%x: tensor<4096x16384xf32>, %y: tensor<1000xf32>, %z: tensor<100000xf32>) -> (tensor<4096xf32>, tensor<f32>, tensor<i32>) {
  %a = tds.reduce sum %x axes [1] : tensor<4096x16384xf32> to tensor<4096xf32>
  %b = tds.reduce sum %y axes [0] : tensor<1000xf32> to tensor<f32>
  %c = tds.reduce argmax %z axes [0] : tensor<100000xf32> to tensor<i32>
  return %a, %b, %c : tensor<4096xf32>, tensor<f32>, tensor<i32>
}
