//===- ReadPlan.cpp - launches, bytes and memory of a plan ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The least bytes of a launch are those that would be moved however the
// operations were joined: what the entry begins and ends with, each once, and
// the operands and results of contractions. Element operations and rows could
// all be computed where their values are needed.
//
//===----------------------------------------------------------------------===//

#include "ReadPlan.h"

#include "tdsl/Artifact/CountOperations.h"
#include "tdsl/Artifact/Manifest.h"
#include "tdsl/Dialect/Plan/PlanOps.h"
#include "tdsl/Dialect/TDS/SourceLocation.h"
#include "tdsl/Planning/MemoryProfile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::plan;
using namespace tdsl::report;

//===----------------------------------------------------------------------===//
// Small things
//===----------------------------------------------------------------------===//

static Place makePlace(FileLineColRange place, StringRef sourceFolder) {
  StringRef file = place.getFilename().getValue();
  file.consume_front(sourceFolder);
  return {file.str(), place.getStartLine(), place.getStartColumn()};
}

std::vector<Place> report::getPlaces(Location loc, StringRef sourceFolder) {
  std::vector<Place> places;
  for (FileLineColRange place : findOwnPlaces(loc))
    places.push_back(makePlace(place, sourceFolder));
  if (places.empty())
    if (FileLineColRange place = findPlace(loc))
      places.push_back(makePlace(place, sourceFolder));
  return places;
}

void report::collectParts(Location loc, std::vector<Attribute> &parts) {
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      collectParts(part, parts);
    return;
  }
  if (!llvm::is_contained(parts, loc))
    parts.push_back(loc);
}

std::string Place::getLine() const {
  return line ? file + ":" + std::to_string(line) : "";
}

std::string report::formatBytes(double bytes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  static constexpr const char *units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) {
    os << llvm::format("%.0f B", bytes);
    return text;
  }
  unsigned unit = 0;
  for (bytes /= 1024; bytes >= 1024 && unit < 4; ++unit)
    bytes /= 1024;
  os << llvm::format(bytes < 10 ? "%.2f " : "%.1f ", bytes) << units[unit];
  return text;
}

int64_t Entry::getBytes() const {
  int64_t bytes = copyBytes;
  for (const Launch &launch : launches)
    bytes += launch.bytes;
  return bytes;
}

int64_t Entry::getLeastBytes() const {
  int64_t bytes = leastCopyBytes;
  for (const Launch &launch : launches)
    bytes += launch.leastBytes;
  return bytes;
}

static std::string describeType(RankedTensorType type) {
  if (!type)
    return "";
  std::string text = tds::getElementName(type.getElementType()).str();
  if (type.getRank() == 0)
    return text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(type.getShape(), os);
  os << ']';
  return text;
}

//===----------------------------------------------------------------------===//
// What a kernel does with its buffers
//===----------------------------------------------------------------------===//

namespace {

struct KernelUse {
  /// For each input the bytes that are read, and whether it is a factor of a
  /// contraction.
  SmallVector<int64_t> inputBytes;
  SmallVector<bool> isFactor;
  bool hasContraction = false;
  int64_t flops = 0;
};

/// The argument of the outermost kernel that a value is, or -1.
int64_t getArgument(Value value, tds::KernelOp outermost) {
  while (auto argument = dyn_cast<BlockArgument>(value)) {
    auto kernel = dyn_cast<tds::KernelOp>(argument.getOwner()->getParentOp());
    if (!kernel)
      return -1;
    if (kernel == outermost)
      return argument.getArgNumber();
    value = kernel.getInputs()[argument.getArgNumber()];
  }
  return -1;
}

int64_t getNumPoints(Operation *op) {
  if (auto generic = dyn_cast<tds::GenericOp>(op))
    return generic.getType().getNumElements() * generic.getReductionSize();
  int64_t points = 1;
  for (int64_t extent : cast<tds::ScatterOp>(op).getExtents())
    points *= extent;
  return points;
}

KernelUse getUse(tds::KernelOp kernel) {
  KernelUse use;
  use.flops = countFloatOperations(kernel);
  unsigned numInputs = kernel.getInputs().size();
  use.isFactor.assign(numInputs, false);
  // Of a tensor that is read at computed indices only, a gather, no more is
  // read than one element for each point.
  SmallVector<int64_t> gathered(numInputs, 0);
  SmallVector<bool> isWhole(numInputs, false);
  kernel.walk([&](Operation *op) {
    if (auto contract = dyn_cast<tds::ContractOp>(op)) {
      use.hasContraction = true;
      for (Value factor : {contract.getLhs(), contract.getRhs()})
        if (int64_t argument = getArgument(factor, kernel); argument >= 0)
          use.isFactor[argument] = isWhole[argument] = true;
    } else if (isa<tds::AttentionOp, tds::AttentionGradOp>(op)) {
      use.hasContraction = true;
      for (Value operand : op->getOperands())
        if (int64_t argument = getArgument(operand, kernel); argument >= 0)
          use.isFactor[argument] = isWhole[argument] = true;
    } else if (auto read = dyn_cast<tds::ReadOp>(op)) {
      int64_t argument = getArgument(read.getTensor(), kernel);
      if (argument < 0)
        return;
      Operation *body = read->getParentOp();
      bool isGather = llvm::any_of(read.getIndices(), [&](Value index) {
        return !tds::getAffineIndex(index, body->getRegion(0).getArguments());
      });
      if (isGather)
        gathered[argument] +=
            getNumPoints(body) *
            tds::getElementBytes(read.getTensorType().getElementType());
      else
        isWhole[argument] = true;
    }
  });
  for (auto [i, input] : llvm::enumerate(kernel.getInputs())) {
    int64_t bytes = getTensorBytes(input.getType());
    use.inputBytes.push_back(isWhole[i] ? bytes : std::min(bytes, gathered[i]));
  }
  return use;
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

class PlanReader {
public:
  PlanReader(ModuleOp module, std::vector<Note> notes, StringRef sourceFolder)
      : module(module), sourceFolder(sourceFolder) {
    target.notes = std::move(notes);
  }

  TargetReport run() {
    readKernels();
    for (auto entry : module.getOps<EntryOp>())
      readEntry(entry);
    return std::move(target);
  }

private:
  void readKernels() {
    for (auto function : module.getOps<func::FuncOp>()) {
      auto kernels = function.getOps<tds::KernelOp>();
      if (!function->hasAttr(attr::kInPlace) || kernels.empty())
        continue;
      tds::KernelOp kernel = *kernels.begin();
      numberOf[function.getName()] = target.kernels.size();
      std::string ir;
      llvm::raw_string_ostream os(ir);
      function.print(os, OpPrintingFlags().useLocalScope());
      target.kernels.push_back({function.getName().str(),
                                kernel.getKind().str(), describeKernel(kernel),
                                std::move(ir), ""});
      uses.push_back(getUse(kernel));
    }
    for (auto slab : module.getOps<SlabOp>())
      fixedBytes += slab.getBytes();
    for (auto constant : module.getOps<plan::ConstantOp>())
      fixedBytes += getTensorBytes(constant.getValue().getType());
  }

  void readEntry(EntryOp op) {
    Entry entry;
    entry.name = op.getSymName().str();
    entry.kind = op.getKind().str();
    entry.arenaBytes = op.getArena();
    entry.scratchBytes = op.getScratch();
    entry.fixedBytes = fixedBytes + op.getInputBytes() + op.getResultBytes();
    writers.clear();
    known.clear();
    for (Operation &command : *op.getBlock())
      entry.numCommands +=
          readCommand(entry, command, 1, std::to_string(entry.numCommands));
    addMemory(op, entry);
    addNotes(op, entry);
    target.entries.push_back(std::move(entry));
  }

  /// A copy, or a fill, which reads nothing; it runs `runs` times a call.
  void addCopy(Entry &entry, BufferAttr from, BufferAttr to, int64_t runs) {
    int64_t bytes = to.getBytes();
    entry.numCopies += runs;
    entry.copyBytes += runs * (from ? 2 * bytes : bytes);
    if (from && isFirstRead(from))
      entry.leastCopyBytes += (from.getStrides().empty() ? 1 : runs) * bytes;
    if (to.getSpace() != Space::Arena)
      entry.leastCopyBytes += (to.getStrides().empty() ? 1 : runs) * bytes;
    if (to.getSpace() != Space::Arena)
      known.push_back(to);
  }

  static std::pair<int, int64_t> getSpaceOf(BufferAttr buffer) {
    return {static_cast<int>(buffer.getSpace()), buffer.getIndex()};
  }

  /// Whether `op` is a command; it runs `runs` times a call.
  bool readCommand(Entry &entry, Operation &op, int64_t runs,
                   const std::string &number) {
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      entry.launches.push_back(readLaunch(entry, launch, runs));
      entry.launches.back().number = number;
      entry.numLaunches += runs;
    } else if (auto copy = dyn_cast<CopyOp>(op)) {
      addCopy(entry, copy.getFrom(), copy.getTo(), runs);
    } else if (auto fill = dyn_cast<FillOp>(op)) {
      addCopy(entry, {}, fill.getTo(), runs);
    } else if (auto loop = dyn_cast<LoopOp>(op)) {
      unsigned first = entry.launches.size(), count = 0;
      for (Operation &inner : *loop.getBlock())
        count += readCommand(entry, inner, runs * loop.getTrips(),
                             number + "." + std::to_string(count));
      addCarried(entry, loop, first);
    } else {
      return false;
    }
    return true;
  }

  Launch readLaunch(const Entry &entry, LaunchOp op, int64_t runs) {
    Launch launch;
    launch.command = entry.numCommands;
    launch.kernel = numberOf.lookup(op.getKernel());
    launch.places = getPlaces(op.getLoc(), sourceFolder);
    const KernelUse &use = uses[launch.kernel];
    launch.flops = runs * use.flops;
    llvm::SmallSetVector<BufferAttr, 8> read;
    for (auto [i, buffer] :
         llvm::enumerate(op.getInputs().getAsRange<BufferAttr>())) {
      if (buffer.getSpace() == Space::Counter)
        continue;
      addEdge(launch, buffer);
      if (!read.insert(buffer))
        continue;
      launch.bytes += runs * use.inputBytes[i];
      // What a loop reads in place could be kept between its iterations.
      if (use.isFactor[i])
        launch.leastBytes += runs * use.inputBytes[i];
      else if (isFirstRead(buffer))
        launch.leastBytes +=
            (buffer.getStrides().empty() ? 1 : runs) * use.inputBytes[i];
    }
    for (auto buffer : op.getOutputs().getAsRange<BufferAttr>()) {
      launch.bytes += runs * buffer.getBytes();
      if (buffer.getSpace() != Space::Arena || use.hasContraction)
        launch.leastBytes += runs * buffer.getBytes();
      if (buffer.getSpace() != Space::Arena)
        known.push_back(buffer);
      writers[getSpaceOf(buffer)].emplace_back(buffer, entry.launches.size());
    }
    return launch;
  }

  /// Whether this is where the entry first reads something that it was given.
  bool isFirstRead(BufferAttr buffer) {
    if (buffer.getSpace() == Space::Arena)
      return false;
    bool isKnown = llvm::any_of(
        known, [&](BufferAttr other) { return other.overlaps(buffer); });
    if (!isKnown)
      known.push_back(buffer);
    return !isKnown;
  }

  void addEdge(Launch &launch, BufferAttr buffer) {
    for (auto &[written, writer] : llvm::reverse(writers[getSpaceOf(buffer)])) {
      if (!written.overlaps(buffer))
        continue;
      auto edge = llvm::find_if(launch.inputs, [&, w = writer](const Edge &e) {
        return e.producer == w;
      });
      if (edge == launch.inputs.end())
        launch.inputs.push_back({writer, buffer.getBytes(), ""});
      else
        edge->bytes += buffer.getBytes();
      return;
    }
  }

  /// The edges from one iteration of a loop to the next, whose launches are
  /// those from `first` on: what is read before it is written in the body.
  void addCarried(Entry &entry, LoopOp loop, unsigned first) {
    unsigned number = first;
    loop.walk<WalkOrder::PreOrder>([&](LaunchOp op) {
      Launch &launch = entry.launches[number];
      for (auto buffer : op.getInputs().getAsRange<BufferAttr>()) {
        std::optional<unsigned> last;
        bool isOwn = false; // written in this iteration
        for (auto &[written, writer] : writers[getSpaceOf(buffer)]) {
          if (writer < first || !written.overlaps(buffer))
            continue;
          isOwn |= writer < number;
          last = writer;
        }
        // A loop in the loop may have seen it already.
        bool isKnown = llvm::any_of(launch.carried, [&](const Edge &edge) {
          return edge.producer == last;
        });
        if (last && !isOwn && !isKnown)
          launch.carried.push_back({*last, buffer.getBytes(),
                                    "it is computed in the iteration before"});
      }
      ++number;
    });
  }

  void addMemory(EntryOp op, Entry &entry) {
    MemoryProfile profile = profileMemory(op);
    entry.liveBytes.assign(profile.liveBytes.begin(), profile.liveBytes.end());
    entry.peakCommand = profile.peakCommand;
    auto getPlace = [&](Location loc) {
      std::vector<Place> places = getPlaces(loc, sourceFolder);
      return places.empty() ? Place() : places.front();
    };
    for (const ArenaTensor &tensor : profile.tensors)
      entry.ranges.push_back(
          {tensor.buffer.getOffset(), tensor.buffer.getBytes(), tensor.first,
           tensor.last, getPlace(tensor.loc), describeType(tensor.type)});
    constexpr unsigned numShown = 5;
    for (const PeakTensor &tensor : getLargestAtPeak(op, profile, numShown))
      entry.largest.push_back({tensor.role, tensor.name,
                               describeType(tensor.type), tensor.bytes,
                               getPlace(tensor.loc)});
  }

  using Parts = llvm::SmallDenseSet<Attribute, 8>;

  static unsigned countCommon(const std::vector<Attribute> &parts,
                              const Parts &all) {
    return llvm::count_if(parts,
                          [&](Attribute part) { return all.contains(part); });
  }

  /// Gives each launch the notes about its operations, and each edge the reason
  /// that fits best: a line may have many kernels.
  void addNotes(EntryOp op, Entry &entry) {
    std::vector<Parts> partsOf;
    std::vector<Operation *> loopOf;
    // In the order of readCommand(), with those of loops.
    op.walk<WalkOrder::PreOrder>([&](LaunchOp launch) {
      loopOf.push_back(launch->getParentOp());
      std::vector<Attribute> parts;
      collectParts(launch.getLoc(), parts);
      partsOf.emplace_back(parts.begin(), parts.end());
    });
    llvm::DenseMap<Attribute, SmallVector<unsigned>> notesOf;
    for (auto [number, note] : llvm::enumerate(target.notes))
      if (note.entry == entry.name)
        for (Attribute part : note.parts)
          notesOf[part].push_back(number);
    for (auto [launch, own, loop] :
         llvm::zip_equal(entry.launches, partsOf, loopOf)) {
      std::vector<unsigned> best(launch.inputs.size());
      SmallVector<unsigned> numbers;
      for (Attribute part : own)
        if (auto known = notesOf.find(part); known != notesOf.end())
          llvm::append_range(numbers, known->second);
      llvm::sort(numbers);
      numbers.erase(llvm::unique(numbers), numbers.end());
      for (unsigned number : numbers) {
        const Note &note = target.notes[number];
        unsigned common = countCommon(note.parts, own);
        if (note.producer.empty()) {
          // A remark about a kernel has the places of all its operations; of a
          // kernel that shares only some of them it does not speak.
          if (common == note.parts.size())
            launch.notes.push_back(number);
          continue;
        }
        for (auto [i, edge] : llvm::enumerate(launch.inputs)) {
          unsigned there = countCommon(note.producer, partsOf[edge.producer]);
          if (there && common + there > best[i]) {
            best[i] = common + there;
            edge.reason = note.text;
          }
        }
      }
      for (Edge &edge : launch.inputs)
        if (loopOf[edge.producer] != loop)
          edge.reason = "a kernel of a loop is launched in each "
                        "iteration, one outside of it once";
    }
  }

  ModuleOp module;
  StringRef sourceFolder;
  TargetReport target;
  llvm::StringMap<unsigned> numberOf;
  std::vector<KernelUse> uses;
  int64_t fixedBytes = 0;
  // Of the entry at hand: which launch wrote what in each space, and which
  // buffers outside the arena have been read or written.
  llvm::DenseMap<std::pair<int, int64_t>,
                 SmallVector<std::pair<BufferAttr, unsigned>>>
      writers;
  SmallVector<BufferAttr> known;
};

} // namespace

TargetReport report::describePlan(ModuleOp plan, std::vector<Note> notes,
                                  StringRef sourceFolder) {
  return PlanReader(plan, std::move(notes), sourceFolder).run();
}

void report::addCode(TargetReport &target, StringRef ptx) {
  for (Kernel &kernel : target.kernels) {
    std::string head = ".entry " + kernel.symbol + "(";
    size_t begin = ptx.find(head);
    if (begin == StringRef::npos)
      continue;
    begin = ptx.rfind('\n', begin) + 1;
    size_t end = ptx.find("\n}\n", begin);
    kernel.code =
        ptx.slice(begin, end == StringRef::npos ? end : end + 3).str();
  }
}
