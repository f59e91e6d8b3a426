// Reading the default of `batch_size` in a signature.
#pragma once

#include <optional>
#include <string>

#include "source/batch_size.h"
#include "source/syntax.h"

namespace ridgeline::source {

struct DefaultValue {
  BatchSize batch_size;
  /// The code (docs/user/errors.md) with which the runner will certainly refuse it; empty: it may accept it.
  std::string_view mistake;
  std::string message;
};

/// `parameters`: the node of a function's or a lambda's parameters; none when a lambda has none.
DefaultValue read_default(std::string_view text, Node parameters);

/// The same of a value.
DefaultValue read_value(std::string_view text, Node value);

/// Where the default is the name of a constant, that constant: `BATCH = 64` at the top of the file, which nothing else
/// assigns. Its number is what is edited. None: the default is no such name.
std::optional<BatchSize> read_constant(const SourceTree::Content& content, const BatchSize& batch_size);

}  // namespace ridgeline::source
