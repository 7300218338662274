// RUN: tds-opt %s | tds-opt | FileCheck %s

// CHECK: plan.slab param f32 bytes 512
plan.slab param f32 bytes 512
// CHECK: plan.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
plan.constant dense<[1.0, 2.0]> : tensor<2xf32>

func.func private @tds_k0_loop(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {plan.disjoint, plan.in_place = array<i64: 1, -1>} {
  return %b, %a : tensor<4xf32>, tensor<4xf32>
}

// CHECK: plan.entry @train "step" arena 256 input 256 result 256 scratch 64 attributes {plan.flags = [{source = "a.tds:1:2", text = "bad"}]} {
plan.entry @train "step" arena 256 input 256 result 256 scratch 64 attributes {plan.flags = [{source = "a.tds:1:2", text = "bad"}]} {
  // CHECK-NEXT: plan.input "x" : tensor<4xf32> at 0 default 1.000000e+00 : f32 {data_axis, role = "weight"}
  plan.input "x" : tensor<4xf32> at 0 default 1.0 : f32 {data_axis, role = "weight"}
  // CHECK-NEXT: plan.result "loss" : tensor<4xf32> at 0 {data_axis}
  plan.result "loss" : tensor<4xf32> at 0 {data_axis}
  // CHECK-NEXT: plan.launch @tds_k0_loop (<input[0] 0 + 16>, <slab[0] 256 + 16>) -> (<slab[0] 256 + 16>, <arena[0] 0 + 16>) {origin = 0 : i64}
  plan.launch @tds_k0_loop (<input[0] 0 + 16>, <slab[0] 256 + 16>) -> (<slab[0] 256 + 16>, <arena[0] 0 + 16>) {origin = 0 : i64}
  // CHECK-NEXT: plan.copy <arena[0] 0 + 16> to <result[0] 0 + 16>
  plan.copy <arena[0] 0 + 16> to <result[0] 0 + 16>
  // CHECK-NEXT: plan.fill <slab[0] 0 + 16> with 0
  plan.fill <slab[0] 0 + 16> with 0
}
