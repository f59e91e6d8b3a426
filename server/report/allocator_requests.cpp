#include "report/allocator_requests.h"

#include <charconv>
#include <cstdint>
#include <vector>

namespace ridgeline::report {
namespace {

using analysis::AllocatorModel;
using analysis::BlockRequest;
using analysis::kMaxAllocatorEvents;

constexpr std::uint64_t kMostBytes = 1ULL << 60U;  // no allocator gives so much
constexpr std::uint64_t kMostStreams = 0xffff;

/// A whole number; moves `text` behind it.
bool take_number(std::string_view& text, std::uint64_t most, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number > most) {
    return false;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_character(std::string_view& text, char wanted) {
  const bool is_there = text.starts_with(wanted);
  text.remove_prefix(is_there ? 1 : 0);
  return is_there;
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

}  // namespace

std::string requests_text(const AllocatorModel& model) {
  std::string text;
  for (const std::int32_t event : model.order) {
    text += text.empty() ? "" : " ";
    if (event < 0) {
      text += "-" + std::to_string(~event);
      continue;
    }
    const BlockRequest& request = model.requests[static_cast<std::size_t>(event)];
    for (std::size_t i = 0; i < request.bytes.size(); ++i) {
      text += (i == 0 ? "+" : "/") + std::to_string(request.bytes[i]);
    }
    text += request.stream == 0 ? "" : "@" + std::to_string(request.stream);
  }
  return text;
}

bool read_requests(std::string_view text, AllocatorModel& model) {
  std::vector<bool> is_live;
  while (!text.empty()) {
    if (model.order.size() == kMaxAllocatorEvents || (!model.order.empty() && !take_character(text, ' '))) {
      return false;
    }
    if (take_character(text, '+')) {
      if (!take_request(text, model.sizes.size(), model.requests.emplace_back())) {
        return false;
      }
      model.order.push_back(static_cast<std::int32_t>(is_live.size()));
      is_live.push_back(true);
      continue;
    }
    std::uint64_t freed = 0;
    if (is_live.size() < model.alive || !take_character(text, '-') || !take_number(text, kMaxAllocatorEvents, freed) ||
        freed >= is_live.size() || !is_live[freed]) {
      return false;
    }
    is_live[freed] = false;
    model.order.push_back(~static_cast<std::int32_t>(freed));
  }
  return model.requests.size() >= model.alive;
}

}  // namespace ridgeline::report
