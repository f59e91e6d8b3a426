#include "analysis/allocator/caching_allocator_conf.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace ridgeline::analysis {

namespace {

/// Reads `text` from its end on to what follows; false when there is no such number.
template <typename Number>
bool read(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// The text before the first `mark` outside brackets; moves `text` behind the mark.
std::string_view take_until(std::string_view& text, char mark) {
  int depth = 0;
  std::size_t end = 0;
  for (; end < text.size() && (depth > 0 || text[end] != mark); ++end) {
    depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
  }
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + 1));
  return part;
}

/// `8`, or `[256:2,512:4,>:8]`: of each size in MiB, a power of two, and of all that is larger.
bool read_divisions(std::string_view value, CachingAllocatorSettings& settings) {
  auto& divisions = settings.roundup_power2_divisions;
  if (!value.starts_with('[')) {
    std::uint64_t all = 0;
    const bool is_number = read(value, all);
    divisions.fill(all);
    return is_number;
  }
  if (!value.ends_with(']')) {
    return false;
  }
  value = value.substr(1, value.size() - 2);
  std::size_t next = 0;
  for (bool first = true; !value.empty(); first = false) {
    std::string_view one = take_until(value, ',');
    const std::string_view size_text = take_until(one, ':');
    std::uint64_t count = 0;
    std::uint64_t size = 0;
    if (!read(one, count)) {
      return false;
    }
    if (size_text == ">") {
      std::fill(divisions.begin() + static_cast<std::ptrdiff_t>(std::min(next, divisions.size())), divisions.end(),
                count);
      continue;
    }
    if (!read(size_text, size) || !std::has_single_bit(size)) {
      return false;
    }
    const std::size_t place = std::min<std::size_t>(std::bit_width(size) - 1, divisions.size() - 1);
    std::fill(divisions.begin() + static_cast<std::ptrdiff_t>(first ? 0 : place),
              divisions.begin() + static_cast<std::ptrdiff_t>(place) + 1, count);
    next = place + 1;
  }
  return true;
}

bool read_megabytes(std::string_view value, std::optional<std::uint64_t>& setting) {
  return read(value, setting.emplace());
}

/// False when the value cannot be read.
bool read_option(std::string_view option, std::string_view value, CachingAllocatorSettings& settings) {
  if (option == "max_split_size_mb") {
    return read_megabytes(value, settings.max_split_size_mb);
  }
  if (option == "max_non_split_rounding_mb") {
    return read_megabytes(value, settings.max_non_split_rounding_mb);
  }
  if (option == "large_segment_size_mb") {
    return read(value, settings.large_segment_size_mb);
  }
  if (option == "garbage_collection_threshold") {
    return read(value, settings.garbage_collection_threshold);
  }
  if (option == "per_process_memory_fraction") {
    return read(value, settings.per_process_memory_fraction);
  }
  if (option == "expandable_segments") {
    settings.expandable_segments = value == "True";
    return value == "True" || value == "False";
  }
  return option != "roundup_power2_divisions" || read_divisions(value, settings);
}

}  // namespace

base::Result<CachingAllocatorSettings> parse_allocator_conf(std::string_view conf) {
  std::string text(conf);
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  CachingAllocatorSettings settings;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view value = take_until(rest, ',');
    const std::string_view option = take_until(value, ':');
    if (option == "backend" && value != "native") {
      return base::error("the allocator is " + std::string(value) + ", which is not modelled");
    }
    if (!read_option(option, value, settings)) {
      return base::error("the allocator's option " + std::string(option) + " cannot be read: " + std::string(value));
    }
  }
  if (auto problem = problem_with(settings)) {
    return base::error("the allocator's options are refused: " + *problem);
  }
  return settings;
}

}  // namespace ridgeline::analysis
