//===- CompiledProgram.cpp - a program on every path that runs it -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CompiledProgram.h"

#include "tdsl/Pipeline/Pipelines.h"

#include "mlir/Parser/Parser.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <unistd.h>

using namespace tdsl;
using namespace tdsl::test;

std::string test::readSource(const std::string &path) {
  auto buffer =
      llvm::MemoryBuffer::getFile(std::string(TDSL_SOURCE_DIR) + "/" + path);
  if (!buffer) {
    ADD_FAILURE() << path << " cannot be read";
    return {};
  }
  return (*buffer)->getBuffer().str();
}

/// A folder for this process, removed at its end.
static const std::string &getFolder() {
  struct Folder {
    std::string path;
    Folder() {
      llvm::SmallString<128> made;
      if (!llvm::sys::fs::createUniqueDirectory("tdsl-test", made))
        path = made.str().str();
    }
    ~Folder() {
      if (!path.empty())
        llvm::sys::fs::remove_directories(path);
    }
  };
  static Folder folder;
  return folder.path;
}

std::pair<int, std::string> test::runTdslc(const std::string &arguments) {
  std::string errors = getFolder() + "/stderr.txt";
  int status = std::system(
      (TDSL_BUILD_DIR "/bin/tdslc " + arguments + " 2> " + errors).c_str());
  auto buffer = llvm::MemoryBuffer::getFile(errors);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          buffer ? (*buffer)->getBuffer().str() : ""};
}

/// Writes a program to a file; gives the file's path without ".tds".
static std::string writeProgram(const std::string &text) {
  static std::atomic<int> number{0};
  std::string stem = getFolder() + "/p" + std::to_string(number++);
  std::error_code error;
  llvm::raw_fd_ostream(stem + ".tds", error) << text;
  return stem;
}

std::string test::emitStage(const std::string &text, const std::string &stage,
                            const std::string &flags) {
  std::string stem = writeProgram(text);
  auto [code, errors] = runTdslc(stem + ".tds " + flags + " --emit=" + stage +
                                 " -o " + stem + ".txt");
  auto buffer = llvm::MemoryBuffer::getFile(stem + ".txt");
  if (code != 0 || !buffer) {
    ADD_FAILURE() << "tdslc ends with " << code << "\n"
                  << errors << "\n"
                  << text;
    return {};
  }
  return (*buffer)->getBuffer().str();
}

std::pair<int, std::string> test::compileForErrors(const std::string &text) {
  return runTdslc(writeProgram(text) + ".tds --emit=plan -o /dev/null");
}

namespace {
/// The reference evaluator on what `--emit=tds-opt` prints: after
/// differentiation, before fusion.
class EvaluatorPath : public Path {
public:
  explicit EvaluatorPath(const std::string &file, int64_t seed)
      : context(makeRegistry(), mlir::MLIRContext::Threading::DISABLED) {
    module = mlir::parseSourceFile<mlir::ModuleOp>(file, &context);
    if (!module) {
      ADD_FAILURE() << "the tds module does not parse";
      return;
    }
    state = std::make_unique<reference::ProgramState>(*module);
    if (llvm::Error error = state->init(seed))
      ADD_FAILURE() << "init: " << llvm::toString(std::move(error));
  }
  bool isGood() const { return state != nullptr; }
  std::string name() const override { return "evaluator"; }
  Named call(const std::string &entry, const Named &inputs) override {
    auto results = state->call(entry, inputs);
    if (!results) {
      ADD_FAILURE() << "evaluator: " << llvm::toString(results.takeError());
      return {};
    }
    Named named;
    for (auto &[name, tensor] : *results)
      named[name] = tensor;
    return named;
  }
  std::string callToFail(const std::string &entry,
                         const Named &inputs) override {
    call(entry, inputs);
    return {};
  }
  Tensor read(const std::string &variable) override {
    return state->variables.at(variable);
  }
  void write(const std::string &variable, const Tensor &value) override {
    state->variables.at(variable) = value;
  }

private:
  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<reference::ProgramState> state;
};

/// An artefact in the runtime.
class RuntimePath : public Path {
public:
  RuntimePath(const std::string &artefact, const char *device,
              std::string label, int64_t seed)
      : label(std::move(label)) {
    tds_device *handle = nullptr;
    tds_device_options deviceOptions{2};
    if (failed(tds_device_open(device, &deviceOptions, &handle),
               "open " + std::string(device)))
      return;
    tds_module_options options{};
    options.seed = seed;
    failed(tds_module_load(artefact.c_str(), handle, &options, &module),
           "load");
    tds_device_release(handle);
  }
  ~RuntimePath() override {
    if (module)
      tds_module_release(module);
  }
  bool isGood() const { return module != nullptr; }
  std::string name() const override { return label; }

  Named call(const std::string &entryName, const Named &inputs) override {
    Named results;
    failed(run(entryName, inputs, results), "call " + entryName);
    return results;
  }

  std::string callToFail(const std::string &entryName,
                         const Named &inputs) override {
    Named results;
    EXPECT_NE(run(entryName, inputs, results), TDS_OK) << label;
    return tds_last_error();
  }

  Tensor read(const std::string &variable) override {
    tds_variable_info info;
    if (failed(tds_module_find_variable(module, variable.c_str(), &info),
               variable))
      return {};
    Tensor tensor(static_cast<reference::ElementKind>(info.type),
                  llvm::ArrayRef(info.shape, info.rank));
    failed(tds_module_read(module, variable.c_str(), tensor.data(),
                           tensor.numBytes()),
           variable);
    return tensor;
  }

  void write(const std::string &variable, const Tensor &value) override {
    failed(tds_module_write(module, variable.c_str(), value.data(),
                            value.numBytes()),
           variable);
  }

private:
  tds_status run(const std::string &entryName, const Named &inputs,
                 Named &results) {
    tds_entry *entry = nullptr;
    tds_status found = tds_module_entry(module, entryName.c_str(), &entry);
    if (found != TDS_OK)
      return found;
    std::vector<tds_tensor> arguments, outputs;
    std::vector<std::vector<int64_t>> shapes;
    for (size_t i = 0; i < tds_entry_input_count(entry); ++i) {
      tds_port_info port;
      failed(tds_entry_input(entry, i, &port), "input");
      auto it = inputs.find(port.name);
      if (it == inputs.end())
        arguments.push_back(tds_tensor{});
      else
        arguments.push_back({static_cast<tds_type>(it->second.kind()),
                             static_cast<int32_t>(it->second.shape().size()),
                             it->second.shape().data(),
                             const_cast<uint8_t *>(it->second.data())});
    }
    std::vector<Tensor *> tensors;
    for (size_t i = 0; i < tds_entry_result_count(entry); ++i) {
      tds_port_info port;
      failed(tds_entry_result(entry, i, &port), "result");
      Tensor &tensor = results[port.name] =
          Tensor(static_cast<reference::ElementKind>(port.type),
                 llvm::ArrayRef(port.shape, port.rank));
      tensors.push_back(&tensor);
    }
    for (Tensor *tensor : tensors)
      outputs.push_back({static_cast<tds_type>(tensor->kind()),
                         static_cast<int32_t>(tensor->shape().size()),
                         tensor->shape().data(), tensor->data()});
    tds_status status =
        tds_entry_call(entry, arguments.data(), arguments.size(),
                       outputs.data(), outputs.size());
    tds_entry_release(entry);
    return status;
  }

  bool failed(tds_status status, const std::string &what) {
    if (status == TDS_OK)
      return false;
    ADD_FAILURE() << label << ": " << what << ": " << tds_last_error();
    return true;
  }
  std::string label;
  tds_module *module = nullptr;
};
} // namespace

std::vector<std::unique_ptr<Path>>
test::compileProgram(const std::string &text, const CompileOptions &options,
                     int64_t seed) {
  std::string stem = writeProgram(text);
  auto compile = [&](const std::string &output) {
    bool isPTX = llvm::StringRef(output).ends_with(".ptx");
    auto [code, errors] =
        runTdslc(stem + ".tds " + options.flags + " " +
                 (isPTX ? options.ptxFlags : std::string()) + " " + output);
    if (code != 0)
      ADD_FAILURE() << "tdslc ends with " << code << "\n"
                    << errors << "\n"
                    << text;
    return code == 0;
  };
  std::vector<std::unique_ptr<Path>> paths;
  if (!compile("--emit=tds-opt -o " + stem + ".mlir"))
    return {};
  auto evaluator = std::make_unique<EvaluatorPath>(stem + ".mlir", seed);
  if (!evaluator->isGood())
    return {};
  paths.push_back(std::move(evaluator));
  auto add = [&](const std::string &artefact, const char *device,
                 const char *label) {
    if (!compile("-o " + artefact))
      return;
    auto path = std::make_unique<RuntimePath>(artefact, device, label, seed);
    if (path->isGood())
      paths.push_back(std::move(path));
  };
  if (options.cpu)
    add(stem + ".so", "cpu", "CPU");
  std::string simulator = TDSL_BUILD_DIR "/lib/libtds_cudasim.so";
  if (options.ptx && llvm::sys::fs::exists(simulator)) {
    setenv("TDS_CUDA_DRIVER", simulator.c_str(), 1);
    add(stem + ".ptx", "cuda", "PTX in the simulator");
  }
  return paths;
}

::testing::AssertionResult test::areClose(const Tensor &actual,
                                          const Tensor &expected,
                                          double relative, double absolute) {
  if (actual.kind() != expected.kind() || actual.shape() != expected.shape())
    return ::testing::AssertionFailure() << "another type or shape";
  for (int64_t i = 0; i < actual.numElements(); ++i) {
    double a = actual.getDouble(i), e = expected.getDouble(i);
    if (a == e || (std::isnan(a) && std::isnan(e)))
      continue;
    if (!(std::abs(a - e) <= absolute + relative * std::abs(e)))
      return ::testing::AssertionFailure()
             << "element " << i << " is " << a << ", expected " << e;
  }
  return ::testing::AssertionSuccess();
}
