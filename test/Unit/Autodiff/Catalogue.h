//===- Catalogue.h - one differentiable program for every rule -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TEST_UNIT_AUTODIFF_CATALOGUE_H
#define TDSL_TEST_UNIT_AUTODIFF_CATALOGUE_H

#include <string>
#include <vector>

namespace tdsl::test {

struct CatalogueEntry {
  /// The operation whose rule the program exercises, and a label.
  std::string op, label;
  std::string program;
};

/// Programs for all operations with a rule, in forms that cover the ways each
/// rule can take.
const std::vector<CatalogueEntry> &getCatalogue();

} // namespace tdsl::test

#endif // TDSL_TEST_UNIT_AUTODIFF_CATALOGUE_H
