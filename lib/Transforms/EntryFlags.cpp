//===- EntryFlags.cpp - what an entry checks at run time -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryFlags.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

bool tdsl::isStandard(FileLineColLoc place) {
  return place.getFilename().getValue().starts_with("<");
}

FileLineColLoc tdsl::getFilePlace(Location loc) {
  FileLineColLoc place;
  loc->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    if (!place || !isStandard(file))
      place = file;
    return isStandard(file) ? WalkResult::advance() : WalkResult::interrupt();
  });
  return place;
}

std::string tdsl::getPlaceText(FileLineColLoc place) {
  std::string text;
  if (place)
    llvm::raw_string_ostream(text)
        << place.getFilename().getValue() << ":" << place.getLine() << ":"
        << place.getColumn();
  return text;
}

/// Some rank-0 flags as one tensor.
static Value collectSome(OpBuilder &builder, Location loc,
                         ArrayRef<EntryFlag> flags) {
  auto type = RankedTensorType::get({static_cast<int64_t>(flags.size())},
                                    builder.getI32Type());
  if (flags.size() == 1)
    return ReshapeOp::create(builder, loc, type, flags.front().flag);
  return GenericOp::create(
      builder, loc, type, {}, std::nullopt,
      [&](OpBuilder &inner, Location loc, ValueRange indices) -> Value {
        Value value;
        for (auto [i, flag] : llvm::enumerate(flags)) {
          Value next = ReadOp::create(inner, loc, flag.flag, ValueRange());
          if (!value) {
            value = next;
            continue;
          }
          Value at = ConstantOp::create(inner, loc, inner.getIndexAttr(i));
          Value isHere = CompareOp::create(inner, loc, ComparePredicate::EQ,
                                           indices[0], at);
          value =
              SelectOp::create(inner, loc, next.getType(), isHere, next, value);
        }
        return value;
      });
}

/// The rank-0 flags as one tensor: first parts of it, so that no kernel has
/// more operands than it may.
static Value collectFlags(OpBuilder &builder, Location loc,
                          ArrayRef<EntryFlag> flags) {
  constexpr size_t perPart = 32;
  if (flags.size() <= perPart)
    return collectSome(builder, loc, flags);
  SmallVector<Value> parts;
  for (size_t first = 0; first < flags.size(); first += perPart)
    parts.push_back(collectSome(
        builder, loc,
        flags.slice(first, std::min(perPart, flags.size() - first))));
  auto type = RankedTensorType::get({static_cast<int64_t>(flags.size())},
                                    builder.getI32Type());
  // Each part adds itself where it lies; elsewhere it reads as 0.
  Value all;
  int64_t first = 0;
  for (Value part : parts) {
    all = GenericOp::create(
        builder, loc, type, {}, std::nullopt,
        [&](OpBuilder &inner, Location loc, ValueRange indices) -> Value {
          auto shifted =
              AffineMap::get(1, 0, inner.getAffineDimExpr(0) - first);
          Value at = ApplyOp::create(inner, loc, inner.getIndexType(),
                                     AffineMapAttr::get(shifted),
                                     indices.take_front());
          Value element = ReadOp::create(
              inner, loc, inner.getI32Type(), part, ValueRange(at),
              cast<TypedAttr>(inner.getI32IntegerAttr(0)), /*clamped=*/false);
          if (!all)
            return element;
          return AddOp::create(inner, loc, element.getType(),
                               ReadOp::create(inner, loc, all, indices),
                               element);
        });
    first += perPart;
  }
  return all;
}

Value tdsl::getOldValue(func::FuncOp entry, FlatSymbolRefAttr variable,
                        Type type) {
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (entry.getArgAttr(i, attr::kVariable) == variable)
      return entry.getArgument(i);
  auto attributes = DictionaryAttr::get(
      entry.getContext(),
      {NamedAttribute(StringAttr::get(entry.getContext(), attr::kVariable),
                      variable)});
  unsigned position = entry.getNumArguments();
  (void)entry.insertArgument(position, type, attributes, entry.getLoc());
  return entry.getArgument(position);
}

Value tdsl::keepOld(OpBuilder &builder, Location loc, Value failed, Value old,
                    Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() != 0)
    failed = BroadcastOp::create(builder, loc, type.clone(builder.getI1Type()),
                                 failed, ArrayRef<int64_t>{});
  return SelectOp::create(builder, loc, type, failed, old, value);
}

void tdsl::keepVariables(func::FuncOp step, Value failed,
                         llvm::function_ref<bool(StringRef)> isExempt) {
  Operation *terminator = step.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  Location loc = step.getLoc();
  for (unsigned i = 0; i < step.getNumResults(); ++i) {
    auto variable =
        step.getResultAttrOfType<FlatSymbolRefAttr>(i, attr::kVariable);
    if (!variable || (isExempt && isExempt(variable.getValue())))
      continue;
    Value value = terminator->getOperand(i);
    Value old = getOldValue(step, variable, value.getType());
    if (old == value)
      continue;
    terminator->setOperand(i, keepOld(builder, loc, failed, old, value));
  }
}

void tdsl::addFlagsResult(func::FuncOp entry, ArrayRef<EntryFlag> flags) {
  if (flags.empty())
    return;

  Operation *terminator = entry.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  Location loc = entry.getLoc();
  Value all = collectFlags(builder, loc, flags);

  bool isStep =
      entry->getAttrOfType<StringAttr>(attr::kEntry).getValue() == "step";
  if (isStep) {
    auto scalar = RankedTensorType::get({}, builder.getI32Type());
    Value worst = ReduceOp::create(builder, loc, scalar, ReductionKind::Max,
                                   all, ArrayRef<int64_t>{0});
    Value zero = ConstantOp::createSplat(builder, loc, scalar, 0);
    Value failed =
        CompareOp::create(builder, loc, ComparePredicate::GT, worst, zero);
    keepVariables(entry, failed);
  }

  terminator->insertOperands(terminator->getNumOperands(), all);
  auto attributes = builder.getDictionaryAttr({builder.getNamedAttr(
      attr::kResult, builder.getStringAttr(attr::kFlags))});
  (void)entry.insertResult(entry.getNumResults(), all.getType(), attributes);
  SmallVector<Attribute> list;
  for (const EntryFlag &flag : flags)
    list.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("source", builder.getStringAttr(flag.source)),
         builder.getNamedAttr("text", builder.getStringAttr(flag.text))}));
  entry->setAttr(attr::kFlags, builder.getArrayAttr(list));
}
