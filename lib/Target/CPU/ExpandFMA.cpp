//===- ExpandFMA.cpp - fused multiply-add without the instruction -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The product of two f32 is exact in f64. The sum is rounded to odd there: if
// it is not exact, its last bit becomes 1. Rounding that to f32 gives what one
// rounding of the exact sum gives, since f64 has more than two bits to spare.
//
//===----------------------------------------------------------------------===//

#include "ExpandFMA.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

static Value *expand(IntrinsicInst &call) {
  IRBuilder<> b(&call);
  Type *narrow = call.getType();
  Type *wide = narrow->getWithNewType(b.getDoubleTy());
  Type *integer = narrow->getWithNewType(b.getInt64Ty());
  auto widen = [&](unsigned i) {
    return b.CreateFPExt(call.getArgOperand(i), wide);
  };
  Value *product = b.CreateFMul(widen(0), widen(1));
  Value *addend = widen(2);
  Value *sum = b.CreateFAdd(product, addend);
  // The error of the sum (Knuth): exact, whichever operand is larger.
  Value *part = b.CreateFSub(sum, product);
  Value *error = b.CreateFAdd(b.CreateFSub(product, b.CreateFSub(sum, part)),
                              b.CreateFSub(addend, part));
  Value *zero = Constant::getNullValue(wide);
  // Infinite and NaN sums have a NaN for an error and stay as they are.
  Value *isInexact = b.CreateFCmpONE(error, zero);
  Value *bits = b.CreateBitCast(sum, integer);
  Value *one = ConstantInt::get(integer, 1);
  Value *isEven =
      b.CreateICmpEQ(b.CreateAnd(bits, one), Constant::getNullValue(integer));
  // One step towards the exact sum, in the order of the bit patterns.
  Value *isAway =
      b.CreateICmpEQ(b.CreateFCmpOGT(error, zero), b.CreateFCmpOGT(sum, zero));
  Value *step = b.CreateSelect(isAway, one, Constant::getAllOnesValue(integer));
  Value *odd = b.CreateSelect(b.CreateAnd(isInexact, isEven),
                              b.CreateAdd(bits, step), bits);
  return b.CreateFPTrunc(b.CreateBitCast(odd, wide), narrow);
}

Function *tdsl::cpu::expandFMA(Module &module) {
  Function *incomplete = nullptr;
  for (Function &function : module)
    for (Instruction &instruction :
         make_early_inc_range(instructions(function))) {
      auto *call = dyn_cast<IntrinsicInst>(&instruction);
      if (!call || call->getIntrinsicID() != Intrinsic::fma)
        continue;
      if (!call->getType()->getScalarType()->isFloatTy()) {
        incomplete = incomplete ? incomplete : &function;
        continue;
      }
      call->replaceAllUsesWith(expand(*call));
      call->eraseFromParent();
    }
  return incomplete;
}
