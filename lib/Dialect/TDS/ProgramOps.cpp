//===- ProgramOps.cpp - variables, gradients and kernels -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tdsl::tds;

#define GET_OP_CLASSES
#include "tdsl/Dialect/TDS/TDSOps.cpp.inc"

//===----------------------------------------------------------------------===//
// GradientOp
//===----------------------------------------------------------------------===//

ParseResult GradientOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand loss;
  SmallVector<OpAsmParser::UnresolvedOperand> wrt;
  Type lossType;
  SmallVector<Type> wrtTypes;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperand(loss) || parser.parseKeyword("wrt") ||
      parser.parseOperandList(wrt) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(lossType) || parser.parseKeyword("wrt") ||
      parser.parseTypeList(wrtTypes) ||
      parser.resolveOperand(loss, lossType, result.operands) ||
      parser.resolveOperands(wrt, wrtTypes, loc, result.operands))
    return failure();
  result.addTypes(wrtTypes);
  return success();
}

void GradientOp::print(OpAsmPrinter &printer) {
  printer << " " << getLoss() << " wrt " << getWrt();
  printer.printOptionalAttrDict((*this)->getAttrs());
  printer << " : " << getLoss().getType() << " wrt " << getWrt().getTypes();
}

LogicalResult GradientOp::verify() {
  if (getWrt().getTypes() != getGradients().getTypes())
    return emitOpError(
        "gives types that differ from those of its variables (gradient_c2)");
  return success();
}

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

/// What holds for a kernel that is made of kernels.
static LogicalResult verifyParts(KernelOp kernel) {
  int64_t stage = -1;
  for (Operation &op : kernel.getBlock()->without_terminator()) {
    auto part = dyn_cast<KernelOp>(op);
    if (!part || part.hasParts())
      return kernel.emitOpError("of kind 'parts' holds ")
             << op.getName() << (part ? " of that kind" : "")
             << ", expected kernels of the other kinds (kernel_c1)";
    if (part.getStage() < stage)
      return part.emitOpError("of stage ")
             << part.getStage() << " stands behind one of stage " << stage
             << " (kernel_c1)";
    if (part.getStage() > stage + 1 || (stage < 0 && part.getStage() > 0))
      return part.emitOpError("of stage ")
             << part.getStage() << " has no part of the stage before it "
             << "(kernel_c1)";
    stage = part.getStage();
    for (Value input : part.getInputs())
      if (auto maker = input.getDefiningOp<KernelOp>();
          !isa<BlockArgument>(input) && (!maker || maker.getStage() >= stage))
        return part.emitOpError("reads what another part of its kernel makes "
                                "in the same stage (kernel_c1)");
  }
  Operation *yield = kernel.getBlock()->getTerminator();
  for (auto part : kernel.getBlock()->getOps<KernelOp>())
    for (OpResult output : part->getResults())
      if (llvm::count(yield->getOperands(), output) != 1)
        return part.emitOpError("is a part, and its output ")
               << output.getResultNumber()
               << " is not yielded exactly once (kernel_c1)";
  for (Value yielded : kernel.getBlock()->getTerminator()->getOperands())
    if (!yielded.getDefiningOp())
      return kernel.emitOpError("yields what no part makes (kernel_c1)");
  return success();
}

std::pair<KernelOp, unsigned> KernelOp::getPartOf(unsigned output) {
  auto made = cast<OpResult>(getBlock()->getTerminator()->getOperand(output));
  return {cast<KernelOp>(made.getOwner()), made.getResultNumber()};
}

LogicalResult KernelOp::verify() {
  Block *block = getBlock();
  if (block->getArgumentTypes() != getInputs().getTypes())
    return emitOpError("has block arguments of other types than its inputs");
  auto yield = dyn_cast<YieldOp>(block->getTerminator());
  if (!yield || yield.getOperandTypes() != getOutputs().getTypes())
    return emitOpError("must end in a tds.yield of its outputs");
  if (hasParts())
    return verifyParts(*this);
  unsigned contracts = 0, scatters = 0, attentions = 0, derivatives = 0;
  for (Operation &op : block->without_terminator()) {
    contracts += isa<ContractOp>(op);
    scatters += isa<ScatterOp>(op);
    attentions += isa<AttentionOp>(op);
    derivatives += isa<AttentionGradOp>(op);
    if (!isa<GenericOp, ContractOp, ScatterOp, AttentionOp, AttentionGradOp,
             ConstantOp>(op))
      return emitOpError("holds ")
             << op.getName()
             << ", expected generics, contracts, scatters, attentions and "
                "constants (kernel_c1)";
  }
  StringRef kind = getKind();
  if (kind != "loop" && kind != "row" && kind != "contract" &&
      kind != "scatter" && kind != "attention" && kind != "attention_grad")
    return emitOpError("has the unknown kind '") << kind << "' (kernel_c1)";
  if (contracts != (kind == "contract" ? 1u : 0u) ||
      scatters != (kind == "scatter" ? 1u : 0u))
    return emitOpError("of kind '")
           << kind << "' holds " << contracts << " contracts and " << scatters
           << " scatters (kernel_c1)";
  if (attentions != (kind == "attention" ? 1u : 0u) ||
      derivatives != (kind == "attention_grad" ? 1u : 0u))
    return emitOpError("of kind '")
           << kind << "' holds " << attentions << " attentions and "
           << derivatives << " derivatives of one (kernel_c1)";
  return success();
}
