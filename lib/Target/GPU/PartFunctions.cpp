//===- PartFunctions.cpp - parts that are alike, emitted once -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartFunctions.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::gpu;

PartFunctions::PartFunctions(ArrayRef<target::OutlinedKernel> kernels) {
  for (target::OutlinedKernel kernel : kernels)
    if (kernel.kernel.hasParts())
      for (const target::OutlinedKernel &part : kernel.getParts())
        add(part);
}

/// The numbers that may differ between parts that are alike: floats and sites.
/// Not integers: a division by a constant is much faster than another one.
static SmallVector<SharedPart::Number> getNumbers(tds::KernelOp kernel) {
  SmallVector<SharedPart::Number> numbers;
  kernel.getBody().walk([&](Operation *op) {
    if (auto random = dyn_cast<tds::RandomOp>(op))
      numbers.push_back({op, random.getSiteAttr()});
    else if (auto constant = dyn_cast<tds::ConstantOp>(op))
      if (isa<FloatType>(constant.getType()))
        numbers.push_back({op, cast<TypedAttr>(constant.getValue())});
  });
  return numbers;
}

static void setNumber(Operation *op, TypedAttr value) {
  if (auto random = dyn_cast<tds::RandomOp>(op))
    random.setSiteAttr(cast<IntegerAttr>(value));
  else
    cast<tds::ConstantOp>(op).setValueAttr(value);
}

/// What is the same for parts that are alike.
static std::string getText(target::OutlinedKernel &part,
                           ArrayRef<SharedPart::Number> numbers) {
  std::string result;
  llvm::raw_string_ostream text(result);
  text << (part.disjoint ? "disjoint" : "");
  auto list = [&](ArrayRef<unsigned> numbers) {
    llvm::interleaveComma(numbers, text << '(');
    text << ')';
  };
  list(part.inputBuffers);
  list(part.outputBuffers);
  list(part.counters);
  list(part.handedOn);
  Builder builder(part.kernel.getContext());
  for (const SharedPart::Number &number : numbers)
    setNumber(number.op,
              cast<TypedAttr>(builder.getZeroAttr(number.value.getType())));
  // Neither locations nor the names of the operands are printed.
  part.kernel->print(text, OpPrintingFlags().useLocalScope());
  for (const SharedPart::Number &number : numbers)
    setNumber(number.op, number.value);
  return result;
}

void PartFunctions::add(const target::OutlinedKernel &part) {
  Call call;
  target::OutlinedKernel own = part;
  auto number = [](SmallVectorImpl<unsigned> &list, unsigned position) {
    auto it = llvm::find(list, position);
    unsigned result = it - list.begin();
    if (it == list.end())
      list.push_back(position);
    return result;
  };
  for (auto [i, position] : llvm::enumerate(own.inputBuffers))
    own.inputBuffers[i] =
        number(part.isCounter(i) ? call.counters : call.buffers, position);
  for (unsigned &position : own.outputBuffers)
    position = number(call.buffers, position);
  llvm::erase_if(own.handedOn, [&](unsigned position) {
    return !llvm::is_contained(call.buffers, position);
  });
  for (unsigned &position : own.handedOn)
    position = number(call.buffers, position);
  llvm::sort(own.handedOn);
  own.numBuffers = call.buffers.size();
  own.numCounters = call.counters.size();

  SmallVector<SharedPart::Number> numbers = getNumbers(own.kernel);
  SharedPart *&shared = byText[getText(own, numbers)];
  if (!shared) {
    shared = parts.emplace_back(std::make_unique<SharedPart>()).get();
    shared->part = own;
    shared->numbers = numbers;
  }
  ++shared->uses;
  for (auto [number, first] : llvm::zip_equal(numbers, shared->numbers)) {
    call.numbers.push_back(number.value);
    first.varies |= number.value != first.value;
  }
  call.shared = shared;
  calls[part.kernel] = std::move(call);
}

const PartFunctions::Call *PartFunctions::find(tds::KernelOp part) const {
  auto it = calls.find(part);
  return it == calls.end() || it->second.shared->uses < 2 ? nullptr
                                                          : &it->second;
}

void PartFunctions::forEachShared(function_ref<void(SharedPart &)> visit) {
  for (const std::unique_ptr<SharedPart> &shared : parts)
    if (shared->uses > 1)
      visit(*shared);
}
