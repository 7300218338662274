// RUN: tds-opt %s --inline --symbol-dce --tds-fusion-pipeline | FileCheck %s
// RUN: tds-opt %s --inline --symbol-dce --tds-fusion-pipeline --tds-plan | FileCheck %s --check-prefix=PLAN

// One training step of a two-layer perceptron with softmax cross-entropy, Adam and gradient descent, as it stands after differentiation: six
// launches, all updates in the last of them, every variable written in place, no copy.

// CHECK-LABEL: func.func @train
// CHECK: tds.kernel "parts"
// CHECK: tds.kernel "loop"
// CHECK: tds.div
// CHECK: tds.kernel "loop"
// CHECK: tds.pow
// CHECK: {{^}}    %{{.*}} = tds.kernel "contract"
// CHECK: tds.max
// CHECK: {{^}}    %{{.*}} = tds.kernel "contract"
// CHECK: {{^}}    %{{.*}} = tds.kernel "row"
// CHECK: tds.exp
// CHECK: tds.select
// CHECK: tds.yield %{{.*}} : tensor<64xf32>, tensor<64x10xf32>
// CHECK: {{^}}    %{{.*}} = tds.kernel "parts"
// CHECK: tds.kernel "row"
// CHECK: tds.kernel "contract"
// CHECK: tds.select
// CHECK: tds.kernel "loop"
// CHECK: {{^}}    %{{.*}} = tds.kernel "parts"
// CHECK: tds.kernel "contract"({{.*}}) -> (tensor<784x256xf32>, tensor<784x256xf32>, tensor<784x256xf32>)
// CHECK: tds.kernel "loop"
// CHECK: tds.kernel "contract"
// CHECK-NOT: tds.kernel
// CHECK: return

// PLAN: plan.entry @train "step"
// PLAN-NOT: plan.copy
// PLAN-COUNT-6: plan.launch
// PLAN-NOT: plan.launch
// PLAN-NOT: plan.copy
// PLAN: func.func private @tds_k0_parts

tds.variable @"net.fc1.w" param : tensor<784x256xf32>
tds.variable @"net.fc1.b" param : tensor<256xf32>
tds.variable @"net.fc2.w" param : tensor<256x10xf32>
tds.variable @"net.fc2.b" param : tensor<10xf32>
tds.variable @"opt.train.0.net.fc1.w.m" optimizer : tensor<784x256xf32>
tds.variable @"opt.train.0.net.fc1.w.v" optimizer : tensor<784x256xf32>
tds.variable @"opt.train.0.net.fc1.b.m" optimizer : tensor<256xf32>
tds.variable @"opt.train.0.net.fc1.b.v" optimizer : tensor<256xf32>
tds.variable @tds.step counter : tensor<i64>

func.func private @adam1(%p: tensor<784x256xf32>, %g: tensor<784x256xf32>, %m: tensor<784x256xf32>, %v: tensor<784x256xf32>, %lr: tensor<f32>, %step: tensor<i64>)
    -> (tensor<784x256xf32>, tensor<784x256xf32>, tensor<784x256xf32>) {
  %one64 = tds.constant dense<1> : tensor<i64>
  %one = tds.constant dense<1.0> : tensor<f32>
  %b1 = tds.constant dense<0.9> : tensor<f32>
  %b2 = tds.constant dense<0.999> : tensor<f32>
  %t0 = tds.add %step, %one64 : tensor<i64>
  %t = tds.cast %t0 : tensor<i64> to tensor<f32>
  %b1t = tds.pow %b1, %t : tensor<f32>
  %b2t = tds.pow %b2, %t : tensor<f32>
  %c1 = tds.sub %one, %b1t : tensor<f32>
  %c2 = tds.sub %one, %b2t : tensor<f32>
  %b1f = tds.constant dense<0.9> : tensor<784x256xf32>
  %b2f = tds.constant dense<0.999> : tensor<784x256xf32>
  %a1f = tds.constant dense<0.1> : tensor<784x256xf32>
  %a2f = tds.constant dense<0.001> : tensor<784x256xf32>
  %eps = tds.constant dense<1.0e-8> : tensor<784x256xf32>
  %m0 = tds.mul %b1f, %m : tensor<784x256xf32>
  %m1 = tds.mul %a1f, %g : tensor<784x256xf32>
  %m2 = tds.add %m0, %m1 : tensor<784x256xf32>
  %v0 = tds.mul %b2f, %v : tensor<784x256xf32>
  %gg = tds.mul %g, %g : tensor<784x256xf32>
  %v1 = tds.mul %a2f, %gg : tensor<784x256xf32>
  %v2 = tds.add %v0, %v1 : tensor<784x256xf32>
  %c1b = tds.broadcast %c1 axes [] : tensor<f32> to tensor<784x256xf32>
  %c2b = tds.broadcast %c2 axes [] : tensor<f32> to tensor<784x256xf32>
  %mh = tds.div %m2, %c1b : tensor<784x256xf32>
  %vh = tds.div %v2, %c2b : tensor<784x256xf32>
  %s = tds.sqrt %vh : tensor<784x256xf32>
  %d = tds.add %s, %eps : tensor<784x256xf32>
  %u = tds.div %mh, %d : tensor<784x256xf32>
  %lrb = tds.broadcast %lr axes [] : tensor<f32> to tensor<784x256xf32>
  %lu = tds.mul %lrb, %u : tensor<784x256xf32>
  %p2 = tds.sub %p, %lu : tensor<784x256xf32>
  return %p2, %m2, %v2 : tensor<784x256xf32>, tensor<784x256xf32>, tensor<784x256xf32>
}

func.func @train(
    %x: tensor<64x28x28xui8> {tds.input = "x", tds.data_axis}, %y: tensor<64xi32> {tds.input = "y", tds.data_axis}, %lr: tensor<f32> {tds.input = "lr", tds.default = 1.0e-3 : f32},
    %w1: tensor<784x256xf32> {tds.variable = @"net.fc1.w"}, %b1: tensor<256xf32> {tds.variable = @"net.fc1.b"},
    %w2: tensor<256x10xf32> {tds.variable = @"net.fc2.w"}, %b2: tensor<10xf32> {tds.variable = @"net.fc2.b"},
    %m: tensor<784x256xf32> {tds.variable = @"opt.train.0.net.fc1.w.m"}, %v: tensor<784x256xf32> {tds.variable = @"opt.train.0.net.fc1.w.v"},
    %step: tensor<i64> {tds.variable = @tds.step})
    -> (tensor<f32> {tds.result = "loss"},
        tensor<784x256xf32> {tds.variable = @"net.fc1.w"}, tensor<256xf32> {tds.variable = @"net.fc1.b"},
        tensor<256x10xf32> {tds.variable = @"net.fc2.w"}, tensor<10xf32> {tds.variable = @"net.fc2.b"},
        tensor<784x256xf32> {tds.variable = @"opt.train.0.net.fc1.w.m"}, tensor<784x256xf32> {tds.variable = @"opt.train.0.net.fc1.w.v"},
        tensor<i64> {tds.variable = @tds.step})
    attributes {tds.entry = "step"} {
  // Forward.
  %xf = tds.cast %x : tensor<64x28x28xui8> to tensor<64x28x28xf32>
  %c255 = tds.constant dense<255.0> : tensor<64x28x28xf32>
  %xs = tds.div %xf, %c255 : tensor<64x28x28xf32>
  %xr = tds.reshape %xs : tensor<64x28x28xf32> to tensor<64x784xf32>
  %h0 = tds.contract %xr[0, 2], %w1[2, 1] to [0, 1] : tensor<64x784xf32>, tensor<784x256xf32> to tensor<64x256xf32>
  %b1b = tds.broadcast %b1 axes [1] : tensor<256xf32> to tensor<64x256xf32>
  %h1 = tds.add %h0, %b1b : tensor<64x256xf32>
  %zero = tds.constant dense<0.0> : tensor<64x256xf32>
  %h = tds.max %h1, %zero : tensor<64x256xf32>
  %o0 = tds.generic (%i, %j) in (64, 10) sum (%k) in (256) : tensor<64x10xf32> {
    %a = tds.read %h[%i, %k] : tensor<64x256xf32>
    %b = tds.read %w2[%k, %j] : tensor<256x10xf32>
    %p = tds.mul %a, %b : f32
    tds.yield %p : f32
  }
  %b2b = tds.broadcast %b2 axes [1] : tensor<10xf32> to tensor<64x10xf32>
  %o = tds.add %o0, %b2b : tensor<64x10xf32>
  %mx = tds.reduce max %o axes [1] : tensor<64x10xf32> to tensor<64xf32>
  %mxb = tds.broadcast %mx axes [0] : tensor<64xf32> to tensor<64x10xf32>
  %sh = tds.sub %o, %mxb : tensor<64x10xf32>
  %e = tds.exp %sh : tensor<64x10xf32>
  %se = tds.reduce sum %e axes [1] : tensor<64x10xf32> to tensor<64xf32>
  %lse = tds.log %se : tensor<64xf32>
  %picked = tds.generic (%i) in (64) : tensor<64xf32> {
    %c = tds.read %y[%i] : tensor<64xi32>
    %at = tds.cast %c : i32 to index
    %r = tds.read %sh[%i, %at] guard 0.0 : f32 : tensor<64x10xf32>
    tds.yield %r : f32
  }
  %li = tds.sub %lse, %picked : tensor<64xf32>
  %l0 = tds.reduce sum %li axes [0] : tensor<64xf32> to tensor<f32>
  %c64 = tds.constant dense<64.0> : tensor<f32>
  %loss = tds.div %l0, %c64 : tensor<f32>

  // Backward.
  %dl = tds.constant dense<0.015625> : tensor<64xf32>
  %dse = tds.div %dl, %se : tensor<64xf32>
  %dseb = tds.broadcast %dse axes [0] : tensor<64xf32> to tensor<64x10xf32>
  %de = tds.mul %dseb, %e : tensor<64x10xf32>
  %ndl = tds.neg %dl : tensor<64xf32>
  %dp = tds.scatter (%i) in (64) : tensor<64x10xf32> {
    %c = tds.read %y[%i] : tensor<64xi32>
    %at = tds.cast %c : i32 to index
    %r = tds.read %ndl[%i] : tensor<64xf32>
    tds.scatter_yield %r at [%i, %at] : f32
  }
  %do = tds.add %de, %dp : tensor<64x10xf32>
  %db2 = tds.reduce sum %do axes [0] : tensor<64x10xf32> to tensor<10xf32>
  %dw2 = tds.contract %h[2, 0], %do[2, 1] to [0, 1] : tensor<64x256xf32>, tensor<64x10xf32> to tensor<256x10xf32>
  %dh = tds.contract %do[0, 2], %w2[1, 2] to [0, 1] : tensor<64x10xf32>, tensor<256x10xf32> to tensor<64x256xf32>
  %on = tds.compare gt %h, %zero : tensor<64x256xf32>
  %dz = tds.select %on, %dh, %zero : tensor<64x256xi1>, tensor<64x256xf32>
  %db1 = tds.reduce sum %dz axes [0] : tensor<64x256xf32> to tensor<256xf32>
  %xt = tds.transpose %xr [1, 0] : tensor<64x784xf32> to tensor<784x64xf32>
  %dw1 = tds.contract %xt[0, 2], %dz[2, 1] to [0, 1] : tensor<784x64xf32>, tensor<64x256xf32> to tensor<784x256xf32>

  // Updates.
  %p1, %m1, %v1 = call @adam1(%w1, %dw1, %m, %v, %lr, %step) : (tensor<784x256xf32>, tensor<784x256xf32>, tensor<784x256xf32>, tensor<784x256xf32>, tensor<f32>, tensor<i64>) -> (tensor<784x256xf32>, tensor<784x256xf32>, tensor<784x256xf32>)
  %lrb1 = tds.broadcast %lr axes [] : tensor<f32> to tensor<256xf32>
  %ub1 = tds.mul %lrb1, %db1 : tensor<256xf32>
  %nb1 = tds.sub %b1, %ub1 : tensor<256xf32>
  %lrw2 = tds.broadcast %lr axes [] : tensor<f32> to tensor<256x10xf32>
  %uw2 = tds.mul %lrw2, %dw2 : tensor<256x10xf32>
  %nw2 = tds.sub %w2, %uw2 : tensor<256x10xf32>
  %lrb2 = tds.broadcast %lr axes [] : tensor<f32> to tensor<10xf32>
  %ub2 = tds.mul %lrb2, %db2 : tensor<10xf32>
  %nb2 = tds.sub %b2, %ub2 : tensor<10xf32>
  %one64 = tds.constant dense<1> : tensor<i64>
  %nstep = tds.add %step, %one64 : tensor<i64>
  return %loss, %p1, %nb1, %nw2, %nb2, %m1, %v1, %nstep
    : tensor<f32>, tensor<784x256xf32>, tensor<256xf32>, tensor<256x10xf32>, tensor<10xf32>, tensor<784x256xf32>, tensor<784x256xf32>, tensor<i64>
}
