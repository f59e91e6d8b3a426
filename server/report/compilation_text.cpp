#include "report/compilation_text.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "protocol/shown_text.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {

namespace {

constexpr std::size_t kMostNotes = 5;

/// The first line of what torch says.
std::string headline(std::string_view reason) { return printable(reason.substr(0, reason.find('\n'))); }

std::string place_of(const analysis::Location& location, std::string_view function) {
  return printable(fmt::format("{}:{} in {}", location.file, location.line, function));
}

template <typename Value, typename Text>
void add_notes(std::vector<Item>& notes, const char* word, const std::vector<Value>& values, Text text) {
  for (std::size_t i = 0; i < std::min(values.size(), kMostNotes); ++i) {
    notes.push_back({word, text(values[i])});
  }
  if (values.size() > kMostNotes) {
    notes.push_back({word, fmt::format("{} more", values.size() - kMostNotes)});
  }
}

}  // namespace

std::vector<Item> compilation_notes(const analysis::Compilation& compilation) {
  std::vector<Item> notes;
  std::uint64_t count = 0;
  double seconds = 0;
  std::uint64_t guards = 0;
  std::vector<analysis::CompiledFunction> again;
  for (const analysis::CompiledFunction& function : compilation.functions) {
    count += function.count;
    seconds += function.seconds;
    guards += function.guards;
    if (!function.reasons.empty()) {
      again.push_back(function);
    }
  }
  if (count > 0) {
    notes.push_back({"compiled", fmt::format("torch.compile took {} before the recorded step: {} of {}, with {}.",
                                             duration(seconds * 1e3), plural(static_cast<double>(count), "compilation"),
                                             plural(static_cast<double>(compilation.functions.size()), "function"),
                                             plural(static_cast<double>(guards), "guard"))});
  }
  add_notes(notes, "graph break", compilation.breaks, [](const analysis::GraphBreak& found) {
    return fmt::format("{}: {}", place_of(found.location, found.function), sentence(headline(found.reason)));
  });
  add_notes(notes, "recompiled", again, [](const analysis::CompiledFunction& function) {
    return fmt::format("{}, {}: {}", place_of(function.location, function.function),
                       plural(static_cast<double>(function.count) - 1, "time"),
                       sentence(headline(function.reasons.front())));
  });
  return notes;
}

std::string graph_break_text(const analysis::GraphBreak& found) {
  return fmt::format("torch.compile ends a graph here and returns to Python: {}", sentence(printable(found.reason)));
}

std::string recompilation_text(const analysis::CompiledFunction& function) {
  std::string reasons;
  for (const std::string& reason : function.reasons) {
    reasons += (reasons.empty() ? "" : "; ") + printable(reason);
  }
  return fmt::format("torch.compile compiled {} {}, in {} all together. Why again: {}", printable(function.function),
                     plural(static_cast<double>(function.count), "time"), duration(function.seconds * 1e3),
                     sentence(std::move(reasons)));
}

}  // namespace ridgeline::report
