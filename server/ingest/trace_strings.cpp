#include "ingest/trace_strings.h"

#include <algorithm>

#include "base/utf8.h"
#include "ingest/json_string.h"

namespace ridgeline::ingest {

namespace {

constexpr std::size_t kMaxText = 16384;
/// The memory of a string besides its characters, which are held in the list and in the index: two objects and a node.
constexpr std::size_t kOverhead = 2 * sizeof(std::string) + 32;

}  // namespace

TraceStrings::TraceStrings(std::vector<std::string>& strings, std::size_t most_bytes)
    : strings_(strings), most_bytes_(most_bytes) {
  index("");
}

std::uint32_t TraceStrings::index(std::string_view text) {
  text = base::cut_utf8(text, kMaxText);
  const auto found = indices_.find(text);
  if (found != indices_.end()) {
    return found->second;
  }
  const std::size_t held = 2 * text.size() + kOverhead;
  if (held > most_bytes_ - std::min(most_bytes_, bytes_)) {
    ++lost_;
    return 0;
  }
  bytes_ += held;
  const auto index = static_cast<std::uint32_t>(strings_.size());
  const bool valid = is_valid_utf8(text);
  replaced_ += valid ? 0 : 1;
  strings_.push_back(valid ? std::string(text) : valid_utf8(text));
  indices_.emplace(text, index);
  return index;
}

}  // namespace ridgeline::ingest
