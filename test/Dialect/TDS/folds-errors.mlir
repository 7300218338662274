// RUN: tds-opt %s -split-input-file -verify-diagnostics

func.func @fold_c1(%h: tensor<4xf32>, %x: tensor<2x4xf32>) {
  // expected-error @+1 {{'tds.fold' op takes a slice of 'tensor<2x4xf32>' in each of 3 iterations (fold_c1)}}
  %r = tds.fold 3 carry(%h) slices(%x) : (tensor<4xf32>, tensor<2x4xf32>) -> (tensor<4xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<4xf32>, %xt: tensor<4xf32>):
    tds.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @fold_c1_arguments(%h: tensor<4xf32>) {
  // expected-error @+1 {{'tds.fold' op has block arguments of types 'tensor<i64>', 'tensor<4xf32>', expected 'tensor<i32>', 'tensor<4xf32>' (fold_c1)}}
  %r = tds.fold 3 carry(%h) : (tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%t: tensor<i64>, %a: tensor<4xf32>):
    tds.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @fold_c2(%h: tensor<4xf32>) {
  // expected-error @+1 {{'tds.fold' op yields 'tensor<4xf32>', 'tensor<i32>', expected 'tensor<4xf32>', 'tensor<4xf32>' (fold_c2)}}
  %r:2 = tds.fold 3 carry(%h) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<4xf32>):
    tds.yield %a, %t : tensor<4xf32>, tensor<i32>
  }
  return
}

// -----

func.func @fold_c2_stack(%h: tensor<4xf32>) {
  // expected-error @+1 {{'tds.fold' op collects 3 iterations in 'tensor<4x4xf32>' (fold_c2)}}
  %r:2 = tds.fold 3 carry(%h) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4x4xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<4xf32>):
    tds.yield %a, %a : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

func.func @fold_c3(%h: tensor<4xf32>) {
  // expected-error @+1 {{'tds.fold' op runs -1 times, expected 0 to 2147483647 (fold_c3)}}
  %r = tds.fold -1 carry(%h) : (tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<4xf32>):
    tds.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @isolated(%h: tensor<4xf32>, %w: tensor<4xf32>) {
  // expected-note @+1 {{required by region isolation constraints}}
  %r = tds.fold 3 carry(%h) : (tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%t: tensor<i32>, %a: tensor<4xf32>):
    // expected-error @+1 {{'tds.add' op using value defined outside the region}}
    %m = tds.add %a, %w : tensor<4xf32>
    tds.yield %m : tensor<4xf32>
  }
  return
}
