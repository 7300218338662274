//===- CodeUnits.cpp - code in pieces that are compiled alone -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Target/Common/CodeUnits.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::target;

UnitStore::~UnitStore() = default;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

// Names within a unit begin and end so; none is the beginning of another.
static constexpr StringLiteral nameBegin = "tds__", nameEnd = "__";
static constexpr StringLiteral selfName = "tds__self__";

std::string CodeUnit::getText() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.get()->print(os, OpPrintingFlags().useLocalScope());
  return text;
}

std::string CodeUnit::restoreNames(StringRef text) const {
  std::string result;
  result.reserve(text.size());
  for (;;) {
    size_t begin = text.find(nameBegin);
    if (begin == StringRef::npos)
      break;
    size_t end = text.find(nameEnd, begin + nameBegin.size());
    if (end == StringRef::npos)
      break;
    end += nameEnd.size();
    auto it = names.find(text.slice(begin, end));
    if (it == names.end())
      end = begin + nameBegin.size();
    result += text.take_front(begin);
    result += it == names.end() ? StringRef(nameBegin) : StringRef(it->second);
    text = text.drop_front(end);
  }
  return result += text;
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

namespace tdsl::target {

class CodeSplitter {
public:
  explicit CodeSplitter(ModuleOp code);
  std::vector<CodeUnit> split();

private:
  /// A function or a global.
  struct Symbol {
    Operation *op;
    StringRef name;
    bool isKernel, isCopied;
    llvm::SmallSetVector<Symbol *, 4> uses, users;
    Symbol *owner = nullptr;
    bool isPlaced = false;
  };

  Symbol *getOwner(Symbol *symbol);
  /// Appends the unit of an owner behind those of what it calls.
  void place(Symbol *owner, std::vector<CodeUnit> &units);

  llvm::MapVector<StringRef, std::unique_ptr<Symbol>> symbols;
};

} // namespace tdsl::target

/// Calls `visit` with each name that `op` uses, and renames it to what that
/// returns.
static void replaceUses(Operation *op,
                        function_ref<StringRef(StringRef)> visit) {
  op->walk([&](Operation *nested) {
    if (auto call = dyn_cast<LLVM::CallOp>(nested)) {
      if (std::optional<StringRef> callee = call.getCallee())
        if (StringRef name = visit(*callee); name != *callee)
          call.setCallee(name);
    } else if (auto address = dyn_cast<LLVM::AddressOfOp>(nested)) {
      StringRef used = address.getGlobalName();
      if (StringRef name = visit(used); name != used)
        address.setGlobalName(name);
    }
  });
}

/// Whether each unit that uses a function or a global may have one of its own:
/// constants, and functions that would be inlined.
static bool mayBeCopied(Operation *op) {
  if (auto global = dyn_cast<LLVM::GlobalOp>(op))
    return global.getConstant() &&
           global.getLinkage() == LLVM::Linkage::Internal;
  auto function = cast<LLVM::LLVMFuncOp>(op);
  if (function.getLinkage() != LLVM::Linkage::Internal ||
      function.getNoInline())
    return false;
  ArrayAttr attributes = function.getPassthroughAttr();
  return !attributes ||
         !llvm::is_contained(attributes,
                             StringAttr::get(op->getContext(), "noinline"));
}

CodeSplitter::CodeSplitter(ModuleOp code) {
  for (Operation &op : *code.getBody()) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    auto symbol = std::make_unique<Symbol>();
    symbol->op = &op;
    // Lives in the context: longer than the name of the operation.
    symbol->name = SymbolTable::getSymbolName(&op).getValue();
    symbol->isKernel =
        function && function.getLinkage() == LLVM::Linkage::External;
    symbol->isCopied = mayBeCopied(&op);
    symbols[symbol->name] = std::move(symbol);
  }
  for (auto &[name, symbol] : symbols)
    replaceUses(symbol->op, [&, user = symbol.get()](StringRef used) {
      Symbol *other = symbols.find(used)->second.get();
      user->uses.insert(other);
      other->users.insert(user);
      return used;
    });
}

/// The symbol whose unit `symbol` is in: itself for a function, whoever calls
/// it, so that it is the same unit in every program. Data is with the one
/// function that uses it, or by itself.
CodeSplitter::Symbol *CodeSplitter::getOwner(Symbol *symbol) {
  if (symbol->owner)
    return symbol->owner;
  if (isa<LLVM::LLVMFuncOp>(symbol->op))
    return symbol->owner = symbol;
  llvm::SmallSetVector<Symbol *, 4> owners;
  SmallVector<Symbol *> users(symbol->users.begin(), symbol->users.end());
  while (!users.empty()) {
    Symbol *user = users.pop_back_val();
    if (user->isCopied)
      users.append(user->users.begin(), user->users.end());
    else
      owners.insert(getOwner(user));
  }
  return symbol->owner = owners.size() == 1 ? owners.front() : symbol;
}

/// What a unit has of a symbol that is in another one. Its linkage, and that of
/// the definition, is such that the two meet.
static Operation *declare(Operation *op, OpBuilder &builder) {
  if (isa<LLVM::GlobalOp>(op)) {
    auto global = cast<LLVM::GlobalOp>(builder.clone(*op));
    global.removeValueAttr();
    return global;
  }
  auto function = cast<LLVM::LLVMFuncOp>(op->cloneWithoutRegions());
  builder.insert(function);
  // Only definitions have these.
  function.setNoInline(false);
  function.removePassthroughAttr();
  return function;
}

/// Makes what has internal linkage visible to the other units, and to nobody
/// else.
static void publish(Operation *op) {
  auto publish = [](auto symbol) {
    if (symbol.getLinkage() != LLVM::Linkage::Internal)
      return;
    symbol.setLinkage(LLVM::Linkage::External);
    symbol.setVisibility_(LLVM::Visibility::Hidden);
    symbol.setDsoLocal(true);
  };
  if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op))
    publish(function);
  else
    publish(cast<LLVM::GlobalOp>(op));
}

void CodeSplitter::place(Symbol *owner, std::vector<CodeUnit> &units) {
  if (std::exchange(owner->isPlaced, true))
    return;
  llvm::SetVector<Symbol *> own, called;
  SmallVector<Symbol *> worklist = {owner};
  while (!worklist.empty()) {
    Symbol *symbol = worklist.pop_back_val();
    if (!symbol->isCopied && symbol->owner != owner)
      called.insert(symbol);
    else if (own.insert(symbol))
      worklist.append(symbol->uses.rbegin(), symbol->uses.rend());
  }
  for (Symbol *symbol : called)
    place(symbol, units);

  CodeUnit unit(owner->op->getLoc(), owner->name, owner->isKernel);
  unit.module = ModuleOp::create(unit.loc);
  OpBuilder builder(unit.module->getBodyRegion());
  llvm::StringMap<std::string> inUnit;
  auto addName = [&](StringRef kind, size_t number, StringRef name) {
    std::string token =
        (nameBegin + kind + (number ? Twine(number) : Twine()) + nameEnd).str();
    unit.names[token] = name;
    inUnit[name] = token;
  };
  addName("self", 0, owner->name);
  for (Symbol *symbol : called) {
    addName("callee", unit.names.size(), symbol->name);
    Operation *declaration = declare(symbol->op, builder);
    SymbolTable::setSymbolName(declaration, symbol->name);
    publish(declaration);
  }
  for (Symbol *symbol : own) {
    StringRef rest = symbol->name;
    if (symbol != owner && rest.consume_front(owner->name))
      inUnit[symbol->name] = (selfName + rest).str();
    else if (symbol != owner)
      addName("own", unit.names.size(), symbol->name);
    if (symbol->isCopied) {
      builder.clone(*symbol->op);
    } else {
      symbol->op->remove();
      builder.insert(symbol->op);
    }
  }
  if (!owner->isKernel)
    publish(owner->op);
  for (Operation &op : *unit.module->getBody()) {
    SymbolTable::setSymbolName(
        &op, inUnit.at(SymbolTable::getSymbolName(&op).getValue()));
    replaceUses(&op,
                [&](StringRef used) -> StringRef { return inUnit.at(used); });
  }
  units.push_back(std::move(unit));
}

std::vector<CodeUnit> CodeSplitter::split() {
  for (auto &[name, symbol] : symbols)
    if (!symbol->isCopied)
      getOwner(symbol.get());
  std::vector<CodeUnit> placed, units;
  for (auto &[name, symbol] : symbols)
    if (symbol->isKernel)
      place(symbol.get(), placed);
  for (bool areKernels : {false, true})
    for (CodeUnit &unit : placed)
      if (unit.isKernel == areKernels)
        units.push_back(std::move(unit));
  return units;
}

std::vector<CodeUnit> target::splitCode(ModuleOp code) {
  return CodeSplitter(code).split();
}

//===----------------------------------------------------------------------===//
// Compiling and joining
//===----------------------------------------------------------------------===//

FailureOr<std::vector<std::string>>
target::compileUnits(MutableArrayRef<CodeUnit> units, UnitStore *store,
                     function_ref<FailureOr<std::string>(CodeUnit &)> compile) {
  std::vector<std::string> codes;
  for (CodeUnit &unit : units) {
    std::string text;
    if (store) {
      ++(unit.isKernel ? store->numKernels : store->numFunctions);
      if (store->isOn()) {
        text = unit.getText();
        if (std::optional<std::string> code = store->load(text)) {
          ++store->numLoaded;
          codes.push_back(std::move(*code));
          continue;
        }
      }
    }
    FailureOr<std::string> code = compile(unit);
    if (failed(code))
      return failure();
    if (store && store->isOn())
      store->keep(text, *code);
    codes.push_back(std::move(*code));
  }
  return codes;
}

std::unique_ptr<llvm::Module> target::joinLLVM(ArrayRef<std::string> texts,
                                               llvm::LLVMContext &context) {
  auto joined = std::make_unique<llvm::Module>("tds", context);
  for (const std::string &text : texts) {
    llvm::SMDiagnostic error;
    std::unique_ptr<llvm::Module> module =
        llvm::parseAssemblyString(text, error, context);
    if (!module)
      return nullptr;
    joined->setTargetTriple(module->getTargetTriple());
    joined->setDataLayout(module->getDataLayout());
    if (llvm::Linker::linkModules(*joined, std::move(module)))
      return nullptr;
  }
  return joined;
}
