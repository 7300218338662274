//===- Artifact.cpp - containers of code and manifest -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core/Artifact.h"
#include "core/Json.h"

#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tdsrt {

namespace {
constexpr uint64_t artifactLimit = uint64_t(4) << 30;
constexpr std::string_view footerMark = "// tds-manifest ";
constexpr size_t maxFooter = 256;

bool startsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

/// Closes a descriptor on every way out.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
};
} // namespace

std::string readFile(const std::string &path, uint64_t limit) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0)
    fail(errno == ENOENT ? TDS_NOT_FOUND : TDS_IO, path, ": cannot be opened (",
         std::strerror(errno), "); check the path and its permissions");
  struct stat status;
  if (::fstat(file.number, &status) != 0 || !S_ISREG(status.st_mode))
    fail(TDS_IO, path, ": is not a regular file; give the path of a file");
  if (static_cast<uint64_t>(status.st_size) > limit)
    fail(TDS_BAD_DATA, path, ": has ", bytesInWords(status.st_size),
         ", but at most ", bytesInWords(limit),
         " are read; is it the right "
         "file?");
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t got = ::read(file.number, &bytes[done], bytes.size() - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      fail(TDS_IO, path, ": reading stopped after ", done, " of ", bytes.size(),
           " bytes (", got < 0 ? std::strerror(errno) : "the file shrank",
           "); try again");
    done += static_cast<size_t>(got);
  }
  return bytes;
}

namespace {

struct Footer {
  uint64_t offset, bytes;
  std::string_view hash;
  size_t lineBegin; ///< where the footer line begins
};

Footer parseFooter(std::string_view image, const std::string &name) {
  if (image.empty())
    fail(TDS_BAD_DATA, name,
         ": the file is empty; compile the program again with tdslc");
  auto noFooter = [&]() {
    fail(TDS_BAD_DATA, name,
         ": has no tds-manifest line at its end, so it was not written by "
         "tdslc, or it was cut short; compile it again");
  };
  if (image.back() != '\n')
    noFooter();
  size_t windowBegin = image.size() > maxFooter ? image.size() - maxFooter : 0;
  std::string_view window = image.substr(windowBegin);
  size_t begin = window.substr(0, window.size() - 1).rfind('\n');
  if (begin == std::string_view::npos)
    noFooter();
  std::string_view line = window.substr(begin + 1);
  line.remove_suffix(1);
  if (!startsWith(line, footerMark))
    noFooter();
  Footer footer;
  footer.lineBegin = windowBegin + begin + 1;
  line.remove_prefix(footerMark.size());
  auto number = [&]() -> uint64_t {
    size_t end = line.find(' ');
    if (end == std::string_view::npos || end == 0 || end > 15 ||
        line.substr(0, end).find_first_not_of("0123456789") !=
            std::string_view::npos)
      fail(TDS_BAD_DATA, name,
           ": its tds-manifest line is malformed; the file is damaged, compile "
           "it again");
    uint64_t value = std::stoull(std::string(line.substr(0, end)));
    line.remove_prefix(end + 1);
    return value;
  };
  footer.offset = number();
  footer.bytes = number();
  footer.hash = line;
  if (footer.offset > footer.lineBegin ||
      footer.bytes > footer.lineBegin - footer.offset)
    fail(TDS_BAD_DATA, name, ": its tds-manifest line points past the end (",
         footer.offset, " + ", footer.bytes, " of ", footer.lineBegin,
         " bytes); the file is damaged, compile it again");
  return footer;
}

/// Joins the comment lines of a .ptx: "// " and the newline of each go.
std::string joinComments(std::string_view text, const std::string &name) {
  std::string json;
  json.reserve(text.size());
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!startsWith(line, "// "))
      fail(TDS_BAD_DATA, name,
           ": its manifest is not made of comment lines; the file is damaged, "
           "compile it again");
    json += line.substr(3);
    if (end == std::string_view::npos)
      break;
    text.remove_prefix(end + 1);
  }
  return json;
}

} // namespace

Artifact readArtifact(std::string image, const std::string &name) {
  Footer footer = parseFooter(image, name);
  std::string_view all = image;
  Sha256 actual = sha256(all.substr(0, footer.lineBegin));
  if (footer.hash != hexText(actual))
    fail(TDS_BAD_DATA, name,
         ": its SHA-256 is not the one it was written with, so the file was "
         "changed or damaged; nothing of it was run, compile it again");
  std::string_view text = all.substr(footer.offset, footer.bytes);
  bool isElf = startsWith(all, "\177ELF");
  std::string json = isElf ? std::string(text) : joinComments(text, name);
  Artifact artifact;
  artifact.manifest = parseManifest(json, name);
  if (isElf != (artifact.manifest.target.kind == TDS_DEVICE_CPU))
    fail(TDS_BAD_DATA, name, ": holds ", isElf ? "an ELF object" : "text",
         ", but its manifest speaks of a ", isElf ? "CUDA" : "CPU",
         " target; the file is damaged, compile it again");
  artifact.name = name;
  // Comment lines have no newlines of their own, so that the hash leaves them
  // out everywhere.
  json.erase(std::remove(json.begin(), json.end(), '\n'), json.end());
  artifact.manifestHash = sha256(json);
  artifact.image = std::move(image);
  return artifact;
}

namespace {

struct ZipCloser {
  void operator()(zip_t *archive) const { zip_discard(archive); }
};
struct ZipFileCloser {
  void operator()(zip_file_t *file) const { zip_fclose(file); }
};

std::string zipErrorText(zip_error_t *error) {
  std::string text = zip_error_strerror(error);
  zip_error_fini(error);
  return text;
}

/// One stored member; its size is checked against the archive's own, so that
/// a header cannot make us allocate more than the file has.
std::string readMember(zip_t *archive, const std::string &member,
                       uint64_t archiveBytes, const std::string &name) {
  zip_int64_t index = zip_name_locate(archive, member.c_str(), 0);
  if (index < 0)
    fail(TDS_BAD_DATA, name, ": has no member '", printable(member),
         "'; the file is damaged, compile it again");
  zip_stat_t status;
  zip_stat_init(&status);
  constexpr zip_uint64_t wanted =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_COMP_SIZE;
  if (zip_stat_index(archive, static_cast<zip_uint64_t>(index), 0, &status) !=
          0 ||
      (status.valid & wanted) != wanted || status.comp_method != ZIP_CM_STORE ||
      status.size != status.comp_size || status.size > archiveBytes)
    fail(TDS_BAD_DATA, name, ": member '", printable(member),
         "' is not stored as it is (compressed, or of a wrong size); tdslc "
         "writes stored members, compile it again");
  std::unique_ptr<zip_file_t, ZipFileCloser> file(
      zip_fopen_index(archive, static_cast<zip_uint64_t>(index), 0));
  std::string bytes(status.size, '\0');
  zip_int64_t got =
      file ? zip_fread(file.get(), bytes.data(), bytes.size()) : -1;
  // The CRC is checked when the end is reached.
  char extra;
  if (got < 0 || static_cast<uint64_t>(got) != bytes.size() ||
      zip_fread(file.get(), &extra, 1) != 0)
    fail(TDS_BAD_DATA, name, ": member '", printable(member),
         "' cannot be read whole; the file is damaged, compile it again");
  return bytes;
}

} // namespace

Container Container::open(const std::string &path) {
  return fromMemory(readFile(path, artifactLimit), path);
}

Container Container::fromMemory(std::string bytes, std::string name) {
  Container container;
  container.containerName = std::move(name);
  const std::string &where = container.containerName;
  if (!startsWith(bytes, "PK\003\004")) {
    Member member;
    member.kind =
        startsWith(bytes, "\177ELF") ? TDS_DEVICE_CPU : TDS_DEVICE_CUDA;
    member.name = where;
    member.image = std::move(bytes);
    container.members.push_back(std::move(member));
    return container;
  }

  container.bundle = true;
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t *source =
      zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  if (!source)
    fail(TDS_OUT_OF_MEMORY, where, ": cannot be opened as a zip (",
         zipErrorText(&error), ")");
  std::unique_ptr<zip_t, ZipCloser> archive(
      zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error));
  if (!archive) {
    zip_source_free(source);
    fail(TDS_BAD_DATA, where, ": is not a sound zip (", zipErrorText(&error),
         "); the file is damaged, compile it again");
  }

  std::string text =
      readMember(archive.get(), "manifest.json", bytes.size(), where);
  std::string place = where + "(manifest.json)";
  nlohmann::json document = parseJson(text, place);
  JsonCursor root(document, place);
  uint64_t major = root.get("format").get("major").integer();
  root.get("format").get("minor").integer();
  if (major != 1)
    fail(TDS_UNSUPPORTED, where, ": the bundle has format ", major,
         ", but this runtime reads format 1; install a newer tdsl runtime or "
         "compile it again");
  if (root.get("container").string() != "tdsx")
    root.get("container").bad("is not 'tdsx'");
  JsonCursor targets = root.get("targets");
  if (targets.size() == 0)
    targets.bad("is empty");
  if (targets.size() > 256)
    targets.bad("has more than 256 members");
  for (size_t i = 0; i < targets.size(); ++i) {
    JsonCursor at = targets.at(i);
    Member member;
    const std::string &kind = at.get("kind").string();
    if (kind != "cpu" && kind != "cuda")
      at.get("kind").bad("is '", printable(kind), "', not cpu or cuda");
    member.kind = kind == "cpu" ? TDS_DEVICE_CPU : TDS_DEVICE_CUDA;
    member.arch = at.get("arch").string(64);
    const std::string &file = at.get("file").string(255);
    for (size_t j = 0; j < i; ++j)
      if (container.members[j].name ==
          cat(where, '(', printable(file, 255), ')'))
        at.get("file").bad("is listed twice");
    member.name = cat(where, '(', printable(file, 255), ')');
    member.image = readMember(archive.get(), file, bytes.size(), where);
    if (member.image.size() != at.get("bytes").integer())
      at.get("bytes").bad("is ", at.get("bytes").integer(), ", but '",
                          printable(file), "' has ", member.image.size());
    if (at.get("sha256").string() != hexText(sha256(member.image)))
      fail(TDS_BAD_DATA, member.name,
           ": its SHA-256 is not the one in the bundle's manifest, so the file "
           "was changed or damaged; nothing of it was run, compile it again");
    container.members.push_back(std::move(member));
  }
  return container;
}

Artifact Container::load(size_t index) const {
  const Member &chosen = members[index];
  Artifact artifact = readArtifact(chosen.image, chosen.name);
  if (bundle && (artifact.manifest.target.kind != chosen.kind ||
                 artifact.manifest.target.arch != chosen.arch))
    fail(TDS_BAD_DATA, chosen.name, ": is for ", artifact.manifest.target.arch,
         ", but the bundle lists it as ", printable(chosen.arch),
         "; the file is damaged, compile it again");
  return artifact;
}

} // namespace tdsrt
