// RUN: tds-opt -tds-form-kernels %s | FileCheck %s

// A value of rows joins the kernel that goes over most: the check of the indices, which reads the same mask, stays apart, and nothing stands between the
// two passes over %x.
// CHECK-LABEL: func.func @f
// CHECK-DAG: tds.kernel "row"(%arg0, {{.*}}) : (tensor<512x1000xf32>{{.*}}) -> tensor<512x1000xf32>
// CHECK-DAG: tds.kernel "row"(%arg1) {{.*}} -> {{.*}}tensor<i32>
// CHECK-NOT: tds.kernel "loop"(%arg0
func.func @f(%x: tensor<512x1000xf32> {tds.input = "x"}, %y: tensor<512xi32> {tds.input = "y"}) -> (tensor<512x1000xf32> {tds.result = "out"}, tensor<i32> {tds.result = "bad"}) attributes {tds.entry = "function"} {
  %sum = tds.generic (%i) in (512) sum (%j) in (1000) : tensor<512xf32> {
    %v = tds.read %x[%i, %j] : tensor<512x1000xf32>
    %e = tds.exp %v : f32
    tds.yield %e : f32
  }
  %mask = tds.generic (%i) in (512) : tensor<512xi32> {
    %zero = tds.constant 0 : i32
    %v = tds.read %y[%i] : tensor<512xi32>
    %c = tds.max %v, %zero : i32
    tds.yield %c : i32
  }
  %bad = tds.generic () in () max (%i) in (512) : tensor<i32> {
    %v = tds.read %mask[%i] : tensor<512xi32>
    tds.yield %v : i32
  }
  %scale = tds.generic (%i) in (512) : tensor<512xf32> {
    %m = tds.read %mask[%i] : tensor<512xi32>
    %w = tds.cast %m : i32 to f32
    %s = tds.read %sum[%i] : tensor<512xf32>
    %d = tds.div %w, %s : f32
    tds.yield %d : f32
  }
  %out = tds.generic (%i, %j) in (512, 1000) : tensor<512x1000xf32> {
    %v = tds.read %x[%i, %j] : tensor<512x1000xf32>
    %e = tds.exp %v : f32
    %s = tds.read %scale[%i] : tensor<512xf32>
    %m = tds.mul %e, %s : f32
    tds.yield %m : f32
  }
  return %out, %bad : tensor<512x1000xf32>, tensor<i32>
}
