#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "protocol/shown_text.h"
#include "report/comparison_rows.h"
#include "report/rendered_comparison.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

using protocol::Markdown;

constexpr std::size_t kMostRows = 30;

Markdown table(Markdown::Literal heading, const std::vector<ComparisonRow>& rows) {
  if (rows.empty()) {
    return {};
  }
  Markdown text = heading + Markdown("|  | before | after | change |\n|---|---:|---:|---|\n");
  for (std::size_t i = 0; i < std::min(kMostRows, rows.size()); ++i) {
    const ComparisonRow& row = rows[i];
    text += "| " + Markdown::text(row.name);
    text += row.code.empty() ? Markdown() : " " + Markdown::code(row.code);
    text += " | " + Markdown::text(row.before) + " | " + Markdown::text(row.after) + " | " +
            Markdown::text(row.change) + " |\n";
  }
  if (rows.size() > kMostRows) {
    text += "\n" + Markdown::text(fmt::format("… {} more", rows.size() - kMostRows)) + "\n";
  }
  return text;
}

}  // namespace

std::string comparison_markdown(const analysis::Comparison& comparison) {
  const ComparisonRows rows = comparison_rows(comparison);
  Markdown text = "### " + Markdown::text(subject_text(comparison.before)) + " → ";
  text += Markdown::text(subject_text(comparison.after)) + "\n\n";
  text += "|  | before → after | change |\n|---|---|---|\n| step | " + Markdown::text(times_text(comparison.step)) +
          " | " + Markdown::text(time_change_text(comparison.step)) + " |\n";
  if (comparison.energy) {
    text += "| energy | " + Markdown::text(energies_text(*comparison.energy)) + " | " +
            Markdown::text(energy_change_text(*comparison.energy)) + " |\n";
  }
  if (comparison.peak) {
    const analysis::MemoryChange& peak = *comparison.peak;
    text += "| peak memory | " +
            Markdown::text(bytes(static_cast<double>(peak.before_bytes)) + " → " +
                           bytes(static_cast<double>(peak.after_bytes))) +
            " | " + Markdown::text(memory_change_text(peak)) + " |\n";
  }
  text += table("\n#### Time\n\n", rows.time);
  text += table("\n#### Memory at the peak\n\n", rows.memory);
  text += "\n";
  if (rows.without_difference > 0) {
    text += Markdown::text(fmt::format("{}: none differs in time beyond {}.",
                                       plural(rows.without_difference, "other figure"),
                                       share(rows.without_difference_beyond))) +
            "\n";
  }
  if (!rows.undecided.empty()) {
    text += Markdown::text(plural(static_cast<double>(rows.undecided.size()), "figure") +
                           " undecided: the noise is too large.") +
            "\n";
  }
  for (const std::string& note : comparison.notes) {
    text += "\n" + Markdown::text(note) + "\n";
  }
  return text.markup();
}

}  // namespace ridgeline::report
