//===- Container.cpp - the files that carry a manifest -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Artifact/Container.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"

#include <zip.h>

#include <memory>

using namespace llvm;
using namespace tdsl;

std::string tdsl::getSHA256(StringRef bytes) {
  return toHex(SHA256::hash(arrayRefFromStringRef(bytes)), /*LowerCase=*/true);
}

static std::string makeFooter(StringRef bytes, size_t offset, size_t size) {
  return formatv("// tds-manifest {0} {1} {2}\n", offset, size,
                 getSHA256(bytes))
      .str();
}

std::string tdsl::makePTXFile(StringRef ptx, StringRef manifest) {
  // Tools that read PTX line by line are spared lines of megabytes; the loader
  // joins the lines without the newlines.
  constexpr size_t longest = 4096;
  std::string file = ptx.str();
  if (!ptx.ends_with("\n"))
    file += '\n';
  size_t offset = file.size();
  while (!manifest.empty()) {
    auto [line, rest] = manifest.split('\n');
    do {
      file += "// ";
      file += line.take_front(longest);
      file += '\n';
      line = line.drop_front(std::min(longest, line.size()));
    } while (!line.empty());
    manifest = rest;
  }
  file += makeFooter(file, offset, file.size() - offset);
  return file;
}

Error tdsl::finishSharedObject(SmallVectorImpl<char> &object) {
  StringRef bytes(object.data(), object.size());
  Expected<std::unique_ptr<object::ObjectFile>> file =
      object::ObjectFile::createELFObjectFile(
          MemoryBufferRef(bytes, "shared object"));
  if (!file)
    return file.takeError();
  for (const object::SectionRef &section : (*file)->sections()) {
    Expected<StringRef> name = section.getName();
    if (!name)
      return name.takeError();
    if (*name != kManifestSection)
      continue;
    Expected<StringRef> contents = section.getContents();
    if (!contents)
      return contents.takeError();
    size_t offset = contents->data() - bytes.data(), size = contents->size();
    // The footer is a line of its own.
    if (!bytes.ends_with("\n"))
      object.push_back('\n');
    std::string footer =
        makeFooter(StringRef(object.data(), object.size()), offset, size);
    object.append(footer.begin(), footer.end());
    return Error::success();
  }
  return createStringError("the shared object has no section " +
                           kManifestSection);
}

//===----------------------------------------------------------------------===//
// .tdsx
//===----------------------------------------------------------------------===//

static std::string makeContainerManifest(ArrayRef<ContainerMember> members) {
  std::string text;
  raw_string_ostream stream(text);
  json::OStream json(stream, /*IndentSize=*/1);
  json.object([&] {
    json.attributeObject("format", [&] {
      json.attribute("major", 1);
      json.attribute("minor", 0);
    });
    json.attribute("container", "tdsx");
    json.attributeArray("targets", [&] {
      for (const ContainerMember &member : members)
        json.object([&] {
          json.attribute("file", member.file);
          json.attribute("kind", member.kind);
          json.attribute("arch", member.arch);
          json.attribute("bytes", static_cast<int64_t>(member.bytes.size()));
          json.attribute("sha256", getSHA256(member.bytes));
        });
    });
  });
  text += '\n';
  return text;
}

namespace {
/// What libzip holds while an archive is written into memory.
struct ZipWriter {
  zip_error_t error;
  zip_source_t *target = nullptr;
  zip_t *archive = nullptr;

  ZipWriter() { zip_error_init(&error); }
  ~ZipWriter() {
    if (archive)
      zip_discard(archive);
    if (target)
      zip_source_free(target);
    zip_error_fini(&error);
  }

  Error fail(const Twine &what) {
    const char *why =
        archive ? zip_strerror(archive) : zip_error_strerror(&error);
    return createStringError(what + ": " + why);
  }

  Error open() {
    target = zip_source_buffer_create(nullptr, 0, 0, &error);
    if (!target)
      return fail("cannot begin a .tdsx file");
    archive = zip_open_from_source(target, ZIP_TRUNCATE, &error);
    if (!archive)
      return fail("cannot begin a .tdsx file");
    // One reference is the archive's and goes with it.
    zip_source_keep(target);
    return Error::success();
  }

  /// The bytes must live until close().
  Error add(StringRef name, StringRef bytes) {
    zip_source_t *source =
        zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
    if (!source)
      return fail("cannot add " + name);
    zip_int64_t index =
        zip_file_add(archive, name.str().c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      return fail("cannot add " + name);
    }
    // Stored, and dated 1980-01-01 whatever the clock and its zone.
    if (zip_set_file_compression(archive, index, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(archive, index, 0, (1 << 5) | 1, 0) != 0 ||
        zip_file_set_external_attributes(archive, index, 0, ZIP_OPSYS_UNIX,
                                         0100644u << 16) != 0)
      return fail("cannot add " + name);
    return Error::success();
  }

  Expected<std::string> close() {
    if (zip_close(archive) != 0)
      return fail("cannot write the .tdsx file");
    archive = nullptr;
    auto failRead = [&]() {
      return createStringError(Twine("cannot read the .tdsx file back: ") +
                               zip_error_strerror(zip_source_error(target)));
    };
    if (zip_source_open(target) != 0)
      return failRead();
    if (zip_source_seek(target, 0, SEEK_END) != 0)
      return failRead();
    zip_int64_t size = zip_source_tell(target);
    if (size < 0 || zip_source_seek(target, 0, SEEK_SET) != 0)
      return failRead();
    std::string bytes(size, '\0');
    if (zip_source_read(target, bytes.data(), size) != size)
      return failRead();
    zip_source_close(target);
    return bytes;
  }
};
} // namespace

Expected<std::string> tdsl::makeContainer(ArrayRef<ContainerMember> members) {
  StringSet<> names;
  for (const ContainerMember &member : members)
    if (member.file == "manifest.json" || !names.insert(member.file).second)
      return createStringError("a .tdsx file cannot hold two members named '" +
                               member.file + "'");
  std::string manifest = makeContainerManifest(members);
  ZipWriter zip;
  if (Error error = zip.open())
    return std::move(error);
  if (Error error = zip.add("manifest.json", manifest))
    return std::move(error);
  for (const ContainerMember &member : members)
    if (Error error = zip.add(member.file, member.bytes))
      return std::move(error);
  return zip.close();
}
