//===- PlanEnums.td - enums of the plan dialect -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_DIALECT_PLAN_PLANENUMS_TD
#define TDSL_DIALECT_PLAN_PLANENUMS_TD

include "mlir/IR/EnumAttr.td"

def Plan_Space : I32EnumAttr<"Space", "a region of memory that operands lie in", [
    I32EnumAttrCase<"Slab", 0, "slab">, I32EnumAttrCase<"Arena", 1, "arena">,
    I32EnumAttrCase<"Input", 2, "input">, I32EnumAttrCase<"Result", 3, "result">,
    I32EnumAttrCase<"Const", 4, "const">, I32EnumAttrCase<"Counter", 5, "counter">]> {
  let cppNamespace = "::tdsl::plan";
}

#endif // TDSL_DIALECT_PLAN_PLANENUMS_TD
