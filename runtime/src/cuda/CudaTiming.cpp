//===- CudaTiming.cpp - when kernels and copies ran on the device ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cuda/CudaTiming.h"

namespace tdsrt {

constexpr unsigned eventTimed = 0;

CudaTiming::CudaTiming(const CudaDriver &driver, Recorder &recorder,
                       CUstream stream)
    : recorder(recorder), driver(driver), base(driver, eventTimed) {
  base.record(stream);
  base.synchronize();
  baseTime = recorder.now();
}

CudaEvent CudaTiming::take() {
  if (spare.empty())
    return CudaEvent(driver, eventTimed);
  CudaEvent event = std::move(spare.back());
  spare.pop_back();
  return event;
}

void CudaTiming::begin(CUstream stream) {
  open = take();
  open.record(stream);
}

void CudaTiming::end(CUstream stream, Done done) {
  CudaEvent end = take();
  end.record(stream);
  marks.push_back({std::move(open), std::move(end), std::move(done)});
  open = CudaEvent();
  // Without anyone who waits, events must not pile up.
  constexpr size_t maxMarks = 8192;
  if (marks.size() > maxMarks) {
    marks.back().end.synchronize();
    collect();
  }
}

void CudaTiming::collect() {
  while (!marks.empty()) {
    Mark &mark = marks.front();
    float beginMs = 0, ms = 0;
    CUresult result =
        driver.call.eventElapsedTime(&ms, mark.begin.get(), mark.end.get());
    if (result == cudaErrorNotReady)
      return;
    if (result == 0)
      result =
          driver.call.eventElapsedTime(&beginMs, base.get(), mark.begin.get());
    driver.check(result, "timing work on the GPU");
    double begin = baseTime + double(beginMs) * 1e-3;
    mark.done(begin, double(ms) * 1e-3);
    std::swap(base, mark.begin);
    baseTime = begin;
    spare.push_back(std::move(mark.begin));
    spare.push_back(std::move(mark.end));
    marks.pop_front();
  }
}

} // namespace tdsrt
