#include "ingest/range_words.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace ridgeline::ingest {

namespace {

bool is_upper(char letter) { return std::isupper(static_cast<unsigned char>(letter)) != 0; }
bool is_lower(char letter) { return std::islower(static_cast<unsigned char>(letter)) != 0; }
bool is_of_word(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0; }

/// Between "train" and "Step", and between "DDP" and "Step".
bool begins_word(std::string_view name, std::size_t at) {
  if (at == 0 || !is_of_word(name[at - 1])) {
    return true;
  }
  const bool is_next_lower = at + 1 < name.size() && is_lower(name[at + 1]);
  return is_upper(name[at]) && (is_lower(name[at - 1]) || (is_upper(name[at - 1]) && is_next_lower));
}

}  // namespace

std::vector<std::string> range_words(std::string_view name) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (!is_of_word(name[at])) {
      continue;
    }
    if (begins_word(name, at)) {
      words.emplace_back();
    }
    words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(name[at])));
  }
  for (std::string& word : words) {
    while (!word.empty() && std::isdigit(static_cast<unsigned char>(word.back())) != 0) {
      word.pop_back();
    }
  }
  std::erase(words, "");
  for (auto word = words.begin(); word != words.end();) {
    const bool is_parallel = *word == "data" && std::next(word) != words.end() && *std::next(word) == "parallel";
    word = is_parallel ? words.erase(word, word + 2) : std::next(word);
  }
  return words;
}

}  // namespace ridgeline::ingest
