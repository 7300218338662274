//===- StreamApi.cpp - streams and events -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "driver/Driver.h"

#include <algorithm>

using namespace tds::sim;

static CUresult createStream(CUstream *out, unsigned flags, int priority) {
  TDS_ENTER(true);
  if (!out || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING))
    return CUDA_ERROR_INVALID_VALUE;
  auto *s = new Stream;
  s->context = entry.context;
  s->blocking = !(flags & CU_STREAM_NON_BLOCKING);
  s->priority = std::max(-5, std::min(0, priority));
  s->id = ++entry.driver.sequence;
  entry.context->streams.insert(s);
  entry.driver.streams.insert(s);
  *out = (CUstream)s;
  return CUDA_SUCCESS;
}
TDS_API cuStreamCreate(CUstream *out, unsigned flags) {
  return createStream(out, flags, 0);
}
TDS_API cuStreamCreateWithPriority(CUstream *out, unsigned flags,
                                   int priority) {
  return createStream(out, flags, priority);
}

#define TDS_STREAM(var, handle)                                                \
  Stream *var = streamFromHandle(entry, handle);                               \
  if (!var)                                                                    \
  return CUDA_ERROR_INVALID_HANDLE

TDS_API cuStreamDestroy(CUstream handle) {
  TDS_ENTER(false);
  auto *s = (Stream *)handle;
  if (!entry.driver.streams.count(s))
    return CUDA_ERROR_INVALID_HANDLE;
  // The real call returns at once and the work goes on; to wait here differs
  // only in time.
  entry.driver.drain(entry.lock, *s);
  if (!entry.driver.streams.erase(s))
    return CUDA_ERROR_INVALID_HANDLE;
  s->context->streams.erase(s);
  delete s;
  return CUDA_SUCCESS;
}
TDS_API cuStreamSynchronize(CUstream handle) {
  TDS_ENTER(true);
  TDS_STREAM(s, handle);
  if (s->capture) {
    s->captureInvalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return entry.driver.drain(entry.lock, *s);
}
TDS_API cuStreamQuery(CUstream handle) {
  TDS_ENTER(true);
  TDS_STREAM(s, handle);
  if (s->capture) {
    s->captureInvalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (!s->queue.empty())
    return CUDA_ERROR_NOT_READY;
  return (CUresult)s->context->sticky.load();
}
TDS_API cuStreamGetFlags(CUstream handle, unsigned *flags) {
  TDS_ENTER(true);
  TDS_STREAM(s, handle);
  if (!flags)
    return CUDA_ERROR_INVALID_VALUE;
  *flags = s->blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
  return CUDA_SUCCESS;
}
TDS_API cuStreamGetPriority(CUstream handle, int *priority) {
  TDS_ENTER(true);
  TDS_STREAM(s, handle);
  if (!priority)
    return CUDA_ERROR_INVALID_VALUE;
  *priority = s->priority;
  return CUDA_SUCCESS;
}
TDS_API cuStreamGetId(CUstream handle, unsigned long long *id) {
  TDS_ENTER(true);
  TDS_STREAM(s, handle);
  if (!id)
    return CUDA_ERROR_INVALID_VALUE;
  *id = s->id;
  return CUDA_SUCCESS;
}
TDS_API cuStreamGetCtx(CUstream handle, CUcontext *context) {
  TDS_ENTER(true);
  TDS_STREAM(s, handle);
  if (!context)
    return CUDA_ERROR_INVALID_VALUE;
  *context = (CUcontext)s->context;
  return CUDA_SUCCESS;
}
TDS_API cuStreamGetDevice(CUstream handle, CUdevice *device) {
  TDS_ENTER(true);
  TDS_STREAM(s, handle);
  if (!device)
    return CUDA_ERROR_INVALID_VALUE;
  *device = s->context->device->ordinal;
  return CUDA_SUCCESS;
}
TDS_API cuStreamAddCallback(CUstream handle, CUstreamCallback callback,
                            void *data, unsigned flags) {
  TDS_ENTER(true);
  TDS_STREAM(s, handle);
  if (!callback || flags)
    return CUDA_ERROR_INVALID_VALUE;
  if (s->capture)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  Work work;
  work.always = true;
  Context *c = s->context;
  work.run = [=] {
    callback(handle, (CUresult)c->sticky.load(), data);
    return CUDA_SUCCESS;
  };
  entry.driver.enqueue(*s, std::move(work));
  return CUDA_SUCCESS;
}

TDS_API cuEventCreate(CUevent *out, unsigned flags) {
  TDS_ENTER(true);
  if (!out || (flags & ~7u))
    return CUDA_ERROR_INVALID_VALUE;
  auto *e = new EventState;
  e->context = entry.context;
  e->flags = flags;
  entry.driver.events.insert(e);
  *out = (CUevent)e;
  return CUDA_SUCCESS;
}

#define TDS_EVENT(var, handle)                                                 \
  auto *var = (EventState *)handle;                                            \
  if (!entry.driver.events.count(var))                                         \
  return CUDA_ERROR_INVALID_HANDLE

TDS_API cuEventDestroy(CUevent handle) {
  TDS_ENTER(false);
  TDS_EVENT(e, handle);
  entry.driver.events.erase(e);
  delete e;
  return CUDA_SUCCESS;
}
static CUresult recordEvent(CUevent handle, CUstream streamHandle) {
  TDS_ENTER(true);
  TDS_EVENT(e, handle);
  TDS_STREAM(s, streamHandle);
  if (e->context != s->context)
    return CUDA_ERROR_INVALID_HANDLE;
  if (s->capture) {
    // In a capture an event only marks what later waits depend on.
    e->capture = s->capture;
    e->captureNodes = s->captureTail;
    return CUDA_SUCCESS;
  }
  e->capture = nullptr;
  e->last = std::make_shared<Signal>();
  Work work;
  work.always = true;
  work.signal = e->last;
  entry.driver.enqueue(*s, std::move(work));
  return CUDA_SUCCESS;
}
TDS_API cuEventRecord(CUevent event, CUstream stream) {
  return recordEvent(event, stream);
}
TDS_API cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned) {
  return recordEvent(event, stream);
}
TDS_API cuEventQuery(CUevent handle) {
  TDS_ENTER(true);
  TDS_EVENT(e, handle);
  if (e->capture)
    return CUDA_ERROR_CAPTURED_EVENT;
  return !e->last || e->last->done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
TDS_API cuEventSynchronize(CUevent handle) {
  TDS_ENTER(true);
  TDS_EVENT(e, handle);
  if (e->capture)
    return CUDA_ERROR_CAPTURED_EVENT;
  std::shared_ptr<Signal> signal = e->last;
  Context *context = entry.context;
  if (signal)
    entry.driver.waitSignal(entry.lock, *signal);
  return (CUresult)context->sticky.load();
}
TDS_API cuEventElapsedTime(float *ms, CUevent a, CUevent b) {
  TDS_ENTER(true);
  TDS_EVENT(first, a);
  TDS_EVENT(second, b);
  if (!ms)
    return CUDA_ERROR_INVALID_VALUE;
  if ((first->flags | second->flags) & CU_EVENT_DISABLE_TIMING)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!first->last || !second->last)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!first->last->done || !second->last->done)
    return CUDA_ERROR_NOT_READY;
  *ms = std::chrono::duration<float, std::milli>(second->last->when -
                                                 first->last->when)
            .count();
  return CUDA_SUCCESS;
}
#ifdef cuEventElapsedTime
// Programs compiled against headers before 12.8 know it by this name.
#undef cuEventElapsedTime
TDS_API cuEventElapsedTime(float *ms, CUevent a, CUevent b) {
  return cuEventElapsedTime_v2(ms, a, b);
}
#endif
TDS_API cuStreamWaitEvent(CUstream handle, CUevent eventHandle,
                          unsigned flags) {
  TDS_ENTER(true);
  TDS_STREAM(s, handle);
  TDS_EVENT(e, eventHandle);
  if (flags & ~1u)
    return CUDA_ERROR_INVALID_VALUE;
  if (e->capture) {
    // Waiting for a captured event draws the stream into the capture.
    if (s->capture && s->capture != e->capture)
      return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    if (!s->capture) {
      if (s->isLegacy)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
      s->capture = e->capture;
      s->captureOrigin = false;
      s->captureInvalid = false;
      s->captureTail.clear();
    }
    for (NodeState *n : e->captureNodes)
      if (std::find(s->captureTail.begin(), s->captureTail.end(), n) ==
          s->captureTail.end())
        s->captureTail.push_back(n);
    return CUDA_SUCCESS;
  }
  if (s->capture) {
    s->captureInvalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (!e->last || e->last->done)
    return CUDA_SUCCESS;
  Work work;
  work.waits.push_back(e->last);
  entry.driver.enqueue(*s, std::move(work));
  return CUDA_SUCCESS;
}
