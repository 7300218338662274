//===- tds-reduce.cpp - shrinks a program that shows a fault -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Testing/Reducer.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

using namespace tdsl::testing;
namespace cl = llvm::cl;

static cl::OptionCategory category("Options of tds-reduce");
static cl::opt<std::string> file(cl::Positional, cl::Required,
                                 cl::desc("program.tds"));
static cl::list<std::string>
    command(cl::Positional, cl::OneOrMore,
            cl::desc("-- command [arguments; {} is the program's path]"));
static cl::opt<std::string>
    match("match", cl::desc("The command must also print this text"),
          cl::cat(category));
static cl::opt<unsigned>
    seconds("seconds", cl::init(60),
            cl::desc("A run that takes longer does not count (default 60)"),
            cl::cat(category));
static cl::opt<std::string> output("o", cl::init("-"),
                                   cl::desc("Where the result goes"),
                                   cl::cat(category));

namespace {
/// Runs the command on texts.
class Command {
public:
  bool prepare() {
    auto found = llvm::sys::findProgramByName(command.front());
    if (!found) {
      llvm::errs() << "tds-reduce: there is no program '" << command.front()
                   << "'\n";
      return false;
    }
    program = *found;
    return !llvm::sys::fs::createTemporaryFile("tds-reduce", "tds", path) &&
           !llvm::sys::fs::createTemporaryFile("tds-reduce", "log", log);
  }
  ~Command() {
    llvm::sys::fs::remove(path);
    llvm::sys::fs::remove(log);
  }

  /// The exit code, or nothing where it ran too long or printed no match.
  std::optional<int> run(const std::string &text) {
    {
      std::error_code error;
      llvm::raw_fd_ostream os(path, error);
      os << text;
    }
    std::vector<std::string> words;
    bool hasPath = false;
    for (const std::string &word : command) {
      hasPath |= word == "{}";
      words.push_back(word == "{}" ? path.str().str() : word);
    }
    if (!hasPath)
      words.push_back(path.str().str());
    std::vector<llvm::StringRef> arguments(words.begin(), words.end());
    std::optional<llvm::StringRef> redirects[] = {
        llvm::StringRef(), llvm::StringRef(log), llvm::StringRef(log)};
    std::string message;
    int code = llvm::sys::ExecuteAndWait(program, arguments, std::nullopt,
                                         redirects, seconds, 0, &message);
    if (llvm::StringRef(message).contains("timed out"))
      return std::nullopt;
    if (!match.empty()) {
      auto printed = llvm::MemoryBuffer::getFile(log);
      if (!printed || !(*printed)->getBuffer().contains(match))
        return std::nullopt;
    }
    return code;
  }

private:
  std::string program;
  llvm::SmallString<128> path, log;
};
} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Shrinks a TDS program while a command still fails on it: with the exit "
      "code that it has on the whole program, which must not be 0.\n\n"
      "  tds-reduce big.tds -- tds-random\n");
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer) {
    llvm::errs() << "tds-reduce: " << file
                 << " cannot be read: " << buffer.getError().message() << "\n";
    return 2;
  }
  Command runner;
  if (!runner.prepare())
    return 2;
  std::string text = (*buffer)->getBuffer().str();
  std::optional<int> wanted = runner.run(text);
  if (!wanted || *wanted == 0) {
    llvm::errs() << "tds-reduce: the command does not fail on " << file
                 << (match.empty() ? "" : " with that output") << "\n";
    return 1;
  }
  unsigned runs = 1;
  std::string small = reduceProgram(text, [&](const std::string &candidate) {
    ++runs;
    return runner.run(candidate) == wanted;
  });
  std::error_code error;
  llvm::raw_fd_ostream os(output, error);
  if (error) {
    llvm::errs() << "tds-reduce: " << output
                 << " cannot be written: " << error.message() << "\n";
    return 2;
  }
  os << small;
  llvm::errs() << "tds-reduce: " << text.size() << " to " << small.size()
               << " bytes, " << runs << " runs, exit code " << *wanted << "\n";
  return 0;
}
