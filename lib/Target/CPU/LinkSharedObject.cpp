//===- LinkSharedObject.cpp - the linker, in process -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LinkSharedObject.h"

#include "lld/Common/Driver.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <cstring>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace llvm;

namespace {

/// A folder that only this user can enter, removed with all it holds.
class TemporaryFolder {
public:
  static Expected<std::unique_ptr<TemporaryFolder>> create() {
    SmallString<128> parent;
    sys::path::system_temp_directory(/*erasedOnReboot=*/true, parent);
    std::string pattern = (parent + "/tdsl-XXXXXX").str();
    if (!mkdtemp(pattern.data()))
      return createStringError(
          std::error_code(errno, std::generic_category()),
          "cannot make a temporary folder '" + pattern +
              "'; set TMPDIR to a folder that can be written");
    auto folder = std::make_unique<TemporaryFolder>();
    folder->path = pattern;
    return folder;
  }
  ~TemporaryFolder() {
    if (!path.empty())
      sys::fs::remove_directories(path);
  }
  std::string file(StringRef name) const {
    SmallString<128> result(path);
    sys::path::append(result, name);
    return std::string(result);
  }

private:
  SmallString<128> path;
};

} // namespace

/// An ELF object whose only content is the section. Written by hand, since no
/// assembler lets a section of text stay out of memory without copying it.
static std::string manifestObject(StringRef manifest) {
  using namespace ELF;
  const char names[] = "\0.shstrtab\0.tds.manifest";
  Elf64_Ehdr header{};
  memcpy(header.e_ident, ElfMagic, 4);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 1;
  uint64_t textAt = sizeof(Elf64_Ehdr) + sizeof(names);
  header.e_shoff = alignTo(textAt + manifest.size(), 8);

  Elf64_Shdr sections[3]{};
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_STRTAB;
  sections[1].sh_offset = sizeof(Elf64_Ehdr);
  sections[1].sh_size = sizeof(names);
  sections[1].sh_addralign = 1;
  sections[2].sh_name = 11;
  sections[2].sh_type = SHT_PROGBITS;
  sections[2].sh_offset = textAt;
  sections[2].sh_size = manifest.size();
  sections[2].sh_addralign = 1;

  std::string object(reinterpret_cast<char *>(&header), sizeof(header));
  object.append(names, sizeof(names));
  object.append(manifest.data(), manifest.size());
  object.resize(header.e_shoff, '\0');
  object.append(reinterpret_cast<char *>(sections), sizeof(sections));
  return object;
}

static Error writeFile(const std::string &path, StringRef content) {
  std::error_code error;
  raw_fd_ostream stream(path, error);
  if (error)
    return createStringError(error, "cannot write '" + path + "'");
  stream << content;
  stream.close();
  if (stream.has_error()) {
    error = stream.error();
    stream.clear_error();
    return createStringError(error, "cannot write '" + path + "'");
  }
  return Error::success();
}

Error tdsl::cpu::linkSharedObject(StringRef object, StringRef manifest,
                                  SmallVectorImpl<char> &sharedObject) {
  auto folder = TemporaryFolder::create();
  if (!folder)
    return folder.takeError();
  std::string code = (*folder)->file("code.o");
  std::string text = (*folder)->file("manifest.o");
  std::string output = (*folder)->file("program.so");
  if (Error error = writeFile(code, object))
    return error;
  if (Error error = writeFile(text, manifestObject(manifest)))
    return error;

  // No build id and no path of this machine: the same input gives the same
  // bytes.
  std::vector<const char *> arguments = {"ld.lld",
                                         "-shared",
                                         "-soname=tds-program.so",
                                         "--no-undefined",
                                         "--build-id=none",
                                         "--hash-style=gnu",
                                         "-z",
                                         "now",
                                         "-z",
                                         "noexecstack",
                                         "--strip-debug",
                                         "--threads=1",
                                         "-o",
                                         output.c_str(),
                                         code.c_str(),
                                         text.c_str()};
  std::string messages;
  raw_string_ostream stream(messages);
  const lld::DriverDef drivers[] = {{lld::Gnu, &lld::elf::link}};
  lld::Result result = lld::lldMain(arguments, stream, stream, drivers);
  if (result.retCode != 0)
    return createStringError("the linker refused the object code: " + messages);
  auto buffer = MemoryBuffer::getFile(output, /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError(buffer.getError(),
                             "cannot read '" + output + "' back");
  StringRef bytes = (*buffer)->getBuffer();
  sharedObject.assign(bytes.begin(), bytes.end());
  return Error::success();
}
