//===- VectorTest.cpp - the standard modules against PyTorch -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs/torch_vectors.json is made by make_vectors.py.
//
//===----------------------------------------------------------------------===//

#include "CompiledProgram.h"

#include "llvm/Support/JSON.h"

using namespace tdsl;
using namespace tdsl::test;

static reference::ElementKind getKind(llvm::StringRef name) {
  for (int kind = 0; kind <= static_cast<int>(reference::ElementKind::F64);
       ++kind)
    if (reference::nameOf(static_cast<reference::ElementKind>(kind)) == name)
      return static_cast<reference::ElementKind>(kind);
  ADD_FAILURE() << "unknown type " << name.str();
  return reference::ElementKind::F32;
}

static Tensor readTensor(const llvm::json::Object &object) {
  llvm::SmallVector<int64_t> shape;
  for (const llvm::json::Value &extent : *object.getArray("shape"))
    shape.push_back(*extent.getAsInteger());
  std::vector<double> values;
  for (const llvm::json::Value &value : *object.getArray("data"))
    values.push_back(*value.getAsNumber());
  return Tensor::of(getKind(*object.getString("type")), shape, values);
}

static Named readTensors(const llvm::json::Object &object) {
  Named tensors;
  for (const auto &[name, value] : object)
    tensors[name.str()] = readTensor(*value.getAsObject());
  return tensors;
}

/// The file, read once.
static const llvm::json::Object &getVectors() {
  static llvm::json::Value *file = [] {
    auto parsed = llvm::json::parse(
        readSource("test/Unit/EndToEnd/Inputs/torch_vectors.json"));
    if (!parsed) {
      ADD_FAILURE() << llvm::toString(parsed.takeError());
      return new llvm::json::Value(llvm::json::Object{});
    }
    return new llvm::json::Value(std::move(*parsed));
  }();
  return *file->getAsObject();
}

static std::vector<std::string> getNames() {
  std::vector<std::string> names;
  if (const llvm::json::Array *cases = getVectors().getArray("cases"))
    for (const llvm::json::Value &entry : *cases)
      names.push_back(entry.getAsObject()->getString("name")->str());
  return names;
}

namespace {
class TorchVectors : public ::testing::TestWithParam<std::string> {};
} // namespace

/// Like areClose, with the absolute tolerance for a tensor whose largest number
/// is 1: a sum in which large terms cancel is as exact as its terms.
static ::testing::AssertionResult areCloseByNorm(const Tensor &actual,
                                                 const Tensor &expected,
                                                 double relative,
                                                 double absolute) {
  double largest = 1;
  for (int64_t i = 0; i < expected.numElements(); ++i)
    largest = std::max(largest, std::abs(expected.getDouble(i)));
  return areClose(actual, expected, relative, absolute * largest);
}

TEST_P(TorchVectors, AgreeOnAllPaths) {
  const llvm::json::Object &file = getVectors();
  double relative = *file.getNumber("rtol"), absolute = *file.getNumber("atol");
  unsigned compared = 0;
  for (const llvm::json::Value &entry : *file.getArray("cases")) {
    const llvm::json::Object &test = *entry.getAsObject();
    if (*test.getString("name") != GetParam())
      continue;
    for (auto &path : compileProgram(test.getString("program")->str())) {
      SCOPED_TRACE(path->name());
      for (const llvm::json::Value &call : *test.getArray("calls")) {
        const llvm::json::Object &object = *call.getAsObject();
        if (const llvm::json::Object *written = object.getObject("write")) {
          for (const auto &[name, tensor] : readTensors(*written))
            path->write(name, tensor);
          continue;
        }
        Named results = path->call(object.getString("entry")->str(),
                                   readTensors(*object.getObject("inputs")));
        for (const auto &[name, expected] :
             readTensors(*object.getObject("results"))) {
          ASSERT_TRUE(results.count(name)) << name;
          EXPECT_TRUE(
              areCloseByNorm(results[name], expected, relative, absolute))
              << name;
          ++compared;
        }
      }
    }
  }
  EXPECT_GE(compared, 4u);
}

INSTANTIATE_TEST_SUITE_P(Std, TorchVectors, ::testing::ValuesIn(getNames()),
                         [](const auto &info) { return info.param; });
