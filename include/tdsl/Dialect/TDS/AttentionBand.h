//===- AttentionBand.h - keys that a mask leaves to a query -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_DIALECT_TDS_ATTENTIONBAND_H
#define TDSL_DIALECT_TDS_ATTENTIONBAND_H

#include "tdsl/Dialect/TDS/TDSOps.h"

#include <optional>

namespace tdsl::tds {

/// Where the mask of an attention leaves something of query i and key j. Pairs
/// outside have the score -inf whatever query and key hold, hence the weight 0,
/// and in the derivative the slope 0. A causal mask has `to` = 1, a window of w
/// keys before the query `from` = 1 - w, too.
///
/// A weight of 0 is not nothing: times an infinity or a NaN it is a NaN. Who
/// leaves such pairs out sees to it that what they are multiplied with is
/// finite.
struct AttentionBand {
  /// j - i is less than this.
  std::optional<int64_t> to;
  /// j - i is at least this.
  std::optional<int64_t> from;

  explicit operator bool() const { return to || from; }

  /// How many of all pairs are inside.
  int64_t countPairs(int64_t queries, int64_t keys) const;
};

/// The band of an attention, or of its derivative. A bound is known only where
/// the pairs i = j are inside: so that no query is left without a key.
AttentionBand getBand(AttentionOp op);
AttentionBand getBand(AttentionGradOp op);

} // namespace tdsl::tds

#endif // TDSL_DIALECT_TDS_ATTENTIONBAND_H
