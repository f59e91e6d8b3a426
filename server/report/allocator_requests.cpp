#include "report/allocator_requests.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ridgeline::report {
namespace {

using analysis::AllocatorEvents;
using analysis::AllocatorModel;
using analysis::BlockRequest;

constexpr std::uint64_t kMostBytes = 1ULL << 60U;  // no allocator gives so much
constexpr std::uint64_t kMostStreams = 0xffff;
constexpr std::size_t kMostRequests = 2 * analysis::kMaxAllocatorEvents;

/// Parses a whole number at the front of `text` and removes it.
bool take_number(std::string_view& text, std::uint64_t most, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number > most) {
    return false;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_character(std::string_view& text, char wanted) {
  const bool matches = text.starts_with(wanted);
  text.remove_prefix(matches ? 1 : 0);
  return matches;
}

bool take_request(std::string_view& text, std::size_t sizes, BlockRequest& request) {
  for (std::size_t i = 0; i < sizes; ++i) {
    std::uint64_t bytes = 0;
    if ((i > 0 && !take_character(text, '/')) || !take_number(text, kMostBytes, bytes)) {
      return false;
    }
    request.bytes.push_back(bytes);
  }
  std::uint64_t stream = 0;
  if (take_character(text, '@') && !take_number(text, kMostStreams, stream)) {
    return false;
  }
  request.stream = static_cast<std::uint16_t>(stream);
  return true;
}

/// `is_alive[request]`: whether its block is allocated at the beginning.
bool take_events(std::string_view text, std::vector<bool> is_alive, AllocatorEvents& events) {
  while (!text.empty()) {
    if (events.size() == analysis::kMaxAllocatorEvents || (!events.empty() && !take_character(text, ' '))) {
      return false;
    }
    const bool asks = take_character(text, '+');
    std::uint64_t request = 0;
    if ((!asks && !take_character(text, '-')) || !take_number(text, kMostRequests, request) ||
        request >= is_alive.size() || is_alive[request] == asks) {
      return false;
    }
    is_alive[request] = asks;
    events.push_back(asks ? static_cast<std::int32_t>(request) : ~static_cast<std::int32_t>(request));
  }
  return true;
}

}  // namespace

std::string requests_text(const AllocatorModel& model) {
  std::string text;
  for (const BlockRequest& request : model.requests) {
    text += text.empty() ? "" : " ";
    for (std::size_t i = 0; i < request.bytes.size(); ++i) {
      text += (i == 0 ? "" : "/") + std::to_string(request.bytes[i]);
    }
    text += request.stream == 0 ? "" : "@" + std::to_string(request.stream);
  }
  return text;
}

std::string events_text(const AllocatorEvents& events) {
  std::string text;
  for (const std::int32_t event : events) {
    text += text.empty() ? "" : " ";
    text += event < 0 ? "-" + std::to_string(~event) : "+" + std::to_string(event);
  }
  return text;
}

bool read_requests(std::string_view text, AllocatorModel& model) {
  while (!text.empty()) {
    if (model.requests.size() == kMostRequests || (!model.requests.empty() && !take_character(text, ' ')) ||
        !take_request(text, model.sizes.size(), model.requests.emplace_back())) {
      return false;
    }
  }
  return true;
}

bool read_events(std::string_view first, std::string_view later, AllocatorModel& model) {
  if (model.alive > model.requests.size()) {
    return false;
  }
  std::vector<bool> is_alive(model.requests.size());
  if (!take_events(first, is_alive, model.first)) {
    return false;
  }
  std::fill_n(is_alive.begin(), model.alive, true);
  return take_events(later, std::move(is_alive), model.later);
}

}  // namespace ridgeline::report
