// RUN: tds-opt %s --tds-emit-cpu -split-input-file -verify-diagnostics

func.func private @no_schedule(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has no schedule}}
  %0 = tds.kernel "loop" (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4xf32>):
    %y = tds.generic (%i) in (4) : tensor<4xf32> {
      %a = tds.read %p[%i] : tensor<4xf32>
      tds.yield %a : f32
    }
    tds.yield %y : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func private @unknown_emitter(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has the unknown CPU emitter 'magic' in its schedule}}
  %0 = tds.kernel "loop" (%x) {schedule = {emitter = "magic"}} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4xf32>):
    %y = tds.generic (%i) in (4) : tensor<4xf32> {
      %a = tds.read %p[%i] : tensor<4xf32>
      tds.yield %a : f32
    }
    tds.yield %y : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{returns something other than its kernel's results}}
func.func private @returns(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tds.kernel "loop" (%x) {schedule = {emitter = "points"}} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4xf32>):
    %y = tds.generic (%i) in (4) : tensor<4xf32> {
      %a = tds.read %p[%i] : tensor<4xf32>
      tds.yield %a : f32
    }
    tds.yield %y : tensor<4xf32>
  }
  return %x : tensor<4xf32>
}

// -----

func.func private @prologue(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = tds.kernel "contract" (%x) {schedule = {emitter = "points"}} : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%p: tensor<4x4xf32>):
    %f = tds.generic (%i, %j) in (4, 4) : tensor<4x4xf32> {
      %a = tds.read %p[%i, %j] : tensor<4x4xf32>
      %n = tds.neg %a : f32
      tds.yield %n : f32
    }
    // expected-error @+1 {{multiplies a tensor that is made in its kernel, which only GPUs do}}
    %c = tds.contract %f[0, 1], %p[1, 2] to [0, 2] : tensor<4x4xf32>, tensor<4x4xf32> to tensor<4x4xf32>
    tds.yield %c : tensor<4x4xf32>
  }
  return %0 : tensor<4x4xf32>
}
