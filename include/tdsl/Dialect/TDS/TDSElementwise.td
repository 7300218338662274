//===- TDSElementwise.td - element operations of the tds dialect -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_DIALECT_TDS_TDSELEMENTWISE_TD
#define TDSL_DIALECT_TDS_TDSELEMENTWISE_TD

include "tdsl/Dialect/TDS/TDSBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class TDS_Op<string mnemonic, list<Trait> traits = []> : Op<TDS_Dialect, mnemonic, traits>;

// An operation on each element, with the same meaning for scalars and tensors.
def TDS_ElementwiseTrait : NativeOpTrait<"ElementwiseOp"> {
  let cppNamespace = "::tdsl::tds";
}

class TDS_ElementwiseOp<string mnemonic, list<Trait> traits = []>
    : TDS_Op<mnemonic, traits # [Pure, TDS_ElementwiseTrait]>;

class TDS_UnaryOp<string mnemonic, Type type, list<Trait> traits = []>
    : TDS_ElementwiseOp<mnemonic, traits # [SameOperandsAndResultType]> {
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let hasFolder = 1;
}

class TDS_BinaryOp<string mnemonic, Type type, list<Trait> traits = []>
    : TDS_ElementwiseOp<mnemonic, traits # [SameOperandsAndResultType]> {
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

def TDS_AddOp : TDS_BinaryOp<"add", TDS_NumberLike, [Commutative]> {
  let summary = "sum of two numbers";
  let description = [{
    Integers wrap (two's complement). Floats follow IEEE 754.

    ```mlir
    %r = tds.add %a, %b : tensor<4xf32>
    ```
  }];
  let hasCanonicalizer = 1;
}
def TDS_SubOp : TDS_BinaryOp<"sub", TDS_NumberLike> {
  let summary = "difference of two numbers";
  let description = [{
    Integers wrap (two's complement).

    ```mlir
    %r = tds.sub %a, %b : tensor<4xf32>
    ```
  }];
  let hasCanonicalizer = 1;
}
def TDS_MulOp : TDS_BinaryOp<"mul", TDS_NumberLike, [Commutative]> {
  let summary = "product of two numbers";
  let description = [{
    Integers wrap (two's complement). `x * 0` is not 0 for floats that may be NaN, infinite or negative.

    ```mlir
    %r = tds.mul %a, %b : tensor<4xf32>
    ```
  }];
  let hasCanonicalizer = 1;
}
def TDS_DivOp : TDS_BinaryOp<"div", TDS_FloatLike> {
  let summary = "quotient of two floats, correctly rounded";
  let description = [{
    ```mlir
    %r = tds.div %a, %b : f32
    ```
  }];
  let hasCanonicalizer = 1;
}
def TDS_FloorDivOp : TDS_BinaryOp<"floordiv", TDS_NumberLike> {
  let summary = "floor of the exact quotient";
  let description = [{
    For integers `x // 0` is 0 and the smallest number divided by -1 is itself. For floats the result is the floor of the real quotient, not of the rounded one.

    ```mlir
    %r = tds.floordiv %a, %b : tensor<4xi32>
    ```
  }];
}
def TDS_ModOp : TDS_BinaryOp<"mod", TDS_NumberLike> {
  let summary = "remainder with the sign of the divisor";
  let description = [{
    `x - (x // y) * y`, computed exactly. For integers `x % 0` is 0.

    ```mlir
    %r = tds.mod %a, %b : tensor<4xi32>
    ```
  }];
}
def TDS_PowOp : TDS_BinaryOp<"pow", TDS_NumberLike> {
  let summary = "lhs to the power rhs";
  let description = [{
    Floats: at most 2 ulp, special cases by C99 annex F, exact where the f32 result is representable. With `literal`, which says that the exponent
    is a constant in the user's text, the exponents 0, 1, 2, 3 and 4 multiply instead: 1, `x`, `x * x`, `(x * x) * x`, `(x * x) * (x * x)`. An exponent
    that only turned out to be constant does not, so that folding changes no bit. Integers: repeated
    multiplication with wrapping; a negative exponent gives the floor of the real value, with `0 ** -n` = 0.

    ```mlir
    %r = tds.pow %a, %b : f32
    %s = tds.pow %a, %two {literal} : f32
    ```
  }];
  let arguments = (ins TDS_NumberLike:$lhs, TDS_NumberLike:$rhs, UnitAttr:$literal);
  let hasCanonicalizer = 1;
}
def TDS_MaxOp : TDS_BinaryOp<"max", TDS_NumberLike, [Commutative]> {
  let summary = "larger of two numbers; NaN where one is NaN";
  let description = [{
    `max(-0, +0)` is +0.

    ```mlir
    %r = tds.max %a, %b : tensor<4xf32>
    ```
  }];
}
def TDS_MinOp : TDS_BinaryOp<"min", TDS_NumberLike, [Commutative]> {
  let summary = "smaller of two numbers; NaN where one is NaN";
  let description = [{
    `min(-0, +0)` is -0.

    ```mlir
    %r = tds.min %a, %b : tensor<4xf32>
    ```
  }];
}
def TDS_ClampOp : TDS_ElementwiseOp<"clamp", [SameOperandsAndResultType]> {
  let summary = "min(max(x, low), high) with a derivative of its own";
  let description = [{
    NaN where any operand is NaN. The derivative by `x` is 1 on the bounds.

    ```mlir
    %r = tds.clamp %x, %low, %high : tensor<4xf32>
    ```
  }];
  let arguments = (ins TDS_NumberLike:$operand, TDS_NumberLike:$low, TDS_NumberLike:$high);
  let results = (outs TDS_NumberLike:$result);
  let assemblyFormat = "$operand `,` $low `,` $high attr-dict `:` type($result)";
  let hasFolder = 1;
}

class TDS_SimpleUnary<string mnemonic, Type type, string text, string note = "">
    : TDS_UnaryOp<mnemonic, type> {
  let summary = text;
  let description = note # "\n\n```mlir\n%r = tds." # mnemonic # " %x : tensor<4xf32>\n```\n";
}

def TDS_NegOp : TDS_SimpleUnary<"neg", TDS_NumberLike, "negated number",
  "Flips the sign bit of a float, also of a zero or NaN. Integers wrap.">;
def TDS_AbsOp : TDS_SimpleUnary<"abs", TDS_NumberLike, "absolute value",
  "The smallest integer stays itself. The derivative at 0 is 0.">;
def TDS_SignOp : TDS_SimpleUnary<"sign", TDS_NumberLike, "-1, 0 or 1 by the sign of the operand",
  "NaN stays NaN; zeros keep their sign.">;
def TDS_FloorOp : TDS_SimpleUnary<"floor", TDS_FloatLike, "largest integer not above the operand">;
def TDS_CeilOp : TDS_SimpleUnary<"ceil", TDS_FloatLike, "smallest integer not below the operand">;
def TDS_RoundOp : TDS_SimpleUnary<"round", TDS_FloatLike, "nearest integer, ties to even">;
def TDS_SqrtOp : TDS_SimpleUnary<"sqrt", TDS_FloatLike, "square root, correctly rounded">;
def TDS_RsqrtOp : TDS_SimpleUnary<"rsqrt", TDS_FloatLike, "1 / sqrt(x), at most 2 ulp">;
def TDS_ExpOp : TDS_SimpleUnary<"exp", TDS_FloatLike, "e to the power x, at most 2 ulp">;
def TDS_Expm1Op : TDS_SimpleUnary<"expm1", TDS_FloatLike, "exp(x) - 1, at most 2 ulp also near 0">;
def TDS_LogOp : TDS_SimpleUnary<"log", TDS_FloatLike, "natural logarithm, at most 2 ulp">;
def TDS_Log1pOp : TDS_SimpleUnary<"log1p", TDS_FloatLike, "log(1 + x), at most 2 ulp also near 0">;
def TDS_TanhOp : TDS_SimpleUnary<"tanh", TDS_FloatLike, "hyperbolic tangent, at most 2 ulp">;
def TDS_SigmoidOp : TDS_SimpleUnary<"sigmoid", TDS_FloatLike, "1 / (1 + exp(-x)), at most 2 ulp">;
def TDS_ErfOp : TDS_SimpleUnary<"erf", TDS_FloatLike, "error function, at most 2 ulp">;
def TDS_SinOp : TDS_SimpleUnary<"sin", TDS_FloatLike, "sine of radians, at most 2 ulp for every argument">;
def TDS_CosOp : TDS_SimpleUnary<"cos", TDS_FloatLike, "cosine of radians, at most 2 ulp for every argument">;
def TDS_StopGradientOp : TDS_ElementwiseOp<"stop_gradient", [SameOperandsAndResultType]> {
  let summary = "the operand, as a constant for every derivative";
  let description = [{
    Removed after differentiation.

    ```mlir
    %r = tds.stop_gradient %x : tensor<4xf32>
    ```
  }];
  let arguments = (ins TDS_ValueLike:$operand);
  let results = (outs TDS_ValueLike:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Truth values
//===----------------------------------------------------------------------===//

def TDS_AndOp : TDS_BinaryOp<"and", TDS_BoolLike, [Commutative]> {
  let summary = "both are true";
  let description = "\n\n```mlir\n%r = tds.and %a, %b : tensor<4xi1>\n```\n";
}
def TDS_OrOp : TDS_BinaryOp<"or", TDS_BoolLike, [Commutative]> {
  let summary = "at least one is true";
  let description = "\n\n```mlir\n%r = tds.or %a, %b : tensor<4xi1>\n```\n";
}
def TDS_NotOp : TDS_UnaryOp<"not", TDS_BoolLike> {
  let summary = "true where the operand is false";
  let description = "\n\n```mlir\n%r = tds.not %a : tensor<4xi1>\n```\n";
  let hasCanonicalizer = 1;
}

class TDS_ClassifyOp<string mnemonic> : TDS_ElementwiseOp<mnemonic, [SameOperandsAndResultShape,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let arguments = (ins TDS_FloatLike:$operand);
  let results = (outs TDS_BoolLike:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
  let hasFolder = 1;
}
def TDS_IsNanOp : TDS_ClassifyOp<"isnan"> {
  let summary = "the operand is a NaN";
  let description = "\n\n```mlir\n%r = tds.isnan %x : tensor<4xf32>\n```\n";
}
def TDS_IsFiniteOp : TDS_ClassifyOp<"isfinite"> {
  let summary = "the operand is neither infinite nor a NaN";
  let description = "\n\n```mlir\n%r = tds.isfinite %x : tensor<4xf32>\n```\n";
}

def TDS_CompareOp : TDS_ElementwiseOp<"compare", [SameTypeOperands, SameOperandsAndResultShape,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "comparison of two values of one type";
  let description = [{
    Every comparison with a NaN is false, except `ne`. Bools compare by `eq` and `ne` only (compare_c1).

    ```mlir
    %r = tds.compare lt %a, %b : tensor<4xf32>
    ```
  }];
  let arguments = (ins TDS_ComparePredicate:$predicate, TDS_CastLike:$lhs, TDS_CastLike:$rhs);
  let results = (outs TDS_BoolLike:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
}

def TDS_SelectOp : TDS_ElementwiseOp<"select", [AllTypesMatch<["on_true", "on_false", "result"]>,
    SameOperandsAndResultShape]> {
  let summary = "one of two values, by a condition";
  let description = [{
    The derivative with respect to the branch not taken is exactly 0, whatever its factors.

    ```mlir
    %r = tds.select %c, %a, %b : tensor<4xi1>, tensor<4xf32>
    ```
  }];
  let arguments = (ins TDS_BoolLike:$condition, TDS_ValueLike:$on_true, TDS_ValueLike:$on_false);
  let results = (outs TDS_ValueLike:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict `:` type($condition) `,` type($result)";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Conversion, constants and random numbers
//===----------------------------------------------------------------------===//

def TDS_CastOp : TDS_ElementwiseOp<"cast", [SameOperandsAndResultShape]> {
  let summary = "the nearest value of another element type";
  let description = [{
    To a float: round to nearest even, once; subnormals are kept, a NaN stays a NaN. Float to integer: truncates, saturates, NaN gives 0. Integer to
    integer: wraps. To `i1`: `x != 0`; from `i1`: 0 or 1. To and from `index` inside a body only (between integers).

    ```mlir
    %r = tds.cast %x : tensor<4xui8> to tensor<4xf32>
    ```
  }];
  let arguments = (ins TDS_CastLike:$operand);
  let results = (outs TDS_CastLike:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `to` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def TDS_ConstantOp : TDS_Op<"constant", [Pure, ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "a known scalar or tensor";
  let description = [{
    The value is a number attribute of the result's type for a scalar, a `dense` attribute of it for a tensor.

    ```mlir
    %zero = tds.constant 0.0 : f32
    %ones = tds.constant dense<1.0> : tensor<4xf32>
    ```
  }];
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs TDS_CastLike:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::TypedAttr":$value), [{
    build($_builder, $_state, value.getType(), value);
  }]>];
  let extraClassDeclaration = [{
    /// A constant of `type` (a scalar or a tensor) with `value` in every element. Floats are rounded to nearest even.
    static ConstantOp createSplat(::mlir::OpBuilder &builder, ::mlir::Location loc, ::mlir::Type type, double value);
  }];
}

def TDS_RandomOp : TDS_Op<"random", [Pure]> {
  let summary = "one random number of a counter-based generator";
  let description = [{
    Philox4x32-10 with the key `seed` and the counter (`linear` / 4, `iteration`, low word of `step`, `site`); word `linear` % 4 gives the number.
    `uniform` lies in [0, 1) with 24 random bits; `normal` has mean 0 and variance 1 (Box-Muller). A pure function of its operands: drawn again, it gives the same number.

    ```mlir
    %u = tds.random uniform %seed, %step, %linear {site = 3 : i32} : f32
    ```
  }];
  let arguments = (ins TDS_RandomKind:$kind, I64:$seed, I64:$step, Index:$linear,
                       Optional<Index>:$iteration, I32Attr:$site);
  let results = (outs F32:$result);
  let assemblyFormat = [{
    $kind $seed `,` $step `,` $linear (`iteration` $iteration^)? attr-dict `:` type($result)
  }];
}

#endif // TDSL_DIALECT_TDS_TDSELEMENTWISE_TD
