//===- CodeUnitsTest.cpp - pieces of code, compiled alone -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/Target/Common/CodeUnits.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include "gtest/gtest.h"

#include <map>

using namespace mlir;
using namespace tdsl::target;

namespace {

struct CodeUnitsTest : ::testing::Test {
  CodeUnitsTest() { context.loadDialect<LLVM::LLVMDialect>(); }
  std::vector<CodeUnit> split(const std::string &text) {
    code = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(bool(code));
    std::vector<CodeUnit> units = splitCode(*code);
    for (CodeUnit &unit : units)
      EXPECT_TRUE(succeeded(verify(*unit.module))) << unit.name;
    return units;
  }
  std::string namesOf(const std::vector<CodeUnit> &units) {
    std::string names;
    for (const CodeUnit &unit : units)
      names += (unit.isKernel ? " " : " +") + unit.name;
    return names;
  }
  /// What the unit of that name holds, as `name` or `name*` for a declaration.
  std::string contentOf(const std::vector<CodeUnit> &units,
                        const std::string &name) {
    std::string content;
    for (const CodeUnit &unit : units)
      if (unit.name == name)
        for (Operation &op : *unit.module.get().getBody()) {
          auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
          auto global = dyn_cast<LLVM::GlobalOp>(op);
          bool isDeclared =
              function ? function.isExternal() : !global.getValueOrNull();
          content +=
              " " +
              unit.restoreNames(SymbolTable::getSymbolName(&op).getValue()) +
              (isDeclared ? "*" : "");
        }
    return content;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> code;
};

/// A store in memory.
struct Store : UnitStore {
  bool isOn() const override { return true; }
  std::optional<std::string> load(llvm::StringRef text) override {
    auto it = codes.find(text.str());
    return it == codes.end() ? std::nullopt : std::optional(it->second);
  }
  void keep(llvm::StringRef text, llvm::StringRef code) override {
    codes[text.str()] = code.str();
  }
  std::map<std::string, std::string> codes;
};

/// A kernel that calls `callees`.
std::string kernel(const std::string &name,
                   std::initializer_list<const char *> callees) {
  std::string text = "llvm.func @" + name + "() {\n";
  for (const char *callee : callees)
    text += std::string("  llvm.call @") + callee + "() : () -> ()\n";
  return text + "  llvm.return\n}\n";
}

std::string function(const std::string &name, bool isInlined,
                     std::initializer_list<const char *> callees = {}) {
  std::string text = kernel(name, callees);
  text.replace(0, 9, "llvm.func internal");
  if (!isInlined)
    text.replace(text.find("() {"), 4, "() attributes {no_inline} {");
  return text;
}

} // namespace

// A function that may be inlined is copied, any other is a unit of its own, and
// what nobody calls is gone.
TEST_F(CodeUnitsTest, WhatIsWhere) {
  auto units =
      split(kernel("a", {"a.work"}) + function("a.work", true, {"f"}) +
            kernel("b", {"f", "small"}) + kernel("c", {"small", "g"}) +
            function("f", false, {"g", "small"}) + function("g", false) +
            function("small", true) + function("unused", false));
  EXPECT_EQ(namesOf(units), " +g +f a b c");
  EXPECT_EQ(contentOf(units, "g"), " g");
  EXPECT_EQ(contentOf(units, "f"), " g* f small");
  EXPECT_EQ(contentOf(units, "a"), " f* a a.work");
  EXPECT_EQ(contentOf(units, "b"), " f* b small");
  EXPECT_EQ(contentOf(units, "c"), " g* c small");
}

// A function is the same unit whoever calls it.
TEST_F(CodeUnitsTest, OneCaller) {
  std::string f = function("f", false, {"g"}) + function("g", false);
  auto one = split(kernel("a", {"f"}) + f);
  auto two = split(kernel("a", {"f"}) + kernel("b", {"f", "g"}) + f);
  ASSERT_EQ(namesOf(one), " +g +f a");
  ASSERT_EQ(namesOf(two), " +g +f a b");
  for (unsigned i : {0, 1, 2})
    EXPECT_EQ(one[i].getText(), two[i].getText());
}

// Constants are copied; memory that is written is the same for all.
TEST_F(CodeUnitsTest, Globals) {
  std::string text = "llvm.mlir.global internal constant @table(7 : i32) : "
                     "i32\nllvm.mlir.global internal @seen(0 : i32) : i32\n";
  for (const char *name : {"a", "b"})
    text += std::string("llvm.func @") + name +
            "() {\n  %0 = llvm.mlir.addressof @table : !llvm.ptr\n  %1 = "
            "llvm.mlir.addressof @seen : !llvm.ptr\n  %2 = llvm.load %0 : "
            "!llvm.ptr -> i32\n  llvm.store %2, %1 : i32, !llvm.ptr\n  "
            "llvm.return\n}\n";
  auto units = split(text);
  EXPECT_EQ(namesOf(units), " +seen a b");
  EXPECT_EQ(contentOf(units, "b"), " seen* b table");
  // Neither the kernel's name nor that of its data is in the text.
  EXPECT_EQ(units[1].getText(), units[2].getText());
  EXPECT_EQ(units[1].getText().find("table"), std::string::npos);
}

TEST_F(CodeUnitsTest, NamesComeBack) {
  auto units = split(kernel("tds_k12_row", {"tds_k12_row.work", "f"}) +
                     function("tds_k12_row.work", true) + kernel("b", {"f"}) +
                     function("f", false));
  ASSERT_EQ(namesOf(units), " +f tds_k12_row b");
  std::string text = units[1].getText();
  EXPECT_EQ(text.find("k12"), std::string::npos);
  std::string restored = units[1].restoreNames(text);
  EXPECT_NE(restored.find("llvm.call @tds_k12_row.work()"), std::string::npos);
  EXPECT_NE(restored.find("llvm.call @f()"), std::string::npos);
  EXPECT_EQ(restored.find("tds__"), std::string::npos);
  // Text that looks like a name and is none stays.
  for (const char *other :
       {"", "tds__", "tds__other__x", "tds__self_", "_tds_"})
    EXPECT_EQ(units[1].restoreNames(other), other);
  EXPECT_EQ(units[1].restoreNames("tds__tds__self___1"), "tds__tds_k12_row_1");
}

// What differs in names and places alone is compiled once, and what differs in
// more is not.
TEST_F(CodeUnitsTest, StoreIsAsked) {
  Store store;
  int compiled = 0;
  auto compileAll = [&](const std::string &text, UnitStore *from) {
    auto units = split(text);
    auto codes = compileUnits(units, from, [&](CodeUnit &unit) {
      ++compiled;
      return FailureOr<std::string>("code of " + unit.getText());
    });
    EXPECT_TRUE(succeeded(codes));
    return *codes;
  };
  std::string text =
      kernel("a", {"f"}) + kernel("b", {"f", "f"}) + function("f", false);
  auto codes = compileAll(text, &store);
  EXPECT_EQ(compiled, 3);
  EXPECT_EQ(store.numKernels, 2u);
  EXPECT_EQ(store.numFunctions, 1u);
  EXPECT_EQ(store.numLoaded, 0u);
  EXPECT_EQ(compileAll("\n\n" + text, &store), codes);
  EXPECT_EQ(compiled, 3);
  EXPECT_EQ(store.numLoaded, 3u);
  // Other names, another order, and one that calls f three times.
  compileAll(kernel("k0", {"h", "h"}) + kernel("k1", {"h", "h", "h"}) +
                 kernel("k2", {"h"}) + function("h", false),
             &store);
  EXPECT_EQ(compiled, 4);
  EXPECT_EQ(store.numLoaded, 6u);
  EXPECT_EQ(compileAll(text, nullptr), codes);
  EXPECT_EQ(compiled, 7);
}

TEST_F(CodeUnitsTest, FailureIsNotKept) {
  Store store;
  auto units = split(kernel("a", {}));
  auto codes = compileUnits(units, &store, [&](CodeUnit &) {
    return FailureOr<std::string>(failure());
  });
  EXPECT_TRUE(failed(codes));
  EXPECT_TRUE(store.codes.empty());
}

TEST_F(CodeUnitsTest, JoinsLLVM) {
  llvm::LLVMContext llvmContext;
  auto joined = joinLLVM({"define hidden void @f() {\n  ret void\n}\n",
                          "declare void @f()\ndefine void @a() {\n  call void "
                          "@f()\n  ret void\n}\n"},
                         llvmContext);
  ASSERT_TRUE(joined);
  EXPECT_FALSE(joined->getFunction("f")->isDeclaration());
  EXPECT_FALSE(joined->getFunction("a")->isDeclaration());
  EXPECT_FALSE(joinLLVM({"define"}, llvmContext));
}
