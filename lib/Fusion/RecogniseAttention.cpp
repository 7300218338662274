//===- RecogniseAttention.cpp - softmax between two products -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starts at sums of products and asks whether one factor, written out as an
// expression of tensor elements, is softmax along the summed index of scores
// that come from another sum of products. Runs before derivatives are taken, so
// that the derivative is that of attention (Dao et al. 2022,
// arXiv:2205.14135).
//
//===----------------------------------------------------------------------===//

#include "Unfolding.h"

#include "tdsl/Dialect/TDS/AttentionBand.h"
#include "tdsl/Dialect/TDS/Stages.h"
#include "tdsl/Fusion/Bodies.h"
#include "tdsl/Fusion/Passes.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/IR/Remarks.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

namespace tdsl {
#define GEN_PASS_DEF_RECOGNISEATTENTIONPASS
#include "tdsl/Fusion/Passes.h.inc"
} // namespace tdsl

namespace {

/// Bytes of a row of queries and of values together, up to which the tiles of
/// the kernels find place in the shared memory of every GPU.
constexpr int64_t maxRowBytes = 1376;
/// What computing the scores' body may cost for each query and key, where it is
/// computed anew in each pass.
constexpr int64_t maxScoreCost = 256;

Type elementOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType();
}

/// Without conversions between floats.
Value peelCasts(Value value) {
  while (auto cast = value.getDefiningOp<CastOp>()) {
    if (!isa<FloatType>(cast.getType()) ||
        !isa<FloatType>(cast.getOperand().getType()))
      break;
    value = cast.getOperand();
  }
  return value;
}

Value peelStops(Value value) {
  while (auto stop = value.getDefiningOp<StopGradientOp>())
    value = stop.getOperand();
  return value;
}

bool isOne(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto number =
      constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
  return number && number.getValueAsDouble() == 1;
}

bool isPositive(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto number =
      constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
  return number && number.getValueAsDouble() > 0 &&
         number.getValue().isFinite();
}

/// One candidate: a sum of products `root` over `j`.
class Attempt {
public:
  Attempt(Block &graph, Operation *root)
      : graph(graph), root(root), unfolding(graph) {}

  /// The operation in place of `root`, or nothing.
  AttentionOp run();
  /// Why there is none, where it looked like attention; empty otherwise.
  StringRef getRefusal() const { return refusal; }

private:
  /// Notes the first reason; converts to what a match gives when it fails.
  struct Failure {
    operator bool() const { return false; }
    operator AttentionOp() const { return {}; }
  };
  Failure refuse(const Twine &why) {
    if (refusal.empty())
      refusal = why.str();
    return {};
  }
  bool matchWeights(Value weights);
  bool isReduction(Value value, ReductionKind kind, Value of);
  AttentionOp matchScores();
  AttentionOp matchProduct(ReadOp scores);
  bool isUsedElsewhere(Operation *scores);
  std::optional<AffineMap> getMap(ReadOp read, ArrayRef<Value> dims);
  /// The extent of an index of the result.
  int64_t extentOf(Value index) {
    return cast<RankedTensorType>(root->getResult(0).getType())
        .getDimSize(llvm::find(parallel, index) - parallel.begin());
  }
  AttentionOp build(ReadOp scores, ReadOp query, ReadOp key,
                    ArrayRef<Value> batch, Value i, Value column, Value d);

  Block &graph;
  Operation *root;
  Unfolding unfolding;
  std::string refusal;
  /// The indices of the result, and the summed one.
  SmallVector<Value> parallel;
  Value j;
  /// What softmax is taken of, and the values.
  Value scored;
  ReadOp value;
  bool isNarrow = false;
};

/// Whether `value` is the element of a reduction along j of `of`.
bool Attempt::isReduction(Value element, ReductionKind kind, Value of) {
  auto read = element.getDefiningOp<ReadOp>();
  if (!read || read.getGuard() || Unfolding::uses(element, j))
    return false;
  std::optional<Unfolding::Term> term = unfolding.getTerm(
      read.getTensor(), read.getIndices(), Unfolding::everything);
  return term && term->kind == kind && term->indices.size() == 1 &&
         Unfolding::areEqual(term->value, of, term->indices.front(), j);
}

/// exp(x) / sum(exp(x)) with x = (f - max(f)) * scale, in one of its forms.
bool Attempt::matchWeights(Value weights) {
  Value inner = peelCasts(weights);
  if (auto cast = weights.getDefiningOp<CastOp>(); cast && inner != weights) {
    // The last conversions are to the values' type, and back.
    Type narrow = inner.getType();
    for (Value at = weights; at != inner;
         at = at.getDefiningOp<CastOp>().getOperand())
      if (at.getType().getIntOrFloatBitWidth() < narrow.getIntOrFloatBitWidth())
        narrow = at.getType();
    if (narrow != inner.getType()) {
      if (narrow != elementOf(value.getTensor()))
        return refuse("the weights are rounded to another type than that of "
                      "the values");
      isNarrow = true;
    }
  }
  Value exponent, total;
  if (auto div = inner.getDefiningOp<DivOp>()) {
    if (auto exp = div.getLhs().getDefiningOp<ExpOp>()) {
      exponent = exp.getOperand();
      total = div.getRhs();
    }
  } else if (auto mul = inner.getDefiningOp<MulOp>()) {
    for (auto [x, y] : {std::pair(mul.getLhs(), mul.getRhs()),
                        std::pair(mul.getRhs(), mul.getLhs())}) {
      auto exp = x.getDefiningOp<ExpOp>();
      auto inverse = y.getDefiningOp<DivOp>();
      if (exp && inverse && isOne(inverse.getLhs())) {
        exponent = exp.getOperand();
        total = inverse.getRhs();
      }
    }
  } else if (auto exp = inner.getDefiningOp<ExpOp>()) {
    if (auto sub = exp.getOperand().getDefiningOp<SubOp>())
      if (auto log = sub.getRhs().getDefiningOp<LogOp>()) {
        exponent = sub.getLhs();
        total = log.getOperand();
      }
  }
  if (auto exp = inner.getDefiningOp<ExpOp>(); exp && !exponent) {
    auto sub = exp.getOperand().getDefiningOp<SubOp>();
    Value most = sub ? peelStops(sub.getRhs()) : Value();
    if (most && isReduction(most, ReductionKind::Max, sub.getLhs()))
      return refuse("the weights are not divided by their sum before they are "
                    "multiplied with the values");
  }
  if (!exponent) {
    // Something with the ingredients of a softmax in it?
    bool hasExp = false, hasQuotient = false;
    for (Operation *op : unfolding.getSlice(weights)) {
      hasExp |= isa<ExpOp>(op) && Unfolding::uses(op->getResult(0), j);
      hasQuotient |= isa<DivOp>(op);
    }
    if (hasExp && hasQuotient)
      refuse("the weights are not a softmax, or are changed behind it");
    return false;
  }
  if (!exponent.getType().isF32() && !exponent.getType().isF64())
    return refuse("the softmax is computed in narrow floats");
  Value x = exponent, scale;
  if (auto mul = x.getDefiningOp<MulOp>()) {
    for (auto [factor, rest] : {std::pair(mul.getLhs(), mul.getRhs()),
                                std::pair(mul.getRhs(), mul.getLhs())})
      if (isPositive(factor) && rest.getDefiningOp<SubOp>()) {
        scale = factor;
        x = rest;
      }
  } else if (auto div = x.getDefiningOp<DivOp>()) {
    if (isPositive(div.getRhs()) && div.getLhs().getDefiningOp<SubOp>()) {
      scale = div.getRhs();
      x = div.getLhs();
    }
  }
  auto sub = x.getDefiningOp<SubOp>();
  Value most = sub ? peelStops(sub.getRhs()) : Value();
  if (!most || !most.getDefiningOp<ReadOp>() || Unfolding::uses(most, j))
    return refuse("no maximum over the keys is taken off before exp, which may "
                  "overflow");
  if (!isReduction(most, ReductionKind::Max, sub.getLhs()))
    return refuse("what is taken off before exp is not the maximum of the same "
                  "scores over the keys");
  OpBuilder &builder = unfolding.getBuilder();
  Location loc = root->getLoc();
  Value exped = ExpOp::create(builder, loc, exponent.getType(), exponent);
  if (!isReduction(total, ReductionKind::Sum, exped))
    return refuse("the weights are not divided by their sum over the keys");
  scored = sub.getLhs();
  if (scale)
    scored = isa<MulOp>(exponent.getDefiningOp())
                 ? MulOp::create(builder, loc, scored, scale).getResult()
                 : DivOp::create(builder, loc, scored, scale).getResult();
  return true;
}

/// The indices of a read as a linear map of `dims`.
std::optional<AffineMap> Attempt::getMap(ReadOp read, ArrayRef<Value> dims) {
  if (read.getGuard() || read.getClamped())
    return std::nullopt;
  SmallVector<AffineExpr> exprs;
  for (Value index : read.getIndices()) {
    std::optional<AffineExpr> expr = getAffineIndex(index, dims);
    SmallVector<int64_t> linear;
    if (!expr ||
        failed(getFlattenedAffineExpr(*expr, dims.size(), 0, &linear)) ||
        linear.size() != dims.size() + 1)
      return std::nullopt;
    exprs.push_back(*expr);
  }
  // Axes of extent 1 belong together in order, where both sides have one: the
  // map of a whole tensor is then seen to be one.
  MLIRContext *context = root->getContext();
  auto type = cast<RankedTensorType>(read.getTensor().getType());
  for (unsigned dim = 0; dim + 1 < dims.size(); ++dim) {
    Value index = dims[dim];
    AffineExpr place = getAffineDimExpr(dim, context);
    bool isFree = llvm::is_contained(parallel, index) && extentOf(index) == 1 &&
                  llvm::none_of(exprs, [&](AffineExpr expr) {
                    return expr.isFunctionOfDim(dim);
                  });
    for (auto [axis, expr] : llvm::enumerate(exprs))
      if (isFree && type.getDimSize(axis) == 1 &&
          isa<AffineConstantExpr>(expr)) {
        expr = place;
        isFree = false;
      }
  }
  return AffineMap::get(dims.size(), 0, exprs, root->getContext());
}

/// Whether anything but the attention needs a tensor of queries and keys, which
/// then is in memory anyway.
bool Attempt::isUsedElsewhere(Operation *scores) {
  llvm::DenseSet<Operation *> part(unfolding.getVisited().begin(),
                                   unfolding.getVisited().end());
  part.insert(root);
  part.insert(scores);
  // What of it follows from the scores.
  SmallVector<Operation *> worklist{scores};
  llvm::DenseSet<Operation *> seen{scores};
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (op == root)
      continue;
    for (Operation *user : op->getUsers()) {
      Operation *at = graph.findAncestorOpInBlock(*user);
      if (!at) // an expression of ours
        continue;
      if (!part.contains(at))
        return true;
      if (seen.insert(at).second)
        worklist.push_back(at);
    }
  }
  return false;
}

AttentionOp Attempt::matchProduct(ReadOp scores) {
  std::optional<Unfolding::Term> term = unfolding.getTerm(
      scores.getTensor(), scores.getIndices(), Unfolding::copiesOnly);
  if (!term || term->kind != ReductionKind::Sum)
    return refuse("the scores are no product of queries and keys");
  if (term->indices.size() != 1)
    return refuse("the scores are summed over more than one index");
  Value d = term->indices.front();
  auto product = term->value.getDefiningOp<MulOp>();
  if (!product)
    return refuse("the scores are no product of queries and keys");
  ReadOp query, key;
  for (Value factor : product->getOperands()) {
    auto read = peelCasts(factor).getDefiningOp<ReadOp>();
    if (!read || !isa<FloatType>(read.getType()) ||
        (factor.getType() != scored.getType()))
      return refuse("a factor of the scores is no plain part of a tensor");
    (Unfolding::uses(read, j) ? key : query) = read;
  }
  if (!query || !key || !Unfolding::uses(query, d) || !Unfolding::uses(key, d))
    return refuse("each query has keys of its own");
  Value column, i;
  SmallVector<Value> batch;
  for (Value index : parallel) {
    if (Unfolding::uses(value, index) && !Unfolding::uses(scored, index)) {
      if (column)
        return refuse("the values have more than one index of their own");
      column = index;
      continue;
    }
    batch.push_back(index);
    // Where several axes have the same keys (the heads of multi-query
    // attention), the longest is that of the queries: keys and values have a
    // gradient for each point of the others.
    if (Unfolding::uses(query, index) && !Unfolding::uses(key, index) &&
        !Unfolding::uses(value, index) &&
        (!i || extentOf(index) >= extentOf(i)))
      i = index;
  }
  // A single query is at no index.
  for (Value index : batch)
    if (!i && extentOf(index) == 1)
      i = index;
  if (!column)
    return {};
  if (!i)
    return refuse("each query has keys or values of its own");
  llvm::erase(batch, i);
  return build(scores, query, key, batch, i, column, d);
}

AttentionOp Attempt::matchScores() {
  AttentionOp result;
  bool hasProduct = false;
  llvm::SetVector<Operation *> slice = unfolding.getSlice(scored);
  for (Operation *op : slice) {
    auto read = dyn_cast<ReadOp>(op);
    if (!read || read.getGuard() || read.getClamped() ||
        !Unfolding::uses(read, j) || read.getType() != scored.getType())
      continue;
    Operation *made = read.getTensor().getDefiningOp();
    auto generic = dyn_cast_or_null<GenericOp>(made);
    if (!made || made->getBlock() != &graph ||
        !(isa<ContractOp, ReduceOp>(made) ||
          (generic && generic.hasReduction())))
      continue;
    hasProduct = true;
    if ((result = matchProduct(read)))
      return result;
  }
  if (!hasProduct)
    refuse("the scores are no product of queries and keys");
  return {};
}

AttentionOp Attempt::build(ReadOp scores, ReadOp query, ReadOp key,
                           ArrayRef<Value> batch, Value i, Value column,
                           Value d) {
  auto withBatch = [&](Value row, Value last) {
    SmallVector<Value> dims(batch);
    dims.append({row, last});
    return dims;
  };
  std::optional<AffineMap> queryMap = getMap(query, withBatch(i, d)),
                           keyMap = getMap(key, withBatch(j, d)),
                           valueMap = getMap(value, withBatch(j, column));
  if (!queryMap || !keyMap || !valueMap)
    return refuse("queries, keys or values are read at places that are no "
                  "plain part of a tensor");
  // The extents.
  SmallVector<int64_t> extents;
  SmallVector<Value> resultDims = withBatch(i, column);
  SmallVector<AffineExpr> places;
  for (Value index : batch)
    extents.push_back(extentOf(index));
  auto reductionOf = [](Operation *op) -> int64_t {
    if (auto generic = dyn_cast<GenericOp>(op))
      return generic.getReductionSize();
    if (auto reduce = dyn_cast<ReduceOp>(op))
      return cast<RankedTensorType>(reduce.getOperand().getType())
          .getDimSize(reduce.getAxes().front());
    auto contract = cast<ContractOp>(op);
    return contract.getExtentOfAxis()[contract.getReducedAxes().front()];
  };
  extents.append({extentOf(i), reductionOf(root),
                  reductionOf(scores.getTensor().getDefiningOp()),
                  extentOf(column)});
  if (llvm::any_of(extents, [](int64_t extent) { return extent < 1; }))
    return {};
  Type compute = scored.getType();
  int64_t width = getElementBytes(compute);
  if ((extents.end()[-1] + extents.end()[-2]) * width > maxRowBytes)
    return refuse("a query and a row of values together have more than " +
                  Twine(maxRowBytes / width) + " features");
  for (ReadOp read : {query, key, value})
    if (Type element = elementOf(read.getTensor());
        element != compute && !element.isF16() && !element.isBF16())
      return refuse("queries, keys or values are of a wider type than the "
                    "scores");
  // The scores' body.
  llvm::SetVector<Operation *> slice = unfolding.getSlice(scored);
  int64_t cost = 0;
  for (Operation *op : slice) {
    auto read = dyn_cast<ReadOp>(op);
    bool isScore = read && read.getTensor() == scores.getTensor();
    if (isScore && !llvm::equal(read.getIndices(), scores.getIndices()))
      return refuse("scores of other queries or keys are needed, too");
    if (!isa<ReadOp>(op))
      cost += getCost(op);
    for (Value other : {column, d})
      if (Unfolding::uses(op->getResult(0), other))
        return {};
  }
  if (cost > maxScoreCost)
    return refuse("what is done to the scores is dear, and would be done again "
                  "for each use");
  if (isUsedElsewhere(scores.getTensor().getDefiningOp()))
    return refuse("the scores or the weights are used elsewhere, too");

  // The place of each axis of the result; a transpose behind it belongs to it.
  for (Value index : parallel)
    places.push_back(
        getAffineDimExpr(llvm::find(resultDims, index) - resultDims.begin(),
                         root->getContext()));
  OpBuilder builder(root);
  SmallVector<int64_t> rows(extents.begin(), extents.end() - 3);
  auto statistic = RankedTensorType::get(rows, compute);
  auto attention = AttentionOp::create(
      builder, root->getLoc(),
      TypeRange{root->getResult(0).getType(), statistic, statistic},
      query.getTensor(), key.getTensor(), value.getTensor(),
      builder.getDenseI64ArrayAttr(extents), AffineMapAttr::get(*queryMap),
      AffineMapAttr::get(*keyMap), AffineMapAttr::get(*valueMap),
      AffineMapAttr::get(
          AffineMap::get(resultDims.size(), 0, places, root->getContext())),
      isNarrow ? builder.getUnitAttr() : UnitAttr(),
      /*narrow_factors=*/UnitAttr());
  Block *body = new Block;
  attention.getScore().push_back(body);
  IRMapping mapping;
  for (Value index : withBatch(i, j))
    mapping.map(index,
                body->addArgument(builder.getIndexType(), root->getLoc()));
  Value s = body->addArgument(compute, root->getLoc());
  builder.setInsertionPointToEnd(body);
  for (Operation *op : slice) {
    auto read = dyn_cast<ReadOp>(op);
    if (read && read.getTensor() == scores.getTensor())
      mapping.map(read.getResult(), s);
    else
      builder.clone(*op, mapping);
  }
  YieldOp::create(builder, root->getLoc(), mapping.lookupOrDefault(scored));
  simplifyBody(body);
  return attention;
}

AttentionOp Attempt::run() {
  auto type = dyn_cast<RankedTensorType>(root->getResult(0).getType());
  if (!type || !isa<FloatType>(type.getElementType()))
    return {};
  for (int64_t k = 0; k < type.getRank(); ++k)
    parallel.push_back(unfolding.createIndex());
  std::optional<Unfolding::Term> term =
      unfolding.getTerm(root->getResult(0), parallel, Unfolding::copiesOnly);
  if (!term || term->kind != ReductionKind::Sum || term->indices.size() != 1)
    return {};
  j = term->indices.front();
  auto product = peelCasts(term->value).getDefiningOp<MulOp>();
  if (!product)
    return {};
  for (unsigned swapped = 0; swapped < 2; ++swapped) {
    Value weightsFactor = product->getOperand(swapped),
          valueFactor = product->getOperand(1 - swapped);
    value = peelCasts(valueFactor).getDefiningOp<ReadOp>();
    // Each row of weights is used for several columns of values.
    auto isColumn = [&](Value index) {
      return Unfolding::uses(value, index) &&
             !Unfolding::uses(weightsFactor, index);
    };
    if (!value || !isa<FloatType>(value.getType()) ||
        !Unfolding::uses(weightsFactor, j) || !Unfolding::uses(value, j) ||
        llvm::none_of(parallel, isColumn))
      continue;
    Value weights = unfolding.deepen(weightsFactor, Unfolding::everything);
    isNarrow = false;
    if (matchWeights(weights))
      if (AttentionOp attention = matchScores())
        return attention;
    if (!refusal.empty())
      break;
  }
  return {};
}

struct RecogniseAttentionPass
    : public tdsl::impl::RecogniseAttentionPassBase<RecogniseAttentionPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    if (failed(checkHasNoKernels(function, getArgument())))
      return signalPassFailure();
    for (Block *block : getGraphBlocks(function))
      runOnBlock(*block);
  }

  static std::string describe(AttentionOp attention) {
    AttentionBand band = getBand(attention);
    int64_t queries = attention.getNumQueries(), keys = attention.getNumKeys();
    if (!band)
      return "attention";
    return llvm::formatv(
        "attention; the mask leaves {0} of {1} pairs of a query and a key",
        band.countPairs(queries, keys), queries * keys);
  }

  void runOnBlock(Block &block) {
    SmallVector<Operation *> roots;
    for (Operation &op : block)
      if (isSumOfProducts(&op))
        roots.push_back(&op);
    SmallVector<Operation *> replaced;
    for (Operation *root : roots) {
      auto opts = remark::RemarkOpts::name("attention")
                      .category("recognise")
                      .function(getOperation().getName());
      AttentionOp attention;
      {
        Attempt attempt(block, root);
        attention = attempt.run();
        if (!attention) {
          if (!attempt.getRefusal().empty())
            remark::missed(root->getLoc(), opts)
                << ("no attention: " + attempt.getRefusal()).str();
          continue;
        }
      }
      remark::passed(root->getLoc(), opts) << describe(attention);
      root->getResult(0).replaceAllUsesWith(attention.getResult());
      replaced.push_back(root);
      absorbTranspose(attention);
      ++numAttentions;
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (op.use_empty() && !replaced.empty() && isPure(&op) &&
          !op.hasTrait<OpTrait::IsTerminator>())
        op.erase();
  }

  /// A sum of at least two terms that could end an attention.
  static bool isSumOfProducts(Operation *op) {
    if (auto contract = dyn_cast<ContractOp>(op))
      return !contract.hasWindow();
    if (auto reduce = dyn_cast<ReduceOp>(op))
      return reduce.getKind() == ReductionKind::Sum;
    auto generic = dyn_cast<GenericOp>(op);
    return generic && generic.getKind() == ReductionKind::Sum &&
           peelCasts(generic.getYielded()).getDefiningOp<MulOp>();
  }

  /// Where a transpose is all that reads the result, that is the result.
  static void absorbTranspose(AttentionOp attention) {
    while (attention.getResult().hasOneUse()) {
      Operation *user = *attention.getResult().user_begin();
      // For each axis of the transpose: the one it comes from.
      SmallVector<int64_t> from;
      Operation *made = user;
      if (auto transpose = dyn_cast<TransposeOp>(user)) {
        from.assign(transpose.getPermutation().begin(),
                    transpose.getPermutation().end());
      } else if (auto read = dyn_cast<ReadOp>(user)) {
        auto generic = dyn_cast<GenericOp>(read->getParentOp());
        if (!generic || generic.hasReduction() || read.getGuard() ||
            read.getClamped() || generic.getYielded() != read.getResult() ||
            generic.getNumParallel() != read.getIndices().size())
          return;
        from.assign(read.getIndices().size(), -1);
        for (auto [axis, index] : llvm::enumerate(read.getIndices())) {
          auto argument = dyn_cast<BlockArgument>(index);
          if (!argument || argument.getOwner() != generic.getBlock() ||
              generic.getExtents()[argument.getArgNumber()] !=
                  read.getTensorType().getDimSize(axis))
            return;
          from[argument.getArgNumber()] = axis;
        }
        if (llvm::is_contained(from, -1))
          return;
        made = generic;
      } else {
        return;
      }
      SmallVector<AffineExpr> places;
      for (int64_t axis : from)
        places.push_back(attention.getResultMap().getResult(axis));
      // The result is made where the transpose was: nothing reads it before.
      attention.setResultMap(
          AffineMap::get(attention.getResultMap().getNumDims(), 0, places,
                         attention.getContext()));
      Value transposed = made->getResult(0);
      Type type = transposed.getType();
      transposed.replaceAllUsesWith(attention.getResult());
      made->erase();
      attention.getResult().setType(cast<RankedTensorType>(type));
    }
  }
};

} // namespace
