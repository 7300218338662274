//===- SanitizerOptions.cpp - how sanitized programs run -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's allocators mark memory that they have not given out. Their code is in
// headers, and so both in our sanitized objects and in Debian's libMLIR, which
// is not: what the one marks the other uses. LLVM also keeps what it
// registers until the process ends.
//
//===----------------------------------------------------------------------===//

extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_leaks=0";
}
