//===- InlineProducers.cpp - element generics into the bodies that read them -*-
// C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is inlined here needs no kernel of its own and no place in memory. Work
// is never multiplied without bound: a producer that is evaluated more often
// than before (broadcast, shifted reads, several readers) must be next to free,
// and one with several readers must not read large tensors, or these would be
// kept in memory instead of its result. A read at the reader's own indices is
// left to `tds-form-kernels`, which can put both into one kernel and knows what
// is in memory.
//
//===----------------------------------------------------------------------===//

#include "GraphPass.h"

#include "tdsl/Fusion/Bodies.h"
#include "tdsl/Fusion/CostModel.h"
#include "tdsl/Fusion/KernelRules.h"
#include "tdsl/Fusion/Passes.h"

#include "mlir/IR/Remarks.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

namespace tdsl {
#define GEN_PASS_DEF_INLINEPRODUCERSPASS
#include "tdsl/Fusion/Passes.h.inc"
} // namespace tdsl

namespace {

// These are no figures of a device, but small enough that each device that is
// described gains. What depends on the device is asked of the cost model.

/// Cost up to which a producer may be evaluated more often than it has
/// elements. Reading four bytes from the cache takes as long as 1.3 operations
/// on the host CPU, and as 5 to 19 on the GPUs.
constexpr int64_t cheapPerPoint = 2;
/// Cost up to which a producer with several readers is evaluated in each of
/// them. An f32 that is stored and read again moves 8 bytes through memory,
/// which takes as long as 16 operations on the host CPU, and as 50 and more on
/// the GPUs.
constexpr int64_t cheapPerReader = 8;
/// Cost at which a body is large enough: with eight operands of f32 a kernel is
/// bound by arithmetic from about 400 on, on each device (T4), and saves
/// nothing by another one.
constexpr int64_t maxBodyCost = 600;
/// Operations in a body. LLVM's time for straight code grows faster than its
/// length.
constexpr size_t maxBodyOps = 1000;

/// Readers of one producer: each generic or scatter with its reads.
using Readers = llvm::MapVector<Operation *, SmallVector<ReadOp>>;

bool isGather(ReadOp read) {
  return llvm::any_of(read.getIndices(), [&](Value index) {
    return !getAffineIndex(index, read->getBlock()->getArguments());
  });
}

/// Number of different places that the reads fetch at one point.
int64_t getNumPlaces(ArrayRef<ReadOp> reads) {
  SmallVector<ReadOp> distinct;
  for (ReadOp read : reads)
    if (llvm::none_of(distinct, [&](ReadOp other) {
          return llvm::equal(other.getIndices(), read.getIndices());
        }))
      distinct.push_back(read);
  return distinct.size();
}

struct InlineProducersPass
    : public CostModelPass<
          InlineProducersPass,
          tdsl::impl::InlineProducersPassBase<InlineProducersPass>> {
  using CostModelPass::CostModelPass;

  void runOnBlock(Block &block) {
    sinkScalars(block);
    for (auto generic : llvm::make_early_inc_range(block.getOps<GenericOp>()))
      inlineEverywhere(generic);
    mergeEqualOps(block);
  }

  /// Whether one generic reads the tensor, and only puts its elements in other
  /// places, such as one that pads it.
  static bool isOnlyMoved(GenericOp producer) {
    Operation *reader = nullptr;
    for (Operation *user : producer->getUsers()) {
      auto read = dyn_cast<ReadOp>(user);
      if (!read || (reader && reader != read->getParentOp()))
        return false;
      reader = read->getParentOp();
    }
    auto generic = dyn_cast_or_null<GenericOp>(reader);
    return generic && !generic.hasReduction() && getBodyCost(generic) == 0 &&
           generic.getYielded().getDefiningOp<ReadOp>();
  }

  void inlineEverywhere(GenericOp producer) {
    if (producer.hasReduction())
      return;
    // What is rounded is what memory is to hold; it still does where one reader
    // only puts it in other places.
    if (onlyRounds(producer) && !isOnlyMoved(producer))
      return;
    simplifyBody(producer.getBlock());
    Readers readers;
    bool hasOtherUsers = false;
    for (Operation *user : producer->getUsers()) {
      auto read = dyn_cast<ReadOp>(user);
      if (read && isa<GenericOp, ScatterOp>(read->getParentOp()))
        readers[read->getParentOp()].push_back(read);
      else
        hasOtherUsers = true;
    }
    int64_t cost = getBodyCost(producer);
    SmallVector<GenericOp> inner;
    if (!hasOtherUsers && paysInEach(producer, cost, readers, inner)) {
      for (GenericOp link : inner) {
        SmallVector<ReadOp> reads;
        for (ReadOp read : getReads(producer))
          if (read.getTensor() == link.getResult())
            reads.push_back(read);
        inlineInto(link, producer, reads);
      }
      for (auto &[reader, reads] : readers)
        inlineInto(producer, reader, reads);
      producer.erase();
      return;
    }
    if (onlyRounds(producer))
      return;
    bool isSingle = !hasOtherUsers && readers.size() == 1;
    bool isFree = cost == 0 ||
                  (cost <= cheapPerReader && !readsLargeTensor(producer)) ||
                  onlyWidens(producer);
    for (auto &[reader, reads] : readers) {
      if (llvm::any_of(reads, [](ReadOp read) {
            return read.getGuard() || read.getClamped();
          })) {
        if (mayInlineGuarded(producer, cost, reader, reads))
          inlineInto(producer, reader, reads);
        continue;
      }
      if ((isFree || (isSingle && !mayShareKernel(reader, reads))) &&
          mayInline(producer, cost, reader, reads))
        inlineInto(producer, reader, reads);
    }
  }

  /// Whether `tensor` must be in memory whether or not `reader` reads it: it
  /// comes from outside, or something reads it that no kernel can hold beside
  /// what makes it.
  static bool isStoredAnyway(Value tensor, Operation *reader) {
    Operation *made = tensor.getDefiningOp();
    if (!made || !isa<GenericOp, ContractOp>(made))
      return true;
    auto generic = dyn_cast<GenericOp>(made);
    return llvm::any_of(tensor.getUsers(), [&](Operation *user) {
      auto read = dyn_cast<ReadOp>(user);
      auto other =
          read ? dyn_cast<GenericOp>(read->getParentOp()) : GenericOp();
      if (other == reader)
        return false;
      if (!other)
        return true;
      std::optional<KernelShape> shape =
          joinShapes(getShapeOf(made), generic && generic.hasReduction(),
                     getShapeOf(other), other.hasReduction());
      return !shape || !isAlignedRead(read, *shape);
    });
  }

  /// Whether it is faster to evaluate the producer in all its readers than to
  /// store it: some of them could not be in its kernel, since they read
  /// windows, and what it reads is in memory anyway. `inner` gets generics that
  /// have to come into its body first.
  bool paysInEach(GenericOp producer, int64_t cost, const Readers &readers,
                  SmallVectorImpl<GenericOp> &inner) {
    double bytes = getNumBytes(producer.getType());
    if (readers.empty() || bytes < 8)
      return false;
    bool isStored = false;
    double saved = bytes, points = -double(getNumPoints(producer));
    // The element generics that it reads and that would be in its kernel come
    // with it.
    llvm::SmallSetVector<Value, 4> tensors;
    llvm::SmallSetVector<Operation *, 4> chain;
    chain.insert(producer);
    for (unsigned next = 0; next < chain.size(); ++next) {
      auto link = cast<GenericOp>(chain[next]);
      for (ReadOp read : getReads(link)) {
        if (read.getClamped() || isGather(read))
          return false;
        Value tensor = read.getTensor();
        if (getNumBytes(tensor.getType()) < bytes / 4 ||
            isStoredAnyway(tensor, link)) {
          tensors.insert(tensor);
          continue;
        }
        Operation *made = tensor.getDefiningOp();
        if (!isElementGeneric(made) || !readsAt(read, link.getIndices()))
          return false;
        if (chain.insert(made)) {
          cost += getBodyCost(made);
          inner.push_back(cast<GenericOp>(made));
        }
      }
    }
    for (Value tensor : tensors)
      saved += getNumBytes(tensor.getType());
    for (auto &[reader, reads] : readers) {
      if (isa<ScatterOp>(reader) || llvm::any_of(reads, [](ReadOp read) {
            return read.getClamped() || isGather(read);
          }))
        return false;
      bool isGuarded = llvm::any_of(
          reads, [](ReadOp read) { return read.getGuard().has_value(); });
      int64_t places = getNumPlaces(reads);
      if (places * cost + getBodyCost(reader) > maxBodyCost ||
          places * producer.getBlock()->getOperations().size() +
                  reader->getRegion(0).front().getOperations().size() >
              maxBodyOps)
        return false;
      isStored |= isGuarded || !mayShareKernel(reader, reads);
      points += double(places) * double(getNumPoints(reader));
      saved += bytes;
      llvm::SmallPtrSet<Value, 8> own;
      for (ReadOp read : getReads(reader))
        own.insert(read.getTensor());
      for (Value tensor : tensors)
        if (!own.contains(tensor))
          saved -= getNumBytes(tensor.getType());
    }
    if (!isStored || saved < 0)
      return false;
    double gained = model->getMoveNs(saved, bytes),
           spent = model->getBodyNs(double(cost), points);
    bool pays = gained > spent;
    auto opts = remark::RemarkOpts::name("recompute")
                    .category("fusion")
                    .function(getOperation().getName());
    (pays ? remark::passed(producer.getLoc(), opts)
          : remark::missed(producer.getLoc(), opts))
        << llvm::formatv("{0} in its readers instead of stored: {1} of "
                         "memory saved, {2} of work added",
                         pays ? "computed again" : "not computed again",
                         formatTime(gained), formatTime(std::max(spent, 0.0)))
               .str()
        << remark::metric("Decision", "recompute");
    return pays;
  }

  /// Whether one kernel may hold the producer and the reader as they are.
  static bool mayShareKernel(Operation *reader, ArrayRef<ReadOp> reads) {
    if (isa<ScatterOp>(reader))
      return false;
    KernelShape shape = getShapeOf(reader);
    return llvm::all_of(
        reads, [&](ReadOp read) { return isAlignedRead(read, shape); });
  }

  /// Whether a tensor of about the producer's size is read.
  static bool readsLargeTensor(GenericOp producer) {
    int64_t elements = producer.getType().getNumElements();
    return elements > 1 && llvm::any_of(getReads(producer), [&](ReadOp read) {
             return 4 * read.getTensorType().getNumElements() > elements;
           });
  }

  static bool mayInline(GenericOp producer, int64_t cost, Operation *reader,
                        ArrayRef<ReadOp> reads) {
    int64_t places = getNumPlaces(reads);
    if (places * cost + getBodyCost(reader) > maxBodyCost ||
        places * producer.getBlock()->getOperations().size() +
                reader->getRegion(0).front().getOperations().size() >
            maxBodyOps)
      return false;
    return cost <= cheapPerPoint ||
           places * getNumPoints(reader) <=
               std::max<int64_t>(producer.getType().getNumElements(), 1);
  }

  /// A guarded read is inlined as a select between the producer's body, each of
  /// whose reads gets a guard, and the guard's value. That pays where a gather
  /// takes a few elements of a cheap producer only, which then need not be
  /// written out for it.
  static bool mayInlineGuarded(GenericOp producer, int64_t cost,
                               Operation *reader, ArrayRef<ReadOp> reads) {
    ReadOp read = reads.front();
    if (onlyWidens(producer))
      return llvm::none_of(reads,
                           [](ReadOp other) { return other.getClamped(); });
    if (reads.size() != 1 || read.getClamped() || cost > cheapPerReader ||
        !isGather(read))
      return false;
    for (ReadOp inner : getReads(producer))
      if (inner.getClamped() || isGather(inner))
        return false;
    return 2 * getNumPoints(reader) <= producer.getType().getNumElements();
  }

  void inlineInto(GenericOp producer, Operation *reader,
                  ArrayRef<ReadOp> reads) {
    for (ReadOp read : reads) {
      OpBuilder builder(read);
      IRMapping mapping;
      cloneBody(builder, producer, read.getIndices(), mapping);
      Value value = mapping.lookupOrDefault(producer.getYielded());
      if (read.getGuard())
        value = guardValue(builder, producer, read, mapping, value);
      read.replaceAllUsesWith(value);
      read.erase();
      ++numInlined;
    }
    simplifyBody(&reader->getRegion(0).front());
  }

  /// Whether `index`, in the body of `op`, is a loop index that stays below
  /// `extent`.
  static bool isInRange(Value index, Operation *op, int64_t extent) {
    auto argument = dyn_cast<BlockArgument>(index);
    if (!argument || argument.getOwner() != &op->getRegion(0).front())
      return false;
    SmallVector<int64_t> extents;
    if (auto generic = dyn_cast<GenericOp>(op)) {
      llvm::append_range(extents, generic.getExtents());
      llvm::append_range(extents, generic.getReduceExtents());
    } else {
      llvm::append_range(extents, cast<ScatterOp>(op).getExtents());
    }
    return extents[argument.getArgNumber()] <= extent;
  }

  static Value guardValue(OpBuilder &builder, GenericOp producer, ReadOp read,
                          IRMapping &mapping, Value value) {
    Location loc = read.getLoc();
    for (ReadOp inner : getReads(producer)) {
      auto clone =
          cast<ReadOp>(mapping.lookup(inner.getResult()).getDefiningOp());
      bool mayLeave = false;
      for (auto [index, extent] :
           llvm::zip(clone.getIndices(), clone.getTensorType().getShape()))
        mayLeave |= !isInRange(index, clone->getParentOp(), extent);
      if (clone.getGuard() || !mayLeave)
        continue;
      Type element = clone.getTensorType().getElementType();
      TypedAttr zero = isa<FloatType>(element)
                           ? TypedAttr(builder.getFloatAttr(element, 0.0))
                           : TypedAttr(builder.getIntegerAttr(element, 0));
      clone.setGuardAttr(zero);
    }
    Value inside;
    for (auto [index, extent] :
         llvm::zip(read.getIndices(), read.getTensorType().getShape())) {
      if (isInRange(index, read->getParentOp(), extent))
        continue;
      Value zero =
          ConstantOp::create(builder, loc, TypedAttr(builder.getIndexAttr(0)));
      Value end = ConstantOp::create(builder, loc,
                                     TypedAttr(builder.getIndexAttr(extent)));
      Value notBelow =
          CompareOp::create(builder, loc, ComparePredicate::GE, index, zero);
      Value notAbove =
          CompareOp::create(builder, loc, ComparePredicate::LT, index, end);
      Value both = AndOp::create(builder, loc, notBelow, notAbove);
      inside = inside ? Value(AndOp::create(builder, loc, inside, both)) : both;
    }
    if (!inside)
      return value;
    Value guard = ConstantOp::create(builder, loc, *read.getGuard());
    return SelectOp::create(builder, loc, inside, value, guard);
  }
};

} // namespace
