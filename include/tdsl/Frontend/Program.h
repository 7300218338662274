//===- Program.h - A checked program -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the checker hands to emission: every function is instantiated for
// concrete sizes and element types, names are gone, broadcasts and
// conversions are explicit, and variables are threaded as values. Nodes stand
// in the order of evaluation and use only nodes before them, so that emission
// is one walk without recursion.
//
// Outside of bodies every value is a tensor (a scalar has no axes). Inside the
// body of a Generic values are scalars of an element type or of `Index`, and
// a tensor is only the first operand of a Read.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_FRONTEND_PROGRAM_H
#define TDSL_FRONTEND_PROGRAM_H

#include "tdsl/Frontend/SourceManager.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Allocator.h"
#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace tdsl {
namespace typed {

enum class Elem : uint8_t {
  Bool,
  I8,
  U8,
  I32,
  I64,
  F16,
  BF16,
  F32,
  F64,
  Index
};
llvm::StringRef getName(Elem elem);
inline bool isFloat(Elem e) { return e >= Elem::F16 && e <= Elem::F64; }
inline bool isInt(Elem e) { return e >= Elem::I8 && e <= Elem::I64; }
inline bool isNumber(Elem e) { return e >= Elem::I8 && e <= Elem::F64; }
/// The type in which sums and products of `elem` are accumulated.
Elem getAccumulator(Elem elem);
const llvm::fltSemantics &getSemantics(Elem floatElem);

/// An axis of a shape. Only an axis that was written as 1, or was kept by a
/// reduction, stretches against a larger one.
struct Axis {
  int64_t size = 0;
  bool stretches = false;
};

struct Type {
  Elem elem = Elem::F32;
  llvm::ArrayRef<Axis> axes; // in the program's arena
  unsigned rank() const { return axes.size(); }
  bool isScalar() const { return axes.empty(); }
};
/// No tensor has more axes, and no index definition more indices together
/// with those of one reduction in it. Artefacts have the same limit.
constexpr unsigned kRankLimit = 32;
/// Equal element types and sizes; whether axes stretch does not count.
bool isSame(const Type &a, const Type &b);
bool sameShape(llvm::ArrayRef<Axis> a, llvm::ArrayRef<Axis> b);
/// "f32[64, 10]"
std::string toString(const Type &type);
std::string toString(llvm::ArrayRef<Axis> axes);

enum class Op : uint8_t {
  Argument, // `number` of the function
  Constant, // `value`, in every element
  Literal,  // `elements` in row-major order
  // Elementwise, also in bodies.
  Neg,
  Abs,
  Sign,
  Floor,
  Ceil,
  Round,
  Sqrt,
  Rsqrt,
  Exp,
  Expm1,
  Log,
  Log1p,
  Tanh,
  Sigmoid,
  Erf,
  Sin,
  Cos,
  Not,
  IsNan,
  IsFinite,
  StopGradient,
  Add,
  /// An addition of a reduction over several tensors: its order is free.
  AddTerm,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Pow,
  Max,
  Min,
  And,
  Or,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Clamp,
  Select,
  Cast,
  // Whole tensors.
  Broadcast, // `numbers`: where each axis of the operand goes
  Reshape,
  Transpose, // `numbers`: the permutation
  Reduce,    // `reduction`, `numbers`: the axes
  Contract,  // `numbers`: axis numbers of lhs, rhs and result, one after other
  Generic,   // `body`
  Call,      // `callee`
  Gradient,  // operand 0 by the others
  Fold,      // `fold`; operands: initial values, then captured ones
  FoldArgument, // `number` of the fold: the iteration, then carried values
  // In bodies.
  LoopIndex,     // `number` of the body
  IndexConstant, // `number`
  IndexAdd,
  IndexSub,
  IndexMul,      // by `number`
  IndexFloorDiv, // by `number` > 0
  IndexMod,      // by `number` > 0
  ToIndex,       // from an integer
  FromIndex,     // to an integer
  Read,          // operands: tensor, then indices
  Random,        // operands: seed, step (scalars), linear index; `number`: site
};

enum class Reduction : uint8_t {
  Sum,
  Prod,
  Max,
  Min,
  Any,
  All,
  ArgMax,
  ArgMin,
};
enum class Distribution : uint8_t { Uniform, Normal };
enum class ReadMode : uint8_t { Proven, Guarded, Clamped };

struct Node;
struct Function;
struct FoldBody;

/// A result of a node.
struct Value {
  Node *node = nullptr;
  unsigned result = 0;
  explicit operator bool() const { return node != nullptr; }
  bool operator==(const Value &o) const {
    return node == o.node && result == o.result;
  }
  inline const Type &type() const;
};

/// A constant: an integer, a truth value (0 or 1) or a float in the element
/// type's own format.
struct Scalar {
  Elem elem = Elem::I32;
  int64_t integer = 0;
  llvm::APFloat real = llvm::APFloat(0.0);
};

/// The scalar code of an index definition. Loop indices count the parallel
/// axes first, then the reduction axes.
struct Body {
  llvm::ArrayRef<int64_t> parallel, reduced;
  std::optional<Reduction> reduction;
  std::vector<Node *> nodes;
  Node *result = nullptr;
};

struct Node {
  Op op;
  Reduction reduction = Reduction::Sum;
  Distribution distribution = Distribution::Uniform;
  ReadMode readMode = ReadMode::Proven;
  SourceRange range;
  llvm::ArrayRef<Type> types; // of the results; one for most
  llvm::ArrayRef<Value> operands;
  int64_t number = 0;
  llvm::ArrayRef<int64_t> numbers;
  const Scalar *value = nullptr; // Constant; the guard of a Read
  llvm::ArrayRef<const Scalar *> elements;
  Body *body = nullptr;
  FoldBody *fold = nullptr; // also of a FoldArgument
  /// How many folds the node stands in.
  unsigned foldDepth = 0;
  Function *callee = nullptr;
  /// The name that a `let` gave it, for IR locations.
  llvm::StringRef name;
  /// Of a StopGradient: the variable of the program whose new value it is.
  llvm::StringRef written;
};

/// The body of a Fold: nodes that run once for each iteration. They use nodes
/// before them in the body, FoldArguments, and what stands before the fold.
struct FoldBody {
  int64_t trips = 0;
  /// A `checkpoint`: one iteration that carries nothing.
  bool isCheckpoint = false;
  std::vector<Node *> nodes;
  /// The iteration (an i32 from 0), then the carried values.
  std::vector<Node *> arguments;
  /// The next carried values, then the collected ones.
  std::vector<Value> results;
  /// Values from outside that the body uses: the operands of the Fold behind
  /// its initial values.
  std::vector<Value> captures;
};

inline const Type &Value::type() const { return node->types[result]; }

enum class Role : uint8_t { Param, State, Optimizer, Counter };

struct Variable {
  std::string name; // "net.fc1.w"
  Role role = Role::Param;
  Type type;
  SourceRange range;
  llvm::StringRef doc;
};

struct Input {
  std::string name;
  Type type;
  SourceRange range;
  /// Value when the caller gives none.
  std::optional<Scalar> defaultValue = std::nullopt;
  /// Axis 0 is the batch.
  bool dataAxis = false;
  /// Weights of the rows of an evaluation.
  bool isWeight = false;
};

struct Result {
  std::string name; // empty where the source gives none
  Value value;
  SourceRange range;
  bool dataAxis = false;
};

/// A variable that a function reads (as an argument behind the inputs) or
/// writes (as a result behind the results).
struct VariableUse {
  /// Index into Program::variables for entries. In a function of a module
  /// the variable depends on the call, and this is -1.
  int64_t variable = -1;
  std::string name;
  Value value; // read: the argument; write: the last value
};

/// An `assert` that is not known at compile time: `value` is a bool.
struct Check {
  Value value;
  std::string text;
  SourceRange range;
};

enum class FunctionKind : uint8_t { Private, Export, Step, Init };

struct Function {
  FunctionKind kind = FunctionKind::Private;
  std::string name; // unique in the program
  SourceRange range;
  llvm::StringRef doc;
  std::vector<Input> inputs;
  std::vector<VariableUse> reads;
  std::vector<VariableUse> writes;
  std::vector<Result> results;
  /// What must hold when the function runs; results behind the writes.
  std::vector<Check> checks;
  std::vector<Node *> nodes; // without arguments
  Function *vjp = nullptr;
};

struct Program {
  llvm::BumpPtrAllocator arena;
  std::vector<Variable> variables;
  /// Callees stand before callers.
  std::deque<Function> functions;
  std::vector<Function *> order;
  /// The `dim` that axis 0 of the step's inputs carries; empty when no step
  /// has a tensor input.
  std::string dataDim;
  /// Scalars of node values; APFloat is not trivially destructible.
  std::deque<Scalar> scalars;
  std::deque<Body> bodies;
  std::deque<FoldBody> folds;
};

} // namespace typed
} // namespace tdsl

#endif // TDSL_FRONTEND_PROGRAM_H
