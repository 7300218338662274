//===- WriteIndexDefinitions.cpp - random index definitions -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A definition takes its extents from the tensors that there are. Each axis of
// a read is indexed by something that stays inside (an index of that extent, a
// window i + u, a stride, a quotient, a constant, a gather); where nothing
// does, the tensor is read `padded` or `clamped`.
//
//===----------------------------------------------------------------------===//

#include "ProgramWriter.h"

using namespace tdsl::testing;
using tdsl::reference::isFloat;
using tdsl::reference::nameOf;

// Of a second derivative the work is the square of these.
static constexpr int64_t kMostPoints = 600, kMostTerms = 48, kMostWork = 6000;

/// An index for an axis of `extent` places. False where nothing stays inside
/// and it may not leave.
bool ProgramWriter::indexFor(int64_t extent, bool mayLeave, bool mayGather,
                             bool &leaves, std::string &text, bool &exact) {
  for (Index &index : indices)
    if (index.extent == extent && random.chance(65)) {
      index.isInferred = true;
      text = index.name;
      return true;
    }
  if (extent == 0)
    return false;
  if (mayGather && !indices.empty() && random.chance(30)) {
    const Value *ids = pickValue([&](const Value &value) {
      return !isFloat(value.kind) && value.kind != Kind::Bool &&
             value.rank() >= 1 && value.rank() <= 2 && value.size() > 0;
    });
    bool itsOwn = false;
    std::string at;
    bool good = ids != nullptr;
    for (size_t axis = 0; good && axis < ids->rank(); ++axis) {
      std::string part;
      good = indexFor(ids->shape[axis], false, false, itsOwn, part, exact);
      at += (axis ? ", " : "") + part;
    }
    // Without an index it would be a slice, whose place must be known.
    good = good && at.find_first_of("jr") != std::string::npos;
    if (good) {
      text = ids->name + "[" + at + "]";
      exact &= ids->exact;
      if (ids->below == 0 || ids->below > extent) {
        // The divisor has to fit the type.
        if ((ids->kind == Kind::I8 && extent > 127) ||
            (ids->kind == Kind::U8 && extent > 255))
          return false;
        text += " % " + std::to_string(extent);
      }
      note("gather");
      note("index gather");
      return true;
    }
  }
  std::vector<std::string> inside;
  for (Index &i : indices) {
    if (i.extent <= extent && i.extent > 0) {
      inside.push_back(sizeText(extent) + " - 1 - " + i.name);
      if (i.extent < extent)
        inside.push_back(i.name + " + " + std::to_string(extent - i.extent));
    }
    if (i.extent > 0 && 2 * (i.extent - 1) < extent)
      inside.push_back("2 * " + i.name);
    if (i.extent > 0 && (i.extent - 1) / 2 < extent)
      inside.push_back(i.name + " // 2");
    if (extent > 1)
      inside.push_back(i.name + " % " + sizeText(extent));
    for (Index &u : indices)
      if (&u != &i && i.extent > 0 && u.extent > 0) {
        if (i.extent + u.extent - 1 <= extent) {
          inside.push_back(i.name + " + " + u.name);
          inside.push_back(i.name + " + " + u.name);
        }
        if (2 * (i.extent - 1) + u.extent <= extent)
          inside.push_back("2 * " + i.name + " + " + u.name);
      }
  }
  inside.push_back(std::to_string(random.pick(extent)));
  if (mayLeave && !indices.empty() && random.chance(20)) {
    leaves = true;
    const std::string &i = indices[random.pick(indices.size())].name;
    const std::string &u = indices[random.pick(indices.size())].name;
    text = random.oneOf({"2 * ", "", "3 * "}) + i;
    if (random.chance(60))
      text += (random.chance(70) ? " + " : " - ") + u;
    text += random.chance(70) ? " - " + std::to_string(1 + random.pick(3)) : "";
    note("index window");
    return true;
  }
  text = random.of(inside);
  if (text.find(" + ") != std::string::npos)
    note("index window");
  else if (text.find("//") != std::string::npos)
    note("index quotient");
  else if (text.find('%') != std::string::npos)
    note("index remainder");
  else if (text.find('*') != std::string::npos)
    note("index stride");
  else if (text.find('-') != std::string::npos)
    note("index reversed");
  return true;
}

/// A read of `value` at indices that are visible, or nothing.
std::optional<Expr> ProgramWriter::read(const Value &value) {
  Expr e{"", value.bound, value.exact, value.active};
  if (value.rank() == 0) {
    e.text = value.name;
    return e;
  }
  // A gather and a guard at once would have two meanings outside.
  bool mayLeave = value.size() > 0 && random.chance(25), leaves = false;
  std::vector<Index> before = indices;
  std::vector<std::string> parts;
  for (int64_t extent : value.shape) {
    std::string part;
    if (!indexFor(extent, mayLeave, !mayLeave, leaves, part, e.exact))
      return std::nullopt;
    parts.push_back(part);
  }
  for (size_t i = 0; i < parts.size(); ++i)
    e.text += (i ? ", " : "") + parts[i];
  for (size_t i = 0; i < parts.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (parts[i] == parts[j])
        note("index diagonal");
  std::string base = value.name;
  if (leaves)
    indices = before; // ranges come from other reads first
  if (leaves && random.chance(50)) {
    note("clamped");
    base = "clamped(" + base + ")";
  } else if (leaves) {
    note("padded");
    base = "padded(" + base + ", " +
           (value.kind == Kind::Bool ? "false"
            : random.chance(60)      ? "0"
                                     : "1") +
           ")";
    e.bound = std::max(e.bound, 1.0);
  }
  e.text = base + "[" + e.text + "]";
  note("read");
  return e;
}

Expr ProgramWriter::bodyLeaf(Kind kind, bool exactOnly) {
  bool jumps = exactOnly || !isFloat(kind);
  if (!indices.empty() && random.chance(8)) {
    const Index &index = indices[random.pick(indices.size())];
    Value value;
    value.kind = Kind::I32;
    value.bound = static_cast<double>(index.extent) + 1;
    note("index as a value");
    return castTo(kind, value, index.name);
  }
  if (nested < 2 && isFloat(kind) && !exactOnly && random.chance(10))
    return reduction(kind, exactOnly, /*asStatement=*/false);
  for (int attempt = 0; attempt < 6; ++attempt) {
    bool sameKind = random.chance(80);
    const Value *value = pickValue([&](const Value &v) {
      return (v.kind == kind || !sameKind) && (v.exact || !exactOnly) &&
             (v.kind == kind || v.exact || !jumps || !isFloat(v.kind)) &&
             (v.rank() > 0 || attempt > 2);
    });
    if (!value)
      continue;
    std::vector<Index> before = indices;
    if (auto e = read(*value))
      if (e->exact || !jumps || (isFloat(kind) && !exactOnly))
        return castTo(kind,
                      Value{"", value->kind, {}, e->bound, e->exact, e->active},
                      e->text);
    indices = before; // that read does not stand in the program
  }
  // A literal alone would have no type.
  Expr e = literal(kind);
  e.text = nameOf(kind).str() + "(" + e.text + ")";
  return e;
}

/// `i, j < 4`: ranges where no read gives them, and sometimes where one does.
std::string ProgramWriter::listIndices(llvm::ArrayRef<Index *> list) {
  std::string text;
  for (Index *index : list) {
    text += (text.empty() ? "" : ", ") + index->name;
    if (!index->isInferred || random.chance(25)) {
      text += " < " + sizeText(index->extent);
      note("index with a range");
    }
  }
  return text;
}

/// A reduction over new indices; in a body, or as a statement of its own.
Expr ProgramWriter::reduction(Kind kind, bool exactOnly, bool asStatement) {
  static const std::vector<int64_t> small = {1, 2, 3, 4, 5, 7};
  size_t outer = indices.size();
  unsigned count = 1 + random.chance(40) + random.chance(10);
  int64_t terms = 1;
  for (unsigned k = 0; k < count; ++k) {
    Index index{name("r")};
    const Value *value = pickValue([](const Value &v) { return v.rank() > 0; });
    index.extent = value && random.chance(75)
                       ? value->shape[random.pick(value->rank())]
                       : random.of(small);
    if (index.extent == 0 && !hostile)
      index.extent = 2;
    if (terms * index.extent > kMostTerms ||
        points * terms * index.extent > kMostWork)
      index.extent = 2;
    terms *= std::max<int64_t>(index.extent, 1);
    indices.push_back(index);
  }
  std::string function;
  Kind of = kind;
  if (isFloat(kind)) {
    function =
        random.oneOf({"sum", "sum", "sum", "mean", "max", "min", "prod"});
  } else if (kind == Kind::Bool) {
    function = random.oneOf({"any", "all"});
  } else if (kind == Kind::I32) {
    function = random.oneOf({"sum", "max", "min", "prod", "argmax", "argmin"});
    if (function == "sum")
      of = random.chance(50) ? Kind::I32
                             : (random.chance(50) ? Kind::U8 : Kind::I8);
    if (function[0] == 'a')
      of = random.chance(60) ? pickFloat() : Kind::I32;
  } else if (kind == Kind::I64) {
    function = random.oneOf({"sum", "max", "min", "prod", "mean"});
    if (function == "mean")
      of = random.chance(50) ? Kind::I32 : Kind::U8;
  } else {
    function = random.oneOf({"max", "min"});
  }
  if (function[0] == 'a' && function != "any" && function != "all") {
    indices.resize(outer + 1);
    if (indices.back().extent == 0)
      indices.back().extent = 3;
  }
  if (exactOnly && isFloat(kind) && function != "max" && function != "min")
    function = "max";
  bool floatArithmetic =
      isFloat(kind) && function != "max" && function != "min";
  bool jumps = exactOnly || !isFloat(kind);
  ++nested;
  Expr body = expression(of, random.pick(3), jumps);
  --nested;
  if (function == "prod")
    body = isFloat(kind) ? tamed(body, 1.5) : body;
  note("reduction " + function);
  note(asStatement ? "reduction in a definition" : "reduction in a body");
  llvm::SmallVector<Index *, 4> own;
  for (size_t i = outer; i < indices.size(); ++i)
    own.push_back(&indices[i]);
  double number = 1;
  for (Index *index : own)
    number *= std::max<double>(index->extent, 1);
  Expr e{function + "[" + listIndices(own) + "](" + body.text + ")", body.bound,
         body.exact && !floatArithmetic, isFloat(kind) ? body.active : 0};
  if (function == "sum")
    e.bound *= number;
  else if (function == "prod")
    e.bound = 1e9;
  else if (function == "argmax" || function == "argmin")
    e.bound = number;
  e.bound = std::min(e.bound, limitOf(kind));
  indices.resize(outer);
  return tamed(e, isFloat(kind) ? 50 : limitOf(kind));
}

bool ProgramWriter::writeIndexDefinition() {
  inBody = true;
  indices.clear();
  target.clear();
  unsigned rank = 1 + random.pick(3);
  points = 1;
  Value value;
  value.name = name("v");
  for (unsigned k = 0; k < rank; ++k) {
    const Value *source =
        pickValue([](const Value &v) { return v.rank() > 0; });
    int64_t extent = source ? source->shape[random.pick(source->rank())] : 3;
    if (random.chance(25))
      extent = std::max<int64_t>(
          0, extent + static_cast<int64_t>(random.pick(4)) - 2);
    else if (random.chance(10))
      extent = (extent + 1) / 2;
    if (points * extent > kMostPoints)
      extent = 2;
    points *= std::max<int64_t>(extent, 1);
    indices.push_back({name("j"), extent});
    value.shape.push_back(extent);
  }
  value.kind = inStep && !hostile && random.chance(75) ? Kind::F32 : pickKind();
  noteKind(value.kind);
  Expr body =
      random.chance(50)
          ? reduction(value.kind, false, /*asStatement=*/true)
          : expression(value.kind, 1 + random.pick(2), !isFloat(value.kind));
  inBody = false;
  llvm::SmallVector<Index *, 4> list;
  for (Index &index : indices)
    list.push_back(&index);
  note("statement index definition");
  line("let " + value.name + "[" + listIndices(list) + "] = " + body.text);
  indices.clear();
  value.bound = body.bound;
  value.exact = body.exact;
  value.active = body.active;
  add(value);
  return true;
}

/// A reduction to a scalar, as an expression statement.
bool ProgramWriter::writeIndexReduction() {
  inBody = true;
  points = 1;
  indices.clear();
  target.clear();
  Value value;
  value.name = name("v");
  value.kind = inStep && !hostile ? Kind::F32 : pickKind();
  noteKind(value.kind);
  Expr body = reduction(value.kind, false, true);
  inBody = false;
  value.bound = body.bound;
  value.exact = body.exact;
  value.active = body.active;
  define(value, body.text);
  return true;
}

/// A sum of products of two tensors, in one of several layouts.
bool ProgramWriter::writeContraction() {
  const Value *a = pickValue([](const Value &v) {
    return isFloat(v.kind) && v.rank() >= 1 && v.rank() <= 3 && v.size() > 0;
  });
  if (!a)
    return false;
  size_t shared = random.pick(a->rank());
  const Value *b = pickValue([&](const Value &v) {
    return v.kind == a->kind && v.rank() >= 1 && v.rank() <= 3 &&
           llvm::is_contained(v.shape, a->shape[shared]);
  });
  if (!b)
    return false;
  Value value;
  value.name = name("v");
  value.kind = a->kind;
  std::string left, right, result, sum = name("r");
  int64_t points = 1;
  for (size_t i = 0; i < a->rank(); ++i) {
    std::string index = i == shared ? sum : name("j");
    left += (i ? ", " : "") + index;
    if (i != shared) {
      result += (result.empty() ? "" : ", ") + index;
      value.shape.push_back(a->shape[i]);
      points *= a->shape[i];
    }
  }
  bool done = false;
  for (size_t i = 0; i < b->rank(); ++i) {
    bool isShared = !done && b->shape[i] == a->shape[shared];
    done |= isShared;
    std::string index = isShared ? sum : name("j");
    right += (i ? ", " : "") + index;
    if (!isShared) {
      result = random.chance(50) || result.empty()
                   ? result + (result.empty() ? "" : ", ") + index
                   : result + ", " + index;
      value.shape.push_back(b->shape[i]);
      points *= b->shape[i];
    }
  }
  if (points > kMostPoints || result.empty())
    return false;
  noteKind(value.kind);
  note("contraction");
  note("reduction sum");
  note("statement index definition");
  std::string factors[2] = {a->name + "[" + left + "]",
                            b->name + "[" + right + "]"};
  bool swapped = random.chance(30);
  value.bound = a->bound * b->bound * static_cast<double>(a->shape[shared]);
  value.exact = false;
  value.active = a->active | b->active;
  line("let " + value.name + "[" + result + "] = sum[" + sum + "](" +
       factors[swapped] + " * " + factors[!swapped] + ")");
  add(value);
  return true;
}
