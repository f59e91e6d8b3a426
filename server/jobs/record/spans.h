// Sets of spans of time.
#pragma once

#include <cstdint>
#include <vector>

namespace ridgeline::jobs {

struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// The same instants as spans in order that do not touch.
std::vector<Span> merged(std::vector<Span> spans);

/// The parts of merged spans that lie in `within`.
std::vector<Span> clipped(const std::vector<Span>& spans, Span within);

/// The parts of `within` that no merged span covers.
std::vector<Span> uncovered(const std::vector<Span>& spans, Span within);

/// How long merged spans are together.
std::int64_t length(const std::vector<Span>& spans);

/// How long two sets of merged spans are at the same time.
std::int64_t overlap(const std::vector<Span>& a, const std::vector<Span>& b);

}  // namespace ridgeline::jobs
