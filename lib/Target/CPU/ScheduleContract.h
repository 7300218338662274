//===- ScheduleContract.h - schedules of contractions and scatters -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_LIB_TARGET_CPU_SCHEDULECONTRACT_H
#define TDSL_LIB_TARGET_CPU_SCHEDULECONTRACT_H

#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Target/CPU/CPUTarget.h"

namespace tdsl::cpu {

mlir::FailureOr<mlir::DictionaryAttr> scheduleContract(tds::KernelOp kernel,
                                                       const CPUTarget &target);
mlir::DictionaryAttr scheduleScatter(tds::KernelOp kernel);

} // namespace tdsl::cpu

#endif // TDSL_LIB_TARGET_CPU_SCHEDULECONTRACT_H
