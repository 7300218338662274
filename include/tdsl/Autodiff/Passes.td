//===- Passes.td - passes of the autodiff stage -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_AUTODIFF_PASSES_TD
#define TDSL_AUTODIFF_PASSES_TD

include "mlir/Pass/PassBase.td"

def InlineCallsPass : Pass<"tds-inline-calls", "::mlir::ModuleOp"> {
  let summary = "Put the bodies of functions in place of their calls";
  let description = [{
    Calls of functions with a custom derivative (`tds.vjp`) stay where they are, so that `tds-differentiate` sees them. Functions that nothing calls any more
    and that are no entries are removed. Before that, each value that a `tds.gradient` names becomes a `tds.independent`: what calls bring together is not
    the same variable. Recursion is an error, and so are calls that unfold without bound.

    ```mlir
    func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = tds.mul %x, %x : tensor<4xf32>
      return %y : tensor<4xf32>
    }
    func.func @f(%x: tensor<4xf32> {tds.input = "x"}) -> (tensor<4xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
      %y = func.call @square(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<4xf32> {tds.input = "x"}) -> (tensor<4xf32> {tds.result = "y"}) attributes {tds.entry = "function"} {
      %y = tds.mul %x, %x : tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let statistics = [
    Statistic<"numInlined", "inlined", "Number of calls that the bodies of functions took the place of">
  ];
}

def DifferentiatePass : Pass<"tds-differentiate", "::mlir::ModuleOp"> {
  let summary = "Expand tds.gradient into operations";
  let description = [{
    Every `tds.gradient` becomes the reverse sweep over the operations between its variables and its loss, put in its place. They are
    expanded in source order, so a gradient may be differentiated by a later one. Afterwards the module holds no `tds.gradient`, no
    `tds.independent`, no `tds.stop_gradient` and no call. A variable that the loss does not reach has the gradient 0; an operation on the way that has no
    derivative is an error at its place.

    ```mlir
    %l = tds.reduce sum %y axes [0] : tensor<4xf32> to tensor<f32>
    %g = tds.gradient %l wrt %x : tensor<f32> wrt tensor<4xf32>
    ```

    with `%y = tds.sin %x` becomes

    ```mlir
    %l = tds.reduce sum %y axes [0] : tensor<4xf32> to tensor<f32>
    %g = tds.cos %x : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect", "::mlir::func::FuncDialect"];
  let options = [
    Option<"scaleRuleOption", "scale-rule", "std::string", /*default=*/"",
           "Test only: scale the derivative rule of an operation, as in tds.mul:1.01">
  ];
  let statistics = [
    Statistic<"numGradients", "gradients", "Number of tds.gradient operations expanded">
  ];
}

#endif // TDSL_AUTODIFF_PASSES_TD
