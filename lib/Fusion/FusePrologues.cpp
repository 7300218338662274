//===- FusePrologues.cpp - factors computed where they are loaded ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A contraction on a GPU loads a tile of each factor into shared memory before
// it multiplies. What a kernel would do to the elements of a factor before
// (a conversion, a scale, a gather, what fills the edges of a window) can be
// done there. It is then done once for each tile that an element is in, and for
// each place of a window, which is why it does not always pay.
//
//===----------------------------------------------------------------------===//

#include "LaunchGroups.h"

#include "tdsl/Fusion/Bodies.h"
#include "tdsl/Fusion/CostModel.h"
#include "tdsl/Fusion/KernelRules.h"
#include "tdsl/Fusion/Passes.h"

#include "mlir/IR/Remarks.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

namespace tdsl {
#define GEN_PASS_DEF_FUSEPROLOGUESPASS
#include "tdsl/Fusion/Passes.h.inc"
} // namespace tdsl

namespace {

/// Operations that find an index of an element from where it lies: a division
/// and a product, as getCost counts them.
constexpr double indexCost = 5;
/// Registers of a thread that hold what a factor is computed from.
constexpr double prologueRegisters = 16;

ContractOp getContract(KernelOp kernel) {
  return *kernel.getBlock()->getOps<ContractOp>().begin();
}

BlockArgument getFactor(OpOperand &use) {
  return cast<KernelOp>(use.getOwner())
      .getBlock()
      ->getArgument(use.getOperandNumber());
}

/// Whether `read` reads a tensor of the generic's extents at the generic's own
/// indices.
bool readsOwnPoint(ReadOp read, GenericOp generic) {
  return read.getTensorType().getShape() == generic.getExtents() &&
         readsAt(read, generic.getIndices());
}

/// The indices in `from` of the element that has `indices` in a reshape to
/// `to`.
SmallVector<Value> getSourceIndices(OpBuilder &builder, Location loc,
                                    ArrayRef<int64_t> from,
                                    ArrayRef<int64_t> to, ValueRange indices) {
  MLIRContext *context = builder.getContext();
  AffineExpr linear = getAffineConstantExpr(0, context);
  for (auto [i, extent] : llvm::enumerate(to))
    linear = linear * extent + getAffineDimExpr(i, context);
  SmallVector<Value> source(from.size());
  int64_t stride = 1;
  for (size_t i = from.size(); i-- > 0;) {
    AffineExpr expr = linear.floorDiv(stride);
    if (i > 0)
      expr = expr % from[i];
    stride *= from[i];
    source[i] =
        createIndex(builder, loc, AffineMap::get(to.size(), 0, expr), indices);
  }
  return source;
}

struct FuseProloguesPass
    : public tdsl::impl::FuseProloguesPassBase<FuseProloguesPass> {
  using tdsl::impl::FuseProloguesPassBase<
      FuseProloguesPass>::FuseProloguesPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function->hasAttr(attr::kEntry))
      return;
    model = loadCostModel(target, function);
    if (!model)
      return signalPassFailure();
    for (Block *block : getGraphBlocks(function)) {
      // Readers are replaced, and a loop may stand before them.
      SmallVector<KernelOp> loops;
      for (auto kernel : block->getOps<KernelOp>())
        if (kernel.getKind() == "loop")
          loops.push_back(kernel);
      for (KernelOp loop : loops)
        if (failed(fuse(loop)))
          return signalPassFailure();
    }
  }

  /// The uses of a value, or of a view of it, by kernels of contractions; other
  /// uses are not among them, and make `isReadElsewhere` true.
  static void collectReaders(Value value, SmallVectorImpl<OpOperand *> &readers,
                             bool &isReadElsewhere) {
    for (OpOperand &use : value.getUses()) {
      if (auto reshape = dyn_cast<ReshapeOp>(use.getOwner())) {
        collectReaders(reshape.getResult(), readers, isReadElsewhere);
        continue;
      }
      auto kernel = dyn_cast<KernelOp>(use.getOwner());
      if (kernel && kernel.getKind() == "contract" &&
          llvm::all_of(getFactor(use).getUsers(), llvm::IsaPred<ContractOp>))
        readers.push_back(&use);
      else
        isReadElsewhere = true;
    }
  }

  LogicalResult fuse(KernelOp producer) {
    for (Value result : producer.getResults()) {
      SmallVector<OpOperand *> readers;
      bool isReadElsewhere = false;
      collectReaders(result, readers, isReadElsewhere);
      if (readers.empty())
        continue;
      std::string why = findObstacle(producer, readers, isReadElsewhere);
      std::string times;
      if (why.empty() && pays(producer, readers, times, why))
        return replace(producer, times);
      for (OpOperand *reader : readers)
        remark::missed(reader->getOwner()->getLoc(), getOptions())
            << "not computed where the contraction loads it: " + why
            << remark::metric("Decision", "prologue")
            << remark::detail::Remark::Arg("Producer",
                                           Attribute(producer.getLoc()));
    }
    return success();
  }

  remark::RemarkOpts getOptions() {
    return remark::RemarkOpts::name("prologue")
        .category("fusion")
        .function(getOperation().getName());
  }

  /// Why what the producer does cannot be done where its readers load the
  /// factor; empty where it can.
  std::string findObstacle(KernelOp producer, ArrayRef<OpOperand *> readers,
                           bool isReadElsewhere) {
    if (model->getTarget().isCPU)
      return "a CPU packs factors from memory";
    if (producer.getNumResults() != 1)
      return "its kernel makes other values, too";
    if (isReadElsewhere)
      return "it is read elsewhere, too";
    for (Operation &op : producer.getBlock()->without_terminator()) {
      if (auto generic = dyn_cast<GenericOp>(op);
          generic && generic.hasReduction())
        return "it is a sum";
      if (auto constant = dyn_cast<ConstantOp>(op))
        if (auto data = dyn_cast<DenseElementsAttr>(constant.getValue());
            data && !data.isSplat())
          return "each kernel would hold the constants that it reads";
    }
    double temporaries = 0;
    for (Value input : producer.getInputs())
      if (getViewed(input).getDefiningOp<KernelOp>())
        temporaries += getNumBytes(input.getType());
    if (temporaries > getNumBytes(producer.getResult(0).getType()))
      return "what it reads is larger, and would stay in memory longer";
    for (OpOperand *reader : readers)
      if (readsReplaced(producer, reader->getOwner()))
        return "a value that it reads may be replaced before";
    return "";
  }

  /// Whether the producer reads a variable whose new value has to be made
  /// before the reader runs: the old one would be copied for it.
  bool readsReplaced(KernelOp producer, Operation *reader) {
    llvm::SetVector<Operation *> before;
    before.insert(reader);
    for (unsigned next = 0; next < before.size(); ++next)
      for (Value operand : before[next]->getOperands())
        if (Operation *made = operand.getDefiningOp();
            made && made->getBlock() == reader->getBlock())
          before.insert(made);
    return llvm::any_of(
        getUpdates(*reader->getBlock()), [&](const Update &update) {
          return before.contains(getViewed(update.after).getDefiningOp()) &&
                 llvm::any_of(producer.getInputs(), [&](Value input) {
                   return getViewed(input) == update.before;
                 });
        });
  }

  /// Bytes that are read to compute an element. What is far smaller than the
  /// factor, such as a scale, stays close.
  static double getBytesOfPoint(KernelOp producer) {
    double bytes = 0;
    for (auto generic : producer.getBlock()->getOps<GenericOp>())
      for (ReadOp read : getReads(generic)) {
        RankedTensorType type = read.getTensorType();
        if (isa<BlockArgument>(read.getTensor()) &&
            4 * type.getNumElements() >= generic.getType().getNumElements())
          bytes += double(getElementBytes(type.getElementType()));
      }
    return bytes;
  }

  /// What it costs to find the indices of an element: the tiles of a matrix
  /// have them, others divide where the element lies.
  static double getIndexCost(ContractOp contract, bool isLhs) {
    auto type = cast<RankedTensorType>(
        (isLhs ? contract.getLhs() : contract.getRhs()).getType());
    bool isWindow = bool(isLhs ? contract.getLhsMap() : contract.getRhsMap());
    return type.getRank() <= 2 && !isWindow
               ? 0
               : indexCost * double(std::max<int64_t>(type.getRank() - 1, 1));
  }

  bool pays(KernelOp producer, ArrayRef<OpOperand *> readers,
            std::string &times, std::string &why) {
    KernelCost own = model->getCost(producer);
    auto type = cast<RankedTensorType>(producer.getResult(0).getType());
    double stored = getNumBytes(type), read = own.bytes - stored, work = 0;
    for (auto generic : producer.getBlock()->getOps<GenericOp>())
      work += double(getBodyCost(generic) + 1);
    double moreOfPoint =
        std::max(0.0, getBytesOfPoint(producer) -
                          double(getElementBytes(type.getElementType())));
    if (read * double(readers.size()) >=
        own.bytes + stored * double(readers.size())) {
      why = llvm::formatv("{0} B would be read in each of {1} kernels instead "
                          "of {2} B",
                          read, readers.size(), stored)
                .str();
      return false;
    }
    double spent = 0, saved = model->getNs(own) + model->getLaunchNs();
    for (OpOperand *reader : readers) {
      auto kernel = cast<KernelOp>(reader->getOwner());
      ContractOp contract = getContract(kernel);
      BlockArgument factor = getFactor(*reader);
      double loads = 0, ops = 0;
      for (bool isLhs : {true, false})
        if ((isLhs ? contract.getLhs() : contract.getRhs()) == factor) {
          double own = getNumLoads(contract, isLhs);
          loads += own;
          ops += own * (work + getIndexCost(contract, isLhs));
        }
      KernelCost before = model->getCost(kernel), after = before;
      after.ops += ops;
      after.bytes += read - stored;
      after.registers += prologueRegisters;
      after.buffers += producer.getInputs().size() - 1;
      if (!model->fits(after, &why))
        return false;
      double busy =
          std::min(1.0, before.blocks / model->getTarget().multiprocessors);
      spent += std::max(0.0, model->getNs(after) - model->getNs(before)) +
               loads * moreOfPoint / model->getTarget().cacheGBPerS / busy;
    }
    times = formatTime(spent) + " of work added, " + formatTime(saved) +
            " of memory and launch saved";
    if (spent >= saved)
      why = times;
    return spent < saved;
  }

  /// Makes the result in each kernel that reads it instead.
  LogicalResult replace(KernelOp producer, StringRef times) {
    Value result = producer.getResult(0);
    for (;;) {
      SmallVector<OpOperand *> readers;
      bool isReadElsewhere = false;
      collectReaders(result, readers, isReadElsewhere);
      if (readers.empty())
        break;
      KernelOp joined = join(producer, *readers.front());
      if (failed(verifyKernelKind(joined)))
        return failure();
      remark::passed(joined.getLoc(), getOptions())
          << ("computed where the contraction loads it: " + times).str()
          << remark::metric("Decision", "prologue");
      ++numFused;
    }
    eraseViews(result);
    producer.erase();
    return success();
  }

  static void eraseViews(Value value) {
    for (Operation *user : llvm::make_early_inc_range(value.getUsers())) {
      eraseViews(user->getResult(0));
      user->erase();
    }
  }

  /// The kernel that uses a factor with what makes it in front, in the shape
  /// that it has there.
  static KernelOp join(KernelOp producer, OpOperand &use) {
    auto kernel = cast<KernelOp>(use.getOwner());
    BlockArgument factor = getFactor(use);
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(factor.getType()).getShape();
    auto type = cast<RankedTensorType>(producer.getResult(0).getType());
    bool isView = type.getShape() != shape;
    OpBuilder builder(kernel);
    llvm::SetVector<Value> inputs;
    for (auto [i, input] : llvm::enumerate(kernel.getInputs()))
      if (i != factor.getArgNumber())
        inputs.insert(input);
    // What is read at the point itself is read in the factor's shape.
    llvm::DenseMap<Value, Value> views;
    for (auto generic : producer.getBlock()->getOps<GenericOp>())
      for (ReadOp read : getReads(generic)) {
        auto argument = dyn_cast<BlockArgument>(read.getTensor());
        if (!argument)
          continue;
        Value input = producer.getInputs()[argument.getArgNumber()];
        if (!isView || !readsOwnPoint(read, generic)) {
          inputs.insert(input);
        } else if (!views.contains(argument)) {
          auto to = RankedTensorType::get(
              shape, read.getTensorType().getElementType());
          auto view = input.getDefiningOp<ReshapeOp>();
          views[argument] =
              view && view.getOperand().getType() == to
                  ? view.getOperand()
                  : ReshapeOp::create(builder, read.getLoc(), to, input)
                        .getResult();
          inputs.insert(views[argument]);
        }
      }
    auto joined = KernelOp::create(
        builder, builder.getFusedLoc({producer.getLoc(), kernel.getLoc()}),
        kernel.getResultTypes(), kernel.getKindAttr(), inputs.getArrayRef());
    SmallVector<Type> types;
    SmallVector<Location> locs;
    for (Value input : inputs) {
      types.push_back(input.getType());
      locs.push_back(input.getLoc());
    }
    Block *body = builder.createBlock(&joined.getBody(), {}, types, locs);
    auto getInside = [&](Value input) -> Value {
      auto it = llvm::find(inputs, input);
      return it == inputs.end()
                 ? Value()
                 : body->getArgument(std::distance(inputs.begin(), it));
    };
    IRMapping made, mapping;
    for (auto [argument, input] :
         llvm::zip(producer.getBlock()->getArguments(), producer.getInputs()))
      if (Value inside = getInside(input))
        made.map(argument, inside);
    for (Operation &op : producer.getBlock()->without_terminator()) {
      auto generic = dyn_cast<GenericOp>(op);
      if (!generic || !isView) {
        builder.clone(op, made);
        continue;
      }
      auto getTensor = [&](Value tensor) {
        Value view = views.lookup(tensor);
        return view ? getInside(view) : made.lookup(tensor);
      };
      made.map(generic.getResult(),
               reshape(builder, generic, shape, made, getTensor));
    }
    for (auto [argument, input] :
         llvm::zip(kernel.getBlock()->getArguments(), kernel.getInputs()))
      mapping.map(
          argument,
          argument == factor
              ? made.lookup(producer.getBlock()->getTerminator()->getOperand(0))
              : getInside(input));
    for (Operation &op : *kernel.getBlock())
      builder.clone(op, mapping);
    kernel.replaceAllUsesWith(joined.getResults());
    kernel.erase();
    return joined;
  }

  /// An element generic over the extents `shape` of a reshape of its result.
  /// `getTensor` gives what is read at the point itself, `made` what is read
  /// elsewhere.
  static Value reshape(OpBuilder &builder, GenericOp generic,
                       ArrayRef<int64_t> shape, const IRMapping &made,
                       llvm::function_ref<Value(Value)> getTensor) {
    auto type =
        RankedTensorType::get(shape, generic.getType().getElementType());
    auto clone = GenericOp::create(
        builder, generic.getLoc(), type, {}, std::nullopt,
        [&](OpBuilder &b, Location loc, ValueRange indices) -> Value {
          IRMapping inside(made);
          cloneBody(
              b, generic,
              getSourceIndices(b, loc, generic.getExtents(), shape, indices),
              inside);
          for (ReadOp read : getReads(generic)) {
            if (!readsOwnPoint(read, generic))
              continue;
            auto old =
                cast<ReadOp>(inside.lookup(read.getResult()).getDefiningOp());
            OpBuilder::InsertionGuard guard(b);
            b.setInsertionPoint(old);
            Value own = ReadOp::create(b, read.getLoc(),
                                       getTensor(read.getTensor()), indices);
            old.replaceAllUsesWith(own);
            old.erase();
            inside.map(read.getResult(), own);
          }
          return inside.lookupOrDefault(generic.getYielded());
        });
    simplifyBody(clone.getBlock());
    return clone.getResult();
  }

  std::optional<CostModel> model;
};

} // namespace
