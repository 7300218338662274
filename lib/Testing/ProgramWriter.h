//===- ProgramWriter.h - writes a random program -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program is written from its sizes to its entries. Within a body every
// statement takes values from a pool and adds one. With each value go its type
// and what is known of it: a bound, and whether a float reduction went into it.
// What is noted as a feature stands in the program, but for the rare read that
// turns out not to fit.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TESTING_PROGRAMWRITER_H
#define TDSL_LIB_TESTING_PROGRAMWRITER_H

#include "Random.h"

#include "tdsl/Reference/Tensor.h"
#include "tdsl/Testing/RandomProgram.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace tdsl::testing {

using Kind = reference::ElementKind;
using Shape = llvm::SmallVector<int64_t, 4>;

/// In place of a param's bit: the params of the layers.
inline constexpr unsigned kLayerParams = 1u << 31;

/// No value that a statement makes is larger.
inline constexpr int64_t kMostElements = 1500;

/// The text of an expression and what is known of its value.
struct Expr {
  std::string text;
  double bound = 1;    ///< of the absolute value, in entries with derivatives
  bool exact = true;   ///< no float reduction went into it
  unsigned active = 0; ///< the params that it depends on, a bit each
};

struct Value {
  std::string name;
  Kind kind = Kind::F32;
  Shape shape;
  double bound = 1;
  bool exact = true;
  unsigned active = 0;
  int64_t below = 0; ///< where not 0: an integer in [0, below)

  size_t rank() const { return shape.size(); }
  int64_t size() const {
    int64_t product = 1;
    for (int64_t extent : shape)
      product *= extent;
    return product;
  }
};

/// An index of a definition or of a reduction.
struct Index {
  std::string name;
  int64_t extent = 0;
  bool isInferred = false; ///< some axis is read by it alone
};

/// A function that the program declares.
struct Function {
  enum class Form { Elementwise, CustomDerivative, Rows, Sized };
  std::string name;
  Form form = Form::Elementwise;
  unsigned arity = 1;
};

/// A module that the program declares, and its instances.
struct Layer {
  std::string name;
  int64_t in = 0, out = 0;
  unsigned count = 0; ///< of an array; 0 for one instance
};

class ProgramWriter {
public:
  explicit ProgramWriter(uint64_t seed) : random(seed ^ 0x5851f42d4c957f2d) {}
  RandomProgram write();

private:
  // ProgramWriter.cpp
  void writeSizes();
  void writeOptimizer();
  std::string writeImport();
  void writeModule();
  void writeLayer();
  void writeVariables();
  /// What stands before the body of an entry: the text of the program so far,
  /// and the entry's own up to its results.
  struct EntryHead {
    std::string before, text;
  };
  EntryHead beginEntry(const std::string &keyword, bool isStep);
  void endEntry(EntryHead &head);
  void writeExport();
  void writeStep();
  void writeUpdate(const Value &loss);
  std::string writeInputs(bool isStep);
  std::string writeResults(std::vector<std::string> &names, bool isStep);
  void addVariablesToPool();
  void writeOutsideGather();

  // WriteFunctions.cpp
  void writeFunctions();
  void writeElementwiseFunction();
  void writeCustomDerivative();
  void writeRowsFunction();
  void writeSizedFunction();
  bool writeCall();

  // WriteExpressions.cpp
  Expr expression(Kind kind, unsigned depth, bool exactOnly);
  Expr floatExpression(Kind kind, unsigned depth, bool exactOnly);
  Expr floatFunction(Kind kind, unsigned depth, bool exactOnly);
  Expr integerExpression(Kind kind, unsigned depth, bool exactOnly);
  Expr boolExpression(unsigned depth);
  Expr leaf(Kind kind, bool exactOnly);
  Expr wholeLeaf(Kind kind, bool exactOnly);
  Expr secondOperand(Kind kind, unsigned depth, bool exactOnly);
  Expr literal(Kind kind);
  Expr castTo(Kind kind, const Value &value, std::string text);
  Expr tamed(Expr e, double most);

  // WriteIndexDefinitions.cpp
  Expr bodyLeaf(Kind kind, bool exactOnly);
  std::optional<Expr> read(const Value &value);
  bool indexFor(int64_t extent, bool mayLeave, bool mayGather, bool &leaves,
                std::string &text, bool &exact);
  Expr reduction(Kind kind, bool exactOnly, bool asStatement);
  std::string listIndices(llvm::ArrayRef<Index *> list);
  bool writeIndexDefinition();
  bool writeIndexReduction();
  bool writeContraction();

  // WriteStatements.cpp
  void writeStatements(unsigned count);
  bool writeStatement();
  bool writeCasts();
  bool writeElementwise();
  bool writeReduction();
  bool writeMatmul();
  bool writeRandom();
  bool writeCondition();
  bool writeLoop();
  bool writeComputedSize();
  bool writeAssert();
  bool writeLayerCall();

  // WriteFolds.cpp
  bool writeFold();
  void writeTurnPart(const std::string &counter, int64_t turns);

  // WriteShapes.cpp
  bool writeShapeFunction();
  bool writePart();
  bool writeTensor();

  // Support
  void note(const std::string &feature) { program.features.insert(feature); }
  void noteKind(Kind kind) { note("type " + reference::nameOf(kind).str()); }
  void noteExtent(int64_t extent);
  void line(const std::string &text);
  std::string sizeText(int64_t extent);
  std::string typeText(Kind kind, llvm::ArrayRef<int64_t> shape);
  std::string name(const char *prefix) {
    return prefix + std::to_string(counter++);
  }
  Value &add(Value value);
  /// Writes `let name = text` and adds the value.
  void define(Value value, const std::string &text);
  const Value *pickValue(llvm::function_ref<bool(const Value &)> accept);
  Kind pickKind();
  Kind pickFloat();
  double limitOf(Kind kind);

  Random random;
  RandomProgram program;
  std::vector<std::pair<std::string, int64_t>> sizes;
  std::vector<Value> variables;
  std::vector<Function> functions;
  std::vector<Layer> layers;
  std::vector<std::string> constants;
  std::vector<Value> pool;
  std::string ownOptimizer;
  std::string module; ///< its name, where there is one
  bool hasBias = false;
  unsigned counter = 0, indent = 0;
  std::optional<Value> outside; ///< an input with a number out of range
  unsigned entries = 0;
  size_t batchSize = 0; ///< the data axis of all steps

  bool hostile = false; ///< any value may occur: no derivative
  bool inStep = false;
  bool isGeneric = false; ///< in a function of a float class
  bool seesOptim = false;
  /// The shape of the expression being written; in a body that of a scalar.
  Shape target;
  bool inBody = false;
  std::vector<Index> indices; ///< visible in the body
  int64_t points = 1;         ///< of the definition
  unsigned nested = 0;        ///< reductions around
  unsigned folds = 0;         ///< around the statement
};

} // namespace tdsl::testing

#endif // TDSL_LIB_TESTING_PROGRAMWRITER_H
