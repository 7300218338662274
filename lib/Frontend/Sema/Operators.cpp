//===- Operators.cpp - Binary operators and broadcasting -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checker.h"
#include "llvm/ADT/StringExtras.h"

using namespace tdsl;
using namespace tdsl::sema;
using ast::BinaryOp;
using llvm::ArrayRef;
using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;
using llvm::StringRef;
using llvm::Twine;

static bool isArithmetic(BinaryOp op) { return op >= BinaryOp::Add; }
static bool isComparison(BinaryOp op) {
  return op >= BinaryOp::Eq && op <= BinaryOp::Ge;
}

/// Operands from left to right along the spine. An operand that is only
/// literals waits until the other one has a type.
Val Checker::elabBinary(const ast::BinaryExpr *e, Expect expect) {
  llvm::SmallVector<const ast::BinaryExpr *, 8> spine;
  const ast::Expr *left = e;
  while (auto *binary = dyn_cast<ast::BinaryExpr>(left)) {
    spine.push_back(binary);
    left = binary->lhs;
  }
  const ast::Expr *pending = isFlexible(left) ? left : nullptr;
  // Initialisers take their sizes from the whole: `init.normal() * 0.1`.
  Expect inner;
  inner.type = expect.type;
  Val current = pending ? Val() : elab(left, inner);
  for (const ast::BinaryExpr *binary : llvm::reverse(spine)) {
    bool flexible = isFlexible(binary->rhs);
    bool arithmetic =
        isArithmetic(binary->op) && binary->op != BinaryOp::MatMul;
    if (pending && flexible && arithmetic) {
      pending = binary;
      continue;
    }
    Val rhs;
    if (pending) {
      if (flexible) {
        // A comparison of literals.
        bool real = hasFloatLiteral(pending) || hasFloatLiteral(binary->rhs);
        std::optional<Elem> elem;
        if (real)
          elem = Elem::F32;
        current = elabFlexible(pending, elem);
        rhs = elabFlexible(binary->rhs, elem);
      } else {
        rhs = elab(binary->rhs, inner);
        current = elabFlexible(pending, elemOf(rhs));
      }
      pending = nullptr;
    } else {
      std::optional<Elem> elem = elemOf(current);
      rhs =
          flexible ? elabFlexible(binary->rhs, elem) : elab(binary->rhs, inner);
    }
    current = combine(binary->op, binary, current, rhs);
  }
  if (pending)
    return elabFlexible(pending, expect.elem);
  return current;
}

/// An expression of literals, in the type that its context asks for.
Val Checker::elabFlexible(const ast::Expr *e, std::optional<Elem> elem) {
  if (elem && !typed::isNumber(*elem))
    elem = std::nullopt;
  if (!elem && hasFloatLiteral(e))
    elem = Elem::F32;
  if (!isa<ast::BinaryExpr>(e))
    return elem ? elab(e, *elem) : elab(e);
  llvm::SmallVector<const ast::BinaryExpr *, 8> spine;
  const ast::Expr *left = e;
  while (auto *binary = dyn_cast<ast::BinaryExpr>(left)) {
    spine.push_back(binary);
    left = binary->lhs;
  }
  Val current = elabFlexible(left, elem);
  for (const ast::BinaryExpr *binary : llvm::reverse(spine))
    current =
        combine(binary->op, binary, current, elabFlexible(binary->rhs, elem));
  return current;
}

bool Checker::elabTogether(ArrayRef<const ast::Expr *> exprs, Expect expect,
                           llvm::SmallVectorImpl<Val> &vals) {
  vals.assign(exprs.size(), Val());
  std::optional<Elem> elem;
  bool good = true, typed = false;
  for (size_t i = 0; i < exprs.size(); ++i) {
    if (isFlexible(exprs[i]))
      continue;
    vals[i] = elab(exprs[i], expect);
    good &= !vals[i].isError();
    typed = true;
    if (!elem)
      elem = elemOf(vals[i]);
  }
  if (!good)
    return false;
  if (!typed)
    elem = expect.elem;
  bool real = llvm::any_of(exprs, [&](const ast::Expr *e) {
    return isFlexible(e) && hasFloatLiteral(e);
  });
  if (!elem && !typed && real)
    elem = Elem::F32;
  for (size_t i = 0; i < exprs.size(); ++i) {
    if (!isFlexible(exprs[i]))
      continue;
    vals[i] = elabFlexible(exprs[i], elem);
    good &= !vals[i].isError();
  }
  return good;
}

/// Values of one element type from operands that meet.
bool Checker::materialiseTogether(ArrayRef<const ast::Expr *> exprs,
                                  ArrayRef<Val> vals,
                                  llvm::SmallVectorImpl<Value> &values,
                                  Range range, StringRef what) {
  std::optional<Elem> elem;
  for (const Val &val : vals)
    if (!elem)
      elem = elemOf(val);
  for (size_t i = 0; i < vals.size(); ++i) {
    Value value = materialise(vals[i], exprs[i]->range, elem);
    if (!value)
      return false;
    values.push_back(value);
  }
  for (size_t i = 1; i < values.size(); ++i)
    if (!sameElem(values[0], values[i], exprs[0]->range, exprs[i]->range, range,
                  what))
      return false;
  return true;
}

bool Checker::sameElem(Value lhs, Value rhs, Range l, Range r, Range range,
                       StringRef what) {
  Elem a = lhs.type().elem, b = rhs.type().elem;
  if (a == b)
    return true;
  auto d = report(Diag::ElemMismatch, range);
  d << typed::getName(a) << typed::getName(b) << what;
  d.label(l, "this is " + toString(lhs.type()));
  d.label(r, "this is " + toString(rhs.type()));
  // Convert the narrower one.
  bool castLeft = typed::isFloat(b) && (!typed::isFloat(a) || a < b);
  Range which = castLeft ? l : r;
  Elem to = castLeft ? b : a;
  StringRef text = sources.getText(which);
  if (text.size() < 60 && to != Elem::Bool)
    d.fix(which, typed::getName(to) + "(" + text + ")", "convert it");
  return false;
}

//===----------------------------------------------------------------------===//
// Compile-time operands
//===----------------------------------------------------------------------===//

Val Checker::combineDims(BinaryOp op, const ast::BinaryExpr *e, const Val &lhs,
                         const Val &rhs) {
  int64_t a = lhs.number, b = rhs.number, out = 0;
  bool overflow = false;
  switch (op) {
  case BinaryOp::Eq:
    return Val::makeTruth(a == b);
  case BinaryOp::Ne:
    return Val::makeTruth(a != b);
  case BinaryOp::Lt:
    return Val::makeTruth(a < b);
  case BinaryOp::Le:
    return Val::makeTruth(a <= b);
  case BinaryOp::Gt:
    return Val::makeTruth(a > b);
  case BinaryOp::Ge:
    return Val::makeTruth(a >= b);
  case BinaryOp::Add:
    overflow = llvm::AddOverflow(a, b, out);
    break;
  case BinaryOp::Sub:
    overflow = llvm::SubOverflow(a, b, out);
    break;
  case BinaryOp::Mul:
    overflow = llvm::MulOverflow(a, b, out);
    break;
  case BinaryOp::Div:
  case BinaryOp::FloorDiv:
  case BinaryOp::Mod: {
    if (b == 0) {
      report(Diag::DivisionByZero, e->rhs->range);
      return Val();
    }
    if (a == INT64_MIN && b == -1) {
      overflow = true;
      break;
    }
    int64_t quotient = a / b, rest = a % b;
    if (op == BinaryOp::Div && rest != 0) {
      auto d = report(Diag::SizeNotExact, e->range);
      d << Twine(a) + " / " + Twine(b);
      if (lhs.literal && rhs.literal)
        d.note("`/` divides floats; write " + Twine(a) + ".0 / " + Twine(b) +
               " for a float");
      d.fix(e->opRange, "//", "`//` rounds down");
      return Val();
    }
    bool below = rest != 0 && (rest < 0) != (b < 0);
    if (op == BinaryOp::Mod)
      out = below ? rest + b : rest;
    else
      out = below ? quotient - 1 : quotient;
    break;
  }
  case BinaryOp::Pow: {
    if (b < 0) {
      report(Diag::SizeNotExact, e->range)
              .note("the exponent of a size is 0 or more")
          << Twine(a) + " ** " + Twine(b);
      return Val();
    }
    out = 1;
    bool trivial = a == 0 || a == 1 || a == -1;
    if (trivial) {
      out = b == 0 ? 1 : a == 0 ? 0 : (a == 1 || b % 2 == 0) ? 1 : -1;
      break;
    }
    for (int64_t i = 0; i < b && !overflow; ++i)
      overflow = llvm::MulOverflow(out, a, out);
    break;
  }
  case BinaryOp::And:
  case BinaryOp::Or:
    report(Diag::NeedsBool, e->lhs->range) << ast::spelling(op) << "a number";
    return Val();
  case BinaryOp::MatMul:
    report(Diag::MatMulShape, e->range) << "a size" << "a size";
    return Val();
  }
  if (overflow) {
    report(Diag::SizeOverflow, e->range);
    return Val();
  }
  return Val::makeDim(out, lhs.literal && rhs.literal);
}

/// Arithmetic of indices stays index arithmetic where it is affine; else it is
/// the arithmetic of i32 values.
Val Checker::combineIndices(BinaryOp op, const ast::BinaryExpr *e,
                            const Val &lhs, const Val &rhs) {
  bool leftIndex = lhs.kind == Val::Index, rightIndex = rhs.kind == Val::Index;
  Op nodeOp;
  int64_t number = 0;
  switch (op) {
  case BinaryOp::Add:
    nodeOp = Op::IndexAdd;
    break;
  case BinaryOp::Sub:
    nodeOp = Op::IndexSub;
    break;
  case BinaryOp::Mul:
    if (leftIndex && rightIndex)
      return Val();
    nodeOp = Op::IndexMul;
    number = leftIndex ? rhs.number : lhs.number;
    break;
  case BinaryOp::FloorDiv:
  case BinaryOp::Mod:
    if (rightIndex || rhs.number <= 0)
      return Val();
    nodeOp = op == BinaryOp::Mod ? Op::IndexMod : Op::IndexFloorDiv;
    number = rhs.number;
    break;
  default:
    return Val();
  }
  llvm::SmallVector<Value, 2> operands;
  for (const Val *val : {&lhs, &rhs}) {
    if (val->kind == Val::Index) {
      operands.push_back(indexNode(*val, e->range));
    } else if (nodeOp == Op::IndexAdd || nodeOp == Op::IndexSub) {
      operands.push_back(indexConstant(val->number, e->range).value);
    }
  }
  for (Value operand : operands)
    if (!operand)
      return Val();
  Node *node = makeNode(nodeOp, Type{Elem::Index, {}}, operands, e->range);
  node->number = number;
  Val out;
  out.kind = Val::Index;
  out.value = {node, 0};
  return out;
}

/// Records add, subtract, scale and divide parameter by parameter.
Val Checker::combineRecords(BinaryOp op, const ast::BinaryExpr *e,
                            const Val &lhs, const Val &rhs) {
  Val both[] = {lhs, rhs};
  return mapRecords(both, e->range, [&](ArrayRef<Val> elems) {
    return combine(op, e, elems[0], elems[1]);
  });
}

Val Checker::mapRecords(ArrayRef<Val> vals, Range range,
                        llvm::function_ref<Val(ArrayRef<Val>)> each) {
  const Val *record = nullptr;
  for (const Val &val : vals) {
    if (val.kind != Val::Record)
      continue;
    if (record && record->names != val.names) {
      report(Diag::RecordMismatch, range);
      return Val();
    }
    record = &val;
  }
  llvm::SmallVector<Val, 8> elems;
  for (size_t i = 0; i < record->elems.size(); ++i) {
    llvm::SmallVector<Val, 3> parts;
    for (const Val &val : vals)
      parts.push_back(val.kind == Val::Record ? val.elems[i] : val);
    Val elem = each(parts);
    if (elem.isError())
      return Val();
    elems.push_back(elem);
  }
  Val out = *record;
  out.elems = copy(ArrayRef<Val>(elems));
  return out;
}

//===----------------------------------------------------------------------===//
// Operators on values
//===----------------------------------------------------------------------===//

Val Checker::combine(BinaryOp op, const ast::BinaryExpr *e, Val lhs, Val rhs) {
  if (lhs.isError() || rhs.isError() || aborted)
    return Val();
  if (lhs.kind == Val::Dim && rhs.kind == Val::Dim)
    return combineDims(op, e, lhs, rhs);
  if (lhs.kind == Val::Record || rhs.kind == Val::Record)
    return combineRecords(op, e, lhs, rhs);
  bool logical = op == BinaryOp::And || op == BinaryOp::Or;
  if (logical && (lhs.kind == Val::Truth || rhs.kind == Val::Truth)) {
    const Val &known = lhs.kind == Val::Truth ? lhs : rhs;
    const Val &other = lhs.kind == Val::Truth ? rhs : lhs;
    if (elemOf(other) == Elem::Bool) {
      bool decides = (op == BinaryOp::And) == (known.number == 0);
      return decides ? known : other;
    }
  }
  if (lhs.kind == Val::Truth && rhs.kind == Val::Truth &&
      (op == BinaryOp::Eq || op == BinaryOp::Ne))
    return Val::makeTruth((lhs.number == rhs.number) == (op == BinaryOp::Eq));
  bool indexed = (lhs.kind == Val::Index || lhs.kind == Val::Dim) &&
                 (rhs.kind == Val::Index || rhs.kind == Val::Dim);
  if (body && indexed) {
    Val out = combineIndices(op, e, lhs, rhs);
    if (!out.isError() || aborted)
      return out;
  }
  if (lhs.kind == Val::Number && rhs.kind == Val::Number &&
      frame->mode == Mode::Const)
    return constantOf(e, lhs.scalar->elem);

  // A size meets a tensor: integers take it, floats ask for a conversion.
  std::optional<Elem> left = elemOf(lhs), right = elemOf(rhs);
  for (int side = 0; side < 2; ++side) {
    const Val &val = side ? rhs : lhs;
    std::optional<Elem> other = side ? left : right;
    const ast::Expr *at = side ? e->rhs : e->lhs;
    bool isCount =
        (val.kind == Val::Dim && !val.literal) || val.kind == Val::Index;
    if (isCount && other && typed::isFloat(*other)) {
      report(Diag::SizeMeetsFloat, at->range)
              .fix(at->range,
                   typed::getName(*other) + "(" + sources.getText(at->range) +
                       ")",
                   "convert it")
          << typed::getName(*other);
      return Val();
    }
  }
  Value a = materialise(lhs, e->lhs->range, right);
  if (!a)
    return Val();
  Value b = materialise(rhs, e->rhs->range, left);
  if (!b)
    return Val();
  Range l = e->lhs->range, r = e->rhs->range;
  StringRef what = ast::spelling(op);
  if (!sameElem(a, b, l, r, e->range, what))
    return Val();
  Elem elem = a.type().elem;

  if (op == BinaryOp::MatMul)
    return matmul(a, b, l, r, e->range);
  if (logical) {
    if (elem != Elem::Bool) {
      report(Diag::NeedsBool, l) << what << toString(a.type());
      return Val();
    }
  } else if (elem == Elem::Bool &&
             !(op == BinaryOp::Eq || op == BinaryOp::Ne)) {
    report(Diag::NeedsNumber, l)
            .fix(l, "f32(" + sources.getText(l) + ")", "convert it")
        << what << toString(a.type());
    return Val();
  }
  if (op == BinaryOp::Div && !typed::isFloat(elem)) {
    auto d = report(Diag::IntDivision, e->opRange);
    d << typed::getName(elem);
    // Bytes are most likely to be scaled.
    if (elem == Elem::U8 || elem == Elem::I8) {
      d.fix(l, "f32(" + sources.getText(l) + ")", "convert it");
      d.note("`//` divides integers and rounds down");
    } else {
      d.fix(e->opRange, "//", "`//` divides integers and rounds down");
      d.note("or convert the operands to f32 first");
    }
    return Val();
  }
  if ((op == BinaryOp::FloorDiv || op == BinaryOp::Mod) && typed::isInt(elem) &&
      b.node->op == Op::Constant && b.node->value->integer == 0) {
    report(Diag::DivisionByZero, r);
    return Val();
  }
  if (op == BinaryOp::Pow)
    return makePower(e, a, b);

  static const Op ops[] = {Op::Or,  Op::And, Op::Eq,       Op::Ne,  Op::Lt,
                           Op::Le,  Op::Gt,  Op::Ge,       Op::Add, Op::Sub,
                           Op::Mul, Op::Div, Op::FloorDiv, Op::Mod};
  Value out =
      makeElementwise(ops[size_t(op)], isComparison(op) ? Elem::Bool : elem,
                      {a, b}, {l, r}, e->range, what);
  return out ? Val::makeTensor(out, body != nullptr) : Val();
}

/// `x ** n`: literal exponents from 0 to 4 multiply.
Val Checker::makePower(const ast::BinaryExpr *e, Value lhs, Value rhs) {
  auto *literal = dyn_cast<ast::IntExpr>(e->rhs);
  if (literal && literal->value <= 4) {
    Type type = lhs.type();
    Value out;
    switch (literal->value) {
    case 0:
      out = makeNumber(type.elem, 1, type.axes, e->range);
      break;
    case 1:
      out = lhs;
      break;
    case 2:
      out = make(Op::Mul, type, {lhs, lhs}, e->range);
      break;
    default: {
      Value square = make(Op::Mul, type, {lhs, lhs}, e->range);
      out = make(Op::Mul, type, {square, literal->value == 3 ? lhs : square},
                 e->range);
      break;
    }
    }
    return Val::makeTensor(out, body != nullptr);
  }
  Value out = makeElementwise(Op::Pow, lhs.type().elem, {lhs, rhs},
                              {e->lhs->range, e->rhs->range}, e->range, "**");
  return out ? Val::makeTensor(out, body != nullptr) : Val();
}

//===----------------------------------------------------------------------===//
// Broadcasting
//===----------------------------------------------------------------------===//

/// The index definition that two operands which would both stretch stand for:
/// `let out[i, j] = x[i, 0] + y[0, j]`. Longer texts than names are called a
/// and b.
static std::string writeIndexForm(const Type &lhs, const Type &rhs,
                                  StringRef lhsText, StringRef rhsText,
                                  StringRef what) {
  size_t rank = std::max(lhs.rank(), rhs.rank());
  auto letter = [](size_t axis) {
    return axis < 18 ? std::string(1, char('i' + axis))
                     : "i" + std::to_string(axis);
  };
  auto sizeOf = [&](const Type &type, size_t axis) -> int64_t {
    size_t missing = rank - type.rank();
    return axis < missing ? 1 : type.axes[axis - missing].size;
  };
  auto write = [&](const Type &type, StringRef text, StringRef otherwise) {
    bool isName =
        llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
    std::string out = (isName ? text : otherwise).str() + "[";
    for (size_t axis = rank - type.rank(); axis < rank; ++axis) {
      bool stretches = sizeOf(type, axis) == 1 &&
                       (sizeOf(lhs, axis) != 1 || sizeOf(rhs, axis) != 1);
      out += (axis == rank - type.rank() ? "" : ", ") +
             (stretches ? std::string("0") : letter(axis));
    }
    return out + "]";
  };
  std::string result = "`let out[";
  for (size_t axis = 0; axis < rank; ++axis)
    result += (axis ? ", " : "") + letter(axis);
  std::string a = write(lhs, lhsText, "a"), b = write(rhs, rhsText, "b");
  result += "] = ";
  if (llvm::isAlpha(what.front()))
    return result + what.str() + "(" + a + ", " + b + ")`";
  return result + a + " " + what.str() + " " + b + "`";
}

/// The common shape of operands: scalars meet anything; trailing axes align;
/// only one operand of two stretches.
bool Checker::broadcastShapes(ArrayRef<Value> operands, ArrayRef<Range> ranges,
                              Range range, StringRef what,
                              llvm::SmallVectorImpl<Axis> &out) {
  out.clear();
  int from = -1; // the operand that gave the shape so far
  for (size_t i = 0; i < operands.size(); ++i) {
    ArrayRef<Axis> axes = operands[i].type().axes;
    if (axes.empty())
      continue;
    if (from < 0) {
      out.assign(axes.begin(), axes.end());
      from = i;
      continue;
    }
    size_t common = std::min(out.size(), axes.size());
    bool outStretches = axes.size() > out.size();
    bool axesStretch = out.size() > axes.size();
    llvm::SmallVector<Axis, 4> merged;
    ArrayRef<Axis> longer = axesStretch ? ArrayRef<Axis>(out) : axes;
    merged.append(longer.begin(), longer.end() - common);
    auto label = [&](DiagBuilder &d) {
      d.label(ranges[from], "this is " + toString(operands[from].type()));
      d.label(ranges[i], "this is " + toString(operands[i].type()));
    };
    for (size_t k = 0; k < common; ++k) {
      Axis a = out[out.size() - common + k];
      Axis b = axes[axes.size() - common + k];
      if (a.size == b.size) {
        merged.push_back({a.size, a.stretches && b.stretches});
      } else if (a.stretches) {
        merged.push_back(b);
        outStretches = true;
      } else if (b.stretches) {
        merged.push_back(a);
        axesStretch = true;
      } else {
        auto d = report(Diag::ShapeMismatch, range);
        d << toString(operands[from].type()) << toString(operands[i].type())
          << what
          << Twine(axes.size() == out.size()
                       ? k
                       : std::max(axes.size(), out.size()) - common + k)
          << Twine(a.size) << Twine(b.size);
        label(d);
        proposeMeeting(d, operands[from], ranges[from], operands[i], ranges[i],
                       a.size, b.size, common - 1 - k);
        return false;
      }
    }
    if (outStretches && axesStretch) {
      auto d = report(Diag::BothStretch, range);
      d << toString(operands[from].type()) << toString(operands[i].type())
        << what;
      label(d);
      d.note("say which axis meets which: " +
             writeIndexForm(operands[from].type(), operands[i].type(),
                            sources.getText(ranges[from]),
                            sources.getText(ranges[i]), what));
      return false;
    }
    if (outStretches)
      from = i;
    out.assign(merged.begin(), merged.end());
  }
  return checkType(Type{Elem::F32, out}, range);
}

/// An element operation on operands of any shapes that broadcast.
Value Checker::makeElementwise(Op op, Elem resultElem, ArrayRef<Value> operands,
                               ArrayRef<Range> ranges, Range range,
                               StringRef what) {
  if (body)
    return make(op, Type{resultElem, {}}, operands, range);
  llvm::SmallVector<Axis, 4> axes;
  if (!broadcastShapes(operands, ranges, range, what, axes))
    return {};
  ArrayRef<Axis> shape = copy(ArrayRef<Axis>(axes));
  llvm::SmallVector<Value, 3> aligned;
  for (Value operand : operands)
    aligned.push_back(makeBroadcast(operand, shape, range));
  return make(op, Type{resultElem, shape}, aligned, range);
}

/// `a @ b`: the last axis of a runs with the first but last of b. Axes before
/// them are a batch of a alone, or of both.
Val Checker::matmul(Value lhs, Value rhs, Range l, Range r, Range range) {
  const Type &a = lhs.type(), &b = rhs.type();
  auto fail = [&](const Twine &note) {
    auto d = report(Diag::MatMulShape, range);
    d << toString(a) << toString(b);
    d.label(l, "this is " + toString(a)).label(r, "this is " + toString(b));
    if (!note.isTriviallyEmpty())
      d.note(note);
    return Val();
  };
  if (body) {
    report(Diag::TensorOpInBody, range) << "@";
    return Val();
  }
  if (!typed::isNumber(a.elem)) {
    report(Diag::NeedsNumber, l) << "@" << toString(a);
    return Val();
  }
  if (a.rank() == 0 || b.rank() == 0)
    return fail("`@` takes tensors; a scalar multiplies with `*`");
  unsigned batch = b.rank() > 2 ? b.rank() - 2 : 0;
  if (batch && a.rank() != b.rank())
    return fail("batches need equally many axes on both sides");
  int64_t inner = a.axes.back().size;
  int64_t outer = b.rank() == 1 ? b.axes[0].size : b.axes[b.rank() - 2].size;
  if (inner != outer) {
    bool transposed = b.rank() == 2 && b.axes[1].size == inner;
    auto d = report(Diag::MatMulSize, range);
    d << toString(a) << toString(b) << Twine(inner) << Twine(outer);
    d.label(l, "this is " + toString(a)).label(r, "this is " + toString(b));
    if (transposed)
      d.fix(r, "transpose(" + sources.getText(r) + ")",
            "transpose the right side");
    else if (a.rank() == 2 && a.axes[0].size == outer)
      d.fix(l, "transpose(" + sources.getText(l) + ")",
            "transpose the left side");
    else
      proposeProduct(d, a, l, b, r, outer);
    return Val();
  }
  for (unsigned i = 0; i < batch; ++i)
    if (a.axes[i].size != b.axes[i].size)
      return fail("axis " + Twine(i) + " of the batch differs");

  // Numbers: the axes of a in order (its last is `a.rank() - 1`), then the
  // last axis of b.
  llvm::SmallVector<int64_t, 8> numbers;
  llvm::SmallVector<Axis, 4> axes;
  for (unsigned i = 0; i < a.rank(); ++i)
    numbers.push_back(i);
  for (unsigned i = 0; i < batch; ++i)
    numbers.push_back(i);
  numbers.push_back(a.rank() - 1);
  if (b.rank() > 1)
    numbers.push_back(a.rank());
  for (unsigned i = 0; i + 1 < a.rank(); ++i) {
    numbers.push_back(i);
    axes.push_back({a.axes[i].size, false});
  }
  if (b.rank() > 1) {
    numbers.push_back(a.rank());
    axes.push_back({b.axes.back().size, false});
  }
  Type type{typed::getAccumulator(a.elem), copy(ArrayRef<Axis>(axes))};
  if (!checkType(type, range))
    return Val();
  Node *node = makeNode(Op::Contract, type, {lhs, rhs}, range);
  node->numbers = copy(ArrayRef<int64_t>(numbers));
  Value out{node, 0};
  if (typed::isFloat(a.elem))
    out = makeCast(out, a.elem, range);
  return Val::makeTensor(out);
}
