// Reading the text of an operation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ridgeline::operations {

/// What stands between spaces.
std::vector<std::string_view> words_of(std::string_view text);

/// Whether "+ NAME" ends the words; then these two are taken away.
bool take_fused(std::vector<std::string_view>& words, std::string_view name);

/// In quotation marks; of a long text the beginning.
std::string in_quotes(std::string_view text);

/// From 1 to kMostElements.
base::Result<std::int64_t> read_size(std::string_view word);

/// The error that an operation has an operand of more than kMostElements.
base::Error too_large(std::string_view operation);

}  // namespace ridgeline::operations
