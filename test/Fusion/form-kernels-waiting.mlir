// RUN: tds-opt -tds-form-kernels %s | FileCheck %s
// RUN: tds-opt -tds-form-kernels='target=host-cpu' %s | FileCheck %s
// RUN: tds-opt -tds-form-kernels --remarks-filter=fusion --remark-format=emitRemark %s 2>&1 | FileCheck %s --check-prefix=REMARK

// The check of the indices stands first, but does not draw the mask into its kernel, away from the rows. It computes the mask again, so that neither of the two
// kernels waits for the other.
// CHECK-LABEL: func.func @check
// CHECK-DAG: tds.kernel "row"(%arg1) : (tensor<512xi32>) -> tensor<i32>
// CHECK-DAG: tds.kernel "row"(%arg1, %arg0) : (tensor<512xi32>, tensor<512x1000xf32>) -> tensor<512x1000xf32>
// CHECK-NOT: tds.kernel
// REMARK: remark: {{.*}}computed again in its readers{{.*}} of memory and waiting saved
func.func @check(%x: tensor<512x1000xf32> {tds.input = "x"}, %y: tensor<512xi32> {tds.input = "y"}) -> (tensor<512x1000xf32> {tds.result = "out"}, tensor<i32> {tds.result = "bad"}) attributes {tds.entry = "function"} {
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
  %sum = tds.generic (%i) in (512) sum (%j) in (1000) : tensor<512xf32> {
    %v = tds.read %x[%i, %j] : tensor<512x1000xf32>
    %e = tds.exp %v : f32
    tds.yield %e : f32
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

// What is computed from a sum of the rows' kernel has to wait for it anyway: it is stored.
// CHECK-LABEL: func.func @stored
// CHECK: tds.kernel "row"(%arg0) : (tensor<512x1000xf32>) -> tensor<512xf32>
// CHECK: tds.kernel "row"(%{{.*}}) : (tensor<512xf32>) -> tensor<f32>
func.func @stored(%x: tensor<512x1000xf32> {tds.input = "x"}) -> (tensor<f32> {tds.result = "out"}) attributes {tds.entry = "function"} {
  %sum = tds.generic (%i) in (512) sum (%j) in (1000) : tensor<512xf32> {
    %v = tds.read %x[%i, %j] : tensor<512x1000xf32>
    tds.yield %v : f32
  }
  %log = tds.generic (%i) in (512) : tensor<512xf32> {
    %v = tds.read %sum[%i] : tensor<512xf32>
    %l = tds.log %v : f32
    tds.yield %l : f32
  }
  %total = tds.generic () in () sum (%i) in (512) : tensor<f32> {
    %v = tds.read %log[%i] : tensor<512xf32>
    tds.yield %v : f32
  }
  return %total : tensor<f32>
}
