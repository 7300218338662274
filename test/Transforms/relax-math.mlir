// RUN: tds-opt %s --pass-pipeline='builtin.module(func.func(tds-relax-math))' | FileCheck --check-prefix=NONE %s
// RUN: tds-opt %s --pass-pipeline='builtin.module(func.func(tds-relax-math{signed-zeros=true}))' | FileCheck --check-prefix=ZEROS %s
// RUN: tds-opt %s --pass-pipeline='builtin.module(func.func(tds-relax-math{finite=true}))' | FileCheck --check-prefix=FINITE %s
// RUN: tds-opt %s --pass-pipeline='builtin.module(func.func(tds-relax-math{finite=true signed-zeros=true}))' | FileCheck --check-prefix=BOTH %s
// RUN: tds-opt %s --pass-pipeline='builtin.module(func.func(tds-relax-math{reciprocal=true}))' | FileCheck --check-prefix=RECIPROCAL %s
// RUN: tds-opt %s --pass-pipeline='builtin.module(func.func(tds-relax-math{reassociate=true}))' | FileCheck --check-prefix=REASSOCIATE %s

// Refused: nothing changes that nobody asked for.
// NONE-LABEL: @zeros
// NONE: tds.add
// NONE: tds.sub
// ZEROS-LABEL: @zeros
// ZEROS-NEXT: %[[N:.*]] = tds.neg %arg0
// ZEROS-NEXT: return %arg0, %[[N]]
// FINITE-LABEL: @zeros
// FINITE: tds.add
func.func @zeros(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %z = tds.constant dense<0.0> : tensor<4xf32>
  %a = tds.add %x, %z : tensor<4xf32>
  %b = tds.sub %z, %x : tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// NONE-LABEL: @itself
// NONE: tds.sub
// NONE: tds.div
// NONE: tds.isnan
// NONE: tds.compare
// FINITE-LABEL: @itself
// FINITE-DAG: %[[ZERO:.*]] = tds.constant dense<0.000000e+00> : tensor<4xf16>
// FINITE-DAG: %[[ONE:.*]] = tds.constant dense<1.000000e+00> : tensor<4xf16>
// FINITE-DAG: %[[FALSE:.*]] = tds.constant dense<false> : tensor<4xi1>
// FINITE-DAG: %[[TRUE:.*]] = tds.constant dense<true> : tensor<4xi1>
// FINITE: return %[[ZERO]], %[[ONE]], %[[FALSE]], %[[TRUE]]
func.func @itself(%x: tensor<4xf16>) -> (tensor<4xf16>, tensor<4xf16>, tensor<4xi1>, tensor<4xi1>) {
  %a = tds.sub %x, %x : tensor<4xf16>
  %b = tds.div %x, %x : tensor<4xf16>
  %c = tds.isnan %x : tensor<4xf16>
  %d = tds.compare ge %x, %x : tensor<4xf16>
  return %a, %b, %c, %d : tensor<4xf16>, tensor<4xf16>, tensor<4xi1>, tensor<4xi1>
}

// The guard of a derivative's product, in a body; a zero alone is not enough for it, nor is being finite.
// NONE-LABEL: @guard
// NONE: tds.select
// FINITE-LABEL: @guard
// FINITE: tds.select
// ZEROS-LABEL: @guard
// ZEROS: tds.select
// BOTH-LABEL: @guard
// BOTH: %[[P:.*]] = tds.mul
// BOTH-NEXT: tds.yield %[[P]]
func.func @guard(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = tds.generic (%i) in (4) : tensor<4xf32> {
    %z = tds.constant 0.0 : f32
    %a = tds.read %x[%i] : tensor<4xf32>
    %b = tds.read %y[%i] : tensor<4xf32>
    %p = tds.mul %a, %b : f32
    %c = tds.compare eq %a, %z : f32
    %s = tds.select %c, %z, %p : i1, f32
    tds.yield %s : f32
  }
  return %r : tensor<4xf32>
}

// NONE-LABEL: @quotients
// NONE-COUNT-3: tds.div
// RECIPROCAL-LABEL: @quotients
// RECIPROCAL-DAG: %[[THIRD:.*]] = tds.constant dense<0.333333343> : tensor<4x3xf32>
// RECIPROCAL-DAG: %[[TINY:.*]] = tds.constant dense<9.999940e-41> : tensor<4x3xf32>
// RECIPROCAL: tds.mul %arg0, %[[THIRD]]
// RECIPROCAL: %[[I:.*]] = tds.div %{{.*}}, %arg1 : tensor<4xf32>
// RECIPROCAL: %[[B:.*]] = tds.broadcast %[[I]]
// RECIPROCAL: tds.mul %arg0, %[[B]]
// RECIPROCAL: tds.div %arg0, %[[TINY]]
func.func @quotients(%x: tensor<4x3xf32>, %y: tensor<4xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) {
  %three = tds.constant dense<3.0> : tensor<4x3xf32>
  %tiny = tds.constant dense<1.0e-40> : tensor<4x3xf32>
  %a = tds.div %x, %three : tensor<4x3xf32>
  %w = tds.broadcast %y axes [0] : tensor<4xf32> to tensor<4x3xf32>
  %b = tds.div %x, %w : tensor<4x3xf32>
  %c = tds.div %x, %tiny : tensor<4x3xf32>
  return %a, %b, %c : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
}

// NONE-LABEL: @constants
// NONE-COUNT-2: tds.add
// REASSOCIATE-LABEL: @constants
// REASSOCIATE-DAG: %[[S:.*]] = tds.constant dense<3.750000e+00> : tensor<4xf64>
// REASSOCIATE-DAG: %[[P:.*]] = tds.constant dense<3.000000e+00> : tensor<4xf64>
// REASSOCIATE: %[[A:.*]] = tds.add %arg0, %[[S]]
// REASSOCIATE: %[[B:.*]] = tds.mul %arg0, %[[P]]
// REASSOCIATE: return %[[A]], %[[B]]
func.func @constants(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %c = tds.constant dense<1.5> : tensor<4xf64>
  %d = tds.constant dense<2.25> : tensor<4xf64>
  %e = tds.constant dense<2.0> : tensor<4xf64>
  %a = tds.add %x, %c : tensor<4xf64>
  %b = tds.add %a, %d : tensor<4xf64>
  %p = tds.mul %x, %e : tensor<4xf64>
  %q = tds.mul %p, %c : tensor<4xf64>
  return %b, %q : tensor<4xf64>, tensor<4xf64>
}
