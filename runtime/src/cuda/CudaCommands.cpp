//===- CudaCommands.cpp - an entry's commands, resolved -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cuda/CudaCommands.h"

namespace tdsrt {

void CudaStep::moveTo(const Iterations &iterations) {
  for (size_t i = 0; i < strides.size(); ++i)
    buffers[i] = firstBuffers[i] + iterations.offsetOf(strides[i]);
  for (size_t i = 0; i < loopSizes.size(); ++i)
    sizes[i] = iterations.valueOf(loopSizes[i]);
  to = firstTo + iterations.offsetOf(toStrides);
  from = firstFrom + iterations.offsetOf(fromStrides);
}

void CudaSink::beginTiming() {
  if (timing)
    timing->begin(stream);
}

void CudaSink::endTiming(const char *what, uint64_t bytes) {
  if (!timing)
    return;
  Recorder &recorder = timing->recorder;
  timing->end(stream, [&recorder, what, entry = entry, call = call,
                       bytes](double begin, double seconds) {
    recorder.span(Recorder::Track::Copies, what, entry, call, begin, seconds,
                  bytes);
  });
}

void CudaSink::launch(CudaStep &step) {
  const Kernel &kernel = manifest.kernels[step.kernel];
  auto what = [&] {
    return cat("launching ", kernel.symbol, " (", kernel.title, ", ",
               kernel.source, ")");
  };
  if (graph) {
    CudaKernelNode node{code.function(step.kernel),
                        {step.grid[0], step.grid[1], step.grid[2]},
                        {kernel.block[0], kernel.block[1], kernel.block[2]},
                        kernel.sharedBytes,
                        step.parameters.data(),
                        nullptr,
                        nullptr,
                        nullptr};
    return graph->addKernel(node, what());
  }
  beginTiming();
  CUresult result = driver.call.launchKernel(
      code.function(step.kernel), step.grid[0], step.grid[1], step.grid[2],
      kernel.block[0], kernel.block[1], kernel.block[2], kernel.sharedBytes,
      stream, step.parameters.data(), nullptr);
  if (result != 0)
    driver.check(result, what());
  ++counts[step.kernel].calls;
  if (!timing)
    return;
  timing->end(stream, [&recorder = timing->recorder,
                       &counter = counts[step.kernel], kernel = step.kernel,
                       bytes = step.bytes, flops = step.flops, entry = entry,
                       call = call](double begin, double seconds) {
    ++counter.timedCalls;
    counter.seconds += seconds;
    counter.bytes += bytes;
    counter.flops += flops;
    recorder.kernel(kernel, entry, call, begin, seconds, bytes, flops);
  });
}

CUgraphNode CudaSink::copy(const CudaPlace &to, const CudaPlace &from,
                           uint64_t bytes, const char *what) {
  if (graph)
    return graph->addCopy(to, from, bytes);
  beginTiming();
  CUresult result =
      from.host
          ? driver.call.memcpyHtoDAsync(to.device, from.host, bytes, stream)
      : to.host
          ? driver.call.memcpyDtoHAsync(to.host, from.device, bytes, stream)
          : driver.call.memcpyDtoDAsync(to.device, from.device, bytes, stream);
  driver.check(result, cat(what, " (", bytesInWords(bytes), ")"));
  endTiming(what, bytes);
  return nullptr;
}

void CudaSink::step(CudaStep &step) {
  if (iterations.depth)
    step.moveTo(iterations);
  switch (step.op) {
  case Command::Op::Launch:
    return launch(step);
  case Command::Op::Copy:
    // Inside a loop two places may meet in some iteration.
    if (step.to == step.from)
      return;
    copy({nullptr, step.to}, {nullptr, step.from}, step.bytes,
         "copying on the GPU");
    return;
  case Command::Op::Fill:
    if (graph)
      return graph->addFill(step.to, step.byte, step.bytes);
    beginTiming();
    driver.check(
        driver.call.memsetD8Async(step.to, step.byte, step.bytes, stream),
        "filling memory on the GPU");
    endTiming("filling memory on the GPU", step.bytes);
    return;
  case Command::Op::Loop:
    iterations.forEach(step.trips, step.reverse, [&] {
      for (CudaStep &inner : step.body)
        this->step(inner);
    });
    return;
  }
}

} // namespace tdsrt
