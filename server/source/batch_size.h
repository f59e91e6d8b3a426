// The batch size in a text, and whether another number can be written in its place: the default of input_provider's
// `batch_size`, or the number that decides it in a training script.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "source/span_text.h"

namespace ridgeline::source {

/// The same as in the runner (entry.py).
constexpr std::uint64_t kMaxBatchSize = std::uint64_t{1} << 24;

/// Why no other number can be written in place of the default.
enum class BatchSizeObstacle : std::uint8_t {
  kNone,        ///< another number can be written
  kElsewhere,   ///< input_provider is imported or assigned: its signature is not in this file
  kSeveral,     ///< it is defined in several branches; which one counts is known only when the file runs
  kNoDefault,   ///< there is no parameter `batch_size`, or it has no default
  kName,        ///< the default is a name, `batch_size=BATCH` or `batch_size=config.batch`
  kExpression,  ///< it is computed
  kNegative,    ///< it is a negative number
  kNotInteger,  ///< it is a string, a fraction, None, True, a list...
  kUnfinished,  ///< the signature is being typed
  // Of a training script:
  kNotInFile,       ///< no number of the file decides it
  kSeveralNumbers,  ///< several numbers do
  kOtherQuantity,   ///< the step took another number of samples than the one that the text states
  kArgument,        ///< an argument of the run goes before the number in the text
};

struct BatchSize {
  BatchSizeObstacle obstacle = BatchSizeObstacle::kNone;
  Span literal;                        ///< the digits when there is no obstacle; else the default, when there is one
  std::optional<std::uint64_t> value;  ///< of the literal; none when there is an obstacle, or beyond 64 bits
  bool grouped = false;                ///< written with underscores between thousands

  bool can_be_edited() const { return obstacle == BatchSizeObstacle::kNone; }
};

/// The obstacle as a message: "the default of batch_size is computed". Empty for kNone.
std::string_view describe(BatchSizeObstacle obstacle);

/// Replaces the literal, and nothing around it, by `value` in decimal, grouped by thousands when the literal was.
/// Nothing when there is an obstacle, or when `value` is not from 1 to kMaxBatchSize.
std::optional<TextEdit> batch_size_edit(const BatchSize& batch_size, std::uint64_t value);

}  // namespace ridgeline::source
