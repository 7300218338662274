//===- LowerToLLVM.cpp - outlined kernels to the llvm dialect -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelFrame.h"

#include "tdsl/Target/CPU/CompileCPU.h"
#include "tdsl/Target/Common/ContractShape.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::cpu;
using namespace tdsl::target;

namespace {

/// Emits one kernel: the function of the ABI, which loads the buffer addresses
/// and calls a function that has them as parameters. Parameters can be marked
/// as disjoint, loaded pointers cannot.
class KernelLowering {
public:
  KernelLowering(ModuleOp module, const CPUTarget &target)
      : module(module), target(target), builder(module.getContext()) {}

  LogicalResult lower(OutlinedKernel &kernel);

private:
  LogicalResult lowerParts(OutlinedKernel &kernel);
  /// Emits the function that does the work, which has the buffers, the range of
  /// work items and the scratch as parameters.
  FailureOr<LLVM::LLVMFuncOp> lowerWork(OutlinedKernel &kernel, StringRef name);
  FailureOr<LLVM::LLVMFuncOp> emit(OutlinedKernel &kernel, StringRef name);
  LLVM::LLVMFuncOp createFunction(StringRef name, ArrayRef<Type> parameters,
                                  bool isInternal, Location loc);
  /// The function of the ABI; `callWork` gets the arguments of the functions
  /// that do the work.
  void createEntry(OutlinedKernel &kernel, Location loc,
                   function_ref<void(ArrayRef<Value>)> callWork);
  void placeConstants(KernelFrame &frame);

  ModuleOp module;
  const CPUTarget &target;
  OpBuilder builder;
  unsigned numConstants = 0;
};

} // namespace

LLVM::LLVMFuncOp KernelLowering::createFunction(StringRef name,
                                                ArrayRef<Type> parameters,
                                                bool isInternal, Location loc) {
  builder.setInsertionPointToEnd(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(builder.getContext()), parameters);
  auto function = LLVM::LLVMFuncOp::create(
      builder, loc, name, type,
      isInternal ? LLVM::Linkage::Internal : LLVM::Linkage::External);
  function.setNoUnwind(true);
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  return function;
}

void KernelLowering::createEntry(OutlinedKernel &kernel, Location loc,
                                 function_ref<void(ArrayRef<Value>)> callWork) {
  Type ptr = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type();
  LLVM::LLVMFuncOp entry = createFunction(
      kernel.getName(), {ptr, ptr, i64, i64, ptr}, /*isInternal=*/false, loc);
  Block &block = entry.getBody().front();
  SmallVector<Value> arguments;
  for (unsigned i = 0; i < kernel.numBuffers; ++i) {
    Value slot =
        LLVM::GEPOp::create(builder, loc, ptr, ptr, block.getArgument(0),
                            ArrayRef<LLVM::GEPArg>{int32_t(i)});
    arguments.push_back(LLVM::LoadOp::create(builder, loc, ptr, slot));
  }
  for (unsigned i = 0; i < kernel.numCounters; ++i) {
    Value slot =
        LLVM::GEPOp::create(builder, loc, ptr, i64, block.getArgument(1),
                            ArrayRef<LLVM::GEPArg>{int32_t(i)});
    Value number = LLVM::LoadOp::create(builder, loc, i64, slot);
    arguments.push_back(
        LLVM::TruncOp::create(builder, loc, builder.getI32Type(), number));
  }
  for (unsigned i = 2; i < 5; ++i)
    arguments.push_back(block.getArgument(i));
  callWork(arguments);
  LLVM::ReturnOp::create(builder, loc, ValueRange{});
}

/// Tensors that are constants: a number everywhere is a register, any other is
/// data beside the code.
void KernelLowering::placeConstants(KernelFrame &frame) {
  for (auto op : frame.kernel.kernel.getBlock()->getOps<tds::ConstantOp>()) {
    auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
    if (!elements)
      continue;
    Type element = elements.getElementType();
    if (elements.isSplat()) {
      frame.body.setRegister(
          op.getResult(),
          frame.lanes.constant(getRegisterType(element),
                               elements.getSplatValue<TypedAttr>()));
      continue;
    }
    int64_t count = elements.getNumElements();
    Type memory = getMemoryType(element);
    auto flat = RankedTensorType::get({count}, memory);
    DenseElementsAttr data;
    if (element.isInteger(1)) {
      SmallVector<APInt> bytes;
      for (bool bit : elements.getValues<bool>())
        bytes.push_back(APInt(8, bit));
      data = DenseElementsAttr::get(flat, bytes);
    } else {
      data = DenseElementsAttr::getFromRawBuffer(flat, elements.getRawData());
    }
    OpBuilder atTop = OpBuilder::atBlockBegin(module.getBody());
    auto global = LLVM::GlobalOp::create(
        atTop, frame.lanes.loc, LLVM::LLVMArrayType::get(memory, count),
        /*isConstant=*/true, LLVM::Linkage::Internal,
        "tds_constant" + std::to_string(numConstants++), data,
        /*alignment=*/64);
    Value address = LLVM::AddressOfOp::create(builder, frame.lanes.loc, global);
    frame.body.setBuffer(
        op.getResult(),
        Buffer::dense(address, cast<RankedTensorType>(op.getType())));
  }
}

LogicalResult KernelLowering::lower(OutlinedKernel &kernel) {
  if (kernel.kernel.hasParts())
    return lowerParts(kernel);
  FailureOr<LLVM::LLVMFuncOp> work =
      lowerWork(kernel, (kernel.getName() + ".work").str());
  if (failed(work))
    return failure();
  Location loc = kernel.kernel.getLoc();
  createEntry(kernel, loc, [&](ArrayRef<Value> arguments) {
    LLVM::CallOp::create(builder, loc, *work, arguments);
  });
  return success();
}

/// Each part has a function of its own. Of `count` items the whole's item `i`
/// of `work` is [(i * count + phase) / work, ((i + 1) * count + phase) / work).
LogicalResult KernelLowering::lowerParts(OutlinedKernel &kernel) {
  if (kernel.kernel.hasStages())
    return kernel.kernel.emitError(
        "has parts of several stages, which only GPUs run in one launch");
  Location loc = kernel.kernel.getLoc();
  auto getWork = [](OutlinedKernel &of) {
    auto schedule = of.kernel->getAttrOfType<DictionaryAttr>("schedule");
    return cast<IntegerAttr>(schedule.get("work")).getInt();
  };
  struct Part {
    LLVM::LLVMFuncOp function;
    int64_t count, phase;
  };
  SmallVector<Part> parts;
  auto schedule = kernel.kernel->getAttrOfType<DictionaryAttr>("schedule");
  auto phases =
      schedule ? schedule.getAs<DenseI64ArrayAttr>("phases") : nullptr;
  std::vector<OutlinedKernel> outlined = kernel.getParts();
  if (!phases || size_t(phases.size()) != outlined.size())
    return kernel.kernel.emitError("has no schedule with a phase for each "
                                   "part");
  for (OutlinedKernel &part : outlined) {
    FailureOr<LLVM::LLVMFuncOp> function = lowerWork(
        part,
        (kernel.getName() + ".part" + Twine(parts.size()) + ".work").str());
    if (failed(function))
      return failure();
    parts.push_back({*function, getWork(part), phases[parts.size()]});
  }
  int64_t work = std::max<int64_t>(getWork(kernel), 1);
  createEntry(kernel, loc, [&](ArrayRef<Value> arguments) {
    LaneBuilder lanes(builder, loc, target.laneOptions());
    size_t range = kernel.numBuffers + kernel.numCounters;
    for (const Part &part : parts) {
      auto scale = [&](Value item) {
        Value ahead = lanes.add(lanes.mul(item, lanes.i64(part.count)),
                                lanes.i64(part.phase));
        return lanes.divU(ahead, work);
      };
      SmallVector<Value> own(arguments);
      own[range] = scale(arguments[range]);
      own[range + 1] = scale(arguments[range + 1]);
      Value some = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::slt, own[range], own[range + 1]);
      lanes.ifThen(some, [&] {
        LLVM::CallOp::create(builder, loc, part.function, own);
      });
    }
  });
  return success();
}

FailureOr<LLVM::LLVMFuncOp> KernelLowering::lowerWork(OutlinedKernel &kernel,
                                                      StringRef name) {
  auto schedule = kernel.kernel->getAttrOfType<DictionaryAttr>("schedule");
  if (!schedule)
    return kernel.kernel.emitError("has no schedule"), failure();
  for (auto contract : kernel.kernel.getBlock()->getOps<tds::ContractOp>())
    for (Value factor : contract->getOperands())
      if (factor.getDefiningOp<tds::GenericOp>())
        return contract.emitOpError("multiplies a tensor that is made in its "
                                    "kernel, which only GPUs do"),
               failure();
  auto kind = schedule.getAs<StringAttr>("expand");
  if (!kind)
    return emit(kernel, name);
  // The contraction as a reduction, in a copy of the kernel.
  OpBuilder atKernel(kernel.kernel);
  OutlinedKernel copy = kernel;
  copy.kernel = cast<tds::KernelOp>(atKernel.clone(*kernel.kernel));
  expandContract(copy.kernel, kind.getValue());
  FailureOr<LLVM::LLVMFuncOp> result = emit(copy, name);
  copy.kernel.erase();
  return result;
}

FailureOr<LLVM::LLVMFuncOp> KernelLowering::emit(OutlinedKernel &kernel,
                                                 StringRef name) {
  Location loc = kernel.kernel.getLoc();
  Type ptr = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type();
  // Buffers, numbers of iterations, the range of work items, scratch.
  unsigned numCounters = kernel.numCounters,
           behind = kernel.numBuffers + numCounters;
  SmallVector<Type> parameters(kernel.numBuffers, ptr);
  parameters.append(numCounters, builder.getI32Type());
  parameters.append({i64, i64, ptr});
  LLVM::LLVMFuncOp work =
      createFunction(name, parameters, /*isInternal=*/true, loc);
  for (unsigned i = 0; i < kernel.numBuffers; ++i)
    if (kernel.disjoint)
      work.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                      builder.getUnitAttr());
  work.setArgAttr(behind + 2, LLVM::LLVMDialect::getNoAliasAttrName(),
                  builder.getUnitAttr());

  KernelFrame frame(kernel, target, module, builder, loc);
  Block &block = work.getBody().front();
  for (unsigned i = 0; i < kernel.numBuffers; ++i)
    frame.pointers.push_back(block.getArgument(i));
  frame.first = block.getArgument(behind);
  frame.last = block.getArgument(behind + 1);
  frame.scratch = block.getArgument(behind + 2);
  for (auto [argument, buffer] : llvm::zip_equal(
           kernel.kernel.getBlock()->getArguments(), kernel.inputBuffers))
    if (kernel.isCounter(argument.getArgNumber()))
      frame.body.setRegister(argument,
                             block.getArgument(kernel.numBuffers + buffer));
    else
      frame.body.setBuffer(
          argument, Buffer::dense(frame.pointers[buffer],
                                  cast<RankedTensorType>(argument.getType())));
  placeConstants(frame);

  StringRef emitter = frame.getString("emitter");
  LogicalResult result = failure();
  if (emitter == "points")
    result = emitPoints(frame);
  else if (emitter == "gemm")
    result = emitContract(frame);
  else if (emitter == "scatter")
    result = emitScatter(frame);
  else if (emitter == "attention")
    result = emitAttention(frame);
  else if (emitter == "attention_grad")
    result = emitAttentionGrad(frame);
  else
    return kernel.kernel.emitError("has the unknown CPU emitter '")
               << emitter << "' in its schedule",
           failure();
  if (failed(result))
    return failure();
  LLVM::ReturnOp::create(builder, loc, ValueRange{});
  return work;
}

OwningOpRef<ModuleOp> cpu::emitKernels(ModuleOp plan, const CPUTarget &target) {
  plan.getContext()
      ->loadDialect<LLVM::LLVMDialect, arith::ArithDialect, scf::SCFDialect>();
  SmallVector<OutlinedKernel> kernels;
  if (failed(collectKernels(plan, kernels)))
    return {};
  OwningOpRef<ModuleOp> module = ModuleOp::create(plan.getLoc());
  KernelLowering lowering(*module, target);
  for (OutlinedKernel &kernel : kernels)
    if (failed(lowering.lower(kernel)))
      return {};
  return module;
}

LogicalResult cpu::lowerControlFlow(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  return passes.run(module);
}

OwningOpRef<ModuleOp> cpu::lowerToLLVMDialect(ModuleOp plan,
                                              const CPUTarget &target) {
  OwningOpRef<ModuleOp> module = emitKernels(plan, target);
  if (!module || failed(lowerControlFlow(*module)))
    return {};
  return module;
}
