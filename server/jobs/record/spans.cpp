#include "jobs/record/spans.h"

#include <algorithm>

namespace ridgeline::jobs {

std::vector<Span> merged(std::vector<Span> spans) {
  std::erase_if(spans, [](const Span& span) { return span.end <= span.begin; });
  std::ranges::sort(spans, {}, &Span::begin);
  std::vector<Span> result;
  for (const Span& span : spans) {
    if (!result.empty() && span.begin <= result.back().end) {
      result.back().end = std::max(result.back().end, span.end);
    } else {
      result.push_back(span);
    }
  }
  return result;
}

std::vector<Span> clipped(const std::vector<Span>& spans, Span within) {
  std::vector<Span> result;
  for (const Span& span : spans) {
    const Span part{std::max(span.begin, within.begin), std::min(span.end, within.end)};
    if (part.begin < part.end) {
      result.push_back(part);
    }
  }
  return result;
}

std::vector<Span> uncovered(const std::vector<Span>& spans, Span within) {
  std::vector<Span> result;
  for (auto span = std::ranges::upper_bound(spans, within.begin, {}, &Span::end);
       span != spans.end() && span->begin < within.end; ++span) {
    if (within.begin < span->begin) {
      result.push_back({within.begin, span->begin});
    }
    within.begin = std::max(within.begin, span->end);
  }
  if (within.begin < within.end) {
    result.push_back(within);
  }
  return result;
}

std::int64_t length(const std::vector<Span>& spans) {
  std::int64_t sum = 0;
  for (const Span& span : spans) {
    sum += span.end - span.begin;
  }
  return sum;
}

std::int64_t overlap(const std::vector<Span>& a, const std::vector<Span>& b) {
  std::int64_t sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum += std::max<std::int64_t>(0, std::min(a[i].end, b[j].end) - std::max(a[i].begin, b[j].begin));
    a[i].end < b[j].end ? ++i : ++j;
  }
  return sum;
}

}  // namespace ridgeline::jobs
