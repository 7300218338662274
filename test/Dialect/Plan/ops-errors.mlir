// RUN: tds-opt %s --split-input-file --verify-diagnostics

plan.entry @e "step" arena 0 input 0 result 0 scratch 0 {
  // expected-error @+1 {{'plan.launch' op launches @k, which is no function of the module (launch_c1)}}
  plan.launch @k () -> ()
}

// -----

func.func private @k(%a: tensor<4xf32>) -> tensor<4xf32> attributes {plan.in_place = array<i64: -1>} { return %a : tensor<4xf32> }
plan.entry @e "step" arena 256 input 256 result 0 scratch 0 {
  // expected-error @+1 {{'plan.launch' op gives 12 bytes for inputs 0, expected 16 (launch_c1)}}
  plan.launch @k (<input[0] 0 + 12>) -> (<arena[0] 0 + 16>)
}

// -----

func.func private @k(%a: tensor<4xf32>) -> tensor<4xf32> attributes {plan.in_place = array<i64: -1>} { return %a : tensor<4xf32> }
plan.entry @e "step" arena 256 input 256 result 0 scratch 0 {
  // expected-error @+1 {{'plan.launch' op output 0 overlaps input 0 (launch_c2)}}
  plan.launch @k (<arena[0] 0 + 16>) -> (<arena[0] 8 + 16>)
}

// -----

func.func private @k(%a: tensor<4xf32>) -> tensor<4xf32> attributes {plan.in_place = array<i64: 0>} { return %a : tensor<4xf32> }
plan.entry @e "step" arena 256 input 256 result 0 scratch 0 {
  // expected-error @+1 {{'plan.launch' op output 0 differs from the input that it shares, 0 (launch_c2)}}
  plan.launch @k (<arena[0] 0 + 16>) -> (<arena[0] 16 + 16>)
}

// -----

func.func private @k(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> attributes {plan.disjoint, plan.in_place = array<i64: -1>} { return %a : tensor<4xf32> }
plan.entry @e "step" arena 256 input 256 result 0 scratch 0 {
  // expected-error @+1 {{'plan.launch' op gives a kernel that needs disjoint buffers inputs 0 and 1 that overlap (launch_c3)}}
  plan.launch @k (<input[0] 0 + 16>, <input[0] 0 + 16>) -> (<arena[0] 16 + 16>)
}

// -----

plan.entry @e "step" arena 256 input 256 result 0 scratch 0 {
  // expected-error @+1 {{'plan.copy' op has #plan.buffer<arena[0] 250 + 16> outside its space of 256 bytes (entry_c1)}}
  plan.copy <input[0] 0 + 16> to <arena[0] 250 + 16>
}

// -----

plan.entry @e "step" arena 256 input 256 result 0 scratch 0 {
  // expected-error @+1 {{'plan.fill' op writes #plan.buffer<input[0] 0 + 16>, which is read-only (entry_c2)}}
  plan.fill <input[0] 0 + 16> with 0
}

// -----

plan.entry @e "step" arena 256 input 512 result 0 scratch 0 {
  plan.input "x" : tensor<4xf32> at 0 {donated}
  plan.input "y" : tensor<4xf32> at 256
  plan.fill <input[0] 0 + 16> with 0
  // expected-error @+1 {{'plan.fill' op writes #plan.buffer<input[0] 0 + 17>, which is read-only (entry_c2)}}
  plan.fill <input[0] 0 + 17> with 0
}

// -----

plan.entry @e "step" arena 256 input 512 result 0 scratch 0 {
  plan.input "x" : tensor<4xf32> at 0 {donated}
  plan.input "y" : tensor<4xf32> at 256
  // expected-error @+1 {{'plan.copy' op writes #plan.buffer<input[0] 256 + 16>, which is read-only (entry_c2)}}
  plan.copy <input[0] 0 + 16> to <input[0] 256 + 16>
}

// -----

plan.entry @e "step" arena 256 input 256 result 0 scratch 0 {
  // expected-error @+1 {{'plan.copy' op copies between ranges that overlap (copy_c1)}}
  plan.copy <arena[0] 0 + 16> to <arena[0] 8 + 16>
}

// -----

plan.entry @e "step" arena 256 input 256 result 0 scratch 0 {
  // expected-error @+1 {{'plan.fill' op fills with 256, expected a byte (fill_c1)}}
  plan.fill <arena[0] 0 + 16> with 256
}

// -----

// expected-error @+1 {{attribute 'plan.in_place' names argument 3 of 1}}
func.func private @k(%a: tensor<4xf32>) -> tensor<4xf32> attributes {plan.in_place = array<i64: 3>} { return %a : tensor<4xf32> }

// -----

// expected-error @+1 {{'plan.entry' op attribute 'plan.peak' needs command, live and largest}}
plan.entry @e "step" arena 0 input 0 result 0 scratch 0 attributes {plan.peak = {command = 0 : i64}} {
}

// -----

// expected-error @+1 {{'plan.entry' op attribute 'plan.peak' has a tensor without bytes and role}}
plan.entry @e "step" arena 0 input 0 result 0 scratch 0 attributes {plan.peak = {command = 0 : i64, live = 0 : i64, largest = [{role = "value"}]}} {
}

// -----

// expected-error @+1 {{'builtin.module' op attribute 'plan.peak' belongs on a plan.entry}}
module attributes {plan.peak = {command = 0 : i64, live = 0 : i64, largest = []}} {
}

// -----

// expected-error @+1 {{attribute 'plan.why' is a sentence on a plan.copy or plan.fill}}
module attributes {plan.why = "because"} {}
