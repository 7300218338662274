//===- Recompute.cpp - computed again instead of stored -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Recompute.h"

#include "tdsl/Fusion/Bodies.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

LogicalResult tdsl::getOuterReads(const KernelGroups &groups, GenericOp generic,
                                  unsigned group, OuterReads &reads) {
  for (Operation *user : generic->getUsers()) {
    auto read = dyn_cast<ReadOp>(user);
    std::optional<unsigned> reader =
        read && isa<GenericOp, ScatterOp>(read->getParentOp())
            ? groups.getIndexOf(read->getParentOp())
            : std::nullopt;
    if (!reader)
      return failure();
    unsigned readerGroup = groups.getGroupOf(*reader);
    if (readerGroup == group)
      continue;
    if (read.getGuard() || read.getClamped())
      return failure();
    reads[readerGroup].push_back(read);
  }
  return success();
}

double tdsl::getWaitingNs(const KernelGroups &groups, const CostModel &model,
                          ArrayRef<GenericOp> values, ArrayRef<Value> leaves,
                          const OuterReads &readers) {
  unsigned group = groups.getGroupOf(*groups.getIndexOf(values.front()));
  if (llvm::any_of(values,
                   [](GenericOp value) {
                     return value.getType().getNumElements() > smallKernel;
                   }) ||
      llvm::any_of(leaves, [&](Value leaf) {
        std::optional<unsigned> maker = groups.getIndexOf(leaf.getDefiningOp());
        return maker && groups.getGroupOf(*maker) == group;
      }))
    return 0;
  double freed = 0;
  for (auto &[reader, reads] : readers) {
    bool waits =
        llvm::any_of(groups.getGroup(reader).members, [&](unsigned op) {
          return llvm::any_of(groups.getProducers(op), [&](unsigned producer) {
            return groups.getGroupOf(producer) == group &&
                   !llvm::is_contained(values, groups.getOp(producer));
          });
        });
    freed += waits ? 0 : model.getLaunchNs();
  }
  return freed;
}

namespace {

/// The values of one group that could be computed again.
class Candidates {
public:
  Candidates(KernelGroups &groups, unsigned group)
      : groups(groups), group(group) {
    for (unsigned op : groups.getGroup(group).members)
      collect(op);
  }

  /// How many are no longer stored.
  unsigned apply(const CostModel &model, unsigned maxBuffers,
                 TellDecision tell);

private:
  struct Candidate {
    GenericOp generic;
    OuterReads readers;
    /// What it is computed from, and the generics of the group in between.
    llvm::SetVector<Value> leaves;
    llvm::SetVector<Operation *> inner;
    int64_t cost = 0;
  };

  void collect(unsigned op);
  bool isMade(Value tensor) const {
    std::optional<unsigned> index = groups.getIndexOf(tensor.getDefiningOp());
    return index && groups.getGroupOf(*index) == group;
  }
  bool isStoredAnyway(Value tensor) const;
  void unfold(Candidate &candidate, GenericOp generic);
  void inlineInto(ReadOp read, const Candidate &candidate);
  static bool areLeavesNarrow(Candidate &candidate);

  KernelGroups &groups;
  unsigned group;
  SmallVector<Candidate> candidates;
};

} // namespace

/// Whether something reads `tensor`, made in the group, that only memory can
/// serve.
bool Candidates::isStoredAnyway(Value tensor) const {
  auto generic = tensor.getDefiningOp<GenericOp>();
  OuterReads reads;
  if (generic && !generic.hasReduction() && !yieldsRounded(generic))
    return failed(getOuterReads(groups, generic, group, reads));
  return llvm::any_of(tensor.getUsers(), [&](Operation *user) {
    if (auto read = dyn_cast<ReadOp>(user))
      user = read->getParentOp();
    std::optional<unsigned> index = groups.getIndexOf(user);
    return !index || groups.getGroupOf(*index) != group;
  });
}

void Candidates::collect(unsigned op) {
  auto generic = dyn_cast<GenericOp>(groups.getOp(op));
  if (!generic || generic.hasReduction() || yieldsRounded(generic))
    return;
  Candidate candidate;
  candidate.generic = generic;
  if (failed(getOuterReads(groups, generic, group, candidate.readers)) ||
      candidate.readers.empty())
    return;
  unfold(candidate, generic);
  candidates.push_back(std::move(candidate));
}

/// Goes on to what `generic` reads, as long as that is computed element by
/// element at the same points.
void Candidates::unfold(Candidate &candidate, GenericOp generic) {
  if (!candidate.inner.insert(generic))
    return;
  candidate.cost += getBodyCost(generic);
  for (ReadOp read : getReads(generic)) {
    auto made = read.getTensor().getDefiningOp<GenericOp>();
    if (isMade(read.getTensor()) && made && !made.hasReduction() &&
        made.getExtents() == candidate.generic.getExtents() &&
        !yieldsRounded(made) && readsAt(read, generic.getIndices()) &&
        !isStoredAnyway(made.getResult()))
      unfold(candidate, made);
    else
      candidate.leaves.insert(read.getTensor());
  }
}

/// Puts the value's expression of the leaves in the place of `read`.
void Candidates::inlineInto(ReadOp read, const Candidate &candidate) {
  SmallVector<ReadOp> worklist{read};
  while (!worklist.empty()) {
    ReadOp next = worklist.pop_back_val();
    auto made = next.getTensor().getDefiningOp<GenericOp>();
    if (!made || !candidate.inner.contains(made))
      continue;
    OpBuilder builder(next);
    IRMapping mapping;
    cloneBody(builder, made, next.getIndices(), mapping);
    for (ReadOp inner : getReads(made))
      if (auto clone =
              mapping.lookup(inner.getResult()).getDefiningOp<ReadOp>())
        worklist.push_back(clone);
    next.replaceAllUsesWith(mapping.lookupOrDefault(made.getYielded()));
    next.erase();
  }
}

/// Whether the tensors of its size that the value is made of are 16-bit floats.
bool Candidates::areLeavesNarrow(Candidate &candidate) {
  auto type = candidate.generic.getType();
  bool isAny = false;
  for (Value leaf : candidate.leaves) {
    auto from = cast<RankedTensorType>(leaf.getType());
    if (from.getNumElements() < type.getNumElements())
      continue;
    if (!isa<Float16Type, BFloat16Type>(from.getElementType()))
      return false;
    isAny = true;
  }
  return isAny && type.getElementType().isF32();
}

unsigned Candidates::apply(const CostModel &model, unsigned maxBuffers,
                           TellDecision tell) {
  if (candidates.empty())
    return 0;
  double saved = 0, largest = 0, work = 0;
  llvm::SetVector<Value> stored;
  llvm::MapVector<unsigned, llvm::SetVector<Value>> readBy;
  llvm::MapVector<Operation *, llvm::SetVector<Operation *>> computedBy;
  for (Candidate &candidate : candidates) {
    double bytes = getNumBytes(candidate.generic.getType());
    largest = std::max(largest, bytes);
    saved += bytes * double(1 + candidate.readers.size());
    for (Value leaf : candidate.leaves)
      if (isMade(leaf) && !isStoredAnyway(leaf))
        stored.insert(leaf);
    for (auto &[reader, reads] : candidate.readers) {
      readBy[reader].insert_range(candidate.leaves);
      for (ReadOp read : reads) {
        computedBy[read->getParentOp()].insert_range(candidate.inner);
        // Never more often than there are elements.
        if (getNumPoints(read->getParentOp()) >
            candidate.generic.getType().getNumElements())
          return 0;
      }
    }
  }
  for (Value leaf : stored)
    saved -= getNumBytes(leaf.getType());
  for (auto &[reader, leaves] : readBy) {
    SmallVector<Value> inputs =
        groups.getInputs(groups.getGroup(reader).members);
    size_t buffers = inputs.size() +
                     groups.getOutputs(groups.getGroup(reader).members).size();
    for (Value leaf : leaves) {
      if (!groups.mayRead(leaf, reader))
        return 0;
      // What the reader makes itself it would have to read as its kind says.
      std::optional<unsigned> maker = groups.getIndexOf(leaf.getDefiningOp());
      if (maker && groups.getGroupOf(*maker) == reader)
        return 0;
      if (llvm::is_contained(inputs, leaf))
        continue;
      saved -= getNumBytes(leaf.getType());
      ++buffers;
    }
    if (buffers > maxBuffers)
      return 0;
  }
  // Each body that reads computes all that leads there.
  double dearest = 0;
  for (auto &[body, computed] : computedBy) {
    double cost = 0;
    for (Operation *op : computed)
      cost += double(getBodyCost(op));
    dearest = std::max(dearest, cost);
    work += model.getBodyNs(
        cost, double(candidates.front().generic.getType().getNumElements()));
  }
  SmallVector<GenericOp> values;
  SmallVector<Value> leaves;
  OuterReads readers;
  for (Candidate &candidate : candidates) {
    values.push_back(candidate.generic);
    llvm::append_range(leaves, candidate.leaves);
    for (auto &reader : candidate.readers)
      readers.insert(reader);
  }
  double freed = dearest <= cheapToSpareWaiting
                     ? getWaitingNs(groups, model, values, leaves, readers)
                     : 0;
  if (saved <= 0 && freed == 0)
    return 0;
  double gained = model.getMoveNs(saved, largest) + freed;
  // Where all of their size that they are made of is narrow, memory is to hold
  // that, which mixed precision has rounded for it.
  bool pays = gained >= work || llvm::all_of(candidates, areLeavesNarrow);
  for (Candidate &candidate : candidates)
    tell(candidate.generic, pays,
         llvm::formatv("{0} in its readers, with all that its kernel makes "
                       "of the same values, instead of stored: {1} of "
                       "memory {2}saved, {3} of work added",
                       pays ? "computed again" : "not computed again",
                       formatTime(gained), freed > 0 ? "and waiting " : "",
                       formatTime(work)));
  if (!pays)
    return 0;
  // Simplifying may merge reads that are still to be replaced: afterwards.
  llvm::SetVector<Operation *> bodies;
  for (Candidate &candidate : candidates)
    for (auto &[reader, reads] : candidate.readers)
      for (ReadOp read : reads) {
        bodies.insert(read->getParentOp());
        inlineInto(read, candidate);
      }
  for (Operation *body : bodies)
    simplifyBody(&body->getRegion(0).front());
  groups.refresh();
  // Nothing else may have needed what led to these values.
  SmallVector<unsigned> members(groups.getGroup(group).members);
  for (unsigned op : llvm::reverse(members))
    if (Operation *dead = groups.getOp(op);
        isElementGeneric(dead) && dead->use_empty()) {
      groups.remove(op);
      dead->erase();
    }
  return candidates.size();
}

unsigned tdsl::recomputeOutputs(KernelGroups &groups, const CostModel &model,
                                unsigned maxBuffers, TellDecision tell) {
  unsigned count = 0;
  for (unsigned group : SmallVector<unsigned>(groups.getOrder())) {
    if (groups.getGroup(group).isOpaque)
      continue;
    count += Candidates(groups, group).apply(model, maxBuffers, tell);
  }
  return count;
}

//===----------------------------------------------------------------------===//
// In readers
//===----------------------------------------------------------------------===//

/// Whether `tensor` is in memory for others than `reader`.
static bool isInMemory(const KernelGroups &groups, Value tensor, unsigned group,
                       Operation *reader) {
  Operation *producer = tensor.getDefiningOp();
  std::optional<unsigned> index =
      producer ? groups.getIndexOf(producer) : std::nullopt;
  if (!index || groups.getGroupOf(*index) != group)
    return true;
  return llvm::any_of(tensor.getUsers(), [&](Operation *user) {
    if (auto read = dyn_cast<ReadOp>(user))
      user = read->getParentOp();
    std::optional<unsigned> other = groups.getIndexOf(user);
    return user != reader && (!other || groups.getGroupOf(*other) != group);
  });
}

unsigned tdsl::recomputeInReaders(KernelGroups &groups, const CostModel &model,
                                  unsigned maxBuffers, TellDecision tell) {
  unsigned count = 0;
  for (unsigned op = 0; op < groups.getNumOps(); ++op) {
    auto generic = dyn_cast_or_null<GenericOp>(groups.getOp(op));
    if (!generic || generic.hasReduction())
      continue;
    unsigned group = groups.getGroupOf(op);
    int64_t cost = getBodyCost(generic);
    OuterReads outer;
    if (failed(getOuterReads(groups, generic, group, outer)) || outer.empty())
      continue;
    bool hasInner = false;
    llvm::SmallPtrSet<Operation *, 4> readers;
    for (Operation *user : generic->getUsers()) {
      hasInner |=
          groups.getGroupOf(*groups.getIndexOf(user->getParentOp())) == group;
      readers.insert(user->getParentOp());
    }
    SmallVector<ReadOp> inner = getReads(generic);
    if (!llvm::all_of(inner, [&](ReadOp read) {
          return isInMemory(groups, read.getTensor(), group, generic);
        }))
      continue;
    SmallVector<Value> leaves(
        llvm::map_range(inner, [](ReadOp read) { return read.getTensor(); }));
    double saved = getNumBytes(generic.getType()), extra = 0;
    // With one reader the work only moves.
    bool moves = !hasInner && readers.size() == 1;
    double points = moves ? 0 : hasInner ? 0 : -double(getNumPoints(generic));
    bool fits = true;
    for (auto &[reader, reads] : outer) {
      saved += getNumBytes(generic.getType());
      SmallVector<Value> inputs =
          groups.getInputs(groups.getGroup(reader).members);
      llvm::SetVector<Value> tensors;
      for (ReadOp read : inner)
        tensors.insert(read.getTensor());
      for (Value tensor : tensors)
        fits &= groups.mayRead(tensor, reader);
      unsigned more = 0;
      for (Value tensor : tensors)
        if (!llvm::is_contained(inputs, tensor)) {
          extra += getNumBytes(tensor.getType());
          ++more;
        }
      fits &= inputs.size() +
                  groups.getOutputs(groups.getGroup(reader).members).size() +
                  more <=
              maxBuffers;
      for (ReadOp read : reads) {
        Operation *body = read->getParentOp();
        points += moves ? 0 : double(getNumPoints(body));
        fits &= cost <= cheapPerPoint ||
                getNumPoints(body) <= generic.getType().getNumElements();
        // A body in the group that makes a tensor must read it as its kind
        // says.
        for (Value tensor : tensors)
          if (auto index = groups.getIndexOf(tensor.getDefiningOp()))
            fits &= groups.getGroupOf(*index) != reader;
      }
    }
    // Nothing is gained by moving work that costs no fewer bytes in its new
    // place.
    if (!fits || extra > saved)
      continue;
    double tensor = getNumBytes(generic.getType());
    double gained = model.getMoveNs(saved - extra, tensor),
           freed = cost <= cheapToSpareWaiting
                       ? getWaitingNs(groups, model, generic, leaves, outer)
                       : 0,
           spent = model.getBodyNs(double(cost), points);
    bool pays = gained + freed >= spent &&
                (cost <= cheapPerPoint || gained + freed > 0);
    tell(generic, pays,
         llvm::formatv("{0} in its readers instead of stored: {1} of "
                       "memory {2}saved, {3} of work added",
                       pays ? "computed again" : "not computed again",
                       formatTime(gained + freed),
                       freed > 0 ? "and waiting " : "", formatTime(spent))
             .str());
    if (!pays)
      continue;
    // Simplifying may merge reads of the list: afterwards, once a body.
    llvm::SetVector<Operation *> bodies;
    for (auto &[reader, reads] : outer)
      for (ReadOp read : reads) {
        bodies.insert(read->getParentOp());
        OpBuilder builder(read);
        read.replaceAllUsesWith(
            cloneBodyAt(builder, generic, read.getIndices()));
        read.erase();
      }
    for (Operation *body : bodies)
      simplifyBody(&body->getRegion(0).front());
    ++count;
    if (!hasInner) {
      groups.remove(op);
      generic.erase();
    }
  }
  return count;
}
