//===- OutputFile.cpp - files that appear whole or not at all -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "data/OutputFile.h"
#include "core/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tdsrt {

/// The rename would put a file where a device, a pipe or a link was.
static void refuseToReplace(const std::string &path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    fail(TDS_IO, path, ": cannot be replaced, since it is ",
         S_ISDIR(status.st_mode)   ? "a folder"
         : S_ISLNK(status.st_mode) ? "a symbolic link"
                                   : "not a regular file",
         "; name a file");
}

OutputFile::OutputFile(const std::string &path)
    : path(path), temporary(path + ".tmp") {
  refuseToReplace(path);
  refuseToReplace(temporary);
  descriptor = ::open(
      temporary.c_str(),
      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (descriptor < 0)
    fail(TDS_IO, temporary, ": cannot be written (", std::strerror(errno),
         "); check that the folder exists and may be written");
}

OutputFile::~OutputFile() {
  if (descriptor < 0)
    return;
  ::close(descriptor);
  ::unlink(temporary.c_str());
}

void OutputFile::write(const void *data, uint64_t bytes) {
  const char *from = static_cast<const char *>(data);
  while (bytes > 0) {
    size_t part =
        static_cast<size_t>(std::min<uint64_t>(bytes, uint64_t(1) << 30));
    ssize_t put = ::write(descriptor, from, part);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      fail(TDS_IO, temporary, ": cannot be written (", std::strerror(errno),
           "); ", path, " is as it was");
    from += put;
    bytes -= static_cast<uint64_t>(put);
  }
}

void OutputFile::commit() {
  if (::fsync(descriptor) != 0)
    fail(TDS_IO, temporary, ": cannot be written (", std::strerror(errno),
         "); ", path, " is as it was");
  int closing = descriptor;
  descriptor = -1;
  if (::close(closing) != 0 ||
      std::rename(temporary.c_str(), path.c_str()) != 0) {
    int error = errno;
    ::unlink(temporary.c_str());
    fail(TDS_IO, path, ": cannot be replaced (", std::strerror(error), ")");
  }
  // The rename is durable once the folder is synced; a file system that cannot
  // do that has nothing more to offer.
  size_t slash = path.rfind('/');
  std::string folder =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle >= 0) {
    ::fsync(handle);
    ::close(handle);
  }
}

} // namespace tdsrt
