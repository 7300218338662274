// RUN: tds-opt %s --tds-mark-phases | FileCheck %s
// RUN: tds-opt %s --tds-mark-phases=updates-only=true | FileCheck %s --check-prefix=UPDATES

tds.variable @w param : tensor<4xf32>

// What uses a derivative, at any distance, belongs to the update.
// CHECK-LABEL: func.func @train
// CHECK: tds.mul %{{.*}} {phase = "forward"}
// CHECK: tds.reduce {{.*}} {phase = "forward"}
// CHECK: tds.gradient
// CHECK-NOT: phase
// CHECK: tds.mul %{{.*}} {phase = "update"}
// CHECK: tds.sub %{{.*}} {phase = "update"}
// UPDATES-LABEL: func.func @train
// UPDATES-NOT: phase
// UPDATES: tds.gradient
// UPDATES: tds.sub %{{.*}} {phase = "update"}
func.func @train(%x: tensor<4xf32> {tds.input = "x"}, %w: tensor<4xf32> {tds.variable = @w})
    -> (tensor<f32> {tds.result = "loss"}, tensor<4xf32> {tds.variable = @w}) attributes {tds.entry = "step"} {
  %p = tds.mul %x, %w : tensor<4xf32>
  %loss = tds.reduce sum %p axes [0] : tensor<4xf32> to tensor<f32>
  %g = tds.gradient %loss wrt %w : tensor<f32> wrt tensor<4xf32>
  %scaled = tds.mul %g, %g : tensor<4xf32>
  %new = tds.sub %w, %scaled : tensor<4xf32>
  return %loss, %new : tensor<f32>, tensor<4xf32>
}

// Refused: first values, and the derivative that a function has of its own.
// CHECK-LABEL: func.func @init
// CHECK-NOT: phase
// CHECK-LABEL: func.func private @own
// CHECK: tds.exp %{{.*}} {phase = "forward"}
// CHECK-LABEL: func.func private @rule
// CHECK-NOT: phase
func.func @init(%seed: tensor<i64> {tds.input = "seed"}) -> (tensor<4xf32> {tds.variable = @w}) attributes {tds.entry = "init"} {
  %c = tds.constant dense<2.0> : tensor<4xf32>
  %w = tds.mul %c, %c : tensor<4xf32>
  return %w : tensor<4xf32>
}
func.func private @own(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tds.vjp = @rule} {
  %y = tds.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @rule(%x: tensor<4xf32>, %y: tensor<4xf32>, %d: tensor<4xf32>) -> tensor<4xf32> {
  %z = tds.mul %y, %d : tensor<4xf32>
  return %z : tensor<4xf32>
}
