//===- Literals.cpp - Numbers and tensors that are written out -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checker.h"
#include "llvm/Support/Error.h"

using namespace tdsl;
using namespace tdsl::sema;
using llvm::ArrayRef;
using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;
using llvm::StringRef;
using llvm::Twine;

Val Checker::elabInt(const ast::IntExpr *e, Expect expect) {
  if (e->value > uint64_t(INT64_MAX)) {
    report(Diag::LiteralDoesNotFit, e->range)
        << Twine(e->value) << typed::getName(expect.elem.value_or(Elem::I64));
    return Val();
  }
  Val dim = Val::makeDim(e->value, true);
  if (expect.elem && typed::isNumber(*expect.elem) &&
      frame->mode != Mode::Const) {
    Value value = materialise(dim, e->range, expect.elem);
    return value ? Val::makeTensor(value, body != nullptr) : Val();
  }
  return dim;
}

Val Checker::elabFloat(const ast::FloatExpr *e, Expect expect) {
  Elem elem = expect.elem.value_or(Elem::F32);
  if (!typed::isFloat(elem)) {
    auto d = report(Diag::FloatWhereInt, e->range);
    d << e->text << typed::getName(elem);
    return Val();
  }
  Scalar scalar;
  scalar.elem = elem;
  const llvm::fltSemantics &semantics = typed::getSemantics(elem);
  if (e->text == "inf") {
    scalar.real = llvm::APFloat::getInf(semantics);
  } else if (e->text == "nan") {
    scalar.real = llvm::APFloat::getQNaN(semantics);
  } else {
    scalar.real = llvm::APFloat(semantics);
    auto status = scalar.real.convertFromString(
        e->text, llvm::APFloat::rmNearestTiesToEven);
    if (!status) {
      llvm::consumeError(status.takeError());
      return Val();
    }
    if (scalar.real.isInfinity()) {
      report(Diag::LiteralDoesNotFit, e->range)
          << e->text.take_front(40) << typed::getName(elem);
      return Val();
    }
  }
  Val val;
  val.kind = Val::Number;
  val.scalar = keep(scalar);
  return val;
}

/// A constant expression of literals takes its type from the other operand.
bool Checker::isFlexible(const ast::Expr *e) {
  while (true) {
    switch (e->kind) {
    case ast::ExprKind::Int:
    case ast::ExprKind::Float:
      return true;
    case ast::ExprKind::Unary: {
      auto *unary = cast<ast::UnaryExpr>(e);
      if (unary->op != ast::UnaryOp::Neg)
        return false;
      e = unary->operand;
      continue;
    }
    case ast::ExprKind::Binary: {
      auto *binary = cast<ast::BinaryExpr>(e);
      if (binary->op < ast::BinaryOp::Add ||
          binary->op == ast::BinaryOp::MatMul || !isFlexible(binary->rhs))
        return false;
      e = binary->lhs;
      continue;
    }
    case ast::ExprKind::Select: {
      auto *select = cast<ast::SelectExpr>(e);
      if (!isFlexible(select->thenValue))
        return false;
      e = select->elseValue;
      continue;
    }
    case ast::ExprKind::Call: {
      auto *call = cast<ast::CallExpr>(e);
      auto *name = dyn_cast<ast::NameExpr>(call->callee);
      if (!name || call->args.empty())
        return false;
      Val callee = lookup(name->name, name->range, false);
      if (callee.kind != Val::BuiltinName || callee.builtin > Builtin::Pow ||
          callee.builtin == Builtin::IsNan ||
          callee.builtin == Builtin::IsFinite)
        if (callee.builtin != Builtin::Max && callee.builtin != Builtin::Min)
          return false;
      return llvm::all_of(call->args, [&](const ast::Arg &arg) {
        return isFlexible(arg.value);
      });
    }
    case ast::ExprKind::List: {
      auto *list = cast<ast::ListExpr>(e);
      return !list->items.empty() &&
             llvm::all_of(list->items, [&](const ast::ListItem &item) {
               return !item.isPack && isFlexible(item.value);
             });
    }
    default:
      return false;
    }
  }
}

/// A flexible expression that is a float when nobody asks for a type.
bool Checker::hasFloatLiteral(const ast::Expr *e) {
  while (true) {
    switch (e->kind) {
    case ast::ExprKind::Float:
      return true;
    case ast::ExprKind::Unary:
      e = cast<ast::UnaryExpr>(e)->operand;
      continue;
    case ast::ExprKind::Binary:
      if (hasFloatLiteral(cast<ast::BinaryExpr>(e)->rhs))
        return true;
      e = cast<ast::BinaryExpr>(e)->lhs;
      continue;
    case ast::ExprKind::Select:
      if (hasFloatLiteral(cast<ast::SelectExpr>(e)->thenValue))
        return true;
      e = cast<ast::SelectExpr>(e)->elseValue;
      continue;
    case ast::ExprKind::Call: {
      auto *call = cast<ast::CallExpr>(e);
      auto *name = cast<ast::NameExpr>(call->callee);
      Val callee = lookup(name->name, name->range, false);
      // sqrt(2) is a float, max(1, 2) is not.
      if (callee.builtin < Builtin::Abs)
        return true;
      return llvm::any_of(call->args, [&](const ast::Arg &arg) {
        return hasFloatLiteral(arg.value);
      });
    }
    case ast::ExprKind::List:
      return llvm::any_of(cast<ast::ListExpr>(e)->items,
                          [&](const ast::ListItem &item) {
                            return hasFloatLiteral(item.value);
                          });
    default:
      return false;
    }
  }
}

//===----------------------------------------------------------------------===//
// Tensors that are written out
//===----------------------------------------------------------------------===//

/// The first number of a list of lists.
static const ast::Expr *getFirstElement(const ast::Expr *e) {
  while (auto *list = llvm::dyn_cast_or_null<ast::ListExpr>(e))
    e = list->items.empty() ? nullptr : list->items.front().value;
  return e;
}

/// Appends the elements of `e`, which lies `depth` lists deep, in row-major
/// order. `axes` is the shape as far as it is known.
bool Checker::collectElements(const ast::ListExpr *e, std::optional<Elem> elem,
                              unsigned depth, llvm::SmallVectorImpl<Axis> &axes,
                              std::vector<const Scalar *> &elements) {
  auto wrong = [&](Range range, const Twine &why) {
    report(Diag::ListOutOfPlace, range) << why;
    return false;
  };
  int64_t size = e->items.size();
  if (size == 0)
    return wrong(e->range, "it has no elements");
  if (axes.size() == depth)
    axes.push_back({size, false});
  else if (axes[depth].size != size)
    return wrong(e->range, "it has " + Twine(size) +
                               " elements, the lists before it have " +
                               Twine(axes[depth].size));
  for (const ast::ListItem &item : e->items) {
    if (item.isPack)
      return wrong(item.value->range, "a shape pack is no element");
    auto *inner = dyn_cast<ast::ListExpr>(item.value);
    // The depth is known once there is an element.
    bool known = !elements.empty();
    if (known && bool(inner) != (depth + 1 < axes.size()))
      return wrong(item.value->range, "lists and numbers stand side by side");
    if (inner) {
      if (depth + 1 >= typed::kRankLimit) {
        report(Diag::TooManyAxes, inner->range)
            << "this tensor" << Twine(depth + 2) << Twine(typed::kRankLimit);
        return false;
      }
      if (!collectElements(inner, elem, depth + 1, axes, elements))
        return false;
      continue;
    }
    if (!known && depth + 1 < axes.size())
      return wrong(item.value->range, "lists and numbers stand side by side");
    if (overLimit())
      return false;
    if (isa<ast::NameExpr, ast::MemberExpr, ast::IndexExpr>(item.value)) {
      Val val = resolve(item.value);
      if (val.kind == Val::Tensor || val.kind == Val::Variable ||
          val.kind == Val::Index) {
        report(Diag::ListOutOfPlace, item.value->range)
                .note("`stack([a, b])` joins values to a tensor")
            << "its elements must be known at compile time";
        return false;
      }
    }
    Val val = constantOf(item.value, elem);
    if (val.isError())
      return false;
    if (val.kind == Val::Number) {
      elements.push_back(val.scalar);
      continue;
    }
    Scalar scalar;
    scalar.elem = Elem::Bool;
    scalar.integer = val.number;
    elements.push_back(keep(scalar));
  }
  return true;
}

/// `[1, 2, 3]`, `[[1, 2], [3, 4]]`: a tensor. Elements are known at compile
/// time; without a wish of the context they are i32 or, with a point, f32.
Val Checker::elabList(const ast::ListExpr *e, std::optional<Elem> elem) {
  if (elem && *elem == Elem::Bool && isFlexible(e))
    elem = std::nullopt;
  if (!elem) {
    const ast::Expr *first = getFirstElement(e);
    elem = hasFloatLiteral(e) ? Elem::F32 : Elem::I32;
    if (first && !isFlexible(first)) {
      Val val = resolve(first);
      if (val.isError())
        return Val();
      if (std::optional<Elem> own = elemOf(val))
        elem = *own;
    }
  }
  Val val;
  llvm::SmallVector<Axis, 4> axes;
  std::vector<const Scalar *> elements;
  if (!collectElements(e, elem, 0, axes, elements))
    return val;
  val.kind = Val::Literal;
  val.type = Type{*elem, copy(ArrayRef<Axis>(axes))};
  val.elements = copy(ArrayRef<const Scalar *>(elements));
  val.origin = e->range;
  return val;
}
