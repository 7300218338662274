// RUN: tds-opt %s -split-input-file -verify-diagnostics

func.func @compare_c1(%a: tensor<4xi1>) {
  // expected-error @+1 {{'tds.compare' op orders bools; they compare by eq and ne only (compare_c1)}}
  %r = tds.compare lt %a, %a : tensor<4xi1>
  return
}

// -----

func.func @add_bool(%a: tensor<4xi1>) {
  // expected-error @+1 {{'tds.add' op operand #0 must be number scalar or tensor, but got 'tensor<4xi1>'}}
  %r = tds.add %a, %a : tensor<4xi1>
  return
}

// -----

func.func @div_integer(%a: tensor<4xi32>) {
  // expected-error @+1 {{'tds.div' op operand #0 must be float scalar or tensor, but got 'tensor<4xi32>'}}
  %r = tds.div %a, %a : tensor<4xi32>
  return
}

// -----

func.func @dynamic(%a: tensor<?xf32>) {
  // expected-error @+1 {{'tds.exp' op operand #0 must be float scalar or tensor, but got 'tensor<?xf32>'}}
  %r = tds.exp %a : tensor<?xf32>
  return
}

// -----

func.func @cast_index(%a: tensor<4xf32>) {
  %y = tds.generic (%i) in (4) : tensor<4xf32> {
    // expected-error @+1 {{'tds.cast' op converts between index and 'f32'; index goes with integers only}}
    %f = tds.cast %i : index to f32
    tds.yield %f : f32
  }
  return
}

// -----

func.func @cast_shape(%a: tensor<4xf32>) {
  // expected-error @+1 {{'tds.cast' op requires the same shape for all operands and results}}
  %r = tds.cast %a : tensor<4xf32> to tensor<5xf16>
  return
}

// -----

func.func @select_shape(%c: tensor<3xi1>, %a: tensor<4xf32>) {
  // expected-error @+1 {{'tds.select' op requires the same shape for all operands and results}}
  %r = tds.select %c, %a, %a : tensor<3xi1>, tensor<4xf32>
  return
}

// -----

func.func @generic_c1() {
  // expected-error @+1 {{'tds.generic' op has parallel extents [4], but its result has shape [5] (generic_c1)}}
  %y = tds.generic (%i) in (4) : tensor<5xf32> {
    %z = tds.constant 0.0 : f32
    tds.yield %z : f32
  }
  return
}

// -----

func.func @generic_c2() {
  // expected-error @+1 {{'tds.generic' op needs a reduction kind exactly where there are reduction extents (generic_c2)}}
  %y = tds.generic (%i) in (4) sum () in () : tensor<4xf32> {
    %z = tds.constant 0.0 : f32
    tds.yield %z : f32
  }
  return
}

// -----

func.func @generic_extents() {
  // expected-error @+1 {{expected as many extents as indices, got 2 and 1}}
  %y = tds.generic (%i) in (4, 5) : tensor<4xf32> {
    %z = tds.constant 0.0 : f32
    tds.yield %z : f32
  }
  return
}

// -----

func.func @generic_c3_type() {
  // expected-error @+1 {{'tds.generic' op yields 'f64', expected the result's element type 'f32' (generic_c3)}}
  %y = tds.generic (%i) in (4) : tensor<4xf32> {
    %z = tds.constant 0.0 : f64
    tds.yield %z : f64
  }
  return
}

// -----

func.func @generic_c3_count() {
  // expected-error @+1 {{'tds.generic' op must end in a tds.yield of one scalar (generic_c3)}}
  %y = tds.generic (%i) in (4) : tensor<4xf32> {
    %z = tds.constant 0.0 : f32
    tds.yield %z, %z : f32, f32
  }
  return
}

// -----

func.func @generic_c3_arg() {
  // expected-error @+1 {{'tds.generic' op yields 'f32' and gives 'i64', expected a number and i32 (generic_c3)}}
  %y = tds.generic () in () argmax (%i) in (4) : tensor<i64> {
    %z = tds.constant 0.0 : f32
    tds.yield %z : f32
  }
  return
}

// -----

func.func @generic_c4() {
  // expected-error @+1 {{'tds.generic' op of kind argmax needs one reduction extent that is not 0 (generic_c4)}}
  %y = tds.generic () in () argmax (%i) in (0) : tensor<i32> {
    %z = tds.constant 0.0 : f32
    tds.yield %z : f32
  }
  return
}

// -----

func.func @generic_c5() {
  // expected-error @+1 {{'tds.generic' op of kind any yields 'f32' (generic_c5)}}
  %y = tds.generic () in () any (%i) in (4) : tensor<f32> {
    %z = tds.constant 0.0 : f32
    tds.yield %z : f32
  }
  return
}

// -----

func.func @generic_kind() {
  // expected-error @+1 {{unknown reduction 'mean'}}
  %y = tds.generic () in () mean (%i) in (4) : tensor<f32> {
    %z = tds.constant 0.0 : f32
    tds.yield %z : f32
  }
  return
}

// -----

func.func @body_c1_tensor(%x: tensor<4xf32>) {
  %y = tds.generic (%i) in (4) : tensor<4xf32> {
    // expected-error @+1 {{'tds.exp' op stands in the body of a tds.generic, which holds scalar operations only (body_c1)}}
    %e = tds.exp %x : tensor<4xf32>
    %z = tds.read %e[%i] : tensor<4xf32>
    tds.yield %z : f32
  }
  return
}

// -----

func.func @body_c1_outside(%x: f32) {
  %y = tds.scatter (%i) in (4) : tensor<4xf32> {
    // expected-error @+1 {{'tds.scatter_yield' op uses a value from outside the body of its tds.scatter other than by tds.read (body_c1)}}
    tds.scatter_yield %x at [%i] : f32
  }
  return
}

// -----

func.func @body_c1_nested(%x: tensor<4xf32>) {
  %y = tds.generic (%i) in (4) : tensor<4xf32> {
    // expected-error @+1 {{'tds.generic' op stands in the body of a tds.generic, which holds scalar operations only (body_c1)}}
    %s = tds.generic () in () : tensor<f32> {
      %z = tds.constant 0.0 : f32
      tds.yield %z : f32
    }
    %r = tds.read %s[] : tensor<f32>
    tds.yield %r : f32
  }
  return
}

// -----

func.func @scatter_type() {
  // expected-error @+1 {{'tds.scatter' op yields 'f64', expected the result's element type 'f32'}}
  %y = tds.scatter (%i) in (4) : tensor<4xf32> {
    %z = tds.constant 0.0 : f64
    tds.scatter_yield %z at [%i] : f64
  }
  return
}

// -----

func.func @scatter_rank() {
  // expected-error @+1 {{'tds.scatter' op yields 1 indices, expected the result's rank 2}}
  %y = tds.scatter (%i) in (4) : tensor<4x4xf32> {
    %z = tds.constant 0.0 : f32
    tds.scatter_yield %z at [%i] : f32
  }
  return
}

// -----

func.func @read_c1(%x: tensor<4x4xf32>) {
  %y = tds.generic (%i) in (4) : tensor<4xf32> {
    // expected-error @+1 {{'tds.read' op has 1 indices, expected the tensor's rank 2 (read_c1)}}
    %z = tds.read %x[%i] : tensor<4x4xf32>
    tds.yield %z : f32
  }
  return
}

// -----

func.func @read_c2(%x: tensor<4xf32>) {
  %y = tds.generic (%i) in (4) : tensor<4xf32> {
    // expected-error @+1 {{'tds.read' op has a guard of type 'f64', expected 'f32' (read_c2)}}
    %z = tds.read %x[%i] guard 0.0 : f64 : tensor<4xf32>
    tds.yield %z : f32
  }
  return
}

// -----

func.func @read_c3(%x: tensor<4xf32>) {
  %y = tds.generic (%i) in (4) : tensor<4xf32> {
    // expected-error @+1 {{'tds.read' op is both guarded and clamped (read_c3)}}
    %z = tds.read %x[%i] guard 0.0 : f32 clamped : tensor<4xf32>
    tds.yield %z : f32
  }
  return
}

// -----

func.func @apply_c1(%x: tensor<4xf32>) {
  %y = tds.generic (%i) in (4) : tensor<4xf32> {
    // expected-error @+1 {{'tds.apply' op needs a map with one result, no symbols and 1 dimensions, got affine_map<(d0, d1) -> (d0)> (apply_c1)}}
    %j = tds.apply affine_map<(d0, d1) -> (d0)> (%i)
    %z = tds.read %x[%j] : tensor<4xf32>
    tds.yield %z : f32
  }
  return
}

// -----

func.func @contract_c1_rank(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{'tds.contract' op names 1 axes of the left operand, expected its rank 2 (contract_c1)}}
  %c = tds.contract %a[0], %a[2, 1] to [0, 1] : tensor<4x8xf32>, tensor<4x8xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @contract_c1_twice(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{'tds.contract' op names axis 2 of the right operand twice (contract_c1)}}
  %c = tds.contract %a[0, 2], %a[2, 2] to [0] : tensor<4x4xf32>, tensor<4x4xf32> to tensor<4xf32>
  return
}

// -----

func.func @contract_c2(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{'tds.contract' op has extents 8 and 4 for axis 2 (contract_c2)}}
  %c = tds.contract %a[0, 2], %a[2, 1] to [0, 1] : tensor<4x8xf32>, tensor<4x8xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @contract_c3(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{'tds.contract' op has axis 3 in the result only (contract_c3)}}
  %c = tds.contract %a[0, 2], %a[1, 2] to [0, 3] : tensor<4x8xf32>, tensor<4x8xf32> to tensor<4x4xf32>
  return
}

// -----

func.func @contract_c4_operands(%a: tensor<4x8xf32>, %b: tensor<4x8xf16>) {
  // expected-error @+1 {{'tds.contract' op multiplies 'f32' and 'f16', expected numbers of one type (contract_c4)}}
  %c = tds.contract %a[0, 2], %b[1, 2] to [0, 1] : tensor<4x8xf32>, tensor<4x8xf16> to tensor<4x4xf32>
  return
}

// -----

func.func @contract_c5_size(%a: tensor<4x8xf32>, %b: tensor<6x3xf32>) {
  // expected-error @+1 {{'tds.contract' op has a map of the left operand with 2 dimensions and 2 results, expected 3 and 2 (contract_c5)}}
  %c = tds.contract %a[0, 1, 2], %b[3, 2] to [0, 3, 1] {lhs_map = affine_map<(d0, d1) -> (d0, d1)>} : tensor<4x8xf32>, tensor<6x3xf32> to tensor<4x6x6xf32>
  return
}

// -----

func.func @contract_c5_linear(%a: tensor<4x8xf32>, %b: tensor<6x3xf32>) {
  // expected-error @+1 {{'tds.contract' op has a map of the left operand that is not linear (contract_c5)}}
  %c = tds.contract %a[0, 1, 2], %b[3, 2] to [0, 3, 1] {lhs_map = affine_map<(d0, d1, d2) -> (d0, (d1 + d2) mod 3)>} : tensor<4x8xf32>, tensor<6x3xf32> to tensor<4x6x6xf32>
  return
}

// -----

func.func @contract_c5_inside(%a: tensor<4x8xf32>, %b: tensor<6x3xf32>) {
  // expected-error @+1 {{'tds.contract' op reads the left operand from 0 to 8 along an axis of extent 8 (contract_c5)}}
  %c = tds.contract %a[0, 1, 2], %b[3, 2] to [0, 3, 1] {lhs_map = affine_map<(d0, d1, d2) -> (d0, d1 + d2)>} : tensor<4x8xf32>, tensor<6x3xf32> to tensor<4x6x7xf32>
  return
}

// -----

func.func @contract_c5_extent(%a: tensor<4x8xf32>, %b: tensor<6x3xf32>) {
  // expected-error @+1 {{'tds.contract' op knows no extent of axis 4, which only a window has (contract_c5)}}
  %c = tds.contract %a[0, 1, 4], %b[3, 2] to [0, 3, 1] {lhs_map = affine_map<(d0, d1, d2) -> (d0, d1 + d2)>} : tensor<4x8xf32>, tensor<6x3xf32> to tensor<4x6x6xf32>
  return
}

// -----

func.func @contract_c4_result(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{'tds.contract' op gives 'f64', expected 'f32' or its accumulator type (contract_c4)}}
  %c = tds.contract %a[0, 2], %a[1, 2] to [0, 1] : tensor<4x8xf32>, tensor<4x8xf32> to tensor<4x4xf64>
  return
}

// -----

func.func @reduce_c1(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{'tds.reduce' op has axes [1, 0], expected rising axes below 2 (reduce_c1)}}
  %r = tds.reduce sum %a axes [1, 0] : tensor<4x8xf32> to tensor<f32>
  return
}

// -----

func.func @reduce_c2(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{'tds.reduce' op gives shape [8], expected [4] (reduce_c2)}}
  %r = tds.reduce sum %a axes [1] : tensor<4x8xf32> to tensor<8xf32>
  return
}

// -----

func.func @reduce_c3(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{'tds.reduce' op of kind argmax needs one axis that is not empty and gives i32 (reduce_c3)}}
  %r = tds.reduce argmax %a axes [0, 1] : tensor<4x8xf32> to tensor<i32>
  return
}

// -----

func.func @reduce_c3_empty(%a: tensor<4x0xf32>) {
  // expected-error @+1 {{'tds.reduce' op of kind argmin needs one axis that is not empty and gives i32 (reduce_c3)}}
  %r = tds.reduce argmin %a axes [1] : tensor<4x0xf32> to tensor<4xi32>
  return
}

// -----

func.func @reduce_bool(%a: tensor<4xi1>) {
  // expected-error @+1 {{'tds.reduce' op of kind sum takes elements 'i1'}}
  %r = tds.reduce sum %a axes [0] : tensor<4xi1> to tensor<i1>
  return
}

// -----

func.func @broadcast_c1(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{'tds.broadcast' op has axes [1, 0], expected 2 rising axes below 2 (broadcast_c1)}}
  %r = tds.broadcast %a axes [1, 0] : tensor<4x8xf32> to tensor<8x4xf32>
  return
}

// -----

func.func @broadcast_extent(%a: tensor<4xf32>) {
  // expected-error @+1 {{'tds.broadcast' op stretches axis 0 of extent 4 to 8}}
  %r = tds.broadcast %a axes [0] : tensor<4xf32> to tensor<8xf32>
  return
}

// -----

func.func @reshape_c1(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{'tds.reshape' op has 32 elements on one side and 30 on the other (reshape_c1)}}
  %r = tds.reshape %a : tensor<4x8xf32> to tensor<30xf32>
  return
}

// -----

func.func @transpose_c1(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{'tds.transpose' op has [1, 1], expected a permutation of 2 axes (transpose_c1)}}
  %r = tds.transpose %a [1, 1] : tensor<4x8xf32> to tensor<8x8xf32>
  return
}

// -----

func.func @transpose_shape(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{'tds.transpose' op gives 'tensor<4x8xf32>', expected 'tensor<8x4xf32>'}}
  %r = tds.transpose %a [1, 0] : tensor<4x8xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @gradient_c1(%l: tensor<2xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'tds.gradient' op operand #0 must be 0D tensor of}}
  %g = tds.gradient %l wrt %w : tensor<2xf32> wrt tensor<4xf32>
  return
}

// -----

func.func @gradient_c2(%l: tensor<f32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'tds.gradient' op gives types that differ from those of its variables (gradient_c2)}}
  %g = "tds.gradient"(%l, %w) : (tensor<f32>, tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @kernel_c1_kind(%x: tensor<4xf32>) {
  // expected-error @+1 {{'tds.kernel' op has the unknown kind 'magic' (kernel_c1)}}
  %r = tds.kernel "magic" (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    tds.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @kernel_c1_ops(%x: tensor<4xf32>) {
  // expected-error @+1 {{'tds.kernel' op holds tds.exp, expected generics, contracts, scatters, attentions and constants (kernel_c1)}}
  %r = tds.kernel "loop" (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %e = tds.exp %a : tensor<4xf32>
    tds.yield %e : tensor<4xf32>
  }
  return
}

// -----

func.func @kernel_c1_parts(%x: tensor<4xf32>) {
  // expected-error @+1 {{'tds.kernel' op of kind 'parts' holds tds.generic, expected kernels of the other kinds (kernel_c1)}}
  %r = tds.kernel "parts" (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %e = tds.generic (%i) in (4) : tensor<4xf32> {
      %v = tds.read %a[%i] : tensor<4xf32>
      tds.yield %v : f32
    }
    tds.yield %e : tensor<4xf32>
  }
  return
}

// -----

func.func @kernel_c1_part_reads_part(%x: tensor<4xf32>) {
  %r:2 = tds.kernel "parts" (%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %p = tds.kernel "loop" (%a) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%b: tensor<4xf32>):
      %e = tds.generic (%i) in (4) : tensor<4xf32> {
        %v = tds.read %b[%i] : tensor<4xf32>
        tds.yield %v : f32
      }
      tds.yield %e : tensor<4xf32>
    }
    // expected-error @+1 {{'tds.kernel' op reads what another part of its kernel makes in the same stage (kernel_c1)}}
    %q = tds.kernel "loop" (%p) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%b: tensor<4xf32>):
      %e = tds.generic (%i) in (4) : tensor<4xf32> {
        %v = tds.read %b[%i] : tensor<4xf32>
        tds.yield %v : f32
      }
      tds.yield %e : tensor<4xf32>
    }
    tds.yield %p, %q : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

func.func @kernel_c1_part_yielded_twice(%x: tensor<4xf32>) {
  %r:2 = tds.kernel "parts" (%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    // expected-error @+1 {{'tds.kernel' op is a part, and its output 0 is not yielded exactly once (kernel_c1)}}
    %p = tds.kernel "loop" (%a) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%b: tensor<4xf32>):
      %e = tds.generic (%i) in (4) : tensor<4xf32> {
        %v = tds.read %b[%i] : tensor<4xf32>
        tds.yield %v : f32
      }
      tds.yield %e : tensor<4xf32>
    }
    tds.yield %p, %p : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

func.func @kernel_c1_stage_missing(%x: tensor<4xf32>) {
  %r:2 = tds.kernel "parts" (%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %p = tds.kernel "loop" (%a) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%b: tensor<4xf32>):
      %e = tds.generic (%i) in (4) : tensor<4xf32> {
        %v = tds.read %b[%i] : tensor<4xf32>
        tds.yield %v : f32
      }
      tds.yield %e : tensor<4xf32>
    }
    // expected-error @+1 {{'tds.kernel' op of stage 2 has no part of the stage before it (kernel_c1)}}
    %q = tds.kernel "loop" (%p) {stage = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%b: tensor<4xf32>):
      %e = tds.generic (%i) in (4) : tensor<4xf32> {
        %v = tds.read %b[%i] : tensor<4xf32>
        tds.yield %v : f32
      }
      tds.yield %e : tensor<4xf32>
    }
    tds.yield %p, %q : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

func.func @kernel_c1_stage_order(%x: tensor<4xf32>) {
  %r:3 = tds.kernel "parts" (%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %p = tds.kernel "loop" (%a) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%b: tensor<4xf32>):
      %e = tds.generic (%i) in (4) : tensor<4xf32> {
        %v = tds.read %b[%i] : tensor<4xf32>
        tds.yield %v : f32
      }
      tds.yield %e : tensor<4xf32>
    }
    %q = tds.kernel "loop" (%p) {stage = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%b: tensor<4xf32>):
      %e = tds.generic (%i) in (4) : tensor<4xf32> {
        %v = tds.read %b[%i] : tensor<4xf32>
        tds.yield %v : f32
      }
      tds.yield %e : tensor<4xf32>
    }
    // expected-error @+1 {{'tds.kernel' op of stage 0 stands behind one of stage 1 (kernel_c1)}}
    %s = tds.kernel "loop" (%a) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%b: tensor<4xf32>):
      %e = tds.generic (%i) in (4) : tensor<4xf32> {
        %v = tds.read %b[%i] : tensor<4xf32>
        tds.yield %v : f32
      }
      tds.yield %e : tensor<4xf32>
    }
    tds.yield %p, %q, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

func.func @kernel_c1_parts_yield_argument(%x: tensor<4xf32>) {
  // expected-error @+1 {{'tds.kernel' op yields what no part makes (kernel_c1)}}
  %r = tds.kernel "parts" (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    tds.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @kernel_c1_count(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'tds.kernel' op of kind 'loop' holds 1 contracts and 0 scatters (kernel_c1)}}
  %r = tds.kernel "loop" (%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: tensor<4x4xf32>):
    %c = tds.contract %a[0, 2], %a[2, 1] to [0, 1] : tensor<4x4xf32>, tensor<4x4xf32> to tensor<4x4xf32>
    tds.yield %c : tensor<4x4xf32>
  }
  return
}

// -----

func.func @kernel_types(%x: tensor<4xf32>) {
  // expected-error @+1 {{'tds.kernel' op has block arguments of other types than its inputs}}
  %r = tds.kernel "loop" (%x) : (tensor<4xf32>) -> tensor<5xf32> {
  ^bb0(%a: tensor<5xf32>):
    tds.yield %a : tensor<5xf32>
  }
  return
}

// -----

// expected-error @+1 {{'func.func' op attribute 'tds.entry' must be "step", "function" or "init"}}
func.func @entry() attributes {tds.entry = "main"} {
  return
}

// -----

// expected-error @+1 {{'func.func' op argument 0 of an entry needs 'tds.input' or 'tds.variable'}}
func.func @entry(%x: tensor<4xf32>) attributes {tds.entry = "step"} {
  return
}

// -----

// expected-error @+1 {{'func.func' op result 0 of an entry needs 'tds.result' or 'tds.variable'}}
func.func @entry(%x: tensor<4xf32> {tds.input = "x"}) -> tensor<4xf32> attributes {tds.entry = "step"} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' op 'tds.variable' names @w, which is not a tds.variable}}
func.func @entry(%x: tensor<4xf32> {tds.variable = @w}) attributes {tds.entry = "step"} {
  return
}

// -----

tds.variable @w param : tensor<5xf32>
// expected-error @+1 {{'func.func' op argument has type 'tensor<4xf32>', its variable @w has type 'tensor<5xf32>'}}
func.func @entry(%x: tensor<4xf32> {tds.variable = @w}) attributes {tds.entry = "step"} {
  return
}

// -----

// expected-error @+1 {{'func.func' op unknown attribute 'tds.inptu'}}
func.func @entry(%x: tensor<4xf32> {tds.input = "x", tds.inptu = "x"}) attributes {tds.entry = "step"} {
  return
}

// -----

// expected-error @+1 {{'func.func' op attribute 'tds.vjp' must name a function}}
func.func private @f(%x: tensor<4xf32>) attributes {tds.vjp = "g"} {
  return
}

// -----

// expected-error @+1 {{'func.func' op attribute 'tds.flags' must be a list of {text, source}}}
func.func @entry() attributes {tds.entry = "step", tds.flags = ["a"]} {
  return
}

// -----

// expected-error @+1 {{'func.func' op has 1 flags, expected a last result 'tds.flags' of type tensor<1xi32>}}
func.func @entry() attributes {tds.entry = "step", tds.flags = [{text = "t", source = "s"}]} {
  return
}

// -----

func.func @attention_c1(%q: tensor<8x4xf32>) {
  // expected-error @+1 {{'tds.attention' op has extents [8, 8, 4], expected those of the batch and four more, all above 0 (attention_c1)}}
  %o, %m, %z = tds.attention %q, %q, %q {extents = array<i64: 8, 8, 4>, query_map = affine_map<(i, d) -> (i, d)>, key_map = affine_map<(i, d) -> (i, d)>,
      value_map = affine_map<(i, d) -> (i, d)>, result_map = affine_map<(i, d) -> (i, d)>}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>) score {
  ^bb0(%i: index, %j: index, %s: f32):
    tds.yield %s : f32
  }
  return
}

// -----

func.func @attention_c2(%q: tensor<8x4xf32>) {
  // expected-error @+1 {{'tds.attention' op has the key map affine_map<(d0, d1) -> (d0 + 1, d1)>, which leaves its tensor of type 'tensor<8x4xf32>' (attention_c2)}}
  %o, %m, %z = tds.attention %q, %q, %q {extents = array<i64: 8, 8, 4, 4>, query_map = affine_map<(i, d) -> (i, d)>, key_map = affine_map<(i, d) -> (i + 1, d)>,
      value_map = affine_map<(i, d) -> (i, d)>, result_map = affine_map<(i, d) -> (i, d)>}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>) score {
  ^bb0(%i: index, %j: index, %s: f32):
    tds.yield %s : f32
  }
  return
}

// -----

func.func @attention_c2_result(%q: tensor<8x4xf32>) {
  // expected-error @+1 {{'tds.attention' op has the result map affine_map<(d0, d1) -> (d0, 0)>, which is no permutation (attention_c2)}}
  %o, %m, %z = tds.attention %q, %q, %q {extents = array<i64: 8, 8, 4, 4>, query_map = affine_map<(i, d) -> (i, d)>, key_map = affine_map<(i, d) -> (i, d)>,
      value_map = affine_map<(i, d) -> (i, d)>, result_map = affine_map<(i, d) -> (i, 0)>}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>) score {
  ^bb0(%i: index, %j: index, %s: f32):
    tds.yield %s : f32
  }
  return
}

// -----

func.func @attention_c3(%q: tensor<8x4xf32>) {
  // expected-error @+1 {{'tds.attention' op has a statistic of the rows of type 'tensor<4xf32>', expected 'tensor<8xf32>' (attention_c3)}}
  %o, %m, %z = tds.attention %q, %q, %q {extents = array<i64: 8, 8, 4, 4>, query_map = affine_map<(i, d) -> (i, d)>, key_map = affine_map<(i, d) -> (i, d)>,
      value_map = affine_map<(i, d) -> (i, d)>, result_map = affine_map<(i, d) -> (i, d)>}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<8xf32>) score {
  ^bb0(%i: index, %j: index, %s: f32):
    tds.yield %s : f32
  }
  return
}

// -----

func.func @attention_c3_body(%q: tensor<8x4xf32>) {
  // expected-error @+1 {{'tds.attention' op needs a body with 2 indices and 1 of 'f32' that yields 'f32' (attention_c3)}}
  %o, %m, %z = tds.attention %q, %q, %q {extents = array<i64: 8, 8, 4, 4>, query_map = affine_map<(i, d) -> (i, d)>, key_map = affine_map<(i, d) -> (i, d)>,
      value_map = affine_map<(i, d) -> (i, d)>, result_map = affine_map<(i, d) -> (i, d)>}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>) score {
  ^bb0(%i: index, %s: f32):
    tds.yield %s : f32
  }
  return
}

// -----

func.func @attention_c4(%q: tensor<8x4xbf16>, %k: tensor<8x4xf32>) {
  // expected-error @+1 {{'tds.attention' op has narrow_factors and an operand of type 'tensor<8x4xf32>' beside values of 'bf16' (attention_c4)}}
  %o, %m, %z = tds.attention %q, %k, %q {extents = array<i64: 8, 8, 4, 4>, query_map = affine_map<(i, d) -> (i, d)>, key_map = affine_map<(i, d) -> (i, d)>,
      value_map = affine_map<(i, d) -> (i, d)>, result_map = affine_map<(i, d) -> (i, d)>, narrow_factors}
      : (tensor<8x4xbf16>, tensor<8x4xf32>, tensor<8x4xbf16>) -> (tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>) score {
  ^bb0(%i: index, %j: index, %s: f32):
    tds.yield %s : f32
  }
  return
}

// -----

func.func @attention_c4_both(%q: tensor<8x4xbf16>) {
  // expected-error @+1 {{'tds.attention' op has narrow_factors and narrow_weights, which round the same weights (attention_c4)}}
  %o, %m, %z = tds.attention %q, %q, %q {extents = array<i64: 8, 8, 4, 4>, query_map = affine_map<(i, d) -> (i, d)>, key_map = affine_map<(i, d) -> (i, d)>,
      value_map = affine_map<(i, d) -> (i, d)>, result_map = affine_map<(i, d) -> (i, d)>, narrow_factors, narrow_weights}
      : (tensor<8x4xbf16>, tensor<8x4xbf16>, tensor<8x4xbf16>) -> (tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>) score {
  ^bb0(%i: index, %j: index, %s: f32):
    tds.yield %s : f32
  }
  return
}

// -----

func.func @attention_grad_c2(%q: tensor<8x4xf32>, %m: tensor<8xf32>) {
  // expected-error @+1 {{'tds.attention_grad' op writes 96 elements of results that have 32 (attention_grad_c2)}}
  %d = tds.attention_grad %q, %q, %q, %q, %m, %m, %q {extents = array<i64: 8, 8, 4, 4>, query_map = affine_map<(i, d) -> (i, d)>,
      key_map = affine_map<(i, d) -> (i, d)>, value_map = affine_map<(i, d) -> (i, d)>, result_map = affine_map<(i, d) -> (i, d)>,
      grad_maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (i, d)>]}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32> score {
  ^bb0(%i: index, %j: index, %s: f32):
    tds.yield %s : f32
  } slope {
  ^bb0(%i: index, %j: index, %s: f32, %g: f32):
    tds.yield %g : f32
  }
  return
}

// -----

func.func @kernel_c1_attention(%x: tensor<4xf32>) {
  // expected-error @+1 {{'tds.kernel' op of kind 'attention' holds 0 attentions and 0 derivatives of one (kernel_c1)}}
  %r = tds.kernel "attention" (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    tds.yield %a : tensor<4xf32>
  }
  return
}
