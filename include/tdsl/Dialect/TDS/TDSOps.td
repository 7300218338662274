//===- TDSOps.td - all operations of the tds dialect -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "tdsl/Dialect/TDS/TDSBase.td"
include "tdsl/Dialect/TDS/TDSElementwise.td"
include "tdsl/Dialect/TDS/TDSStructure.td"
include "tdsl/Dialect/TDS/TDSAttention.td"
include "tdsl/Dialect/TDS/TDSProgram.td"
