//===- CApi.cpp - the C interface over the runtime -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only file that knows both sides. Exceptions end here.
//
//===----------------------------------------------------------------------===//

#include "checkpoint/Checkpoint.h"
#include "core/Error.h"
#include "core/Module.h"
#include "cuda/Nvml.h"
#include "data/Loader.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

using namespace tdsrt;

struct tds_device {
  std::atomic<int> references{1};
  std::shared_ptr<Device> device;
  std::string description;
};

struct tds_module {
  std::atomic<int> references{1};
  std::shared_ptr<Module> module;
};

struct tds_entry {
  std::atomic<int> references{1};
  std::shared_ptr<Module> module;
  uint32_t index;
  const EntryPlan &plan() const { return module->manifest().entries[index]; }
};

struct tds_call {
  std::shared_ptr<Module> module;
  std::shared_ptr<Call> call;
};

struct tds_loader {
  std::shared_ptr<Module> module; // owns the plan that the loader refers to
  std::unique_ptr<Loader> loader;
};

namespace {

thread_local std::string lastError;

template <typename Function> tds_status guarded(Function &&function) {
  tds_status status = TDS_INTERNAL;
  try {
    function();
    return TDS_OK;
  } catch (const Error &error) {
    lastError = error.what();
    status = error.status;
  } catch (const std::bad_alloc &) {
    lastError = "out of memory; free some, or use smaller data";
    status = TDS_OUT_OF_MEMORY;
  } catch (const std::length_error &) {
    lastError = "out of memory; free some, or use smaller data";
    status = TDS_OUT_OF_MEMORY;
  } catch (const std::exception &error) {
    lastError = cat("internal error of the runtime: ", error.what(),
                    "; please report it");
  } catch (...) {
    lastError = "internal error of the runtime; please report it";
  }
  return status;
}

void need(const void *pointer, const char *what) {
  if (!pointer)
    fail(TDS_INVALID_ARGUMENT, what, " is NULL");
}

template <typename Handle> void retain(Handle *handle) {
  if (handle)
    handle->references.fetch_add(1, std::memory_order_relaxed);
}

template <typename Handle> void release(Handle *handle) {
  if (handle && handle->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete handle;
}

char *copyText(const std::string &text) {
  char *copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (!copy)
    throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

void openInto(const char *spec, const tds_device_options *options,
              const Container *container, tds_device **out) {
  int32_t threads = options ? options->threads : 0;
  if (threads < 0)
    fail(TDS_INVALID_ARGUMENT, threads,
         " threads cannot be; give 1 or more, "
         "or 0 for all processors");
  auto handle = std::make_unique<tds_device>();
  handle->device = openDevice(spec, static_cast<unsigned>(threads), container);
  handle->description = handle->device->description();
  *out = handle.release();
}

void loadInto(const Container &container, tds_device *device,
              const tds_module_options *options, tds_module **out) {
  auto handle = std::make_unique<tds_module>();
  handle->module =
      Module::load(container, device->device, options ? options->seed : 0,
                   options ? options->memory_limit : 0);
  *out = handle.release();
}

void describeVariable(const Variable &variable, tds_variable_info *out) {
  out->name = variable.name.c_str();
  out->role = variable.role;
  out->type = static_cast<tds_type>(variable.type);
  out->rank = static_cast<int32_t>(variable.shape.size());
  out->shape = variable.shape.data();
  out->bytes = variable.bytes;
}

void describePort(const std::vector<Port> &ports, size_t index,
                  const char *what, tds_port_info *out) {
  need(out, "out_info");
  if (index >= ports.size())
    fail(TDS_INVALID_ARGUMENT, what, " ", index, " does not exist; there are ",
         ports.size());
  const Port &port = ports[index];
  out->name = port.name.c_str();
  out->type = static_cast<tds_type>(port.type);
  out->rank = static_cast<int32_t>(port.shape.size());
  out->shape = port.shape.data();
  out->bytes = port.bytes;
  out->has_data_axis = port.hasDataAxis;
  out->has_default = port.hasDefault;
  out->is_weight = port.isWeight;
  out->is_donated = port.isDonated;
}

void makeEntry(tds_module *module, uint32_t index, tds_entry **out) {
  auto *entry = new tds_entry;
  entry->module = module->module;
  entry->index = index;
  *out = entry;
}

const Variable &sizedVariable(tds_module *module, const char *name,
                              size_t bytes) {
  need(module, "module");
  need(name, "name");
  const Variable &variable = module->module->variable(name);
  if (bytes != variable.bytes)
    fail(TDS_INVALID_ARGUMENT, "variable '", variable.name, "' has ",
         variable.bytes, " bytes, but ", bytes, " were given");
  return variable;
}

} // namespace

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

const char *tds_version(void) { return "0.1.0"; }

const char *tds_last_error(void) { return lastError.c_str(); }

void tds_set_log_callback(tds_log_callback callback, void *user) {
  setLogCallback(callback, user);
}

const char *tds_type_name(tds_type type) {
  return static_cast<unsigned>(type) < numLanguageTypes
             ? nameOf(static_cast<ElementType>(type))
             : nullptr;
}

size_t tds_type_size(tds_type type) {
  return static_cast<unsigned>(type) < numLanguageTypes
             ? sizeOf(static_cast<ElementType>(type))
             : 0;
}

void tds_string_free(char *text) { std::free(text); }

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

tds_status tds_device_open(const char *spec, const tds_device_options *options,
                           tds_device **out_device) {
  return guarded([&] {
    need(spec, "spec");
    need(out_device, "out_device");
    openInto(spec, options, nullptr, out_device);
  });
}

tds_status tds_device_open_for(const char *path,
                               const tds_device_options *options,
                               tds_device **out_device) {
  return guarded([&] {
    need(path, "path");
    need(out_device, "out_device");
    Container container = Container::open(path);
    openInto("auto", options, &container, out_device);
  });
}

void tds_device_retain(tds_device *device) { retain(device); }
void tds_device_release(tds_device *device) { release(device); }

tds_device_kind tds_device_get_kind(const tds_device *device) {
  return device->device->kind();
}

const char *tds_device_description(const tds_device *device) {
  return device->description.c_str();
}

const char *tds_device_reason(const tds_device *device) {
  return device->device->reason.c_str();
}

tds_status tds_device_peaks(const tds_device *device,
                            double *out_bytes_per_second,
                            double *out_flops_per_second) {
  return guarded([&] {
    need(device, "device");
    need(out_bytes_per_second, "out_bytes_per_second");
    need(out_flops_per_second, "out_flops_per_second");
    DevicePeaks peaks = device->device->peaks();
    *out_bytes_per_second = peaks.bytesPerSecond;
    *out_flops_per_second = peaks.flopsPerSecond;
  });
}

tds_status tds_device_readings(const tds_device *device,
                               tds_gpu_readings *out_readings) {
  return guarded([&] {
    need(device, "device");
    need(out_readings, "out_readings");
    std::string bus = device->device->pciBusId();
    if (bus.empty())
      fail(TDS_UNAVAILABLE, "a CPU has no readings; NVML knows GPUs");
    *out_readings = Nvml::shared().read(bus);
  });
}

tds_status tds_gpu_count(size_t *out_count) {
  return guarded([&] {
    need(out_count, "out_count");
    *out_count = Nvml::shared().count();
  });
}

tds_status tds_gpu_readings_at(size_t index, tds_gpu_readings *out_readings) {
  return guarded([&] {
    need(out_readings, "out_readings");
    *out_readings = Nvml::shared().read(index);
  });
}

tds_status tds_devices_describe(char **out_text) {
  return guarded([&] {
    need(out_text, "out_text");
    *out_text = copyText(describeDevices());
  });
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

tds_status tds_module_load(const char *path, tds_device *device,
                           const tds_module_options *options,
                           tds_module **out_module) {
  return guarded([&] {
    need(path, "path");
    need(device, "device");
    need(out_module, "out_module");
    loadInto(Container::open(path), device, options, out_module);
  });
}

tds_status tds_module_load_memory(const void *data, size_t bytes,
                                  const char *name, tds_device *device,
                                  const tds_module_options *options,
                                  tds_module **out_module) {
  return guarded([&] {
    if (bytes)
      need(data, "data");
    need(name, "name");
    need(device, "device");
    need(out_module, "out_module");
    loadInto(Container::fromMemory(
                 bytes ? std::string(static_cast<const char *>(data), bytes)
                       : std::string(),
                 name),
             device, options, out_module);
  });
}

void tds_module_retain(tds_module *module) { retain(module); }
void tds_module_release(tds_module *module) { release(module); }

const char *tds_module_program_hash(const tds_module *module) {
  return module->module->manifest().programHash.c_str();
}

tds_status tds_module_memory(const tds_module *module,
                             tds_memory_info *out_memory) {
  return guarded([&] {
    need(module, "module");
    need(out_memory, "out_memory");
    MemoryPlan plan = module->module->memory();
    *out_memory = {plan.slabs, plan.constants, plan.arena, plan.slots,
                   plan.scratch};
  });
}

tds_status tds_artifact_describe(const char *path, char **out_text) {
  return guarded([&] {
    need(path, "path");
    need(out_text, "out_text");
    *out_text = copyText(describeArtifact(Container::open(path)));
  });
}

size_t tds_module_variable_count(const tds_module *module) {
  return module->module->manifest().variables.size();
}

tds_status tds_module_variable(const tds_module *module, size_t index,
                               tds_variable_info *out_info) {
  return guarded([&] {
    need(module, "module");
    need(out_info, "out_info");
    const auto &variables = module->module->manifest().variables;
    if (index >= variables.size())
      fail(TDS_INVALID_ARGUMENT, "variable ", index,
           " does not exist; there are ", variables.size());
    describeVariable(variables[index], out_info);
  });
}

tds_status tds_module_find_variable(const tds_module *module, const char *name,
                                    tds_variable_info *out_info) {
  return guarded([&] {
    need(module, "module");
    need(name, "name");
    need(out_info, "out_info");
    describeVariable(module->module->variable(name), out_info);
  });
}

tds_status tds_module_read(tds_module *module, const char *name, void *out_data,
                           size_t bytes) {
  return guarded([&] {
    const Variable &variable = sizedVariable(module, name, bytes);
    if (bytes)
      need(out_data, "out_data");
    module->module->read(variable, out_data);
  });
}

tds_status tds_module_write(tds_module *module, const char *name,
                            const void *data, size_t bytes) {
  return guarded([&] {
    const Variable &variable = sizedVariable(module, name, bytes);
    if (bytes)
      need(data, "data");
    module->module->write(variable, data);
  });
}

tds_status tds_module_initialize(tds_module *module, uint64_t seed) {
  return guarded([&] {
    need(module, "module");
    module->module->initialize(seed);
  });
}

tds_status tds_module_synchronize(tds_module *module) {
  return guarded([&] {
    need(module, "module");
    module->module->synchronize();
  });
}

size_t tds_module_kernel_count(const tds_module *module) {
  return module->module->manifest().kernels.size();
}

tds_status tds_module_kernel_profile(const tds_module *module, size_t index,
                                     tds_kernel_profile *out_profile) {
  return guarded([&] {
    need(module, "module");
    need(out_profile, "out_profile");
    const auto &kernels = module->module->manifest().kernels;
    if (index >= kernels.size())
      fail(TDS_INVALID_ARGUMENT, "kernel ", index,
           " does not exist; there are ", kernels.size());
    KernelCounters counters = module->module->counters(index);
    *out_profile = {kernels[index].symbol.c_str(),
                    kernels[index].title.c_str(),
                    kernels[index].source.c_str(),
                    counters.calls,
                    counters.timedCalls,
                    counters.seconds,
                    counters.bytes,
                    counters.flops};
  });
}

tds_status tds_module_profile_start(tds_module *module) {
  return guarded([&] {
    need(module, "module");
    module->module->profileStart();
  });
}

tds_status tds_module_profile_stop(tds_module *module) {
  return guarded([&] {
    need(module, "module");
    module->module->profileStop();
  });
}

tds_status tds_module_trace(tds_module *module, char **out_json) {
  return guarded([&] {
    need(module, "module");
    need(out_json, "out_json");
    *out_json = copyText(module->module->trace());
  });
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

size_t tds_module_entry_count(const tds_module *module) {
  return module->module->publicEntries().size();
}

tds_status tds_module_entry_at(tds_module *module, size_t index,
                               tds_entry **out_entry) {
  return guarded([&] {
    need(module, "module");
    need(out_entry, "out_entry");
    const auto &visible = module->module->publicEntries();
    if (index >= visible.size())
      fail(TDS_INVALID_ARGUMENT, "entry ", index, " does not exist; there are ",
           visible.size());
    makeEntry(module, visible[index], out_entry);
  });
}

tds_status tds_module_entry(tds_module *module, const char *name,
                            tds_entry **out_entry) {
  return guarded([&] {
    need(module, "module");
    need(name, "name");
    need(out_entry, "out_entry");
    const Manifest &manifest = module->module->manifest();
    std::string names;
    for (uint32_t index : module->module->publicEntries()) {
      if (manifest.entries[index].name == name)
        return makeEntry(module, index, out_entry);
      names += cat(names.empty() ? "" : ", ", manifest.entries[index].name);
    }
    fail(TDS_NOT_FOUND, module->module->name(), ": has no entry '",
         printable(name), "'; it has ", names.empty() ? "none" : names);
  });
}

void tds_entry_retain(tds_entry *entry) { retain(entry); }
void tds_entry_release(tds_entry *entry) { release(entry); }

const char *tds_entry_name(const tds_entry *entry) {
  return entry->plan().name.c_str();
}

tds_entry_kind tds_entry_get_kind(const tds_entry *entry) {
  return entry->plan().kind == EntryPlan::Kind::Step ? TDS_ENTRY_STEP
                                                     : TDS_ENTRY_FUNCTION;
}

size_t tds_entry_peak_bytes(const tds_entry *entry) {
  return entry->plan().peakBytes;
}

size_t tds_entry_input_count(const tds_entry *entry) {
  return entry->plan().inputs.size();
}

size_t tds_entry_result_count(const tds_entry *entry) {
  return entry->plan().results.size();
}

tds_status tds_entry_input(const tds_entry *entry, size_t index,
                           tds_port_info *out_info) {
  return guarded([&] {
    need(entry, "entry");
    describePort(entry->plan().inputs, index, "input", out_info);
  });
}

tds_status tds_entry_result(const tds_entry *entry, size_t index,
                            tds_port_info *out_info) {
  return guarded([&] {
    need(entry, "entry");
    describePort(entry->plan().results, index, "result", out_info);
  });
}

tds_status tds_entry_call(tds_entry *entry, const tds_tensor *inputs,
                          size_t input_count, const tds_tensor *results,
                          size_t result_count) {
  return guarded([&] {
    need(entry, "entry");
    if (input_count)
      need(inputs, "inputs");
    if (result_count)
      need(results, "results");
    entry->module->call(entry->index, inputs, input_count, results,
                        result_count);
  });
}

tds_status tds_entry_start(tds_entry *entry, const tds_tensor *inputs,
                           size_t input_count, const tds_tensor *results,
                           size_t result_count, tds_call **out_call) {
  return guarded([&] {
    need(entry, "entry");
    need(out_call, "out_call");
    if (input_count)
      need(inputs, "inputs");
    if (result_count)
      need(results, "results");
    auto handle = std::make_unique<tds_call>();
    handle->module = entry->module;
    handle->call = entry->module->start(entry->index, inputs, input_count,
                                        results, result_count);
    *out_call = handle.release();
  });
}

tds_status tds_call_wait(tds_call *call) {
  return guarded([&] {
    need(call, "call");
    call->module->wait(*call->call);
  });
}

void tds_call_release(tds_call *call) {
  if (!call)
    return;
  call->module->abandon(*call->call);
  delete call;
}

tds_status tds_entry_call_device(tds_entry *entry, const void *const *inputs,
                                 size_t input_count, void *const *results,
                                 size_t result_count, void *stream) {
  return guarded([&] {
    need(entry, "entry");
    if (input_count)
      need(inputs, "inputs");
    if (result_count)
      need(results, "results");
    entry->module->callDevice(entry->index, inputs, input_count, results,
                              result_count, stream);
  });
}

tds_status tds_entry_read_result(tds_entry *entry, size_t index, void *out_data,
                                 size_t bytes) {
  return guarded([&] {
    need(entry, "entry");
    if (bytes)
      need(out_data, "out_data");
    entry->module->readResult(entry->index, index, out_data, bytes);
  });
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

tds_status tds_module_save(tds_module *module, const char *path,
                           const tds_progress *progress) {
  return guarded([&] {
    need(module, "module");
    need(path, "path");
    saveCheckpoint(*module->module, path,
                   progress ? *progress : tds_progress{});
  });
}

tds_status tds_module_restore(tds_module *module, const char *path,
                              tds_progress *out_progress) {
  return guarded([&] {
    need(module, "module");
    need(path, "path");
    tds_progress progress = restoreCheckpoint(*module->module, path);
    if (out_progress)
      *out_progress = progress;
  });
}

tds_status tds_checkpoint_inspect(const char *path,
                                  tds_progress *out_progress) {
  return guarded([&] {
    need(path, "path");
    tds_progress progress = inspectCheckpoint(path);
    if (out_progress)
      *out_progress = progress;
  });
}

tds_status tds_module_init_from(tds_module *module, const char *path,
                                const char *map_path,
                                const char *allow_missing) {
  return guarded([&] {
    need(module, "module");
    need(path, "path");
    initializeFrom(*module->module, path, map_path ? map_path : "",
                   allow_missing ? allow_missing : "");
  });
}

//===----------------------------------------------------------------------===//
// Batches from files
//===----------------------------------------------------------------------===//

tds_status tds_loader_create(tds_entry *entry, const char *bindings,
                             const tds_loader_options *options,
                             tds_loader **out_loader) {
  return guarded([&] {
    need(entry, "entry");
    need(bindings, "bindings");
    need(out_loader, "out_loader");
    auto handle = std::make_unique<tds_loader>();
    handle->module = entry->module;
    handle->loader = std::make_unique<Loader>(
        entry->plan(), bindings, options ? *options : tds_loader_options{});
    *out_loader = handle.release();
  });
}

void tds_loader_release(tds_loader *loader) { delete loader; }

uint64_t tds_loader_rows(const tds_loader *loader) {
  return loader->loader->rows();
}

uint64_t tds_loader_batch_rows(const tds_loader *loader) {
  return loader->loader->batchRows();
}

uint64_t tds_loader_batches(const tds_loader *loader) {
  return loader->loader->batches();
}

tds_status tds_loader_seek(tds_loader *loader, uint64_t epoch, uint64_t batch) {
  return guarded([&] {
    need(loader, "loader");
    loader->loader->seek(epoch, batch);
  });
}

tds_status tds_loader_next(tds_loader *loader, const tds_tensor **out_inputs,
                           uint64_t *out_rows) {
  return guarded([&] {
    need(loader, "loader");
    need(out_inputs, "out_inputs");
    *out_inputs = loader->loader->next(out_rows);
  });
}
