//===- Mbarrier.h - barriers that live in shared memory ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TDSL_SIM_EXEC_MBARRIER_H
#define TDSL_SIM_EXEC_MBARRIER_H

namespace tds::sim {

class Registry;
struct Warp;
/// mbarrier.init, inval, arrive, arrive_drop, expect_tx, complete_tx,
/// test_wait, try_wait.
void registerMbarrier(Registry &r);

/// Does all cp.async copies of lane `lane` that are outstanding, and forgets
/// them.
void finishCopies(Warp &w, int lane);

} // namespace tds::sim

#endif // TDSL_SIM_EXEC_MBARRIER_H
