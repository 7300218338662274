//===- IndexOps.cpp - index definitions: generic, scatter, read, apply -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tdsl::tds;

//===----------------------------------------------------------------------===//
// Syntax: (%i, %j) in (64, 10)
//===----------------------------------------------------------------------===//

static ParseResult parseIndices(OpAsmParser &parser,
                                SmallVectorImpl<OpAsmParser::Argument> &indices,
                                SmallVectorImpl<int64_t> &extents) {
  size_t before = indices.size();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseArgumentList(indices, OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("in") ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, [&]() {
        return parser.parseInteger(extents.emplace_back());
      }))
    return failure();
  if (indices.size() - before != extents.size())
    return parser.emitError(loc)
           << "expected as many extents as indices, got " << extents.size()
           << " and " << indices.size() - before;
  for (OpAsmParser::Argument &index :
       MutableArrayRef(indices).drop_front(before))
    index.type = parser.getBuilder().getIndexType();
  return success();
}

static void printIndices(OpAsmPrinter &printer, ValueRange indices,
                         ArrayRef<int64_t> extents) {
  printer << " (";
  llvm::interleaveComma(indices, printer);
  printer << ") in (";
  llvm::interleaveComma(extents, printer);
  printer << ")";
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// Checks that `block`, the body of `parent`, is one of scalars.
LogicalResult tdsl::tds::verifyBody(Operation *parent, Block &block) {
  for (Operation &op : block) {
    bool isTerminator = op.hasTrait<OpTrait::IsTerminator>();
    bool isScalar = llvm::none_of(
        op.getResultTypes(), [](Type type) { return isa<ShapedType>(type); });
    if (!isTerminator && (!isScalar || !isa<TDSDialect>(op.getDialect()) ||
                          op.getNumRegions() != 0))
      return op.emitOpError("stands in the body of a ")
             << parent->getName()
             << ", which holds scalar operations only (body_c1)";
    for (OpOperand &operand : op.getOpOperands()) {
      bool isTensorOfRead = isa<ReadOp>(op) && operand.getOperandNumber() == 0;
      if (!isTensorOfRead && operand.get().getParentBlock() != &block)
        return op.emitOpError("uses a value from outside the body of its ")
               << parent->getName() << " other than by tds.read (body_c1)";
    }
  }
  return success();
}

LogicalResult GenericOp::verifyRegions() {
  return verifyBody(*this, *getBlock());
}
LogicalResult ScatterOp::verifyRegions() {
  return verifyBody(*this, *getBlock());
}

//===----------------------------------------------------------------------===//
// GenericOp
//===----------------------------------------------------------------------===//

void GenericOp::build(
    OpBuilder &builder, OperationState &state, RankedTensorType type,
    ArrayRef<int64_t> reduceExtents, std::optional<ReductionKind> kind,
    function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
  state.addTypes(type);
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.extents = builder.getDenseI64ArrayAttr(type.getShape());
  properties.reduce_extents = builder.getDenseI64ArrayAttr(reduceExtents);
  if (kind)
    properties.kind = ReductionKindAttr::get(builder.getContext(), *kind);
  Region *region = state.addRegion();
  SmallVector<Type> types(type.getRank() + reduceExtents.size(),
                          builder.getIndexType());
  SmallVector<Location> locs(types.size(), state.location);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(region, {}, types, locs);
  Value value = body(builder, state.location, block->getArguments());
  YieldOp::create(builder, state.location, value);
}

ParseResult GenericOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> indices;
  SmallVector<int64_t> extents, reduceExtents;
  Builder &builder = parser.getBuilder();
  if (parseIndices(parser, indices, extents))
    return failure();
  Properties &properties = result.getOrAddProperties<Properties>();
  StringRef keyword;
  if (succeeded(parser.parseOptionalKeyword(&keyword))) {
    std::optional<ReductionKind> kind = symbolizeReductionKind(keyword);
    if (!kind)
      return parser.emitError(parser.getNameLoc())
             << "unknown reduction '" << keyword << "'";
    properties.kind = ReductionKindAttr::get(builder.getContext(), *kind);
    if (parseIndices(parser, indices, reduceExtents))
      return failure();
  }
  properties.extents = builder.getDenseI64ArrayAttr(extents);
  properties.reduce_extents = builder.getDenseI64ArrayAttr(reduceExtents);
  Type type;
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseColonType(type) ||
      parser.parseRegion(*result.addRegion(), indices))
    return failure();
  result.addTypes(type);
  return success();
}

void GenericOp::print(OpAsmPrinter &printer) {
  printIndices(printer, getParallelIndices(), getExtents());
  if (getKind()) {
    printer << " " << stringifyReductionKind(*getKind());
    printIndices(printer, getReductionIndices(), getReduceExtents());
  }
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {"extents", "reduce_extents", "kind"});
  printer << " : " << getResult().getType() << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

int64_t GenericOp::getReductionSize() {
  int64_t size = 1;
  for (int64_t extent : getReduceExtents())
    size *= extent;
  return size;
}

LogicalResult GenericOp::verify() {
  RankedTensorType type = getType();
  if (type.getShape() != getExtents())
    return emitOpError("has parallel extents [")
           << getExtents() << "], but its result has shape [" << type.getShape()
           << "] (generic_c1)";
  if (getKind().has_value() != !getReduceExtents().empty())
    return emitOpError("needs a reduction kind exactly where there are "
                       "reduction extents (generic_c2)");
  Block *block = getBlock();
  if (block->getNumArguments() != getNumParallel() + getNumReductions())
    return emitOpError("has ")
           << block->getNumArguments() << " indices, expected "
           << getNumParallel() + getNumReductions();
  for (BlockArgument index : block->getArguments())
    if (!index.getType().isIndex())
      return emitOpError("has an index of type ")
             << index.getType() << ", expected index";
  auto yield = dyn_cast<YieldOp>(block->getTerminator());
  if (!yield || yield.getNumOperands() != 1)
    return emitOpError("must end in a tds.yield of one scalar (generic_c3)");
  Type yielded = yield.getOperand(0).getType();
  Type element = type.getElementType();
  std::optional<ReductionKind> kind = getKind();
  bool isArg = kind == ReductionKind::ArgMax || kind == ReductionKind::ArgMin;
  if (isArg) {
    if (!element.isInteger(32) || !yielded.isIntOrFloat())
      return emitOpError("yields ")
             << yielded << " and gives " << element
             << ", expected a number and i32 (generic_c3)";
    if (getNumReductions() != 1 || getReduceExtents()[0] == 0)
      return emitOpError("of kind ")
             << stringifyReductionKind(*kind)
             << " needs one reduction extent that is not 0 (generic_c4)";
    return success();
  }
  if (yielded != element)
    return emitOpError("yields ")
           << yielded << ", expected the result's element type " << element
           << " (generic_c3)";
  if (kind) {
    bool isTruth = *kind == ReductionKind::Any || *kind == ReductionKind::All;
    if (isTruth != element.isInteger(1))
      return emitOpError("of kind ")
             << stringifyReductionKind(*kind) << " yields " << yielded
             << " (generic_c5)";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ScatterOp
//===----------------------------------------------------------------------===//

void ScatterOp::build(OpBuilder &builder, OperationState &state,
                      RankedTensorType type, ArrayRef<int64_t> extents,
                      function_ref<std::pair<Value, SmallVector<Value>>(
                          OpBuilder &, Location, ValueRange)>
                          body) {
  state.addTypes(type);
  state.getOrAddProperties<Properties>().extents =
      builder.getDenseI64ArrayAttr(extents);
  Region *region = state.addRegion();
  SmallVector<Type> types(extents.size(), builder.getIndexType());
  SmallVector<Location> locs(types.size(), state.location);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(region, {}, types, locs);
  auto [value, indices] = body(builder, state.location, block->getArguments());
  ScatterYieldOp::create(builder, state.location, value, indices);
}

ParseResult ScatterOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> indices;
  SmallVector<int64_t> extents;
  Type type;
  if (parseIndices(parser, indices, extents) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseColonType(type) ||
      parser.parseRegion(*result.addRegion(), indices))
    return failure();
  result.getOrAddProperties<Properties>().extents =
      parser.getBuilder().getDenseI64ArrayAttr(extents);
  result.addTypes(type);
  return success();
}

void ScatterOp::print(OpAsmPrinter &printer) {
  printIndices(printer, getIndices(), getExtents());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"extents"});
  printer << " : " << getResult().getType() << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult ScatterOp::verify() {
  Block *block = getBlock();
  if (block->getNumArguments() != getExtents().size())
    return emitOpError("has ") << block->getNumArguments()
                               << " indices, expected " << getExtents().size();
  for (BlockArgument index : block->getArguments())
    if (!index.getType().isIndex())
      return emitOpError("has an index of type ")
             << index.getType() << ", expected index";
  auto yield = dyn_cast<ScatterYieldOp>(block->getTerminator());
  if (!yield)
    return emitOpError("must end in a tds.scatter_yield");
  if (yield.getValue().getType() != getType().getElementType())
    return emitOpError("yields ") << yield.getValue().getType()
                                  << ", expected the result's element type "
                                  << getType().getElementType();
  if (static_cast<int64_t>(yield.getIndices().size()) != getType().getRank())
    return emitOpError("yields ")
           << yield.getIndices().size()
           << " indices, expected the result's rank " << getType().getRank();
  return success();
}

//===----------------------------------------------------------------------===//
// ReadOp and ApplyOp
//===----------------------------------------------------------------------===//

LogicalResult ReadOp::verify() {
  RankedTensorType type = getTensorType();
  if (static_cast<int64_t>(getIndices().size()) != type.getRank())
    return emitOpError("has ")
           << getIndices().size() << " indices, expected the tensor's rank "
           << type.getRank() << " (read_c1)";
  if (getGuard() && getGuard()->getType() != type.getElementType())
    return emitOpError("has a guard of type ")
           << getGuard()->getType() << ", expected " << type.getElementType()
           << " (read_c2)";
  if (getGuard() && getClamped())
    return emitOpError("is both guarded and clamped (read_c3)");
  return success();
}

LogicalResult ApplyOp::verify() {
  AffineMap map = getMap();
  if (map.getNumResults() != 1 || map.getNumSymbols() != 0 ||
      map.getNumDims() != getOperands().size())
    return emitOpError("needs a map with one result, no symbols and ")
           << getOperands().size() << " dimensions, got " << getMapAttr()
           << " (apply_c1)";
  return success();
}
