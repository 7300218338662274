//===- LinkSharedObject.cpp - the linker, in process -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LinkSharedObject.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
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

/// An ELF object that holds the manifest, its hash and the name of that.
/// Written by hand, since no assembler lets a section of text stay out of
/// memory without copying it.
static std::string manifestObject(StringRef manifest) {
  using namespace ELF;
  std::string text = manifest.str();
  llvm::erase(text, '\n');
  std::array<uint8_t, 32> hash = SHA256::hash(arrayRefFromStringRef(text));
  const char names[] = "\0.strtab\0.tds.manifest\0.rodata\0.symtab\0"
                       "tds_plan_sha256";
  enum { Strings = 1, Manifest, Data, Symbols, NumSections };
  std::string object(sizeof(Elf64_Ehdr), '\0');
  Elf64_Shdr sections[NumSections]{};
  auto add = [&](unsigned section, unsigned name, uint32_t type,
                 const void *bytes, size_t size, uint64_t alignment) {
    object.resize(alignTo(object.size(), alignment), '\0');
    Elf64_Shdr &header = sections[section];
    header.sh_name = name;
    header.sh_type = type;
    header.sh_offset = object.size();
    header.sh_size = size;
    header.sh_addralign = alignment;
    object.append(static_cast<const char *>(bytes), size);
  };
  Elf64_Sym symbols[2]{};
  symbols[1].st_name = 39;
  symbols[1].setBindingAndType(STB_GLOBAL, STT_OBJECT);
  symbols[1].st_shndx = Data;
  symbols[1].st_size = hash.size();
  add(Strings, 1, SHT_STRTAB, names, sizeof(names), 1);
  add(Manifest, 9, SHT_PROGBITS, manifest.data(), manifest.size(), 1);
  add(Data, 23, SHT_PROGBITS, hash.data(), hash.size(), 16);
  sections[Data].sh_flags = SHF_ALLOC;
  add(Symbols, 31, SHT_SYMTAB, symbols, sizeof(symbols), 8);
  sections[Symbols].sh_link = Strings;
  sections[Symbols].sh_info = 1; // the first symbol that is not local
  sections[Symbols].sh_entsize = sizeof(Elf64_Sym);

  object.resize(alignTo(object.size(), 8), '\0');
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
  header.e_shnum = NumSections;
  header.e_shstrndx = Strings;
  header.e_shoff = object.size();
  memcpy(object.data(), &header, sizeof(header));
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

Error tdsl::cpu::linkSharedObject(ArrayRef<std::string> objects,
                                  StringRef manifest,
                                  SmallVectorImpl<char> &sharedObject) {
  auto folder = TemporaryFolder::create();
  if (!folder)
    return folder.takeError();
  std::vector<std::string> codes;
  std::string text = (*folder)->file("manifest.o");
  std::string output = (*folder)->file("program.so");
  for (const std::string &object : objects) {
    codes.push_back(
        (*folder)->file("code" + std::to_string(codes.size()) + ".o"));
    if (Error error = writeFile(codes.back(), object))
      return error;
  }
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
                                         output.c_str()};
  for (const std::string &code : codes)
    arguments.push_back(code.c_str());
  arguments.push_back(text.c_str());
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
