//===- GraphPass.h - what passes of fusion share -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_FUSION_GRAPHPASS_H
#define TDSL_LIB_FUSION_GRAPHPASS_H

#include "tdsl/Fusion/Bodies.h"
#include "tdsl/Fusion/CostModel.h"

#include <optional>

namespace tdsl {

/// A pass that rewrites the blocks of a function one after the other, by
/// `Derived::runOnBlock(Block &)`. `Base` is the class that TableGen made.
template <typename Derived, typename Base> class GraphPass : public Base {
public:
  using Base::Base;

  void runOnOperation() override {
    if (failed(rewriteGraph(this->getOperation(), [&](mlir::Block &block) {
          static_cast<Derived *>(this)->runOnBlock(block);
          return mlir::success();
        })))
      this->signalPassFailure();
  }
};

/// The same with the cost model of the device that the option `target` names.
template <typename Derived, typename Base>
class CostModelPass : public GraphPass<Derived, Base> {
public:
  using GraphPass<Derived, Base>::GraphPass;

  void runOnOperation() override {
    model = loadCostModel(this->target, this->getOperation());
    if (!model)
      return this->signalPassFailure();
    GraphPass<Derived, Base>::runOnOperation();
  }

protected:
  std::optional<CostModel> model;
};

} // namespace tdsl

#endif // TDSL_LIB_FUSION_GRAPHPASS_H
