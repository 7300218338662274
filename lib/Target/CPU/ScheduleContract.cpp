#include "ScheduleContract.h"
#include "KernelFrame.h"
using namespace tdsl;
mlir::FailureOr<mlir::DictionaryAttr> cpu::scheduleContract(tds::KernelOp, const CPUTarget&) { return mlir::failure(); }
mlir::DictionaryAttr cpu::scheduleScatter(tds::KernelOp) { return {}; }
mlir::LogicalResult cpu::emitContract(KernelFrame&) { return mlir::failure(); }
mlir::LogicalResult cpu::emitScatter(KernelFrame&) { return mlir::failure(); }
