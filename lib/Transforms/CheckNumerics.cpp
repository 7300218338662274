//===- CheckNumerics.cpp - where a NaN or an infinity comes from -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See the description of tds-guard-gathers in Passes.td. Values are checked in
// the order of the program, so that the first flag that is set belongs to the
// operation that made the first of them.
//
//===----------------------------------------------------------------------===//

#include "EntryFlags.h"
#include "Phases.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static bool isInfinite(Attribute value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValue().isInfinity();
  auto elements = dyn_cast<DenseFPElementsAttr>(value);
  return elements && llvm::any_of(elements.getValues<APFloat>(),
                                  [](const APFloat &element) {
                                    return element.isInfinity();
                                  });
}

/// True where the operation itself holds an infinity: what the program writes
/// down, such as the guard of a mask, is no accident.
static bool writesInfinity(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        for (NamedAttribute attribute : inner->getAttrs())
          if (isInfinite(attribute.getValue()))
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

/// Operations that only move or choose what was checked before.
static bool onlyMoves(Operation *op) {
  return isa<ConstantOp, ReshapeOp, BroadcastOp, TransposeOp, StopGradientOp,
             SelectOp, RandomOp>(op);
}

/// After these an infinity that was meant is none any more.
static bool endsInfinity(Operation *op) {
  return isa<ExpOp, SigmoidOp, TanhOp, ErfOp>(op);
}

static Value makeCheck(OpBuilder &builder, Location loc, Value value,
                       bool allowInfinity) {
  auto type = cast<RankedTensorType>(value.getType());
  std::optional<ReductionKind> kind;
  if (type.getRank() != 0)
    kind = ReductionKind::Max;
  auto flag = RankedTensorType::get({}, builder.getI32Type());
  auto check = GenericOp::create(
      builder, loc, flag, type.getShape(), kind,
      [&](OpBuilder &inner, Location loc, ValueRange indices) -> Value {
        Value element = ReadOp::create(inner, loc, value, indices);
        Value bad;
        if (allowInfinity)
          bad = IsNanOp::create(inner, loc, inner.getI1Type(), element);
        else
          bad = NotOp::create(
              inner, loc, inner.getI1Type(),
              IsFiniteOp::create(inner, loc, inner.getI1Type(), element)
                  .getResult());
        return CastOp::create(inner, loc, inner.getI32Type(), bad);
      });
  return check.getResult();
}

static bool holdsFloats(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType()) &&
         type.getNumElements() != 0;
}

/// What an argument of an entry is called.
static std::string getArgumentText(func::FuncOp entry, unsigned index) {
  if (auto variable =
          entry.getArgAttrOfType<FlatSymbolRefAttr>(index, attr::kVariable))
    return "variable '" + variable.getValue().str() + "'";
  if (auto name = entry.getArgAttrOfType<StringAttr>(index, attr::kInput))
    return "input '" + name.getValue().str() + "'";
  return "an input";
}

/// A flag that is 0 where the call is skipped.
static Value unlessSkipped(OpBuilder &builder, Location loc, Value flag,
                           Value skipped) {
  Value zero = ConstantOp::createSplat(builder, loc, flag.getType(), 0);
  return SelectOp::create(builder, loc, flag.getType(), skipped, zero, flag);
}

void tdsl::checkNumerics(func::FuncOp entry, Value skipped,
                         SmallVectorImpl<EntryFlag> &flags) {
  Block &body = entry.getBody().front();
  OpBuilder builder(entry.getContext());
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  llvm::DenseSet<Value> mayBeInfinite;

  builder.setInsertionPointToStart(&body);
  for (BlockArgument argument : body.getArguments()) {
    if (!holdsFloats(argument))
      continue;
    EntryFlag &flag = flags.emplace_back();
    flag.flag = makeCheck(builder, argument.getLoc(), argument, false);
    flag.text = getArgumentText(entry, argument.getArgNumber()) +
                " holds a NaN or an infinity before the call";
    flag.source = getPlaceText(getFilePlace(argument.getLoc()));
    if (flag.source.empty())
      flag.source = getPlaceText(getFilePlace(entry.getLoc()));
  }

  for (Operation *op : ops) {
    bool isForward = isInForward(op);
    llvm::StringRef phase = takePhase(op);
    bool meant = writesInfinity(op);
    for (Value operand : op->getOperands())
      meant |= mayBeInfinite.contains(operand);
    // Values of an enclosing block that a nest reads are operands of its reads.
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        meant |= mayBeInfinite.contains(operand);
    });
    if (endsInfinity(op))
      meant = false;
    for (Value result : op->getResults()) {
      if (meant)
        mayBeInfinite.insert(result);
      if (!holdsFloats(result) || onlyMoves(op))
        continue;
      builder.setInsertionPointAfter(op);
      EntryFlag &flag = flags.emplace_back();
      flag.flag = makeCheck(builder, op->getLoc(), result, meant);
      if (skipped && !isForward) {
        // The condition is known at the end only.
        builder.setInsertionPoint(body.getTerminator());
        flag.flag = unlessSkipped(builder, op->getLoc(), flag.flag, skipped);
      }
      flag.text =
          ("the first NaN" + llvm::Twine(meant ? "" : " or infinity") +
           " comes from '" + op->getName().stripDialect() + "' " + phase)
              .str();
      flag.source = getPlaceText(getFilePlace(op->getLoc()));
    }
  }
}
