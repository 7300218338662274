// RUN: tds-opt -tds-guard-gathers %s | FileCheck %s
// RUN: tds-opt -canonicalize -tds-guard-gathers %s | FileCheck %s --check-prefix=LATER
// RUN: tds-opt -tds-guard-gathers %s | tds-opt -tds-guard-gathers -canonicalize -cse | FileCheck %s --check-prefix=TWICE

tds.variable @table param : tensor<4x2xf32>
tds.variable @count state : tensor<i64>

// One flag for the gather and for its repetition in the scatter's body; the table and the counter keep their values.
// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[IDS:.*]]: tensor<3xi32> {tds.input = "ids"}, %[[TABLE:.*]]: tensor<4x2xf32>
// CHECK-SAME: %[[COUNT:.*]]: tensor<i64> {tds.variable = @count}
// CHECK-SAME: tensor<1xi32> {tds.result = "tds.flags"}
// CHECK-SAME: tds.flags = [{source = "{{.*}}guard-gathers.mlir:[[# @LINE + 22]]:10",
// CHECK-SAME: text = "a gather reads out of range: an index of axis 0 is not in 0..4"}]
// CHECK: %[[FLAG:.*]] = tds.generic () in () max (%[[I:.*]]) in (3) : tensor<i32> {
// CHECK-NEXT: %[[ID:.*]] = tds.read %[[IDS]][%[[I]]]
// CHECK-NEXT: %[[AT:.*]] = tds.cast %[[ID]] : i32 to index
// CHECK: tds.compare lt %[[AT]], %{{.*}} : index
// CHECK: tds.compare ge %[[AT]], %{{.*}} : index
// CHECK-NOT: tds.generic () in ()
// CHECK: %[[ALL:.*]] = tds.reshape %[[FLAG]] : tensor<i32> to tensor<1xi32>
// CHECK: %[[FAILED:.*]] = tds.compare gt
// CHECK: %[[MASK:.*]] = tds.broadcast %[[FAILED]]
// CHECK: %[[NEWTABLE:.*]] = tds.select %[[MASK]], %[[TABLE]], %{{.*}}
// CHECK: %[[NEWCOUNT:.*]] = tds.select %[[FAILED]], %[[COUNT]], %{{.*}}
// CHECK: return %{{.*}}, %[[NEWTABLE]], %[[NEWCOUNT]], %[[ALL]]

// TWICE-COUNT-1: tds.flags = [
func.func @train(%ids: tensor<3xi32> {tds.input = "ids"}, %t: tensor<4x2xf32> {tds.variable = @table})
    -> (tensor<3x2xf32> {tds.result = "rows"}, tensor<4x2xf32> {tds.variable = @table}, tensor<i64> {tds.variable = @count})
    attributes {tds.entry = "step"} {
  %e = tds.generic (%i, %k) in (3, 2) : tensor<3x2xf32> {
    %id = tds.read %ids[%i] : tensor<3xi32>
    %at = tds.cast %id : i32 to index
    %v = tds.read %t[%at, %k] guard 0.0 : f32 : tensor<4x2xf32>
    tds.yield %v : f32
  }
  %d = tds.scatter (%i, %k) in (3, 2) : tensor<4x2xf32> {
    %id = tds.read %ids[%i] : tensor<3xi32>
    %at = tds.cast %id : i32 to index
    %v = tds.read %t[%at, %k] guard 0.0 : f32 : tensor<4x2xf32>
    tds.scatter_yield %v at [%at, %k] : f32
  }
  %n = tds.sub %t, %d : tensor<4x2xf32>
  %one = tds.constant dense<1> : tensor<i64>
  return %e, %n, %one : tensor<3x2xf32>, tensor<4x2xf32>, tensor<i64>
}

// Refused: a u8 cannot leave a table of 256 rows, an affine guard is padding, and an argmax points inside: no flags.
// CHECK-LABEL: func.func @inside
// CHECK-NOT: tds.flags
// CHECK: return
func.func @inside(%x: tensor<5x3xf32> {tds.input = "x"}, %b: tensor<5xui8> {tds.input = "b"}, %t: tensor<256xf32> {tds.input = "t"})
    -> (tensor<5xf32> {tds.result = "a"}, tensor<7xf32> {tds.result = "p"}, tensor<5xf32> {tds.result = "m"})
    attributes {tds.entry = "function"} {
  %a = tds.generic (%i) in (5) : tensor<5xf32> {
    %id = tds.read %b[%i] : tensor<5xui8>
    %at = tds.cast %id : ui8 to index
    %v = tds.read %t[%at] guard 0.0 : f32 : tensor<256xf32>
    tds.yield %v : f32
  }
  %p = tds.generic (%i) in (7) : tensor<7xf32> {
    %at = tds.apply affine_map<(d0) -> (d0 - 1)> (%i)
    %v = tds.read %a[%at] guard 0.0 : f32 : tensor<5xf32>
    tds.yield %v : f32
  }
  %best = tds.reduce argmax %x axes [1] : tensor<5x3xf32> to tensor<5xi32>
  %m = tds.generic (%i) in (5) : tensor<5xf32> {
    %id = tds.read %best[%i] : tensor<5xi32>
    %at = tds.cast %id : i32 to index
    %v = tds.read %x[%i, %at] guard 0.0 : f32 : tensor<5x3xf32>
    tds.yield %v : f32
  }
  return %a, %p, %m : tensor<5xf32>, tensor<7xf32>, tensor<5xf32>
}

// Two gathers with different indices in an evaluation: two flags, no select.
// CHECK-LABEL: func.func @two
// CHECK-SAME: tensor<2xi32> {tds.result = "tds.flags"}
// CHECK-NOT: tds.select %{{.*}} : tensor<i1>
// CHECK: tds.generic (%{{.*}}) in (2) : tensor<2xi32>
func.func @two(%ids: tensor<3xi32> {tds.input = "ids"}, %t: tensor<4xf32> {tds.input = "t"}) -> (tensor<f32> {tds.result = "s"})
    attributes {tds.entry = "function"} {
  %s = tds.generic () in () sum (%i) in (3) : tensor<f32> {
    %id = tds.read %ids[%i] : tensor<3xi32>
    %at = tds.cast %id : i32 to index
    %v = tds.read %t[%at] guard 0.0 : f32 : tensor<4xf32>
    %next = tds.apply affine_map<(d0) -> (d0 + 1)> (%at)
    %w = tds.read %t[%next] guard 0.0 : f32 : tensor<4xf32>
    %r = tds.add %v, %w : f32
    tds.yield %r : f32
  }
  return %s : tensor<f32>
}

// CHECK-LABEL: func.func @init
// CHECK-NOT: tds.flags
// CHECK: return
func.func @init(%seed: tensor<i64> {tds.input = "seed"}) -> (tensor<4x2xf32> {tds.variable = @table}) attributes {tds.entry = "init"} {
  %source = tds.constant dense<1.0> : tensor<4x2xf32>
  %t = tds.generic (%i, %k) in (4, 2) : tensor<4x2xf32> {
    %s = tds.read %seed[] : tensor<i64>
    %at = tds.cast %s : i64 to index
    %v = tds.read %source[%at, %k] guard 0.0 : f32 : tensor<4x2xf32>
    tds.yield %v : f32
  }
  return %t : tensor<4x2xf32>
}

// Constant indices: a wrong one is still reported when folding has gone through.
// LATER-LABEL: func.func @constants
// LATER-SAME: tensor<2xi32> {tds.result = "tds.flags"}
func.func @constants(%t: tensor<4xf32> {tds.input = "t"}) -> (tensor<3xf32> {tds.result = "a"}, tensor<3xf32> {tds.result = "b"}, tensor<3xf32> {tds.result = "c"})
    attributes {tds.entry = "function"} {
  %ids = tds.constant dense<[0, 9, 1]> : tensor<3xi32>
  %a = tds.generic (%i) in (3) : tensor<3xf32> {
    %id = tds.read %ids[%i] : tensor<3xi32>
    %at = tds.cast %id : i32 to index
    %v = tds.read %t[%at] guard 0.0 : f32 : tensor<4xf32>
    tds.yield %v : f32
  }
  %nine = tds.constant dense<9> : tensor<3xi32>
  %known = tds.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %b = tds.generic (%i) in (3) : tensor<3xf32> {
    %id = tds.read %nine[%i] : tensor<3xi32>
    %at = tds.cast %id : i32 to index
    %v = tds.read %known[%at] guard 0.0 : f32 : tensor<3xf32>
    tds.yield %v : f32
  }
  %two = tds.constant dense<2> : tensor<3xi32>
  %c = tds.generic (%i) in (3) : tensor<3xf32> {
    %id = tds.read %two[%i] : tensor<3xi32>
    %at = tds.cast %id : i32 to index
    %v = tds.read %t[%at] guard 0.0 : f32 : tensor<4xf32>
    tds.yield %v : f32
  }
  return %a, %b, %c : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
