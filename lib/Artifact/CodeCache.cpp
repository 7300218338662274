//===- CodeCache.cpp - compiled code that is kept on disk -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An entry is a file `<key>.code`: one line
//
//   tds-code 1 <key> <bytes> <sha256>
//
// and then the code. It is written under a name of its own and renamed, which
// readers see as one step. The time of its last use is its time of change.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Artifact/CodeCache.h"

#include "tdsl/Artifact/Container.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace llvm;
using namespace tdsl;

static constexpr StringLiteral entryEnding = ".code", unfinishedEnding = ".tmp";
/// Age from which an unfinished file is taken for one of a compiler that was
/// killed.
static constexpr std::chrono::hours unfinishedAge(1);

Expected<CodeCache> CodeCache::fromEnvironment() {
  std::string folder = sys::Process::GetEnv("TDS_CACHE").value_or("");
  uint64_t limit = defaultLimit;
  if (std::optional<std::string> size =
          sys::Process::GetEnv("TDS_CACHE_SIZE")) {
    uint64_t mebibytes;
    if (StringRef(*size).getAsInteger(10, mebibytes) || mebibytes >= uint64_t(1)
                                                                         << 40)
      return createStringError("TDS_CACHE_SIZE is '" + *size +
                               "', but takes a number of MiB");
    limit = mebibytes << 20;
  }
  return CodeCache(folder, limit);
}

std::string CodeCache::getKey(ArrayRef<StringRef> parts) {
  std::string all;
  for (StringRef part : parts)
    all += std::to_string(part.size()) + " " + part.str();
  return getSHA256(all);
}

std::string CodeCache::getPath(StringRef key) const {
  SmallString<128> path(folder);
  sys::path::append(path, key + entryEnding);
  return path.str().str();
}

static std::string getHeader(StringRef key, StringRef code) {
  return ("tds-code 1 " + key + " " + Twine(code.size()) + " " +
          getSHA256(code) + "\n")
      .str();
}

std::optional<std::string> CodeCache::load(StringRef key) const {
  if (!isOn())
    return std::nullopt;
  std::string path = getPath(key);
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false,
                                    /*RequiresNullTerminator=*/false,
                                    /*IsVolatile=*/true);
  if (!file)
    return std::nullopt;
  auto [header, code] = (*file)->getBuffer().split('\n');
  if (getHeader(key, code) != (header + "\n").str()) {
    sys::fs::remove(path);
    return std::nullopt;
  }
  int open;
  if (!sys::fs::openFileForWrite(path, open, sys::fs::CD_OpenExisting,
                                 sys::fs::OF_Append)) {
    sys::fs::setLastAccessAndModificationTime(open,
                                              std::chrono::system_clock::now());
    sys::Process::SafelyCloseFileDescriptor(open);
  }
  return code.str();
}

Error CodeCache::store(StringRef key, StringRef code) const {
  if (!isOn())
    return Error::success();
  if (std::error_code error = sys::fs::create_directories(folder))
    return createStringError(error, "cannot make the folder '" + folder + "'");
  auto file = sys::fs::TempFile::create(folder + "/" + key + "-%%%%%%%%" +
                                        unfinishedEnding);
  if (!file)
    return createStringError(errorToErrorCode(file.takeError()),
                             "cannot write in the folder '" + folder + "'");
  raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
  stream << getHeader(key, code) << code;
  stream.flush();
  if (std::error_code error = stream.error()) {
    stream.clear_error();
    consumeError(file->discard());
    return createStringError(error,
                             "cannot write in the folder '" + folder + "'");
  }
  return file->keep(getPath(key));
}

void CodeCache::removeOldest() const {
  struct Entry {
    sys::TimePoint<> used;
    uint64_t bytes;
    std::string path;
  };
  SmallVector<Entry> entries;
  uint64_t all = 0;
  std::error_code error;
  auto now = std::chrono::system_clock::now();
  for (sys::fs::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    auto status = it->status();
    // Another compiler may have removed it.
    if (!status)
      continue;
    auto used = status->getLastModificationTime();
    StringRef path = it->path();
    if (path.ends_with(unfinishedEnding) && used + unfinishedAge < now)
      sys::fs::remove(path);
    if (!path.ends_with(entryEnding))
      continue;
    entries.push_back({used, status->getSize(), path.str()});
    all += status->getSize();
  }
  llvm::sort(entries, [](const Entry &lhs, const Entry &rhs) {
    return std::tie(lhs.used, lhs.path) < std::tie(rhs.used, rhs.path);
  });
  for (const Entry &entry : entries) {
    if (all <= limit)
      return;
    sys::fs::remove(entry.path);
    all -= entry.bytes;
  }
}
