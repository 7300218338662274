//===- ReadProgram.cpp - the text of a program -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadProgram.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

using llvm::StringRef;

static constexpr size_t largest = size_t(1) << 30;

static std::nullopt_t refuse(StringRef path, const llvm::Twine &why) {
  llvm::errs() << "tdslc: " << (path == "-" ? "standard input" : path) << " "
               << why << "\n";
  return std::nullopt;
}

/// Standard input may be anything, so it is read up to the limit only.
static std::optional<std::string> readInput() {
  std::string text;
  char block[65536];
  while (true) {
    ssize_t got = read(STDIN_FILENO, block, sizeof block);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return refuse("-", llvm::Twine("cannot be read: ") + strerror(errno));
    if (got == 0)
      return text;
    text.append(block, got);
    if (text.size() > largest)
      return refuse("-", "has more than 1 GiB; a program is shorter");
  }
}

std::optional<std::string> tdslc::readProgram(StringRef path) {
  if (path == "-")
    return readInput();
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return refuse(path, "cannot be read: " + error.message());
  if (llvm::sys::fs::is_directory(status))
    return refuse(path, "is a folder; give a .tds file");
  if (!llvm::sys::fs::is_regular_file(status))
    return refuse(path, "is not a regular file; `-` reads standard input");
  if (status.getSize() > largest)
    return refuse(path, "has more than 1 GiB; a program is shorter");
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return refuse(path, "cannot be read: " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}
