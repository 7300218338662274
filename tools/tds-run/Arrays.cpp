//===- Arrays.cpp - write .npy and .npz -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Arrays.h"

#include <zip.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace tdsrun {

std::string npyBytes(const NamedArray &array) {
  static const char *const codes[] = {"|b1", "|i1", "|u1", "<i4", "<i8",
                                      "<f2", "<f4", "<f4", "<f8"};
  std::string header = "{'descr': '";
  header += codes[array.type];
  header += "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < array.shape.size(); ++i)
    header += std::to_string(array.shape[i]) +
              (i + 1 < array.shape.size() || i == 0 ? "," : "") +
              (i + 1 < array.shape.size() ? " " : "");
  header += "), }";
  constexpr size_t prelude = 10, alignment = 64;
  header.append(
      (alignment - (prelude + header.size() + 1) % alignment) % alignment, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  if (array.type != TDS_BF16)
    return bytes.append(array.data.data(), array.data.size());
  for (size_t i = 0; i + 1 < array.data.size(); i += 2) {
    const char wide[4] = {0, 0, array.data[i], array.data[i + 1]};
    bytes.append(wide, sizeof wide);
  }
  return bytes;
}

[[noreturn]] static void failIO(const std::string &path, const char *why) {
  throw tds::Error(TDS_IO, path + ": cannot be written (" + why +
                               "); check that the folder exists and may be "
                               "written");
}

void writeFile(const std::string &path, const std::string &bytes) {
  std::string temporary = path + ".tmp";
  FILE *file = std::fopen(temporary.c_str(), "wbe");
  if (!file)
    failIO(temporary, std::strerror(errno));
  bool written =
      std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  written &= std::fflush(file) == 0;
  int error = errno;
  std::fclose(file);
  if (!written || std::rename(temporary.c_str(), path.c_str()) != 0) {
    if (written)
      error = errno;
    std::remove(temporary.c_str());
    failIO(path, std::strerror(error));
  }
}

void writeNpz(const std::string &path, const std::vector<NamedArray> &arrays) {
  int code = 0;
  std::string temporary = path + ".tmp";
  zip_t *archive =
      zip_open(temporary.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (!archive)
    failIO(temporary, "zip error");
  std::vector<std::string> members; // alive until the archive is closed
  members.reserve(arrays.size());
  for (const NamedArray &array : arrays) {
    members.push_back(npyBytes(array));
    zip_source_t *source = zip_source_buffer(archive, members.back().data(),
                                             members.back().size(), 0);
    zip_int64_t index =
        source ? zip_file_add(archive, (array.name + ".npy").c_str(), source,
                              ZIP_FL_ENC_UTF_8)
               : -1;
    if (index < 0) {
      if (source)
        zip_source_free(source);
      zip_discard(archive);
      failIO(path, "zip error");
    }
    auto member = static_cast<zip_uint64_t>(index);
    zip_set_file_compression(archive, member, ZIP_CM_STORE, 0);
    // The same results give the same bytes: no time of day in them.
    zip_file_set_dostime(archive, member, 0, 0x21, 0);
  }
  if (zip_close(archive) != 0) {
    std::string why = zip_strerror(archive);
    zip_discard(archive);
    failIO(path, why.c_str());
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    int error = errno;
    std::remove(temporary.c_str());
    failIO(path, std::strerror(error));
  }
}

} // namespace tdsrun
