//===- ModuleApi.cpp - modules, functions, launches -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "decode/Decoder.h"
#include "driver/Driver.h"

#include <algorithm>
#include <cstring>

using namespace tds::sim;

namespace {

/// The JIT's log buffers as the options hand them over.
struct JitLog {
  char *buffer = nullptr;
  size_t size = 0;
  void **sizeSlot = nullptr; // gets the number of bytes written
  void write(const std::string &text) const {
    if (!buffer || !size)
      return;
    size_t n = std::min(size - 1, text.size());
    memcpy(buffer, text.data(), n);
    buffer[n] = 0;
    if (sizeSlot)
      *sizeSlot = (void *)(n + 1);
  }
};

CUresult readOptions(unsigned count, CUjit_option *options, void **values,
                     JitLog &info, JitLog &error) {
  if (count && (!options || !values))
    return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    switch (options[i]) {
    case CU_JIT_INFO_LOG_BUFFER:
      info.buffer = (char *)values[i];
      break;
    case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
      info.size = (size_t)(unsigned)(size_t)values[i];
      info.sizeSlot = &values[i];
      break;
    case CU_JIT_ERROR_LOG_BUFFER:
      error.buffer = (char *)values[i];
      break;
    case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
      error.size = (size_t)(unsigned)(size_t)values[i];
      error.sizeSlot = &values[i];
      break;
    default:
      if ((int)options[i] < 0 || options[i] >= CU_JIT_NUM_OPTIONS)
        return CUDA_ERROR_INVALID_VALUE;
      break; // settings of the compiler, which the simulator is not
    }
  }
  return CUDA_SUCCESS;
}

/// Gives the module's variables their place on the device and their values.
void placeVariables(Module &module, DeviceMemory &memory,
                    std::vector<u64> &placed) {
  u64 total = 0;
  for (auto &var : module.vars) {
    if (var->space != Space::Global && var->space != Space::Const)
      continue;
    total += var->bytes;
    if (total > 1ull << 30)
      throw PtxError(var->line, "the module's variables exceed 1 GiB");
    if (var->isExtern)
      throw PtxError(var->line, "variable '" + var->name +
                                    "' is extern and defined nowhere");
    if (var->bytes == 0)
      throw PtxError(var->line, "variable '" + var->name + "' has no size");
    if (var->space == Space::Const && var->bytes > 65536)
      throw PtxError(var->line,
                     "constant '" + var->name + "' is larger than 64 KiB");
    u64 p = memory.allocate(var->bytes, std::max<u64>(256, var->align),
                            var->space == Space::Const);
    if (!p)
      throw std::bad_alloc();
    placed.push_back(p);
    var->address = p;
  }
}

void fillVariables(Module &module, DeviceMemory &memory) {
  for (auto &var : module.vars) {
    if (var->space != Space::Global && var->space != Space::Const)
      continue;
    u8 *at = memory.alias(var->address);
    memset(at, 0, var->bytes); // variables without a value start as zero
    if (!var->init.empty())
      memcpy(at, var->init.data(), var->init.size());
    memory.markWritten(var->address, var->bytes);
    for (const Var::Reloc &r : var->relocs) {
      auto target = module.symbols.find(r.symbol);
      if (target == module.symbols.end())
        throw PtxError(var->line, "initial value of '" + var->name +
                                      "' names the unknown '" + r.symbol + "'");
      const Var &t = *target->second;
      if (t.space != Space::Global && t.space != Space::Const)
        throw PtxError(var->line, "initial value of '" + var->name +
                                      "' takes the address of '" + r.symbol +
                                      "', which has none at load time");
      u64 v = t.address + (u64)r.addend;
      memcpy(at + r.offset, &v, 8);
    }
  }
}

CUresult loadModule(CUmodule *out, const void *image, unsigned count,
                    CUjit_option *options, void **values) {
  TDS_ENTER(true);
  if (!out || !image)
    return CUDA_ERROR_INVALID_VALUE;
  JitLog info, error;
  CUresult r = readOptions(count, options, values, info, error);
  if (r != CUDA_SUCCESS)
    return r;
  const char *text = (const char *)image;
  const u8 first = (u8)text[0], second = first ? (u8)text[1] : 0;
  bool elf = first == 0x7f && second == 'E';
  bool fatbin =
      (first == 0x50 && second == 0xed) || (first == 0xb1 && second == 0x43);
  if (elf || fatbin) {
    error.write("the simulator runs PTX text, not compiled binaries");
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  const Settings &set = entry.driver.settings();
  DeviceMemory &memory = *entry.context->device->memory;
  std::vector<u64> placed;
  auto fail = [&](CUresult code, const std::string &message) {
    for (u64 p : placed)
      memory.release(p);
    error.write(message);
    if (!set.quiet)
      fprintf(stderr, "tds-cudasim: %s\n", message.c_str());
    return code;
  };
  auto state = std::make_unique<ModuleState>();
  try {
    std::unique_ptr<Module> module = parsePtx(text, strlen(text));
    checkTarget(*module, set.maxPtx, set.sm, set.smSuffix);
    placeVariables(*module, memory, placed);
    state->program = decode(*module);
    fillVariables(*module, memory);
    for (auto &var : module->vars)
      if (var->space == Space::Global || var->space == Space::Const)
        state->program->globals.push_back(
            {var->name, var->address, var->bytes, var->space == Space::Const});
  } catch (const PtxTargetError &e) {
    return fail(e.version ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION
                          : CUDA_ERROR_NO_BINARY_FOR_GPU,
                e.what());
  } catch (const PtxError &e) {
    return fail(CUDA_ERROR_INVALID_PTX,
                "ptx, line " + std::to_string(e.line) + ": error: " + e.what());
  } catch (const std::bad_alloc &) {
    return fail(CUDA_ERROR_OUT_OF_MEMORY,
                "the module's variables do not fit in device memory");
  }
  state->context = entry.context;
  entry.context->modules.insert(state.get());
  entry.driver.modules.insert(state.get());
  info.write("");
  *out = (CUmodule)state.release();
  return CUDA_SUCCESS;
}

FunctionState *functionOf(Entry &entry, CUfunction f) {
  auto *state = (FunctionState *)f;
  return entry.driver.functions.count(state) ? state : nullptr;
}

FunctionState *functionNamed(Entry &entry, ModuleState *module,
                             const std::string &name) {
  auto found = module->program->byName.find(name);
  if (found == module->program->byName.end())
    return nullptr;
  Code *code = module->program->codes[found->second].get();
  if (!code->isEntry)
    return nullptr;
  auto &slot = module->functions[name];
  if (!slot) {
    slot = std::make_unique<FunctionState>();
    slot->module = module;
    slot->code = code;
    u32 fixed = code->sharedBytes;
    slot->dynamicLimit = fixed < 49152 ? 49152 - fixed : 0;
    entry.driver.functions.insert(slot.get());
  }
  return slot.get();
}

} // namespace

TDS_API cuModuleLoadData(CUmodule *out, const void *image) {
  return loadModule(out, image, 0, nullptr, nullptr);
}
TDS_API cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned count,
                           CUjit_option *options, void **values) {
  return loadModule(out, image, count, options, values);
}
TDS_API cuModuleLoad(CUmodule *out, const char *path) {
  if (!path)
    return CUDA_ERROR_INVALID_VALUE;
  FILE *f = fopen(path, "rb");
  if (!f)
    return CUDA_ERROR_FILE_NOT_FOUND;
  std::string text;
  char chunk[65536];
  size_t n;
  while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
    text.append(chunk, n);
  fclose(f);
  return loadModule(out, text.c_str(), 0, nullptr, nullptr);
}
TDS_API cuModuleUnload(CUmodule handle) {
  TDS_ENTER(true);
  auto *m = (ModuleState *)handle;
  if (!entry.driver.modules.count(m))
    return CUDA_ERROR_INVALID_HANDLE;
  CUresult r = entry.driver.drainContext(entry.lock, *m->context);
  if (!entry.driver.modules.erase(m))
    return CUDA_ERROR_INVALID_HANDLE;
  for (auto &f : m->functions)
    entry.driver.functions.erase(f.second.get());
  for (const auto &g : m->program->globals)
    m->context->device->memory->release(g.address);
  m->context->modules.erase(m);
  delete m;
  return r;
}
TDS_API cuModuleGetLoadingMode(CUmoduleLoadingMode *mode) {
  if (!mode)
    return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_EAGER_LOADING;
  return CUDA_SUCCESS;
}
TDS_API cuModuleGetFunction(CUfunction *out, CUmodule handle,
                            const char *name) {
  TDS_ENTER(true);
  auto *m = (ModuleState *)handle;
  if (!out || !name)
    return CUDA_ERROR_INVALID_VALUE;
  if (!entry.driver.modules.count(m))
    return CUDA_ERROR_INVALID_HANDLE;
  FunctionState *f = functionNamed(entry, m, name);
  if (!f)
    return CUDA_ERROR_NOT_FOUND;
  *out = (CUfunction)f;
  return CUDA_SUCCESS;
}
TDS_API cuModuleGetFunctionCount(unsigned *count, CUmodule handle) {
  TDS_ENTER(true);
  auto *m = (ModuleState *)handle;
  if (!count)
    return CUDA_ERROR_INVALID_VALUE;
  if (!entry.driver.modules.count(m))
    return CUDA_ERROR_INVALID_HANDLE;
  *count = 0;
  for (auto &code : m->program->codes)
    *count += code->isEntry;
  return CUDA_SUCCESS;
}
TDS_API cuModuleEnumerateFunctions(CUfunction *out, unsigned count,
                                   CUmodule handle) {
  TDS_ENTER(true);
  auto *m = (ModuleState *)handle;
  if (!out)
    return CUDA_ERROR_INVALID_VALUE;
  if (!entry.driver.modules.count(m))
    return CUDA_ERROR_INVALID_HANDLE;
  unsigned n = 0;
  for (auto &code : m->program->codes)
    if (code->isEntry && n < count)
      out[n++] = (CUfunction)functionNamed(entry, m, code->name);
  return CUDA_SUCCESS;
}
TDS_API cuModuleGetGlobal(CUdeviceptr *address, size_t *bytes, CUmodule handle,
                          const char *name) {
  TDS_ENTER(true);
  auto *m = (ModuleState *)handle;
  if (!name || (!address && !bytes))
    return CUDA_ERROR_INVALID_VALUE;
  if (!entry.driver.modules.count(m))
    return CUDA_ERROR_INVALID_HANDLE;
  for (const auto &g : m->program->globals)
    if (g.name == name) {
      if (address)
        *address = g.address;
      if (bytes)
        *bytes = g.bytes;
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_NOT_FOUND;
}

TDS_API cuFuncGetAttribute(int *value, CUfunction_attribute a, CUfunction f) {
  TDS_ENTER(true);
  FunctionState *s = functionOf(entry, f);
  if (!value)
    return CUDA_ERROR_INVALID_VALUE;
  if (!s)
    return CUDA_ERROR_INVALID_HANDLE;
  const Code &c = *s->code;
  const Program &p = *s->module->program;
  switch (a) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: {
    u32 req = c.reqThreads[0] * c.reqThreads[1] * c.reqThreads[2];
    *value = (int)(req ? req : c.maxThreads ? c.maxThreads : 1024);
    return CUDA_SUCCESS;
  }
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = (int)c.sharedBytes;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: {
    u64 total = 0;
    for (const auto &g : p.globals)
      total += g.isConst ? g.bytes : 0;
    *value = (int)total;
    return CUDA_SUCCESS;
  }
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    *value = (int)c.reachableLocalBytes;
    return CUDA_SUCCESS;
  // There is no register allocation here; virtual registers say nothing.
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    *value = (int)std::min(c.numRegs, 255u);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    *value = (int)p.sm;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    *value = (int)entry.driver.settings().sm;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    *value = 0;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = (int)s->dynamicLimit;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    *value = -1;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    *value = c.explicitCluster && !c.reqCluster[0];
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    *value = (int)c.reqCluster[a - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    *value = s->largeClusters;
    return CUDA_SUCCESS;
  default:
    if ((int)a < 0 || a >= CU_FUNC_ATTRIBUTE_MAX)
      return CUDA_ERROR_INVALID_VALUE;
    *value = 0;
    return CUDA_SUCCESS;
  }
}
TDS_API cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int value) {
  TDS_ENTER(true);
  FunctionState *s = functionOf(entry, f);
  if (!s)
    return CUDA_ERROR_INVALID_HANDLE;
  switch (a) {
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
    u32 most = maxDynamicShared(entry.driver.settings().sm);
    if (value < 0 || (u32)value + s->code->sharedBytes > most)
      return CUDA_ERROR_INVALID_VALUE;
    s->dynamicLimit = (u32)value;
    return CUDA_SUCCESS;
  }
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    return value >= -1 && value <= 100 ? CUDA_SUCCESS
                                       : CUDA_ERROR_INVALID_VALUE;
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    s->largeClusters = value != 0;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}
TDS_API cuFuncSetCacheConfig(CUfunction f, CUfunc_cache) {
  TDS_ENTER(true);
  return functionOf(entry, f) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
TDS_API cuFuncGetName(const char **name, CUfunction f) {
  TDS_ENTER(true);
  FunctionState *s = functionOf(entry, f);
  if (!name)
    return CUDA_ERROR_INVALID_VALUE;
  if (!s)
    return CUDA_ERROR_INVALID_HANDLE;
  *name = s->code->name.c_str();
  return CUDA_SUCCESS;
}
TDS_API cuFuncGetModule(CUmodule *out, CUfunction f) {
  TDS_ENTER(true);
  FunctionState *s = functionOf(entry, f);
  if (!out)
    return CUDA_ERROR_INVALID_VALUE;
  if (!s)
    return CUDA_ERROR_INVALID_HANDLE;
  *out = (CUmodule)s->module;
  return CUDA_SUCCESS;
}
TDS_API cuFuncGetParamInfo(CUfunction f, size_t index, size_t *offset,
                           size_t *size) {
  TDS_ENTER(true);
  FunctionState *s = functionOf(entry, f);
  if (!s)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!offset || index >= s->code->params.size())
    return CUDA_ERROR_INVALID_VALUE;
  *offset = s->code->params[index].offset;
  if (size)
    *size = s->code->params[index].bytes;
  return CUDA_SUCCESS;
}
TDS_API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f,
                                                    int threads,
                                                    size_t dynamicShared) {
  TDS_ENTER(true);
  FunctionState *s = functionOf(entry, f);
  if (!blocks || threads <= 0 || threads > 1024)
    return CUDA_ERROR_INVALID_VALUE;
  if (!s)
    return CUDA_ERROR_INVALID_HANDLE;
  u32 sm = entry.driver.settings().sm;
  u64 byThreads = (sm == 75 ? 1024 : 2048) / (u64)((threads + 31) / 32 * 32);
  u64 shared = s->code->sharedBytes + dynamicShared + 1024;
  u64 byShared = (maxDynamicShared(sm) + 1024) / shared;
  *blocks = (int)std::min<u64>({byThreads, byShared, 32});
  return CUDA_SUCCESS;
}

namespace tds::sim {

/// Whether the kernel may be launched with clusters of `asked` blocks (zeros:
/// the launch names none). CUDA programming guide, "Thread Block Clusters".
static CUresult checkCluster(const FunctionState &f, const u32 *asked,
                             const u32 *grid, u32 deviceSm,
                             std::string &problem) {
  const Code &code = *f.code;
  const u32 *size = asked[0] ? asked : code.reqCluster;
  if (!size[0]) {
    if (!code.explicitCluster)
      return CUDA_SUCCESS;
    problem = "the kernel's .explicitcluster demands a size of clusters";
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  const u64 blocks = (u64)size[0] * size[1] * size[2];
  const u64 most = code.maxClusterRank ? code.maxClusterRank
                   : f.largeClusters   ? maxClusterBlocks
                                       : portableClusterBlocks;
  if (deviceSm < 90 && blocks > 1)
    problem = "the device has no clusters";
  else if (blocks > std::min<u64>(most, maxClusterBlocks))
    problem = "a cluster of " + std::to_string(blocks) + " blocks, more than " +
              std::to_string(most);
  for (int i = 0; i < 3; ++i) {
    if (asked[0] && code.reqCluster[0] && asked[i] != code.reqCluster[i])
      problem = "the kernel's .reqnctapercluster demands another cluster";
    else if (grid[i] % size[i])
      problem = "the grid is no multiple of the cluster";
  }
  return problem.empty() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

CUresult makeLaunch(Entry &entry, CUfunction f, const unsigned grid[3],
                    const unsigned block[3], unsigned shared, void **params,
                    void **extra, KernelLaunch &out) {
  FunctionState *s = functionOf(entry, f);
  if (!s || s->module->context != entry.context)
    return CUDA_ERROR_INVALID_HANDLE;
  const Code &code = *s->code;
  u64 threads = 1;
  static const unsigned gridMax[3] = {2147483647u, 65535, 65535};
  static const unsigned blockMax[3] = {1024, 1024, 64};
  for (int i = 0; i < 3; ++i) {
    if (!grid[i] || grid[i] > gridMax[i] || !block[i] || block[i] > blockMax[i])
      return CUDA_ERROR_INVALID_VALUE;
    threads *= block[i];
    out.grid[i] = grid[i];
    out.block[i] = block[i];
  }
  auto complain = [&](const std::string &text) {
    if (!entry.driver.settings().quiet)
      fprintf(stderr, "tds-cudasim: launch of '%s': %s\n", code.name.c_str(),
              text.c_str());
    return CUDA_ERROR_INVALID_VALUE;
  };
  if (threads > 1024)
    return complain(std::to_string(threads) +
                    " threads in a block of at most 1024");
  for (int i = 0; i < 3; ++i)
    if (code.reqThreads[0] && code.reqThreads[i] != block[i])
      return complain("the kernel's .reqntid demands another block size");
  if (code.maxThreads && threads > code.maxThreads)
    return complain("more threads than the kernel's .maxntid allows");
  if (shared > s->dynamicLimit)
    return complain(std::to_string(shared) +
                    " bytes of dynamic shared memory exceed the function's "
                    "limit of " +
                    std::to_string(s->dynamicLimit));
  std::string problem;
  CUresult clusters = checkCluster(*s, out.cluster, out.grid,
                                   entry.driver.settings().sm, problem);
  if (clusters != CUDA_SUCCESS) {
    complain(problem);
    return clusters;
  }
  out.function = s;
  out.shared = shared;
  out.params.assign(code.paramBytes, 0);
  if (extra) {
    if (params)
      return CUDA_ERROR_INVALID_VALUE;
    const void *buffer = nullptr;
    size_t size = 0;
    for (int i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
      if (i >= 4)
        return CUDA_ERROR_INVALID_VALUE;
      if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
        buffer = extra[i + 1];
      else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
        size = *(size_t *)extra[i + 1];
      else
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (size < code.paramBytes || !buffer)
      return CUDA_ERROR_INVALID_VALUE;
    memcpy(out.params.data(), buffer, code.paramBytes);
  } else if (!code.params.empty()) {
    if (!params)
      return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < code.params.size(); ++i) {
      if (!params[i])
        return CUDA_ERROR_INVALID_VALUE;
      memcpy(out.params.data() + code.params[i].offset, params[i],
             code.params[i].bytes);
    }
  }
  return CUDA_SUCCESS;
}

CUresult submitKernel(Entry &entry, Stream &stream, KernelLaunch launch) {
  Driver &driver = entry.driver;
  if (stream.capture) {
    NodeState *n = captureNode(entry, stream, CU_GRAPH_NODE_TYPE_KERNEL);
    if (!n)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    n->kernel = std::move(launch);
    return CUDA_SUCCESS;
  }
  Work work;
  work.run = [&driver, launch = std::move(launch)] {
    return driver.execute(launch);
  };
  driver.enqueue(stream, std::move(work));
  return CUDA_SUCCESS;
}

} // namespace tds::sim

static CUresult launchKernel(CUfunction f, const unsigned grid[3],
                             const unsigned block[3], unsigned shared,
                             CUstream handle, void **params, void **extra,
                             bool cooperative = false,
                             const unsigned *cluster = nullptr) {
  TDS_ENTER(true);
  Stream *stream = streamFromHandle(entry, handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  KernelLaunch launch;
  if (cluster)
    std::copy(cluster, cluster + 3, launch.cluster);
  CUresult r = makeLaunch(entry, f, grid, block, shared, params, extra, launch);
  if (r != CUDA_SUCCESS)
    return r;
  if (stream->context != entry.context)
    return CUDA_ERROR_INVALID_HANDLE;
  launch.cooperative = cooperative;
  return submitKernel(entry, *stream, std::move(launch));
}

TDS_API cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                       unsigned bx, unsigned by, unsigned bz, unsigned shared,
                       CUstream stream, void **params, void **extra) {
  const unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
  return launchKernel(f, grid, block, shared, stream, params, extra);
}
TDS_API cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy,
                                  unsigned gz, unsigned bx, unsigned by,
                                  unsigned bz, unsigned shared, CUstream stream,
                                  void **params) {
  const unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
  int perSm = 0;
  CUresult r = cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &perSm, f, (int)std::min<u64>(1024, (u64)bx * by * bz), shared);
  if (r != CUDA_SUCCESS)
    return r;
  if ((u64)gx * gy * gz > 132ull * (u64)perSm)
    return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  return launchKernel(f, grid, block, shared, stream, params, nullptr, true);
}
TDS_API cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f,
                         void **params, void **extra) {
  if (!config || (config->numAttrs && !config->attrs))
    return CUDA_ERROR_INVALID_VALUE;
  bool cooperative = false;
  unsigned cluster[3] = {0, 0, 0};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute &a = config->attrs[i];
    switch (a.id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      break;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      cooperative = a.value.cooperative != 0;
      break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      cluster[0] = a.value.clusterDim.x;
      cluster[1] = a.value.clusterDim.y;
      cluster[2] = a.value.clusterDim.z;
      if (!cluster[0] || !cluster[1] || !cluster[2])
        return CUDA_ERROR_INVALID_VALUE;
      break;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  const unsigned grid[3] = {config->gridDimX, config->gridDimY,
                            config->gridDimZ};
  const unsigned block[3] = {config->blockDimX, config->blockDimY,
                             config->blockDimZ};
  return launchKernel(f, grid, block, config->sharedMemBytes, config->hStream,
                      params, extra, cooperative, cluster);
}
TDS_API cuLaunchHostFunc(CUstream handle, CUhostFn fn, void *data) {
  TDS_ENTER(true);
  Stream *stream = streamFromHandle(entry, handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!fn)
    return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture) {
    NodeState *n = captureNode(entry, *stream, CU_GRAPH_NODE_TYPE_HOST);
    if (!n)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    n->host.fn = fn;
    n->host.userData = data;
    return CUDA_SUCCESS;
  }
  Work work;
  work.run = [fn, data] {
    fn(data);
    return CUDA_SUCCESS;
  };
  entry.driver.enqueue(*stream, std::move(work));
  return CUDA_SUCCESS;
}
