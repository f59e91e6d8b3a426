#include "operations/kernels/words.h"

#include <algorithm>
#include <charconv>

#include "operations/kernels/sizes.h"

namespace ridgeline::operations {

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(' ', at)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

bool take_fused(std::vector<std::string_view>& words, std::string_view name) {
  const bool is_there = words.size() > 2 && words.back() == name && words[words.size() - 2] == "+";
  words.resize(words.size() - (is_there ? 2 : 0));
  return is_there;
}

std::string in_quotes(std::string_view text) { return "'" + std::string(text.substr(0, 80)) + "'"; }

base::Result<std::int64_t> read_size(std::string_view word) {
  std::int64_t size = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), size);
  if (problem != std::errc() || end != word.data() + word.size() || size < 1 || size > kMostElements) {
    return base::error(in_quotes(word) + " is not a size from 1 to " + std::to_string(kMostElements));
  }
  return size;
}

base::Error too_large(std::string_view operation) {
  return base::error(in_quotes(operation) + ": a matrix has more than " + std::to_string(kMostElements) +
                     " elements; give smaller sizes");
}

}  // namespace ridgeline::operations
