//===- Rules.h - how derivative rules are written -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_AUTODIFF_RULES_H
#define TDSL_LIB_AUTODIFF_RULES_H

#include "AdjointBuilder.h"

namespace tdsl::autodiff {

/// What a rule sees: the adjoint `g` of the result, never null, and a place for
/// the adjoint of each input.
class RuleContext : public AdjointBuilder {
public:
  RuleContext(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value adjoint,
              llvm::ArrayRef<bool> needed,
              llvm::SmallVectorImpl<mlir::Value> &adjoints)
      : AdjointBuilder(builder, loc), g(adjoint), needed(needed),
        adjoints(adjoints) {
    adjoints.assign(needed.size(), mlir::Value());
  }

  bool wants(unsigned input) const { return needed[input]; }
  void give(unsigned input, mlir::Value adjoint) { adjoints[input] = adjoint; }

  const mlir::Value g;

private:
  llvm::ArrayRef<bool> needed;
  llvm::SmallVectorImpl<mlir::Value> &adjoints;
};

/// The external model that runs `rule` for `Op`, which has one result.
template <typename Op, llvm::LogicalResult (*rule)(Op, RuleContext &)>
struct RuleModel
    : tds::DifferentiableOpInterface::ExternalModel<RuleModel<Op, rule>, Op> {
  llvm::LogicalResult
  buildAdjoints(mlir::Operation *op, mlir::OpBuilder &builder,
                llvm::ArrayRef<mlir::Value> adjoints,
                llvm::ArrayRef<bool> needed,
                llvm::SmallVectorImpl<mlir::Value> &inputAdjoints) const {
    if (adjoints.size() != 1)
      return op->emitError() << "no derivative for '" << op->getName()
                             << "' with " << adjoints.size() << " results";
    RuleContext context(builder, op->getLoc(), adjoints.front(), needed,
                        inputAdjoints);
    return rule(llvm::cast<Op>(op), context);
  }
};

/// Attaches `rule` to `Op` in the context.
template <typename Op, llvm::LogicalResult (*rule)(Op, RuleContext &)>
void attachRule(mlir::MLIRContext *context) {
  Op::template attachInterface<RuleModel<Op, rule>>(*context);
}

// One function per file of rules.
void attachAttentionRules(mlir::MLIRContext *context);
void attachCallRule(mlir::MLIRContext *context);
void attachContractRule(mlir::MLIRContext *context);
void attachElementRules(mlir::MLIRContext *context);
void attachFoldRule(mlir::MLIRContext *context);
void attachGenericRule(mlir::MLIRContext *context);
void attachReduceRule(mlir::MLIRContext *context);
void attachScatterRule(mlir::MLIRContext *context);
void attachShapeRules(mlir::MLIRContext *context);

} // namespace tdsl::autodiff

#endif // TDSL_LIB_AUTODIFF_RULES_H
