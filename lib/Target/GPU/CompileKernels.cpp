//===- CompileKernels.cpp - all kernels of a plan to PTX -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "tdsl/Target/Common/CodeUnits.h"
#include "tdsl/Target/GPU/GPUTarget.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SHA256.h"

#include <array>

using namespace mlir;
using namespace tdsl;

std::string tdsl::gpu::addPlanHash(StringRef ptx, StringRef manifest) {
  // Of the text without newlines: in PTX it lies in comment lines, whose breaks
  // are not part of it.
  std::string text = manifest.str();
  llvm::erase(text, '\n');
  std::array<uint8_t, 32> hash = llvm::SHA256::hash(
      ArrayRef(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
  std::string result = ptx.str();
  llvm::raw_string_ostream os(result);
  os << ".visible .global .align 4 .b8 tds_plan_sha256[" << hash.size()
     << "] = {";
  llvm::interleaveComma(hash, os, [&](uint8_t byte) { os << unsigned(byte); });
  os << "};\n";
  return result;
}

FailureOr<OwningOpRef<ModuleOp>> tdsl::gpu::emitKernels(ModuleOp plan) {
  plan.getContext()
      ->loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                    scf::SCFDialect, LLVM::LLVMDialect, NVVM::NVVMDialect>();
  OwningOpRef<ModuleOp> code = ModuleOp::create(plan.getLoc());
  SmallVector<target::OutlinedKernel> kernels;
  if (failed(target::collectKernels(plan, kernels)))
    return failure();
  auto requireSchedule = [](tds::KernelOp kernel) -> LogicalResult {
    auto schedule = kernel->getAttrOfType<DictionaryAttr>("schedule");
    if (schedule && schedule.get("grid") && schedule.get("block"))
      return success();
    return kernel.emitOpError("has no schedule for a GPU; run "
                              "tds-select-schedule{target=cuda} first");
  };
  for (target::OutlinedKernel &kernel : kernels) {
    if (failed(requireSchedule(kernel.kernel)))
      return failure();
    for (auto part : kernel.kernel.getBlock()->getOps<tds::KernelOp>())
      if (failed(requireSchedule(part)))
        return failure();
  }
  PartFunctions parts(kernels);
  unsigned numParts = 0;
  parts.forEachShared([&](SharedPart &shared) {
    std::string name =
        ("tds_p" + Twine(numParts++) + "_" + shared.part.kernel.getKind())
            .str();
    tdsl::gpu::KernelEmitter(shared, name, *code).emit(shared);
  });
  for (const target::OutlinedKernel &kernel : kernels)
    tdsl::gpu::KernelEmitter(kernel, *code).emit(kernel, parts);
  return code;
}

/// The code of a unit, without what every module begins with.
static FailureOr<std::string> compileUnit(target::CodeUnit &unit,
                                          const tdsl::gpu::Arch &arch,
                                          std::string *llvmText) {
  PassManager passes(unit.module->getContext(), ModuleOp::getOperationName());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  if (failed(passes.run(*unit.module)))
    return failure();
  return tdsl::gpu::translateToPTX(*unit.module, arch, llvmText);
}

/// Splits the code of a unit behind the directives that every module begins
/// with, which are the same for all units.
static std::pair<StringRef, StringRef> splitHeader(StringRef ptx) {
  constexpr StringLiteral last = "\n.address_size 64\n";
  size_t end = ptx.find(last);
  assert(end != StringRef::npos && "LLVM has written no address size");
  end += last.size();
  return {ptx.take_front(end), ptx.drop_front(end)};
}

/// In one module, functions of other units need no declaration, as they stand
/// before those that call them, and nobody else calls them.
static std::string joinUnits(ArrayRef<target::CodeUnit> units,
                             ArrayRef<std::string> codes) {
  constexpr StringLiteral declaration = ".extern .func ", end = "\n;\n",
                          visible = ".visible .func ";
  std::string result;
  for (auto [unit, code] : llvm::zip_equal(units, codes)) {
    auto [header, text] = splitHeader(code);
    if (result.empty())
      result = header.str();
    std::string body;
    for (;;) {
      size_t begin = text.find(declaration);
      size_t behind = text.find(end, begin);
      if (begin == StringRef::npos || behind == StringRef::npos)
        break;
      body += text.take_front(begin);
      text = text.drop_front(behind + end.size());
    }
    body += text;
    if (size_t at = body.find(visible); !unit.isKernel && at != body.npos)
      body.erase(at, visible.find(".func"));
    result += unit.restoreNames(body);
  }
  return result;
}

FailureOr<std::string>
tdsl::gpu::compileKernels(ModuleOp plan, const Arch &arch, StringRef manifest,
                          std::string *llvmText, target::UnitStore *store) {
  FailureOr<OwningOpRef<ModuleOp>> emitted = emitKernels(plan);
  if (failed(emitted))
    return failure();
  std::vector<target::CodeUnit> units = target::splitCode(**emitted);
  std::vector<std::string> llvmTexts;
  auto codes = target::compileUnits(
      units, llvmText ? nullptr : store, [&](target::CodeUnit &unit) {
        std::string text;
        FailureOr<std::string> code =
            compileUnit(unit, arch, llvmText ? &text : nullptr);
        llvmTexts.push_back(unit.restoreNames(text));
        return code;
      });
  if (failed(codes))
    return failure();
  if (llvmText) {
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> joined = target::joinLLVM(llvmTexts, context);
    if (!joined)
      return plan.emitError("the LLVM IR of the kernels cannot be joined");
    llvm::raw_string_ostream stream(*llvmText);
    joined->print(stream, nullptr);
  }
  std::string ptx = joinUnits(units, *codes);
  return manifest.empty() ? ptx : addPlanHash(ptx, manifest);
}
