//===- ShapeFixes.cpp - What would make two shapes meet -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A message about shapes names both of them; here it learns the way out. A
// change that surely makes the shapes meet is a fix: another order of the axes,
// the same elements in the shape that is asked for, an axis of size 1 more, a
// reduction that keeps its axis, the size of the layer. Where no change is
// surely meant, a note names the candidates.
//
//===----------------------------------------------------------------------===//

#include "Checker.h"
#include "llvm/ADT/StringExtras.h"
#include <numeric>

using namespace tdsl;
using namespace tdsl::sema;
using llvm::ArrayRef;
using llvm::dyn_cast;
using llvm::isa;
using llvm::StringRef;
using llvm::Twine;

using Sizes = llvm::SmallVector<int64_t, 4>;

static Sizes sizesOf(ArrayRef<Axis> axes) {
  Sizes sizes;
  for (const Axis &axis : axes)
    sizes.push_back(axis.size);
  return sizes;
}

static std::optional<int64_t> countElements(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    if (llvm::MulOverflow(count, size, count))
      return std::nullopt;
  return count;
}

/// The one order of the axes of `from` that gives `to`; empty where there is
/// none or more than one.
static llvm::SmallVector<unsigned, 4> findOrder(ArrayRef<int64_t> from,
                                                ArrayRef<int64_t> to) {
  constexpr size_t kMostAxes = 5; // 120 orders
  if (from.size() != to.size() || from.size() > kMostAxes)
    return {};
  llvm::SmallVector<unsigned, 4> order(from.size()), found;
  std::iota(order.begin(), order.end(), 0u);
  do {
    bool meets = true;
    for (size_t i = 0; i < order.size(); ++i)
      meets &= from[order[i]] == to[i];
    if (!meets)
      continue;
    if (!found.empty())
      return {};
    found = order;
  } while (std::next_permutation(order.begin(), order.end()));
  return found;
}

/// `[_, 1]`: the sizes as the argument of `reshape`. The first axis that is
/// more than 1 is left to be inferred, so that a batch of another size does.
static std::string writeSizes(ArrayRef<int64_t> sizes) {
  size_t inferred =
      llvm::find_if(sizes, [](int64_t n) { return n != 1; }) - sizes.begin();
  bool others = true;
  for (size_t i = 0; i < sizes.size(); ++i)
    others &= i == inferred || sizes[i] != 0;
  std::string out = "[";
  for (size_t i = 0; i < sizes.size(); ++i)
    out += (i ? ", " : "") +
           (i == inferred && others ? "_" : std::to_string(sizes[i]));
  return out + "]";
}

/// `f32[8, 64]`: the type with other sizes.
static std::string writeShape(const Type &type, ArrayRef<int64_t> sizes) {
  llvm::SmallVector<Axis, 4> axes;
  for (int64_t size : sizes)
    axes.push_back({size, false});
  return toString(Type{type.elem, axes});
}

/// The text at a place where it is short enough to be written out again, and
/// the user's own.
StringRef Checker::getShortText(Range range) const {
  StringRef text = sources.getText(range);
  bool standard =
      sources.getName(sources.getFile(range.begin)).starts_with("<");
  return text.size() < 60 && !text.contains('\n') && !standard ? text : "";
}

static bool fixByAxes(DiagBuilder &d, SourceRange range, StringRef text,
                      ArrayRef<unsigned> order) {
  if (text.empty() || order.empty() || llvm::is_sorted(order))
    return false;
  if (order.size() == 2) {
    d.fix(range, "transpose(" + text + ")", "transpose it");
    return true;
  }
  std::string axes;
  for (unsigned axis : order)
    axes += (axes.empty() ? "" : ", ") + std::to_string(axis);
  d.fix(range, "permute(" + text + ", [" + axes + "])",
        "put the axes into the other order");
  return true;
}

bool Checker::fixByOrder(DiagBuilder &d, Range range, ArrayRef<int64_t> from,
                         ArrayRef<int64_t> to) {
  return fixByAxes(d, range, getShortText(range), findOrder(from, to));
}

/// Moves the one axis of `from` that has the size of `axis` in `to` there, as
/// from channels last to channels first. Axes that are open take any size.
bool Checker::fixByMoving(DiagBuilder &d, Range range, ArrayRef<int64_t> from,
                          ArrayRef<int64_t> to, ArrayRef<bool> open,
                          unsigned axis) {
  if (llvm::count(from, to[axis]) != 1)
    return false;
  unsigned source = llvm::find(from, to[axis]) - from.begin();
  llvm::SmallVector<unsigned, 4> order;
  for (unsigned i = 0; i < from.size(); ++i)
    if (i != source)
      order.push_back(i);
  order.insert(order.begin() + axis, source);
  for (unsigned i = 0; i < order.size(); ++i)
    if (!open[i] && from[order[i]] != to[i])
      return false;
  return fixByAxes(d, range, getShortText(range), order);
}

bool Checker::fixByReshape(DiagBuilder &d, Range range, ArrayRef<int64_t> from,
                           ArrayRef<int64_t> to, const Twine &why) {
  StringRef text = getShortText(range);
  std::optional<int64_t> count = countElements(from);
  if (text.empty() || !count || count != countElements(to))
    return false;
  d.fix(range, "reshape(" + text + ", " + writeSizes(to) + ")", why);
  return true;
}

/// Keeps the axis that the reduction at `range` drops.
bool Checker::fixByKeeping(DiagBuilder &d, Range range) {
  static constexpr StringRef reductions[] = {"sum(", "mean(", "max(", "min(",
                                             "prod("};
  StringRef text = sources.getText(range);
  bool reduces = llvm::any_of(
      reductions, [&](StringRef start) { return text.starts_with(start); });
  if (!reduces || !text.ends_with(")") || !text.contains("axis") ||
      text.contains("keep"))
    return false;
  SourceLoc close{range.end.offset - 1};
  d.fix({close, close}, ", keep = true", "keep the axis that is reduced");
  return true;
}

/// The declared size of an axis of the parameter that `range` names, in the
/// function that is being checked; null where it isn't one.
const ast::ShapeItem *Checker::findDeclaredAxis(Range range, unsigned axis) {
  StringRef text = getShortText(range);
  if (text.empty() || !frame || !frame->fn)
    return nullptr;
  for (const ast::ParamDecl &param : frame->fn->params) {
    if (param.name.name != text || !param.type)
      continue;
    // Another value may have taken the name since.
    Val *bound = frame->find(text);
    bool packed = llvm::any_of(param.type->shape, [](const auto &item) {
      return item.kind != ast::ShapeItem::Size;
    });
    if (!bound || !(bound->origin == param.name.range) || packed ||
        axis >= param.type->shape.size())
      return nullptr;
    return &param.type->shape[axis];
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// The axes of size 1 that let `lower` meet `higher`, from the first axis of
/// `higher` that one of `lower` meets. Empty where the axes of `lower` fit at
/// no place, or at more than one.
static Sizes findPlaces(ArrayRef<int64_t> lower, ArrayRef<int64_t> higher) {
  constexpr size_t kMostAxes = 12; // subsets are tried one by one
  Sizes found;
  if (higher.size() > kMostAxes)
    return found;
  for (unsigned chosen = 0; chosen < 1u << higher.size(); ++chosen) {
    Sizes sizes;
    size_t next = 0;
    bool meets = true;
    for (size_t i = 0; i < higher.size() && meets; ++i) {
      if (chosen >> i & 1) {
        meets = next < lower.size() && lower[next] == higher[i];
        ++next;
        sizes.push_back(higher[i]);
      } else if (!sizes.empty()) {
        sizes.push_back(1);
      }
    }
    if (!meets || next != lower.size())
      continue;
    if (!found.empty())
      return {};
    found = sizes;
  }
  return found;
}

void Checker::proposeMeeting(DiagBuilder &d, Value lhs, Range l, Value rhs,
                             Range r, int64_t lhsSize, int64_t rhsSize,
                             unsigned fromLast) {
  Sizes a = sizesOf(lhs.type().axes), b = sizesOf(rhs.type().axes);
  if (lhsSize == 1 || rhsSize == 1) {
    d.note("an axis stretches only where it is written as 1 or comes from "
           "`keep = true`; this one only happens to be 1");
    bool left = lhsSize == 1;
    unsigned axis = (left ? a : b).size() - 1 - fromLast;
    if (const ast::ShapeItem *item = findDeclaredAxis(left ? l : r, axis))
      d.fix(item->range, "1", "write the size as 1");
    return;
  }
  d.note("trailing axes align: the last axis meets the last axis");
  if (a.size() == b.size()) {
    if (fixByOrder(d, r, b, a))
      return;
  } else {
    bool left = a.size() < b.size();
    Range low = left ? l : r;
    ArrayRef<int64_t> lower = left ? a : b, higher = left ? b : a;
    if (fixByKeeping(d, low))
      return;
    Sizes places = findPlaces(lower, higher);
    if (!places.empty() &&
        fixByReshape(d, low, lower, places, "write the axes that stretch"))
      return;
    if (fixByReshape(d, low, lower, higher, "give it the same axes"))
      return;
  }
  // The sizes themselves differ.
  std::string choices;
  auto offer = [&](Range range, ArrayRef<int64_t> own, int64_t other) {
    StringRef text = getShortText(range);
    if (text.empty())
      return;
    Sizes changed(own);
    changed[own.size() - 1 - fromLast] = other;
    choices +=
        (choices.empty() ? "" : ", or ") +
        ("`" + text + "` is to be " + writeShape(lhs.type(), changed)).str();
  };
  offer(r, b, lhsSize);
  offer(l, a, rhsSize);
  Range longer = lhsSize > rhsSize ? l : r;
  StringRef text = getShortText(longer);
  bool isName =
      llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  if (!text.empty() && isName) {
    unsigned axis = (lhsSize > rhsSize ? a : b).size() - 1 - fromLast;
    std::string part;
    for (unsigned i = 0; i < axis; ++i)
      part += ":, ";
    part += ":" + std::to_string(std::min(lhsSize, rhsSize));
    for (unsigned i = 0; i < fromLast; ++i)
      part += ", :";
    choices += ", or take a part: `" + text.str() + "[" + part + "]`";
  }
  if (!choices.empty())
    d.note("for the two to meet " + choices);
}

void Checker::proposeProduct(DiagBuilder &d, const Type &lhs, Range l,
                             const Type &rhs, Range r, int64_t outer) {
  // Rows of images: the axes behind the first one are one axis.
  Sizes a = sizesOf(lhs.axes), b = sizesOf(rhs.axes);
  for (size_t lead = 1; lead + 1 < a.size(); ++lead) {
    if (countElements(ArrayRef<int64_t>(a).drop_front(lead)) != outer)
      continue;
    Sizes flat(a.begin(), a.begin() + lead);
    flat.push_back(outer);
    if (fixByReshape(d, l, a, flat, "make rows of it"))
      return;
  }
  size_t inner = b.size() == 1 ? 0 : b.size() - 2;
  b[inner] = a.back();
  a.back() = outer;
  d.note("the last axis of the left side meets the " +
         Twine(b.size() == 1 ? "axis" : "last but one") +
         " of the right side: the left side is to be " + writeShape(lhs, a) +
         ", or the right side " + writeShape(rhs, b));
}

void Checker::proposePart(DiagBuilder &d, const ast::CallExpr *e,
                          const Type &first, const Type &part, Range range,
                          int64_t joined) {
  Sizes own = sizesOf(part.axes), other = sizesOf(first.axes);
  if (fixByOrder(d, range, own, other))
    return;
  llvm::SmallVector<unsigned, 4> differ;
  for (unsigned i = 0; i < own.size(); ++i)
    if (own[i] != other[i])
      differ.push_back(i);
  if (joined >= 0) {
    d.note("parts are joined along axis " + Twine(joined) +
           "; their other axes are the same");
    // Along the only axis that differs they can be joined.
    if (differ.size() == 1) {
      const ast::Arg *axis = nullptr;
      for (const ast::Arg &arg : llvm::drop_begin(e->args))
        axis = &arg;
      if (axis)
        d.fix(axis->value->range, Twine(differ[0]),
              "join them along the axis that differs");
      else
        d.fix({e->args[0].value->range.end, e->args[0].value->range.end},
              ", axis = " + Twine(differ[0]),
              "join them along the axis that differs");
    }
    return;
  }
  d.note("each part of `stack` is to be " + writeShape(part, other));
  if (differ.size() == 1 && e->args.size() <= 2)
    d.note("`concat` joins parts along an axis that differs: `axis = " +
           Twine(differ[0]) + "`");
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

/// The layer that `instance` stands for in the code that `caller` runs, or
/// null.
const ast::LayerDecl *Checker::findLayer(const InstanceRef &instance,
                                         const Frame &caller) {
  StringRef name = instance.path.split('.').first;
  if (instance.path.contains('.'))
    return nullptr;
  const ast::Decl *decl = nullptr;
  if (instance.self && caller.module) {
    auto it = caller.module->members.find(name);
    if (it != caller.module->members.end())
      decl = it->second;
  } else if (caller.scope) {
    auto it = caller.scope->decls.find(name);
    if (it != caller.scope->decls.end())
      decl = it->second;
  }
  return llvm::dyn_cast_or_null<ast::LayerDecl>(decl);
}

/// The argument that gives the size `name` to a layer, or null.
static const ast::Expr *findLayerArgument(const ast::LayerDecl *layer,
                                          const ast::ModuleDecl *module,
                                          StringRef name) {
  auto *made = dyn_cast<ast::CallExpr>(layer->value);
  size_t index = 0;
  while (index < module->params.size() &&
         module->params[index].name.name != name)
    ++index;
  if (!made || index == module->params.size())
    return nullptr;
  size_t position = 0;
  for (const ast::Arg &arg : made->args) {
    if (arg.name.isValid() ? arg.name.name == name : position == index)
      return arg.value;
    position += !arg.name.isValid();
  }
  return nullptr;
}

void Checker::reportArgumentSize(const ArgumentSite &site, const Type &actual,
                                 const ast::ShapeItem &item, unsigned axis,
                                 ArrayRef<int64_t> asked, ArrayRef<bool> open) {
  Sizes own = sizesOf(actual.axes);
  auto d = report(Diag::SizeMismatch, site.range);
  StringRef text = getShortText(site.range);
  if (text.empty())
    d << "the argument for `" + site.param->name.name + "`";
  else
    d << "`" + text + "`";
  d << toString(actual) << Twine(axis) << Twine(asked[axis]);
  d.label(item.range, "`" + site.param->name.name + "` takes " +
                          Twine(asked[axis]) + " along this axis");
  auto *size = dyn_cast<ast::NameExpr>(item.size);
  Val *bound = size ? frame->find(size->name) : nullptr;
  const ast::Expr *given = nullptr;
  if (bound && bound->kind == Val::Dim) {
    if (!(bound->origin == site.range)) {
      std::string from = "`" + size->name.str() + "` was taken from here";
      if (!bound->type.isScalar())
        from += ", which is " + toString(bound->type);
      d.label(bound->origin, from);
    }
  } else if (size && site.target->module) {
    if (const ast::LayerDecl *layer =
            findLayer(site.target->instance, *site.caller))
      given = findLayerArgument(layer, site.target->module->decl, size->name);
    if (given)
      d.label(given->range,
              "`" + size->name + "` of this layer is " + Twine(asked[axis]));
  }
  // The frame is already that of the callee.
  if (!active.empty() && active.back().range.isValid() &&
      frame->fn != active.back().fn)
    d.label(active.back().range, "in this call");

  if (fixByOrder(d, site.range, own, asked) ||
      fixByMoving(d, site.range, own, asked, open, axis))
    return;
  // Images before a layer that takes rows: the axes behind the first one are
  // one axis of that many elements.
  for (size_t lead = 1; lead + 1 < own.size(); ++lead) {
    if (axis + 1 != own.size() ||
        countElements(ArrayRef<int64_t>(own).drop_front(lead)) != asked[axis])
      continue;
    Sizes flat(own.begin(), own.begin() + lead);
    flat.push_back(asked[axis]);
    if (fixByReshape(d, site.range, own, flat, "make rows of it"))
      return;
  }
  if (given && isa<ast::IntExpr>(given)) {
    d.fix(given->range, Twine(own[axis]),
          "give the layer the size of the data");
    return;
  }
  if (bound && bound->kind == Val::Dim && !bound->type.isScalar() &&
      !(bound->origin == site.range)) {
    StringRef other = getShortText(bound->origin);
    d.note("both have to have the same size" +
           (other.empty() || text.empty()
                ? Twine("")
                : Twine(": change `" + text + "` or `" + other +
                        "`, or pass a "
                        "part of the longer one")));
    return;
  }
  d.note("pass " + writeShape(actual, asked) +
         (given ? Twine(", or give the layer " + Twine(own[axis]) + " as `" +
                        size->name + "`")
                : Twine(", or change the type of `" + site.param->name.name +
                        "`")));
}

void Checker::proposeResult(DiagBuilder &d, const Type &type,
                            const ast::ShapeItem &item, unsigned axis,
                            ArrayRef<Axis> declared, Range range) {
  Sizes own = sizesOf(type.axes), asked = sizesOf(declared);
  if (fixByOrder(d, range, own, asked))
    return;
  if (item.kind == ast::ShapeItem::Size && isa<ast::IntExpr>(item.size)) {
    d.fix(item.range, Twine(own[axis]), "declare what the body gives");
    return;
  }
  d.note("the body has to give " + writeShape(type, asked) +
         ", or the signature another size");
}

void Checker::proposeRank(DiagBuilder &d, const ast::TypeExpr *type,
                          const Type &actual, Range where) {
  // The same elements, where the sizes that are known leave one open at most.
  Sizes asked, own = sizesOf(actual.axes);
  int open = -1;
  int64_t known = 1;
  for (const ast::ShapeItem &item : type->shape) {
    StringRef name;
    if (item.kind != ast::ShapeItem::Size)
      return;
    auto *literal = dyn_cast<ast::IntExpr>(item.size);
    Val size;
    if (auto *ref = dyn_cast<ast::NameExpr>(item.size))
      size = lookup(ref->name, ref->range, false);
    if (literal || size.kind == Val::Dim) {
      asked.push_back(literal ? int64_t(literal->value) : size.number);
      if (llvm::MulOverflow(known, asked.back(), known))
        return;
    } else if (open < 0 && isInferredSize(item.size, name)) {
      open = asked.size();
      asked.push_back(1);
    } else {
      return;
    }
  }
  std::optional<int64_t> count = countElements(own);
  // A size of 1 says too little about what is meant.
  if (!count || known <= 1 || *count % known != 0)
    return;
  if (open >= 0)
    asked[open] = *count / known;
  fixByReshape(d, where, own, asked, "give it the axes that are asked for");
}
