//===- TDSBase.td - dialect, types and enums of the tds dialect -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_DIALECT_TDS_TDSBASE_TD
#define TDSL_DIALECT_TDS_TDSBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def TDS_Dialect : Dialect {
  let name = "tds";
  let cppNamespace = "::tdsl::tds";
  let summary = "Tensor programs with value semantics, static shapes and a derivative for every operation";
  let description = [{
    The `tds` dialect is what the front end emits and what every stage up to memory planning reads and writes.

    **Programs.** A program is one `builtin.module` with a `tds.variable` for every parameter, state and optimiser state, and one
    `func.func` for every entry point. An entry carries the attribute `tds.entry` (`"step"`, `"function"` or `"init"`) and is pure: its
    arguments are the inputs (argument attribute `tds.input = "x"`) and then the variables it reads (`tds.variable = @w`);
    its results are the results (result attribute `tds.result = "loss"`) and then the new values of the variables it writes
    (`tds.variable = @w`). Functions without `tds.entry` are private and are inlined; one with `tds.vjp = @g` has the custom
    derivative `@g : (args..., result, d_result) -> (d_args...)`.

    **Values.** Tensors are builtin ranked tensors of static shape over `i1` (bool), `i8`, `ui8`, `i32`, `i64`, `f16`, `bf16`, `f32` and
    `f64`. Signless integers are signed numbers here. Element operations take tensors of one shape, or scalars: the same operations
    make up the bodies of `tds.generic`. There is no implicit broadcast or conversion.

    **Index definitions.** `tds.generic` computes every element of a tensor by a scalar body over loop indices; `tds.read` fetches an element of a
    tensor inside it. Indices are SSA values of type `index`: the loop indices, affine expressions of them (`tds.apply`), or integers
    read from tensors (`tds.cast` to `index`), which makes the read a gather.

    **Float arithmetic** follows IEEE 754 with one rounding an operation. The order of the terms of a reduction is left to the
    schedule; a sum of products accumulates by fused multiply-add.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def TDS_Float : AnyTypeOf<[F16, BF16, F32, F64], "float">;
def TDS_Int : AnyTypeOf<[I8, UI8, I32, I64], "integer">;
def TDS_Number : AnyTypeOf<[TDS_Int, TDS_Float], "number">;
def TDS_Element : AnyTypeOf<[I1, TDS_Int, TDS_Float], "element">;

class TDS_TensorOf<list<Type> allowed> : StaticShapeTensorOf<allowed>;
def TDS_Tensor : TDS_TensorOf<[I1, I8, UI8, I32, I64, F16, BF16, F32, F64]>;

def TDS_BoolLike : AnyTypeOf<[I1, TDS_TensorOf<[I1]>], "bool scalar or tensor">;
def TDS_FloatLike : AnyTypeOf<[F16, BF16, F32, F64, TDS_TensorOf<[F16, BF16, F32, F64]>],
                              "float scalar or tensor">;
def TDS_NumberLike : AnyTypeOf<[I8, UI8, I32, I64, F16, BF16, F32, F64,
                                TDS_TensorOf<[I8, UI8, I32, I64, F16, BF16, F32, F64]>],
                               "number scalar or tensor">;
def TDS_IntLike : AnyTypeOf<[I8, UI8, I32, I64, TDS_TensorOf<[I8, UI8, I32, I64]>],
                            "integer scalar or tensor">;
def TDS_ValueLike : AnyTypeOf<[I1, I8, UI8, I32, I64, F16, BF16, F32, F64, TDS_Tensor],
                              "scalar or tensor">;
// `index` exists only inside bodies.
def TDS_CastLike : AnyTypeOf<[TDS_ValueLike, Index], "scalar, tensor or index">;

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

def TDS_ReductionKind : I32EnumAttr<"ReductionKind", "how a reduction combines its terms", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
    I32EnumAttrCase<"Any", 4, "any">, I32EnumAttrCase<"All", 5, "all">,
    I32EnumAttrCase<"ArgMax", 6, "argmax">, I32EnumAttrCase<"ArgMin", 7, "argmin">]> {
  let cppNamespace = "::tdsl::tds";
}

def TDS_ComparePredicate : I32EnumAttr<"ComparePredicate", "comparison", [
    I32EnumAttrCase<"EQ", 0, "eq">, I32EnumAttrCase<"NE", 1, "ne">,
    I32EnumAttrCase<"LT", 2, "lt">, I32EnumAttrCase<"LE", 3, "le">,
    I32EnumAttrCase<"GT", 4, "gt">, I32EnumAttrCase<"GE", 5, "ge">]> {
  let cppNamespace = "::tdsl::tds";
}

def TDS_RandomKind : I32EnumAttr<"RandomKind", "distribution of a random number", [
    I32EnumAttrCase<"Uniform", 0, "uniform">, I32EnumAttrCase<"Normal", 1, "normal">]> {
  let cppNamespace = "::tdsl::tds";
}

def TDS_VariableRole : I32EnumAttr<"VariableRole", "what a variable is for", [
    I32EnumAttrCase<"Param", 0, "param">, I32EnumAttrCase<"State", 1, "state">,
    I32EnumAttrCase<"Optimizer", 2, "optimizer">, I32EnumAttrCase<"Counter", 3, "counter">]> {
  let cppNamespace = "::tdsl::tds";
}

#endif // TDSL_DIALECT_TDS_TDSBASE_TD
