//===- Decoder.h - parsed module to executable program ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TDSL_SIM_DECODE_DECODER_H
#define TDSL_SIM_DECODE_DECODER_H

#include "exec/Program.h"

namespace tds::sim {

/// Decodes `module`, whose global and const variables have their addresses.
/// Throws PtxError with the line of whatever is unknown or malformed.
std::unique_ptr<Program> decode(Module &module);

/// Refuses a module whose .version or .target the device cannot run.
/// `maxPtx` is 90 for PTX ISA 9.0; `sm`, `suffix` describe the device.
void checkTarget(const Module &module, u32 maxPtx, u32 sm, char suffix);

} // namespace tds::sim

#endif // TDSL_SIM_DECODE_DECODER_H
