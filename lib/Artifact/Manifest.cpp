//===- Manifest.cpp - the manifest of a planned module -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Artifact/CountOperations.h"

#include "tdsl/Artifact/Manifest.h"

#include "tdsl/Dialect/Plan/PlanOps.h"
#include "tdsl/Dialect/TDS/LayerAttributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::plan;
namespace json = llvm::json;

namespace {

/// A kernel, and what its schedule says about launches.
struct ManifestKernel {
  func::FuncOp function;
  tds::KernelOp kernel;
  SmallVector<int64_t> inPlace, grid, block, sizes;
  int64_t sharedBytes = 0, work = 0, buffers = 0, flops = 0;
  /// Size arguments that are numbers of iterations, behind `sizes`.
  int64_t counters = 0;
};

std::string toUTF8(StringRef text) {
  return json::isUTF8(text) ? text.str() : json::fixUTF8(text);
}

class ManifestWriter {
public:
  ManifestWriter(ModuleOp module, const ManifestOptions &options)
      : module(module), options(options),
        isCUDA(options.target.kind == ArtifactTarget::Kind::CUDA), stream(text),
        out(stream) {}

  FailureOr<std::string> run() {
    if (failed(collectKernels()))
      return failure();
    out.objectBegin();
    writeHead();
    writeSlabs();
    writeVariables();
    writeConstants();
    writeKernels();
    section("entries", [&] {
      for (auto entry : module.getOps<EntryOp>())
        line([&](json::OStream &os) { writeEntry(os, entry); });
    });
    out.objectEnd();
    stream << '\n';
    return std::move(text);
  }

private:
  //===------------------------------------------------------------------===//
  // Lines
  //===------------------------------------------------------------------===//

  /// A top-level array; `elements` writes one line each.
  template <typename Fn> void section(StringRef key, Fn elements) {
    out.attributeBegin(key);
    out.rawValue([&](llvm::raw_ostream &os) {
      os << '[';
      isFirst = true;
      elements();
      os << ']';
    });
    out.attributeEnd();
  }

  template <typename Fn> void line(Fn write) {
    stream << (isFirst ? "\n" : ",\n");
    isFirst = false;
    json::OStream os(stream);
    write(os);
  }

  static void writeNumbers(json::OStream &os, ArrayRef<int64_t> numbers) {
    os.array([&] {
      for (int64_t number : numbers)
        os.value(number);
    });
  }

  static void writeType(json::OStream &os, Type tensor) {
    auto type = cast<RankedTensorType>(tensor);
    os.attribute("type", tds::getElementName(type.getElementType()));
    os.attributeBegin("shape");
    writeNumbers(os, type.getShape());
    os.attributeEnd();
  }

  //===------------------------------------------------------------------===//
  // Module
  //===------------------------------------------------------------------===//

  void writeHead() {
    out.attributeObject("format", [&] {
      out.attribute("major", 1);
      out.attribute("minor", 0);
    });
    out.attribute("kernel_abi", 1);
    out.attribute("producer", toUTF8(options.producer));
    out.attributeObject("program", [&] {
      out.attribute("name", toUTF8(options.programName));
      out.attribute("hash", options.programHash);
    });
    out.attributeObject("target", [&] {
      out.attribute("kind", isCUDA ? "cuda" : "cpu");
      out.attribute("arch", options.target.arch);
      if (isCUDA) {
        out.attribute("ptx_isa", options.target.ptxISA);
        out.attribute("min_driver", options.target.minDriver);
      } else if (!options.target.features.empty()) {
        out.attributeArray("features", [&] {
          for (const std::string &feature : options.target.features)
            out.value(feature);
        });
      }
    });
  }

  void writeSlabs() {
    section("slabs", [&] {
      for (auto slab : module.getOps<SlabOp>())
        line([&](json::OStream &os) {
          os.object([&] {
            os.attribute("role", stringifyVariableRole(slab.getRole()));
            os.attribute("type", tds::getElementName(slab.getElement()));
            os.attribute("bytes", static_cast<int64_t>(slab.getBytes()));
          });
          fixedBytes += slab.getBytes();
        });
    });
  }

  void writeVariables() {
    section("variables", [&] {
      for (auto variable : module.getOps<tds::VariableOp>())
        line([&](json::OStream &os) {
          os.object([&] {
            os.attribute("name", toUTF8(variable.getSymName()));
            os.attribute("role", stringifyVariableRole(variable.getRole()));
            writeType(os, variable.getType());
            if (variable->hasAttr(tds::attr::kLayers))
              os.attribute("layers", true);
            os.attribute(
                "slab",
                variable->getAttrOfType<IntegerAttr>(attr::kSlab).getInt());
            os.attribute(
                "offset",
                variable->getAttrOfType<IntegerAttr>(attr::kOffset).getInt());
          });
        });
    });
  }

  /// The bytes of a tensor in row-major order, a bool as one byte.
  static std::string getBytes(ElementsAttr value) {
    auto dense = cast<DenseElementsAttr>(value);
    std::string bytes;
    if (dense.getElementType().isInteger(1)) {
      for (bool element : dense.getValues<bool>())
        bytes += element ? '\1' : '\0';
      return bytes;
    }
    ArrayRef<char> raw = dense.getRawData();
    int64_t count = dense.isSplat() ? dense.getNumElements() : 1;
    bytes.reserve(raw.size() * count);
    for (int64_t i = 0; i < count; ++i)
      bytes.append(raw.begin(), raw.end());
    return bytes;
  }

  void writeConstants() {
    section("constants", [&] {
      for (auto constant : module.getOps<plan::ConstantOp>())
        line([&](json::OStream &os) {
          std::string bytes = getBytes(constant.getValue());
          os.object([&] {
            os.attribute("bytes", static_cast<int64_t>(bytes.size()));
            os.attribute("base64", llvm::encodeBase64(bytes));
          });
          fixedBytes += bytes.size();
        });
    });
  }

  //===------------------------------------------------------------------===//
  // Kernels
  //===------------------------------------------------------------------===//

  static LogicalResult getTriple(DictionaryAttr schedule, StringRef name,
                                 SmallVectorImpl<int64_t> &numbers) {
    auto values = schedule.getAs<DenseI64ArrayAttr>(name);
    if (!values || values.size() != 3)
      return failure();
    numbers.assign(values.asArrayRef().begin(), values.asArrayRef().end());
    return success();
  }

  LogicalResult collectKernels() {
    for (auto function : module.getOps<func::FuncOp>()) {
      auto inPlace = function->getAttrOfType<DenseI64ArrayAttr>(attr::kInPlace);
      auto kernels = function.getOps<tds::KernelOp>();
      if (!inPlace || kernels.empty())
        continue;
      ManifestKernel info;
      info.function = function;
      info.kernel = *kernels.begin();
      info.inPlace.assign(inPlace.asArrayRef().begin(),
                          inPlace.asArrayRef().end());
      auto counters =
          function->getAttrOfType<DenseI64ArrayAttr>(attr::kCounters);
      info.counters = counters ? counters.size() : 0;
      info.buffers = function.getNumArguments() - info.counters +
                     llvm::count(inPlace.asArrayRef(), -1);
      info.flops = countFloatOperations(info.kernel);
      auto schedule = info.kernel->getAttrOfType<DictionaryAttr>("schedule");
      if (!schedule)
        return info.kernel.emitOpError(
            "has no schedule; run tds-select-schedule first");
      if (auto sizes = schedule.getAs<DenseI64ArrayAttr>("sizes"))
        info.sizes.assign(sizes.asArrayRef().begin(), sizes.asArrayRef().end());
      if (isCUDA) {
        auto shared = schedule.getAs<IntegerAttr>("shared");
        if (failed(getTriple(schedule, "grid", info.grid)) ||
            failed(getTriple(schedule, "block", info.block)) || !shared)
          return info.kernel.emitOpError("has a schedule without grid, block "
                                         "and shared, which CUDA needs");
        info.sharedBytes = shared.getInt();
        info.work = llvm::is_contained(info.grid, 0) ? 0 : 1;
      } else {
        auto work = schedule.getAs<IntegerAttr>("work");
        if (!work)
          return info.kernel.emitOpError(
              "has a schedule without work, which the CPU needs");
        info.work = work.getInt();
        info.grid = info.block = {1, 1, 1};
      }
      numberOf[function.getName()] = kernels_.size();
      kernels_.push_back(std::move(info));
    }
    return success();
  }

  void writeKernels() {
    section("kernels", [&] {
      for (ManifestKernel &kernel : kernels_)
        line([&](json::OStream &os) {
          os.object([&] {
            os.attribute("symbol", kernel.function.getName());
            os.attribute("kind", kernel.kernel.getKind());
            os.attribute("title", toUTF8(describeKernel(kernel.kernel)));
            os.attribute("source",
                         toSource(describeLocation(kernel.kernel.getLoc())));
            os.attributeBegin("block");
            writeNumbers(os, kernel.block);
            os.attributeEnd();
            os.attribute("shared_bytes", kernel.sharedBytes);
            os.attribute("buffers", kernel.buffers);
            os.attribute("sizes", static_cast<int64_t>(kernel.sizes.size()) +
                                      kernel.counters);
          });
        });
    });
  }

  //===------------------------------------------------------------------===//
  // Entries
  //===------------------------------------------------------------------===//

  /// A number or boolean as the loader reads it; JSON has no infinities.
  static void writeDefault(json::OStream &os, Attribute value, Type type) {
    if (auto number = dyn_cast<FloatAttr>(value)) {
      double real = number.getValueAsDouble();
      if (std::isfinite(real))
        os.attribute("default", real);
      else
        os.attribute("default", std::isnan(real) ? "nan"
                                : real > 0       ? "inf"
                                                 : "-inf");
      return;
    }
    if (auto number = dyn_cast<IntegerAttr>(value)) {
      Type element = tds::getElementType(type);
      if (element.isInteger(1))
        os.attribute("default", !number.getValue().isZero());
      else if (isa<FloatType>(element))
        os.attribute("default",
                     static_cast<double>(number.getValue().getSExtValue()));
      else if (tds::isUnsigned(element))
        os.attribute("default",
                     static_cast<int64_t>(number.getValue().getZExtValue()));
      else
        os.attribute("default", number.getValue().getSExtValue());
    }
  }

  static void writeOperand(json::OStream &os, BufferAttr buffer) {
    os.array([&] {
      os.value(stringifySpace(buffer.getSpace()));
      os.value(buffer.getIndex());
      os.value(buffer.getOffset());
      os.value(buffer.getBytes());
      if (!buffer.getStrides().empty())
        writeNumbers(os, buffer.getStrides());
    });
  }

  /// A batch of no rows can't be cut or fed from data.
  static bool hasRows(Type type) {
    return cast<RankedTensorType>(type).getDimSize(0) > 0;
  }

  void writeEntry(json::OStream &os, EntryOp entry) {
    os.object([&] {
      os.attribute("name", toUTF8(entry.getSymName()));
      os.attribute("kind", entry.getKind());
      os.attributeArray("inputs", [&] {
        for (auto input : entry.getBlock()->getOps<InputOp>())
          os.object([&] {
            os.attribute("name", toUTF8(input.getName()));
            writeType(os, input.getType());
            os.attribute("offset", static_cast<int64_t>(input.getOffset()));
            if (input.getDataAxis() && hasRows(input.getType()))
              os.attribute("data_axis", 0);
            if (std::optional<Attribute> value = input.getDefaultValue())
              writeDefault(os, *value, input.getType());
            if (std::optional<StringRef> role = input.getRole())
              os.attribute("role", *role);
            if (input.getDonated())
              os.attribute("donated", true);
          });
      });
      os.attributeArray("results", [&] {
        for (auto result : entry.getBlock()->getOps<ResultOp>())
          os.object([&] {
            os.attribute("name", toUTF8(result.getName()));
            writeType(os, result.getType());
            os.attribute("offset", static_cast<int64_t>(result.getOffset()));
            if (result.getDataAxis() && hasRows(result.getType()))
              os.attribute("data_axis", 0);
          });
      });
      int64_t input = entry.getInputBytes(), result = entry.getResultBytes(),
              arena = entry.getArena();
      os.attribute("input_bytes", input);
      os.attribute("result_bytes", result);
      os.attribute("arena_bytes", arena);
      os.attribute("scratch_bytes", static_cast<int64_t>(entry.getScratch()));
      os.attribute("peak_bytes", fixedBytes + input + result + arena);
      writePeak(os, entry);
      writeFlags(os, entry);
      os.attributeBegin("commands");
      os.rawValue([&](llvm::raw_ostream &raw) {
        raw << '[';
        isFirst = true;
        for (Operation &op : *entry.getBlock())
          if (isa<LaunchOp, CopyOp, FillOp, LoopOp>(op))
            line([&](json::OStream &command) { writeCommand(command, &op); });
        raw << ']';
      });
      os.attributeEnd();
    });
    isFirst = false;
  }

  /// A place, relative to the folder of the program.
  std::string toSource(StringRef place) {
    place.consume_front(options.sourceFolder);
    return toUTF8(place);
  }

  void writePeak(json::OStream &os, EntryOp entry) {
    auto peak = entry->getAttrOfType<DictionaryAttr>(attr::kPeak);
    if (!peak)
      return;
    os.attributeObject("peak", [&] {
      os.attribute("command", peak.getAs<IntegerAttr>("command").getInt());
      os.attribute("live_arena_bytes",
                   peak.getAs<IntegerAttr>("live").getInt());
      os.attributeArray("largest", [&] {
        for (auto tensor :
             peak.getAs<ArrayAttr>("largest").getAsRange<DictionaryAttr>())
          os.object([&] {
            os.attribute("role", toUTF8(tensor.getAs<StringAttr>("role")));
            if (auto name = tensor.getAs<StringAttr>("name"))
              os.attribute("name", toUTF8(name));
            os.attribute("bytes", tensor.getAs<IntegerAttr>("bytes").getInt());
            if (auto type = tensor.getAs<TypeAttr>("type"))
              writeType(os, type.getValue());
            if (auto source = tensor.getAs<StringAttr>("source"))
              os.attribute("source", toSource(source));
          });
      });
    });
  }

  void writeFlags(json::OStream &os, EntryOp entry) {
    auto flags = entry->getAttrOfType<ArrayAttr>(attr::kFlags);
    if (!flags)
      return;
    os.attributeArray("flags", [&] {
      for (auto flag : flags.getAsRange<DictionaryAttr>())
        os.object([&] {
          auto text = flag.getAs<StringAttr>("text"),
               source = flag.getAs<StringAttr>("source");
          os.attribute("text", text ? toUTF8(text) : "a check failed");
          os.attribute("source", source ? toSource(source) : "");
        });
    });
  }

  void writeCommand(json::OStream &os, Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](LaunchOp launch) {
          unsigned number = numberOf.lookup(launch.getKernel());
          const ManifestKernel &kernel = kernels_[number];
          os.object([&] {
            os.attribute("op", "launch");
            os.attribute("kernel", static_cast<int64_t>(number));
            os.attributeBegin("grid");
            writeNumbers(os, kernel.grid);
            os.attributeEnd();
            os.attribute("work", kernel.work);
            if (kernel.flops != 0)
              os.attribute("flops", kernel.flops);
            int64_t updated = 0;
            for (auto [result, buffer] :
                 llvm::enumerate(launch.getOutputs().getAsRange<BufferAttr>()))
              if (kernel.inPlace[result] >= 0)
                updated += buffer.getBytes();
            if (updated != 0)
              os.attribute("updated", updated);
            os.attributeArray("args", [&] {
              for (BufferAttr buffer : launch.getArguments(kernel.inPlace))
                writeOperand(os, buffer);
            });
            os.attributeArray("sizes", [&] {
              for (int64_t size : kernel.sizes)
                os.value(size);
              for (int64_t depth : launch.getCounters())
                os.object([&] { os.attribute("loop", depth); });
            });
          });
        })
        .Case([&](LoopOp loop) {
          os.object([&] {
            os.attribute("op", "loop");
            os.attribute("trips", static_cast<int64_t>(loop.getTrips()));
            if (loop.getReverse())
              os.attribute("reverse", true);
            os.attributeArray("commands", [&] {
              for (Operation &inner : *loop.getBlock())
                writeCommand(os, &inner);
            });
          });
        })
        .Case([&](CopyOp copy) {
          os.object([&] {
            os.attribute("op", "copy");
            os.attributeBegin("to");
            writeOperand(os, copy.getTo());
            os.attributeEnd();
            os.attributeBegin("from");
            writeOperand(os, copy.getFrom());
            os.attributeEnd();
            os.attribute("bytes", copy.getTo().getBytes());
          });
        })
        .Case([&](FillOp fill) {
          os.object([&] {
            os.attribute("op", "fill");
            os.attributeBegin("to");
            writeOperand(os, fill.getTo());
            os.attributeEnd();
            os.attribute("bytes", fill.getTo().getBytes());
            os.attribute("byte", static_cast<int64_t>(fill.getByte()));
          });
        });
  }

  ModuleOp module;
  const ManifestOptions &options;
  bool isCUDA;
  std::string text;
  llvm::raw_string_ostream stream;
  json::OStream out;
  bool isFirst = true;
  int64_t fixedBytes = 0;
  std::vector<ManifestKernel> kernels_;
  llvm::StringMap<unsigned> numberOf;
};

} // namespace

FailureOr<std::string> tdsl::buildManifest(ModuleOp plan,
                                           const ManifestOptions &options) {
  return ManifestWriter(plan, options).run();
}
