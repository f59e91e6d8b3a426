// The names that a provider may have: those of Ridgeline, Skyline and DeepView.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "source/entry_point.h"
#include "source/span_text.h"

namespace ridgeline::source {

struct ProviderName {
  ProviderKind kind{};
  std::size_t generation = 0;  ///< which prefix; when a file has several, the first counts
};

/// The provider that has this name, if any.
std::optional<ProviderName> provider_named(std::string_view name);

/// The next name of a provider in `text`, as a whole word, at or after `from`; also in comments and strings.
std::optional<Span> next_provider_name(std::string_view text, std::size_t from);

/// Whether `name` looks like a misspelt name of `kind`, by the rule of difflib's close matches, which the runner uses.
bool resembles_provider(std::string_view name, ProviderKind kind);

}  // namespace ridgeline::source
