// RUN: tds-opt %s --tds-fusion-pipeline --tds-select-schedule --tds-plan | FileCheck %s
// RUN: tds-opt %s --tds-fusion-pipeline --tds-select-schedule --tds-plan=donate=false | FileCheck %s --check-prefix=KEPT

// Behind its last reader the place of an input holds other values: the arena has one tensor less.
// CHECK: plan.entry @chain "function" arena 4096 input 4096
// CHECK-NEXT: plan.input "x" : tensor<32x32xf32> at 0 {donated}
// CHECK: plan.launch {{.*}} (<input[0] 0 + 4096>) -> (<arena[0] 0 + 4096>)
// CHECK: plan.launch {{.*}} (<arena[0] 0 + 4096>) -> (<input[0] 0 + 4096>)
// CHECK: plan.launch {{.*}} (<input[0] 0 + 4096>) -> (<result[0] 0 + 4096>)
// KEPT: plan.entry @chain "function" arena 8192 input 4096
// KEPT-NEXT: plan.input "x" : tensor<32x32xf32> at 0
// KEPT-NOT: -> (<input
func.func @chain(%x: tensor<32x32xf32> {tds.input = "x"}) -> (tensor<32x32xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %a = tds.contract %x[0, 1], %x[1, 2] to [0, 2] : tensor<32x32xf32>, tensor<32x32xf32> to tensor<32x32xf32>
  %b = tds.contract %a[0, 1], %a[1, 2] to [0, 2] : tensor<32x32xf32>, tensor<32x32xf32> to tensor<32x32xf32>
  %c = tds.contract %b[0, 1], %b[1, 2] to [0, 2] : tensor<32x32xf32>, tensor<32x32xf32> to tensor<32x32xf32>
  return %c : tensor<32x32xf32>
}

// Where the arena would be no smaller, because the input is read at the end, nothing changes.
// CHECK: plan.entry @late "function" arena 8192 input 4096
// CHECK-NEXT: plan.input "x" : tensor<32x32xf32> at 0{{$}}
// CHECK-NOT: -> (<input
func.func @late(%x: tensor<32x32xf32> {tds.input = "x"}) -> (tensor<32x32xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %a = tds.contract %x[0, 1], %x[1, 2] to [0, 2] : tensor<32x32xf32>, tensor<32x32xf32> to tensor<32x32xf32>
  %b = tds.contract %a[0, 1], %a[1, 2] to [0, 2] : tensor<32x32xf32>, tensor<32x32xf32> to tensor<32x32xf32>
  %c = tds.contract %b[0, 1], %x[1, 2] to [0, 2] : tensor<32x32xf32>, tensor<32x32xf32> to tensor<32x32xf32>
  return %c : tensor<32x32xf32>
}

// A loop kernel writes in place of the input that it reads last.
// CHECK: plan.entry @place
// CHECK-NEXT: plan.input "x" : tensor<32x32xf32> at 0 {donated}
// CHECK: plan.launch {{.*}} (<input[0] 0 + 4096>) -> (<input[0] 0 + 4096>{{.*}}) {origin = 0 : i64}
func.func @place(%x: tensor<32x32xf32> {tds.input = "x"}) -> (tensor<32x32xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  %e = tds.exp %x : tensor<32x32xf32>
  %s = tds.sin %e : tensor<32x32xf32>
  %c = tds.contract %s[0, 1], %s[2, 1] to [0, 2] : tensor<32x32xf32>, tensor<32x32xf32> to tensor<32x32xf32>
  return %c : tensor<32x32xf32>
}

// What is a result as it came is copied first; then its place is free.
// CHECK: plan.entry @returned
// CHECK-NEXT: plan.input "x" : tensor<32x32xf32> at 0 {donated}
// CHECK: plan.copy <input[0] 0 + 4096> to <result[0] 4096 + 4096>
// CHECK: plan.launch {{.*}} -> (<input[0] 0 + 4096>)
func.func @returned(%x: tensor<32x32xf32> {tds.input = "x"}) -> (tensor<32x32xf32> {tds.result = "y"}, tensor<32x32xf32> {tds.result = "z"}) attributes {tds.entry = "function"} {
  %a = tds.contract %x[0, 1], %x[1, 2] to [0, 2] : tensor<32x32xf32>, tensor<32x32xf32> to tensor<32x32xf32>
  %b = tds.contract %a[0, 1], %a[1, 2] to [0, 2] : tensor<32x32xf32>, tensor<32x32xf32> to tensor<32x32xf32>
  %c = tds.contract %b[0, 1], %b[1, 2] to [0, 2] : tensor<32x32xf32>, tensor<32x32xf32> to tensor<32x32xf32>
  return %c, %x : tensor<32x32xf32>, tensor<32x32xf32>
}
