#include "source/provider_names.h"

#include <algorithm>
#include <array>
#include <vector>

namespace ridgeline::source {

namespace {

constexpr auto kPrefixes = std::to_array<std::string_view>({"", "ridgeline_", "skyline_", "deepview_"});
constexpr auto kNames = std::to_array<std::string_view>({"model_provider", "input_provider", "iteration_provider"});
constexpr std::string_view kCommonEnd = "_provider";
constexpr double kNearly = 0.8;  // the cutoff in entry.py

bool is_word_byte(char byte) {
  return byte == '_' || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         static_cast<unsigned char>(byte) >= 0x80;
}

/// The length of the longest common subsequence.
std::size_t in_common(std::string_view a, std::string_view b) {
  std::vector<std::size_t> best(b.size() + 1);
  for (const char byte : a) {
    std::size_t diagonal = 0;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = best[j];
      best[j] = byte == b[j - 1] ? diagonal + 1 : std::max(above, best[j - 1]);
      diagonal = above;
    }
  }
  return best.back();
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

bool is_nearly(std::string_view name, ProviderKind kind) {
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) {
    const std::string wanted = std::string(prefix) + std::string(name_of(kind));
    const auto ratio = [&](std::size_t common) {
      return 2.0 * static_cast<double>(common) / static_cast<double>(name.size() + wanted.size());
    };
    return ratio(std::min(name.size(), wanted.size())) >= kNearly && ratio(in_common(name, wanted)) >= kNearly;
  });
}

}  // namespace ridgeline::source
