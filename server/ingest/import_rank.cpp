#include "ingest/import_rank.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <unordered_map>

namespace ridgeline::ingest {

namespace {

constexpr std::string_view kStep = "ProfilerStep#";
constexpr std::size_t kMaxCollectives = 1'000'000;
constexpr std::size_t kMaxNamedRanks = 64;  ///< torch names 30 of a group

/// The numbers of "[0, 8, 16]". Empty where it is none, or not whole: long lists are cut off by torch.
std::vector<int> numbers_in(std::string_view text) {
  if (!text.starts_with('[') || !text.ends_with(']')) {
    return {};
  }
  std::vector<int> numbers;
  for (text = text.substr(1, text.size() - 2); !text.empty();) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view one = text.substr(0, comma);
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    int number = 0;
    const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), number);
    if (error != std::errc() || end != one.data() + one.size() || number < 0 || numbers.size() >= kMaxNamedRanks) {
      return {};
    }
    numbers.push_back(number);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return numbers;
}

}  // namespace

analysis::TracedRank traced_rank(const Trace& trace) {
  analysis::TracedRank rank;
  rank.rank = trace.rank == kNoNumber ? -1 : static_cast<int>(trace.rank);
  rank.world_size = static_cast<int>(trace.world_size);
  rank.base_ns = trace.base_ns;
  std::unordered_map<std::uint32_t, const TraceCollective*> known;
  for (const TraceCollective& one : trace.collectives) {
    known.emplace(one.event, &one);
  }
  for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
    const TraceEvent& event = trace.events[i];
    const std::string& name = trace.strings[event.name];
    if (event.kind == EventKind::kStep) {
      std::int64_t number = 0;
      std::from_chars(name.data() + kStep.size(), name.data() + name.size(), number);
      rank.steps.emplace_back(event.start, number);
    }
    if (event.kind != EventKind::kKernel || !analysis::is_collective_kernel(name) ||
        rank.collectives.size() >= kMaxCollectives) {
      continue;
    }
    analysis::TracedCollective one{
        .kernel = name, .device = event.device, .stream = event.stream, .start = event.start, .end = event.end};
    if (const auto found = known.find(i); found != known.end()) {
      one.call = trace.strings[found->second->call];
      one.group = trace.strings[found->second->group];
      one.ranks = numbers_in(trace.strings[found->second->ranks]);
      one.dtype = trace.strings[found->second->dtype];
      one.elements = found->second->elements;
    }
    rank.collectives.push_back(std::move(one));
  }
  std::ranges::sort(rank.steps);
  std::ranges::stable_sort(rank.collectives, {}, &analysis::TracedCollective::start);
  return rank;
}

}  // namespace ridgeline::ingest
