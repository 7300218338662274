//===- ToyProgram.cpp - a small program for the tests -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ToyProgram.h"
#include "core/Sha256.h"

#include <zip.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

using nlohmann::json;

namespace toy {

namespace {

json operand(const char *space, int index, int64_t offset, int64_t bytes) {
  return json::array({space, index, offset, bytes});
}
json launch(int kernel, int64_t work, std::vector<json> args,
            std::vector<int64_t> sizes = {}) {
  return {{"op", "launch"}, {"kernel", kernel}, {"grid", {work, 1, 1}},
          {"work", work},   {"args", args},     {"sizes", sizes}};
}
json kernel(const char *symbol, const char *title, int buffers, int sizes) {
  return {{"symbol", symbol},        {"kind", "loop"},      {"title", title},
          {"source", "toy.tds:1:1"}, {"block", {64, 1, 1}}, {"shared_bytes", 0},
          {"buffers", buffers},      {"sizes", sizes}};
}
json variable(const char *name, const char *role, const char *type,
              std::vector<int64_t> shape, int slab, int64_t offset) {
  return {{"name", name},   {"role", role}, {"type", type},
          {"shape", shape}, {"slab", slab}, {"offset", offset}};
}
json port(const char *name, const char *type, std::vector<int64_t> shape,
          int64_t offset, bool dataAxis) {
  json out = {
      {"name", name}, {"type", type}, {"shape", shape}, {"offset", offset}};
  if (dataAxis)
    out["data_axis"] = 0;
  return out;
}

constexpr int64_t slabBytes = 512 + 512 + 8 + 264;
constexpr int64_t constBytes = 32;

json entry(const char *name, const char *kind, json inputs, json results,
           int64_t inputBytes, int64_t resultBytes, int64_t arenaBytes,
           int64_t scratchBytes, json commands) {
  return {{"name", name},
          {"kind", kind},
          {"inputs", inputs},
          {"results", results},
          {"input_bytes", inputBytes},
          {"result_bytes", resultBytes},
          {"arena_bytes", arenaBytes},
          {"scratch_bytes", scratchBytes},
          {"peak_bytes",
           slabBytes + constBytes + inputBytes + resultBytes + arenaBytes},
          {"peak",
           {{"command", 0},
            {"live_arena_bytes", arenaBytes},
            {"largest",
             {{{"role", "param"},
               {"name", "w"},
               {"bytes", 16},
               {"type", "f32"},
               {"shape", {4}},
               {"source", "toy.tds:1:1"}},
              {{"role", "value"}, {"bytes", 8}}}}}},
          {"commands", commands}};
}

json base() {
  // Slabs: 0 params (w, b), 1 optimizer (mw, mb), 2 state, 3 counters.
  json w = operand("slab", 0, 0, 16), b = operand("slab", 0, 256, 4);
  json mw = operand("slab", 1, 0, 16), mb = operand("slab", 1, 256, 4);
  json seen = operand("slab", 2, 0, 8);
  json step = operand("slab", 3, 0, 8), seed = operand("slab", 3, 256, 8);
  json x = operand("input", 0, 0, 256), y = operand("input", 0, 256, 64);
  json lr = operand("input", 0, 512, 4);
  // Arena of train: p, gw, gb.
  json p = operand("arena", 0, 0, 64), gw = operand("arena", 0, 256, 16);
  json gb = operand("arena", 0, 512, 4);

  json portX = port("x", "f32", {batch, features}, 0, true);
  json portY = port("y", "f32", {batch}, 256, true);
  json portLr = port("lr", "f32", {}, 512, false);
  portLr["default"] = 0.05;
  json weight = port("weight", "f32", {batch}, 512, true);
  weight["role"] = "weight";
  json ids = port("ids", "i32", {batch}, 0, true);
  json flags = {
      {{"text", "gather index out of range"}, {"source", "toy.tds:12:7"}}};

  json init = entry(
      "init", "init", {port("seed", "i64", {}, 0, false)}, json::array(), 8, 0,
      0, 0,
      {launch(0, 1,
              {operand("input", 0, 0, 8), w, b, mw, mb, seen, step, seed})});
  json train = entry(
      "train", "step", {portX, portY, portLr},
      {port("loss", "f32", {}, 0, false)}, 516, 4, 516, 0,
      {launch(1, batch, {x, w, b, p}),
       launch(2, 1, {x, y, p, seed, step, gw, gb, operand("result", 0, 0, 4)},
              {batch}),
       launch(3, features, {w, mw, gw, lr}), launch(3, 1, {b, mb, gb, lr}),
       launch(4, 1, {seen}, {batch}), launch(4, 1, {step}, {1})});
  json predict = entry(
      "predict", "function", {portX}, {port("p", "f32", {batch}, 0, true)}, 256,
      64, 0, 0, {launch(1, batch, {x, w, b, operand("result", 0, 0, 64)})});
  json evaluate = entry(
      "evaluate", "function", {portX, portY, weight},
      {port("mse", "f32", {}, 0, false), port("count", "i32", {}, 256, false)},
      576, 260, 64, 0,
      {launch(1, batch, {x, w, b, p}),
       launch(5, 1,
              {p, y, operand("input", 0, 512, 64), operand("result", 0, 0, 4),
               operand("result", 0, 256, 4)},
              {batch})});
  // A step that fails where an id is out of range; it counts only where not:
  // the toy has no predicated writes, so its commands write nothing but flags.
  json guarded =
      entry("guarded", "step", {ids},
            {port("v", "f32", {batch}, 0, true),
             port("tds.flags", "i32", {1}, 256, false)},
            64, 260, 0, 0,
            {json{{"op", "fill"},
                  {"to", operand("result", 0, 256, 4)},
                  {"bytes", 4},
                  {"byte", 0}},
             launch(6, batch,
                    {operand("const", 0, 0, 32), operand("input", 0, 0, 64),
                     operand("result", 0, 0, 64), operand("result", 0, 256, 4)},
                    {8})});
  guarded["flags"] = flags;
  // Copied in ten parts.
  json toPart = operand("result", 0, 0, 800),
       fromPart = operand("arena", 0, 0, 800);
  toPart.push_back(json::array({800}));
  fromPart.push_back(json::array({800}));
  json copyPart = {
      {"op", "copy"}, {"to", toPart}, {"from", fromPart}, {"bytes", 800}};
  json fill = entry("fill", "function", json::array(),
                    {port("out", "i64", {1000}, 0, false)}, 0, 8000, 8000, 64,
                    {launch(7, 1000, {operand("arena", 0, 0, 8000)}),
                     json{{"op", "loop"},
                          {"trips", 10},
                          {"reverse", true},
                          {"commands", json::array({copyPart})}}});

  return {
      {"format", {{"major", 1}, {"minor", 0}}},
      {"kernel_abi", 1},
      {"producer", "a test"},
      {"program", {{"name", "toy.tds"}, {"hash", std::string(64, 'a')}}},
      {"slabs",
       {{{"role", "param"}, {"type", "f32"}, {"bytes", 512}},
        {{"role", "optimizer"}, {"type", "f32"}, {"bytes", 512}},
        {{"role", "state"}, {"type", "i64"}, {"bytes", 8}},
        {{"role", "counter"}, {"type", "i64"}, {"bytes", 264}}}},
      {"variables",
       {variable("net.w", "param", "f32", {features}, 0, 0),
        variable("net.b", "param", "f32", {}, 0, 256),
        variable("opt.train.0.net.w.m", "optimizer", "f32", {features}, 1, 0),
        variable("opt.train.0.net.b.m", "optimizer", "f32", {}, 1, 256),
        variable("seen", "state", "i64", {}, 2, 0),
        variable("tds.step", "counter", "i64", {}, 3, 0),
        variable("tds.seed", "counter", "i64", {}, 3, 256)}},
      // Eight floats 0, 1, ... 7.
      {"constants",
       {{{"bytes", 32},
         {"base64", "AAAAAAAAgD8AAABAAABAQAAAgEAAAKBAAADAQAAA4EA="}}}},
      {"kernels",
       {kernel("toy_init", "initialisers", 8, 0),
        kernel("toy_forward", "x @ w + b", 4, 0),
        kernel("toy_gradient", "gradient of the loss", 8, 1),
        kernel("toy_update", "momentum", 4, 0),
        kernel("toy_count", "a counter", 1, 1),
        kernel("toy_evaluate", "weighted error", 5, 1),
        kernel("toy_gather", "table[ids]", 4, 1),
        kernel("toy_scratch", "3 * i", 1, 0)}},
      {"entries", {init, train, predict, evaluate, guarded, fill}}};
}

} // namespace

json manifest(const std::string &arch) {
  json out = base();
  out["target"] = {{"kind", "cpu"}, {"arch", arch}};
  return out;
}

json cudaManifest(const std::string &arch) {
  json out = base();
  out["target"] = {{"kind", "cuda"},
                   {"arch", arch},
                   {"ptx_isa", "7.0"},
                   {"min_driver", 11000}};
  return out;
}

std::string elf() { return readAll(TOY_KERNELS); }

std::string sign(const std::string &body, size_t offset, size_t bytes) {
  std::ostringstream footer;
  footer << "// tds-manifest " << offset << ' ' << bytes << ' '
         << tdsrt::hexText(tdsrt::sha256(body)) << '\n';
  return body + footer.str();
}

std::string packSo(const std::string &manifestText,
                   const std::string &planText) {
  std::string body = elf();
  // The marker of toy_kernels.c.
  size_t marker = body.find("\xA5\x5Atoy-plan-hash-goes-here!!!!!\x5A\xA5");
  if (marker == std::string::npos)
    throw std::runtime_error("the toy's shared object has no plan hash");
  tdsrt::Sha256 hash =
      tdsrt::sha256(planText.empty() ? manifestText : planText);
  body.replace(marker, hash.size(), std::string(hash.begin(), hash.end()));
  size_t offset = body.size();
  body += manifestText + "\n";
  return sign(body, offset, manifestText.size());
}

std::string packPtx(const std::string &manifestText, const std::string &ptx) {
  std::string body = ptx;
  size_t offset = body.size();
  constexpr size_t width = 100;
  for (size_t at = 0; at < manifestText.size(); at += width)
    body += "// " + manifestText.substr(at, width) + "\n";
  return sign(body, offset, body.size() - offset);
}

std::string zipOf(const std::vector<std::pair<std::string, std::string>> &files,
                  bool stored) {
  TemporaryFolder folder;
  int code = 0;
  zip_t *archive =
      zip_open(folder.path("a.zip").c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (!archive)
    throw std::runtime_error("zip_open");
  for (const auto &[name, bytes] : files) {
    zip_source_t *source =
        zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
    zip_int64_t index = zip_file_add(archive, name.c_str(), source, 0);
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(index),
                             stored ? ZIP_CM_STORE : ZIP_CM_DEFLATE, 0);
  }
  if (zip_close(archive) != 0)
    throw std::runtime_error("zip_close");
  return readAll(folder.path("a.zip"));
}

std::string packTdsx(const std::vector<Member> &members) {
  json targets = json::array();
  std::vector<std::pair<std::string, std::string>> files(1);
  for (const Member &member : members) {
    targets.push_back(
        {{"file", member.file},
         {"kind", member.kind},
         {"arch", member.arch},
         {"bytes", member.image.size()},
         {"sha256", tdsrt::hexText(tdsrt::sha256(member.image))}});
    files.emplace_back(member.file, member.image);
  }
  json document = {{"format", {{"major", 1}, {"minor", 0}}},
                   {"container", "tdsx"},
                   {"targets", targets}};
  files[0] = {"manifest.json", document.dump()};
  return zipOf(files);
}

std::string program() { return packSo(manifest().dump()); }

TemporaryFolder::TemporaryFolder() {
  std::string name =
      (std::filesystem::temp_directory_path() / "tds-test-XXXXXX").string();
  if (!mkdtemp(name.data()))
    throw std::runtime_error("mkdtemp");
  folder = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

std::string TemporaryFolder::write(const std::string &name,
                                   const std::string &bytes) const {
  writeAll(path(name), bytes);
  return path(name);
}

std::string readAll(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw std::runtime_error(path + " cannot be read");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void writeAll(const std::string &path, const std::string &bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush())
    throw std::runtime_error(path + " cannot be written");
}

std::string npy(const std::string &descr, const std::vector<int64_t> &shape,
                const std::string &data) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : shape)
    header += std::to_string(extent) + ", ";
  header += "), }";
  header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  return out + header + data;
}

void linearData(int64_t rows, std::vector<float> &x, std::vector<float> &y) {
  uint32_t state = 12345;
  auto uniform = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(state >> 8) * 0x1p-24f * 2 - 1;
  };
  for (int64_t row = 0; row < rows; ++row) {
    float target = 5;
    for (int64_t i = 0; i < features; ++i) {
      x.push_back(uniform());
      target += static_cast<float>(i + 1) * x.back();
    }
    y.push_back(target);
  }
}

} // namespace toy
