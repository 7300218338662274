//===- Outputs.cpp - files that a run may write -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Outputs.h"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

namespace tdsrun {

namespace {

struct File {
  std::string option; ///< "--checkpoint"
  std::string path;
};

/// One file has many names: links, "./", "..". What exists is known by device
/// and inode, what does not yet by its canonical path.
bool isSameFile(const std::string &a, const std::string &b) {
  struct stat first{}, second{};
  bool existsA = stat(a.c_str(), &first) == 0;
  bool existsB = stat(b.c_str(), &second) == 0;
  if (existsA && existsB)
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
  if (existsA != existsB)
    return false;
  std::error_code ignored;
  auto canonical = [&](const std::string &path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path),
                                             ignored);
  };
  return canonical(a) == canonical(b);
}

/// The files of "x=a.npy,y=b.npz:key"; a key only where no file has the whole
/// name, as the loader has it.
void addBindings(const char *option, const std::string &bindings,
                 std::vector<File> &files) {
  for (size_t begin = 0; begin < bindings.size();) {
    size_t end = std::min(bindings.find(',', begin), bindings.size());
    std::string part = bindings.substr(begin, end - begin);
    begin = end + 1;
    std::string path = part.substr(part.find('=') + 1);
    struct stat status{};
    size_t colon = path.rfind(':');
    if (colon != std::string::npos && stat(path.c_str(), &status) != 0)
      path.resize(colon);
    files.push_back({option, path});
  }
}

[[noreturn]] void refuse(const File &file, const std::string &why) {
  throw UsageError(file.option + " " + file.path + ": " + why);
}

/// What is there now must be a regular file that begins as such files do.
void checkWhatIsThere(const File &file, const char *what,
                      const std::string &beginning) {
  struct stat status{};
  if (lstat(file.path.c_str(), &status) != 0)
    return;
  if (S_ISLNK(status.st_mode))
    refuse(file, "is a symbolic link, which writing would replace; name the "
                 "file itself");
  if (!S_ISREG(status.st_mode))
    refuse(file, S_ISDIR(status.st_mode)
                     ? "is a folder; name a file"
                     : "is not a regular file, and writing would replace it; "
                       "name a file");
  if (status.st_size == 0)
    return;
  std::string there(beginning.size(), '\0');
  std::ifstream stream(file.path, std::ios::binary);
  stream.read(there.data(), static_cast<std::streamsize>(there.size()));
  if (there != beginning)
    refuse(file, std::string("exists and is no ") + what +
                     ", so it is not overwritten; remove it or name another "
                     "file");
}

void checkCheckpoint(const File &file) {
  checkWhatIsThere(file, "checkpoint", "");
  struct stat status{};
  if (stat(file.path.c_str(), &status) != 0 || status.st_size == 0)
    return;
  tds_progress progress;
  if (tds_checkpoint_inspect(file.path.c_str(), &progress) != TDS_OK)
    refuse(file, "exists and is no checkpoint of tdsl, so it is not "
                 "overwritten; remove it or name another file");
}

bool hasSuffix(const std::string &text, const std::string &suffix) {
  return text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

} // namespace

void checkOutputs(const Options &options, Command command) {
  std::vector<File> inputs = {{"the artefact", options.artifact}}, outputs;
  addBindings("--data", options.data, inputs);
  addBindings("--eval-data", options.evalData, inputs);
  auto add = [](std::vector<File> &files, const char *option,
                const std::string &path) {
    if (!path.empty())
      files.push_back({option, path});
  };
  add(inputs, "--init-from", options.initFrom);
  add(inputs, "--map", options.map);
  add(command == Command::Train ? outputs : inputs, "--checkpoint",
      options.checkpoint);
  add(outputs, "--metrics", options.metrics);
  add(outputs, "--plot", options.plot);
  add(outputs, "--trace", options.trace);
  add(outputs, "-o", options.output);

  std::vector<File> written = outputs;
  for (const File &file : outputs)
    if (file.option != "--metrics") // which grows in place
      written.push_back(
          {"the temporary file of " + file.option, file.path + ".tmp"});
  for (size_t i = 0; i < written.size(); ++i) {
    for (const File &input : inputs)
      if (isSameFile(written[i].path, input.path))
        refuse(written[i], "is the same file as " + input.option + " " +
                               input.path +
                               ", which the run reads; name another file");
    for (size_t j = 0; j < i; ++j)
      if (isSameFile(written[i].path, written[j].path))
        refuse(written[i], "is the same file as " + written[j].option + " " +
                               written[j].path + "; name another file");
  }
  for (const File &file : written) {
    if (file.option == "--checkpoint")
      checkCheckpoint(file);
    else if (file.option == "--metrics")
      checkWhatIsThere(file, "file of metrics", "{\"step\": ");
    else if (file.option == "--plot")
      checkWhatIsThere(file, "picture (.svg)", "<svg");
    else if (file.option == "--trace")
      checkWhatIsThere(file, "trace", "{\"displayTimeUnit\"");
    else if (file.option == "-o" && hasSuffix(file.path, ".npz"))
      checkWhatIsThere(file, ".npz file", "PK");
    else if (file.option == "-o")
      checkWhatIsThere(file, ".npy file", "\x93NUMPY");
    else // A run that was killed leaves its temporary file.
      checkWhatIsThere(file, "temporary file", "");
  }
}

} // namespace tdsrun
