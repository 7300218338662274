//===- Checker.h - State of the checker -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The checker runs a program at compile time, with nodes in the place of
// tensors. A function is run once per instantiation: sizes, element types,
// compile-time arguments and `training` are known then, so types are concrete
// everywhere and an `if` on a compile-time condition or a `for` is simply
// carried out. Variables are threaded as values: each function keeps the
// current value of each variable, so a write is a rebinding.
//
// While an index definition is built, `body` is its scalar code and new nodes
// go there; what doesn't depend on an index is built outside, before it.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_FRONTEND_SEMA_CHECKER_H
#define TDSL_LIB_FRONTEND_SEMA_CHECKER_H

#include "Values.h"
#include "tdsl/Frontend/Frontend.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"

namespace tdsl {
namespace sema {

enum class Mode : uint8_t {
  Const,    // sizes and constants: no tensors
  Evaluate, // what an `export fn` calls
  Train,    // what a `step` calls
  Init,     // initialisers
};

/// A variable inside one function: its current value and those it had.
struct VarState {
  Value current;
  bool written = false;
  SourceRange lastWrite;
  llvm::SmallVector<std::pair<Value, SourceRange>, 1> old;
};

/// A function that is being built.
struct FnState {
  typed::Function *out = nullptr;
  llvm::MapVector<llvm::StringRef, VarState> vars; // by key, see varKey()
  unsigned siteBase = 0, numSites = 0;
  /// The innermost fold that is being built, or null.
  struct FoldState *fold = nullptr;
  unsigned numUpdates = 0;
  llvm::StringSet<> updateNames;
};

/// A fold that is being built.
struct FoldState {
  typed::FoldBody *out = nullptr;
  const ast::FoldStmt *stmt = nullptr;
  FoldState *outer = nullptr;
  unsigned depth = 1;
  int64_t low = 0;
  /// Binds the loop variable in index expressions.
  IndexVar counter;
  /// What `let y[t] = e` collects, with its name.
  llvm::SmallVector<std::pair<ast::Ident, Value>, 2> collected;
};

struct Binding {
  llvm::StringRef name;
  Val val;
  int previous;
};

/// Why writes and draws are not allowed in the body of a fold.
inline constexpr char foldEffects[] = "a `fold`";

/// The names that a piece of code sees.
struct Frame {
  const FileScope *scope = nullptr;
  const ModuleInstance *module = nullptr;
  InstanceRef self;
  Mode mode = Mode::Const;
  FnState *state = nullptr;
  const ast::FnDecl *fn = nullptr;
  std::vector<Binding> bindings;
  llvm::DenseMap<llvm::StringRef, int> top;
  llvm::SmallVector<size_t, 8> marks;
  /// Class words that are bound: float, int, num.
  llvm::SmallVector<std::pair<llvm::StringRef, Elem>, 2> classes;
  /// In `update` of an optimizer: what f32 means (its working type).
  std::optional<Elem> f32As;
  /// The body of an optimizer: its states and its parameter are written.
  bool inOptimizer = false;
  unsigned loopDepth = 0;
  /// Not null where writes and draws are not allowed, and why.
  const char *noEffects = nullptr;
  /// Bindings before this one keep their values: they stand outside of a fold.
  int firstAssignable = 0;

  void push() { marks.push_back(bindings.size()); }
  void pop();
  void bind(llvm::StringRef name, Val val);
  Val *find(llvm::StringRef name);
  /// Declared in the innermost scope.
  Val *findInnermost(llvm::StringRef name);
};

/// A finished instantiation.
struct Instantiation {
  typed::Function *function = nullptr;
  Val result; // Tensor vals stand for the results in order
  unsigned numSites = 0;
  bool failed = false;
  /// Variables by key, in the order of the arguments and results.
  std::vector<std::string> reads, writes;
};

/// The parameters of a call, matched to expressions.
struct CallTarget {
  const ast::FnDecl *fn = nullptr;
  const FileScope *scope = nullptr;
  const ModuleInstance *module = nullptr;
  InstanceRef instance;
};

/// An argument of a call, for messages.
struct ArgumentSite {
  const ast::ParamDecl *param;
  /// The argument, or the call where the parameter's default stands for it.
  SourceRange range;
  const CallTarget *target;
  const Frame *caller;
};

class Checker {
public:
  Checker(SourceManager &sources, DiagnosticEngine &diags, ASTContext &context,
          const FrontendOptions &options, typed::Program &program);

  void run(const ast::File &main);

private:
  static constexpr const char *selectArm = "an arm of an `if` by element";
  using Range = SourceRange;

  // Names (Checker.cpp).
  FileScope *makeScope(const ast::File &file, std::string name,
                       std::string path);
  FileScope *loadModule(llvm::StringRef name, Range range);
  FileScope *loadImport(const ast::ImportDecl *import, const FileScope &from);
  FileScope *readImport(const ast::ImportDecl *import, const FileScope &from);
  void reportCycle(const ast::ImportDecl *import, llvm::StringRef identity,
                   llvm::StringRef path);
  Val lookup(llvm::StringRef name, Range range, bool report = true);
  Val lookupMember(Val base, const ast::Ident &member, const ast::Expr *at);
  Val getRecordPart(const Val &record, llvm::StringRef member,
                    llvm::SmallVectorImpl<llvm::StringRef> &known);
  Val declVal(const ast::Decl *decl, const FileScope *scope);
  Val moduleMember(const ModuleInstance *module, const InstanceRef &instance,
                   llvm::StringRef name);
  void reportUnknownName(llvm::StringRef name, Range range);
  void collectNames(llvm::SmallVectorImpl<llvm::StringRef> &out);
  std::optional<int64_t> getDim(const ast::DimDecl *decl,
                                const FileScope *scope);
  Val getConst(const ast::ConstDecl *decl, const FileScope *scope);

  // Nodes (Nodes.cpp).
  DiagBuilder report(Diag kind, Range range);
  /// Values (nodes, the elements of tuples) whose kind is wrong where they were
  /// first used. Later uses most likely suffer from the same mistake.
  llvm::DenseSet<const void *> reported;
  /// Counts operations and variables; true, after a message, when there are too
  /// many. The place is the function that is checked where none is given.
  bool overLimit(uint64_t count = 1, Range where = Range());
  Node *makeNode(Op op, Type type, llvm::ArrayRef<Value> operands, Range range);
  Value make(Op op, Type type, llvm::ArrayRef<Value> operands, Range range) {
    return {makeNode(op, type, operands, range), 0};
  }
  Value makeConstant(const Scalar &scalar, llvm::ArrayRef<Axis> axes,
                     Range range);
  Value makeInt(Elem elem, int64_t value, llvm::ArrayRef<Axis> axes,
                Range range);
  Value makeFloat(Elem elem, double value, llvm::ArrayRef<Axis> axes,
                  Range range);
  Value makeNumber(Elem elem, int64_t value, llvm::ArrayRef<Axis> axes,
                   Range range);
  Value makeCast(Value value, Elem elem, Range range);
  Value makeBroadcast(Value value, llvm::ArrayRef<Axis> axes, Range range);
  Value makeReshape(Value value, llvm::ArrayRef<Axis> axes, Range range);
  const Scalar *keep(Scalar scalar);
  llvm::StringRef intern(const llvm::Twine &text);
  template <typename T> llvm::ArrayRef<T> copy(llvm::ArrayRef<T> items);
  bool checkType(const Type &type, Range range);

  // Types (Types.cpp).
  static std::optional<Elem> getElem(llvm::StringRef name);
  static bool isClassWord(llvm::StringRef name);
  static bool isInClass(Elem elem, llvm::StringRef word);
  std::optional<Elem> resolveElem(const ast::TypeExpr *type,
                                  bool report = true);
  std::optional<Type> resolveType(const ast::TypeExpr *type);
  std::optional<int64_t> evalSize(const ast::Expr *e);
  bool evalShape(const ast::Expr *list, llvm::SmallVectorImpl<Axis> &axes,
                 int64_t inferFrom = -1);
  bool isInferredSize(const ast::Expr *e, llvm::StringRef &name);
  bool bindShape(const ast::TypeExpr *type, const Type &actual, Range where,
                 const ast::ParamDecl *param);
  bool checkShape(const ArgumentSite &site, const Type &actual);
  bool isCompileTimeParam(const ast::ParamDecl &param);

  // Expressions (Expr.cpp, Operators.cpp).
  Val elab(const ast::Expr *e, Expect expect = {});
  Val elabImpl(const ast::Expr *e, Expect expect);
  /// Like elab, but leaves a variable unread.
  Val resolve(const ast::Expr *e, Expect expect = {});
  Val load(Val val, Range range);
  Value materialise(const Val &val, Range range,
                    std::optional<Elem> wanted = std::nullopt);
  Value elabValue(const ast::Expr *e, Expect expect = {});
  std::optional<bool> elabCondition(const ast::Expr *e);
  bool isFlexible(const ast::Expr *e);
  bool hasFloatLiteral(const ast::Expr *e);
  std::optional<Elem> elemOf(const Val &val);
  Val elabInt(const ast::IntExpr *e, Expect expect);
  Val elabFloat(const ast::FloatExpr *e, Expect expect);
  Val elabBinary(const ast::BinaryExpr *e, Expect expect);
  Val elabFlexible(const ast::Expr *e, std::optional<Elem> elem);
  Val elabUnary(const ast::UnaryExpr *e, Expect expect);
  Val elabSelect(const ast::SelectExpr *e, Expect expect);
  Val elabIfBlock(const ast::IfBlockExpr *e, Expect expect);
  Val elabSubscript(const ast::IndexExpr *e);
  Val elabSlice(const ast::IndexExpr *e, Value base);
  void guardWithZero(Value read);
  Val elabList(const ast::ListExpr *e, std::optional<Elem> elem);
  bool collectElements(const ast::ListExpr *e, std::optional<Elem> elem,
                       unsigned depth, llvm::SmallVectorImpl<Axis> &axes,
                       std::vector<const Scalar *> &elements);
  Value sliceAtCounter(const ast::IndexItem &item, int64_t size);
  Val combine(ast::BinaryOp op, const ast::BinaryExpr *e, Val lhs, Val rhs);
  Val combineDims(ast::BinaryOp op, const ast::BinaryExpr *e, const Val &lhs,
                  const Val &rhs);
  Val combineIndices(ast::BinaryOp op, const ast::BinaryExpr *e, const Val &lhs,
                     const Val &rhs);
  /// The params of an instance as a record; other values as they are.
  Val asRecord(const Val &val, Range range);
  Val combineRecords(ast::BinaryOp op, const ast::BinaryExpr *e, const Val &lhs,
                     const Val &rhs);
  /// Carries out `each` for each part of the records among `vals`, with the
  /// others as they are.
  Val mapRecords(llvm::ArrayRef<Val> vals, Range range,
                 llvm::function_ref<Val(llvm::ArrayRef<Val>)> each);
  Val makePower(const ast::BinaryExpr *e, Value lhs, Value rhs);
  Value makeElementwise(Op op, Elem resultElem, llvm::ArrayRef<Value> operands,
                        llvm::ArrayRef<Range> ranges, Range range,
                        llvm::StringRef what);
  Val matmul(Value lhs, Value rhs, Range l, Range r, Range range);
  /// Elaborates operands that meet in one element type: those with a type of
  /// their own first, literals in their type then. False after an error.
  bool elabTogether(llvm::ArrayRef<const ast::Expr *> exprs, Expect expect,
                    llvm::SmallVectorImpl<Val> &vals);
  bool materialiseTogether(llvm::ArrayRef<const ast::Expr *> exprs,
                           llvm::ArrayRef<Val> vals,
                           llvm::SmallVectorImpl<Value> &values, Range range,
                           llvm::StringRef what);
  bool sameElem(Value lhs, Value rhs, Range l, Range r, Range range,
                llvm::StringRef what);
  bool broadcastShapes(llvm::ArrayRef<Value> operands,
                       llvm::ArrayRef<Range> ranges, Range range,
                       llvm::StringRef what, llvm::SmallVectorImpl<Axis> &out);

  // Ways out of shapes that don't meet (ShapeFixes.cpp).
  llvm::StringRef getShortText(Range range) const;
  bool fixByOrder(DiagBuilder &d, Range range, llvm::ArrayRef<int64_t> from,
                  llvm::ArrayRef<int64_t> to);
  bool fixByMoving(DiagBuilder &d, Range range, llvm::ArrayRef<int64_t> from,
                   llvm::ArrayRef<int64_t> to, llvm::ArrayRef<bool> open,
                   unsigned axis);
  bool fixByReshape(DiagBuilder &d, Range range, llvm::ArrayRef<int64_t> from,
                    llvm::ArrayRef<int64_t> to, const llvm::Twine &why);
  bool fixByKeeping(DiagBuilder &d, Range range);
  const ast::ShapeItem *findDeclaredAxis(Range range, unsigned axis);
  /// For operands whose axes, counted from the last one, have these sizes.
  void proposeMeeting(DiagBuilder &d, Value lhs, Range l, Value rhs, Range r,
                      int64_t lhsSize, int64_t rhsSize, unsigned fromLast);
  /// For `lhs @ rhs`, whose right side takes rows of `outer` elements.
  void proposeProduct(DiagBuilder &d, const Type &lhs, Range l, const Type &rhs,
                      Range r, int64_t outer);
  /// For parts of `concat`, or of `stack` where `joined` is negative.
  void proposePart(DiagBuilder &d, const ast::CallExpr *e, const Type &first,
                   const Type &part, Range range, int64_t joined);
  static const ast::LayerDecl *findLayer(const InstanceRef &instance,
                                         const Frame &caller);
  void reportArgumentSize(const ArgumentSite &site, const Type &actual,
                          const ast::ShapeItem &item, unsigned axis,
                          llvm::ArrayRef<int64_t> asked,
                          llvm::ArrayRef<bool> open);
  void proposeResult(DiagBuilder &d, const Type &type,
                     const ast::ShapeItem &item, unsigned axis,
                     llvm::ArrayRef<Axis> declared, Range range);
  void proposeRank(DiagBuilder &d, const ast::TypeExpr *type,
                   const Type &actual, Range where);

  // Calls (Calls.cpp, Builtins.cpp).
  Val elabCall(const ast::CallExpr *e, Expect expect);
  Val callFunction(const CallTarget &target, const ast::CallExpr *e,
                   Expect expect);
  bool matchNames(llvm::ArrayRef<llvm::StringRef> params,
                  llvm::function_ref<bool(size_t)> isOptional,
                  llvm::ArrayRef<ast::Arg> args, Range range,
                  const llvm::Twine &what, Range declared,
                  llvm::SmallVectorImpl<const ast::Expr *> &out);
  bool matchArgs(llvm::ArrayRef<ast::ParamDecl> params,
                 llvm::ArrayRef<ast::Arg> args, Range range,
                 const llvm::Twine &what, Range declared,
                 llvm::SmallVectorImpl<const ast::Expr *> &out);
  bool bindArg(Frame &callee, const ast::FnDecl *fn, size_t i,
               const ast::Expr *e, Val &arg);
  bool bindTensorArg(Frame &callee, const ast::ParamDecl &param, Val val,
                     const ast::Expr *e, Val &arg);
  bool bindFlexibleArg(Frame &callee, const ast::ParamDecl &param,
                       const ast::Expr *e, bool isDefault, Val &arg);
  bool fillDefault(const ast::ParamDecl &param, Range range, Val &val);
  bool bindResultSizes(Frame &callee, const ast::FnDecl *fn,
                       const Expect &expect, Range range);
  std::string makeKey(const CallTarget &target, Frame &callee,
                      llvm::ArrayRef<Val> args);
  bool enterCall(const CallTarget &target, Range range);
  Val inlineCall(const CallTarget &target, Frame &callee,
                 llvm::ArrayRef<Val> args, Range range);
  Val callHoisted(const CallTarget &target, const ast::CallExpr *e);
  Instantiation *instantiate(const CallTarget &target, Frame &callee,
                             llvm::ArrayRef<Val> args, const std::string &key,
                             unsigned siteBase, Range range);
  Val emitCall(const CallTarget &target, Instantiation *inst,
               llvm::ArrayRef<Val> args, Range range);
  Val runBody(const ast::FnDecl *fn);
  bool finishResult(const ast::FnDecl *fn, Val result, Val &out);
  bool finishOne(const ast::ResultType &declared, const Val &val, Range range,
                 Val &out);
  void buildVjp(const CallTarget &target, Frame &bound,
                llvm::ArrayRef<Val> args, Instantiation *inst);
  Val elabCast(Elem elem, const ast::CallExpr *e);
  Val callBuiltin(Builtin builtin, const ast::CallExpr *e, Expect expect);
  Val callUnary(Op op, const ast::CallExpr *e, llvm::StringRef name,
                Expect expect);
  Val makeUnary(Op op, const Val &val, const ast::Expr *arg,
                const ast::CallExpr *e, llvm::StringRef name);
  Val callElementwise(Op op, const ast::CallExpr *e, llvm::StringRef name,
                      Expect expect);
  Val makeElementwise(Op op, llvm::ArrayRef<const ast::Expr *> args,
                      llvm::ArrayRef<Val> vals, const ast::CallExpr *e,
                      llvm::StringRef name);
  Val callReduction(Builtin builtin, const ast::CallExpr *e,
                    llvm::StringRef name);
  Value reduce(Builtin builtin, Value x, llvm::ArrayRef<int64_t> axes,
               Range range);
  Val callReshape(const ast::CallExpr *e);
  Val callTranspose(const ast::CallExpr *e, bool permute);
  Val callRandom(Builtin builtin, const ast::CallExpr *e);
  Val callIota(const ast::CallExpr *e);
  Val callConcat(const ast::CallExpr *e, bool stack);
  bool reportLooseParts(const ast::CallExpr *e, llvm::StringRef name);
  Val callSplit(const ast::CallExpr *e);
  Val callFlip(const ast::CallExpr *e);
  Val callPad(const ast::CallExpr *e);
  Val callRepeat(const ast::CallExpr *e);
  Val callGrad(const ast::CallExpr *e, bool withValue);
  Val callNorm(const ast::CallExpr *e);
  Val callCheckpoint(const ast::CallExpr *e, Expect expect);
  std::optional<int64_t> elabAxis(const ast::Expr *e, unsigned rank);
  bool takeArgs(const ast::CallExpr *e, llvm::StringRef name,
                llvm::ArrayRef<llvm::StringRef> params, unsigned required,
                llvm::SmallVectorImpl<const ast::Expr *> &out);
  /// takeArgs of a function on whole tensors, which has no place in a body.
  bool takeTensorArgs(const ast::CallExpr *e, llvm::StringRef name,
                      llvm::ArrayRef<llvm::StringRef> params, unsigned required,
                      llvm::SmallVectorImpl<const ast::Expr *> &out);
  bool canDraw(Range range);

  // Index definitions (IndexDef.cpp, IndexForm.cpp, IndexBody.cpp).
  enum class IndexForm { Linear, Quasi, Value };
  struct Linear {
    llvm::SmallVector<std::pair<IndexVar *, int64_t>, 4> terms;
    int64_t constant = 0;
  };
  struct ReadSite {
    const ast::IndexExpr *expr;
    unsigned axis;
    int64_t size;
    Range baseRange;
    llvm::StringRef baseName;
    bool guarded;
    IndexForm form;
    Linear linear;
    /// The indices that are visible at the read.
    llvm::SmallVector<IndexVar *, 8> visible;
  };
  /// One index definition while it is built.
  struct Definition {
    llvm::DenseMap<const ast::Expr *, Val> hoisted;
    llvm::DenseMap<const ast::ReduceExpr *, llvm::SmallVector<IndexVar *, 4>>
        binders;
    std::vector<ReadSite> reads;
    std::deque<IndexVar> vars;
    llvm::SmallVector<IndexVar *, 8> order;
    llvm::SmallVector<IndexVar *, 8> visible;
    bool failed = false;
  };
  Val defineByIndex(llvm::ArrayRef<ast::Binder> binders, const ast::Expr *value,
                    Range range);
  bool bindIndices(Definition &def, llvm::ArrayRef<ast::Binder> binders,
                   llvm::SmallVectorImpl<IndexVar *> &out);
  void collect(Definition &def, const ast::Expr *e);
  void collectBlock(Definition &def, const ast::Block *block);
  void collectRead(Definition &def, const ast::IndexExpr *e);
  void solveRanges(Definition &def);
  void checkReads(Definition &def);
  bool mentionsIndex(const ast::Expr *e);
  bool mentionsFailed(const ast::Expr *e);
  /// Reports a call of `name`, which works on whole tensors, in the body of an
  /// index definition; false when there is none.
  bool rejectInBody(const ast::CallExpr *e, llvm::StringRef name,
                    const llvm::Twine &note = "");
  void collectIndices(const ast::Expr *e,
                      llvm::SmallVectorImpl<IndexVar *> &out);
  IndexForm classify(const ast::Expr *e, Linear &out);
  IndexForm classifyImpl(const ast::Expr *e, Linear &out);
  bool interval(const ast::Expr *e, int64_t &low, int64_t &high);
  bool intervalImpl(const ast::Expr *e, int64_t &low, int64_t &high);
  void bindVisible(llvm::ArrayRef<IndexVar *> vars);
  Value buildGeneric(llvm::ArrayRef<IndexVar *> free, const ast::Expr *value,
                     const ast::ReduceExpr *reduce, Range range);
  Val elabRead(const ast::IndexExpr *e);
  Val elabReduce(const ast::ReduceExpr *e);
  Val indexConstant(int64_t n, Range range);
  Value indexNode(const Val &val, Range range);
  /// A generic whose body is given by code, for slices and the like.
  Value buildMap(Elem elem, llvm::ArrayRef<Axis> axes, Range range,
                 llvm::function_ref<Value(llvm::ArrayRef<Value>)> element);
  Value readAt(Value tensor, llvm::ArrayRef<Value> indices, Range range);

  // Statements (Stmt.cpp).
  Val runBlock(const ast::Block *block, Expect expect);
  void runStmt(const ast::Stmt *stmt);
  void runFor(const ast::ForStmt *stmt);
  void runFold(const ast::FoldStmt *stmt);
  bool flatten(const Val &val, Range range,
               llvm::SmallVectorImpl<Value> &values);
  Val rebuild(const Val &like, llvm::ArrayRef<Value> &values);
  bool collectsIterations(const ast::IndexDefStmt *def);
  void runCollect(const ast::IndexDefStmt *def);
  void findCaptures(typed::FoldBody &body);
  bool mentionsCounter(const ast::Expr *e);
  void runAssign(const ast::AssignStmt *stmt);
  void runWrite(const ast::WriteStmt *stmt);
  void runLet(const ast::LetStmt *stmt);
  void runAssert(const ast::AssertStmt *stmt);
  bool canCheck(Range range);
  void reportCheckInBody(Range range);
  void bindName(const ast::Ident &name, Val val);
  bool checkNewName(const ast::Ident &name);

  // Variables (Variables.cpp).
  llvm::StringRef varKey(const Val &variable);
  Value readVar(const Val &variable, Range range);
  void writeVar(const Val &variable, Value value, Range range);
  Value asWritten(Value value, Range range);
  Val variableVal(const InstanceRef &instance, const ModuleVar &var);
  Val programVariable(llvm::StringRef name);
  int64_t addVariable(typed::Variable variable);

  // Gradients and updates (Updates.cpp).
  void runMinimize(const ast::MinimizeStmt *stmt);
  void runApply(const ast::ApplyStmt *stmt);
  void addParams(const Val &val, std::vector<Val> &params);
  bool expandParams(const ast::Expr *e, std::vector<Val> &params);
  bool checkReached(Value loss, llvm::MutableArrayRef<Val> params, Range range,
                    std::vector<bool> &reached);
  bool checkLoss(Value loss, Range range);
  std::vector<Value> gradient(Value loss, llvm::ArrayRef<Value> wrt,
                              Range range);
  void update(const ast::Expr *optimizer, llvm::ArrayRef<Val> params,
              llvm::ArrayRef<Value> gradients, const ast::Ident &name,
              Range range);

  // Modules (Modules.cpp).
  const ModuleInstance *makeModule(const ast::Expr *value);
  const ModuleInstance *instantiateModule(const ast::ModuleDecl *decl,
                                          const FileScope *scope,
                                          llvm::StringMap<Val> args,
                                          const std::string &key, Range range);
  bool elabModuleArgs(llvm::ArrayRef<ast::ParamDecl> params,
                      llvm::ArrayRef<ast::Arg> args, const FileScope *scope,
                      Range range, llvm::StringRef what, Range declared,
                      llvm::StringMap<Val> &out, std::string &key);
  void addMembers(llvm::ArrayRef<ast::Decl *> members, ModuleInstance *module);
  Val constantOf(const ast::Expr *e, std::optional<Elem> elem);
  static uint64_t getNumVars(const ModuleInstance *layer, int64_t count);
  void addModuleVars(ModuleInstance *out, llvm::StringRef prefix,
                     const ModuleInstance *layer);

  // Entries (Entries.cpp).
  /// Where the first value of a variable comes from, by the variable's number.
  struct VarInit {
    const ast::VarDecl *decl = nullptr;
    const FileScope *scope = nullptr;
    const ModuleInstance *owner = nullptr;
  };
  void declareProgram();
  void buildInit();
  void buildEntry(const ast::FnDecl *fn);
  void findDataDim();
  const ast::DimDecl *getAxisDim(const ast::TypeExpr *type);
  bool addInput(FnState &state, const ast::FnDecl *fn,
                const ast::ParamDecl &param);
  Value elabInit(const VarInit &init, const Type &type, FnState &state);
  void finishFunction(FnState &state);

  SourceManager &sources;
  DiagnosticEngine &diags;
  ASTContext &context;
  const FrontendOptions &options;
  typed::Program &program;

  std::map<std::string, std::unique_ptr<FileScope>> scopes;
  /// Imported files by identity; null where reading one failed.
  std::map<std::string, FileScope *> imported;
  /// The files that are being read, from the main file on.
  struct Reading {
    std::string identity, path;
    Range import; // what asked for it
  };
  std::vector<Reading> reading;
  FileScope *mainScope = nullptr;
  Frame *frame = nullptr;
  typed::Body *body = nullptr;
  Definition *definition = nullptr;
  const ast::DimDecl *dataDim = nullptr;

  llvm::DenseMap<const ast::DimDecl *, std::optional<int64_t>> dims;
  llvm::DenseMap<const ast::DimDecl *, bool> dimsInProgress;
  llvm::SmallPtrSet<const ast::Decl *, 8> constsInProgress;
  llvm::DenseMap<const ast::ConstDecl *, Val> consts;
  std::map<std::string, std::unique_ptr<ModuleInstance>> modules;
  llvm::SmallPtrSet<const ast::ModuleDecl *, 8> modulesInProgress;
  std::map<std::string, std::unique_ptr<Instantiation>> instantiations;
  struct Active {
    const ast::FnDecl *fn;
    const ModuleInstance *module;
    Range range;
  };
  std::vector<Active> active;
  llvm::StringMap<unsigned> functionNames;
  llvm::StringMap<unsigned> variableByName;
  struct GlobalLayer {
    const ModuleInstance *module = nullptr;
    int64_t count = -1;
  };
  llvm::StringMap<GlobalLayer> globalLayers;
  std::map<int64_t, VarInit> inits;
  uint64_t numNodes = 0;
  unsigned exprDepth = 0;
  bool aborted = false;
  /// Whether an entry reads `tds.step` or `tds.seed`, as draws do.
  bool usesCounters = false;
  /// Names that were reported already.
  llvm::StringSet<> unknownNames;
  /// A file that is imported is missing or wrong.
  bool importFailed = false;
};

/// Checks the names in all bodies, also in those that nothing calls. What was
/// reported is added to `unknownNames`. False when a body or a signature
/// declares a name of the language, which then means two things.
bool resolveNames(const FileScope &scope, DiagnosticEngine &diags,
                  llvm::StringSet<> &unknownNames);

template <typename T> llvm::ArrayRef<T> Checker::copy(llvm::ArrayRef<T> items) {
  T *out = program.arena.Allocate<T>(items.size());
  std::uninitialized_copy(items.begin(), items.end(), out);
  return llvm::ArrayRef<T>(out, items.size());
}

} // namespace sema
} // namespace tdsl

#endif // TDSL_LIB_FRONTEND_SEMA_CHECKER_H
