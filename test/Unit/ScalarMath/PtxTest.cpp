//===- PtxTest.cpp - every function as PTX -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Compile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

using namespace llvm;
using namespace tdsl::scalarmath;

namespace {

class Ptx : public testing::TestWithParam<const char *> {};

TEST_P(Ptx, NeedsNothingAndApproximatesNothing) {
  auto ptx = compileToPtx(GetParam());
  ASSERT_TRUE(bool(ptx)) << toString(ptx.takeError());
  StringRef text = *ptx;
  EXPECT_EQ(text.count(".entry"), checkKernels().size());
  // No hardware approximation, no flushing of subnormals, no call, no table.
  for (StringRef banned : {".approx", ".ftz", "call", ".extern", ".const"})
    EXPECT_FALSE(text.contains(banned)) << banned.str();
  EXPECT_TRUE(text.contains("fma.rn.f32"));
  EXPECT_TRUE(text.contains("div.rn.f32"));
  EXPECT_TRUE(text.contains("sqrt.rn.f32"));
  EXPECT_TRUE(text.contains("sqrt.rn.f64"));
}

TEST_P(Ptx, IsAcceptedByPtxas) {
#ifndef TDSL_PTXAS
  GTEST_SKIP() << "ptxas was not found when the build was configured";
#else
  auto ptx = compileToPtx(GetParam());
  ASSERT_TRUE(bool(ptx)) << toString(ptx.takeError());
  int handle;
  SmallString<128> source, log, object;
  ASSERT_FALSE(
      sys::fs::createTemporaryFile("scalarmath", "ptx", handle, source));
  raw_fd_ostream(handle, /*shouldClose=*/true) << *ptx;
  ASSERT_FALSE(sys::fs::createTemporaryFile("scalarmath", "log", log));
  ASSERT_FALSE(sys::fs::createTemporaryFile("scalarmath", "cubin", object));
  std::string arch = std::string("-arch=") + GetParam();
  StringRef arguments[] = {TDSL_PTXAS, arch, "-v", "-o", object, source};
  std::optional<StringRef> redirects[] = {std::nullopt, log.str(), log.str()};
  std::string message;
  int status = sys::ExecuteAndWait(TDSL_PTXAS, arguments, std::nullopt,
                                   redirects, 300, 0, &message);
  auto output = MemoryBuffer::getFile(log);
  std::string text = output ? (*output)->getBuffer().str() : message;
  EXPECT_EQ(status, 0) << text;
  SmallVector<StringRef> lines;
  StringRef(text).split(lines, '\n');
  unsigned kernels = 0;
  for (StringRef line : lines)
    if (line.contains("spill stores")) {
      ++kernels;
      EXPECT_TRUE(line.contains("0 bytes stack frame, 0 bytes spill stores"))
          << line.str();
    }
  // ptxas names every kernel once; device functions would add to them.
  EXPECT_GE(kernels, checkKernels().size());
  for (const auto &path : {source, log, object})
    sys::fs::remove(path);
#endif
}

INSTANTIATE_TEST_SUITE_P(Chips, Ptx, testing::Values("sm_75", "sm_80", "sm_90"),
                         [](const auto &info) { return info.param; });

} // namespace
