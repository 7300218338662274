//===- WideVectors.cpp - code for registers of 512 bits -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How to ask for AVX-512: Intel 64 and IA-32 Architectures Software Developer's
// Manual, volume 1, section 15.2 (bits of CPUID leaves 1 and 7, of XCR0).
//
//===----------------------------------------------------------------------===//

#include "WideVectors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tdsl;

ArrayAttr cpu::wideVectorAttributes(Builder &builder) {
  auto pair = [&](StringRef key, StringRef value) -> Attribute {
    return builder.getStrArrayAttr({key, value});
  };
  return builder.getArrayAttr({builder.getStringAttr("noinline"),
                               pair("target-cpu", "x86-64-v4"),
                               pair("prefer-vector-width", "512"),
                               pair("min-legal-vector-width", "512")});
}

namespace {

/// Writes the question, one condition after the other.
class WideVectorTest {
public:
  WideVectorTest(OpBuilder &builder, Location loc)
      : builder(builder), loc(loc), i32(builder.getI32Type()) {}

  /// Whether `mask` is set in register `index` (eax, ebx, ecx, edx) of a CPUID
  /// leaf.
  Value leafHas(int64_t leaf, unsigned index, int64_t mask) {
    return has(ask("cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}",
                   {constant(leaf), constant(0)}, index, 4),
               mask);
  }
  /// Whether the system saves the registers that `mask` of XCR0 stands for.
  Value systemSaves(int64_t mask) {
    return has(ask("xgetbv", "={ax},={dx},{cx}", {constant(0)}, 0, 2), mask);
  }
  /// Whether there is a leaf of that number.
  Value hasLeaf(int64_t leaf) {
    Value last = ask("cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}",
                     {constant(0), constant(0)}, 0, 4);
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, last,
                                 constant(leaf));
  }

private:
  Value constant(int64_t value) {
    return arith::ConstantOp::create(
        builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value ask(StringRef instruction, StringRef constraints, ValueRange operands,
            unsigned index, unsigned count) {
    auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                                 SmallVector<Type>(count, i32));
    Value all = LLVM::InlineAsmOp::create(
                    builder, loc, type, operands, instruction, constraints,
                    /*has_side_effects=*/true, /*is_align_stack=*/false,
                    LLVM::TailCallKind::None, LLVM::AsmDialectAttr(),
                    /*operand_attrs=*/ArrayAttr())
                    .getResult(0);
    return LLVM::ExtractValueOp::create(builder, loc, all, index);
  }
  Value has(Value value, int64_t mask) {
    Value bits = arith::AndIOp::create(builder, loc, value, constant(mask));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, bits,
                                 constant(mask));
  }

  OpBuilder &builder;
  Location loc;
  Type i32;
};

} // namespace

LLVM::LLVMFuncOp cpu::getHasWideVectors(ModuleOp module) {
  StringRef name = "tds_has_wide_vectors", memory = "tds_wide_vectors";
  if (auto existing = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return existing;
  OpBuilder builder(module.getContext());
  Location loc = module.getLoc();
  Type i1 = builder.getI1Type(), i8 = builder.getI8Type();
  builder.setInsertionPointToEnd(module.getBody());
  LLVM::GlobalOp::create(builder, loc, i8, /*isConstant=*/false,
                         LLVM::Linkage::External, memory,
                         builder.getI8IntegerAttr(0), /*alignment=*/1);
  auto function = LLVM::LLVMFuncOp::create(builder, loc, name,
                                           LLVM::LLVMFunctionType::get(i1, {}),
                                           LLVM::Linkage::Internal);
  function.setNoUnwind(true);

  // known: return answer; unknown -> leaf -> saved -> found: the next
  // condition is only asked where the one before holds.
  Block *entry = function.addEntryBlock(builder);
  auto block = [&] {
    Block *result = new Block();
    function.getBody().push_back(result);
    return result;
  };
  Block *known = block(), *first = block(), *second = block(), *third = block();
  Block *keep = block();
  Value answer = keep->addArgument(i8, loc);
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI8IntegerAttr(value));
  };
  auto branch = [&](Value condition, Block *yes, ValueRange toYes, Block *no,
                    ValueRange toNo) {
    LLVM::CondBrOp::create(builder, loc, condition, yes, toYes, no, toNo);
  };
  auto isYes = [&](Value value) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, value,
                                 number(2));
  };
  WideVectorTest test(builder, loc);

  builder.setInsertionPointToStart(entry);
  Value place = LLVM::AddressOfOp::create(
      builder, loc, LLVM::LLVMPointerType::get(module.getContext()), memory);
  // Threads may ask at once: all of them find the same.
  auto load = LLVM::LoadOp::create(builder, loc, i8, place, /*alignment=*/1);
  load.setOrdering(LLVM::AtomicOrdering::monotonic);
  Value isUnknown = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::eq, load, number(0));
  branch(isUnknown, first, {}, known, {});

  builder.setInsertionPointToStart(known);
  LLVM::ReturnOp::create(builder, loc, isYes(load));

  const int64_t osxsave = 1 << 27;
  builder.setInsertionPointToStart(first);
  Value canAsk = arith::AndIOp::create(builder, loc, test.hasLeaf(7),
                                       test.leafHas(1, 2, osxsave));
  branch(canAsk, second, {}, keep, number(1));

  // SSE, AVX, and the three parts of AVX-512's state.
  builder.setInsertionPointToStart(second);
  branch(test.systemSaves(0xE6), third, {}, keep, number(1));

  // AVX512F, DQ, CD, BW, VL.
  const int64_t features =
      1ll << 16 | 1ll << 17 | 1ll << 28 | 1ll << 30 | 1ll << 31;
  builder.setInsertionPointToStart(third);
  Value found = arith::SelectOp::create(
      builder, loc, test.leafHas(7, 1, features), number(2), number(1));
  LLVM::BrOp::create(builder, loc, found, keep);

  builder.setInsertionPointToStart(keep);
  auto store = LLVM::StoreOp::create(builder, loc, answer, place,
                                     /*alignment=*/1);
  store.setOrdering(LLVM::AtomicOrdering::monotonic);
  LLVM::ReturnOp::create(builder, loc, isYes(answer));
  return function;
}
