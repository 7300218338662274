//===- Access.h - checked addresses of a warp's lanes -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TDSL_SIM_EXEC_ACCESS_H
#define TDSL_SIM_EXEC_ACCESS_H

#include "check/Shadow.h"
#include "exec/Lanes.h"

namespace tds::sim {

/// The addresses of all lanes by the form that the decoder chose (`form`: 0
/// 64-bit register, 1 32-bit register, 2 number, 3 local frame). Lanes that do
/// not execute get the address of the first that does, so that what follows
/// can treat all alike.
void laneAddresses(Warp &w, u32 reg, u32 form, s64 offset, u64 *out);

/// Host pointers for an access of `bytes` at each lane's address in `space`,
/// bounds, alignment, initialisation and races checked. Peek: only bounds and
/// alignment.
enum class Use : u8 { Read, Write, Atomic, Peek };
void resolve(Warp &w, Space space, const u64 *address, u32 bytes, u32 align,
             Use use, u8 **out);

/// The same for shared addresses that are known to be 32-bit.
void checkSharedBounds(Warp &w, const u32 *address, u32 bytes, u32 align,
                       const char *verb);

/// Host pointer for one lane's access to global memory.
u8 *resolveGlobal(Warp &w, int lane, u64 address, u32 bytes, u32 align,
                  Use use);

} // namespace tds::sim

#endif // TDSL_SIM_EXEC_ACCESS_H
