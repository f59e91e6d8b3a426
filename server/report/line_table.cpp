#include "report/line_table.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/values/energy.h"
#include "report/places.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

using analysis::Profile;

/// Beyond what the machine takes idle; empty where it was not measured, and of a line that only holds memory.
std::string line_energy(const Profile& profile, const analysis::LineCost& line) {
  const auto joules = analysis::part_joules(profile, line.self_ms, line.device.ms);
  return joules && line.self_ms > 0 ? energy(*joules) : std::string();
}

/// Calls, forward, backward, recomputation where the step has any, with room for it total, and energy where it was
/// measured. A line that works in another phase, or only holds memory, says that instead.
std::string line_tail(const Page& page, const Profile& profile, const analysis::LineCost& line, const Layout& layout) {
  const auto in = [&](analysis::Phase phase) { return line.self_by_phase[static_cast<std::size_t>(phase)]; };
  const double forward = in(analysis::Phase::kForward);
  const double backward = in(analysis::Phase::kBackward);
  const double recomputed = in(analysis::Phase::kRecomputation);
  std::string tail = right(line.calls ? count(static_cast<double>(*line.calls)) : "–", 5);
  const int width = layout.recomputed ? 32 : 20;
  if (line.self_ms <= 0) {
    const bool made_weights = line.weights_bytes >= line.activations_bytes;
    tail += page.dim(right(made_weights ? "holds weights" : "holds activations", width));
  } else if (forward + backward + recomputed >= line.self_ms / 2) {
    const auto part = [&](double ms) { return ms > 0 ? duration(ms) : "–"; };
    tail += right(part(forward), 10) + right(part(backward), 10);
    if (layout.recomputed) {
      tail += right(part(recomputed), 12);
    }
  } else {
    const auto largest = std::max_element(line.self_by_phase.begin(), line.self_by_phase.end());
    const auto phase = static_cast<std::size_t>(largest - line.self_by_phase.begin());
    tail += page.dim(right(fmt::format("in {}", analysis::kPhaseNames[phase]), width));
  }
  if (layout.total) {
    tail += right(duration(line.total_ms), 10);
  }
  return layout.energy ? tail + right(line_energy(profile, line), 10) : tail;
}

std::vector<Item> line_details(const Profile& profile, const analysis::LineCost& line) {
  std::vector<Item> items;
  if (line.calls) {
    items.push_back({count(static_cast<double>(*line.calls)), *line.calls == 1 ? "call" : "calls"});
  }
  const auto split = phases(line.self_by_phase, duration, kNegligible * line.self_ms);
  if (split.size() == 1) {
    items.push_back({"in", split[0].word});
  }
  if (split.size() > 1) {
    items.insert(items.end(), split.begin(), split.end());
  }
  if (line.total_ms > 1.01 * line.self_ms) {
    items.push_back({"total", duration(line.total_ms)});
  }
  if (std::string text = line_energy(profile, line); !text.empty()) {
    items.push_back({"energy", std::move(text)});
  }
  return items;
}

}  // namespace

std::vector<const analysis::LineCost*> costly_lines(const Profile& profile, std::size_t most, double least_ms) {
  std::vector<const analysis::LineCost*> chosen;
  std::vector<const analysis::LineCost*> holders;
  for (const analysis::LineCost& line : profile.lines) {
    const double held = ratio(static_cast<double>(line.peak_bytes), static_cast<double>(profile.peak_bytes));
    if (chosen.size() < most && line.self_ms > 0 && line.self_ms >= least_ms) {
      chosen.push_back(&line);
    } else if (held >= kMuchMemory) {
      holders.push_back(&line);
    }
  }
  std::stable_sort(holders.begin(), holders.end(), [](auto* a, auto* b) { return a->peak_bytes > b->peak_bytes; });
  holders.resize(std::min({holders.size(), most, std::size_t{kMostForMemory}}));
  chosen.insert(chosen.end(), holders.begin(), holders.end());
  return chosen;
}

namespace {

Row line_row(const Page& page, const Profile& profile, const analysis::LineCost& line, const Places& places,
             const SourceLines& source, const Layout& layout) {
  std::string code = printable(source ? source(line.location).value_or("") : "");
  code.erase(0, code.find_first_not_of(' '));
  Row row{.lead = clip_front(places.name(line.location), std::max(16, page.width() / 5)), .name = std::move(code)};
  row.ms = line.self_ms;
  row.bytes = static_cast<double>(line.peak_bytes);
  if (layout.wide) {
    row.tail = line_tail(page, profile, line, layout);
  }
  if (!layout.wide) {
    row.below = line_details(profile, line);
  }
  return row;
}

}  // namespace

Table line_table(const Page& page, const Profile& profile, const Places& places, const SourceLines& source,
                 const TextOptions& options, const Layout& layout) {
  Table table{.name_heading = "LINE", .time_heading = "SELF"};
  Row rest{.secondary = true};
  for (const analysis::LineCost& line : profile.lines) {
    rest.ms += line.self_ms;
    rest.bytes += static_cast<double>(line.peak_bytes);
  }
  int place_width = 0;
  const auto most = static_cast<std::size_t>(std::max(0, options.max_lines));
  for (const analysis::LineCost* line : costly_lines(profile, most, options.min_share * profile.iteration.ms.value)) {
    table.rows.push_back(line_row(page, profile, *line, places, source, layout));
    rest.ms -= line->self_ms;
    rest.bytes -= static_cast<double>(line->peak_bytes);
    place_width = std::max(place_width, columns(table.rows.back().lead));
  }
  for (Row& row : table.rows) {
    row.lead = left(row.lead, place_width + 2);
  }
  const auto folded = static_cast<double>(profile.lines.size() - table.rows.size());
  rest.name = table.rows.empty() ? plural(folded, "line") : "… " + plural(folded, "more line");
  rest.ms = std::max(0.0, rest.ms);
  if (folded > 0) {
    table.rows.push_back(std::move(rest));
  }
  if (layout.wide) {
    table.tail_heading = "CALLS   FORWARD  BACKWARD";
  }
  if (layout.wide && layout.recomputed) {
    table.tail_heading += "  RECOMPUTED";
  }
  if (layout.total) {
    table.tail_heading += "     TOTAL";
  }
  if (layout.wide && layout.energy) {
    table.tail_heading += "    ENERGY";
  }
  table.tail_width = columns(table.tail_heading);
  return table;
}

Table other_table(const Profile& profile) {
  Table table{.name_heading = "ON NO LINE", .time_heading = "TIME"};
  const auto matters = [&](double ms, double memory) {
    return ms >= kNegligible * profile.iteration.ms.value ||
           memory >= kNegligible * static_cast<double>(profile.peak_bytes);
  };
  Row rest{.secondary = true};
  int folded = 0;
  for (const analysis::OtherCost& other : profile.other) {
    const auto memory = static_cast<double>(other.peak_bytes);
    if (matters(other.ms, memory)) {
      table.rows.push_back({.name = printable(other.name), .ms = other.ms, .bytes = memory});
    } else {
      rest.ms += other.ms;
      rest.bytes += memory;
      ++folded;
    }
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const Row& a, const Row& b) { return a.ms > b.ms; });
  rest.name = fmt::format("… {} more", folded);
  if (folded > 0 && matters(rest.ms, rest.bytes)) {
    table.rows.push_back(std::move(rest));
  }
  return table;
}

}  // namespace ridgeline::report
