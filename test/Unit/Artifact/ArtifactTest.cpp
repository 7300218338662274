//===- ArtifactTest.cpp - manifests and containers -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Artifact/Container.h"
#include "tdsl/Artifact/Manifest.h"
#include "tdsl/Dialect/Plan/PlanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/JSON.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tdsl;
namespace json = llvm::json;

namespace {
struct Plan {
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  explicit Plan(const char *schedule) {
    context
        .loadDialect<tds::TDSDialect, plan::PlanDialect, func::FuncDialect>();
    std::string text = R"(
      tds.variable @"net.w" param : tensor<3x4xf32> {plan.slab = 0 : i64, plan.offset = 0 : i64}
      plan.slab param f32 bytes 256
      plan.entry @train "step" arena 256 input 256 result 256 scratch 64 attributes {plan.flags = [{text = "bad", source = "a.tds:3:4"}]} {
        plan.input "x" : tensor<3x4xf32> at 0 default 0x7F800000 : f32 {data_axis, role = "weight"}
        plan.result "loss" : tensor<3x4xf32> at 0
        plan.launch @tds_k0_loop (<input[0] 0 + 48>, <slab[0] 0 + 48>) -> (<arena[0] 0 + 48>, <slab[0] 0 + 48>)
        plan.copy <arena[0] 0 + 48> to <result[0] 0 + 48>
        plan.fill <arena[0] 0 + 48> with 7
      }
      func.func private @tds_k0_loop(%a: tensor<3x4xf32>, %b: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)
          attributes {plan.disjoint, plan.in_place = array<i64: -1, 1>} {
        %r:2 = tds.kernel "loop" (%a, %b) SCHEDULE : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
        ^bb0(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>):
          %s = tds.generic (%i, %j) in (3, 4) : tensor<3x4xf32> {
            %e = tds.read %x[%i, %j] : tensor<3x4xf32>
            %f = tds.read %y[%i, %j] : tensor<3x4xf32>
            %g = tds.sub %e, %f : f32
            %c = tds.constant 2.0 : f32
            %h = tds.mul %g, %c : f32
            tds.yield %h : f32
          }
          tds.yield %s, %s : tensor<3x4xf32>, tensor<3x4xf32>
        } loc(callsite("std.tds":1:2 at fused["mlp.tds":14:3, "mlp.tds":20:1]))
        return %r#0, %r#1 : tensor<3x4xf32>, tensor<3x4xf32>
      }
      plan.constant dense<[1, 2]> : tensor<2xi32>
      plan.constant dense<[true, false, true]> : tensor<3xi1>)";
    size_t at = text.find("SCHEDULE");
    text.replace(at, 8, schedule);
    module = parseSourceString<ModuleOp>(text, &context);
  }
};

ManifestOptions makeOptions(ArtifactTarget::Kind kind) {
  ManifestOptions options;
  options.target.kind = kind;
  options.target.arch =
      kind == ArtifactTarget::Kind::CPU ? "x86-64-v3" : "sm_80";
  options.target.ptxISA = "7.0";
  options.target.minDriver = 11000;
  options.producer = "tdslc test";
  options.programName = "mlp.tds";
  options.programHash = std::string(64, '0');
  return options;
}

json::Object parseObject(llvm::StringRef text) {
  auto value = json::parse(text);
  if (!value) {
    ADD_FAILURE() << llvm::toString(value.takeError()) << "\n" << text.str();
    return {};
  }
  return *value->getAsObject();
}
} // namespace

TEST(Manifest, CPU) {
  Plan plan("{schedule = {work = 12 : i64, scratch = 64 : i64}}");
  ASSERT_TRUE(plan.module);
  auto text =
      buildManifest(*plan.module, makeOptions(ArtifactTarget::Kind::CPU));
  ASSERT_TRUE(succeeded(text));
  auto again =
      buildManifest(*plan.module, makeOptions(ArtifactTarget::Kind::CPU));
  EXPECT_EQ(*text, *again);
  json::Object root = parseObject(*text);
  EXPECT_EQ(root.getObject("format")->getInteger("major"), 1);
  EXPECT_EQ(root.getInteger("kernel_abi"), 1);
  EXPECT_EQ(root.getObject("target")->getString("kind"), "cpu");
  EXPECT_EQ(root.getObject("target")->get("features"), nullptr);
  EXPECT_EQ((*root.getArray("slabs"))[0].getAsObject()->getString("role"),
            "param");
  const json::Object &variable =
      *(*root.getArray("variables"))[0].getAsObject();
  EXPECT_EQ(variable.getString("name"), "net.w");
  EXPECT_EQ(*variable.get("shape"), json::Value(json::Array{3, 4}));
  EXPECT_EQ(
      (*root.getArray("constants"))[0],
      json::Value(json::Object{{"bytes", 8}, {"base64", "AQAAAAIAAAA="}}));
  EXPECT_EQ((*root.getArray("constants"))[1],
            json::Value(json::Object{{"bytes", 3}, {"base64", "AQAB"}}));
  EXPECT_EQ((*root.getArray("kernels"))[0],
            json::Value(json::Object{{"symbol", "tds_k0_loop"},
                                     {"kind", "loop"},
                                     {"title", "(a - b) * 2 (+1)"},
                                     {"source", "mlp.tds:14:3"},
                                     {"block", json::Array{1, 1, 1}},
                                     {"shared_bytes", 0},
                                     {"buffers", 3},
                                     {"sizes", 0}}));
  const json::Object &entry = *(*root.getArray("entries"))[0].getAsObject();
  EXPECT_EQ(entry.getInteger("peak_bytes"), 256 * 4 + 8 + 3);
  EXPECT_EQ(entry.getInteger("scratch_bytes"), 64);
  EXPECT_EQ((*entry.getArray("inputs"))[0],
            json::Value(json::Object{{"name", "x"},
                                     {"type", "f32"},
                                     {"shape", json::Array{3, 4}},
                                     {"offset", 0},
                                     {"data_axis", 0},
                                     {"default", "inf"},
                                     {"role", "weight"}}));
  EXPECT_EQ(
      (*entry.getArray("flags"))[0],
      json::Value(json::Object{{"text", "bad"}, {"source", "a.tds:3:4"}}));
  const json::Array &commands = *entry.getArray("commands");
  ASSERT_EQ(commands.size(), 3u);
  EXPECT_EQ(commands[0],
            json::Value(json::Object{
                {"op", "launch"},
                {"kernel", 0},
                {"grid", json::Array{1, 1, 1}},
                {"work", 12},
                {"flops", 2 * 12},
                {"updated", 48},
                {"args", json::Array{json::Array{"input", 0, 0, 48},
                                     json::Array{"slab", 0, 0, 48},
                                     json::Array{"arena", 0, 0, 48}}},
                {"sizes", json::Array{}}}));
  EXPECT_EQ(commands[1],
            json::Value(json::Object{{"op", "copy"},
                                     {"to", json::Array{"result", 0, 0, 48}},
                                     {"from", json::Array{"arena", 0, 0, 48}},
                                     {"bytes", 48}}));
  EXPECT_EQ(commands[2],
            json::Value(json::Object{{"op", "fill"},
                                     {"to", json::Array{"arena", 0, 0, 48}},
                                     {"bytes", 48},
                                     {"byte", 7}}));
}

TEST(Manifest, CUDA) {
  Plan plan("{schedule = {grid = array<i64: 2, 3, 1>, block = array<i64: 128, "
            "1, 1>, shared = 1024 : i64}}");
  ASSERT_TRUE(plan.module);
  auto text =
      buildManifest(*plan.module, makeOptions(ArtifactTarget::Kind::CUDA));
  ASSERT_TRUE(succeeded(text));
  json::Object root = parseObject(*text);
  EXPECT_EQ(root.getObject("target")->getString("ptx_isa"), "7.0");
  EXPECT_EQ(root.getObject("target")->getInteger("min_driver"), 11000);
  const json::Object &kernel = *(*root.getArray("kernels"))[0].getAsObject();
  EXPECT_EQ(kernel.getInteger("shared_bytes"), 1024);
  EXPECT_EQ(*kernel.get("block"), json::Value(json::Array{128, 1, 1}));
  const json::Object &launch =
      *(*(*root.getArray("entries"))[0].getAsObject()->getArray("commands"))[0]
           .getAsObject();
  EXPECT_EQ(*launch.get("grid"), json::Value(json::Array{2, 3, 1}));
}

/// The `flops` of a launch of a kernel with this body, 0 where there is none.
/// The arguments are %x: 3x4xf32, %w: 4x5xf32, %n: 3xi32.
int64_t countFlops(const std::string &kind, const std::string &body,
                   const std::string &type, int64_t bytes) {
  MLIRContext context;
  context.loadDialect<tds::TDSDialect, plan::PlanDialect, func::FuncDialect>();
  std::string inputs = "(tensor<3x4xf32>, tensor<4x5xf32>, tensor<3xi32>)";
  std::string text = R"(
    plan.slab param f32 bytes 512
    plan.entry @f "function" arena 256 input 256 result 256 scratch 0 {
      plan.launch @k (<slab[0] 0 + 48>, <slab[0] 64 + 80>, <slab[0] 256 + 12>) -> (<arena[0] 0 + )" +
                     std::to_string(bytes) + R"(>)
    }
    func.func private @k(%0: tensor<3x4xf32>, %1: tensor<4x5xf32>, %2: tensor<3xi32>) -> )" +
                     type + R"( attributes {plan.in_place = array<i64: -1>} {
      %r = tds.kernel ")" +
                     kind +
                     R"(" (%0, %1, %2) {schedule = {work = 1 : i64}} : )" +
                     inputs + " -> " + type + R"( {
      ^bb0(%x: tensor<3x4xf32>, %w: tensor<4x5xf32>, %n: tensor<3xi32>):
        )" + body + R"(
        tds.yield %y : )" +
                     type + R"(
      }
      return %r : )" +
                     type + "\n    }";
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << text;
    return -1;
  }
  auto manifest =
      buildManifest(*module, makeOptions(ArtifactTarget::Kind::CPU));
  if (failed(manifest)) {
    ADD_FAILURE() << "no manifest";
    return -1;
  }
  json::Object root = parseObject(*manifest);
  return (*(*root.getArray("entries"))[0].getAsObject()->getArray(
      "commands"))[0]
      .getAsObject()
      ->getInteger("flops")
      .value_or(0);
}

TEST(Manifest, Flops) {
  EXPECT_EQ(countFlops("contract",
                       "%y = tds.contract %x[0, 2], %w[2, 1] to [0, 1] : "
                       "tensor<3x4xf32>, tensor<4x5xf32> to tensor<3x5xf32>",
                       "tensor<3x5xf32>", 60),
            2 * 3 * 4 * 5);
  // The same product as a reduction: a multiplication and an addition a term.
  EXPECT_EQ(
      countFlops(
          "loop",
          R"(%y = tds.generic (%i, %j) in (3, 5) sum (%k) in (4) : tensor<3x5xf32> {
          %e = tds.read %x[%i, %k] : tensor<3x4xf32>
          %f = tds.read %w[%k, %j] : tensor<4x5xf32>
          %p = tds.mul %e, %f : f32
          tds.yield %p : f32
        })",
          "tensor<3x5xf32>", 60),
      2 * 3 * 4 * 5);
  EXPECT_EQ(countFlops("scatter",
                       R"(%y = tds.scatter (%i) in (3) : tensor<7xf32> {
          %at = tds.read %n[%i] : tensor<3xi32>
          %to = tds.cast %at : i32 to index
          %c = tds.constant 2.0 : f32
          %v = tds.exp %c : f32
          tds.scatter_yield %v at [%to] : f32
        })",
                       "tensor<7xf32>", 28),
            2 * 3);
  // Integers, choices and comparisons are no operations on floats.
  EXPECT_EQ(
      countFlops("loop",
                 R"(%y = tds.generic (%i, %j) in (3, 4) : tensor<3x4xf32> {
          %e = tds.read %x[%i, %j] : tensor<3x4xf32>
          %b = tds.read %n[%i] : tensor<3xi32>
          %t = tds.add %b, %b : i32
          %f = tds.cast %t : i32 to f32
          %g = tds.compare gt %e, %f : f32
          %s = tds.select %g, %e, %f : i1, f32
          tds.yield %s : f32
        })",
                 "tensor<3x4xf32>", 48),
      0);
}

TEST(Manifest, NeedsASchedule) {
  for (auto [schedule, text] :
       {std::pair("", "has no schedule"),
        std::pair("{schedule = {scratch = 0 : i64}}", "without work")}) {
    Plan plan(schedule);
    ASSERT_TRUE(plan.module);
    std::string message;
    ScopedDiagnosticHandler handler(&plan.context, [&](Diagnostic &diagnostic) {
      message = diagnostic.str();
    });
    EXPECT_TRUE(failed(
        buildManifest(*plan.module, makeOptions(ArtifactTarget::Kind::CPU))));
    EXPECT_NE(message.find(text), std::string::npos) << message;
  }
}

/// The last line's parts.
static void parseFooter(llvm::StringRef file, size_t &offset, size_t &bytes,
                        std::string &hash, size_t &begin) {
  ASSERT_TRUE(file.ends_with("\n"));
  begin = file.drop_back().rfind('\n') + 1;
  llvm::StringRef line = file.substr(begin).rtrim();
  ASSERT_TRUE(line.consume_front("// tds-manifest "));
  llvm::SmallVector<llvm::StringRef> parts;
  line.split(parts, ' ');
  ASSERT_EQ(parts.size(), 3u);
  ASSERT_FALSE(parts[0].getAsInteger(10, offset));
  ASSERT_FALSE(parts[1].getAsInteger(10, bytes));
  hash = parts[2].str();
}

TEST(Container, PTX) {
  std::string manifest =
      "{\"a\": [\n1,\n\"" + std::string(10000, 'x') + "\"]}\n";
  std::string file = makePTXFile(".version 7.0", manifest);
  size_t offset, bytes, begin;
  std::string hash;
  parseFooter(file, offset, bytes, hash, begin);
  EXPECT_EQ(offset, strlen(".version 7.0\n"));
  EXPECT_EQ(offset + bytes, begin);
  EXPECT_EQ(hash, getSHA256(llvm::StringRef(file).take_front(begin)));
  std::string joined;
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(file).substr(offset, bytes).split(lines, '\n', -1, false);
  for (llvm::StringRef line : lines) {
    EXPECT_LE(line.size(), 5000u);
    ASSERT_TRUE(line.consume_front("// "));
    joined += line;
  }
  json::Object root = parseObject(joined);
  EXPECT_EQ((*root.getArray("a"))[1].getAsString()->size(), 10000u);
}

TEST(Container, SHA256) {
  EXPECT_EQ(getSHA256("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Container, NoObject) {
  llvm::SmallVector<char> bytes;
  llvm::Error error = finishSharedObject(bytes);
  EXPECT_TRUE(bool(error));
  llvm::consumeError(std::move(error));
}

TEST(Container, Zip) {
  ContainerMember members[] = {
      {"cpu.x86-64-v3.so", "cpu", "x86-64-v3", "elf bytes"},
      {"cuda.sm_80.ptx", "cuda", "sm_80", "ptx text"}};
  auto file = makeContainer(members);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  auto again = makeContainer(members);
  ASSERT_TRUE(bool(again));
  EXPECT_EQ(*file, *again);
  // Stored: the members' bytes are there as they are.
  EXPECT_NE(file->find("elf bytes"), std::string::npos);
  EXPECT_NE(file->find("\"container\": \"tdsx\""), std::string::npos);
  EXPECT_NE(file->find(getSHA256("ptx text")), std::string::npos);
  ContainerMember twice[] = {members[0], members[0]};
  auto refused = makeContainer(twice);
  EXPECT_FALSE(bool(refused));
  llvm::consumeError(refused.takeError());
}
