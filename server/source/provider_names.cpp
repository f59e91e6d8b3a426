#include "source/provider_names.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/similarity.h"

namespace ridgeline::source {

namespace {

constexpr auto kPrefixes = std::to_array<std::string_view>({"", "ridgeline_", "skyline_", "deepview_"});
constexpr auto kNames = std::to_array<std::string_view>({"model_provider", "input_provider", "iteration_provider"});
constexpr std::string_view kCommonEnd = "_provider";

bool is_word_byte(char byte) {
  return byte == '_' || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         static_cast<unsigned char>(byte) >= 0x80;
}

}  // namespace

std::string_view name_of(ProviderKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::optional<ProviderName> provider_named(std::string_view name) {
  if (!name.ends_with(kCommonEnd)) {
    return std::nullopt;
  }
  for (std::size_t generation = 0; generation < kPrefixes.size(); ++generation) {
    if (!name.starts_with(kPrefixes[generation])) {
      continue;
    }
    const auto found = std::ranges::find(kNames, name.substr(kPrefixes[generation].size()));
    if (found != kNames.end()) {
      return ProviderName{static_cast<ProviderKind>(found - kNames.begin()), generation};
    }
  }
  return std::nullopt;
}

std::optional<Span> next_provider_name(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find(kCommonEnd, from); at != std::string_view::npos; at = text.find(kCommonEnd, at + 1)) {
    Span word = {at, at + kCommonEnd.size()};
    while (word.begin > from && is_word_byte(text[word.begin - 1])) {
      --word.begin;
    }
    while (word.end < text.size() && is_word_byte(text[word.end])) {
      ++word.end;
    }
    if (provider_named(slice(text, word)).has_value()) {
      return word;
    }
    at = word.end - 1;
  }
  return std::nullopt;
}

bool resembles_provider(std::string_view name, ProviderKind kind) {
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) {
    return base::similarity(name, std::string(prefix) + std::string(name_of(kind))) >= base::kLeastSimilarity;
  });
}

}  // namespace ridgeline::source
