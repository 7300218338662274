/*===- driver_client.c - a CUDA program that knows no simulator ---*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* Compiled against cuda.h alone; loads libcuda.so.1 with dlopen() and takes  *|
|* its functions by name, as any program of the driver interface does. The    *|
|* test gives it a folder in which libcuda.so.1 is the simulator.             *|
|* Usage: driver_client vadd.ptx                                              *|
\*===----------------------------------------------------------------------===*/
#include <cuda.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TEXT(x) #x
#define NAME(x) TEXT(x) /* after cuda.h's own renaming: cuMemAlloc_v2 … */
#define LOAD(f) __typeof__(&f) p_##f = (__typeof__(&f))symbol(library, NAME(f))
#define CHECK(call)                                                            \
  do {                                                                         \
    CUresult r_ = (call);                                                      \
    if (r_ != CUDA_SUCCESS) {                                                  \
      fprintf(stderr, "line %d: " #call " gives %d\n", __LINE__, (int)r_);     \
      return 1;                                                                \
    }                                                                          \
  } while (0)

static void *symbol(void *library, const char *name) {
  void *p = dlsym(library, name);
  if (!p) {
    fprintf(stderr, "the driver has no %s\n", name);
    exit(1);
  }
  return p;
}

static char *readFile(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f)
    return NULL;
  fseek(f, 0, SEEK_END);
  long n = ftell(f);
  rewind(f);
  char *text = malloc((size_t)n + 1);
  if (fread(text, 1, (size_t)n, f) != (size_t)n)
    n = 0;
  text[n] = 0;
  fclose(f);
  return text;
}

static void *library;
static int atWork;

/* As the destructors of a program's libraries do. The code of a driver whose
   threads are at work has to stay. */
static void closeDriver(void) {
  if (library)
    dlclose(library);
  struct timespec moment = {0, 50 * 1000 * 1000};
  nanosleep(&moment, NULL);
  if (atWork)
    printf("closed at work: right\n");
}

int main(int argc, char **argv) {
  library = dlopen("libcuda.so.1", RTLD_NOW);
  atexit(closeDriver);
  if (!library || argc != 2) {
    fprintf(stderr, "%s\n",
            library ? "usage: driver_client vadd.ptx" : dlerror());
    return 1;
  }
  LOAD(cuInit);
  LOAD(cuDeviceGetCount);
  LOAD(cuDeviceGet);
  LOAD(cuDeviceGetName);
  LOAD(cuDevicePrimaryCtxRetain);
  LOAD(cuDevicePrimaryCtxRelease);
  LOAD(cuCtxSetCurrent);
  LOAD(cuModuleLoadData);
  LOAD(cuModuleGetFunction);
  LOAD(cuModuleUnload);
  LOAD(cuMemAlloc);
  LOAD(cuMemFree);
  LOAD(cuMemGetInfo);
  LOAD(cuMemAllocHost);
  LOAD(cuMemFreeHost);
  LOAD(cuMemcpyHtoDAsync);
  LOAD(cuMemcpyDtoHAsync);
  LOAD(cuMemcpyPeer);
  LOAD(cuMemsetD8Async);
  LOAD(cuMemcpyDtoH);
  LOAD(cuStreamCreate);
  LOAD(cuStreamDestroy);
  LOAD(cuStreamSynchronize);
  LOAD(cuStreamWaitEvent);
  LOAD(cuStreamBeginCapture);
  LOAD(cuStreamEndCapture);
  LOAD(cuEventCreate);
  LOAD(cuEventRecord);
  LOAD(cuEventSynchronize);
  LOAD(cuEventDestroy);
  LOAD(cuLaunchKernel);
  LOAD(cuGraphLaunch);
  LOAD(cuGraphDestroy);
  LOAD(cuGraphExecDestroy);
  CUresult (*instantiate)(CUgraphExec *, CUgraph, unsigned long long) =
      symbol(library, "cuGraphInstantiateWithFlags");

  CHECK(p_cuInit(0));
  int devices = 0;
  CHECK(p_cuDeviceGetCount(&devices));
  enum { N = 1000 };
  CUdeviceptr last = 0;
  CUcontext lastContext = NULL;
  for (int d = 0; d < devices; d++) {
    CUdevice device;
    char name[64];
    CHECK(p_cuDeviceGet(&device, d));
    CHECK(p_cuDeviceGetName(name, sizeof name, device));
    CUcontext context;
    CHECK(p_cuDevicePrimaryCtxRetain(&context, device));
    CHECK(p_cuCtxSetCurrent(context));
    size_t before, total, after;
    CHECK(p_cuMemGetInfo(&before, &total));
    char *ptx = readFile(argv[1]);
    CUmodule module;
    CUfunction f;
    CHECK(p_cuModuleLoadData(&module, ptx));
    free(ptx);
    CHECK(p_cuModuleGetFunction(&f, module, "vadd"));
    CUdeviceptr a, b, c;
    CHECK(p_cuMemAlloc(&a, N * 4));
    CHECK(p_cuMemAlloc(&b, N * 4));
    CHECK(p_cuMemAlloc(&c, N * 4));
    CHECK(p_cuMemGetInfo(&after, &total));
    if (after >= before) {
      fprintf(stderr, "memory information does not see allocations\n");
      return 1;
    }
    float *host;
    CHECK(p_cuMemAllocHost((void **)&host, 3 * N * 4));
    for (int i = 0; i < N; i++) {
      host[i] = (float)i;
      host[N + i] = (float)(d * 1000 + 1);
    }
    CUstream copy, compute;
    CUevent ready;
    CHECK(p_cuStreamCreate(&copy, CU_STREAM_NON_BLOCKING));
    CHECK(p_cuStreamCreate(&compute, CU_STREAM_NON_BLOCKING));
    CHECK(p_cuEventCreate(&ready, CU_EVENT_DISABLE_TIMING));
    CHECK(p_cuMemcpyHtoDAsync(a, host, N * 4, copy));
    CHECK(p_cuMemcpyHtoDAsync(b, host + N, N * 4, copy));
    CHECK(p_cuEventRecord(ready, copy));
    CHECK(p_cuStreamWaitEvent(compute, ready, 0));
    int n = N;
    void *params[] = {&a, &b, &c, &n};
    CHECK(p_cuLaunchKernel(f, (N + 127) / 128, 1, 1, 128, 1, 1, 0, compute,
                           params, NULL));
    CHECK(p_cuMemcpyDtoHAsync(host + 2 * N, c, N * 4, compute));
    CHECK(p_cuStreamSynchronize(compute));
    for (int i = 0; i < N; i++)
      if (host[2 * N + i] != host[i] + host[N + i]) {
        fprintf(stderr, "device %d: element %d is wrong\n", d, i);
        return 1;
      }
    /* The same as a graph: b = a + b, twice. */
    CUgraph graph;
    CUgraphExec exec;
    void *again[] = {&a, &b, &b, &n};
    CHECK(p_cuStreamBeginCapture(compute, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(p_cuLaunchKernel(f, (N + 127) / 128, 1, 1, 128, 1, 1, 0, compute,
                           again, NULL));
    CHECK(p_cuStreamEndCapture(compute, &graph));
    CHECK(instantiate(&exec, graph, 0));
    CHECK(p_cuGraphLaunch(exec, compute));
    CHECK(p_cuGraphLaunch(exec, compute));
    CHECK(p_cuMemcpyDtoHAsync(host + 2 * N, b, N * 4, compute));
    CHECK(p_cuEventRecord(ready, compute));
    CHECK(p_cuEventSynchronize(ready));
    for (int i = 0; i < N; i++)
      if (host[2 * N + i] != 2 * host[i] + host[N + i]) {
        fprintf(stderr, "graph on device %d: element %d is wrong\n", d, i);
        return 1;
      }
    if (last) { /* from the device before to this one */
      CHECK(p_cuMemcpyPeer(a, context, last, lastContext, N * 4));
      CHECK(p_cuMemcpyDtoH(host, a, N * 4));
      if (host[7] != 7.f + (float)((d - 1) * 1000 + 1)) {
        fprintf(stderr, "the copy between devices is wrong\n");
        return 1;
      }
    }
    CHECK(p_cuGraphExecDestroy(exec));
    CHECK(p_cuGraphDestroy(graph));
    CHECK(p_cuEventDestroy(ready));
    CHECK(p_cuStreamDestroy(copy));
    CHECK(p_cuStreamDestroy(compute));
    CHECK(p_cuMemFreeHost(host));
    CHECK(p_cuMemFree(a));
    CHECK(p_cuMemFree(b));
    CHECK(p_cuModuleUnload(module));
    if (d + 1 == devices)
      CHECK(p_cuMemFree(c));
    last = c;
    lastContext = context;
    printf("device %d (%s): right\n", d, name);
  }
  for (int d = 0; d < devices; d++)
    CHECK(p_cuDevicePrimaryCtxRelease(d));

  /* The driver's threads are still at work when atexit() closes it. */
  CUdevice device;
  CUcontext context;
  CUstream stream;
  CUdeviceptr bytes;
  enum { BYTES = 1 << 20 };
  CHECK(p_cuDeviceGet(&device, 0));
  CHECK(p_cuDevicePrimaryCtxRetain(&context, device));
  CHECK(p_cuCtxSetCurrent(context));
  CHECK(p_cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(p_cuMemAlloc(&bytes, BYTES));
  for (int i = 0; i < 200; i++)
    CHECK(p_cuMemsetD8Async(bytes, (unsigned char)i, BYTES, stream));
  atWork = 1;
  return 0;
}
