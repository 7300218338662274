//===- InputFile.cpp - bounded reads of a file -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "data/InputFile.h"
#include "core/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tdsrt {

InputFile::InputFile(const std::string &path) : filePath(path) {
  // O_NONBLOCK: opening a pipe that nobody writes must not hang.
  descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    fail(errno == ENOENT ? TDS_NOT_FOUND : TDS_IO, path, ": cannot be opened (",
         std::strerror(errno), "); check the path and its permissions");
  struct stat status;
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    descriptor = -1;
    fail(TDS_IO, path, ": is not a regular file; give the path of a file");
  }
  fileSize = static_cast<uint64_t>(status.st_size);
}

InputFile::~InputFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

void InputFile::readAt(uint64_t offset, void *out, uint64_t bytes) const {
  char *to = static_cast<char *>(out);
  uint64_t done = 0;
  while (done < bytes) {
    size_t part = static_cast<size_t>(
        std::min<uint64_t>(bytes - done, uint64_t(1) << 30));
    ssize_t got =
        ::pread(descriptor, to + done, part, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      fail(TDS_IO, filePath, ": cannot be read at byte ", offset + done, " (",
           std::strerror(errno), ")");
    if (got == 0)
      fail(TDS_BAD_DATA, filePath, ": ends at byte ", offset + done, ", but ",
           bytes - done, " more were expected there; the file is cut short");
    done += static_cast<uint64_t>(got);
  }
}

} // namespace tdsrt
