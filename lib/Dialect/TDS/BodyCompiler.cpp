//===- BodyCompiler.cpp - scalar bodies as row programs -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BodyCompiler.h"

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using reference::ElementKind;
using reference::Opcode;
using reference::Reg;
using reference::Tensor;

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

/// Adds `scale` * `expr` to `base` and `coefficients`; false where the
/// expression is not linear or a number overflows.
static bool addLinear(AffineExpr expr, int64_t scale, int64_t &base,
                      MutableArrayRef<int64_t> coefficients) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    int64_t &coefficient = coefficients[dim.getPosition()];
    return !llvm::AddOverflow(coefficient, scale, coefficient);
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    int64_t term;
    return !llvm::MulOverflow(constant.getValue(), scale, term) &&
           !llvm::AddOverflow(base, term, base);
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (expr.getKind() == AffineExprKind::Add)
    return addLinear(binary.getLHS(), scale, base, coefficients) &&
           addLinear(binary.getRHS(), scale, base, coefficients);
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  int64_t product;
  return expr.getKind() == AffineExprKind::Mul && factor &&
         !llvm::MulOverflow(factor.getValue(), scale, product) &&
         addLinear(binary.getLHS(), product, base, coefficients);
}

std::optional<BodyCompiler::Affine> BodyCompiler::getAffine(ReadOp read) {
  ArrayRef<int64_t> shape = read.getTensorType().getShape();
  Affine result{0, SmallVector<int64_t, 4>(extents.size(), 0)};
  for (int64_t extent : extents)
    if (extent == 0)
      return std::nullopt;
  for (auto [index, extent] : llvm::zip(read.getIndices(), shape)) {
    std::optional<AffineExpr> expr =
        getAffineIndex(index, block->getArguments());
    if (!expr)
      return std::nullopt;
    int64_t base = 0;
    SmallVector<int64_t> coefficients(extents.size(), 0);
    if (!addLinear(*expr, 1, base, coefficients))
      return std::nullopt;
    // The least and the greatest index over the box of the extents.
    int64_t low = base, high = base;
    for (auto [coefficient, count] : llvm::zip(coefficients, extents)) {
      int64_t reach;
      int64_t &end = coefficient < 0 ? low : high;
      if (llvm::MulOverflow(coefficient, count - 1, reach) ||
          llvm::AddOverflow(end, reach, end))
        return std::nullopt;
    }
    if (low < 0 || high >= extent)
      return std::nullopt;
    result.base = result.base * extent + base;
    for (auto [stride, coefficient] : llvm::zip(result.strides, coefficients))
      stride = stride * extent + coefficient;
  }
  return result;
}

unsigned BodyCompiler::getSlot(Value tensor) {
  auto [it, isNew] = slotOf.try_emplace(tensor, slots.size());
  if (isNew)
    slots.push_back(tensor);
  return it->second;
}

Reg BodyCompiler::constant(Attribute value) {
  std::optional<Tensor> tensor = toTensor(value);
  assert(tensor && "the verifier lets through numbers only");
  if (options.f64 && reference::isFloat(tensor->kind()))
    return program.constant(tensor->convertedTo(ElementKind::F64));
  return program.constant(*tensor);
}

void BodyCompiler::compileRead(ReadOp read) {
  unsigned slot = getSlot(read.getTensor());
  ElementKind kind = *kindOf(read.getResult());
  auto affine = affineReads.find(read);
  if (affine != affineReads.end()) {
    regs[read] = program.affineRead(slot, kind, affine->second.base,
                                    affine->second.strides);
    return;
  }
  using Outside = reference::RowProgram::Outside;
  SmallVector<Reg> indices;
  for (Value index : read.getIndices())
    indices.push_back(getReg(index));
  Outside outside = read.getGuard()     ? Outside::Guard
                    : read.getClamped() ? Outside::Clamp
                                        : Outside::Error;
  Reg guard = read.getGuard() ? constant(*read.getGuard()) : 0;
  regs[read] = program.indexedRead(slot, kind, read.getTensorType().getShape(),
                                   indices, outside, guard);
}

//===----------------------------------------------------------------------===//
// Index expressions
//===----------------------------------------------------------------------===//

Reg BodyCompiler::compileAffine(AffineExpr expr, ArrayRef<Reg> operands) {
  constexpr ElementKind I64 = ElementKind::I64;
  auto number = [&](int64_t value) {
    return program.constant(Tensor::splat(I64, {}, value));
  };
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return operands[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return number(constant.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Reg lhs = compileAffine(binary.getLHS(), operands);
  Reg rhs = compileAffine(binary.getRHS(), operands);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return program.op(Opcode::Add, I64, lhs, rhs);
  case AffineExprKind::Mul:
    return program.op(Opcode::Mul, I64, lhs, rhs);
  case AffineExprKind::FloorDiv:
    return program.op(Opcode::FloorDiv, I64, lhs, rhs);
  case AffineExprKind::Mod:
    return program.op(Opcode::Mod, I64, lhs, rhs);
  default:
    // ceildiv(a, b) = -floordiv(-a, b)
    return program.op(Opcode::Neg, I64,
                      program.op(Opcode::FloorDiv, I64,
                                 program.op(Opcode::Neg, I64, lhs), rhs));
  }
}

//===----------------------------------------------------------------------===//
// Element operations
//===----------------------------------------------------------------------===//

static std::optional<Opcode> getOpcode(Operation *op) {
  using Result = std::optional<Opcode>;
  return llvm::StringSwitch<Result>(op->getName().stripDialect())
      .Case("add", Opcode::Add)
      .Case("sub", Opcode::Sub)
      .Case("mul", Opcode::Mul)
      .Case("div", Opcode::Div)
      .Case("floordiv", Opcode::FloorDiv)
      .Case("mod", Opcode::Mod)
      .Case("pow", Opcode::Pow)
      .Case("max", Opcode::Max)
      .Case("min", Opcode::Min)
      .Case("clamp", Opcode::Clamp)
      .Case("neg", Opcode::Neg)
      .Case("abs", Opcode::Abs)
      .Case("sign", Opcode::Sign)
      .Case("floor", Opcode::Floor)
      .Case("ceil", Opcode::Ceil)
      .Case("round", Opcode::Round)
      .Case("sqrt", Opcode::Sqrt)
      .Case("rsqrt", Opcode::Rsqrt)
      .Case("exp", Opcode::Exp)
      .Case("expm1", Opcode::Expm1)
      .Case("log", Opcode::Log)
      .Case("log1p", Opcode::Log1p)
      .Case("tanh", Opcode::Tanh)
      .Case("sigmoid", Opcode::Sigmoid)
      .Case("erf", Opcode::Erf)
      .Case("sin", Opcode::Sin)
      .Case("cos", Opcode::Cos)
      .Case("and", Opcode::And)
      .Case("or", Opcode::Or)
      .Case("not", Opcode::Not)
      .Case("isnan", Opcode::IsNan)
      .Case("isfinite", Opcode::IsFinite)
      .Case("select", Opcode::Select)
      .Default(std::nullopt);
}

std::optional<Reg> BodyCompiler::compileElementOp(Operation *op,
                                                  ArrayRef<Reg> operands) {
  std::optional<ElementKind> kind = kindOf(op->getResult(0));
  std::optional<ElementKind> operandKind = kindOf(op->getOperand(0));
  if (!kind || !operandKind)
    return std::nullopt;
  if (isa<CastOp>(op)) {
    // A bool from a float is x != 0, whatever the register format.
    return program.cast(operands[0], *operandKind, *kind);
  }
  if (isa<StopGradientOp>(op))
    return options.stops ? program.stopGradient(operands[0], *kind)
                         : operands[0];
  if (auto compare = dyn_cast<CompareOp>(op)) {
    auto opcode =
        static_cast<Opcode>(static_cast<unsigned>(Opcode::Equal) +
                            static_cast<unsigned>(compare.getPredicate()));
    return program.op(opcode, *operandKind, operands[0], operands[1]);
  }
  if (auto pow = dyn_cast<PowOp>(op)) {
    if (std::optional<int> exponent = getLiteralExponent(pow)) {
      Reg x = operands[0];
      if (*exponent == 0)
        return program.constant(Tensor::splat(*kind, {}, 1.0));
      if (*exponent == 1)
        return x;
      Reg square = program.op(Opcode::Mul, *kind, x, x);
      if (*exponent == 2)
        return square;
      return program.op(Opcode::Mul, *kind, square,
                        *exponent == 3 ? x : square);
    }
  }
  std::optional<Opcode> opcode = getOpcode(op);
  if (!opcode)
    return std::nullopt;
  ElementKind type = isa<SelectOp>(op) ? *kind : *operandKind;
  if (!reference::getRowFunction(*opcode, type))
    return std::nullopt;
  return program.op(*opcode, type, operands[0],
                    operands.size() > 1 ? operands[1] : 0,
                    operands.size() > 2 ? operands[2] : 0);
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

Reg BodyCompiler::getReg(Value value) {
  if (auto index = dyn_cast<BlockArgument>(value))
    return program.index(index.getArgNumber());
  auto it = regs.find(value);
  assert(it != regs.end() && "operand is compiled before its user");
  return it->second;
}

llvm::Error BodyCompiler::compileBody(Block &body, ArrayRef<int64_t> bounds,
                                      ArrayRef<Value> wanted) {
  block = &body;
  extents.assign(bounds.begin(), bounds.end());
  // What is needed, from the end: a read at fixed strides needs no index.
  llvm::SmallPtrSet<Operation *, 16> needed;
  auto need = [&](Value value) {
    if (Operation *op = value.getDefiningOp(); op && op->getBlock() == block)
      needed.insert(op);
  };
  llvm::for_each(wanted, need);
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (!needed.contains(&op))
      continue;
    if (auto read = dyn_cast<ReadOp>(op)) {
      if (std::optional<Affine> affine = getAffine(read)) {
        affineReads.try_emplace(read, std::move(*affine));
        continue;
      }
      llvm::for_each(read.getIndices(), need);
      continue;
    }
    llvm::for_each(op.getOperands(), need);
  }

  for (Operation &op : body.without_terminator()) {
    if (!needed.contains(&op))
      continue;
    if (auto known = dyn_cast<ConstantOp>(op)) {
      if (!toTensor(known.getValue()))
        return llvm::createStringError("has a constant of an unknown type");
      regs[known] = constant(known.getValue());
      continue;
    }
    if (auto read = dyn_cast<ReadOp>(op)) {
      compileRead(read);
      continue;
    }
    SmallVector<Reg> operands;
    for (Value operand : op.getOperands()) {
      if (operand.getParentBlock() != block)
        return llvm::createStringError(
            "uses a value of the surrounding block other than by tds.read");
      operands.push_back(getReg(operand));
    }
    if (auto apply = dyn_cast<ApplyOp>(op)) {
      regs[apply] = compileAffine(apply.getMap().getResult(0), operands);
      continue;
    }
    if (auto random = dyn_cast<RandomOp>(op)) {
      Reg iteration = random.getIteration()
                          ? operands[3]
                          : program.constant(Tensor::splat(ElementKind::I64, {},
                                                           int64_t(0)));
      Reg value =
          program.random(random.getKind() == RandomKind::Uniform, operands[0],
                         operands[1], operands[2], iteration, random.getSite());
      regs[random] =
          program.cast(value, ElementKind::F32, *kindOf(random.getResult()));
      continue;
    }
    std::optional<Reg> result = compileElementOp(&op, operands);
    if (!result)
      return llvm::createStringError("holds " + op.getName().getStringRef() +
                                     ", which no body can");
    regs[op.getResult(0)] = *result;
  }
  return llvm::Error::success();
}
