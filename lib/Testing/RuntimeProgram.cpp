//===- RuntimeProgram.cpp - an artefact in the runtime -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeProgram.h"

#include "tdsl/Artifact/Container.h"
#include "tdsl/Artifact/Manifest.h"
#include "tdsl/Target/CPU/CompileCPU.h"
#include "tdsl/Target/GPU/GPUTarget.h"

#include <vector>

using namespace tdsl;
using namespace tdsl::testing;
using reference::Tensor;

static llvm::Error makeError(const llvm::Twine &what) {
  return llvm::createStringError(what + ": " + tds_last_error());
}

llvm::Expected<RuntimeProgram> RuntimeProgram::load(llvm::StringRef artefact,
                                                    const char *device) {
  tds_device *handle = nullptr;
  tds_device_options deviceOptions{1};
  if (tds_device_open(device, &deviceOptions, &handle) != TDS_OK)
    return makeError("the device");
  tds_module_options options{};
  tds_module *module = nullptr;
  tds_status status = tds_module_load_memory(
      artefact.data(), artefact.size(), "random", handle, &options, &module);
  tds_device_release(handle);
  if (status != TDS_OK)
    return makeError("loading");
  return RuntimeProgram(module);
}

RuntimeProgram::~RuntimeProgram() {
  if (module)
    tds_module_release(module);
}

llvm::Error RuntimeProgram::initialize(int64_t seed) {
  if (tds_module_initialize(module, seed) != TDS_OK)
    return makeError("initialising");
  return llvm::Error::success();
}

llvm::Error RuntimeProgram::write(const std::string &variable,
                                  const Tensor &value) {
  return forEachLayer(
      variable, value,
      [&](const std::string &name, size_t offset, size_t bytes) {
        return tds_module_write(module, name.c_str(), value.data() + offset,
                                bytes);
      });
}

/// Visits the variables that one of the compiler stands for: `*` in its name is
/// the number of the layer, which its axis 0 counts.
llvm::Error RuntimeProgram::forEachLayer(
    const std::string &variable, const Tensor &value,
    llvm::function_ref<tds_status(const std::string &, size_t, size_t)> visit) {
  size_t star = variable.find('*');
  bool isOne = star == std::string::npos;
  size_t layers = isOne ? 1 : value.shape().front();
  size_t bytes = layers ? value.numBytes() / layers : 0;
  for (size_t layer = 0; layer < layers; ++layer) {
    std::string name = variable;
    if (!isOne)
      name.replace(star, 1, std::to_string(layer));
    if (visit(name, layer * bytes, bytes) != TDS_OK)
      return makeError("the variable " + name);
  }
  return llvm::Error::success();
}

llvm::Expected<Tensor> RuntimeProgram::read(const std::string &variable,
                                            const Tensor &like) {
  Tensor tensor(like.kind(), like.shape());
  if (llvm::Error error = forEachLayer(
          variable, tensor,
          [&](const std::string &name, size_t offset, size_t bytes) {
            return tds_module_read(module, name.c_str(), tensor.data() + offset,
                                   bytes);
          }))
    return std::move(error);
  return tensor;
}

llvm::Expected<RuntimeProgram::Named>
RuntimeProgram::call(const std::string &name, const Named &inputs,
                     bool &raised) {
  raised = false;
  tds_entry *entry = nullptr;
  if (tds_module_entry(module, name.c_str(), &entry) != TDS_OK)
    return makeError("entry " + name);
  std::vector<tds_tensor> arguments, outputs;
  for (size_t i = 0; i < tds_entry_input_count(entry); ++i) {
    tds_port_info port;
    tds_entry_input(entry, i, &port);
    auto it = inputs.find(port.name);
    if (it == inputs.end()) {
      arguments.push_back(tds_tensor{});
      continue;
    }
    // An input without elements is there all the same.
    static uint8_t nothing[16];
    const uint8_t *data = it->second.numBytes() ? it->second.data() : nothing;
    arguments.push_back({static_cast<tds_type>(it->second.kind()),
                         static_cast<int32_t>(it->second.shape().size()),
                         it->second.shape().data(),
                         const_cast<uint8_t *>(data)});
  }
  Named results;
  std::vector<Tensor *> tensors;
  for (size_t i = 0; i < tds_entry_result_count(entry); ++i) {
    tds_port_info port;
    tds_entry_result(entry, i, &port);
    Tensor &tensor = results[port.name] =
        Tensor(static_cast<reference::ElementKind>(port.type),
               llvm::ArrayRef(port.shape, port.rank));
    tensors.push_back(&tensor);
  }
  for (Tensor *tensor : tensors)
    outputs.push_back({static_cast<tds_type>(tensor->kind()),
                       static_cast<int32_t>(tensor->shape().size()),
                       tensor->shape().data(), tensor->data()});
  tds_status status = tds_entry_call(entry, arguments.data(), arguments.size(),
                                     outputs.data(), outputs.size());
  tds_entry_release(entry);
  raised = status == TDS_PROGRAM_ERROR;
  if (raised)
    return Named();
  if (status != TDS_OK)
    return makeError("calling " + name);
  return results;
}

llvm::Expected<std::string>
testing::makeArtefact(mlir::ModuleOp plan, bool isCPU, llvm::StringRef text) {
  ManifestOptions manifest;
  manifest.producer = "tds-random";
  manifest.programName = "random.tds";
  manifest.programHash = getSHA256(text);
  manifest.target.arch = isCPU ? "x86-64-v3" : "sm_80";
  const gpu::Arch *arch = gpu::lookupArch("sm_80");
  if (!isCPU) {
    manifest.target.kind = ArtifactTarget::Kind::CUDA;
    manifest.target.ptxISA = arch->ptxIsa.str();
    manifest.target.minDriver = arch->minDriver;
  }
  llvm::FailureOr<std::string> manifestText = buildManifest(plan, manifest);
  if (failed(manifestText))
    return llvm::createStringError("no manifest");
  if (!isCPU) {
    auto ptx = gpu::compileKernels(plan, *arch, *manifestText);
    if (failed(ptx))
      return llvm::createStringError("no PTX");
    return makePTXFile(*ptx, *manifestText);
  }
  llvm::SmallVector<char> object;
  if (failed(cpu::compileCPU(plan, {}, *manifestText, object)))
    return llvm::createStringError("no object");
  if (llvm::Error error = finishSharedObject(object))
    return std::move(error);
  return std::string(object.begin(), object.end());
}
