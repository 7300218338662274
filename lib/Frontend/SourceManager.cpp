//===- SourceManager.cpp - Source texts and places in them -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/Frontend/SourceManager.h"
#include <algorithm>
#include <cassert>

using namespace tdsl;
using llvm::StringRef;

SourceRange SourceRange::join(SourceRange a, SourceRange b) {
  if (!a.isValid())
    return b;
  if (!b.isValid())
    return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

SourceManager::FileId
SourceManager::addFile(std::unique_ptr<llvm::MemoryBuffer> buffer,
                       std::string name) {
  // One extra place per text, so that the end of a text belongs to it alone.
  uint64_t size = uint64_t(buffer->getBufferSize()) + 1;
  if (nextBase + size > UINT32_MAX)
    return ~0u;
  files.push_back({std::move(buffer), std::move(name), uint32_t(nextBase), {}});
  nextBase += size;
  return files.size() - 1;
}

SourceManager::FileId SourceManager::addText(StringRef text, std::string name) {
  return addFile(llvm::MemoryBuffer::getMemBufferCopy(text, name), name);
}

StringRef SourceManager::getText(FileId id) const {
  return files[id].buffer->getBuffer();
}
StringRef SourceManager::getName(FileId id) const { return files[id].name; }

SourceLoc SourceManager::getLoc(FileId id, size_t offset) const {
  return {uint32_t(files[id].base + offset)};
}

SourceManager::FileId SourceManager::getFile(SourceLoc loc) const {
  assert(loc.isValid() && !files.empty());
  auto it = std::upper_bound(
      files.begin(), files.end(), loc.offset,
      [](uint32_t offset, const File &f) { return offset < f.base; });
  return it - files.begin() - 1;
}

size_t SourceManager::getOffset(SourceLoc loc) const {
  return loc.offset - files[getFile(loc)].base;
}

const std::vector<uint32_t> &SourceManager::getLineStarts(FileId id) const {
  const File &file = files[id];
  if (file.lineStarts.empty()) {
    file.lineStarts.push_back(0);
    StringRef text = file.buffer->getBuffer();
    for (size_t i = 0; i < text.size(); ++i) {
      // LF and CRLF end a line; so does a lone CR.
      if (text[i] == '\n' ||
          (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n')))
        file.lineStarts.push_back(i + 1);
    }
  }
  return file.lineStarts;
}

LineColumn SourceManager::getLineColumn(SourceLoc loc) const {
  FileId id = getFile(loc);
  size_t offset = getOffset(loc);
  const std::vector<uint32_t> &starts = getLineStarts(id);
  size_t line =
      std::upper_bound(starts.begin(), starts.end(), offset) - starts.begin();
  StringRef text = getText(id);
  unsigned column = 1;
  for (size_t i = starts[line - 1]; i < offset && i < text.size(); ++i)
    if ((uint8_t(text[i]) & 0xC0) != 0x80)
      ++column;
  return {files[id].name, unsigned(line), column};
}

StringRef SourceManager::getLine(FileId id, unsigned line) const {
  const std::vector<uint32_t> &starts = getLineStarts(id);
  if (line == 0 || line > starts.size())
    return {};
  StringRef text = getText(id);
  size_t first = starts[line - 1];
  size_t last = line < starts.size() ? starts[line] : text.size();
  return text.slice(first, last).rtrim("\r\n");
}

StringRef SourceManager::getText(SourceRange range) const {
  if (!range.isValid())
    return {};
  FileId id = getFile(range.begin);
  size_t first = getOffset(range.begin);
  return getText(id).substr(first, range.end.offset - range.begin.offset);
}
