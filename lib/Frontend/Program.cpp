//===- Program.cpp - Types of checked programs -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/Frontend/Program.h"
#include "llvm/ADT/STLExtras.h"

using namespace tdsl::typed;
using llvm::StringRef;

StringRef tdsl::typed::getName(Elem elem) {
  static const char *const names[] = {"bool", "i8",   "u8",  "i32", "i64",
                                      "f16",  "bf16", "f32", "f64", "index"};
  return names[size_t(elem)];
}

Elem tdsl::typed::getAccumulator(Elem elem) {
  switch (elem) {
  case Elem::F16:
  case Elem::BF16:
    return Elem::F32;
  case Elem::I8:
  case Elem::U8:
    return Elem::I32;
  default:
    return elem;
  }
}

const llvm::fltSemantics &tdsl::typed::getSemantics(Elem elem) {
  switch (elem) {
  case Elem::F16:
    return llvm::APFloat::IEEEhalf();
  case Elem::BF16:
    return llvm::APFloat::BFloat();
  case Elem::F64:
    return llvm::APFloat::IEEEdouble();
  default:
    return llvm::APFloat::IEEEsingle();
  }
}

bool tdsl::typed::sameShape(llvm::ArrayRef<Axis> a, llvm::ArrayRef<Axis> b) {
  return a.size() == b.size() &&
         llvm::all_of(llvm::zip(a, b), [](const auto &pair) {
           return std::get<0>(pair).size == std::get<1>(pair).size;
         });
}

bool tdsl::typed::isSame(const Type &a, const Type &b) {
  return a.elem == b.elem && sameShape(a.axes, b.axes);
}

std::string tdsl::typed::toString(llvm::ArrayRef<Axis> axes) {
  std::string text = "[";
  for (size_t i = 0; i < axes.size(); ++i)
    text += (i ? ", " : "") + std::to_string(axes[i].size);
  return text + "]";
}

std::string tdsl::typed::toString(const Type &type) {
  std::string text = getName(type.elem).str();
  return type.isScalar() ? text : text + toString(type.axes);
}
