// RUN: tds-opt %s --tds-roll-layers=min-layers=3 --split-input-file | FileCheck %s
// RUN: tds-opt %s --tds-roll-layers --split-input-file | FileCheck %s --check-prefix=FEW
// RUN: tds-opt %s '--tds-roll-layers=min-layers=3 min-ops=100' --split-input-file | FileCheck %s --check-prefix=FEW
// FEW-NOT: tds.layers

// The variables of the layers are one; the chain of calls is a loop, through the function that goes over the layers; so are the derivatives' updates and the first
// values, whose random numbers are drawn at the iteration.

// CHECK: tds.variable @"net.*.w" param : tensor<3x4xf32> {tds.layers}
// CHECK-NEXT: tds.variable @other param : tensor<4xf32>
// CHECK-NOT: tds.variable
tds.variable @net.0.w param : tensor<4xf32>
tds.variable @net.1.w param : tensor<4xf32>
tds.variable @net.2.w param : tensor<4xf32>
tds.variable @other param : tensor<4xf32>

func.func private @layer(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %y = tds.mul %x, %w : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @net(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @layer(%x, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = call @layer(%0, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = call @layer(%1, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func private @draw.0(%seed: tensor<i64>) -> tensor<4xf32> {
  %r = tds.generic (%i) in (4) : tensor<4xf32> {
    %s = tds.read %seed[] : tensor<i64>
    %z = tds.constant 0 : i64
    %v = tds.random normal %s, %z, %i {site = 7 : i32} : f32
    tds.yield %v : f32
  }
  return %r : tensor<4xf32>
}
func.func private @draw.1(%seed: tensor<i64>) -> tensor<4xf32> {
  %r = tds.generic (%i) in (4) : tensor<4xf32> {
    %s = tds.read %seed[] : tensor<i64>
    %z = tds.constant 0 : i64
    %v = tds.random normal %s, %z, %i {site = 8 : i32} : f32
    tds.yield %v : f32
  }
  return %r : tensor<4xf32>
}
func.func private @draw.2(%seed: tensor<i64>) -> tensor<4xf32> {
  %r = tds.generic (%i) in (4) : tensor<4xf32> {
    %s = tds.read %seed[] : tensor<i64>
    %z = tds.constant 0 : i64
    %v = tds.random normal %s, %z, %i {site = 9 : i32} : f32
    tds.yield %v : f32
  }
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @step
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32> {tds.input = "x"}, %[[O:.*]]: tensor<4xf32> {tds.variable = @other}, %[[W:.*]]: tensor<3x4xf32> {tds.variable = @"net.*.w"})
// CHECK-SAME: -> (tensor<f32> {tds.result = "loss"}, tensor<4xf32> {tds.variable = @other}, tensor<3x4xf32> {tds.variable = @"net.*.w"})
// CHECK: %[[H:.*]] = tds.fold 3 carry(%{{.*}}) slices(%[[W]]) {tds.layers} : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<4xf32> {
// CHECK: ^bb0(%{{.*}}: tensor<i32>, %[[C:.*]]: tensor<4xf32>, %[[V:.*]]: tensor<4xf32>):
// CHECK-NEXT: %[[N:.*]] = func.call @layer(%[[C]], %[[V]])
// CHECK-NEXT: tds.yield %[[N]]
// CHECK: tds.reduce sum %[[H]]
// CHECK: %[[G:.*]]:2 = tds.gradient %{{.*}} wrt %[[O]], %[[W]]
// CHECK: %[[U:.*]] = tds.fold 3 carry() slices(%[[G]]#1, %[[W]]) {tds.layers} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32> {
// CHECK: tds.constant dense<1.000000e-01>
// CHECK-NEXT: tds.mul
// CHECK-NEXT: tds.sub
// CHECK: return %{{.*}}, %{{.*}}, %[[U]]
func.func @step(%x: tensor<4xf32> {tds.input = "x"}, %a: tensor<4xf32> {tds.variable = @net.0.w}, %b: tensor<4xf32> {tds.variable = @net.1.w},
                %c: tensor<4xf32> {tds.variable = @net.2.w}, %o: tensor<4xf32> {tds.variable = @other})
    -> (tensor<f32> {tds.result = "loss"}, tensor<4xf32> {tds.variable = @net.0.w}, tensor<4xf32> {tds.variable = @net.1.w}, tensor<4xf32> {tds.variable = @net.2.w},
        tensor<4xf32> {tds.variable = @other}) attributes {tds.entry = "step"} {
  %0 = tds.mul %x, %o : tensor<4xf32>
  %1 = call @net(%0, %a, %b, %c) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %loss = tds.reduce sum %1 axes [0] : tensor<4xf32> to tensor<f32>
  %g:4 = tds.gradient %loss wrt %o, %a, %b, %c : tensor<f32> wrt tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  %lr = tds.constant dense<0.1> : tensor<4xf32>
  %2 = tds.mul %lr, %g#0 : tensor<4xf32>
  %3 = tds.sub %o, %2 : tensor<4xf32>
  %4 = tds.mul %lr, %g#1 : tensor<4xf32>
  %5 = tds.sub %a, %4 : tensor<4xf32>
  %6 = tds.mul %lr, %g#2 : tensor<4xf32>
  %7 = tds.sub %b, %6 : tensor<4xf32>
  %8 = tds.mul %lr, %g#3 : tensor<4xf32>
  %9 = tds.sub %c, %8 : tensor<4xf32>
  return %loss, %5, %7, %9, %3 : tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @init
// CHECK: tds.fold 3 carry() invariants(%arg0)
// CHECK: ^bb0(%[[T:.*]]: tensor<i32>, %{{.*}}: tensor<i64>):
// CHECK: %[[K:.*]] = tds.read %[[T]][] : tensor<i32>
// CHECK: %[[I:.*]] = tds.cast %[[K]] : i32 to index
// CHECK: tds.random normal %{{.*}}, %{{.*}}, %{{.*}} iteration %[[I]] {site = 7 : i32} : f32
func.func @init(%seed: tensor<i64> {tds.input = "seed"})
    -> (tensor<4xf32> {tds.variable = @net.0.w}, tensor<4xf32> {tds.variable = @net.1.w}, tensor<4xf32> {tds.variable = @net.2.w}, tensor<4xf32> {tds.variable = @other})
    attributes {tds.entry = "init"} {
  %0 = call @draw.0(%seed) : (tensor<i64>) -> tensor<4xf32>
  %1 = call @draw.1(%seed) : (tensor<i64>) -> tensor<4xf32>
  %2 = call @draw.2(%seed) : (tensor<i64>) -> tensor<4xf32>
  %3 = tds.constant dense<1.0> : tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Values of single layers: behind the loop that of the last one, and parts of what the loop collects.
// CHECK-LABEL: func.func @some
// CHECK: %[[R:.*]]:2 = tds.fold 3 carry(%arg0) slices(%arg1) {tds.layers} : (tensor<4xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
// CHECK: %[[P:.*]] = tds.generic (%[[I:.*]]) in (4) : tensor<4xf32> {
// CHECK-NEXT: %[[ONE:.*]] = tds.apply #{{.*}} ()
// CHECK-NEXT: tds.read %[[R]]#1[%[[ONE]], %[[I]]]
// CHECK: tds.add %[[P]], %[[R]]#0
tds.variable @net.0.w param : tensor<4xf32>
tds.variable @net.1.w param : tensor<4xf32>
tds.variable @net.2.w param : tensor<4xf32>
func.func private @layer(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %y = tds.mul %x, %w : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @some(%x: tensor<4xf32> {tds.input = "x"}, %a: tensor<4xf32> {tds.variable = @net.0.w}, %b: tensor<4xf32> {tds.variable = @net.1.w},
                %c: tensor<4xf32> {tds.variable = @net.2.w}) -> (tensor<4xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %0 = call @layer(%x, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = call @layer(%0, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = call @layer(%1, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = tds.add %1, %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

// Refused: layers that do not do the same stay as they are; so do all where an entry asks for the variable of one.
// CHECK-LABEL: func.func @different
// CHECK-NOT: tds.fold
tds.variable @net.0.w param : tensor<4xf32>
tds.variable @net.1.w param : tensor<4xf32>
tds.variable @net.2.w param : tensor<4xf32>
tds.variable @one.0.w param : tensor<4xf32>
tds.variable @one.1.w param : tensor<4xf32>
tds.variable @one.2.w param : tensor<4xf32>
tds.variable @mixed.0.w param : tensor<4xf32>
tds.variable @mixed.1.w param : tensor<4xf32>
tds.variable @mixed.2.w param : tensor<5xf32>
func.func @different(%x: tensor<4xf32> {tds.input = "x"}, %a: tensor<4xf32> {tds.variable = @net.0.w}, %b: tensor<4xf32> {tds.variable = @net.1.w},
                     %c: tensor<4xf32> {tds.variable = @net.2.w}) -> (tensor<4xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %0 = tds.mul %x, %a : tensor<4xf32>
  %1 = tds.mul %0, %b : tensor<4xf32>
  %2 = tds.add %1, %c : tensor<4xf32>
  return %2 : tensor<4xf32>
}
// CHECK-LABEL: func.func @single
// CHECK-NOT: tds.fold
func.func @single(%x: tensor<4xf32> {tds.input = "x"}, %a: tensor<4xf32> {tds.variable = @one.0.w}, %b: tensor<4xf32> {tds.variable = @one.1.w},
                  %c: tensor<4xf32> {tds.variable = @one.2.w}) -> (tensor<4xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %0 = tds.mul %x, %a : tensor<4xf32>
  %1 = tds.mul %0, %b : tensor<4xf32>
  %2 = tds.mul %1, %c : tensor<4xf32>
  %3 = tds.sub %2, %b : tensor<4xf32>
  return %3 : tensor<4xf32>
}
