// RUN: not tds-opt %s --tds-fuse-prologues=target=nonsense 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: cannot read the target description 'nonsense' ({{.*}}); give a file, or one of t4, v100, a100, h100, h200, host-cpu

func.func @scaled(%x: tensor<64x200xui8> {tds.input = "x"}, %w: tensor<200x96xf32> {tds.input = "w"}) -> (tensor<64x96xf32> {tds.result = "y"})
    attributes {tds.entry = "function"} {
  %f = tds.kernel "loop"(%x) : (tensor<64x200xui8>) -> tensor<64x200xf32> {
  ^bb0(%p: tensor<64x200xui8>):
    %c = tds.generic (%i, %j) in (64, 200) : tensor<64x200xf32> {
      %e = tds.read %p[%i, %j] : tensor<64x200xui8>
      %g = tds.cast %e : ui8 to f32
      tds.yield %g : f32
    }
    %r = tds.generic (%i, %j) in (64, 200) : tensor<64x200xf32> {
      %d = tds.constant 255.0 : f32
      %e = tds.read %c[%i, %j] : tensor<64x200xf32>
      %g = tds.div %e, %d : f32
      tds.yield %g : f32
    }
    tds.yield %r : tensor<64x200xf32>
  }
  %y = tds.kernel "contract"(%f, %w) : (tensor<64x200xf32>, tensor<200x96xf32>) -> tensor<64x96xf32> {
  ^bb0(%p: tensor<64x200xf32>, %q: tensor<200x96xf32>):
    %r = tds.contract %p[0, 1], %q[1, 2] to [0, 2] : tensor<64x200xf32>, tensor<200x96xf32> to tensor<64x96xf32>
    tds.yield %r : tensor<64x96xf32>
  }
  return %y : tensor<64x96xf32>
}
