//===- Inputs.h - scalars from --set beside data from files -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_RUN_INPUTS_H
#define TDS_RUN_INPUTS_H

#include "Options.h"

namespace tdsrun {

/// The inputs of an entry that no file is bound to.
class FixedInputs {
public:
  /// Takes from `name=value` pairs what is a scalar input of the entry. Inputs
  /// that have neither file (in `data`), value nor default are an error.
  FixedInputs(const tds::Entry &entry, const std::vector<std::string> &set,
              const std::string &data);

  /// Puts the values into what a loader gave.
  void apply(std::vector<tds_tensor> &inputs) const;

private:
  std::vector<tds::Tensor> values; ///< by input; data is null where not given
};

/// Every name in `set` must be a scalar input of one of the entries.
void checkSetNames(const std::vector<std::string> &set,
                   const std::vector<tds::Entry> &entries);

} // namespace tdsrun

#endif // TDS_RUN_INPUTS_H
