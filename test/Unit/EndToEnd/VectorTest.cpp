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

static llvm::json::Value readVectors() {
  auto parsed = llvm::json::parse(
      readSource("test/Unit/EndToEnd/Inputs/torch_vectors.json"));
  if (!parsed) {
    ADD_FAILURE() << llvm::toString(parsed.takeError());
    return nullptr;
  }
  return std::move(*parsed);
}

TEST(TorchVectors, EveryFunctionLayerAndOptimiser) {
  llvm::json::Value vectors = readVectors();
  const llvm::json::Object &file = *vectors.getAsObject();
  double relative = *file.getNumber("rtol"), absolute = *file.getNumber("atol");
  unsigned compared = 0;
  for (const llvm::json::Value &entry : *file.getArray("cases")) {
    const llvm::json::Object &test = *entry.getAsObject();
    SCOPED_TRACE(test.getString("name")->str());
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
          EXPECT_TRUE(areClose(results[name], expected, relative, absolute))
              << name;
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 300u);
}
