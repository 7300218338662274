// RUN: not tds-opt %s --tds-recompute-segments=count=-1 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not tds-opt %s --tds-recompute-segments="count=2 join=0" 2>&1 | FileCheck %s --check-prefix=JOIN
// COUNT: error: count is -1 and join is 1; give a count of at least 0 and a join of at least 1
// JOIN: error: count is 2 and join is 0; give a count of at least 0 and a join of at least 1

func.func @f(%x: tensor<4xf32> {tds.input = "x"}) -> (tensor<4xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
  return %x : tensor<4xf32>
}
