//===- PlantedBugs.cpp - faults that the checks must find -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Testing/PlantedBugs.h"

#include "tdsl/Dialect/Plan/PlanOps.h"
#include "tdsl/Dialect/TDS/Evaluate.h"
#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::testing;

static const std::pair<PlantedBug, StringRef> kNames[] = {
    {PlantedBug::FoldOffByOneUlp, "fold-off-by-one-ulp"},
    {PlantedBug::MaxTie, "max-tie"},
    {PlantedBug::WindowGuard, "window-guard"},
    {PlantedBug::InPlaceReuse, "in-place-reuse"},
    {PlantedBug::SkippedTail, "skipped-tail"},
    {PlantedBug::TransposedStride, "transposed-stride"},
    {PlantedBug::CastRounding, "cast-rounding"},
    {PlantedBug::FloorDivisionOrder, "floor-division-order"},
    {PlantedBug::DroppedFlag, "dropped-flag"},
    {PlantedBug::ReductionIdentity, "reduction-identity"},
};

ArrayRef<PlantedBug> testing::getPlantedBugs() {
  static const std::vector<PlantedBug> bugs = [] {
    std::vector<PlantedBug> list;
    for (auto [bug, name] : kNames)
      list.push_back(bug);
    return list;
  }();
  return bugs;
}

StringRef testing::getName(PlantedBug bug) {
  for (auto [known, name] : kNames)
    if (known == bug)
      return name;
  return "none";
}

std::optional<PlantedBug> testing::parsePlantedBug(StringRef name) {
  for (auto [bug, known] : kNames)
    if (known == name)
      return bug;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

llvm::DenseSet<Attribute> testing::collectConstants(ModuleOp module) {
  llvm::DenseSet<Attribute> constants;
  module.walk([&](tds::ConstantOp op) {
    constants.insert(op.getValue());
    if (auto splat = dyn_cast<SplatElementsAttr>(op.getValue()))
      constants.insert(splat.getSplatValue<Attribute>());
  });
  return constants;
}

void testing::plantAfterFolding(ModuleOp module, PlantedBug bug,
                                const llvm::DenseSet<Attribute> &before) {
  if (bug != PlantedBug::FoldOffByOneUlp)
    return;
  module.walk([&](tds::ConstantOp op) {
    auto tensor = tds::toTensor(op.getValue());
    bool isKnown = before.contains(op.getValue());
    if (auto splat = dyn_cast<SplatElementsAttr>(op.getValue()))
      isKnown |= before.contains(splat.getSplatValue<Attribute>());
    if (!tensor || isKnown || tensor->kind() != reference::ElementKind::F32)
      return;
    for (float &value : tensor->elements<float>())
      value = std::nextafter(value, INFINITY);
    op.setValueAttr(tds::toAttribute(*tensor, op.getType()));
  });
}

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

/// `select(a == b, g * 0.5, …)` becomes `select(a == b, g, …)`.
static void plantMaxTie(ModuleOp module) {
  module.walk([&](tds::SelectOp op) {
    auto compare = op.getCondition().getDefiningOp<tds::CompareOp>();
    auto half = op.getOnTrue().getDefiningOp<tds::MulOp>();
    if (!compare || compare.getPredicate() != tds::ComparePredicate::EQ ||
        !half)
      return;
    for (unsigned i = 0; i < 2; ++i) {
      auto constant = half->getOperand(i).getDefiningOp<tds::ConstantOp>();
      auto tensor =
          constant ? tds::toTensor(constant.getValue()) : std::nullopt;
      if (tensor && tensor->numElements() && tensor->getDouble(0) == 0.5)
        op->setOperand(1, half->getOperand(1 - i));
    }
  });
}

/// Guards of 0 at affine places, as those of adjoints of windows.
static void plantWindowGuard(ModuleOp module) {
  module.walk([&](tds::ReadOp op) {
    if (!op.getGuard() || llvm::is_contained(op.getTensorType().getShape(), 0))
      return;
    op.removeGuardAttr();
    op.setClamped(true);
  });
}

void testing::plantAfterDifferentiation(ModuleOp module, PlantedBug bug) {
  if (bug == PlantedBug::MaxTie)
    plantMaxTie(module);
  else if (bug == PlantedBug::WindowGuard)
    plantWindowGuard(module);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The last index of rows that are no multiple of 8 long gives 0.
static void plantSkippedTail(tds::GenericOp op) {
  ArrayRef<int64_t> extents = op.getExtents();
  if (extents.empty() || extents.back() < 9 || extents.back() % 8 == 0 ||
      op.hasReduction())
    return;
  Operation *yield = op.getBlock()->getTerminator();
  OpBuilder builder(yield);
  Location loc = op.getLoc();
  Value last = tds::ConstantOp::create(
      builder, loc, builder.getIndexAttr(extents.back() - 1));
  Value index = op.getParallelIndices().back();
  Value isTail = tds::CompareOp::create(builder, loc, builder.getI1Type(),
                                        tds::ComparePredicate::EQ, index, last);
  Value value = yield->getOperand(0);
  Value zero = tds::ConstantOp::createSplat(builder, loc, value.getType(), 0);
  yield->setOperand(0, tds::SelectOp::create(builder, loc, value.getType(),
                                             isTail, zero, value));
}

static void plantTransposedStride(tds::ReadOp op) {
  auto shape = op.getTensorType().getShape();
  for (size_t i = 0; i + 1 < shape.size(); ++i)
    if (shape[i] == shape[i + 1] && shape[i] > 1) {
      Value first = op.getIndices()[i], second = op.getIndices()[i + 1];
      op.getIndicesMutable().slice(i, 1).assign(second);
      op.getIndicesMutable().slice(i + 1, 1).assign(first);
      return;
    }
}

/// Narrowing floats rounds down in size: nearly every number that is not exact
/// in the narrow type ends one place too low half of the time.
static void plantCastRounding(tds::CastOp op) {
  Type from = getElementTypeOrSelf(op.getOperand().getType());
  Type to = getElementTypeOrSelf(op.getType());
  if (!(from.isF32() || from.isF64()) || !(to.isF16() || to.isBF16()))
    return;
  OpBuilder builder(op);
  Value factor = tds::ConstantOp::createSplat(
      builder, op.getLoc(), op.getOperand().getType(),
      to.isF16() ? 1 - 0x1p-12 : 1 - 0x1p-9);
  op.setOperand(tds::MulOp::create(builder, op.getLoc(),
                                   op.getOperand().getType(), op.getOperand(),
                                   factor));
}

static void plantReductionIdentity(tds::GenericOp op) {
  if (op.getKind() != tds::ReductionKind::Max ||
      !isa<FloatType>(op.getType().getElementType()))
    return;
  // max(0, terms…) = max of max(0, term) where there are terms.
  Operation *yield = op.getBlock()->getTerminator();
  OpBuilder builder(yield);
  Value value = yield->getOperand(0);
  Value zero =
      tds::ConstantOp::createSplat(builder, op.getLoc(), value.getType(), 0);
  yield->setOperand(0, tds::MaxOp::create(builder, op.getLoc(), value.getType(),
                                          value, zero));
}

/// The flags of an entry become zeros.
static void plantDroppedFlag(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto name = function.getResultAttrOfType<StringAttr>(i, tds::attr::kResult);
    if (!name || name.getValue() != "tds.flags")
      continue;
    Operation *end = function.getBody().front().getTerminator();
    OpBuilder builder(end);
    auto type = cast<RankedTensorType>(end->getOperand(i).getType());
    end->setOperand(
        i, tds::ConstantOp::createSplat(builder, function.getLoc(), type, 0));
  }
}

void testing::plantAfterFusion(ModuleOp module, PlantedBug bug) {
  SmallVector<Operation *> operations;
  module.walk([&](Operation *op) { operations.push_back(op); });
  for (Operation *op : operations)
    switch (bug) {
    case PlantedBug::SkippedTail:
      if (auto generic = dyn_cast<tds::GenericOp>(op))
        plantSkippedTail(generic);
      break;
    case PlantedBug::TransposedStride:
      if (auto read = dyn_cast<tds::ReadOp>(op))
        plantTransposedStride(read);
      break;
    case PlantedBug::CastRounding:
      if (auto cast = dyn_cast<tds::CastOp>(op))
        plantCastRounding(cast);
      break;
    case PlantedBug::FloorDivisionOrder:
      if (isa<tds::FloorDivOp>(op) && op->getOperand(0) != op->getOperand(1)) {
        Value first = op->getOperand(0);
        op->setOperand(0, op->getOperand(1));
        op->setOperand(1, first);
      }
      break;
    case PlantedBug::ReductionIdentity:
      if (auto generic = dyn_cast<tds::GenericOp>(op))
        plantReductionIdentity(generic);
      break;
    case PlantedBug::DroppedFlag:
      if (auto function = dyn_cast<func::FuncOp>(op))
        plantDroppedFlag(function);
      break;
    default:
      return;
    }
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Lets a launch write over a value of the arena that a later launch reads.
static bool plantInPlaceReuse(plan::EntryOp entry) {
  SmallVector<plan::LaunchOp> launches;
  entry.walk([&](plan::LaunchOp op) { launches.push_back(op); });
  for (size_t k = 0; k < launches.size(); ++k)
    for (Attribute written : launches[k].getOutputs()) {
      auto target = cast<plan::BufferAttr>(written);
      if (target.getSpace() != plan::Space::Arena || target.getBytes() == 0)
        continue;
      for (size_t later = k + 1; later < launches.size(); ++later)
        for (Attribute read : launches[later].getInputs()) {
          // A value from before that is still wanted, and lies elsewhere.
          auto victim = cast<plan::BufferAttr>(read);
          bool isOlder = false;
          for (size_t i = 0; i < k; ++i)
            isOlder |= llvm::is_contained(launches[i].getOutputs(), read);
          bool isUsed = llvm::is_contained(launches[k].getInputs(), read) ||
                        llvm::is_contained(launches[later].getOutputs(), read);
          if (victim.getSpace() != plan::Space::Arena || !isOlder || isUsed ||
              victim.getBytes() < target.getBytes() || victim.overlaps(target))
            continue;
          auto moved = plan::BufferAttr::get(
              entry.getContext(), target.getSpace(), target.getIndex(),
              victim.getOffset(), target.getBytes());
          auto redirect = [&](ArrayAttr list) {
            SmallVector<Attribute> buffers(list.getValue());
            llvm::replace(buffers, written, Attribute(moved));
            return ArrayAttr::get(entry.getContext(), buffers);
          };
          for (size_t i = k; i < launches.size(); ++i) {
            launches[i].setInputsAttr(redirect(launches[i].getInputs()));
            launches[i].setOutputsAttr(redirect(launches[i].getOutputs()));
          }
          return true;
        }
    }
  return false;
}

void testing::plantAfterPlanning(ModuleOp module, PlantedBug bug) {
  if (bug != PlantedBug::InPlaceReuse)
    return;
  for (auto entry : module.getOps<plan::EntryOp>())
    plantInPlaceReuse(entry);
}
