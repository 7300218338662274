//===- DataSource.cpp - open arrays in files -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "data/DataSource.h"
#include "core/Error.h"
#include "data/InputFile.h"
#include "data/Safetensors.h"

#include <zip.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <sys/stat.h>

namespace tdsrt {

DataSource::~DataSource() = default;

namespace {

constexpr uint64_t prefixBytes = 64 * 1024;
/// Arrays up to this size are kept in memory; larger ones are read as needed.
constexpr uint64_t cacheBytes = uint64_t(256) << 20;
/// What is compressed must fit into memory whole.
constexpr uint64_t unpackedLimit = uint64_t(4) << 30;

void swapBytes(void *data, uint64_t bytes, unsigned size) {
  char *at = static_cast<char *>(data);
  for (uint64_t i = 0; i + size <= bytes; i += size)
    std::reverse(at + i, at + i + size);
}

/// Puts the elements of an array whose first index runs fastest into row-major
/// order.
void putInRowOrder(std::string &data, uint64_t begin,
                   const ArrayLayout &layout) {
  size_t rank = layout.shape.size(), size = sizeOf(layout.type);
  std::vector<uint64_t> strides(rank, size);
  for (size_t axis = 1; axis < rank; ++axis)
    strides[axis] =
        strides[axis - 1] * static_cast<uint64_t>(layout.shape[axis - 1]);
  std::string ordered(layout.dataBytes, '\0');
  std::vector<int64_t> index(rank, 0);
  uint64_t from = 0;
  for (uint64_t to = 0; to < layout.dataBytes; to += size) {
    std::memcpy(&ordered[to], &data[begin + from], size);
    for (size_t axis = rank; axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < layout.shape[axis])
        break;
      from -= strides[axis] * static_cast<uint64_t>(layout.shape[axis]);
      index[axis] = 0;
    }
  }
  data.replace(begin, layout.dataBytes, ordered);
}

/// Bytes in memory.
class MemorySource : public DataSource {
public:
  std::string data; ///< the whole file or only the array
  uint64_t begin = 0;
  void read(uint64_t offset, void *out, uint64_t count) const override {
    if (count)
      std::memcpy(out, data.data() + begin + offset, count);
  }
};

/// Bytes of a file, read as they are asked for.
class FileSource : public DataSource {
public:
  std::shared_ptr<const InputFile> file;
  uint64_t begin = 0;
  bool bigEndian = false;
  void read(uint64_t offset, void *out, uint64_t count) const override {
    file->readAt(begin + offset, out, count);
    if (bigEndian && sizeOf(type) > 1)
      swapBytes(out, count, sizeOf(type));
  }
};

/// An array within a file; in memory when it is small.
std::unique_ptr<DataSource> sourceInFile(std::shared_ptr<const InputFile> file,
                                         const ArrayLayout &layout,
                                         const std::string &name) {
  if (layout.dataOffset > file->size() ||
      layout.dataBytes > file->size() - layout.dataOffset)
    fail(TDS_BAD_DATA, name, ": its header claims ",
         bytesInWords(layout.dataBytes), " of data (", nameOf(layout.type),
         shapeText(layout.shape), "), but the file has ",
         bytesInWords(file->size()), "; it is cut short or damaged");
  auto source = std::make_unique<FileSource>();
  source->file = std::move(file);
  source->begin = layout.dataOffset;
  source->bigEndian = layout.bigEndian;
  source->type = layout.type;
  source->shape = layout.shape;
  source->name = name;
  if (layout.dataBytes > cacheBytes) {
    if (layout.firstIndexFastest)
      fail(TDS_BAD_DATA, name,
           ": is stored column by column (fortran_order) and too large to be "
           "put in order in memory; save numpy.ascontiguousarray(a) instead");
    return source;
  }
  auto cached = std::make_unique<MemorySource>();
  cached->data.resize(layout.dataBytes);
  source->read(0, cached->data.data(), layout.dataBytes);
  if (layout.firstIndexFastest)
    putInRowOrder(cached->data, 0, layout);
  cached->type = layout.type;
  cached->shape = layout.shape;
  cached->name = name;
  return cached;
}

/// An array in memory, with its header in front of it.
std::unique_ptr<DataSource> sourceInMemory(std::string data,
                                           const ArrayLayout &layout,
                                           const std::string &name) {
  if (data.size() != layout.dataOffset + layout.dataBytes)
    fail(TDS_BAD_DATA, name, ": its header claims ",
         bytesInWords(layout.dataBytes), " of data (", nameOf(layout.type),
         shapeText(layout.shape), "), but there are ",
         bytesInWords(data.size() -
                      std::min<uint64_t>(data.size(), layout.dataOffset)),
         "; it is cut short or damaged");
  auto source = std::make_unique<MemorySource>();
  source->data = std::move(data);
  source->begin = layout.dataOffset;
  source->type = layout.type;
  source->shape = layout.shape;
  source->name = name;
  if (layout.bigEndian && sizeOf(layout.type) > 1)
    swapBytes(&source->data[source->begin], layout.dataBytes,
              sizeOf(layout.type));
  if (layout.firstIndexFastest)
    putInRowOrder(source->data, source->begin, layout);
  return source;
}

bool hasSuffix(const std::string &text, const char *suffix) {
  size_t length = std::strlen(suffix);
  return text.size() >= length &&
         text.compare(text.size() - length, length, suffix) == 0;
}

ArrayLayout parseHeader(std::string_view prefix, const std::string &name) {
  if (looksLikeNpy(prefix) || hasSuffix(name, ".npy"))
    return parseNpyHeader(prefix, name);
  return parseIdxHeader(prefix, name);
}

/// Inflates a whole .gz. Memory grows with what really comes out, and no
/// further than the array's header says once that is known.
std::unique_ptr<DataSource> openGzip(const InputFile &file) {
  const std::string &name = file.path();
  std::string inner = name.substr(0, name.size() - 3);
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK)
    fail(TDS_OUT_OF_MEMORY, name, ": zlib cannot start");
  struct End {
    z_stream *stream;
    ~End() { inflateEnd(stream); }
  } end{&stream};

  std::string out;
  std::vector<char> input(1 << 18), chunk(1 << 18);
  std::optional<ArrayLayout> layout;
  uint64_t position = 0;
  bool memberOpen = true;
  for (;;) {
    if (stream.avail_in == 0) {
      uint64_t part = std::min<uint64_t>(input.size(), file.size() - position);
      if (part == 0)
        break;
      file.readAt(position, input.data(), part);
      position += part;
      stream.next_in = reinterpret_cast<Bytef *>(input.data());
      stream.avail_in = static_cast<uInt>(part);
    }
    if (!memberOpen) { // Another member follows: gzip allows that.
      inflateReset(&stream);
      memberOpen = true;
    }
    stream.next_out = reinterpret_cast<Bytef *>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    int result = inflate(&stream, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
      fail(TDS_BAD_DATA, name, ": its gzip data is damaged near byte ",
           position - stream.avail_in, " (",
           stream.msg ? stream.msg : "wrong check sum", "); fetch it again");
    size_t produced = chunk.size() - stream.avail_out;
    out.append(chunk.data(), produced);
    if (result == Z_STREAM_END)
      memberOpen = false;
    else if (result == Z_BUF_ERROR && produced == 0 && stream.avail_in != 0)
      fail(TDS_BAD_DATA, name, ": its gzip data is damaged; fetch it again");
    if (!layout && out.size() >= prefixBytes)
      layout = parseHeader(out, inner);
    uint64_t limit = layout ? layout->dataOffset + layout->dataBytes
                            : prefixBytes + chunk.size();
    if (limit > unpackedLimit)
      fail(TDS_BAD_DATA, name, ": unpacks to ", bytesInWords(limit),
           ", too much to keep in memory; unpack it with gunzip and give the "
           "file itself, which is then read piece by piece");
    if (out.size() > limit)
      fail(TDS_BAD_DATA, name, ": unpacks to more bytes than its header says (",
           limit, "); it is damaged");
  }
  if (memberOpen)
    fail(TDS_BAD_DATA, name, ": its gzip data is cut short after ", out.size(),
         " bytes; fetch it again");
  if (!layout)
    layout = parseHeader(out, inner);
  return sourceInMemory(std::move(out), *layout, name);
}

struct ZipCloser {
  void operator()(zip_t *archive) const { zip_discard(archive); }
};
struct ZipFileCloser {
  void operator()(zip_file_t *file) const { zip_fclose(file); }
};

std::unique_ptr<DataSource> openNpz(const std::string &path,
                                    const std::string &key) {
  int code = 0;
  std::unique_ptr<zip_t, ZipCloser> archive(
      zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    std::string text = zip_error_strerror(&error);
    zip_error_fini(&error);
    fail(TDS_BAD_DATA, path, ": is not a sound .npz (", text,
         "); save it again with numpy.savez");
  }
  std::string keys;
  zip_int64_t chosen = -1, count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char *member =
        zip_get_name(archive.get(), static_cast<zip_uint64_t>(i), 0);
    std::string shown = member ? member : "";
    if (hasSuffix(shown, ".npy"))
      shown.resize(shown.size() - 4);
    if (i < 10)
      keys += cat(i ? ", " : "", printable(shown));
    if (key.empty() ? count == 1 : shown == key)
      chosen = i;
  }
  if (chosen < 0)
    fail(TDS_INVALID_ARGUMENT, path, ": ",
         key.empty() ? "has several arrays or none"
                     : cat("has no array '", printable(key), "'"),
         " (it has: ", keys, "); write ", path, ":KEY with one of them");
  std::string name = cat(path, ':', key);
  std::unique_ptr<zip_file_t, ZipFileCloser> file(
      zip_fopen_index(archive.get(), static_cast<zip_uint64_t>(chosen), 0));
  auto damaged = [&]() {
    fail(TDS_BAD_DATA, name,
         ": cannot be unpacked; the file is damaged, save "
         "it again with numpy.savez");
  };
  if (!file)
    damaged();
  std::string out;
  std::vector<char> chunk(1 << 18);
  std::optional<ArrayLayout> layout;
  for (;;) {
    zip_int64_t got = zip_fread(file.get(), chunk.data(), chunk.size());
    if (got < 0)
      damaged();
    if (got == 0)
      break;
    out.append(chunk.data(), static_cast<size_t>(got));
    if (!layout && out.size() >= prefixBytes)
      layout = parseNpyHeader(out, name);
    if (layout && layout->dataOffset + layout->dataBytes > unpackedLimit)
      fail(TDS_BAD_DATA, name,
           ": is too large to keep in memory; save it as "
           ".npy, which is read piece by piece");
    if (layout && out.size() > layout->dataOffset + layout->dataBytes)
      damaged();
  }
  if (!layout)
    layout = parseNpyHeader(out, name);
  return sourceInMemory(std::move(out), *layout, name);
}

std::unique_ptr<DataSource> openSafetensors(const std::string &path,
                                            const std::string &key) {
  SafetensorsFile file(path);
  const auto &tensors = file.tensors();
  auto found =
      key.empty() && tensors.size() == 1 ? tensors.begin() : tensors.find(key);
  if (found == tensors.end()) {
    std::string keys;
    size_t count = 0;
    for (const auto &[name, tensor] : tensors)
      if (++count <= 10)
        keys += cat(count > 1 ? ", " : "", printable(name));
    fail(TDS_INVALID_ARGUMENT, path, ": ",
         key.empty() ? "has several tensors or none"
                     : cat("has no tensor '", printable(key), "'"),
         " (it has: ", keys, "); write ", path, ":KEY with one of them");
  }
  const SafeTensor &tensor = found->second;
  if (!tensor.unknownType.empty())
    fail(TDS_BAD_DATA, path, ": '", printable(found->first), "' has type ",
         printable(tensor.unknownType), ", which no input takes");
  ArrayLayout layout;
  layout.type = tensor.type;
  layout.shape = tensor.shape;
  layout.dataOffset = tensor.offset;
  layout.dataBytes = tensor.bytes;
  return sourceInFile(file.input(), layout, cat(path, ':', found->first));
}

} // namespace

std::unique_ptr<DataSource> openDataSource(const std::string &spec) {
  // PATH:KEY, unless a file of the whole name exists.
  std::string path = spec, key;
  struct stat status;
  size_t colon = spec.rfind(':');
  if (colon != std::string::npos && ::stat(spec.c_str(), &status) != 0) {
    path = spec.substr(0, colon);
    key = spec.substr(colon + 1);
  }
  auto file = std::make_shared<InputFile>(path);
  bool keyed = hasSuffix(path, ".npz") || hasSuffix(path, ".safetensors");
  if (!key.empty() && !keyed)
    fail(TDS_INVALID_ARGUMENT, path, ": a key ('", printable(key),
         "') goes with .npz and .safetensors files only");
  if (hasSuffix(path, ".safetensors"))
    return openSafetensors(path, key);
  if (hasSuffix(path, ".npz"))
    return openNpz(path, key);
  if (hasSuffix(path, ".txt")) {
    ArrayLayout layout;
    layout.shape = {static_cast<int64_t>(file->size())};
    layout.dataBytes = file->size();
    return sourceInFile(file, layout, path);
  }
  if (file->size() == 0)
    fail(TDS_BAD_DATA, path, ": the file is empty");
  std::string prefix(std::min<uint64_t>(file->size(), prefixBytes), '\0');
  file->readAt(0, prefix.data(), prefix.size());
  if (hasSuffix(path, ".gz")) {
    if (prefix.substr(0, 2) != "\x1f\x8b")
      fail(TDS_BAD_DATA, path, ": does not begin as a gzip file does");
    return openGzip(*file);
  }
  if (!looksLikeNpy(prefix) && !looksLikeIdx(prefix) &&
      !hasSuffix(path, ".npy") && !hasSuffix(path, ".idx"))
    fail(TDS_BAD_DATA, path,
         ": is not .npy, .npz, .safetensors, IDX or a .gz "
         "of these; text must be named .txt");
  ArrayLayout layout = parseHeader(prefix, path);
  if (file->size() != layout.dataOffset + layout.dataBytes &&
      file->size() > layout.dataOffset + layout.dataBytes)
    fail(TDS_BAD_DATA, path, ": has ",
         file->size() - layout.dataOffset - layout.dataBytes,
         " bytes behind the array that its header describes; it is damaged");
  return sourceInFile(file, layout, path);
}

} // namespace tdsrt
