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

#include "BufferWriters.h"
#include "KernelUse.h"

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
  if (auto fused = dyn_cast<FusedLoc>(loc); fused && !isDerivativeLoc(loc)) {
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
// Entries
//===----------------------------------------------------------------------===//

namespace {

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
    writers = {};
    loops.clear();
    known.clear();
    for (Operation &command : *op.getBlock())
      entry.numCommands +=
          readCommand(entry, command, 1, std::to_string(entry.numCommands));
    addMemory(op, entry);
    addNotes(op, entry);
    target.entries.push_back(std::move(entry));
  }

  /// A copy, or a fill, which reads nothing; it runs `runs` times a call.
  void addCopy(Entry &entry, Operation &op, BufferAttr from, BufferAttr to,
               int64_t runs) {
    int64_t bytes = to.getBytes();
    addReason(entry, op, !from, runs, bytes);
    entry.numCopies += runs;
    entry.copyBytes += runs * (from ? 2 * bytes : bytes);
    if (from && isFirstRead(from))
      entry.leastCopyBytes += (from.getStrides().empty() ? 1 : runs) * bytes;
    if (!isTemporary(to))
      entry.leastCopyBytes += (to.getStrides().empty() ? 1 : runs) * bytes;
    if (to.getSpace() != Space::Arena)
      known.push_back(to);
  }

  void addReason(Entry &entry, Operation &op, bool isFill, int64_t runs,
                 int64_t bytes) {
    auto why = op.getAttrOfType<StringAttr>(plan::attr::kWhy);
    if (!why)
      return;
    std::vector<Place> places = getPlaces(op.getLoc(), sourceFolder);
    CopyReason reason{isFill, runs, runs * bytes, why.str(),
                      places.empty() ? Place() : places.front()};
    for (CopyReason &other : entry.copies)
      if (other.isFill == isFill && other.why == reason.why &&
          other.place.getLine() == reason.place.getLine()) {
        other.runs += runs;
        other.bytes += reason.bytes;
        return;
      }
    entry.copies.push_back(std::move(reason));
  }

  /// Whether what is written there is gone behind the call: a donated input's
  /// place is as good as the arena.
  static bool isTemporary(BufferAttr written) {
    return written.getSpace() == Space::Arena ||
           written.getSpace() == Space::Input;
  }

  /// Whether `op` is a command; it runs `runs` times a call and has `number`.
  bool readCommand(Entry &entry, Operation &op, int64_t runs,
                   const std::string &number) {
    if (auto loop = dyn_cast<LoopOp>(op)) {
      readLoop(entry, loop, runs, number);
      return true;
    }
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      entry.launches.push_back(readLaunch(entry, launch, runs, number));
      entry.numLaunches += runs;
    } else if (auto copy = dyn_cast<CopyOp>(op)) {
      addCopy(entry, op, copy.getFrom(), copy.getTo(), runs);
    } else if (auto fill = dyn_cast<FillOp>(op)) {
      addCopy(entry, op, {}, fill.getTo(), runs);
    } else {
      return false;
    }
    writers.add(op, entry.launches.size() - 1);
    return true;
  }

  void readLoop(Entry &entry, LoopOp loop, int64_t runs,
                const std::string &number) {
    LoopState state;
    state.depth = loops.size();
    state.since = writers.size();
    unsigned next = entry.launches.size();
    state.atEnd.addLoop(loop, next);
    loops.push_back(std::move(state));
    unsigned inside = 0;
    for (Operation &command : *loop.getBlock())
      inside += readCommand(entry, command, runs * loop.getTrips(),
                            number + "." + std::to_string(inside));
    loops.pop_back();
  }

  Launch readLaunch(const Entry &entry, LaunchOp op, int64_t runs,
                    const std::string &number) {
    Launch launch;
    launch.command = entry.numCommands;
    launch.number = number;
    launch.runs = runs;
    launch.kernel = numberOf.lookup(op.getKernel());
    launch.places = getPlaces(op.getLoc(), sourceFolder);
    const KernelUse &use = uses[launch.kernel];
    launch.flops = runs * use.flops;
    launch.f16Flops = runs * use.f16Flops;
    launch.bf16Flops = runs * use.bf16Flops;
    launch.bytes += runs * use.innerBytes;
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
    for (auto [i, buffer] :
         llvm::enumerate(op.getOutputs().getAsRange<BufferAttr>())) {
      launch.bytes += runs * buffer.getBytes();
      if (!isTemporary(buffer) || use.isResult[i])
        launch.leastBytes += runs * buffer.getBytes();
      if (buffer.getSpace() != Space::Arena)
        known.push_back(buffer);
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
    if (std::optional<unsigned> writer = writers.find(buffer))
      addEdge(launch, *writer, buffer.getBytes(), /*isCarried=*/false);
    if (loops.empty())
      return;
    // What the iteration before left, where this one has not written it yet. A
    // slice of the loop is another place in each iteration.
    const LoopState &loop = loops.back();
    ArrayRef<int64_t> strides = buffer.getStrides();
    bool isSlice = strides.size() > loop.depth && strides[loop.depth] != 0;
    if (isSlice || writers.find(buffer, loop.since))
      return;
    if (std::optional<unsigned> writer = loop.atEnd.find(buffer))
      addEdge(launch, *writer, buffer.getBytes(), /*isCarried=*/true);
  }

  static void addEdge(Launch &launch, unsigned writer, int64_t bytes,
                      bool isCarried) {
    for (Edge &edge : launch.inputs)
      if (edge.producer == writer && edge.isCarried == isCarried) {
        edge.bytes += bytes;
        return;
      }
    launch.inputs.push_back({writer, bytes, isCarried, ""});
  }

  /// What stands between two launches that no pass thinks of joining: the
  /// number of each but for its last part is that of the loop it is in.
  static std::string describeLoops(const Launch &producer, const Launch &reader,
                                   bool isCarried) {
    if (isCarried)
      return "it is computed in the iteration before";
    auto getLoop = [](const Launch &launch) {
      StringRef number = launch.number;
      return number.take_front(number.rfind('.') + 1);
    };
    StringRef from = getLoop(producer), to = getLoop(reader);
    if (from == to)
      return "";
    if (to.starts_with(from) || from.starts_with(to))
      return "a kernel of a loop is launched in each iteration, one outside of "
             "it once";
    return "they are in different loops";
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
    op.walk([&](LaunchOp launch) {
      std::vector<Attribute> parts;
      collectParts(launch.getLoc(), parts);
      partsOf.emplace_back(parts.begin(), parts.end());
    });
    llvm::DenseMap<Attribute, SmallVector<unsigned>> notesOf;
    for (auto [number, note] : llvm::enumerate(target.notes))
      if (note.entry == entry.name)
        for (Attribute part : note.parts)
          notesOf[part].push_back(number);
    for (auto [launch, own] : llvm::zip_equal(entry.launches, partsOf)) {
      for (Edge &edge : launch.inputs)
        edge.reason = describeLoops(entry.launches[edge.producer], launch,
                                    edge.isCarried);
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
          if (best[i] == 0 && !edge.reason.empty())
            continue;
          unsigned there = countCommon(note.producer, partsOf[edge.producer]);
          // Of those that fit alike the last one: passes that come later know
          // more.
          if (there && common + there >= best[i]) {
            best[i] = common + there;
            edge.reason = note.text;
          }
        }
      }
    }
  }

  ModuleOp module;
  StringRef sourceFolder;
  TargetReport target;
  llvm::StringMap<unsigned> numberOf;
  std::vector<KernelUse> uses;
  int64_t fixedBytes = 0;
  struct LoopState {
    unsigned depth = 0;
    size_t since = 0;    ///< the writes before the loop
    BufferWriters atEnd; ///< what an iteration leaves
  };
  // Of the entry at hand: which launch wrote what, the loops around, and which
  // buffers outside the arena have been read or written.
  BufferWriters writers;
  SmallVector<LoopState> loops;
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
