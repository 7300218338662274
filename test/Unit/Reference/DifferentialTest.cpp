//===- DifferentialTest.cpp - folder, tensors and bodies agree -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every element operation on every type, on hostile values: as an operation on
// tensors, as a scalar in a body, and folded. All three give the same bits, and
// the folder leaves nothing to compute.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace tdsl;
using namespace tdsl::test;

namespace {

/// More than a row, and no multiple of one.
constexpr int64_t count = 300;

/// One operation: its text with operands %0, %1 ... and types left open.
struct Case {
  std::string name;
  /// Kinds of the operands and of the result.
  std::vector<ElementKind> operands;
  ElementKind result;
  /// Prints the operation on these operands, as scalars or as tensors.
  std::function<std::string(llvm::ArrayRef<std::string>,
                            std::function<std::string(ElementKind)>)>
      text;
};

void check(const Case &test, uint64_t seed) {
  SCOPED_TRACE(test.name);
  std::mt19937_64 random(seed);
  std::vector<Tensor> arguments;
  for (ElementKind kind : test.operands)
    arguments.push_back(hostile(kind, {count}, random));
  auto tensorType = [](ElementKind kind) { return typeOf(kind, {count}); };
  std::vector<std::string> names, parameters;
  for (auto [i, kind] : llvm::enumerate(test.operands)) {
    names.push_back("%a" + std::to_string(i));
    parameters.push_back(names.back() + ": " + tensorType(kind));
  }
  std::string result = tensorType(test.result);

  std::string text;
  llvm::raw_string_ostream os(text);
  os << "func.func @tensors(" << llvm::join(parameters, ", ") << ") -> "
     << result << " {\n%r = " << test.text(names, tensorType)
     << "\nreturn %r : " << result << "\n}\n";
  std::vector<std::string> scalars;
  for (size_t i = 0; i < names.size(); ++i)
    scalars.push_back("%s" + std::to_string(i));
  os << "func.func @body(" << llvm::join(parameters, ", ") << ") -> " << result
     << " {\n%r = tds.generic (%i) in (" << count << ") : " << result << " {\n";
  for (size_t i = 0; i < names.size(); ++i)
    os << scalars[i] << " = tds.read " << names[i]
       << "[%i] : " << tensorType(test.operands[i]) << "\n";
  os << "%v = " << test.text(scalars, mlirName)
     << "\ntds.yield %v : " << mlirName(test.result)
     << "\n}\nreturn %r : " << result << "\n}\n";
  os << "func.func @constant() -> " << result
     << " {\n%r = " << test.text(names, tensorType)
     << "\nreturn %r : " << result << "\n}\n";
  // The constants come in as attributes: their bits cannot be printed as text.
  size_t at = text.find("func.func @constant");
  std::string constants;
  for (auto [i, kind] : llvm::enumerate(test.operands))
    constants += names[i] + " = tds.constant dense<" +
                 (kind == ElementKind::Bool  ? "false"
                  : reference::isFloat(kind) ? "0.0"
                                             : "0") +
                 "> : " + tensorType(kind) + "\n";
  text.insert(text.find('\n', at) + 1, constants);

  Program program(text);
  ASSERT_TRUE(program.module);
  auto function = program.module->lookupSymbol<mlir::func::FuncOp>("constant");
  unsigned next = 0;
  function.walk([&](tds::ConstantOp op) {
    op.setValueAttr(tds::toAttribute(arguments[next++], op.getType()));
  });
  ASSERT_EQ(next, arguments.size());

  Tensor tensors = program.run("tensors", arguments)[0];
  Tensor body = program.run("body", arguments)[0];
  Tensor constant = program.run("constant", {})[0];
  mlir::PassManager passes(&program.context);
  passes.addNestedPass<mlir::func::FuncOp>(mlir::createCanonicalizerPass());
  ASSERT_TRUE(mlir::succeeded(passes.run(*program.module)));
  Tensor folded = program.run("constant", {})[0];
  unsigned left = 0;
  function.walk([&](mlir::Operation *op) {
    left +=
        !mlir::isa<tds::ConstantOp, mlir::func::FuncOp, mlir::func::ReturnOp>(
            op);
  });
  EXPECT_EQ(left, 0u) << "operations the folder left";
  // And what canonicalisation made of the run-time forms.
  Tensor laterTensors = program.run("tensors", arguments)[0];
  Tensor laterBody = program.run("body", arguments)[0];
  for (const Tensor *other :
       {&body, &constant, &folded, &laterTensors, &laterBody})
    if (!reference::sameBits(tensors, *other)) {
      for (int64_t i = 0; i < count; ++i)
        if (tensors.getDouble(i) != other->getDouble(i)) {
          std::string operands;
          for (const Tensor &argument : arguments)
            operands += " " + std::to_string(argument.getDouble(i));
          ADD_FAILURE() << "element " << i << " of" << operands << ": "
                        << tensors.getDouble(i) << " and "
                        << other->getDouble(i);
          break;
        }
      ADD_FAILURE() << "bits differ";
      return;
    }
}

Case simple(const std::string &name, unsigned arity, ElementKind kind) {
  return {name + " " + mlirName(kind), std::vector<ElementKind>(arity, kind),
          kind, [=](llvm::ArrayRef<std::string> operands, auto type) {
            return "tds." + name + " " + llvm::join(operands, ", ") + " : " +
                   type(kind);
          }};
}

TEST(Differential, Arithmetic) {
  for (ElementKind kind : allKinds) {
    if (kind == ElementKind::Bool)
      continue;
    for (const char *name :
         {"add", "sub", "mul", "floordiv", "mod", "pow", "max", "min"})
      check(simple(name, 2, kind), 1);
    for (const char *name : {"neg", "abs", "sign"})
      check(simple(name, 1, kind), 2);
    check(simple("clamp", 3, kind), 3);
  }
}

TEST(Differential, Functions) {
  for (ElementKind kind : allKinds) {
    if (!reference::isFloat(kind))
      continue;
    check(simple("div", 2, kind), 4);
    for (const char *name :
         {"floor", "ceil", "round", "sqrt", "rsqrt", "exp", "expm1", "log",
          "log1p", "tanh", "sigmoid", "erf", "sin", "cos"})
      check(simple(name, 1, kind), 5);
  }
}

TEST(Differential, Truth) {
  for (const char *name : {"and", "or"})
    check(simple(name, 2, ElementKind::Bool), 6);
  check(simple("not", 1, ElementKind::Bool), 7);
  for (ElementKind kind : allKinds) {
    for (const char *name : {"isnan", "isfinite"})
      if (reference::isFloat(kind)) {
        Case test = simple(name, 1, kind);
        test.result = ElementKind::Bool;
        check(test, 8);
      }
    for (const char *predicate : {"eq", "ne", "lt", "le", "gt", "ge"}) {
      if (kind == ElementKind::Bool && predicate[0] != 'e' &&
          predicate[0] != 'n')
        continue;
      Case test = simple(std::string("compare ") + predicate, 2, kind);
      test.result = ElementKind::Bool;
      check(test, 9);
    }
    check({"select " + mlirName(kind),
           {ElementKind::Bool, kind, kind},
           kind,
           [=](llvm::ArrayRef<std::string> operands, auto type) {
             return "tds.select " + llvm::join(operands, ", ") + " : " +
                    type(ElementKind::Bool) + ", " + type(kind);
           }},
          10);
  }
}

TEST(Differential, Casts) {
  for (ElementKind from : allKinds)
    for (ElementKind to : allKinds)
      check({"cast " + mlirName(from) + " to " + mlirName(to),
             {from},
             to,
             [=](llvm::ArrayRef<std::string> operands, auto type) {
               return "tds.cast " + operands[0] + " : " + type(from) + " to " +
                      type(to);
             }},
            11);
}

/// x by way of `between` to `to`: shortening the chain must not change it.
TEST(Differential, CastChains) {
  std::mt19937_64 random(12);
  for (ElementKind from : allKinds)
    for (ElementKind between : allKinds)
      for (ElementKind to : allKinds) {
        std::string text = "func.func @f(%x: " + typeOf(from, {count}) +
                           ") -> " + typeOf(to, {count}) +
                           " {\n%a = tds.cast %x : " + typeOf(from, {count}) +
                           " to " + typeOf(between, {count}) +
                           "\n%b = tds.cast %a : " + typeOf(between, {count}) +
                           " to " + typeOf(to, {count}) +
                           "\nreturn %b : " + typeOf(to, {count}) + "\n}\n";
        Program program(text);
        Tensor x = hostile(from, {count}, random);
        Tensor before = program.run("f", x)[0];
        mlir::PassManager passes(&program.context);
        passes.addPass(mlir::createCanonicalizerPass());
        ASSERT_TRUE(mlir::succeeded(passes.run(*program.module)));
        Tensor after = program.run("f", x)[0];
        EXPECT_TRUE(reference::sameBits(before, after)) << text;
      }
}

/// Literal exponents multiply, wherever the literal comes to be known.
TEST(Differential, LiteralPowers) {
  for (ElementKind kind : {ElementKind::F16, ElementKind::BF16,
                           ElementKind::F32, ElementKind::F64})
    for (int exponent = 0; exponent <= 5; ++exponent) {
      Case test = simple("pow", 1, kind);
      test.name += " by " + std::to_string(exponent);
      // A constant beside the operand: a scalar one in bodies.
      std::mt19937_64 random(13);
      Tensor x = hostile(kind, {count}, random);
      std::string type = typeOf(kind, {count});
      std::string number = std::to_string(exponent) + ".0";
      Program program("func.func @tensors(%x: " + type + ") -> " + type +
                      " {\n%e = tds.constant dense<" + number + "> : " + type +
                      "\n%r = tds.pow %x, %e {literal} : " + type +
                      "\nreturn %r : " + type +
                      "\n}\nfunc.func @body(%x: " + type + ") -> " + type +
                      " {\n%r = tds.generic (%i) in (" + std::to_string(count) +
                      ") : " + type + " {\n%v = tds.read %x[%i] : " + type +
                      "\n%e = tds.constant " + number + " : " + mlirName(kind) +
                      "\n%p = tds.pow %v, %e {literal} : " + mlirName(kind) +
                      "\ntds.yield %p : " + mlirName(kind) +
                      "\n}\nreturn %r : " + type + "\n}\n");
      Tensor tensors = program.run("tensors", x)[0];
      Tensor body = program.run("body", x)[0];
      mlir::PassManager passes(&program.context);
      passes.addPass(mlir::createCanonicalizerPass());
      ASSERT_TRUE(mlir::succeeded(passes.run(*program.module)));
      EXPECT_TRUE(reference::sameBits(tensors, body)) << test.name;
      EXPECT_TRUE(reference::sameBits(tensors, program.run("tensors", x)[0]))
          << test.name;
      EXPECT_TRUE(reference::sameBits(tensors, program.run("body", x)[0]))
          << test.name;
    }
}

} // namespace
