//===- CudaDevice.cpp - a CUDA GPU and what it can run -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cuda/CudaDevice.h"
#include "cuda/CudaProgram.h"

namespace tdsrt {

CudaContextScope::CudaContextScope(const CudaDriver &driver, CUcontext context)
    : driver(driver) {
  driver.check(driver.call.ctxPushCurrent(context),
               "making the GPU's context current");
}

CudaContextScope::CudaContextScope(const CudaDriver &driver, CUcontext context,
                                   std::nothrow_t) noexcept
    : driver(driver), pushed(driver.call.ctxPushCurrent(context) == 0 ||
                             driver.call.ctxPushCurrent(context) == 0) {}

CudaContextScope::~CudaContextScope() {
  CUcontext popped;
  if (pushed)
    driver.call.ctxPopCurrent(&popped);
}

bool CudaArch::parse(const std::string &text, CudaArch &out) {
  if (text.rfind("sm_", 0) != 0)
    return false;
  std::string digits = text.substr(3);
  char suffix = 0;
  if (!digits.empty() && (digits.back() == 'a' || digits.back() == 'f')) {
    suffix = digits.back();
    digits.pop_back();
  }
  if (digits.size() < 2 || digits.size() > 3 ||
      digits.find_first_not_of("0123456789") != std::string::npos)
    return false;
  unsigned number = static_cast<unsigned>(std::stoul(digits));
  out = {number / 10, number % 10, suffix};
  return true;
}

bool CudaArch::runsOn(unsigned deviceMajor, unsigned deviceMinor) const {
  if (suffix == 'a')
    return deviceMajor == major && deviceMinor == minor;
  if (suffix == 'f')
    return deviceMajor == major && deviceMinor >= minor;
  return deviceMajor > major || (deviceMajor == major && deviceMinor >= minor);
}

/// What a GPU reaches at most, from its clocks (kHz) and units.
static DevicePeaks peaksOf(double clock, double multiprocessors,
                           double memoryClock, double busBits, unsigned major,
                           unsigned minor) {
  // f32 lanes of a multiprocessor (CUDA programming guide, "Arithmetic
  // Instructions"); memory moves data on both edges of its clock.
  double lanes = major >= 9 || (major == 8 && minor >= 6) || major == 5 ||
                         (major == 6 && minor >= 1)
                     ? 128
                     : 64;
  DevicePeaks peaks;
  peaks.flopsPerSecond = clock * 1e3 * multiprocessors * lanes * 2;
  peaks.bytesPerSecond = memoryClock * 1e3 * 2 * busBits / 8;
  return peaks;
}

std::shared_ptr<CudaDevice> CudaDevice::open(std::shared_ptr<CudaDriver> driver,
                                             unsigned index,
                                             const char *family) {
  if (!driver)
    fail(TDS_UNAVAILABLE, family, ':', index,
         " is unavailable: libtds_cudasim.so was not found; build it (target "
         "tds_cudasim) or name it in TDS_CUDA_DRIVER");
  if (!driver->usable())
    fail(TDS_UNAVAILABLE, family, ':', index,
         " is unavailable: ", driver->reason());
  if (index >= driver->deviceCount())
    fail(TDS_UNAVAILABLE, family, ':', index,
         " is unavailable: the driver sees ", driver->deviceCount(),
         driver->deviceCount() == 1 ? " GPU" : " GPUs", ", counted from 0");
  std::shared_ptr<CudaDevice> device(new CudaDevice);
  const CudaSymbols &call = driver->call;
  std::string what = cat("opening ", family, ':', index);
  driver->check(call.deviceGet(&device->handle, static_cast<int>(index)), what);
  char name[256] = {};
  driver->check(call.deviceGetName(name, sizeof name - 1, device->handle),
                what);
  device->name = printable(name, 120);
  auto attribute = [&](int which) {
    int value = 0;
    driver->check(call.deviceGetAttribute(&value, which, device->handle), what);
    return static_cast<unsigned>(value < 0 ? 0 : value);
  };
  device->computeMajor = attribute(attributeComputeMajor);
  device->computeMinor = attribute(attributeComputeMinor);
  device->sharedLimit = attribute(attributeMaxSharedOptin);
  device->memoryPools = attribute(attributeMemoryPools) != 0;
  device->devicePeaks = peaksOf(
      attribute(attributeClock), attribute(attributeMultiprocessors),
      attribute(attributeMemoryClock), attribute(attributeMemoryBusBits),
      device->computeMajor, device->computeMinor);
  char bus[32] = {};
  driver->check(call.deviceGetPciBusId(bus, sizeof bus - 1, device->handle),
                what);
  device->busId = printable(bus, sizeof bus);
  driver->check(call.deviceTotalMem(&device->totalMemory, device->handle),
                what);
  driver->check(call.primaryCtxRetain(&device->primary, device->handle), what);
  device->driver = std::move(driver);
  return device;
}

CudaDevice::~CudaDevice() {
  if (primary)
    driver->call.primaryCtxRelease(handle);
}

std::string CudaDevice::description() const {
  return cat(name, ", compute capability ", computeMajor, '.', computeMinor,
             ", ", bytesInWords(totalMemory), " of memory");
}

int CudaDevice::rank(const std::string &arch) const {
  CudaArch parsed;
  if (!CudaArch::parse(arch, parsed) ||
      !parsed.runsOn(computeMajor, computeMinor))
    return -1;
  // sm_90a before sm_90 before sm_80.
  return static_cast<int>((parsed.major * 16 + parsed.minor) * 4) +
         (parsed.suffix == 'a'   ? 2
          : parsed.suffix == 'f' ? 1
                                 : 0);
}

void CudaDevice::checkNeeds(const Target &target,
                            const std::string &name) const {
  if (static_cast<uint64_t>(driver->version()) < target.minDriver)
    fail(TDS_UNSUPPORTED, name, ": needs a driver for CUDA ",
         cudaVersionText(target.minDriver),
         " or newer, but this one is for "
         "CUDA ",
         cudaVersionText(driver->version()),
         "; update the NVIDIA driver or compile for an older --arch");
  unsigned known = ptxIsaOfDriver(driver->version());
  if (target.ptxMajor * 10 + target.ptxMinor > known)
    fail(TDS_UNSUPPORTED, name, ": is PTX ISA ", target.ptxMajor, '.',
         target.ptxMinor, ", but this driver (CUDA ",
         cudaVersionText(driver->version()), ") compiles PTX up to ",
         known / 10, '.', known % 10,
         "; update the NVIDIA driver or compile for an older --arch");
  CudaArch arch;
  if (!CudaArch::parse(target.arch, arch))
    fail(TDS_UNSUPPORTED, name, ": was compiled for '", printable(target.arch),
         "', which is no CUDA architecture like sm_80; compile it again");
  if (arch.runsOn(computeMajor, computeMinor))
    return;
  fail(TDS_UNSUPPORTED, name, ": was compiled for ", target.arch,
       arch.suffix == 'a' ? " (that chip alone)" : "", ", but ", this->name,
       " has compute capability ", computeMajor, '.', computeMinor,
       "; compile it with --arch=sm_", computeMajor, computeMinor);
}

uint64_t CudaDevice::availableMemory() const {
  CudaContextScope scope(*driver, primary);
  size_t free = 0, total = 0;
  driver->check(driver->call.memGetInfo(&free, &total),
                "asking for the GPU's free memory");
  return free;
}

std::unique_ptr<Program>
CudaDevice::load(std::shared_ptr<const Artifact> artifact) {
  return makeCudaProgram(std::move(artifact), shared_from_this());
}

} // namespace tdsrt
