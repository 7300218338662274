//===- Values.h - What names and expressions stand for -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_LIB_FRONTEND_SEMA_VALUES_H
#define TDSL_LIB_FRONTEND_SEMA_VALUES_H

#include "tdsl/Frontend/AST.h"
#include "tdsl/Frontend/Program.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace tdsl {
namespace sema {

using typed::Axis;
using typed::Elem;
using typed::Node;
using typed::Op;
using typed::Scalar;
using typed::Type;
using typed::Value;

/// The declarations of one text.
struct FileScope {
  ast::File file;
  std::string name; // "" for the main file, else the module's name
  /// What messages call the file and where its imports look; empty for
  /// standard modules.
  std::string path;
  /// Where the text begins.
  SourceLoc begin;
  llvm::StringMap<const ast::Decl *> decls;
  llvm::StringMap<FileScope *> modules; // of `use` and `import`
};

struct ModuleInstance;

/// An instance of a module as a function sees it: below the instance whose
/// function runs (`self`), or by its path in the program.
struct InstanceRef {
  const ModuleInstance *module = nullptr;
  bool self = false;
  llvm::StringRef path; // "" or "net.fc1"
};

/// An index that a definition or a reduction binds.
struct IndexVar {
  llvm::StringRef name;
  SourceRange range;
  int64_t extent = -1; // unknown
  bool isExplicit = false;
  /// What bounded it, for messages.
  SourceRange boundedBy;
  std::string boundedByText;
  /// The loop index in the body that is being built.
  Node *loop = nullptr;
};

enum class Builtin : uint16_t {
  None,
#define BUILTIN(NAME, TEXT) NAME,
#include "Builtins.def"
};

/// How the name reads in a program.
llvm::StringRef getBuiltinText(Builtin builtin);

/// What a name or an expression stands for. Plain data; arrays lie in the
/// program's arena.
struct Val {
  enum Kind : uint8_t {
    Error,    // reported already
    Unit,     // no value
    Dim,      // a compile-time integer, `number`
    Truth,    // a compile-time truth value, `number`
    Number,   // a compile-time number with a type, `scalar`
    Literal,  // a compile-time tensor: `elements` in the shape `type`
    Tensor,   // `value`
    Index,    // an index in a body: `indexVar`, or an expression `value`
    Tuple,    // `elems`
    Pack,     // the axes of a shape pack, `axes`
    Variable, // a param or state that has not been read, `path`
    Instance,
    InstanceArray, // `number` instances at `instance`.0, .1, …
    Record,        // gradients by parameter: `elems` and `names`, below `path`
    Function,      // `decl`, `scope`, `instance`
    Namespace,     // `scope`, or `builtin` for random and tds
    ModuleClass,
    OptimizerClass,
    ElemType,   // `elem`
    BuiltinName // `builtin`
  };
  Kind kind = Error;
  /// Dim: written as literals, so it adapts to any number type.
  bool literal = false;
  /// Tensor: a scalar of the body that is being built.
  bool inBody = false;
  /// Variable: below self (else by its path in the program).
  bool self = false;
  Elem elem = Elem::F32;
  Builtin builtin = Builtin::None;
  int64_t number = 0;
  Value value;
  const Scalar *scalar = nullptr;
  IndexVar *indexVar = nullptr;
  /// Tensor: the loop variable of a fold, which is `foldVar` + `number`.
  IndexVar *foldVar = nullptr;
  llvm::ArrayRef<Val> elems;
  llvm::ArrayRef<llvm::StringRef> names;
  llvm::ArrayRef<Axis> axes;
  Type type; // Variable, Literal
  /// One for each element, or one for all.
  llvm::ArrayRef<const Scalar *> elements;
  llvm::StringRef path;
  InstanceRef instance;
  const ast::Decl *decl = nullptr;
  const FileScope *scope = nullptr;
  /// Where the name was declared, for messages.
  SourceRange origin;

  bool isError() const { return kind == Error; }
  static Val makeDim(int64_t n, bool literal = false) {
    Val v;
    v.kind = Dim;
    v.number = n;
    v.literal = literal;
    return v;
  }
  static Val makeTruth(bool b) {
    Val v;
    v.kind = Truth;
    v.number = b;
    return v;
  }
  static Val makeTensor(Value value, bool inBody = false) {
    Val v;
    v.kind = Tensor;
    v.value = value;
    v.inBody = inBody;
    return v;
  }
};

/// A variable of a module, its path below the instance.
struct ModuleVar {
  std::string path;
  const ast::VarDecl *decl;
  Type type;
  /// The instance whose arguments the initialiser sees.
  const ModuleInstance *owner;
};

/// A module with its arguments. Instances with equal arguments share one.
struct ModuleInstance {
  unsigned id;
  const ast::ModuleDecl *decl;
  const FileScope *scope;
  llvm::StringMap<Val> args;
  llvm::StringMap<const ast::Decl *> members;
  struct Layer {
    const ModuleInstance *module = nullptr;
    int64_t count = -1; // -1: not an array
  };
  llvm::StringMap<Layer> layers;
  llvm::StringMap<Type> ownTypes;
  /// All variables, those of layers too, in the order of declaration.
  std::vector<ModuleVar> vars;
  llvm::StringMap<unsigned> varByPath;
};

/// What the caller wants: an element type for literals, a whole type for
/// functions whose sizes come from the result.
struct Expect {
  std::optional<Elem> elem;
  std::optional<Type> type;
  /// Of a tuple's elements.
  llvm::ArrayRef<std::optional<Elem>> tuple;
  Expect() = default;
  Expect(Elem e) : elem(e) {}
  explicit Expect(const Type &t) : elem(t.elem), type(t) {}
};

} // namespace sema
} // namespace tdsl

#endif // TDSL_LIB_FRONTEND_SEMA_VALUES_H
