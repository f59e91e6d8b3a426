#include "base/line_index.h"

#include <algorithm>

namespace ridgeline::base {

namespace {

/// The places after the line ends whose last byte is in [begin, end).
std::vector<std::uint32_t> starts_after(std::string_view text, std::size_t begin, std::size_t end) {
  std::vector<std::uint32_t> starts;
  const bool has_returns = text.substr(begin, end - begin).find('\r') != std::string_view::npos;
  for (std::size_t at = begin; at < end; ++at) {
    at = has_returns ? text.find_first_of("\r\n", at) : text.find('\n', at);
    if (at >= end) {
      break;
    }
    if (text[at] == '\n' || at + 1 == text.size() || text[at + 1] != '\n') {
      starts.push_back(static_cast<std::uint32_t>(at + 1));
    }
  }
  return starts;
}

}  // namespace

LineIndex::LineIndex(std::string_view text) : starts_(starts_after(text, 0, text.size())) {
  starts_.insert(starts_.begin(), 0);
}

std::size_t LineIndex::line_of(std::size_t offset) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(starts_, offset) - starts_.begin()) - 1;
}

std::string_view LineIndex::line_in(std::string_view text, std::size_t line) const {
  const std::size_t end = line + 1 < starts_.size() ? starts_[line + 1] : text.size();
  std::string_view content = text.substr(starts_[line], end - starts_[line]);
  if (content.ends_with('\n')) {
    content.remove_suffix(1);
  }
  if (content.ends_with('\r')) {
    content.remove_suffix(1);
  }
  return content;
}

void LineIndex::replace(std::size_t begin, std::size_t end, std::size_t size, std::string_view text) {
  // A \r before the replaced bytes ends a line or not, depending on what follows it.
  const std::size_t reread = begin == 0 ? 0 : begin - 1;
  const std::vector<std::uint32_t> inserted = starts_after(text, reread, begin + size);
  const auto first = std::lower_bound(starts_.begin() + 1, starts_.end(), reread + 1);
  const auto last = std::upper_bound(first, starts_.end(), end);
  const auto delta = static_cast<std::uint32_t>(size - (end - begin));  // modulo 2^32
  std::for_each(last, starts_.end(), [&](std::uint32_t& start) { start += delta; });
  const auto gap = starts_.erase(first, last);
  starts_.insert(gap, inserted.begin(), inserted.end());
}

}  // namespace ridgeline::base
