#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "report/comparison_rows.h"
#include "report/plain_page.h"
#include "report/rendered_comparison.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

constexpr std::string_view kComparisonStyle = R"(
h2 { margin: 32px 0 0; font-size: 16px; font-weight: 650; }
.scroll { margin-top: 8px; }
td.change::before { content: ""; display: inline-block; width: 8px; height: 8px; margin-right: 8px; border-radius: 4px; }
.worse td.change::before { background: var(--warning); }
.better td.change::before { background: var(--time); }
)";

std::string row_html(std::string_view kind, const ComparisonRow& row) {
  const std::string code = row.code.empty() ? "" : "<br><code>" + escaped(row.code) + "</code>";
  return fmt::format(
      "<tr class=\"{}\"><td>{}{}</td><td class=\"figure\">{}</td><td class=\"figure\">{}</td>"
      "<td class=\"change\">{}</td></tr>\n",
      kind, escaped(row.name), code, escaped(row.before), escaped(row.after), escaped(row.change));
}

std::string table_html(std::string_view heading, const std::vector<ComparisonRow>& rows) {
  if (rows.empty()) {
    return "";
  }
  std::string body;
  for (const ComparisonRow& row : rows) {
    body += row_html(row.is_worse ? "worse" : "better", row);
  }
  return fmt::format(
      "<h2>{}</h2>\n<div class=\"scroll\"><table><thead><tr><th></th><th>Before</th><th>After</th><th>Change</th></tr>"
      "</thead><tbody>\n{}</tbody></table></div>\n",
      heading, body);
}

/// The step and the peak, whatever became of them.
std::string summary_html(const analysis::Comparison& comparison) {
  const auto kind = [](analysis::Outcome outcome, bool is_worse) {
    return outcome != analysis::Outcome::kDiffers ? "" : is_worse ? "worse" : "better";
  };
  const analysis::TimeChange& step = comparison.step;
  std::string body = row_html(kind(step.outcome, step.after_ms > step.before_ms),
                              {"Step", "", duration(step.before_ms), duration(step.after_ms), time_change_text(step)});
  if (comparison.energy) {
    const analysis::EnergyChange& change = *comparison.energy;
    body +=
        row_html(kind(change.outcome, change.after_joules > change.before_joules),
                 {"Energy", "", energy(change.before_joules), energy(change.after_joules), energy_change_text(change)});
  }
  if (comparison.peak) {
    const analysis::MemoryChange& peak = *comparison.peak;
    body += row_html(kind(peak.outcome, peak.after_bytes > peak.before_bytes),
                     {"Peak memory", "", bytes(static_cast<double>(peak.before_bytes)),
                      bytes(static_cast<double>(peak.after_bytes)), memory_change_text(peak)});
  }
  return "<div class=\"scroll\"><table><thead><tr><th></th><th>Before</th><th>After</th><th>Change</th></tr></thead>"
         "<tbody>\n" +
         body + "</tbody></table></div>\n";
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + escaped(name);
  }
  return text;
}

}  // namespace

std::string comparison_html(const analysis::Comparison& comparison) {
  const ComparisonRows rows = comparison_rows(comparison);
  std::string html = page_begin("Ridgeline: comparison", kComparisonStyle);
  html += "<h1>" + escaped(subject_text(comparison.before)) + " → " + escaped(subject_text(comparison.after)) +
          "</h1>\n<p class=\"faint\">" +
          (comparison.in_turns ? "The runs alternated. " : "The runs were not made in turns. ") +
          "All intervals hold at once with a probability of 95 %.</p>\n" + summary_html(comparison) +
          table_html("Time", rows.time) + table_html("Memory at the peak", rows.memory);
  if (rows.without_difference > 0) {
    html += "<p>" +
            escaped(fmt::format("{}: none differs in time beyond {}.", plural(rows.without_difference, "other figure"),
                                share(rows.without_difference_beyond))) +
            "</p>\n";
  }
  if (!rows.undecided.empty()) {
    html += "<p>Undecided in time, because the noise is too large: " + listed(rows.undecided) + ".</p>\n";
  }
  for (const std::string& note : comparison.notes) {
    html += "<p class=\"warning\">" + escaped(note) + "</p>\n";
  }
  return html + std::string(kPageEnd);
}

}  // namespace ridgeline::report
