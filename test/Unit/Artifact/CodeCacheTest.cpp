//===- CodeCacheTest.cpp - compiled code that is kept on disk -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/Artifact/CodeCache.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace tdsl;

namespace {
struct CodeCacheTest : ::testing::Test {
  CodeCacheTest() {
    llvm::SmallString<128> path;
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("tdsl-cache", path));
    folder = path.str().str();
  }
  ~CodeCacheTest() override { llvm::sys::fs::remove_directories(folder); }

  std::string pathOf(const std::string &key) {
    return folder + "/" + key + ".code";
  }
  std::string read(const std::string &path) {
    auto file = llvm::MemoryBuffer::getFile(path);
    return file ? (*file)->getBuffer().str() : "";
  }
  void write(const std::string &path, const std::string &text) {
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << text;
    ASSERT_FALSE(error);
  }
  /// Makes the file look as if it was used `ago` before now.
  void age(const std::string &path, std::chrono::seconds ago) {
    int file;
    ASSERT_FALSE(llvm::sys::fs::openFileForWrite(
        path, file, llvm::sys::fs::CD_OpenExisting, llvm::sys::fs::OF_Append));
    llvm::sys::fs::setLastAccessAndModificationTime(
        file, std::chrono::system_clock::now() - ago);
    close(file);
  }
  void store(const CodeCache &cache, const std::string &key,
             const std::string &code) {
    llvm::Error error = cache.store(key, code);
    EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
  }

  std::string folder;
};
} // namespace

TEST_F(CodeCacheTest, KeepsWhatItIsGiven) {
  CodeCache cache(folder + "/new/one");
  std::string key = CodeCache::getKey({"a", "b"});
  EXPECT_EQ(key.size(), 64u);
  EXPECT_NE(key, CodeCache::getKey({"ab", ""}));
  EXPECT_FALSE(cache.load(key));
  std::string code("\0code\n\xff", 7);
  store(cache, key, code);
  EXPECT_EQ(cache.load(key), code);
  EXPECT_FALSE(cache.load(CodeCache::getKey({"a", "c"})));
  store(cache, key, "");
  EXPECT_EQ(cache.load(key), "");
  // Off, it is never asked for a folder.
  CodeCache off("");
  EXPECT_FALSE(off.isOn());
  store(off, key, code);
  EXPECT_FALSE(off.load(key));
}

// Cut anywhere, changed anywhere, or under another key, an entry is none, and
// is gone.
TEST_F(CodeCacheTest, DamagedEntriesAreNotTaken) {
  CodeCache cache(folder);
  std::string key = CodeCache::getKey({"x"}), code = "the code\nof a kernel";
  store(cache, key, code);
  std::string whole = read(pathOf(key));
  ASSERT_GT(whole.size(), code.size() + 128);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] ^= 1;
    write(pathOf(key), damaged);
    EXPECT_FALSE(cache.load(key)) << i;
    EXPECT_FALSE(llvm::sys::fs::exists(pathOf(key)));
    write(pathOf(key), whole.substr(0, i));
    EXPECT_FALSE(cache.load(key)) << i;
  }
  write(pathOf(key), whole + "x");
  EXPECT_FALSE(cache.load(key));
  std::string other = CodeCache::getKey({"y"});
  write(pathOf(other), whole);
  EXPECT_FALSE(cache.load(other));
  store(cache, key, code);
  EXPECT_EQ(cache.load(key), code);
}

TEST_F(CodeCacheTest, OldestGoFirst) {
  CodeCache cache(folder, /*limit=*/3500);
  std::string code(1000, 'c');
  std::vector<std::string> keys;
  for (const char *name : {"0", "1", "2"}) {
    keys.push_back(CodeCache::getKey({name}));
    store(cache, keys.back(), code);
  }
  age(pathOf(keys[0]), std::chrono::seconds(300));
  age(pathOf(keys[1]), std::chrono::seconds(200));
  age(pathOf(keys[2]), std::chrono::seconds(100));
  // What was used is young again.
  EXPECT_TRUE(cache.load(keys[0]));
  keys.push_back(CodeCache::getKey({"3"}));
  store(cache, keys.back(), code);
  cache.removeOldest();
  EXPECT_TRUE(cache.load(keys[0]));
  EXPECT_FALSE(cache.load(keys[1]));
  EXPECT_TRUE(cache.load(keys[2]));
  EXPECT_TRUE(cache.load(keys[3]));
  // An entry that is larger than all is not kept.
  std::string large = CodeCache::getKey({"4"});
  store(cache, large, std::string(5000, 'l'));
  cache.removeOldest();
  EXPECT_FALSE(cache.load(large));
}

TEST_F(CodeCacheTest, ManyAtOnce) {
  CodeCache cache(folder, /*limit=*/200000);
  auto codeOf = [](int number) { return std::string(20000 + number, 'a'); };
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0}, hits{0};
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 40; ++i) {
        int number = (i * 7 + thread) % 12;
        std::string key = CodeCache::getKey({std::to_string(number)});
        if (std::optional<std::string> code = cache.load(key)) {
          ++hits;
          wrong += *code != codeOf(number);
        }
        if (llvm::Error error = cache.store(key, codeOf(number))) {
          llvm::consumeError(std::move(error));
          ++wrong;
        }
        cache.removeOldest();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(hits, 0);
}

// A compiler that is killed while it writes leaves nothing that is taken; what
// it leaves is removed later.
TEST_F(CodeCacheTest, KilledWriters) {
  CodeCache cache(folder);
  std::string key = CodeCache::getKey({"k"}), code(3000000, 'k');
  for (int round = 0; round < 12; ++round) {
    pid_t child = fork();
    if (child == 0)
      for (;;)
        if (llvm::Error error = cache.store(key, code))
          _exit(1);
    usleep(1000 + 3700 * round);
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    if (std::optional<std::string> found = cache.load(key))
      EXPECT_EQ(*found, code);
  }
  std::string left = folder + "/" + key + "-0123.tmp",
              recent = folder + "/" + key + "-4567.tmp";
  write(left, "torn");
  write(recent, "torn");
  age(left, std::chrono::hours(2));
  store(cache, key, code);
  cache.removeOldest();
  EXPECT_EQ(cache.load(key), code);
  EXPECT_FALSE(llvm::sys::fs::exists(left));
  EXPECT_TRUE(llvm::sys::fs::exists(recent));
}

// Where the disk is full the entry is none and leaves nothing.
TEST_F(CodeCacheTest, NoRoom) {
  CodeCache cache(folder);
  std::string key = CodeCache::getKey({"r"});
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit = {4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    llvm::Error error = cache.store(key, std::string(100000, 'r'));
    bool isSaid = llvm::StringRef(llvm::toString(std::move(error)))
                      .starts_with("cannot write in the folder");
    _exit(isSaid ? 0 : 1);
  }
  int status;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  std::error_code error;
  EXPECT_EQ(llvm::sys::fs::directory_iterator(folder, error),
            llvm::sys::fs::directory_iterator());
  EXPECT_FALSE(cache.load(key));
}

TEST_F(CodeCacheTest, Environment) {
  setenv("TDS_CACHE", folder.c_str(), 1);
  setenv("TDS_CACHE_SIZE", "many", 1);
  auto cache = CodeCache::fromEnvironment();
  ASSERT_FALSE(cache);
  EXPECT_EQ(llvm::toString(cache.takeError()),
            "TDS_CACHE_SIZE is 'many', but takes a number of MiB");
  setenv("TDS_CACHE_SIZE", "0", 1);
  cache = CodeCache::fromEnvironment();
  ASSERT_TRUE(bool(cache));
  EXPECT_TRUE(cache->isOn());
  std::string key = CodeCache::getKey({"e"});
  store(*cache, key, "code");
  cache->removeOldest();
  EXPECT_FALSE(cache->load(key));
  unsetenv("TDS_CACHE");
  unsetenv("TDS_CACHE_SIZE");
  cache = CodeCache::fromEnvironment();
  ASSERT_TRUE(bool(cache));
  EXPECT_FALSE(cache->isOn());
}
