// Entries with variables, and steps that fail.
// RUN: tds-eval %s --entry train --seed 7 --steps 2 --input 'ids=dense<[1, 1]> : tensor<2xi32>' --variables | FileCheck %s --check-prefix=GOOD
// RUN: tds-opt -tds-guard-gathers %s | tds-eval --entry train --seed 7 --steps 2 --input 'ids=dense<[1, 1]> : tensor<2xi32>' --variables | FileCheck %s --check-prefixes=GOOD,ZERO
// RUN: tds-opt -tds-guard-gathers %s | tds-eval --entry train --seed 7 --input 'ids=dense<[1, 9]> : tensor<2xi32>' --variables | FileCheck %s --check-prefix=BAD
// RUN: not tds-eval %s --entry train 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not tds-eval %s --entry train --input 'ids=dense<1> : tensor<3xi32>' 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not tds-eval %s --entry train --input 'ids=dense<1> : tensor<2xi32>' --input 'x=1 : i32' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not tds-eval %s --entry nothing 2>&1 | FileCheck %s --check-prefix=ENTRY

// GOOD: got: f32[2] [70, 70]
// ZERO: tds.flags: i32[1] [0]
// GOOD: got: f32[2] [69.5, 69.5]
// GOOD: @table: f32[4] [70, 69, 70, 70]
// GOOD: @tds.seed: i64 7
// GOOD: @tds.step: i64 2

// A step with an index out of range reads 0 there, sets the flag and changes nothing.
// BAD: got: f32[2] [70, 0]
// BAD: tds.flags: i32[1] [1]
// BAD: @table: f32[4] [70, 70, 70, 70]
// BAD: @tds.step: i64 0

// MISSING: error: entry 'train' needs the input 'ids'
// SHAPE: error: {{.*}}program.mlir{{.*}}: argument 0 of 'train' has type tensor<2xi32>, got i32[3]
// UNKNOWN: error: entry 'train' has no input 'x'
// ENTRY: error: the program has no entry 'nothing'

tds.variable @table param : tensor<4xf32>
tds.variable @tds.step counter : tensor<i64>
tds.variable @tds.seed counter : tensor<i64>

func.func @init(%seed: tensor<i64> {tds.input = "seed"}) -> (tensor<4xf32> {tds.variable = @table}) attributes {tds.entry = "init"} {
  %f = tds.cast %seed : tensor<i64> to tensor<f32>
  %ten = tds.constant dense<10.0> : tensor<f32>
  %v = tds.mul %f, %ten : tensor<f32>
  %t = tds.broadcast %v axes [] : tensor<f32> to tensor<4xf32>
  return %t : tensor<4xf32>
}

func.func @train(%ids: tensor<2xi32> {tds.input = "ids"}, %lr: tensor<f32> {tds.input = "lr", tds.default = 0.25 : f32},
                 %table: tensor<4xf32> {tds.variable = @table}, %step: tensor<i64> {tds.variable = @tds.step})
    -> (tensor<2xf32> {tds.result = "got"}, tensor<4xf32> {tds.variable = @table}, tensor<i64> {tds.variable = @tds.step})
    attributes {tds.entry = "step"} {
  %got = tds.generic (%i) in (2) : tensor<2xf32> {
    %id = tds.read %ids[%i] : tensor<2xi32>
    %at = tds.cast %id : i32 to index
    %v = tds.read %table[%at] guard 0.0 : f32 : tensor<4xf32>
    tds.yield %v : f32
  }
  %d = tds.scatter (%i) in (2) : tensor<4xf32> {
    %id = tds.read %ids[%i] : tensor<2xi32>
    %at = tds.cast %id : i32 to index
    %r = tds.read %lr[] : tensor<f32>
    tds.scatter_yield %r at [%at] : f32
  }
  %new = tds.sub %table, %d : tensor<4xf32>
  %one = tds.constant dense<1> : tensor<i64>
  %next = tds.add %step, %one : tensor<i64>
  return %got, %new, %next : tensor<2xf32>, tensor<4xf32>, tensor<i64>
}
