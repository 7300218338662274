//===- Peaks.h - what this processor can reach -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_PROFILE_PEAKS_H
#define TDS_PROFILE_PEAKS_H

#include "core/Device.h"
#include "cpu/ThreadPool.h"

namespace tdsrt {

/// Measures copies between large arrays, and chains of multiply-adds in
/// registers, on all threads of the pool; the best of some repetitions. Takes
/// about a tenth of a second.
DevicePeaks measureCpuPeaks(ThreadPool &pool);

} // namespace tdsrt

#endif // TDS_PROFILE_PEAKS_H
