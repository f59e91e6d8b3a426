#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "report/plain_page.h"
#include "report/rendered_what_if.h"
#include "report/units.h"
#include "report/warnings.h"

namespace ridgeline::report {
namespace {

using analysis::ChangeAnswer;
using analysis::SpeedUp;
using analysis::WhatIf;

constexpr std::string_view kWhatIfStyle = R"(
svg { display: block; width: 260px; height: 34px; background: var(--track); border-radius: 3px; }
.one { stroke: var(--faint); stroke-dasharray: 2 2; }
.predicted { stroke: var(--time); fill: var(--time); }
.tried { stroke: var(--memory); fill: var(--memory); }
.key::before { content: ""; display: inline-block; width: 10px; height: 10px; margin: 0 5px 0 14px;
  border-radius: 5px; background: var(--time); }
.key.of-tried::before { background: var(--memory); }
)";

/// Speed-ups on a logarithmic axis that all rows share: half as fast is as far from 1 as twice as fast.
class Axis {
 public:
  explicit Axis(const WhatIf& answer) {
    const auto include = [&](const SpeedUp& speed_up) {
      ends_ = std::max({ends_, std::abs(std::log(speed_up.low)), std::abs(std::log(speed_up.high))});
    };
    for (const ChangeAnswer& row : answer.changes) {
      if (row.predicted.has_value()) {
        include(row.predicted->speed_up);
      }
      if (row.tried.has_value()) {
        include(row.tried->speed_up);
      }
    }
    ends_ = std::min(ends_ * 1.1, std::log(kFarthest));
  }

  double at(double speed_up) const {
    return kWidth / 2 * (1 + std::clamp(std::log(std::max(speed_up, 1e-9)) / ends_, -1.0, 1.0));
  }
  double end() const { return std::exp(ends_); }

  static constexpr double kWidth = 260;

 private:
  static constexpr double kFarthest = 16;
  double ends_ = std::log(1.1);
};

bool is_undecided(const SpeedUp& speed_up) { return analysis::direction_of(speed_up) == analysis::Direction::kUnclear; }

/// `middle`: with a dot there.
std::string drawn(const Axis& axis, const SpeedUp& speed_up, bool middle, std::string_view kind, int y) {
  const std::string dot =
      middle ? fmt::format("<circle cx=\"{:.1f}\" cy=\"{}\" r=\"4\"/>", axis.at(speed_up.value), y) : "";
  return fmt::format("<g class=\"{}\"><line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\" stroke-width=\"3\"/>{}</g>",
                     kind, axis.at(speed_up.low), axis.at(speed_up.high), y, y, dot);
}

std::string picture(const Axis& axis, const ChangeAnswer& row) {
  std::string label;
  std::string shapes =
      fmt::format("<line class=\"one\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"34\"/>", Axis::kWidth / 2);
  if (row.predicted.has_value()) {
    label = "predicted " + predicted_text(row);
    shapes += drawn(axis, row.predicted->speed_up, !is_undecided(row.predicted->speed_up), "predicted",
                    row.tried.has_value() ? 11 : 17);
  }
  if (row.tried.has_value()) {
    label += (label.empty() ? "" : ", ") + ("tried " + tried_text(row));
    shapes += drawn(axis, row.tried->speed_up, true, "tried", row.predicted.has_value() ? 23 : 17);
  }
  return label.empty() ? ""
                       : fmt::format("<svg viewBox=\"0 0 260 34\" role=\"img\" aria-label=\"{}\">{}</svg>",
                                     escaped(label), shapes);
}

std::string cell(const SpeedUp& speed_up) {
  return fmt::format("{:.2f}×<br><span class=\"faint\">{:.2f} to {:.2f}</span>", speed_up.value, speed_up.low,
                     speed_up.high);
}

/// What is predicted; one whose sign is not certain has no middle.
std::string predicted_html(const ChangeAnswer& row) {
  if (!row.predicted.has_value() || !is_undecided(row.predicted->speed_up)) {
    return row.predicted.has_value() ? cell(row.predicted->speed_up) : "–";
  }
  const std::string text = predicted_text(row);
  const std::size_t interval = text.find(" (");
  return fmt::format("{}<br><span class=\"faint\">{:.2f} to {:.2f}</span>", text.substr(0, interval),
                     row.predicted->speed_up.low, row.predicted->speed_up.high);
}

/// Escaped; what stands between backticks is code.
std::string marked(std::string_view text) {
  std::string html;
  for (bool is_code = false;; is_code = !is_code) {
    const std::size_t end = std::min(text.find('`'), text.size());
    const std::string part = escaped(text.substr(0, end));
    html += is_code ? "<code>" + part + "</code>" : part;
    if (end == text.size()) {
      return html;
    }
    text.remove_prefix(end + 1);
  }
}

std::string change_name(const ChangeAnswer& row) {
  std::string name;
  for (const std::string& request : row.change) {
    name += (name.empty() ? "" : " + ") + request;
  }
  return escaped(name);
}

std::string row_html(const WhatIf& answer, const Axis& axis, const ChangeAnswer& row) {
  std::string note = marked(row.takes);
  for (const std::string& more : {loss_text(row), row.not_tried, certainty_text(answer, row)}) {
    note += (note.empty() || more.empty() ? "" : "; ") + escaped(more);
  }
  const std::string peak = peak_text(answer, row);
  return fmt::format(
      "<tr><td><code>{}</code><br><span class=\"faint\">{}</span></td><td>{}</td><td class=\"figure\">{}</td>"
      "<td class=\"figure\">{}</td><td class=\"figure\">{}</td></tr>\n",
      change_name(row), note, picture(axis, row), predicted_html(row),
      row.tried.has_value() ? cell(row.tried->speed_up) : "–", peak.empty() ? "–" : escaped(peak));
}

/// The changes that pay, or those that bring nothing, with their heading.
std::string table_html(const WhatIf& answer, const Axis& axis, bool pay) {
  std::string rows;
  for (const ChangeAnswer& row : answer.changes) {
    const bool has_figures = row.reason.empty() && (row.predicted.has_value() || row.tried.has_value());
    rows += has_figures && analysis::brings_nothing(row, answer.peak_bytes) != pay ? row_html(answer, axis, row) : "";
  }
  if (rows.empty()) {
    return "";
  }
  return fmt::format(
      "{}<div class=\"scroll\"><table><thead><tr><th>Change</th><th>Speed-up, 95 %</th><th>Predicted</th><th>Tried</th>"
      "<th>Peak memory</th></tr></thead><tbody>\n{}</tbody></table></div>\n",
      pay ? "" : "<h2>No gain</h2>\n", rows);
}

std::string tables_html(const WhatIf& answer) {
  const Axis axis(answer);
  const std::string tables = table_html(answer, axis, true) + table_html(answer, axis, false);
  if (tables.empty()) {
    return "";
  }
  return fmt::format(
      "{}<p class=\"faint\">The axis is logarithmic, from {:.2f}× to {:.2f}×; the dashed line is 1×: no change."
      "<span class=\"key\">predicted</span><span class=\"key of-tried\">tried</span></p>\n",
      tables, 1 / axis.end(), axis.end());
}

}  // namespace

std::string html_what_if(const WhatIf& answer) {
  const std::string entry = answer.entry_path.substr(answer.entry_path.rfind('/') + 1);
  std::string html = page_begin("Ridgeline: what if", kWhatIfStyle);
  html += "<h1>What if: " + escaped(entry) + "</h1>\n<p class=\"faint\">" +
          escaped((answer.batch_size > 0 ? fmt::format("batch {} · ", answer.batch_size) : std::string()) +
                  duration(answer.step_ms) + " a step" +
                  (answer.peak_bytes > 0 ? " · peak " + bytes(static_cast<double>(answer.peak_bytes)) : "") + " · " +
                  answer.device) +
          "</p>\n";
  if (const std::string offer = try_text(answer); !offer.empty()) {
    html += "<p>" + escaped(offer) + " Add <code>--try</code>.</p>\n";
  }
  html += tables_html(answer);
  for (const ChangeAnswer& row : answer.changes) {
    if (row.reason.empty() && !row.predicted.has_value() && !row.tried.has_value()) {
      html += "<p><code>" + change_name(row) + "</code> is not predicted: " + escaped(not_predicted_text(answer, row)) +
              "</p>\n";
    }
  }
  for (const ChangeAnswer& row : answer.changes) {
    if (!row.reason.empty()) {
      html += "<p><code>" + change_name(row) + "</code> is left out: " + escaped(row.reason) + "</p>\n";
    }
  }
  html += "<p class=\"faint\">" + escaped(basis_text(answer)) + "</p>\n";
  return html + warnings_html(answer.warnings) + std::string(kPageEnd);
}

}  // namespace ridgeline::report
