#include "ingest/step_boundary.h"

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace ridgeline::ingest {

base::Result<StepBoundary> parse_trace_boundary(const std::string& text) {
  using By = StepBoundary::By;
  static constexpr std::array<std::pair<std::string_view, By>, 5> kWords = {{{"", By::kFound},
                                                                             {"none", By::kNothing},
                                                                             {"optimizer", By::kOptimizer},
                                                                             {"dataloader", By::kDataLoader},
                                                                             {"backward", By::kBackward}}};
  for (const auto& [word, by] : kWords) {
    if (text == word) {
      return StepBoundary{by};
    }
  }
  const std::size_t colon = text.rfind(".py:");
  if (colon == std::string::npos) {
    return StepBoundary{By::kRange, text};
  }
  StepBoundary boundary{By::kLine, text.substr(0, colon + 3)};
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + colon + 4, end, boundary.line);
  if (read.ec != std::errc() || read.ptr != end) {
    return base::error(
        "--step-boundary takes optimizer, dataloader, backward, none, the line where a function begins, "
        "such as train.py:12, or the name of a range, not " +
        text);
  }
  return boundary;
}

}  // namespace ridgeline::ingest
