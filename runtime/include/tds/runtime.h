//===- runtime.h - the C interface of the TDS runtime -*- C -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime loads what tdslc wrote (.so, .ptx, .tdsx) and runs its entries
// on a CPU or a CUDA GPU. It needs no compiler, never exits the process, and
// installs no signal handler.
//
// Conventions
// * Every function that can fail returns a tds_status. On failure,
//   tds_last_error() gives one sentence (what, where, what to do) for the
//   calling thread; it stays valid until that thread's next failing call.
// * Handles are opaque and counted. A function that gives out a handle in an
//   `out_*` parameter gives the caller one reference; release it with the
//   matching *_release. A handle keeps alive what it depends on (an entry its
//   module, a module its device), so the order of releases does not matter.
// * Outputs come last and are named out_*. They are untouched on failure.
// * Strings given out belong to the handle they were asked from and live as
//   long as it does, unless said otherwise.
// * Threads: devices and modules may be used from any thread. Calls on the
//   entries of one module are carried out one after another (a module has one
//   arena); different modules are independent. A loader has one caller.
// * Tensors are dense, row-major, little-endian. Shapes are counts of
//   elements, sizes are bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TDS_RUNTIME_H
#define TDS_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TDS_API __attribute__((visibility("default")))
#else
#define TDS_API
#endif

// An enumeration may hold any int that a caller passes; the library checks it.
#ifdef __cplusplus
#define TDS_INT : int
extern "C" {
#else
#define TDS_INT
#endif

#define TDS_VERSION_MAJOR 0
#define TDS_VERSION_MINOR 1
#define TDS_VERSION_PATCH 0

/// What kind of failure a call met. The sentence is in tds_last_error().
typedef enum tds_status TDS_INT {
  TDS_OK = 0,
  TDS_INVALID_ARGUMENT = 1, ///< the caller passed something that does not fit
  TDS_NOT_FOUND = 2,        ///< no such file, entry, variable or device
  TDS_BAD_DATA = 3,         ///< an artefact, checkpoint or data file is damaged
  TDS_UNSUPPORTED = 4,      ///< sound, but not for this device or runtime
  TDS_UNAVAILABLE = 5,      ///< the device is not there (no driver, no GPU)
  TDS_OUT_OF_MEMORY = 6,    ///< more memory than there is
  TDS_IO = 7,               ///< reading or writing a file failed
  TDS_PROGRAM_ERROR = 8,    ///< the program raised a flag (gather out of range)
  TDS_DEVICE_ERROR = 9,     ///< the driver reported a failure
  TDS_INTERNAL = 10         ///< a fault of the runtime itself
} tds_status;

/// Element types of tensors. A bool is one byte, 0 or 1.
typedef enum tds_type TDS_INT {
  TDS_BOOL = 0,
  TDS_I8 = 1,
  TDS_U8 = 2,
  TDS_I32 = 3,
  TDS_I64 = 4,
  TDS_F16 = 5,
  TDS_BF16 = 6,
  TDS_F32 = 7,
  TDS_F64 = 8
} tds_type;

typedef enum tds_device_kind TDS_INT {
  TDS_DEVICE_CPU = 0,
  TDS_DEVICE_CUDA = 1
} tds_device_kind;

/// What a variable is for.
typedef enum tds_role TDS_INT {
  TDS_ROLE_PARAM = 0,     ///< trained
  TDS_ROLE_STATE = 1,     ///< declared by the program, not trained
  TDS_ROLE_OPTIMIZER = 2, ///< state of an optimiser
  TDS_ROLE_COUNTER = 3    ///< tds.step and tds.seed
} tds_role;

typedef enum tds_entry_kind TDS_INT {
  TDS_ENTRY_STEP = 0,    ///< changes variables
  TDS_ENTRY_FUNCTION = 1 ///< does not
} tds_entry_kind;

typedef enum tds_log_level TDS_INT {
  TDS_LOG_NOTE = 0,
  TDS_LOG_WARNING = 1
} tds_log_level;

typedef struct tds_device tds_device;
typedef struct tds_module tds_module;
typedef struct tds_entry tds_entry;
typedef struct tds_call tds_call;
typedef struct tds_loader tds_loader;

/// Receives one line (no newline). May be called from any thread.
typedef void (*tds_log_callback)(void *user, tds_log_level level,
                                 const char *message);

/// A tensor in host memory that someone else owns.
typedef struct tds_tensor {
  tds_type type;
  int32_t rank;         ///< 0 for a scalar
  const int64_t *shape; ///< `rank` extents; may be NULL when rank is 0
  void *data;           ///< rows in row-major order, no padding
} tds_tensor;

/// One variable of a module. Strings and shape belong to the module.
typedef struct tds_variable_info {
  const char *name;
  tds_role role;
  tds_type type;
  int32_t rank;
  const int64_t *shape;
  size_t bytes;
} tds_variable_info;

/// One input or result of an entry. Strings and shape belong to the module.
typedef struct tds_port_info {
  const char *name;
  tds_type type;
  int32_t rank;
  const int64_t *shape;
  size_t bytes;
  int32_t has_data_axis; ///< axis 0 is the batch
  int32_t has_default;   ///< may be left out of a call
  int32_t is_weight;     ///< row weights of an evaluation
  int32_t is_donated;    ///< the module's copy is overwritten during a call
} tds_port_info;

/// Bytes that a module holds on its device, by purpose.
typedef struct tds_memory_info {
  size_t slabs;     ///< all variables
  size_t constants; ///< data of the program
  size_t arena;     ///< intermediate values, shared by all entries
  size_t slots;     ///< input and result slots of all entries
  size_t scratch;   ///< CPU only: per-thread scratch times threads
} tds_memory_info;

/// How often a kernel ran and how long it took, since the module was loaded or
/// profiling began. On the CPU all launches are timed; on CUDA those between
/// tds_module_profile_start and tds_module_profile_stop.
typedef struct tds_kernel_profile {
  const char *symbol; ///< name in the native code
  const char *title;  ///< what it computes, in the program's words
  const char *source; ///< file:line:column
  uint64_t calls;
  uint64_t timed_calls; ///< the calls that the figures below are of
  double seconds;
  uint64_t bytes; ///< read and written, each operand once a launch
  uint64_t flops; ///< operations on floats; 0 where the artefact says none
} tds_kernel_profile;

/// What NVIDIA's management library reads of one GPU; negative: not known.
typedef struct tds_gpu_readings {
  char name[96];
  char pci_bus_id[32];
  double gpu_utilization;    ///< 0 to 1, share of time in which a kernel ran
  double memory_utilization; ///< 0 to 1, share of time with memory traffic
  double memory_used;        ///< bytes, of all processes
  double memory_total;       ///< bytes
  double temperature;        ///< degrees Celsius
  double power;              ///< watts
} tds_gpu_readings;

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

/// "0.1.0"; static.
TDS_API const char *tds_version(void);

/// The sentence of this thread's last failure; "" when there was none.
TDS_API const char *tds_last_error(void);

/// Sets where notes and warnings go, for the whole process; NULL silences.
TDS_API void tds_set_log_callback(tds_log_callback callback, void *user);

/// "f32"; static. NULL for a number that is no type.
TDS_API const char *tds_type_name(tds_type type);

/// Bytes of one element; 0 for a number that is no type.
TDS_API size_t tds_type_size(tds_type type);

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

/// Zero-initialise, then set what matters.
typedef struct tds_device_options {
  int32_t threads; ///< CPU worker threads; 0 takes the processors allowed
} tds_device_options;

/// Opens `spec`: "cpu", "cuda", "cuda:1", "auto" (the first usable GPU,
/// otherwise the CPU), or a GPU that is simulated on the CPU: "sim", or
/// "sim:sm_80" for one of that architecture. `options` may be NULL.
/// TDS_UNAVAILABLE carries the reason why there is no such device.
TDS_API tds_status tds_device_open(const char *spec,
                                   const tds_device_options *options,
                                   tds_device **out_device);

/// As tds_device_open with "auto", but takes only a device that the artefact
/// at `path` carries code for.
TDS_API tds_status tds_device_open_for(const char *path,
                                       const tds_device_options *options,
                                       tds_device **out_device);

TDS_API void tds_device_retain(tds_device *device);
TDS_API void tds_device_release(tds_device *device);
TDS_API tds_device_kind tds_device_get_kind(const tds_device *device);

/// One line: name, threads or compute capability, memory.
TDS_API const char *tds_device_description(const tds_device *device);

/// One line that says why this device was taken.
TDS_API const char *tds_device_reason(const tds_device *device);

/// What the device can reach at most: bytes a second from and to its memory,
/// and f32 operations a second (a fused multiply-add is two). 0 where that is
/// not known. Measured on a CPU, at the first call, within a second; computed
/// from clocks and units of a GPU.
TDS_API tds_status tds_device_peaks(const tds_device *device,
                                    double *out_bytes_per_second,
                                    double *out_flops_per_second);

/// Readings of this device. TDS_UNAVAILABLE, with the reason, where there are
/// none: on the CPU, and without libnvidia-ml.so.1 (TDS_NVML names another
/// library).
TDS_API tds_status tds_device_readings(const tds_device *device,
                                       tds_gpu_readings *out_readings);

/// The GPUs that the management library sees, numbered in its order, which need
/// not be that of "cuda:N". TDS_UNAVAILABLE as above.
TDS_API tds_status tds_gpu_count(size_t *out_count);
TDS_API tds_status tds_gpu_readings_at(size_t index,
                                       tds_gpu_readings *out_readings);

/// A report on this machine, several lines: driver, devices, memory, NCCL,
/// MPI. The caller frees it with tds_string_free.
TDS_API tds_status tds_devices_describe(char **out_text);

TDS_API void tds_string_free(char *text);

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// Zero-initialise, then set what matters.
typedef struct tds_module_options {
  uint64_t seed;         ///< initialisers and random numbers
  uint64_t memory_limit; ///< bytes this module may take; 0: what the device has
} tds_module_options;

/// Loads an artefact, allocates everything it will ever need, and runs its
/// initialisers. `options` may be NULL. Nothing in the file is trusted before
/// its hash, needs and every number in its manifest have been checked.
TDS_API tds_status tds_module_load(const char *path, tds_device *device,
                                   const tds_module_options *options,
                                   tds_module **out_module);

/// The same from memory; `name` is used in messages. The bytes are copied.
TDS_API tds_status tds_module_load_memory(const void *data, size_t bytes,
                                          const char *name, tds_device *device,
                                          const tds_module_options *options,
                                          tds_module **out_module);

TDS_API void tds_module_retain(tds_module *module);
TDS_API void tds_module_release(tds_module *module);

/// Hash of source and options, 64 hex digits.
TDS_API const char *tds_module_program_hash(const tds_module *module);
TDS_API tds_status tds_module_memory(const tds_module *module,
                                     tds_memory_info *out_memory);

/// Says in words what the artefact at `path` holds and needs; needs no device.
/// The caller frees the text with tds_string_free.
TDS_API tds_status tds_artifact_describe(const char *path, char **out_text);

TDS_API size_t tds_module_variable_count(const tds_module *module);
TDS_API tds_status tds_module_variable(const tds_module *module, size_t index,
                                       tds_variable_info *out_info);
TDS_API tds_status tds_module_find_variable(const tds_module *module,
                                            const char *name,
                                            tds_variable_info *out_info);

/// Copies a variable into `out_data`; `bytes` must be the variable's.
TDS_API tds_status tds_module_read(tds_module *module, const char *name,
                                   void *out_data, size_t bytes);

/// Copies `data` into a variable; `bytes` must be the variable's.
TDS_API tds_status tds_module_write(tds_module *module, const char *name,
                                    const void *data, size_t bytes);

/// Runs the initialisers again with another seed; every variable is new.
TDS_API tds_status tds_module_initialize(tds_module *module, uint64_t seed);

/// Waits until the device has finished all work of this module, and reports
/// what asynchronous calls met.
TDS_API tds_status tds_module_synchronize(tds_module *module);

TDS_API size_t tds_module_kernel_count(const tds_module *module);
TDS_API tds_status tds_module_kernel_profile(const tds_module *module,
                                             size_t index,
                                             tds_kernel_profile *out_profile);

/// Begins to time and record all that the module does; counters begin at
/// nothing. On CUDA kernels are then launched one by one, between events,
/// rather than as one graph, so that a step takes longer.
TDS_API tds_status tds_module_profile_start(tds_module *module);
TDS_API tds_status tds_module_profile_stop(tds_module *module);

/// What was recorded since tds_module_profile_start, in Chrome's trace format
/// (JSON; Perfetto and chrome://tracing show it): calls on the host, copies,
/// and kernels by title with their source line. Waits for the device. The
/// caller frees the text with tds_string_free.
TDS_API tds_status tds_module_trace(tds_module *module, char **out_json);

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

TDS_API size_t tds_module_entry_count(const tds_module *module);

/// The entry at `index` (the hidden `init` is not counted).
TDS_API tds_status tds_module_entry_at(tds_module *module, size_t index,
                                       tds_entry **out_entry);
TDS_API tds_status tds_module_entry(tds_module *module, const char *name,
                                    tds_entry **out_entry);

TDS_API void tds_entry_retain(tds_entry *entry);
TDS_API void tds_entry_release(tds_entry *entry);
TDS_API const char *tds_entry_name(const tds_entry *entry);
TDS_API tds_entry_kind tds_entry_get_kind(const tds_entry *entry);

/// Bytes this entry needs at its peak, as the compiler promised.
TDS_API size_t tds_entry_peak_bytes(const tds_entry *entry);
TDS_API size_t tds_entry_input_count(const tds_entry *entry);
TDS_API size_t tds_entry_result_count(const tds_entry *entry);
TDS_API tds_status tds_entry_input(const tds_entry *entry, size_t index,
                                   tds_port_info *out_info);
TDS_API tds_status tds_entry_result(const tds_entry *entry, size_t index,
                                    tds_port_info *out_info);

/// Calls the entry with host tensors, in the order of its inputs, and waits.
/// An input with data == NULL takes its default. Type and shape must be those
/// of the input. The first `result_count` results are copied into `results`
/// (data == NULL skips one); type and shape there must fit too.
TDS_API tds_status tds_entry_call(tds_entry *entry, const tds_tensor *inputs,
                                  size_t input_count, const tds_tensor *results,
                                  size_t result_count);

/// As tds_entry_call, but returns as soon as the call is queued on the device:
/// the inputs have been copied out then, and the results are written by the
/// time that tds_call_wait returns; keep their memory until then (the shapes
/// need not be kept). Two calls of an entry may be in flight, so that the
/// inputs of one travel while the other computes; a third waits for the first.
/// Calls compute in the order in which they were started. On the CPU the work
/// is done on return. Errors of the program are those of tds_call_wait.
TDS_API tds_status tds_entry_start(tds_entry *entry, const tds_tensor *inputs,
                                   size_t input_count,
                                   const tds_tensor *results,
                                   size_t result_count, tds_call **out_call);

/// Waits until the results are written, and says whether the call failed. May
/// be called again.
TDS_API tds_status tds_call_wait(tds_call *call);

/// Lets go of a call. One that was not waited for goes on, but writes no
/// results.
TDS_API void tds_call_release(tds_call *call);

/// Calls the entry with caller-owned memory on the device: one pointer for
/// each input (NULL: its default) and each result (NULL: not wanted), dense
/// and of the exact type and shape. On CUDA the work is queued on `stream` (a
/// CUstream; NULL is the default stream) and the call returns without waiting;
/// on the CPU pointers are host pointers, `stream` is ignored, and the work is
/// done on return. A flag that the program raises is reported by the next call
/// or by tds_module_synchronize.
TDS_API tds_status tds_entry_call_device(tds_entry *entry,
                                         const void *const *inputs,
                                         size_t input_count,
                                         void *const *results,
                                         size_t result_count, void *stream);

/// Copies one result of the last call out of the entry's slot.
TDS_API tds_status tds_entry_read_result(tds_entry *entry, size_t index,
                                         void *out_data, size_t bytes);

//===----------------------------------------------------------------------===//
// Checkpoints (.safetensors)
//===----------------------------------------------------------------------===//

/// Where a run stands; kept in a checkpoint's metadata.
typedef struct tds_progress {
  uint64_t epoch;
  uint64_t batch; ///< batches of this epoch already done
  uint64_t order_seed;
} tds_progress;

/// Writes every variable: to a temporary file beside `path`, synced, then
/// renamed, so that a crash leaves the old file or the new one. The bytes are
/// a function of the variables and `progress` (NULL: a start) alone. A file at
/// `path` is replaced, whatever it holds; TDS_IO when something else than a
/// regular file (a device, a pipe, a link) is there.
TDS_API tds_status tds_module_save(tds_module *module, const char *path,
                                   const tds_progress *progress);

/// Restores every variable. A variable that the file lacks, or has in another
/// type or shape, is an error, and then nothing has been changed; keys that
/// the module does not know are a note. `out_progress` may be NULL.
TDS_API tds_status tds_module_restore(tds_module *module, const char *path,
                                      tds_progress *out_progress);

/// Says whether the file at `path` is a checkpoint of tdsl, of whatever
/// program, and where its run stood (`out_progress` may be NULL); needs no
/// module. TDS_NOT_FOUND when there is no such file.
TDS_API tds_status tds_checkpoint_inspect(const char *path,
                                          tds_progress *out_progress);

/// Takes parameters and states (not optimiser state, not counters) from a
/// file, perhaps a foreign one. `map_path` (may be NULL) is a text file with
/// one `ours = theirs [transpose]` a line; `allow_missing` (may be NULL) is a
/// comma-separated list of globs of variables that may be absent and then keep
/// their value.
TDS_API tds_status tds_module_init_from(tds_module *module, const char *path,
                                        const char *map_path,
                                        const char *allow_missing);

//===----------------------------------------------------------------------===//
// Batches from files
//===----------------------------------------------------------------------===//

typedef enum tds_loader_mode TDS_INT {
  TDS_LOADER_TRAIN = 0, ///< shuffles, drops the rest of an epoch
  TDS_LOADER_EVAL = 1   ///< in order, pads the last batch
} tds_loader_mode;

/// Zero-initialise, then set what matters.
typedef struct tds_loader_options {
  tds_loader_mode mode;
  uint64_t seed;      ///< order of the rows, with the epoch
  int32_t keep_order; ///< 1: TRAIN does not shuffle
  int32_t prefetch;   ///< batches made ahead; 0 takes 4
} tds_loader_options;

/// Binds inputs of `entry` to files: "x=images.idx.gz,y=labels.idx.gz".
/// Formats: .npy, .npz (file.npz:key), .safetensors (file.safetensors:key),
/// IDX, .gz of .npy and IDX, and raw text for inputs of two axes. Every bound
/// input with a data axis must have the same number of rows.
TDS_API tds_status tds_loader_create(tds_entry *entry, const char *bindings,
                                     const tds_loader_options *options,
                                     tds_loader **out_loader);
TDS_API void tds_loader_release(tds_loader *loader);
TDS_API uint64_t tds_loader_rows(const tds_loader *loader);

/// Rows of one batch, and batches of one epoch.
TDS_API uint64_t tds_loader_batch_rows(const tds_loader *loader);
TDS_API uint64_t tds_loader_batches(const tds_loader *loader);

/// Goes to a batch of an epoch; the next tds_loader_next gives that one. The
/// order of an epoch is a function of seed and epoch alone.
TDS_API tds_status tds_loader_seek(tds_loader *loader, uint64_t epoch,
                                   uint64_t batch);

/// The next batch, one tensor for each input of the entry in its order; data
/// is NULL for inputs that no file is bound to. `*out_inputs` is NULL at the
/// end of the epoch (the next call starts the next one). The tensors live
/// until the next call on this loader. `out_rows` (may be NULL) gets the rows
/// that count: fewer than the batch has where it was padded.
TDS_API tds_status tds_loader_next(tds_loader *loader,
                                   const tds_tensor **out_inputs,
                                   uint64_t *out_rows);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // TDS_RUNTIME_H
