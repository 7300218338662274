//===- ImportTest.cpp - Programs of several files -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Support.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace tdsl;
using namespace tdsl::test;

using Files = std::map<std::string, std::string>;

/// Checks main.tds of some files in memory.
static Checked check(Files files) {
  FrontendOptions options;
  options.readFile = [files](llvm::StringRef path) {
    llvm::SmallString<64> plain(path);
    llvm::sys::path::remove_dots(plain, /*remove_dot_dot=*/true);
    ImportedFile file;
    file.identity = plain.str().str();
    auto it = files.find(file.identity);
    if (it == files.end())
      file.problem = "no such file";
    else
      file.text = llvm::MemoryBuffer::getMemBufferCopy(it->second, path);
    return file;
  };
  return Checked(files["main.tds"], options, "main.tds");
}

TEST(Import, BringsFunctionsModulesAndConstants) {
  Checked checked = check({
      {"main.tds", "import \"lib/layers.tds\" as l\n"
                   "dim B = 2\n"
                   "layer net = l.Scale(l.N)\n"
                   "export fn f(x: f32[B, 3]) -> f32[B, 3] {\n"
                   "  l.twice(net(x)) + l.eps\n}\n"},
      {"lib/layers.tds",
       "import \"../sizes.tds\" as s\n"
       "use nn\n"
       "dim N = s.N + 1\n"
       "const eps: f32 = 0.5\n"
       "module Scale(D) {\n  param w: f32[D] = 1\n"
       "  fn call(x: f32[n, D]) -> f32[n, D] { nn.relu(x * w) }\n}\n"
       "fn twice(x: float[...s]) -> float[...s] { x + x }\n"},
      {"sizes.tds", "dim N = 2\n"},
  });
  EXPECT_EQ(checked.codes(), "") << checked.text();
  EXPECT_EQ(checked.variables(), "net.w: f32[3]\n");
  EXPECT_NE(checked.function("layers.twice.0"), nullptr);
}

TEST(Import, AFileIsReadOnce) {
  Checked checked =
      check({{"main.tds", "import \"a.tds\" as a\nimport \"b.tds\" as b\n"
                          "layer m = a.M()\nlayer n = b.M()\n"
                          "export fn f(x: f32) -> f32 { m(x) + n(x) }"},
             {"a.tds", "module M { fn call(x: f32) -> f32 { x } }"},
             {"b.tds", "import \"./a.tds\" as a\n"
                       "module M { layer m = a.M()\n"
                       "  fn call(x: f32) -> f32 { m(x) } }"}});
  EXPECT_EQ(checked.codes(), "") << checked.text();
  EXPECT_EQ(checked.sources.getNumFiles(), 3u);
}

TEST(Import, MessagesPointIntoTheRightFile) {
  Checked syntax = check(
      {{"main.tds", "import \"a.tds\" as a\n"}, {"a.tds", "\nfn f( { 1 }\n"}});
  EXPECT_NE(syntax.text().find("a.tds:2:7"), std::string::npos)
      << syntax.text();
  Checked name = check({{"main.tds", "import \"a.tds\" as a\n"},
                        {"a.tds", "\n\nfn f(x: f32) -> f32 { y }\n"}});
  EXPECT_EQ(name.codes(), "E0201");
  EXPECT_NE(name.text().find("a.tds:3:23"), std::string::npos) << name.text();
  Checked shape =
      check({{"main.tds", "import \"a.tds\" as a\n"
                          "export fn f(x: f32[3], y: f32[4]) -> f32[3] {\n"
                          "  a.add(x, y)\n}\n"},
             {"a.tds", "fn add(x: f32[n], y: f32[m]) -> f32[n] { x + y }\n"}});
  EXPECT_EQ(shape.codes(), "E0401");
  EXPECT_NE(shape.text().find("--> a.tds:1:42"), std::string::npos)
      << shape.text();
  EXPECT_NE(shape.text().find("::: main.tds:3:3"), std::string::npos)
      << shape.text();
}

TEST(Import, CyclesShowTheCycle) {
  Checked checked = check({{"main.tds", "import \"a.tds\" as a\n"},
                           {"a.tds", "import \"sub/b.tds\" as b\n"},
                           {"sub/b.tds", "import \"../a.tds\" as a\n"}});
  EXPECT_EQ(checked.codes(), "E0215");
  EXPECT_NE(
      checked.text().find("the cycle is a.tds -> sub/b.tds -> sub/../a.tds"),
      std::string::npos)
      << checked.text();
  Checked self = check({{"main.tds", "import \"main.tds\" as m\n"}});
  EXPECT_EQ(self.codes(), "E0215") << self.text();
}

TEST(Import, OneMistakeOneMessage) {
  EXPECT_EQ(check({{"main.tds", "import \"a.tds\" as a\n"
                                "export fn f(x: f32) -> f32 { a.g(a.N * x) }"}})
                .codes(),
            "E0214");
  EXPECT_EQ(check({{"main.tds", "import \"a.tds\" as a\n"
                                "export fn f(x: f32) -> f32 { a.g(x) }"},
                   {"a.tds", "fn g(x: f32) -> f32 { x"}})
                .codes(),
            "E0106");
  EXPECT_EQ(check({{"main.tds", "import \"a.tds\" as a\n"
                                "export fn f(x: f32) -> f32 { a.h(x) }"},
                   {"a.tds", "fn g(x: f32) -> f32 { x }"}})
                .codes(),
            "E0204");
  EXPECT_EQ(check({{"main.tds", "import \"a.tds\" as a\n"
                                "import \"b.tds\" as a\n"},
                   {"a.tds", ""},
                   {"b.tds", ""}})
                .codes(),
            "E0202");
  EXPECT_EQ(check({{"main.tds", "import \"a.tds\" as a\nfn a() -> i32 { 1 }"},
                   {"a.tds", ""}})
                .codes(),
            "E0202");
}

TEST(Import, OnlyLibraries) {
  for (const char *text :
       {"param w: f32 = 0", "state w: f32 = 0", "module M { }\nlayer m = M()",
        "export fn f(x: f32) -> f32 { x }", "step s(lr: f32) -> f32 { lr }"})
    EXPECT_EQ(check({{"main.tds", "import \"a.tds\" as a\n"}, {"a.tds", text}})
                  .codes(),
              "E0723")
        << text;
}

TEST(Import, AProgramIsOneMistake) {
  EXPECT_EQ(check({{"main.tds", "import \"a.tds\" as a\n"},
                   {"a.tds", "param w: f32 = 0\n"
                             "export fn f(x: f32) -> f32 { x }\n"
                             "export fn g(x: f32) -> f32 { x }\n"}})
                .codes(),
            "E0723");
}

TEST(Import, HostilePaths) {
  for (const char *path : {"", "/etc/passwd", "/dev/zero.tds", "a", "a.txt",
                           "a\\nb.tds", "..\\\\a.tds", "a.tds/"})
    EXPECT_EQ(
        check({{"main.tds", "import \"" + std::string(path) + "\" as a\n"}})
            .codes(),
        "E0213")
        << path;
  EXPECT_EQ(check({{"main.tds",
                    "import \"" + std::string(5000, 'a') + ".tds\" as a\n"}})
                .codes(),
            "E0213");
}

TEST(Import, FilesOfTheDisk) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tds-import", folder));
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "folder.tds");
  ASSERT_FALSE(llvm::sys::fs::create_directory(path));
  EXPECT_EQ(readImportedFile(path).problem, "it is not a regular file");
  llvm::SmallString<128> link(folder);
  llvm::sys::path::append(link, "link.tds");
  ASSERT_FALSE(llvm::sys::fs::create_link("/dev/zero", link));
  EXPECT_EQ(readImportedFile(link).problem, "it is not a regular file");
  EXPECT_NE(readImportedFile((folder + "/missing.tds").str()).problem, "");
  llvm::sys::fs::remove(link);
  llvm::sys::fs::remove(path);
  llvm::sys::fs::remove(folder);
}

TEST(Import, TooManyFiles) {
  Files files;
  for (int i = 0; i < 400; ++i)
    files["f" + std::to_string(i) + ".tds"] =
        "import \"f" + std::to_string(i + 1) + ".tds\" as a\n";
  files["main.tds"] = "import \"f0.tds\" as a\n";
  EXPECT_EQ(check(files).codes(), "E0806");
}
