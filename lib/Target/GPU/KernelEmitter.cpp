//===- KernelEmitter.cpp - what all GPU kernel emitters share -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <numeric>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::gpu;
using target::LaneIndex;

static target::LaneOptions getLaneOptions() {
  target::LaneOptions options;
  options.math.nativeF16 = true;
  options.maskedBits = 0;
  options.bufferAlignment = 16;
  options.accessAlignment = 16;
  return options;
}

KernelEmitter::KernelEmitter(const target::OutlinedKernel &outlined,
                             ModuleOp target)
    : kernel(outlined.kernel),
      schedule(kernel->getAttrOfType<DictionaryAttr>("schedule")),
      target(target), builder(target.getBodyRegion()), loc(kernel.getLoc()),
      lanes(builder, loc, getLaneOptions()), body(lanes) {
  MLIRContext *context = target.getContext();
  builder.setInsertionPointToEnd(target.getBody());
  SmallVector<Type> parameters(outlined.numBuffers,
                               LLVM::LLVMPointerType::get(context));
  parameters.append(outlined.numCounters, builder.getI64Type());
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), parameters);
  func::FuncOp source = outlined.function;
  function = LLVM::LLVMFuncOp::create(builder, loc, source.getName(), type);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
  SmallVector<int32_t> block(getArray("block"));
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                    builder.getDenseI32ArrayAttr(block));
  describeBuffers(outlined);
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  llvm::append_range(pointers,
                     entry->getArguments().take_front(outlined.numBuffers));
  llvm::append_range(iterations,
                     entry->getArguments().drop_front(outlined.numBuffers));
}

KernelEmitter::KernelEmitter(SharedPart &shared, StringRef name,
                             ModuleOp target)
    : kernel(shared.part.kernel),
      schedule(kernel->getAttrOfType<DictionaryAttr>("schedule")),
      target(target), builder(target.getBodyRegion()), loc(kernel.getLoc()),
      lanes(builder, loc, getLaneOptions()), body(lanes) {
  MLIRContext *context = target.getContext();
  builder.setInsertionPointToEnd(target.getBody());
  const target::OutlinedKernel &part = shared.part;
  // Buffers are in global memory, which only a kernel's parameters are known to
  // be.
  SmallVector<Type> parameters(part.numBuffers,
                               LLVM::LLVMPointerType::get(context, 1));
  parameters.append(part.numCounters, builder.getI64Type());
  for (const SharedPart::Number &number : shared.numbers)
    if (number.varies)
      parameters.push_back(target::getRegisterType(number.value.getType()));
  parameters.push_back(builder.getI64Type());
  parameters.push_back(LLVM::LLVMPointerType::get(context, 3));
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), parameters);
  function = LLVM::LLVMFuncOp::create(builder, loc, name, type,
                                      LLVM::Linkage::Internal);
  // Once for all kernels is the purpose: neither inlined nor copied for some of
  // its callers. It may hold barriers.
  function.setNoInline(true);
  function.setConvergent(true);
  function.setPassthroughAttr(builder.getStrArrayAttr({"noduplicate"}));
  describeBuffers(part);
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  ValueRange arguments = entry->getArguments();
  auto take = [&](unsigned count) {
    ValueRange taken = arguments.take_front(count);
    arguments = arguments.drop_front(count);
    return taken;
  };
  for (Value pointer : take(part.numBuffers))
    pointers.push_back(LLVM::AddrSpaceCastOp::create(
        builder, loc, LLVM::LLVMPointerType::get(context), pointer));
  llvm::append_range(iterations, take(part.numCounters));
  for (const SharedPart::Number &number : shared.numbers)
    if (number.varies)
      body.setNumber(number.op, take(1).front());
  blockOfPart = take(1).front();
  sharedOfPart = take(1).front();
}

void KernelEmitter::describeBuffers(const target::OutlinedKernel &outlined) {
  // Every buffer lies at a multiple of 16 bytes, but no more is said than its
  // size is a multiple of: LLVM widens loads of neighbours (three floats become
  // four) where the alignment allows it, and would read behind the end.
  SmallVector<int64_t> alignments(outlined.numBuffers, 16);
  auto restrict = [&](unsigned position, Type type) {
    auto tensor = cast<RankedTensorType>(type);
    int64_t bytes =
        tensor.getNumElements() * tds::getElementBytes(tensor.getElementType());
    alignments[position] = std::gcd(alignments[position], bytes);
  };
  for (auto [argument, position] : llvm::zip_equal(
           kernel.getBlock()->getArguments(), outlined.inputBuffers))
    if (!outlined.isCounter(argument.getArgNumber()))
      restrict(position, argument.getType());
  for (auto [output, position] :
       llvm::zip_equal(kernel.getOutputs(), outlined.outputBuffers))
    restrict(position, output.getType());
  for (unsigned i = 0; i < outlined.numBuffers; ++i) {
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        builder.getI64IntegerAttr(alignments[i]));
    // What another block writes while the kernel runs must be read when the
    // code says so.
    if (outlined.disjoint && !llvm::is_contained(outlined.handedOn, i))
      function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                          builder.getUnitAttr());
  }
}

void KernelEmitter::enter(const target::OutlinedKernel &outlined) {
  kernel = outlined.kernel;
  schedule = kernel->getAttrOfType<DictionaryAttr>("schedule");
  for (auto [argument, position] : llvm::zip_equal(
           kernel.getBlock()->getArguments(), outlined.inputBuffers)) {
    if (outlined.isCounter(argument.getArgNumber())) {
      body.setRegister(argument,
                       LLVM::TruncOp::create(builder, loc, builder.getI32Type(),
                                             iterations[position]));
      continue;
    }
    target::Buffer buffer = target::Buffer::dense(
        pointers[position], cast<RankedTensorType>(argument.getType()));
    // LLVM sees this for the parameters of kernels only.
    buffer.isInvariant =
        blockOfPart && outlined.disjoint &&
        !llvm::is_contained(outlined.outputBuffers, position) &&
        !llvm::is_contained(outlined.handedOn, position);
    body.setBuffer(argument, buffer);
  }
  outputs.clear();
  sharesBuffers = llvm::any_of(outlined.outputBuffers, [&](unsigned buffer) {
    return llvm::is_contained(outlined.inputBuffers, buffer);
  });
  for (auto [output, position] :
       llvm::zip_equal(kernel.getOutputs(), outlined.outputBuffers))
    outputs.push_back(target::Buffer::dense(
        pointers[position], cast<RankedTensorType>(output.getType())));
}

void KernelEmitter::emit(const target::OutlinedKernel &outlined,
                         const PartFunctions &parts) {
  hasStages = kernel.hasStages();
  if (kernel.hasParts()) {
    emitParts(outlined, parts);
  } else {
    enter(outlined);
    emitKind();
  }
  LLVM::ReturnOp::create(builder, loc, ValueRange{});
}

void KernelEmitter::emit(SharedPart &shared) {
  enter(shared.part);
  emitKind();
  LLVM::ReturnOp::create(builder, loc, ValueRange{});
  shared.function = function;
  shared.sharedBytes = sharedBytes;
}

void KernelEmitter::emitParts(const target::OutlinedKernel &outlined,
                              const PartFunctions &parts) {
  target::OutlinedKernel whole = outlined;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(function);
    sharedOfParts = LLVM::GlobalOp::create(
        builder, loc, LLVM::LLVMArrayType::get(builder.getI8Type(), 0),
        /*isConstant=*/false, LLVM::Linkage::Internal,
        (function.getName() + "_shared").str(), Attribute(), /*alignment=*/16,
        /*addrSpace=*/3);
  }
  Value block = getBlock();
  SmallVector<target::OutlinedKernel> later;
  for (target::OutlinedKernel &part : whole.getParts()) {
    if (part.kernel.getStage() > 0) {
      later.push_back(part);
      continue;
    }
    enter(part);
    int64_t end = firstBlock + getArray("grid")[0];
    Value isMine = lessThan(block, lanes.i64(end));
    if (firstBlock > 0)
      isMine = arith::AndIOp::create(
          builder, loc, isMine,
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, block,
                                lanes.i64(firstBlock)));
    sharedBytes = 0;
    lanes.ifThen(isMine, [&] {
      if (const PartFunctions::Call *call = parts.find(part.kernel))
        callPart(*call, block);
      else
        emitKind();
    });
    mostSharedBytes = std::max(mostSharedBytes, sharedBytes);
    firstBlock = end;
    lanes.setLanes(1);
  }
  if (!later.empty())
    emitLaterStages(later, parts);
  if (mostSharedBytes == 0)
    sharedOfParts.erase();
  else
    sharedOfParts.setGlobalType(
        LLVM::LLVMArrayType::get(builder.getI8Type(), mostSharedBytes));
}

Value KernelEmitter::arriveLast(int64_t blocks) {
  // Counts up to the number of blocks, and is 0 again for the next launch.
  LLVM::GlobalOp counter;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(function);
    counter = LLVM::GlobalOp::create(
        builder, loc, builder.getI32Type(), /*isConstant=*/false,
        LLVM::Linkage::Internal, (function.getName() + "_arrived").str(),
        builder.getI32IntegerAttr(0), /*alignment=*/4, /*addrSpace=*/1);
  }
  sharedBytes = 0;
  Value flag = createShared("last", builder.getI32Type(), 1);
  mostSharedBytes = std::max(mostSharedBytes, sharedBytes);
  // The barrier orders what the block has written before what its first thread
  // does; the fence, before the count. Of the last block the second fence
  // orders what all others have written before what it reads.
  barrier();
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        getThread(), lanes.i64(0));
  lanes.ifThen(isFirst, [&] {
    LLVM::FenceOp::create(builder, loc, LLVM::AtomicOrdering::acq_rel,
                          "device");
    Value place = LLVM::AddressOfOp::create(builder, loc, counter);
    Value before = LLVM::AtomicRMWOp::create(
        builder, loc, LLVM::AtomicBinOp::uinc_wrap, place,
        lanes.i32(blocks - 1), LLVM::AtomicOrdering::monotonic, "device");
    LLVM::FenceOp::create(builder, loc, LLVM::AtomicOrdering::acq_rel,
                          "device");
    storeShared(flag, before, lanes.i64(0));
  });
  barrier();
  Value before = loadShared(flag, builder.getI32Type(), lanes.i64(0));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, before,
                               lanes.i32(blocks - 1));
}

void KernelEmitter::emitLaterStages(ArrayRef<target::OutlinedKernel> later,
                                    const PartFunctions &parts) {
  int64_t blocks = firstBlock;
  firstBlock = 0;
  auto emitAll = [&] {
    for (const target::OutlinedKernel &part : later) {
      enter(part);
      sharedBytes = 0;
      lanes.loop(
          lanes.i64(0), lanes.i64(getArray("grid")[0]), 1, [&](Value block) {
            barrier(); // what was written and shared before

            blockInTurn = block;
            if (const PartFunctions::Call *call = parts.find(part.kernel))
              callPart(*call, block);
            else
              emitKind();
            blockInTurn = Value();
            lanes.setLanes(1);
          });
      mostSharedBytes = std::max(mostSharedBytes, sharedBytes);
    }
  };
  if (blocks == 1)
    emitAll();
  else
    lanes.ifThen(arriveLast(blocks), emitAll);
}

void KernelEmitter::callPart(const PartFunctions::Call &call, Value block) {
  MLIRContext *context = builder.getContext();
  SmallVector<Value> arguments;
  for (unsigned buffer : call.buffers)
    arguments.push_back(LLVM::AddrSpaceCastOp::create(
        builder, loc, LLVM::LLVMPointerType::get(context, 1),
        pointers[buffer]));
  for (unsigned counter : call.counters)
    arguments.push_back(iterations[counter]);
  for (auto [value, number] :
       llvm::zip_equal(call.numbers, call.shared->numbers))
    if (number.varies)
      arguments.push_back(
          lanes.constant(target::getRegisterType(value.getType()), value));
  arguments.push_back(lanes.sub(block, lanes.i64(firstBlock)));
  auto shared = LLVM::LLVMPointerType::get(context, 3);
  sharedBytes = call.shared->sharedBytes;
  if (sharedBytes > 0)
    arguments.push_back(LLVM::AddressOfOp::create(builder, loc, shared,
                                                  sharedOfParts.getSymName()));
  else
    arguments.push_back(LLVM::ZeroOp::create(builder, loc, shared));
  auto made =
      LLVM::CallOp::create(builder, loc, call.shared->function, arguments);
  made.setConvergent(true);
}

void KernelEmitter::emitKind() {
  bindConstants();
  StringRef kind = kernel.getKind();
  if (kind == "loop")
    emitLoop();
  else if (kind == "row" &&
           cast<StringAttr>(schedule.get("strategy")) == "block")
    emitRowBlock();
  else if (kind == "row")
    emitRowSerial();
  else if (kind == "contract")
    emitContract();
  else if (kind == "attention")
    emitAttention();
  else if (kind == "attention_grad")
    emitAttentionGrad();
  else
    emitScatter();
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value KernelEmitter::getThread() {
  Value id = NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
  return arith::ExtUIOp::create(builder, loc, builder.getI64Type(), id);
}

Value KernelEmitter::getBlock() {
  if (blockOfPart)
    return blockOfPart;
  if (blockInTurn)
    return blockInTurn;
  Value id = NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type());
  Value number = arith::ExtUIOp::create(builder, loc, builder.getI64Type(), id);
  return firstBlock > 0 ? lanes.sub(number, lanes.i64(firstBlock)) : number;
}

Value KernelEmitter::lessThan(Value x, Value y) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, x, y);
}

SmallVector<LaneIndex> KernelEmitter::getPoint(Value linear,
                                               ArrayRef<int64_t> extents,
                                               int64_t vector) {
  SmallVector<int64_t> units(extents);
  if (!units.empty())
    units.back() /= vector;
  SmallVector<LaneIndex> point;
  SmallVector<Value> indices = lanes.delinearize(linear, units);
  for (auto [i, index] : llvm::enumerate(indices)) {
    if (i + 1 == indices.size() && vector > 1)
      point.push_back(
          lanes.consecutive(lanes.mul(index, lanes.i64(vector)), vector));
    else
      point.push_back(lanes.index(index));
  }
  return point;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

void KernelEmitter::bindConstants() {
  for (auto constant : kernel.getBlock()->getOps<tds::ConstantOp>()) {
    auto elements = cast<DenseElementsAttr>(constant.getValue());
    if (elements.isSplat()) {
      auto scalar = elements.getSplatValue<TypedAttr>();
      body.setRegister(
          constant,
          lanes.constant(target::getRegisterType(scalar.getType()), scalar));
      continue;
    }
    // Other constants are data in global memory beside the code.
    auto type = cast<RankedTensorType>(constant.getType());
    SmallVector<char> bytes;
    if (type.getElementType().isInteger(1)) {
      for (bool value : elements.getValues<bool>())
        bytes.push_back(value);
    } else {
      ArrayRef<char> raw = elements.getRawData();
      bytes.assign(raw.begin(), raw.end());
    }
    // Loads of neighbours may become one of 16 bytes.
    bytes.resize(llvm::alignTo(bytes.size(), 16));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(function);
    MLIRContext *context = builder.getContext();
    auto global = LLVM::GlobalOp::create(
        builder, loc,
        LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size()),
        /*isConstant=*/true, LLVM::Linkage::Internal,
        (function.getName() + "_data" + Twine(numData++)).str(),
        builder.getStringAttr(StringRef(bytes.data(), bytes.size())),
        /*alignment=*/16, /*addrSpace=*/1);
    builder.setInsertionPointToStart(&function.getBody().front());
    Value address = LLVM::AddressOfOp::create(
        builder, loc, LLVM::LLVMPointerType::get(context, 1),
        global.getSymName());
    Value pointer = LLVM::AddrSpaceCastOp::create(
        builder, loc, LLVM::LLVMPointerType::get(context), address);
    body.setBuffer(constant, target::Buffer::dense(pointer, type));
  }
}

SmallVector<Value> KernelEmitter::overExtents(ArrayRef<int64_t> extents,
                                              ArrayRef<LaneIndex> outer,
                                              ValueRange carried,
                                              PointVisitor visit) {
  SmallVector<LaneIndex> at(outer);
  std::function<SmallVector<Value>(ArrayRef<int64_t>, ValueRange)> nest =
      [&](ArrayRef<int64_t> rest, ValueRange values) {
        if (rest.empty())
          return visit(at, values);
        return lanes.loop(lanes.i64(0), lanes.i64(rest.front()), 1, values,
                          [&](Value index, ValueRange inner) {
                            at.push_back(lanes.index(index));
                            SmallVector<Value> next =
                                nest(rest.drop_front(), inner);
                            at.pop_back();
                            return next;
                          });
      };
  return nest(extents, carried);
}

Value KernelEmitter::evaluateSerially(tds::GenericOp op,
                                      ArrayRef<LaneIndex> indices) {
  if (!op.hasReduction())
    return body.evaluate(op, indices);
  target::Reduction reduction(lanes, op);
  return reduction.finish(overExtents(
      op.getReduceExtents(), indices, reduction.identity(lanes.getWidth() > 1),
      [&](ArrayRef<LaneIndex> at, ValueRange values) {
        return reduction.step(values, body.evaluateTerm(op, at), at.back());
      }));
}

void KernelEmitter::storeOutputs(ArrayRef<LaneIndex> indices,
                                 function_ref<bool(Value)> select) {
  auto yielded = kernel.getBlock()->getTerminator()->getOperands();
  for (auto [value, buffer] : llvm::zip(yielded, outputs))
    if (select(value))
      lanes.store(buffer, indices, lanes.splat(body.valueAt(value, indices)));
}

//===----------------------------------------------------------------------===//
// Shared memory and warps
//===----------------------------------------------------------------------===//

Value KernelEmitter::createShared(StringRef name, Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  if (sharedOfParts || sharedOfPart) {
    int64_t begin = llvm::alignTo(sharedBytes, 16);
    sharedBytes =
        begin + count * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
    Value base = sharedOfPart;
    if (!base)
      base = LLVM::AddressOfOp::create(
          builder, loc, LLVM::LLVMPointerType::get(builder.getContext(), 3),
          sharedOfParts.getSymName());
    return lanes.address(base, builder.getI8Type(), lanes.i64(begin));
  }
  builder.setInsertionPoint(function);
  auto type = LLVM::LLVMArrayType::get(element, count);
  auto global = LLVM::GlobalOp::create(
      builder, loc, type, /*isConstant=*/false, LLVM::Linkage::Internal,
      (function.getName() + "_" + name).str(), Attribute(), /*alignment=*/16,
      /*addrSpace=*/3);
  builder.setInsertionPointToStart(&function.getBody().front());
  return LLVM::AddressOfOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext(), 3),
      global.getSymName());
}

Value KernelEmitter::loadShared(Value base, Type element, Value offset,
                                unsigned count) {
  Value address = lanes.address(base, element, offset);
  Type type = count == 1 ? element : VectorType::get({count}, element);
  return LLVM::LoadOp::create(builder, loc, type, address,
                              /*alignment=*/count *
                                  element.getIntOrFloatBitWidth() / 8);
}

void KernelEmitter::storeShared(Value base, Value value, Value offset) {
  Type element = getElementTypeOrSelf(value.getType());
  LLVM::StoreOp::create(builder, loc, value,
                        lanes.address(base, element, offset));
}

void KernelEmitter::barrier() {
  if (hasStages)
    NVVM::SyncWarpOp::create(builder, loc, lanes.i32(-1));
  NVVM::Barrier0Op::create(builder, loc);
}

Value KernelEmitter::shuffleXor(Value value, int64_t mask) {
  Type type = value.getType();
  Type i32 = builder.getI32Type();
  auto exchange = [&](Value word) -> Value {
    return NVVM::ShflOp::create(builder, loc, word.getType(), lanes.i32(-1),
                                word, lanes.i32(mask), lanes.i32(31),
                                NVVM::ShflKind::bfly, UnitAttr());
  };
  if (type.isF32() || type.isInteger(32))
    return exchange(value);
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits < 32) {
    Value wide = arith::ExtUIOp::create(builder, loc, i32, value);
    return arith::TruncIOp::create(builder, loc, type, exchange(wide));
  }
  // 64 bits travel as two words.
  Type i64 = builder.getI64Type();
  Value word =
      type.isInteger(64)
          ? value
          : arith::BitcastOp::create(builder, loc, i64, value).getResult();
  Value low = exchange(arith::TruncIOp::create(builder, loc, i32, word));
  Value high = exchange(arith::TruncIOp::create(
      builder, loc, i32,
      arith::ShRUIOp::create(builder, loc, word, lanes.i64(32))));
  Value joined = arith::OrIOp::create(
      builder, loc, arith::ExtUIOp::create(builder, loc, i64, low),
      arith::ShLIOp::create(builder, loc,
                            arith::ExtUIOp::create(builder, loc, i64, high),
                            lanes.i64(32)));
  return type.isInteger(64)
             ? joined
             : arith::BitcastOp::create(builder, loc, type, joined).getResult();
}
