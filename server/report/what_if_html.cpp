#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "report/units.h"
#include "report/what_if.h"

namespace ridgeline::report {
namespace {

using analysis::ChangeAnswer;
using analysis::SpeedUp;
using analysis::WhatIf;

/// The colours are those of the HTML report (web/src/style.css).
constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Ridgeline: what if</title>
<style>
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1b1f26; --faint: #5c6470; --line: #d8dce2;
  --track: #eef0f3; --time: #2f6fd0; --memory: #8250c4; --warning: #9a5b00; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181d; --ink: #d8dce4; --faint: #99a1af; --line: #363b45;
  --track: #23272f; --time: #61afef; --memory: #c08ae8; --warning: #e5c07b; } }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--paper); font: 14px / 1.5 system-ui, sans-serif;
  font-variant-numeric: tabular-nums; }
main { max-width: 1280px; margin: 0 auto; padding: 24px 32px 64px; }
h1 { margin: 0; font-size: 20px; font-weight: 650; overflow-wrap: anywhere; }
p { margin: 4px 0; }
.faint { color: var(--faint); }
.scroll { overflow-x: auto; margin-top: 24px; }
table { border-collapse: collapse; width: 100%; }
th { font-size: 12px; font-weight: 650; letter-spacing: 0.05em; text-align: left; text-transform: uppercase;
  color: var(--faint); }
th, td { padding: 6px 16px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.figure { white-space: nowrap; }
code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; }
svg { display: block; width: 260px; height: 34px; background: var(--track); border-radius: 3px; }
.one { stroke: var(--faint); stroke-dasharray: 2 2; }
.predicted { stroke: var(--time); fill: var(--time); }
.tried { stroke: var(--memory); fill: var(--memory); }
.key::before { content: ""; display: inline-block; width: 10px; height: 10px; margin: 0 5px 0 14px;
  border-radius: 5px; background: var(--time); }
.key.of-tried::before { background: var(--memory); }
.warning { padding: 4px 14px; border-left: 3px solid var(--warning); background: var(--track); }
@media print { .scroll { overflow: visible; } }
</style>
</head>
<body>
<main>
)";

/// Printable, and nothing in it begins or ends markup.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : printable(std::string(text))) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

/// Speed-ups on a logarithmic axis that all rows share: half as fast is as far from 1 as twice as fast.
class Axis {
 public:
  explicit Axis(const WhatIf& answer) {
    const auto include = [&](const SpeedUp& speed_up) {
      ends_ = std::max({ends_, std::abs(std::log(speed_up.low)), std::abs(std::log(speed_up.high))});
    };
    for (const ChangeAnswer& row : answer.changes) {
      if (row.predicted.has_value()) include(row.predicted->speed_up);
      if (row.tried.has_value()) include(row.tried->speed_up);
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

std::string drawn(const Axis& axis, const SpeedUp& speed_up, std::string_view kind, int y) {
  return fmt::format(
      "<g class=\"{}\"><line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\" stroke-width=\"3\"/>"
      "<circle cx=\"{:.1f}\" cy=\"{}\" r=\"4\"/></g>",
      kind, axis.at(speed_up.low), axis.at(speed_up.high), y, y, axis.at(speed_up.value), y);
}

std::string picture(const Axis& axis, const ChangeAnswer& row) {
  std::string label;
  std::string shapes =
      fmt::format("<line class=\"one\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"34\"/>", Axis::kWidth / 2);
  if (row.predicted.has_value()) {
    label = "predicted " + speed_up_text(row.predicted->speed_up);
    shapes += drawn(axis, row.predicted->speed_up, "predicted", row.tried.has_value() ? 11 : 17);
  }
  if (row.tried.has_value()) {
    label += (label.empty() ? "" : ", ") + ("tried " + speed_up_text(row.tried->speed_up));
    shapes += drawn(axis, row.tried->speed_up, "tried", row.predicted.has_value() ? 23 : 17);
  }
  return label.empty() ? ""
                       : fmt::format("<svg viewBox=\"0 0 260 34\" role=\"img\" aria-label=\"{}\">{}</svg>",
                                     escaped(label), shapes);
}

std::string cell(const SpeedUp& speed_up) {
  return fmt::format("{:.2f}×<br><span class=\"faint\">{:.2f} to {:.2f}</span>", speed_up.value, speed_up.low,
                     speed_up.high);
}

std::string change_name(const ChangeAnswer& row) {
  std::string name;
  for (const std::string& request : row.change) {
    name += (name.empty() ? "" : " + ") + request;
  }
  return escaped(name);
}

std::string row_html(const WhatIf& answer, const Axis& axis, const ChangeAnswer& row) {
  std::string note = escaped(row.takes);
  for (const std::string& more : {loss_text(row), row.not_tried, certainty_text(answer, row)}) {
    note += (note.empty() || more.empty() ? "" : "; ") + escaped(more);
  }
  const std::string peak = peak_text(answer, row);
  return fmt::format(
      "<tr><td><code>{}</code><br><span class=\"faint\">{}</span></td><td>{}</td><td class=\"figure\">{}</td>"
      "<td class=\"figure\">{}</td><td class=\"figure\">{}</td></tr>\n",
      change_name(row), note, picture(axis, row), row.predicted.has_value() ? cell(row.predicted->speed_up) : "–",
      row.tried.has_value() ? cell(row.tried->speed_up) : "–", peak.empty() ? "–" : escaped(peak));
}

std::string table_html(const WhatIf& answer) {
  const Axis axis(answer);
  std::string rows;
  for (const ChangeAnswer& row : answer.changes) {
    rows += row.reason.empty() ? row_html(answer, axis, row) : "";
  }
  if (rows.empty()) {
    return "";
  }
  return fmt::format(
      "<div class=\"scroll\"><table><thead><tr><th>Change</th><th>Speed-up, 95 %</th><th>Predicted</th><th>Tried</th>"
      "<th>Peak memory</th></tr></thead><tbody>\n{}</tbody></table></div>\n"
      "<p class=\"faint\">The axis is logarithmic, from {:.2f}× to {:.2f}×; the dashed line is 1×: no change."
      "<span class=\"key\">predicted</span><span class=\"key of-tried\">tried</span></p>\n",
      rows, 1 / axis.end(), axis.end());
}

}  // namespace

std::string html_what_if(const WhatIf& answer) {
  const std::string entry = answer.entry_path.substr(answer.entry_path.rfind('/') + 1);
  std::string html(kHead);
  html += "<h1>What if: " + escaped(entry) + "</h1>\n<p class=\"faint\">" +
          escaped((answer.batch_size > 0 ? fmt::format("batch {} · ", answer.batch_size) : std::string()) +
                  duration(answer.step_ms) + " a step" +
                  (answer.peak_bytes > 0 ? " · peak " + bytes(static_cast<double>(answer.peak_bytes)) : "") + " · " +
                  answer.device) +
          "</p>\n";
  html += table_html(answer);
  for (const ChangeAnswer& row : answer.changes) {
    if (!row.reason.empty()) {
      html += "<p><code>" + change_name(row) + "</code> does not apply: " + escaped(row.reason) + "</p>\n";
    }
  }
  html += "<p class=\"faint\">" + escaped(basis_text(answer)) + "</p>\n";
  for (const std::string& warning : answer.warnings) {
    html += "<p class=\"warning\">" + escaped(warning) + "</p>\n";
  }
  return html + "</main>\n</body>\n</html>\n";
}

}  // namespace ridgeline::report
