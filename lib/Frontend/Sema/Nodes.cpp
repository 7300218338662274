//===- Nodes.cpp - Building nodes -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checker.h"
#include "llvm/ADT/SmallString.h"

using namespace tdsl;
using namespace tdsl::sema;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

static constexpr uint64_t maxNodes = 5'000'000;
static constexpr int64_t maxElements = int64_t(1) << 40;

/// A message about a body also shows the call that asked for it, and the
/// place in the main file that led there.
DiagBuilder Checker::report(Diag kind, Range range) {
  DiagBuilder builder(aborted ? nullptr : &diags, kind, range);
  if (active.empty() || !frame || frame->fn != active.back().fn ||
      !active.back().range.isValid())
    return builder;
  builder.label(active.back().range, "in this call");
  auto inMain = [&](Range r) {
    return r.isValid() && sources.getFile(r.begin) == mainScope->file.id;
  };
  if (!inMain(active.back().range) && mainScope)
    for (const Active &call : llvm::reverse(active))
      if (inMain(call.range)) {
        builder.label(call.range, "which comes from here");
        break;
      }
  return builder;
}

/// Stops a program that unrolls into too much.
bool Checker::overLimit(uint64_t count, Range where) {
  numNodes = llvm::SaturatingAdd(numNodes, count);
  if (numNodes <= maxNodes)
    return aborted;
  if (!where.isValid() && frame && frame->fn)
    where = frame->fn->name.range;
  if (!aborted)
    report(Diag::TooManyOps, where) << Twine(maxNodes);
  aborted = true;
  return true;
}

StringRef Checker::intern(const Twine &text) {
  llvm::SmallString<64> buffer;
  StringRef source = text.toStringRef(buffer);
  char *out = program.arena.Allocate<char>(source.size());
  std::copy(source.begin(), source.end(), out);
  return StringRef(out, source.size());
}

const Scalar *Checker::keep(Scalar scalar) {
  program.scalars.push_back(std::move(scalar));
  return &program.scalars.back();
}

Node *Checker::makeNode(Op op, Type type, ArrayRef<Value> operands,
                        Range range) {
  overLimit();
  Node *node = new (program.arena.Allocate<Node>()) Node();
  node->op = op;
  node->range = range;
  Type *types = new (program.arena.Allocate<Type>()) Type(type);
  node->types = ArrayRef<Type>(types, 1);
  node->operands = copy(operands);
  if (op == Op::Argument || op == Op::LoopIndex)
    return node;
  FoldState *fold = frame->state ? frame->state->fold : nullptr;
  if (fold)
    node->foldDepth = fold->depth;
  if (op == Op::FoldArgument)
    return node;
  if (body)
    body->nodes.push_back(node);
  else if (fold)
    fold->out->nodes.push_back(node);
  else if (frame->state)
    frame->state->out->nodes.push_back(node);
  return node;
}

Value Checker::makeConstant(const Scalar &scalar, ArrayRef<Axis> axes,
                            Range range) {
  Node *node = makeNode(Op::Constant, Type{scalar.elem, axes}, {}, range);
  node->value = keep(scalar);
  return {node, 0};
}

Value Checker::makeInt(Elem elem, int64_t value, ArrayRef<Axis> axes,
                       Range range) {
  Scalar scalar;
  scalar.elem = elem;
  scalar.integer = value;
  return makeConstant(scalar, axes, range);
}

Value Checker::makeFloat(Elem elem, double value, ArrayRef<Axis> axes,
                         Range range) {
  Scalar scalar;
  scalar.elem = elem;
  scalar.real = llvm::APFloat(value);
  bool lost;
  scalar.real.convert(getSemantics(elem), llvm::APFloat::rmNearestTiesToEven,
                      &lost);
  return makeConstant(scalar, axes, range);
}

Value Checker::makeNumber(Elem elem, int64_t value, ArrayRef<Axis> axes,
                          Range range) {
  return typed::isFloat(elem) ? makeFloat(elem, double(value), axes, range)
                              : makeInt(elem, value, axes, range);
}

Value Checker::makeCast(Value value, Elem elem, Range range) {
  if (value.type().elem == elem)
    return value;
  return make(Op::Cast, Type{elem, value.type().axes}, value, range);
}

/// `axes` is a shape that `value` broadcasts to: trailing axes align.
Value Checker::makeBroadcast(Value value, ArrayRef<Axis> axes, Range range) {
  const Type &from = value.type();
  if (body || sameShape(from.axes, axes))
    return value;
  // A constant is simply made in the larger shape.
  if (value.node->op == Op::Constant && from.isScalar())
    return makeConstant(*value.node->value, axes, range);
  Node *node = makeNode(Op::Broadcast, Type{from.elem, axes}, value, range);
  llvm::SmallVector<int64_t, 4> numbers;
  for (unsigned i = 0; i < from.rank(); ++i)
    numbers.push_back(axes.size() - from.rank() + i);
  node->numbers = copy(ArrayRef<int64_t>(numbers));
  return {node, 0};
}

Value Checker::makeReshape(Value value, ArrayRef<Axis> axes, Range range) {
  return make(Op::Reshape, Type{value.type().elem, axes}, value, range);
}

bool Checker::checkType(const Type &type, Range range) {
  if (type.rank() > typed::kRankLimit) {
    report(Diag::TooManyAxes, range)
        << "this tensor" << Twine(type.rank()) << Twine(typed::kRankLimit);
    return false;
  }
  int64_t count = 1;
  bool empty = false;
  for (const Axis &axis : type.axes) {
    if (axis.size < 0) {
      report(Diag::NegativeSize, range) << Twine(axis.size);
      return false;
    }
    empty |= axis.size == 0;
  }
  for (const Axis &axis : type.axes) {
    if (!empty && llvm::MulOverflow(count, axis.size, count))
      count = maxElements + 1;
    if (!empty && count > maxElements) {
      report(Diag::TensorTooLarge, range) << toString(type);
      return false;
    }
  }
  return true;
}
