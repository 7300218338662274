//===- Layers.h - equal layers and the code that repeats for them -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TRANSFORMS_LAYERS_LAYERS_H
#define TDSL_LIB_TRANSFORMS_LAYERS_LAYERS_H

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <vector>

namespace tdsl::layers {

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

/// The variables of equal layers: one of each, of one type and role.
struct Group {
  /// Their common name, with `*` in the place of the layer's number.
  std::string name;
  llvm::SmallVector<tds::VariableOp> members;
  /// Whether they may become one variable.
  bool isAllowed = true;
};

/// Variable `layer` of group `group`.
struct Place {
  unsigned group, layer;
};

class Groups {
public:
  /// Variables whose names differ in one number, which runs from 0 to
  /// `minLayers` - 1 at least. Of several numbers the last one counts: the
  /// innermost array of layers.
  Groups(mlir::ModuleOp module, int64_t minLayers);

  std::optional<Place> find(mlir::Attribute variable) const;
  bool isEmpty() const { return groups.empty(); }

  std::vector<Group> groups;

private:
  llvm::DenseMap<mlir::Attribute, Place> places;
};

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Functions that differ in the sites of their random numbers only are of one
/// class.
class FunctionClasses {
public:
  explicit FunctionClasses(mlir::ModuleOp module);

  mlir::func::FuncOp lookup(mlir::func::CallOp call) const {
    return lookup(call.getCallee());
  }
  mlir::func::FuncOp lookup(llvm::StringRef name) const {
    return byName.lookup(name);
  }
  unsigned getClass(mlir::func::FuncOp function) const {
    return classes.lookup(function);
  }
  /// Whether the function draws random numbers, itself or by its calls.
  bool draws(mlir::func::FuncOp function) const {
    return drawing.contains(function);
  }
  /// Whether it takes derivatives, itself or by its calls.
  bool differentiates(mlir::func::FuncOp function) const {
    return differentiating.contains(function);
  }

private:
  mlir::ModuleOp module;
  llvm::StringMap<mlir::func::FuncOp> byName;
  llvm::DenseMap<mlir::Operation *, unsigned> classes;
  llvm::DenseSet<mlir::Operation *> drawing, differentiating;
};

//===----------------------------------------------------------------------===//
// Repeated code
//===----------------------------------------------------------------------===//

/// A value of each layer: of variables, of derivatives by them, or of a run.
struct Pack {
  enum Kind { Variable, Gradient, Computed } kind;
  /// The group (Variable, Gradient), or the run.
  unsigned number;
  /// The tds.gradient, or the operation of the run's first iteration.
  mlir::Operation *op = nullptr;
  /// Of Computed: the result of `op`.
  unsigned result = 0;
};

/// The operations [start, start + period * trips) of an entry, where each
/// `period` operations do the same for one layer after the other.
struct Run {
  unsigned start, period, trips;
  /// What an input of an operation of an iteration is.
  struct Input {
    enum Kind {
      /// Made by operation `number` of the iteration.
      Inner,
      /// Made by operation `number` of the iteration before.
      Carried,
      /// The same in each.
      Invariant,
      /// That of pack `number` of its layer.
      Layered
    } kind;
    unsigned number = 0, result = 0;
  };
  /// For each operation of an iteration and each of its inputs
  /// (getDifferentiationInputs).
  llvm::SmallVector<llvm::SmallVector<Input>> inputs;
  unsigned getEnd() const { return start + period * trips; }
};

/// An entry and the code in it that repeats.
class EntryRuns {
public:
  EntryRuns(mlir::func::FuncOp entry, const Groups &groups,
            const FunctionClasses &functions);

  /// Takes the place of calls that are given variables of several layers.
  void inlineCalls();
  /// Finds the runs, with the groups that are allowed.
  void find();
  /// Forbids the groups that have a use, or a new value, outside of runs.
  /// Returns whether there are some.
  bool forbid(Groups &groups) const;

  mlir::func::FuncOp entry;
  std::vector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
  std::vector<Run> runs;
  std::vector<Pack> packs;
  /// Where a value is one of a pack: its number, and the layer.
  llvm::DenseMap<mlir::Value, std::pair<unsigned, unsigned>> lanes;
  /// For each group that the entry returns new values of: these.
  llvm::MapVector<unsigned, llvm::SmallVector<mlir::Value>> newValues;

  /// The pack whose values these are, in the order of the layers.
  std::optional<unsigned> findPack(llvm::ArrayRef<mlir::Value> values) const;
  /// The run that the operation at a position is part of, or null.
  const Run *findRun(unsigned position) const;
  mlir::Block &getBlock() const {
    mlir::func::FuncOp function = entry;
    return function.getBody().front();
  }
  /// The position of the operation of the entry that holds `user`.
  unsigned getPosition(mlir::Operation *user) const;

private:
  void numberOperations();
  void findLanes();
  void findNewValues();
  bool areAlike(mlir::Operation *one, mlir::Operation *other) const;
  void tryAnchors(llvm::ArrayRef<unsigned> anchors);
  std::optional<Run> classify(unsigned start, unsigned period,
                              unsigned trips) const;
  std::optional<Run::Input> classifyInput(const Run &run,
                                          llvm::ArrayRef<mlir::Value> values,
                                          unsigned offset) const;
  void accept(Run run);

  const Groups &groups;
  const FunctionClasses &functions;
};

} // namespace tdsl::layers

#endif // TDSL_LIB_TRANSFORMS_LAYERS_LAYERS_H
