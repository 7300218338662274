//===- tds-eval.cpp - the reference evaluator as a tool -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates a function of a module of the tds dialect and prints its results
// with enough digits to read every float back. For tests and for looking at a
// program; it is slow on purpose.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/TDSDialect.h"
#include "tdsl/Reference/Evaluator.h"
#include "tdsl/Reference/Npy.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::reference;
namespace cl = llvm::cl;

static cl::OptionCategory category("Options of tds-eval");
static cl::opt<std::string> inputFile(cl::Positional, cl::init("-"),
                                      cl::desc("<module.mlir>"),
                                      cl::cat(category));
static cl::opt<std::string>
    entryName("entry", cl::cat(category),
              cl::desc("Function to call (default: each function "
                       "without arguments, in order)"));
static cl::list<std::string> inputs(
    "input", cl::cat(category),
    cl::desc(
        "name=value, or a value for the next argument; a value is the path of "
        "a .npy file or an attribute such as dense<1.0> : tensor<4xf32>"));
static cl::list<std::string>
    settings("set", cl::cat(category),
             cl::desc("variable=value before the first call"));
static cl::opt<uint64_t> seed("seed", cl::cat(category),
                              cl::desc("Runs the init entry first"));
static cl::opt<unsigned> steps("steps", cl::init(1), cl::cat(category),
                               cl::desc("Calls of the entry"));
static cl::opt<bool> f64("f64", cl::cat(category),
                         cl::desc("Every float type counts as f64"));
static cl::opt<bool> showVariables("variables", cl::cat(category),
                                   cl::desc("Prints the variables at the end"));
static cl::opt<std::string>
    outputPrefix("o", cl::cat(category),
                 cl::desc("Writes each result to <prefix><name>.npy "
                          "instead of printing it"));

static llvm::Error show(llvm::StringRef name, const Tensor &tensor) {
  if (!outputPrefix.empty())
    return writeNpy(outputPrefix + name.str() + ".npy", tensor);
  llvm::outs() << name << ": ";
  tensor.print(llvm::outs());
  llvm::outs() << "\n";
  return llvm::Error::success();
}

static llvm::Expected<Tensor> parseValue(MLIRContext *context,
                                         llvm::StringRef text) {
  if (text.ends_with(".npy"))
    return readNpy(text);
  std::optional<Tensor> tensor = tds::toTensor(parseAttribute(text, context));
  if (!tensor)
    return llvm::createStringError("'" + text + "' is no number or tensor");
  return std::move(*tensor);
}

/// Splits `name=value`; the name is empty where there is none.
static std::pair<llvm::StringRef, llvm::StringRef> split(llvm::StringRef text) {
  size_t at = text.find('=');
  llvm::StringRef name = text.take_front(at == llvm::StringRef::npos ? 0 : at);
  if (name.contains('<') || name.contains('/'))
    name = "";
  return {name, name.empty() ? text : text.drop_front(name.size() + 1)};
}

/// A private function, called by position.
static llvm::Error runFunction(ModuleOp module, func::FuncOp function,
                               EvaluatorOptions options) {
  std::vector<Tensor> arguments;
  for (const std::string &text : inputs) {
    llvm::Expected<Tensor> value =
        parseValue(module.getContext(), split(text).second);
    if (!value)
      return value.takeError();
    arguments.push_back(std::move(*value));
  }
  auto results = Evaluator(module, options).call(function, arguments);
  if (!results)
    return results.takeError();
  for (auto [i, result] : llvm::enumerate(*results)) {
    std::string name = function.getName().str();
    if (results->size() > 1)
      name += "." + std::to_string(i);
    if (llvm::Error error = show(name, result))
      return error;
  }
  return llvm::Error::success();
}

/// An entry, called as the runtime does.
static llvm::Error runProgram(ModuleOp module, EvaluatorOptions options) {
  ProgramState state(module, options);
  if (seed.getNumOccurrences())
    if (llvm::Error error = state.init(seed))
      return error;
  for (const std::string &text : settings) {
    auto [name, value] = split(text);
    auto it = state.variables.find(name.str());
    if (it == state.variables.end())
      return llvm::createStringError("there is no variable '" + name + "'");
    llvm::Expected<Tensor> tensor = parseValue(module.getContext(), value);
    if (!tensor)
      return tensor.takeError();
    it->second = std::move(*tensor);
  }
  std::map<std::string, Tensor> named;
  for (const std::string &text : inputs) {
    auto [name, value] = split(text);
    llvm::Expected<Tensor> tensor = parseValue(module.getContext(), value);
    if (!tensor)
      return tensor.takeError();
    named.insert_or_assign(name.str(), std::move(*tensor));
  }
  for (unsigned step = 0; step < steps; ++step) {
    auto results = state.call(entryName, named);
    if (!results)
      return results.takeError();
    for (auto &[name, tensor] : *results)
      if (llvm::Error error = show(name, tensor))
        return error;
  }
  if (showVariables)
    for (auto &[name, tensor] : state.variables)
      if (llvm::Error error = show("@" + name, tensor))
        return error;
  return llvm::Error::success();
}

static llvm::Error run(ModuleOp module) {
  EvaluatorOptions options;
  options.f64 = f64;
  if (entryName.empty()) {
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal() && function.getNumArguments() == 0)
        if (llvm::Error error = runFunction(module, function, options))
          return error;
    return llvm::Error::success();
  }
  auto function = module.lookupSymbol<func::FuncOp>(entryName);
  if (function && !function->hasAttr(tds::attr::kEntry))
    return runFunction(module, function, options);
  return runProgram(module, options);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  // LLVM registers hundreds of options of its own; users see only ours.
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "TDS reference evaluator\n");
  DialectRegistry registry;
  registry.insert<tds::TDSDialect, func::FuncDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(inputFile, ParserConfig(&context));
  if (!module)
    return 1;
  if (llvm::Error error = run(*module)) {
    llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
    return 1;
  }
  return 0;
}
