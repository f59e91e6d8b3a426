#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/comparison_rows.h"
#include "report/page.h"
#include "report/rendered_comparison.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

constexpr std::size_t kMostNames = 8;  ///< of what is undecided

void title(Page& page, const analysis::Comparison& comparison) {
  const analysis::Subject& after = comparison.after;
  const std::string batch = after.batch_size ? std::to_string(*after.batch_size) : "unknown";
  const std::string rest = clip(fmt::format(" · batch {} · {}", batch, printable(after.device)), page.width() - 20);
  page.line(page.bold(clip_front(printable(after.entry_path), page.width() - columns(rest))) + page.dim(rest));
  page.prose("before", printable(subject_text(comparison.before)), kBeside);
  page.prose("after", printable(subject_text(after)) + (comparison.in_turns ? ", in turns with those before" : ""),
             kBeside);
  page.line();
}

void key_figures(Page& page, const analysis::Comparison& comparison) {
  page.prose("step", times_text(comparison.step) + ": " + time_change_text(comparison.step), kBeside);
  if (comparison.energy) {
    page.prose("energy", energies_text(*comparison.energy) + ": " + energy_change_text(*comparison.energy), kBeside);
  }
  if (!comparison.peak) {
    return;
  }
  const analysis::MemoryChange& peak = *comparison.peak;
  page.prose("peak memory",
             fmt::format("{} → {}: {}", bytes(static_cast<double>(peak.before_bytes)),
                         bytes(static_cast<double>(peak.after_bytes)), memory_change_text(peak)),
             kBeside);
}

/// Name and code share what the figures leave.
void table(Page& page, std::string_view heading, std::string_view change_heading,
           const std::vector<ComparisonRow>& rows, std::size_t most) {
  if (rows.empty()) {
    return;
  }
  int change_width = columns(change_heading);
  int name_width = columns(heading);
  for (const ComparisonRow& row : rows) {
    change_width = std::max(change_width, columns(row.change));
    name_width =
        std::max(name_width, columns(printable(row.name)) + (row.code.empty() ? 0 : 2 + columns(printable(row.code))));
  }
  name_width = std::min(name_width, page.width() - 2 - 10 - 10 - 2 - change_width);
  page.line();
  page.line("  " + page.bold(left(heading, name_width) + right("BEFORE", 10) + right("AFTER", 10) + "  " +
                             std::string(change_heading)));
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const ComparisonRow& row = rows[i];
    const std::string name = clip_front(printable(row.name), name_width);
    const std::string code = clip(printable(row.code), std::max(0, name_width - columns(name) - 2));
    const std::string gap = code.empty() ? "" : "  ";
    const int used = columns(name) + columns(gap) + columns(code);
    page.line(fmt::format("  {}{}{}{}{}{}  {}", name, gap, page.dim(code), left("", name_width - used),
                          right(row.before, 10), right(row.after, 10), row.change));
  }
  if (rows.size() > most) {
    page.line("  " + page.dim(fmt::format("… {} more", rows.size() - most)));
  }
}

void rest(Page& page, const analysis::Comparison& comparison, const ComparisonRows& rows) {
  page.line();
  if (rows.time.empty() && rows.memory.empty()) {
    page.prose("differs", "no phase, module or line, as far as the noise allows to say", kBeside);
  }
  if (rows.without_difference > 0) {
    page.prose("the same",
               fmt::format("{}: none differs in time beyond {}", plural(rows.without_difference, "figure"),
                           unbroken(share(rows.without_difference_beyond))),
               kBeside);
  }
  if (!rows.undecided.empty()) {
    std::vector<std::string> names(
        rows.undecided.begin(),
        rows.undecided.begin() + static_cast<std::ptrdiff_t>(std::min(rows.undecided.size(), kMostNames)));
    const std::size_t more = rows.undecided.size() - names.size();
    page.prose(
        "undecided",
        printable(fmt::format("{}: the noise leaves open whether they differ by {}: {}{}",
                              plural(static_cast<double>(rows.undecided.size()), "figure"), share(comparison.margin),
                              fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "")),
        kBeside);
  }
  for (const std::string& note : comparison.notes) {
    page.prose("note", printable(note), kBeside);
  }
  if (!comparison.in_turns) {
    page.prose("note",
               "The two were not measured in turns: a change of the machine's speed between them counts as theirs.",
               kBeside);
  }
}

}  // namespace

std::string comparison_text(const analysis::Comparison& comparison, const TextOptions& options) {
  Page page(std::clamp(options.width, kLeastWidth, 140), options.color);
  const ComparisonRows rows = comparison_rows(comparison);
  const auto most = static_cast<std::size_t>(std::max(1, 2 * options.max_lines));
  title(page, comparison);
  key_figures(page, comparison);
  table(page, "TIME", "CHANGE (95 % INTERVAL)", rows.time, most);
  table(page, "MEMORY AT THE PEAK", "CHANGE", rows.memory, most);
  rest(page, comparison, rows);
  return page.take();
}

}  // namespace ridgeline::report
