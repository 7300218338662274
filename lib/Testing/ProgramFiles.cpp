//===- ProgramFiles.cpp - one text that stands for several files -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramFiles.h"

using namespace tdsl;
using namespace tdsl::testing;
using llvm::StringRef;

ProgramFiles::ProgramFiles(StringRef text) {
  StringRef *current = &main;
  *current = text.take_front(0);
  for (StringRef rest = text; !rest.empty();) {
    auto [line, next] = rest.split('\n');
    StringRef words = line.trim();
    if (words.consume_front("// file ")) {
      current = &files[words.trim().str()];
      *current = next.take_front(0);
    } else {
      // The lines of a file follow one another.
      *current = StringRef(current->data(), rest.data() + rest.size() -
                                                next.size() - current->data());
    }
    if (words.consume_front("// define ")) {
      auto [name, value] = words.split('=');
      int64_t number = 0;
      if (!value.trim().getAsInteger(10, number))
        defines[name.trim().str()] = number;
    }
    rest = next;
  }
}

FrontendOptions ProgramFiles::getOptions() const {
  FrontendOptions options;
  options.checked = true;
  options.defines = defines;
  options.readFile = [this](StringRef path) {
    ImportedFile file;
    file.identity = path.str();
    auto known = files.find(path.str());
    if (known == files.end())
      file.problem = "the text holds no such file";
    else
      file.text = llvm::MemoryBuffer::getMemBufferCopy(known->second, path);
    return file;
  };
  return options;
}
