// RUN: tds-opt -tds-guard-gathers %s | FileCheck %s

// Results that must be true become flags behind those of gathers, and are no results any more.

tds.variable @n state : tensor<i64>

// CHECK-LABEL: func.func @train
// CHECK-SAME: -> (tensor<i64> {tds.variable = @n}, tensor<2xi32> {tds.result = "tds.flags"})
// CHECK-SAME: tds.flags = [{source = "a.tds:3:4", text = "assertion failed: a"}, {source = "b.tds:5:6", text = "assertion failed: b"}]
// CHECK: %[[A:.*]] = tds.generic () in () : tensor<i32> {
// CHECK-NEXT: %[[READ:.*]] = tds.read %{{.*}}[] : tensor<i1>
// CHECK-NEXT: %[[NOT:.*]] = tds.not %[[READ]] : i1
// CHECK-NEXT: tds.cast %[[NOT]] : i1 to i32
// CHECK: tds.select
// CHECK: return %{{.*}}, %{{.*}} : tensor<i64>, tensor<2xi32>
func.func @train(%a: tensor<i1> {tds.input = "a"}, %b: tensor<i1> {tds.input = "b"}, %n: tensor<i64> {tds.variable = @n})
    -> (tensor<i1> {tds.check = {source = "a.tds:3:4", text = "assertion failed: a"}}, tensor<i64> {tds.variable = @n},
        tensor<i1> {tds.check = {source = "b.tds:5:6", text = "assertion failed: b"}})
    attributes {tds.entry = "step"} {
  %two = tds.constant dense<2> : tensor<i64>
  return %a, %two, %b : tensor<i1>, tensor<i64>, tensor<i1>
}
