// The strings of a trace, each held once, within a limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ridgeline::ingest {

class TraceStrings {
 public:
  /// Appends to `strings`, which must outlive it and becomes [""]. `most_bytes`: in memory.
  TraceStrings(std::vector<std::string>& strings, std::size_t most_bytes);

  /// The index of a text, of which the first 16 KiB are kept. 0, the empty one, beyond the limit: then counted. What is
  /// not UTF-8 becomes U+FFFD.
  std::uint32_t index(std::string_view text);
  /// Texts that were beyond the limit.
  std::uint64_t lost() const { return lost_; }
  /// Different texts that were not UTF-8.
  std::uint64_t replaced() const { return replaced_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::vector<std::string>& strings_;
  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t replaced_ = 0;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> indices_;
};

}  // namespace ridgeline::ingest
