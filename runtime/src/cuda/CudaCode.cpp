//===- CudaCode.cpp - an artefact's kernels on a GPU ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cuda/CudaCode.h"

namespace tdsrt {

CudaCode::CudaCode(const Artifact &artifact, const CudaDevice &device)
    : driver(device.api()) {
  // A NUL must end the text; std::string has one.
  constexpr size_t logBytes = 8192;
  std::string errors(logBytes, '\0'), infos(logBytes, '\0');
  int options[] = {jitErrorLog, jitErrorLogBytes, jitInfoLog, jitInfoLogBytes};
  void *values[] = {errors.data(), reinterpret_cast<void *>(logBytes),
                    infos.data(), reinterpret_cast<void *>(logBytes)};
  CUresult result = driver.call.moduleLoadDataEx(
      &module, artifact.image.c_str(), 4, options, values);
  if (result == cudaErrorOutOfMemory)
    driver.check(result, cat(artifact.name, ": loading its code"));
  if (result != 0) {
    errors[logBytes - 1] = '\0';
    std::string text = printable(errors.c_str(), 1000);
    fail(TDS_DEVICE_ERROR, artifact.name,
         ": the driver does not accept the PTX (", driver.errorText(result),
         text.empty() ? "" : "; its compiler says: ", text,
         "); compile it again, and if it happens again, report it");
  }
  try {
    findKernels(artifact, device);
  } catch (...) {
    driver.call.moduleUnload(module);
    throw;
  }
}

CudaCode::~CudaCode() { driver.call.moduleUnload(module); }

void CudaCode::findKernels(const Artifact &artifact, const CudaDevice &device) {
  for (const Kernel &kernel : artifact.manifest.kernels) {
    CUfunction function = nullptr;
    CUresult found =
        driver.call.moduleGetFunction(&function, module, kernel.symbol.c_str());
    if (found == cudaErrorNotFound)
      fail(TDS_BAD_DATA, artifact.name, ": its PTX has no kernel '",
           kernel.symbol, "' that its manifest lists; compile it again");
    driver.check(found, cat("finding kernel ", kernel.symbol));
    if (kernel.sharedBytes > device.maxSharedBytes())
      fail(TDS_UNSUPPORTED, artifact.name, ": kernel '", kernel.symbol,
           "' needs ", bytesInWords(kernel.sharedBytes),
           " of shared memory, but a block has ",
           bytesInWords(device.maxSharedBytes()),
           " on this GPU; compile it for this GPU's --arch");
    constexpr uint32_t sharedWithoutAsking = 48 * 1024;
    if (kernel.sharedBytes > sharedWithoutAsking)
      driver.check(
          driver.call.funcSetAttribute(function, functionMaxDynamicShared,
                                       static_cast<int>(kernel.sharedBytes)),
          cat("giving shared memory to ", kernel.symbol));
    functions.push_back(function);
  }
}

CUdeviceptr CudaCode::find(const char *symbol, size_t bytes) const {
  CUdeviceptr address = 0;
  size_t size = 0;
  CUresult found = driver.call.moduleGetGlobal(&address, &size, module, symbol);
  if (found == cudaErrorNotFound)
    return 0;
  driver.check(found, cat("finding ", symbol));
  return size == bytes ? address : 0;
}

} // namespace tdsrt
