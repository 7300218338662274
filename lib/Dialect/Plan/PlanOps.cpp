//===- PlanOps.cpp - syntax and verifiers of the plan dialect -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/Plan/PlanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <functional>
#include <limits>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::plan;

//===----------------------------------------------------------------------===//
// Buffers: slab[1] 512 + 1024
//===----------------------------------------------------------------------===//

static ParseResult parseBuffer(AsmParser &parser, Space &space, int64_t &index,
                               int64_t &offset, int64_t &bytes,
                               SmallVector<int64_t> &strides,
                               SmallVector<int64_t> &trips) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Space> parsed = symbolizeSpace(keyword);
  if (!parsed)
    return parser.emitError(loc) << "unknown space '" << keyword << "'";
  space = *parsed;
  if (parser.parseLSquare() || parser.parseInteger(index) ||
      parser.parseRSquare() || parser.parseInteger(offset) ||
      parser.parsePlus() || parser.parseInteger(bytes))
    return failure();
  if (failed(parser.parseOptionalKeyword("by")))
    return success();
  return parser.parseCommaSeparatedList([&]() -> ParseResult {
    return failure(parser.parseInteger(strides.emplace_back()) ||
                   parser.parseStar() ||
                   parser.parseInteger(trips.emplace_back()));
  });
}

static void printBuffer(AsmPrinter &printer, Space space, int64_t index,
                        int64_t offset, int64_t bytes,
                        ArrayRef<int64_t> strides, ArrayRef<int64_t> trips) {
  printer << stringifySpace(space) << "[" << index << "] " << offset << " + "
          << bytes;
  if (strides.empty())
    return;
  printer << " by ";
  llvm::interleaveComma(llvm::zip(strides, trips), printer, [&](auto pair) {
    printer << std::get<0>(pair) << " * " << std::get<1>(pair);
  });
}

static ParseResult parseBuffers(OpAsmParser &parser, ArrayAttr &buffers) {
  SmallVector<Attribute> parsed;
  auto parseOne = [&]() -> ParseResult {
    Space space;
    int64_t index, offset, bytes;
    SmallVector<int64_t> strides, trips;
    if (parser.parseLess() ||
        parseBuffer(parser, space, index, offset, bytes, strides, trips) ||
        parser.parseGreater())
      return failure();
    parsed.push_back(BufferAttr::get(parser.getContext(), space, index, offset,
                                     bytes, strides, trips));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseOne))
    return failure();
  buffers = parser.getBuilder().getArrayAttr(parsed);
  return success();
}

static void printBuffers(OpAsmPrinter &printer, Operation *,
                         ArrayAttr buffers) {
  printer << "(";
  llvm::interleaveComma(
      buffers.getAsRange<BufferAttr>(), printer, [&](BufferAttr buffer) {
        printer << "<";
        printBuffer(printer, buffer.getSpace(), buffer.getIndex(),
                    buffer.getOffset(), buffer.getBytes(), buffer.getStrides(),
                    buffer.getTrips());
        printer << ">";
      });
  printer << ")";
}

#include "tdsl/Dialect/Plan/PlanDialect.cpp.inc"
#include "tdsl/Dialect/Plan/PlanEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tdsl/Dialect/Plan/PlanAttributes.cpp.inc"

#define GET_OP_CLASSES
#include "tdsl/Dialect/Plan/PlanOps.cpp.inc"

void PlanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tdsl/Dialect/Plan/PlanAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tdsl/Dialect/Plan/PlanOps.cpp.inc"
      >();
}

Location plan::getLaunchLoc(MLIRContext *context, ArrayRef<Location> parts,
                            ArrayRef<Location> outputs) {
  SmallVector<Attribute> marks(outputs.begin(), outputs.end());
  return FusedLoc::get(parts, ArrayAttr::get(context, marks), context);
}

Location plan::getOutputLoc(LaunchOp launch, unsigned output) {
  if (auto fused = dyn_cast<FusedLoc>(launch.getLoc()))
    if (auto outputs = dyn_cast_or_null<ArrayAttr>(fused.getMetadata()))
      if (output < outputs.size())
        if (auto loc = dyn_cast<LocationAttr>(outputs[output]))
          return loc;
  return launch.getLoc();
}

int64_t plan::getTensorBytes(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return type.getNumElements() * tds::getElementBytes(type.getElementType());
}

LogicalResult PlanDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == attr::kSlab || name == attr::kOffset) {
    if (!isa<tds::VariableOp>(op))
      return op->emitOpError()
             << "attribute '" << name << "' belongs on a tds.variable";
    return success(isa<IntegerAttr>(attribute.getValue()));
  }
  if (name == attr::kFlags)
    return success();
  if (name == attr::kWhy) {
    if (!isa<CopyOp, FillOp>(op) || !isa<StringAttr>(attribute.getValue()))
      return op->emitOpError() << "attribute '" << name
                               << "' is a sentence on a plan.copy or plan.fill";
    return success();
  }
  if (name == attr::kPeak) {
    if (!isa<EntryOp>(op))
      return op->emitOpError()
             << "attribute '" << name << "' belongs on a plan.entry";
    auto peak = dyn_cast<DictionaryAttr>(attribute.getValue());
    if (!peak || !peak.getAs<IntegerAttr>("command") ||
        !peak.getAs<IntegerAttr>("live") || !peak.getAs<ArrayAttr>("largest"))
      return op->emitOpError()
             << "attribute '" << name << "' needs command, live and largest";
    for (Attribute tensor : peak.getAs<ArrayAttr>("largest")) {
      auto fields = dyn_cast<DictionaryAttr>(tensor);
      if (!fields || !fields.getAs<IntegerAttr>("bytes") ||
          !fields.getAs<StringAttr>("role"))
        return op->emitOpError() << "attribute '" << name
                                 << "' has a tensor without bytes and role";
    }
    return success();
  }
  if (name != attr::kInPlace && name != attr::kDisjoint &&
      name != attr::kCounters)
    return op->emitOpError() << "unknown attribute '" << name << "'";
  auto function = dyn_cast<func::FuncOp>(op);
  if (!function)
    return op->emitOpError()
           << "attribute '" << name << "' belongs on a func.func";
  if (name == attr::kDisjoint)
    return success();
  if (name == attr::kCounters) {
    auto counters = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
    bool isGood =
        counters && llvm::all_of(counters.asArrayRef(), [&](int64_t i) {
          return i >= 0 && i < function.getNumArguments();
        });
    return isGood ? success()
                  : op->emitOpError("attribute 'plan.counters' needs numbers "
                                    "of arguments");
  }
  auto inPlace = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
  if (!inPlace ||
      inPlace.size() != static_cast<int64_t>(function.getNumResults()))
    return op->emitOpError()
           << "attribute 'plan.in_place' needs one number for each result";
  for (int64_t input : inPlace.asArrayRef())
    if (input < -1 || input >= static_cast<int64_t>(function.getNumArguments()))
      return op->emitOpError() << "attribute 'plan.in_place' names argument "
                               << input << " of " << function.getNumArguments();
  return success();
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

SmallVector<BufferAttr> LaunchOp::getArguments(ArrayRef<int64_t> inPlace) {
  SmallVector<BufferAttr> arguments(getInputs().getAsRange<BufferAttr>());
  llvm::erase_if(arguments, [](BufferAttr buffer) {
    return buffer.getSpace() == Space::Counter;
  });
  for (auto [i, output] :
       llvm::enumerate(getOutputs().getAsRange<BufferAttr>()))
    if (inPlace[i] < 0)
      arguments.push_back(output);
  return arguments;
}

SmallVector<int64_t> LaunchOp::getCounters() {
  SmallVector<int64_t> counters;
  for (BufferAttr buffer : getInputs().getAsRange<BufferAttr>())
    if (buffer.getSpace() == Space::Counter)
      counters.push_back(buffer.getIndex());
  return counters;
}

LogicalResult LaunchOp::verify() {
  auto module = (*this)->getParentOfType<ModuleOp>();
  auto function =
      module ? module.lookupSymbol<func::FuncOp>(getKernel()) : func::FuncOp();
  if (!function)
    return emitOpError("launches ")
           << getKernelAttr()
           << ", which is no function of the module (launch_c1)";
  auto checkBytes = [&](ArrayAttr buffers, TypeRange types,
                        StringRef what) -> LogicalResult {
    if (buffers.size() != types.size())
      return emitOpError("has ")
             << buffers.size() << " " << what << ", expected " << types.size()
             << " (launch_c1)";
    for (auto [i, buffer] : llvm::enumerate(buffers.getAsRange<BufferAttr>()))
      if (buffer.getBytes() != getTensorBytes(types[i]))
        return emitOpError("gives ")
               << buffer.getBytes() << " bytes for " << what << " " << i
               << ", expected " << getTensorBytes(types[i]) << " (launch_c1)";
    return success();
  };
  if (failed(checkBytes(getInputs(), function.getArgumentTypes(), "inputs")) ||
      failed(checkBytes(getOutputs(), function.getResultTypes(), "outputs")))
    return failure();
  SmallVector<BufferAttr> inputs(getInputs().getAsRange<BufferAttr>()),
      outputs(getOutputs().getAsRange<BufferAttr>());
  auto counters = function->getAttrOfType<DenseI64ArrayAttr>(attr::kCounters);
  for (auto [i, input] : llvm::enumerate(inputs)) {
    bool isCounter =
        counters && llvm::is_contained(counters.asArrayRef(), int64_t(i));
    if (isCounter != (input.getSpace() == Space::Counter))
      return emitOpError("gives ")
             << input << " for input " << i << ", which is "
             << (isCounter ? "the number of an iteration" : "a buffer")
             << " (launch_c1)";
  }
  auto inPlaceAttr = function->getAttrOfType<DenseI64ArrayAttr>(attr::kInPlace);
  SmallVector<int64_t> inPlace(outputs.size(), -1);
  if (inPlaceAttr)
    inPlace.assign(inPlaceAttr.asArrayRef().begin(),
                   inPlaceAttr.asArrayRef().end());
  for (auto [i, output] : llvm::enumerate(outputs)) {
    for (auto [j, input] : llvm::enumerate(inputs)) {
      bool shared = inPlace[i] == static_cast<int64_t>(j);
      if (shared ? input != output : output.overlaps(input))
        return emitOpError("output ")
               << i
               << (shared ? " differs from the input that it shares, "
                          : " overlaps input ")
               << j << " (launch_c2)";
    }
    for (size_t j = 0; j < i; ++j)
      if (output.overlaps(outputs[j]))
        return emitOpError("output ")
               << i << " overlaps output " << j << " (launch_c2)";
  }
  if (function->hasAttr(attr::kDisjoint))
    for (size_t i = 0; i < inputs.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (inputs[i].overlaps(inputs[j]))
          return emitOpError(
                     "gives a kernel that needs disjoint buffers inputs ")
                 << j << " and " << i << " that overlap (launch_c3)";
  return success();
}

LogicalResult CopyOp::verify() {
  if (getFrom().getBytes() != getTo().getBytes())
    return emitOpError("copies ") << getFrom().getBytes() << " bytes to "
                                  << getTo().getBytes() << " (copy_c1)";
  if (getFrom() != getTo() && getFrom().overlaps(getTo()))
    return emitOpError("copies between ranges that overlap (copy_c1)");
  return success();
}

LogicalResult FillOp::verify() {
  if (getByte() < 0 || getByte() > 255)
    return emitOpError("fills with ")
           << getByte() << ", expected a byte (fill_c1)";
  return success();
}

LogicalResult EntryOp::verifyRegions() {
  auto module = (*this)->getParentOfType<ModuleOp>();
  SmallVector<int64_t> slabs, constants;
  for (auto slab : module.getOps<SlabOp>())
    slabs.push_back(slab.getBytes());
  for (auto constant : module.getOps<ConstantOp>())
    constants.push_back(getTensorBytes(constant.getValue().getType()));
  auto getSize = [&](Space space, int64_t index) -> int64_t {
    switch (space) {
    case Space::Slab:
      return index < static_cast<int64_t>(slabs.size()) ? slabs[index] : -1;
    case Space::Const:
      return index < static_cast<int64_t>(constants.size()) ? constants[index]
                                                            : -1;
    case Space::Arena:
      return index == 0 ? getArena() : -1;
    case Space::Input:
      return index == 0 ? getInputBytes() : -1;
    case Space::Result:
      return index == 0 ? getResultBytes() : -1;
    case Space::Counter:
      break;
    }
    return -1;
  };
  SmallVector<std::pair<int64_t, int64_t>> donated;
  for (auto input : getBlock()->getOps<InputOp>())
    if (input.getDonated())
      donated.push_back({input.getOffset(),
                         input.getOffset() + getTensorBytes(input.getType())});
  auto isDonated = [&](BufferAttr buffer) {
    return llvm::any_of(donated, [&](auto range) {
      return buffer.getOffset() >= range.first &&
             buffer.getSpanEnd() <= range.second;
    });
  };
  SmallVector<int64_t> trips; // of the loops around a command
  auto check = [&](Operation &op, BufferAttr buffer,
                   bool isWritten) -> LogicalResult {
    if (buffer.getSpace() == Space::Counter) {
      if (isWritten || !isa<LaunchOp>(op) || buffer.getIndex() < 0 ||
          buffer.getIndex() >= static_cast<int64_t>(trips.size()))
        return op.emitOpError("uses ")
               << buffer << ", which is no loop around it (entry_c3)";
      return success();
    }
    if (buffer.getStrides().size() != buffer.getTrips().size() ||
        buffer.getStrides().size() > trips.size())
      return op.emitOpError("has ")
             << buffer << ", which moves with more loops than stand around it "
             << "(entry_c3)";
    int64_t size = buffer.getIndex() < 0
                       ? -1
                       : getSize(buffer.getSpace(), buffer.getIndex());
    int64_t reach = 0;
    for (auto [d, stride] : llvm::enumerate(buffer.getStrides())) {
      int64_t way = 0;
      if (stride < 0 || (stride > 0 && buffer.getTrips()[d] != trips[d]) ||
          llvm::MulOverflow(stride, std::max<int64_t>(trips[d] - 1, 0), way) ||
          llvm::AddOverflow(reach, way, reach))
        return op.emitOpError("has ")
               << buffer << ", which does not move with the loops around it "
               << "(entry_c3)";
    }
    if (buffer.getOffset() < 0 || buffer.getBytes() < 0 ||
        buffer.getOffset() > size ||
        buffer.getBytes() > size - buffer.getOffset() ||
        reach > size - buffer.getOffset() - buffer.getBytes())
      return op.emitOpError("has ")
             << buffer << " outside its space of " << std::max<int64_t>(size, 0)
             << " bytes (entry_c1)";
    if (isWritten &&
        ((buffer.getSpace() == Space::Input && !isDonated(buffer)) ||
         buffer.getSpace() == Space::Const))
      return op.emitOpError("writes ")
             << buffer << ", which is read-only (entry_c2)";
    return success();
  };
  auto checkAll = [&](Operation &op, ArrayAttr buffers,
                      bool isWritten) -> LogicalResult {
    for (BufferAttr buffer : buffers.getAsRange<BufferAttr>())
      if (failed(check(op, buffer, isWritten)))
        return failure();
    return success();
  };
  std::function<LogicalResult(Block *)> checkBlock =
      [&](Block *block) -> LogicalResult {
    for (Operation &op : *block) {
      LogicalResult result =
          llvm::TypeSwitch<Operation *, LogicalResult>(&op)
              .Case([&](LaunchOp launch) {
                return success(
                    succeeded(checkAll(op, launch.getInputs(), false)) &&
                    succeeded(checkAll(op, launch.getOutputs(), true)));
              })
              .Case([&](CopyOp copy) {
                return success(succeeded(check(op, copy.getFrom(), false)) &&
                               succeeded(check(op, copy.getTo(), true)));
              })
              .Case([&](FillOp fill) { return check(op, fill.getTo(), true); })
              .Case([&](LoopOp loop) -> LogicalResult {
                int64_t count = loop.getTrips();
                if (count < 0 || count > std::numeric_limits<int32_t>::max())
                  return loop.emitOpError("runs ") << count << " times";
                trips.push_back(count);
                LogicalResult inside = checkBlock(loop.getBlock());
                trips.pop_back();
                return inside;
              })
              .Case<InputOp, ResultOp>([](auto) { return success(); })
              .Default([](Operation *other) {
                return other->emitOpError("is no command of a plan.entry");
              });
      if (failed(result))
        return failure();
    }
    return success();
  };
  return checkBlock(getBlock());
}
