//===- Describe.cpp - kernels and places in words -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Artifact/CountOperations.h"
#include "tdsl/Artifact/Manifest.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

namespace {

/// Writes an expression, and stops where it gets long.
class Describer {
public:
  explicit Describer(KernelOp kernel) : kernel(kernel) {}

  std::string run() {
    Operation *terminator = kernel.getBlock()->getTerminator();
    if (terminator->getNumOperands() == 0)
      return kernel.getKind().str();
    tensor(getMain(terminator->getOperands()));
    if (text.size() > longest) {
      text.resize(longest);
      text += "...";
    }
    if (unsigned others = terminator->getNumOperands() - 1)
      text += " (+" + std::to_string(others) + ")";
    return text;
  }

private:
  /// What the kernel is named by: of parts that of the one that works most, the
  /// last one in a kernel of one part.
  static Value getMain(ValueRange outputs) {
    Value main = outputs.back();
    double most = -1;
    for (Value output : outputs) {
      auto part = output.getDefiningOp<KernelOp>();
      double work = part ? double(countFloatOperations(part)) +
                               double(cast<RankedTensorType>(output.getType())
                                          .getNumElements())
                         : -1;
      if (work >= most) {
        most = work;
        main = output;
      }
    }
    return main;
  }

  static constexpr size_t longest = 72;
  static constexpr unsigned deepest = 24;

  bool isFull() const { return text.size() > longest || depth > deepest; }

  /// Input 0 is a, 25 is z, 26 is a1.
  void input(unsigned number) {
    text += static_cast<char>('a' + number % 26);
    if (number >= 26)
      text += std::to_string(number / 26);
  }

  void tensor(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      // A part names the inputs as the whole kernel does.
      if (auto part = dyn_cast<KernelOp>(argument.getOwner()->getParentOp());
          part && part != kernel)
        return tensor(part.getInputs()[argument.getArgNumber()]);
      return input(argument.getArgNumber());
    }
    if (isFull()) {
      text += "...";
      return;
    }
    ++depth;
    Operation *op = value.getDefiningOp();
    if (auto contract = dyn_cast<ContractOp>(op)) {
      tensor(contract.getLhs());
      text += " @ ";
      tensor(contract.getRhs());
    } else if (auto generic = dyn_cast<GenericOp>(op)) {
      if (generic.getKind()) {
        text += stringifyReductionKind(*generic.getKind());
        text += "(";
      }
      scalar(generic.getYielded(), 0);
      if (generic.getKind())
        text += ")";
    } else if (isa<AttentionOp, AttentionGradOp>(op)) {
      bool isGrad = isa<AttentionGradOp>(op);
      text += isGrad ? "attention_grad(" : "attention(";
      llvm::SetVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.insert(operand);
      llvm::interleave(
          operands, [&](Value operand) { tensor(operand); },
          [&] { text += ", "; });
      text += ")";
    } else if (auto part = dyn_cast<KernelOp>(op)) {
      unsigned output = cast<OpResult>(value).getResultNumber();
      tensor(part.getBlock()->getTerminator()->getOperand(output));
    } else if (auto scatter = dyn_cast<ScatterOp>(op)) {
      text += "scatter(";
      scalar(scatter.getYielded(), 0);
      text += ")";
    } else {
      text += "constant";
    }
    --depth;
  }

  /// `level`: 0 anything, 1 a term of a sum, 2 a factor.
  void scalar(Value value, unsigned level) {
    if (isFull()) {
      text += "...";
      return;
    }
    Operation *op = value.getDefiningOp();
    if (!op) {
      text += "i";
      text += std::to_string(cast<BlockArgument>(value).getArgNumber());
      return;
    }
    ++depth;
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](ReadOp read) { readTensor(read, level); })
        .Case([&](ConstantOp constant) { number(constant.getValue()); })
        .Case([&](CastOp cast) { scalar(cast.getOperand(), level); })
        .Case<AddOp>([&](auto) { binary(op, " + ", 1, level); })
        .Case<SubOp>([&](auto) { binary(op, " - ", 1, level); })
        .Case<MulOp>([&](auto) { binary(op, " * ", 2, level); })
        .Case<DivOp>([&](auto) { binary(op, " / ", 2, level); })
        .Case([&](SelectOp select) {
          text += level > 0 ? "(if " : "if ";
          scalar(select.getCondition(), 1);
          text += " then ";
          scalar(select.getOnTrue(), 1);
          text += " else ";
          scalar(select.getOnFalse(), 1);
          if (level > 0)
            text += ")";
        })
        .Case([&](CompareOp compare) {
          static constexpr const char *signs[] = {" == ", " != ", " < ",
                                                  " <= ", " > ",  " >= "};
          binary(op, signs[static_cast<unsigned>(compare.getPredicate())], 1,
                 level);
        })
        .Default([&](Operation *) { call(op); });
    --depth;
  }

  void readTensor(ReadOp read, unsigned level) {
    Operation *producer = read.getTensor().getDefiningOp();
    bool isExpression =
        producer && isa<GenericOp, ContractOp>(producer) && level > 0;
    if (auto generic = dyn_cast_or_null<GenericOp>(producer))
      isExpression &= !generic.getKind();
    if (isExpression)
      text += "(";
    tensor(read.getTensor());
    if (isExpression)
      text += ")";
  }

  void binary(Operation *op, StringRef sign, unsigned strength,
              unsigned level) {
    bool isInner = strength < level ||
                   (strength == level && sign != " + " && sign != " * ");
    if (isInner)
      text += "(";
    scalar(op->getOperand(0), strength);
    text += sign;
    // What follows a minus or a slash keeps its brackets.
    scalar(op->getOperand(1), sign == " - " || sign == " / " ? 2 : strength);
    if (isInner)
      text += ")";
  }

  void call(Operation *op) {
    text += op->getName().stripDialect();
    text += "(";
    for (unsigned i = 0; i < op->getNumOperands() && !isFull(); ++i) {
      if (i > 0)
        text += ", ";
      scalar(op->getOperand(i), 0);
    }
    text += ")";
  }

  void number(Attribute value) {
    llvm::raw_string_ostream stream(text);
    if (auto number = dyn_cast<FloatAttr>(value))
      stream << llvm::format("%g", number.getValueAsDouble());
    else if (auto number = dyn_cast<IntegerAttr>(value))
      stream << number.getValue().getSExtValue();
    else
      stream << "constant";
  }

  KernelOp kernel;
  std::string text;
  unsigned depth = 0;
};

} // namespace

std::string tdsl::describeKernel(KernelOp kernel) {
  return Describer(kernel).run();
}
