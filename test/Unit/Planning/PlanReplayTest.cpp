//===- PlanReplayTest.cpp - plans of random entries, replayed -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan is run on plain bytes, kernels by the evaluator, as a device would run
// it: results and variables must be those of the entry. Then the plan is
// damaged, and the checker must see it.
//
//===----------------------------------------------------------------------===//

#include "../Fusion/RandomProgram.h"
#include "../Fusion/Support.h"

#include "EntryPlanner.h"

#include "tdsl/Planning/MemoryProfile.h"
#include "tdsl/Planning/Passes.h"
#include "tdsl/Planning/Planner.h"

#include "mlir/IR/Builders.h"

#include <map>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::plan;
using namespace tdsl::test;
using reference::Tensor;

namespace {

/// Memory of a planned module, and the commands on it.
class Machine {
public:
  explicit Machine(ModuleOp module) : module(module) {
    for (auto slab : module.getOps<SlabOp>())
      spaces[{Space::Slab, count++}].assign(slab.getBytes(), 0xaa);
    int64_t index = 0;
    for (auto constant : module.getOps<plan::ConstantOp>()) {
      Tensor value = *tds::toTensor(constant.getValue());
      spaces[{Space::Const, index++}].assign(value.data(),
                                             value.data() + value.numBytes());
    }
  }

  void start(EntryOp entry) {
    spaces[{Space::Arena, 0}].assign(entry.getArena(), 0xaa);
    spaces[{Space::Input, 0}].assign(entry.getInputBytes(), 0xaa);
    spaces[{Space::Result, 0}].assign(entry.getResultBytes(), 0xaa);
  }

  uint8_t *at(BufferAttr buffer) {
    std::vector<uint8_t> &space =
        spaces.at({buffer.getSpace(), buffer.getIndex()});
    EXPECT_LE(buffer.getEnd(), static_cast<int64_t>(space.size()));
    return space.data() + buffer.getOffset();
  }

  void write(BufferAttr buffer, const Tensor &value) {
    std::copy_n(value.data(), value.numBytes(), at(buffer));
  }

  Tensor read(BufferAttr buffer, Type type) {
    auto tensor = cast<RankedTensorType>(type);
    Tensor value(*tds::getElementKind(tensor.getElementType()),
                 tensor.getShape());
    std::copy_n(at(buffer), value.numBytes(), value.data());
    return value;
  }

  void run(EntryOp entry) {
    for (Operation &op : *entry.getBlock()) {
      if (auto launch = dyn_cast<LaunchOp>(op)) {
        auto kernel = module.lookupSymbol<func::FuncOp>(launch.getKernel());
        std::vector<Tensor> inputs;
        for (auto [i, buffer] :
             llvm::enumerate(launch.getInputs().getAsRange<BufferAttr>()))
          inputs.push_back(read(buffer, kernel.getArgumentTypes()[i]));
        std::vector<Tensor> outputs =
            evaluate(module, launch.getKernel(), inputs);
        for (auto [i, buffer] :
             llvm::enumerate(launch.getOutputs().getAsRange<BufferAttr>()))
          write(buffer, outputs[i]);
      } else if (auto copy = dyn_cast<CopyOp>(op)) {
        std::vector<uint8_t> bytes(
            at(copy.getFrom()), at(copy.getFrom()) + copy.getFrom().getBytes());
        std::copy(bytes.begin(), bytes.end(), at(copy.getTo()));
      } else if (auto fill = dyn_cast<FillOp>(op)) {
        std::fill_n(at(fill.getTo()), fill.getTo().getBytes(),
                    static_cast<uint8_t>(fill.getByte()));
      }
    }
  }

private:
  ModuleOp module;
  int64_t count = 0;
  std::map<std::pair<Space, int64_t>, std::vector<uint8_t>> spaces;
};

BufferAttr placeOf(tds::VariableOp variable) {
  return BufferAttr::get(
      variable.getContext(), Space::Slab,
      variable->getAttrOfType<IntegerAttr>(plan::attr::kSlab).getInt(),
      variable->getAttrOfType<IntegerAttr>(plan::attr::kOffset).getInt(),
      getTensorBytes(variable.getType()));
}

/// Runs the pass with its own check.
bool runPlan(ModuleOp module) {
  PassManager manager(module.getContext());
  manager.addPass(createPlanPass());
  return succeeded(manager.run(module));
}

void checkProgram(const std::string &text, uint64_t seed, double &arena,
                  double &bound, unsigned &numDonated) {
  Context context;
  auto original = context.parse(text);
  ASSERT_TRUE(original) << text;
  OwningOpRef<ModuleOp> fused = original->clone();
  ASSERT_TRUE(runFusion(*fused, seed % 3 != 0)) << text;
  auto function = fused->lookupSymbol<func::FuncOp>("f");
  auto arguments = makeArguments(function, seed);
  auto expected = evaluate(*fused, "f", arguments);

  OwningOpRef<ModuleOp> planned = fused->clone();
  ASSERT_TRUE(runPlan(*planned)) << "seed " << seed << "\n" << text;
  auto entry = planned->lookupSymbol<EntryOp>("f");
  Machine machine(*planned);
  machine.start(entry);
  auto input = entry.getBlock()->getOps<InputOp>().begin();
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    if (auto variable = function.getArgAttrOfType<FlatSymbolRefAttr>(
            i, tds::attr::kVariable))
      machine.write(
          placeOf(planned->lookupSymbol<tds::VariableOp>(variable.getAttr())),
          argument);
    else
      machine.write(BufferAttr::get(&context.context, Space::Input, 0,
                                    (*input++).getOffset(),
                                    argument.numBytes()),
                    argument);
  }
  machine.run(entry);
  auto result = entry.getBlock()->getOps<ResultOp>().begin();
  for (auto [i, value] : llvm::enumerate(expected)) {
    BufferAttr place;
    if (auto variable = function.getResultAttrOfType<FlatSymbolRefAttr>(
            i, tds::attr::kVariable))
      place =
          placeOf(planned->lookupSymbol<tds::VariableOp>(variable.getAttr()));
    else
      place = BufferAttr::get(&context.context, Space::Result, 0,
                              (*result++).getOffset(), value.numBytes());
    if (!sameBits(machine.read(place, function.getResultTypes()[i]), value)) {
      std::string dump;
      llvm::raw_string_ostream(dump) << *planned->getOperation();
      FAIL() << "seed " << seed << ", result " << i << "\n" << text << dump;
    }
  }

  ModuleLayout layout;
  for (auto variable : planned->getOps<tds::VariableOp>())
    layout.variables[variable.getSymNameAttr()] = placeOf(variable);
  FailureOr<EntryPlan> plan = planEntry(function, layout, true);
  ASSERT_TRUE(succeeded(plan));
  // What is read off the commands needs no more than what was planned for, and
  // as much where nothing is copied.
  numDonated += llvm::count_if(entry.getBlock()->getOps<InputOp>(),
                               [](InputOp op) { return op.getDonated(); });
  int64_t live = profileMemory(entry).getBound();
  EXPECT_LE(live, plan->arenaBound) << "seed " << seed;
  if (entry.getBlock()->getOps<CopyOp>().empty())
    EXPECT_EQ(live, plan->arenaBound) << "seed " << seed;
  arena += plan->arenaBytes;
  bound += plan->arenaBound;
  EXPECT_LE(plan->arenaBytes, plan->arenaBound * 3 / 2);
}

} // namespace

TEST(PlanReplay, RandomPrograms) {
  const char *count = std::getenv("TDSL_TEST_PROGRAMS");
  double arena = 0, bound = 0;
  unsigned numDonated = 0;
  for (int i = 0, n = count ? std::atoi(count) : 150;
       i < n && !testing::Test::HasFailure(); ++i) {
    RandomProgramOptions options;
    options.operations = 5 + i % 25;
    checkProgram(RandomProgram(90000 + i, options).make(), i, arena, bound,
                 numDonated);
  }
  EXPECT_LE(arena, 1.1 * bound);
  EXPECT_GT(numDonated, 10u);
}

/// A plan whose every damage counts: the update of @w comes last, two arena
/// values live at once.
static const char *const exampleText = R"(
  tds.variable @w param : tensor<64xf32>
  func.func @f(%x: tensor<64xf32> {tds.input = "x"}, %w: tensor<64xf32> {tds.variable = @w})
      -> (tensor<f32> {tds.result = "s"}, tensor<64xf32> {tds.variable = @w}) attributes {tds.entry = "step"} {
    %a = tds.exp %x : tensor<64xf32>
    %b = tds.mul %a, %w : tensor<64xf32>
    %c = tds.sub %b, %x : tensor<64xf32>
    %d = tds.add %c, %b : tensor<64xf32>
    %s = tds.reduce sum %d axes [0] : tensor<64xf32> to tensor<f32>
    %v = tds.mul %w, %c : tensor<64xf32>
    return %s, %v : tensor<f32>, tensor<64xf32>
  })";

// Every launch buffer that is moved to another place of the arena, every pair
// of launches that change places: either the plan still does what the entry
// says (a move to a free place, launches that do not depend on each other),
// which the machine confirms, or the checker says no.
TEST(PlanReplay, CheckerSeesDamage) {
  Context context;
  auto fused = context.parse(exampleText);
  ASSERT_TRUE(runFusion(*fused, false));
  auto function = fused->lookupSymbol<func::FuncOp>("f");
  auto arguments = makeArguments(function, 1);
  auto expected = evaluate(*fused, "f", arguments);
  OwningOpRef<ModuleOp> planned = fused->clone();
  ASSERT_TRUE(runPlan(*planned));
  unsigned numLaunches = 0;
  planned->walk([&](LaunchOp) { ++numLaunches; });
  ASSERT_GE(numLaunches, 5u);
  // Errors of damaged plans are what is asked for.
  ScopedDiagnosticHandler quiet(&context.context,
                                [](Diagnostic &) { return success(); });
  unsigned refused = 0, harmless = 0;
  auto judge = [&](ModuleOp damaged) {
    auto entry = damaged.lookupSymbol<EntryOp>("f");
    if (failed(checkPlan(function, entry))) {
      ++refused;
      return;
    }
    ++harmless;
    Machine machine(damaged);
    machine.start(entry);
    auto input = *entry.getBlock()->getOps<InputOp>().begin();
    machine.write(BufferAttr::get(&context.context, Space::Input, 0,
                                  input.getOffset(), 256),
                  arguments[0]);
    BufferAttr w = placeOf(*damaged.getOps<tds::VariableOp>().begin());
    machine.write(w, arguments[1]);
    machine.run(entry);
    auto result = *entry.getBlock()->getOps<ResultOp>().begin();
    EXPECT_TRUE(
        sameBits(machine.read(BufferAttr::get(&context.context, Space::Result,
                                              0, result.getOffset(), 4),
                              function.getResultTypes()[0]),
                 expected[0]));
    EXPECT_TRUE(
        sameBits(machine.read(w, function.getResultTypes()[1]), expected[1]));
  };
  auto launchesOf = [](ModuleOp module) {
    SmallVector<LaunchOp> launches;
    module.walk([&](LaunchOp launch) { launches.push_back(launch); });
    return launches;
  };
  for (unsigned i = 0; i < numLaunches; ++i) {
    for (bool isInput : {true, false}) {
      ArrayAttr buffers = isInput ? launchesOf(*planned)[i].getInputs()
                                  : launchesOf(*planned)[i].getOutputs();
      for (unsigned k = 0; k < buffers.size(); ++k)
        for (int64_t offset : {0, 128, 256, 512, 768}) {
          auto buffer = cast<BufferAttr>(buffers[k]);
          auto moved = BufferAttr::get(&context.context, Space::Arena, 0,
                                       offset, buffer.getBytes());
          if (moved == buffer)
            continue;
          OwningOpRef<ModuleOp> damaged = planned->clone();
          damaged->lookupSymbol<EntryOp>("f").setArena(2048);
          SmallVector<Attribute> changed(buffers.begin(), buffers.end());
          changed[k] = moved;
          auto launch = launchesOf(*damaged)[i];
          if (isInput)
            launch.setInputsAttr(ArrayAttr::get(&context.context, changed));
          else
            launch.setOutputsAttr(ArrayAttr::get(&context.context, changed));
          judge(*damaged);
        }
    }
    for (unsigned j = 0; j < i; ++j) {
      OwningOpRef<ModuleOp> damaged = planned->clone();
      SmallVector<LaunchOp> launches = launchesOf(*damaged);
      launches[i]->moveBefore(launches[j]);
      judge(*damaged);
    }
  }
  EXPECT_GE(refused, 40u);
  RecordProperty("refused", refused);
  RecordProperty("harmless", harmless);
}

// Of a launch whose output is moved onto a value that is read later, the error
// is at that launch and names the reader.
TEST(PlanReplay, NamesTheLaunchThatOverwrites) {
  Context context;
  auto fused = context.parse(exampleText);
  ASSERT_TRUE(runFusion(*fused, false));
  OwningOpRef<ModuleOp> planned = fused->clone();
  ASSERT_TRUE(runPlan(*planned));
  SmallVector<LaunchOp> launches;
  planned->walk([&](LaunchOp launch) { launches.push_back(launch); });
  // The output of a launch that is read by another than the next.
  unsigned tried = 0;
  for (unsigned i = 0; i < launches.size(); ++i)
    for (unsigned j = i + 2; j < launches.size(); ++j) {
      auto live = cast<BufferAttr>(launches[i].getOutputs()[0]);
      auto victim = cast<BufferAttr>(launches[i + 1].getOutputs()[0]);
      if (!llvm::is_contained(launches[j].getInputs(), live) ||
          live.getBytes() != victim.getBytes() || live == victim ||
          live.getSpace() != Space::Arena)
        continue;
      OwningOpRef<ModuleOp> damaged = planned->clone();
      SmallVector<LaunchOp> copies;
      damaged->walk([&](LaunchOp launch) { copies.push_back(launch); });
      copies[i + 1].setOutputsAttr(ArrayAttr::get(&context.context, {live}));
      // Its readers find it there.
      for (LaunchOp reader : llvm::drop_begin(copies, i + 2)) {
        SmallVector<Attribute> inputs(reader.getInputs().getValue());
        llvm::replace(inputs, Attribute(victim), Attribute(live));
        reader.setInputsAttr(ArrayAttr::get(&context.context, inputs));
      }
      std::string message;
      Operation *place = copies[i + 1];
      ScopedDiagnosticHandler handler(
          &context.context, [&](Diagnostic &diagnostic) {
            message += diagnostic.str();
            EXPECT_EQ(diagnostic.getLocation(), place->getLoc());
            return success();
          });
      EXPECT_TRUE(failed(checkPlan(fused->lookupSymbol<func::FuncOp>("f"),
                                   damaged->lookupSymbol<EntryOp>("f"))));
      EXPECT_NE(message.find("which holds a live value"), std::string::npos)
          << message;
      ++tried;
    }
  EXPECT_GE(tried, 1u);
}

// What a loop collects, the loop around it collects again, where it lies.
constexpr const char *collectText = R"(
  func.func @f(%h: tensor<4xf32> {tds.input = "h"}) -> (tensor<4xf32> {tds.result = "a"}, tensor<3x2x4xf32> {tds.result = "b"}) attributes {tds.entry = "function"} {
    %r:2 = tds.fold 3 reverse carry(%h) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<3x2x4xf32>) {
    ^bb0(%t: tensor<i32>, %a: tensor<4xf32>):
      %s:2 = tds.fold 2 carry(%a) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>) {
      ^bb0(%u: tensor<i32>, %c: tensor<4xf32>):
        %d = tds.exp %c : tensor<4xf32>
        tds.yield %d, %d : tensor<4xf32>, tensor<4xf32>
      }
      tds.yield %s#0, %s#1 : tensor<4xf32>, tensor<2x4xf32>
    }
    return %r#0, %r#1 : tensor<4xf32>, tensor<3x2x4xf32>
  })";

// An iteration writes its own part of what is collected, never that of another.
TEST(PlanReplay, IterationsKeepToTheirParts) {
  Context context;
  auto fused = context.parse(collectText);
  ASSERT_TRUE(runFusion(*fused, false));
  auto function = fused->lookupSymbol<func::FuncOp>("f");
  OwningOpRef<ModuleOp> planned = fused->clone();
  ASSERT_TRUE(runPlan(*planned));
  auto getLoops = [](ModuleOp module) {
    SmallVector<LoopOp> loops;
    module.walk<WalkOrder::PreOrder>(
        [&](LoopOp loop) { loops.push_back(loop); });
    return loops;
  };
  SmallVector<LoopOp> loops = getLoops(*planned);
  ASSERT_EQ(loops.size(), 2u);
  auto outer = cast<BufferAttr>(loops[0].getCollected()[0]),
       inner = cast<BufferAttr>(loops[1].getCollected()[0]);
  EXPECT_EQ(outer.getBytes(), 32);
  EXPECT_EQ(outer.getStrides(), ArrayRef<int64_t>({32}));
  EXPECT_EQ(inner.getOffset(), outer.getOffset());
  EXPECT_EQ(inner.getBytes(), 16);
  EXPECT_EQ(inner.getStrides(), ArrayRef<int64_t>({32, 16}));
  // A copy at the beginning of the inner loop, to other places.
  struct Case {
    int64_t offset;
    SmallVector<int64_t> strides, trips;
    bool isRefused;
  } const cases[] = {
      // What the iteration of the inner loop writes itself, later.
      {0, {32, 16}, {3, 2}, false},
      // The part that the last iteration of the outer loop has left.
      {32, {32, 16}, {2, 2}, true},
      {32, {32}, {2}, true},
      // The last iteration of the inner loop leaves the part.
      {16, {32, 16}, {3, 2}, true},
      {0, {32, 32}, {3, 2}, true},
      // All iterations write in one place.
      {0, {0, 16}, {1, 2}, true},
      {0, {}, {}, true},
  };
  for (const Case &test : cases) {
    OwningOpRef<ModuleOp> damaged = planned->clone();
    LoopOp loop = getLoops(*damaged)[1];
    auto from = cast<BufferAttr>(loop.getCarried()[0]);
    auto to = BufferAttr::get(&context.context, outer.getSpace(),
                              outer.getIndex(), outer.getOffset() + test.offset,
                              16, test.strides, test.trips);
    auto builder = OpBuilder::atBlockBegin(loop.getBlock());
    CopyOp::create(builder, loop.getLoc(), from, to);
    std::string message;
    ScopedDiagnosticHandler handler(&context.context,
                                    [&](Diagnostic &diagnostic) {
                                      message += diagnostic.str();
                                      return success();
                                    });
    EXPECT_EQ(failed(checkPlan(function, damaged->lookupSymbol<EntryOp>("f"))),
              test.isRefused)
        << test.offset;
    if (test.isRefused)
      EXPECT_NE(message.find("into what it collects"), std::string::npos)
          << test.offset << ": " << message;
  }
}

TEST(InPlace, Rules) {
  Context context;
  auto module = context.parse(R"(
    func.func @f(%x: tensor<4xf32>, %t: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>) {
      %loop = tds.kernel "loop" (%x) : (tensor<4xf32>) -> tensor<4xf32> {
      ^bb0(%a: tensor<4xf32>):
        %y = tds.generic (%i) in (4) : tensor<4xf32> {
          %e = tds.read %a[%i] : tensor<4xf32>
          tds.yield %e : f32
        }
        tds.yield %y : tensor<4xf32>
      }
      %reverse = tds.kernel "loop" (%x) : (tensor<4xf32>) -> tensor<4xf32> {
      ^bb0(%a: tensor<4xf32>):
        %y = tds.generic (%i) in (4) : tensor<4xf32> {
          %j = tds.apply affine_map<(d0) -> (3 - d0)> (%i)
          %e = tds.read %a[%i] : tensor<4xf32>
          %f = tds.read %a[%j] : tensor<4xf32>
          %s = tds.add %e, %f : f32
          tds.yield %s : f32
        }
        tds.yield %y : tensor<4xf32>
      }
      %contract = tds.kernel "contract" (%t, %t) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
      ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>):
        %c = tds.contract %a[0, 2], %a[2, 1] to [0, 1] : tensor<4x4xf32>, tensor<4x4xf32> to tensor<4x4xf32>
        %y = tds.generic (%i, %j) in (4, 4) : tensor<4x4xf32> {
          %e = tds.read %c[%i, %j] : tensor<4x4xf32>
          %f = tds.read %b[%i, %j] : tensor<4x4xf32>
          %s = tds.add %e, %f : f32
          tds.yield %s : f32
        }
        tds.yield %y : tensor<4x4xf32>
      }
      // Reductions and values of the row read their own row before it is written.
      %row:2 = tds.kernel "row" (%t) : (tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4x4xf32>) {
      ^bb0(%a: tensor<4x4xf32>):
        %m = tds.generic (%i) in (4) max (%j) in (4) : tensor<4xf32> {
          %e = tds.read %a[%i, %j] : tensor<4x4xf32>
          tds.yield %e : f32
        }
        %z = tds.generic (%i) in (4) : tensor<4xf32> {
          %k = tds.constant 3 : index
          %e = tds.read %a[%i, %k] : tensor<4x4xf32>
          tds.yield %e : f32
        }
        %y = tds.generic (%i, %j) in (4, 4) : tensor<4x4xf32> {
          %e = tds.read %a[%i, %j] : tensor<4x4xf32>
          %f = tds.read %m[%i] : tensor<4xf32>
          %s = tds.sub %e, %f : f32
          tds.yield %s : f32
        }
        tds.yield %z, %y : tensor<4xf32>, tensor<4x4xf32>
      }
      // Another element of the row, which its own thread writes meanwhile.
      %turned = tds.kernel "row" (%t) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
      ^bb0(%a: tensor<4x4xf32>):
        %m = tds.generic (%i) in (4) max (%j) in (4) : tensor<4xf32> {
          %e = tds.read %a[%i, %j] : tensor<4x4xf32>
          tds.yield %e : f32
        }
        %y = tds.generic (%i, %j) in (4, 4) : tensor<4x4xf32> {
          %k = tds.apply affine_map<(d0) -> (3 - d0)> (%j)
          %e = tds.read %a[%i, %k] : tensor<4x4xf32>
          %f = tds.read %m[%i] : tensor<4xf32>
          %s = tds.sub %e, %f : f32
          tds.yield %s : f32
        }
        tds.yield %y : tensor<4x4xf32>
      }
      // A reduction over other rows.
      %columns = tds.kernel "row" (%t) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
      ^bb0(%a: tensor<4x4xf32>):
        %m = tds.generic (%i) in (4) max (%j) in (4) : tensor<4xf32> {
          %e = tds.read %a[%j, %i] : tensor<4x4xf32>
          tds.yield %e : f32
        }
        %y = tds.generic (%i, %j) in (4, 4) : tensor<4x4xf32> {
          %e = tds.read %a[%i, %j] : tensor<4x4xf32>
          %f = tds.read %m[%i] : tensor<4xf32>
          %s = tds.sub %e, %f : f32
          tds.yield %s : f32
        }
        tds.yield %y : tensor<4x4xf32>
      }
      // What makes a factor reads it for other points, too.
      %prologue = tds.kernel "contract" (%t, %t) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
      ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>):
        %n = tds.generic (%i, %j) in (4, 4) : tensor<4x4xf32> {
          %e = tds.read %b[%i, %j] : tensor<4x4xf32>
          %s = tds.neg %e : f32
          tds.yield %s : f32
        }
        %c = tds.contract %a[0, 2], %n[2, 1] to [0, 1] : tensor<4x4xf32>, tensor<4x4xf32> to tensor<4x4xf32>
        %y = tds.generic (%i, %j) in (4, 4) : tensor<4x4xf32> {
          %e = tds.read %c[%i, %j] : tensor<4x4xf32>
          %s = tds.neg %e : f32
          tds.yield %s : f32
        }
        tds.yield %y : tensor<4x4xf32>
      }
      return %loop, %reverse, %contract : tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>
    })");
  ASSERT_TRUE(module);
  SmallVector<tds::KernelOp> kernels;
  module->walk([&](tds::KernelOp kernel) { kernels.push_back(kernel); });
  EXPECT_TRUE(mayShareBuffer(kernels[0], 0, 0));
  EXPECT_FALSE(mayShareBuffer(kernels[1], 0, 0));
  // The factor of the product is read by other points.
  EXPECT_FALSE(mayShareBuffer(kernels[2], 0, 0));
  EXPECT_TRUE(mayShareBuffer(kernels[2], 0, 1));
  EXPECT_FALSE(mayShareBuffer(kernels[3], 0, 0));
  EXPECT_TRUE(mayShareBuffer(kernels[3], 1, 0));
  EXPECT_FALSE(mayShareBuffer(kernels[4], 0, 0));
  EXPECT_FALSE(mayShareBuffer(kernels[5], 0, 0));
  EXPECT_FALSE(mayShareBuffer(kernels[6], 0, 1));
}

// What parts of earlier stages read has been read by then; what later ones
// read has not.
TEST(InPlace, Stages) {
  Context context;
  auto module = context.parse(R"(
    func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %r:2 = tds.kernel "parts" (%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      ^bb0(%a: tensor<4xf32>):
        %p = tds.kernel "loop" (%a) : (tensor<4xf32>) -> tensor<4xf32> {
        ^bb0(%b: tensor<4xf32>):
          %y = tds.generic (%i) in (4) : tensor<4xf32> {
            %j = tds.apply affine_map<(d0) -> (3 - d0)> (%i)
            %e = tds.read %b[%j] : tensor<4xf32>
            tds.yield %e : f32
          }
          tds.yield %y : tensor<4xf32>
        }
        %q = tds.kernel "loop" (%p) {stage = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32> {
        ^bb0(%b: tensor<4xf32>):
          %y = tds.generic (%i) in (4) : tensor<4xf32> {
            %e = tds.read %b[%i] : tensor<4xf32>
            tds.yield %e : f32
          }
          tds.yield %y : tensor<4xf32>
        }
        tds.yield %p, %q : tensor<4xf32>, tensor<4xf32>
      }
      %s:2 = tds.kernel "parts" (%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      ^bb0(%a: tensor<4xf32>):
        %p = tds.kernel "loop" (%a) : (tensor<4xf32>) -> tensor<4xf32> {
        ^bb0(%b: tensor<4xf32>):
          %y = tds.generic (%i) in (4) : tensor<4xf32> {
            %e = tds.read %b[%i] : tensor<4xf32>
            tds.yield %e : f32
          }
          tds.yield %y : tensor<4xf32>
        }
        %q = tds.kernel "loop" (%p, %a) {stage = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
        ^bb0(%b: tensor<4xf32>, %c: tensor<4xf32>):
          %y = tds.generic (%i) in (4) : tensor<4xf32> {
            %e = tds.read %b[%i] : tensor<4xf32>
            %f = tds.read %c[%i] : tensor<4xf32>
            %g = tds.add %e, %f : f32
            tds.yield %g : f32
          }
          tds.yield %y : tensor<4xf32>
        }
        tds.yield %p, %q : tensor<4xf32>, tensor<4xf32>
      }
      return %r#1, %s#1 : tensor<4xf32>, tensor<4xf32>
    })");
  ASSERT_TRUE(module);
  SmallVector<tds::KernelOp> kernels;
  module->walk([&](tds::KernelOp kernel) {
    if (!kernel.isPart())
      kernels.push_back(kernel);
  });
  // The first stage reads backwards what its own output would replace.
  EXPECT_FALSE(mayShareBuffer(kernels[0], 0, 0));
  EXPECT_TRUE(mayShareBuffer(kernels[0], 1, 0));
  // The second stage still reads what the first would replace.
  EXPECT_FALSE(mayShareBuffer(kernels[1], 0, 0));
  EXPECT_TRUE(mayShareBuffer(kernels[1], 1, 0));
}
