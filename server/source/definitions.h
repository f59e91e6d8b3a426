// Which function or class a line belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "source/source_tree.h"
#include "source/span_text.h"

namespace ridgeline::source {

enum class DefinitionKind : std::uint8_t { kFunction, kMethod, kClass };

struct Definition {
  DefinitionKind kind{};
  std::string qualified_name;  ///< "Net.forward", "iteration_provider.iteration"; at most kMaxNameBytes, cut in front
  Span name_span;
  Span span;                   ///< decorators included
  std::size_t first_line = 0;  ///< of `span`
  std::size_t name_line = 0;
  std::size_t last_line = 0;  ///< the last line of `span`, inclusive
};

constexpr std::size_t kMaxNameBytes = 512;

/// Every function, method and class of the file, outer before inner, in the order of the text. At most
/// kMaxDefinitions; what is nested deeper than kMaxDefinitionDepth definitions is left out. Pure; milliseconds for
/// 20,000 lines, so not for every key.
std::vector<Definition> definitions(const SourceTree& tree);
constexpr std::size_t kMaxDefinitions = 100'000;
constexpr std::size_t kMaxDefinitionDepth = 100;

/// The innermost definition that contains `line`; none at the top level. Does not visit the whole file.
std::optional<Definition> definition_at(const SourceTree& tree, std::size_t line);

}  // namespace ridgeline::source
