//===- ToyProgram.h - a small program for the tests -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A linear model of four features in batches of 16, as tdslc would write it:
//   step     train(x: f32[16, 4], y: f32[16], lr: f32 = 0.05) -> (loss: f32)
//   step     guarded(ids: i32[16]) -> (v: f32[16])         with a run-time flag
//   function predict(x: f32[16, 4]) -> (p: f32[16])
//   function evaluate(x, y, weight: f32[16]) -> (mse: f32, count: i32)
//   function fill() -> (out: i64[1000])                    uses scratch
// The kernels are in toy_kernels.c; for the CUDA tests, PTX is only text.
//
//===----------------------------------------------------------------------===//

#ifndef TDS_TEST_TOYPROGRAM_H
#define TDS_TEST_TOYPROGRAM_H

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace toy {

constexpr int64_t batch = 16, features = 4;

nlohmann::json manifest(const std::string &arch = "x86-64-v2");
nlohmann::json cudaManifest(const std::string &arch = "sm_80");

/// The kernels' shared object as the C compiler wrote it.
std::string elf();

/// The footer line over `body`, whose manifest text is at [offset, +bytes).
std::string sign(const std::string &body, size_t offset, size_t bytes);

/// `planText` is what the plan hash is made of; empty: the manifest itself.
std::string packSo(const std::string &manifestText,
                   const std::string &planText = "");
std::string packPtx(const std::string &manifestText,
                    const std::string &ptx = ".version 7.0\n.target sm_80\n");
struct Member {
  std::string file, kind, arch, image;
};
std::string packTdsx(const std::vector<Member> &members);
std::string zipOf(const std::vector<std::pair<std::string, std::string>> &files,
                  bool stored = true);

/// The whole program for the CPU.
std::string program();

/// A folder that is removed at the end of the test.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string path(const std::string &name) const {
    return folder + "/" + name;
  }
  std::string write(const std::string &name, const std::string &bytes) const;

private:
  std::string folder;
};

std::string readAll(const std::string &path);
void writeAll(const std::string &path, const std::string &bytes);

/// A .npy file.
std::string npy(const std::string &descr, const std::vector<int64_t> &shape,
                const std::string &data);
template <typename T> std::string bytesOf(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()),
                     values.size() * sizeof(T));
}

/// x and y of `rows` rows with y = 1*x0 + 2*x1 + 3*x2 + 4*x3 + 5.
void linearData(int64_t rows, std::vector<float> &x, std::vector<float> &y);

} // namespace toy

#endif // TDS_TEST_TOYPROGRAM_H
