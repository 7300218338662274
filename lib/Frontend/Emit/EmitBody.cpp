//===- EmitBody.cpp - Element operations and index definitions -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emitter.h"

#include "tdsl/Dialect/TDS/FoldAttributes.h"

using namespace tdsl;
using llvm::SmallVector;
using typed::Op;

mlir::Value Emitter::emitElementwise(const typed::Node *node, mlir::Type type,
                                     mlir::Location loc) {
  auto operand = [&](unsigned i) { return get(node->operands[i]); };
  auto unary = [&](auto tag) -> mlir::Value {
    return decltype(tag)::create(builder, loc, type, operand(0));
  };
  auto binary = [&](auto tag) -> mlir::Value {
    return decltype(tag)::create(builder, loc, type, operand(0), operand(1));
  };
  auto compare = [&](tds::ComparePredicate predicate) -> mlir::Value {
    return tds::CompareOp::create(builder, loc, type, predicate, operand(0),
                                  operand(1));
  };
  switch (node->op) {
  case Op::Constant:
    return tds::ConstantOp::create(builder, loc, getScalar(*node->value, type));
  case Op::Neg:
    return unary(tds::NegOp());
  case Op::Abs:
    return unary(tds::AbsOp());
  case Op::Sign:
    return unary(tds::SignOp());
  case Op::Floor:
    return unary(tds::FloorOp());
  case Op::Ceil:
    return unary(tds::CeilOp());
  case Op::Round:
    return unary(tds::RoundOp());
  case Op::Sqrt:
    return unary(tds::SqrtOp());
  case Op::Rsqrt:
    return unary(tds::RsqrtOp());
  case Op::Exp:
    return unary(tds::ExpOp());
  case Op::Expm1:
    return unary(tds::Expm1Op());
  case Op::Log:
    return unary(tds::LogOp());
  case Op::Log1p:
    return unary(tds::Log1pOp());
  case Op::Tanh:
    return unary(tds::TanhOp());
  case Op::Sigmoid:
    return unary(tds::SigmoidOp());
  case Op::Erf:
    return unary(tds::ErfOp());
  case Op::Sin:
    return unary(tds::SinOp());
  case Op::Cos:
    return unary(tds::CosOp());
  case Op::Not:
    return unary(tds::NotOp());
  case Op::IsNan:
    return unary(tds::IsNanOp());
  case Op::IsFinite:
    return unary(tds::IsFiniteOp());
  case Op::StopGradient:
    return unary(tds::StopGradientOp());
  case Op::Cast:
    return unary(tds::CastOp());
  case Op::Add:
    return binary(tds::AddOp());
  case Op::AddTerm: {
    mlir::Value sum = binary(tds::AddOp());
    sum.getDefiningOp()->setDiscardableAttr(tds::attr::kAnyOrder,
                                            builder.getUnitAttr());
    return sum;
  }
  case Op::Sub:
    return binary(tds::SubOp());
  case Op::Mul:
    return binary(tds::MulOp());
  case Op::Div:
    return binary(tds::DivOp());
  case Op::FloorDiv:
    return binary(tds::FloorDivOp());
  case Op::Mod:
    return binary(tds::ModOp());
  case Op::Pow: {
    // So far only what the text knows is a constant.
    mlir::Value exponent = operand(1);
    if (auto broadcast = exponent.getDefiningOp<tds::BroadcastOp>())
      exponent = broadcast.getOperand();
    bool isLiteral = exponent.getDefiningOp<tds::ConstantOp>() != nullptr;
    return tds::PowOp::create(builder, loc, type, operand(0), operand(1),
                              isLiteral);
  }
  case Op::Max:
    return binary(tds::MaxOp());
  case Op::Min:
    return binary(tds::MinOp());
  case Op::And:
    return binary(tds::AndOp());
  case Op::Or:
    return binary(tds::OrOp());
  case Op::Eq:
    return compare(tds::ComparePredicate::EQ);
  case Op::Ne:
    return compare(tds::ComparePredicate::NE);
  case Op::Lt:
    return compare(tds::ComparePredicate::LT);
  case Op::Le:
    return compare(tds::ComparePredicate::LE);
  case Op::Gt:
    return compare(tds::ComparePredicate::GT);
  case Op::Ge:
    return compare(tds::ComparePredicate::GE);
  case Op::Clamp:
    return tds::ClampOp::create(builder, loc, type, operand(0), operand(1),
                                operand(2));
  case Op::Select:
    return tds::SelectOp::create(builder, loc, type, operand(0), operand(1),
                                 operand(2));
  default:
    return {};
  }
}

//===----------------------------------------------------------------------===//
// Index definitions
//===----------------------------------------------------------------------===//

mlir::Value Emitter::emitGeneric(const typed::Node *node) {
  const typed::Body &body = *node->body;
  mlir::Location loc = getLoc(node->range, node->name);
  std::optional<tds::ReductionKind> kind;
  if (body.reduction)
    kind = tds::ReductionKind(int(*body.reduction));
  // A reduction over no index has one term.
  SmallVector<int64_t, 4> reduced(body.reduced.begin(), body.reduced.end());
  auto type = llvm::cast<mlir::RankedTensorType>(getType(node->types[0]));
  return tds::GenericOp::create(
      builder, loc, type, reduced, kind,
      [&](mlir::OpBuilder &inner, mlir::Location, mlir::ValueRange loops) {
        mlir::OpBuilder outer = builder;
        builder = inner;
        for (const typed::Node *element : body.nodes)
          emitInBody(element, loops);
        mlir::Value result = get({const_cast<typed::Node *>(body.result), 0});
        inner = builder;
        builder = outer;
        return result;
      });
}

/// The SSA value of an index expression, made where it is first needed.
mlir::Value Emitter::materialiseIndex(const typed::Node *node,
                                      mlir::Location loc) {
  Index &index = indices.find(node)->second;
  if (index.value)
    return index.value;
  // Only the dims that the expression uses.
  mlir::AffineExpr expr = index.expr;
  SmallVector<mlir::Value, 4> used;
  SmallVector<mlir::AffineExpr, 4> renamed;
  for (unsigned i = 0; i < index.dims.size(); ++i) {
    if (expr.isFunctionOfDim(i)) {
      renamed.push_back(builder.getAffineDimExpr(used.size()));
      used.push_back(index.dims[i]);
    } else {
      renamed.push_back(builder.getAffineConstantExpr(0));
    }
  }
  expr = expr.replaceDims(renamed);
  if (expr == builder.getAffineDimExpr(0) && used.size() == 1)
    return index.value = used.front();
  auto map = mlir::AffineMap::get(used.size(), 0, expr);
  return index.value =
             tds::ApplyOp::create(builder, loc, builder.getIndexType(),
                                  mlir::AffineMapAttr::get(map), used);
}

void Emitter::emitRead(const typed::Node *node) {
  mlir::Location loc = getLoc(node->range, node->name);
  SmallVector<mlir::Value, 4> places;
  for (const typed::Value &index : node->operands.drop_front())
    places.push_back(materialiseIndex(index.node, loc));
  mlir::Value tensor = get(node->operands[0]);
  mlir::Type element = getElement(node->types[0].elem);
  mlir::TypedAttr guard;
  if (node->readMode == typed::ReadMode::Guarded)
    guard = getScalar(*node->value, element);
  set(node, tds::ReadOp::create(builder, loc, element, tensor, places, guard,
                                node->readMode == typed::ReadMode::Clamped));
}

void Emitter::emitInBody(const typed::Node *node, mlir::ValueRange loops) {
  mlir::Location loc = getLoc(node->range, node->name);
  // Loop indices stand in no list.
  for (const typed::Value &operand : node->operands) {
    if (operand.node->op != Op::LoopIndex || indices.count(operand.node))
      continue;
    Index &index = indices[operand.node];
    index.expr = builder.getAffineDimExpr(0);
    index.dims = {loops[operand.node->number]};
    index.value = index.dims[0];
  }
  auto indexOf = [&](unsigned i) -> Index & {
    return indices.find(node->operands[i].node)->second;
  };
  // One of two expressions over the dims of both.
  auto join = [&](auto combine) {
    Index left = indexOf(0), right = indexOf(1);
    SmallVector<mlir::AffineExpr, 4> renamed;
    for (mlir::Value dim : right.dims) {
      auto *it = llvm::find(left.dims, dim);
      renamed.push_back(builder.getAffineDimExpr(it - left.dims.begin()));
      if (it == left.dims.end())
        left.dims.push_back(dim);
    }
    left.expr = combine(left.expr, right.expr.replaceDims(renamed));
    left.value = {};
    indices[node] = left;
  };
  auto scaled = [&](mlir::AffineExpr expr) {
    Index out = indexOf(0);
    out.expr = expr;
    out.value = {};
    indices[node] = out;
  };
  switch (node->op) {
  case Op::IndexConstant: {
    Index &index = indices[node];
    index.expr = builder.getAffineConstantExpr(node->number);
    return;
  }
  case Op::IndexAdd:
    return join([](auto a, auto b) { return a + b; });
  case Op::IndexSub:
    return join([](auto a, auto b) { return a - b; });
  case Op::IndexMul:
    return scaled(indexOf(0).expr * node->number);
  case Op::IndexFloorDiv:
    return scaled(indexOf(0).expr.floorDiv(uint64_t(node->number)));
  case Op::IndexMod:
    return scaled(indexOf(0).expr % uint64_t(node->number));
  case Op::ToIndex: {
    Index &index = indices[node];
    index.value = tds::CastOp::create(builder, loc, builder.getIndexType(),
                                      get(node->operands[0]));
    index.expr = builder.getAffineDimExpr(0);
    index.dims = {index.value};
    return;
  }
  case Op::FromIndex:
    return set(node, tds::CastOp::create(
                         builder, loc, getElement(node->types[0].elem),
                         materialiseIndex(node->operands[0].node, loc)));
  case Op::Read:
    return emitRead(node);
  case Op::Random: {
    auto kind = node->distribution == typed::Distribution::Normal
                    ? tds::RandomKind::Normal
                    : tds::RandomKind::Uniform;
    return set(node, tds::RandomOp::create(
                         builder, loc, builder.getF32Type(), kind,
                         get(node->operands[0]), get(node->operands[1]),
                         materialiseIndex(node->operands[2].node, loc),
                         /*iteration=*/mlir::Value(),
                         static_cast<uint32_t>(node->number)));
  }
  default: {
    mlir::Type type = getType(node->types[0], /*scalar=*/true);
    mlir::Value value = emitElementwise(node, type, loc);
    assert(value && "no element operation");
    return set(node, value);
  }
  }
}
