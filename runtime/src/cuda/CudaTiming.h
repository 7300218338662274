//===- CudaTiming.h - when kernels and copies ran on the device -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_CUDA_CUDATIMING_H
#define TDS_CUDA_CUDATIMING_H

#include "cuda/CudaMemory.h"
#include "profile/Recorder.h"

#include <deque>
#include <functional>

namespace tdsrt {

/// Puts events around work on streams and, when it is done, hands the times to
/// whoever wants them. Times are seconds of the recorder's clock. All members
/// need the context to be current.
class CudaTiming {
public:
  using Done = std::function<void(double begin, double seconds)>;

  /// Ties the device's clock to the host's: waits for the stream.
  CudaTiming(const CudaDriver &driver, Recorder &recorder, CUstream stream);

  void begin(CUstream stream);
  /// Ends what begin() of the same thread began; `done` is called by collect.
  void end(CUstream stream, Done done);
  /// Reports what the device has finished, in the order of begin().
  void collect();

  Recorder &recorder;

private:
  struct Mark {
    CudaEvent begin, end;
    Done done;
  };
  CudaEvent take();

  const CudaDriver &driver;
  std::deque<Mark> marks;
  std::vector<CudaEvent> spare;
  CudaEvent open;
  // Times are counted from an event that follows the run, since a float of
  // milliseconds has no digits left after hours.
  CudaEvent base;
  double baseTime = 0;
};

} // namespace tdsrt

#endif // TDS_CUDA_CUDATIMING_H
