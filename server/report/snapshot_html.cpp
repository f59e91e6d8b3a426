#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "report/plain_page.h"
#include "report/rendered_snapshot.h"
#include "report/units.h"
#include "report/warnings.h"

namespace ridgeline::report {
namespace {

using analysis::MemorySnapshot;
using analysis::SnapshotLine;
using analysis::SnapshotMoment;

constexpr std::string_view kSnapshotStyle = R"(
svg { display: block; width: 100%; height: 220px; background: var(--track); border-radius: 3px; margin-top: 16px; }
.reserved { fill: none; stroke: var(--faint); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.allocated { fill: var(--memory); opacity: 0.55; }
td.figure, th.figure { text-align: right; }
)";
constexpr double kDrawingWidth = 1000;
constexpr double kDrawingHeight = 220;

std::string size_html(std::uint64_t count) { return escaped(bytes(static_cast<double>(count))); }

/// Allocated and reserved bytes over the recording.
std::string over_time_html(const MemorySnapshot& snapshot) {
  if (snapshot.over_time.size() < 2) {
    return "";
  }
  std::uint64_t most = 1;
  for (const analysis::SnapshotPoint& point : snapshot.over_time) {
    most = std::max({most, point.allocated, point.reserved});
  }
  const double end = std::max(snapshot.over_time.back().ms, 1e-9);
  std::string area = fmt::format("0,{}", kDrawingHeight);
  std::string line;
  for (const analysis::SnapshotPoint& point : snapshot.over_time) {
    const double x = kDrawingWidth * point.ms / end;
    const auto y = [&](std::uint64_t value) {
      return kDrawingHeight * (1 - 0.95 * static_cast<double>(value) / static_cast<double>(most));
    };
    area += fmt::format(" {:.1f},{:.1f}", x, y(point.allocated));
    line += fmt::format("{}{:.1f},{:.1f}", line.empty() ? "" : " ", x, y(point.reserved));
  }
  area += fmt::format(" {},{}", kDrawingWidth, kDrawingHeight);
  const std::string label = fmt::format("Allocated memory over the recording, up to {}", size_html(most));
  return fmt::format(
      "<svg viewBox=\"0 0 {:.0f} {:.0f}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">"
      "<polygon class=\"allocated\" points=\"{}\"/><polyline class=\"reserved\" points=\"{}\"/></svg>\n"
      "<p class=\"faint\">Filled: allocated. Line: reserved, at most {}. {}</p>\n",
      kDrawingWidth, kDrawingHeight, label, area, line, size_html(most),
      snapshot.has_times ? "The axis is " + escaped(duration(snapshot.recorded_ms)) + " long."
                         : "The axis counts events: no times were recorded.");
}

std::string uses_html(const SnapshotMoment& moment) {
  std::string text;
  for (std::size_t use = 0; use < analysis::kMemoryUses; ++use) {
    if (moment.by_use[use] > 0) {
      text += fmt::format("{}{} {}", text.empty() ? "" : " · ", use_name(static_cast<analysis::MemoryUse>(use)),
                          size_html(moment.by_use[use]));
    }
  }
  return text.empty() ? "" : "<p>By stack: " + text + "</p>\n";
}

std::string moment_html(const MemorySnapshot& snapshot, const SnapshotMoment& moment, std::string_view title) {
  std::string html =
      fmt::format("<h2>{}</h2>\n<p>{} allocated, {} reserved{}</p>\n", title, size_html(moment.bytes),
                  size_html(moment.reserved), snapshot.has_times ? ", after " + escaped(duration(moment.ms)) : "");
  html += uses_html(moment);
  if (moment.lines.empty()) {
    return html;
  }
  html +=
      "<div class=\"scroll\"><table><thead><tr><th>Line</th><th class=\"figure\">Bytes</th>"
      "<th class=\"figure\">Share</th><th class=\"figure\">Blocks</th></tr></thead><tbody>\n";
  for (const SnapshotLine& line : moment.lines) {
    const double of_all = moment.bytes == 0 ? 0 : static_cast<double>(line.bytes) / static_cast<double>(moment.bytes);
    html += fmt::format(
        "<tr><td><code>{}</code></td><td class=\"figure\">{}</td><td class=\"figure\">{}</td>"
        "<td class=\"figure\">{}</td></tr>\n",
        escaped(line_text(line)), size_html(line.bytes), escaped(share(of_all)), line.blocks);
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace

std::string html_snapshot(const MemorySnapshot& snapshot) {
  const std::string name = snapshot.path.substr(snapshot.path.rfind('/') + 1);
  std::string html = page_begin("Ridgeline: memory snapshot", kSnapshotStyle);
  html += fmt::format("<h1>Memory snapshot: {}</h1>\n<p class=\"faint\">device {} · {} events</p>\n", escaped(name),
                      snapshot.device, snapshot.events);
  if (const std::string text = out_of_memory_text(snapshot); !text.empty()) {
    html += "<p class=\"warning\">Out of memory: " + escaped(text) + "</p>\n";
  }
  html += over_time_html(snapshot);
  for (const std::string& text : {fragments_text(snapshot), private_pools_text(snapshot)}) {
    html += text.empty() ? "" : "<p>" + escaped(text) + "</p>\n";
  }
  if (!snapshot.growth.empty()) {
    html += "<h2>Grows</h2>\n";
    for (const analysis::SnapshotGrowth& growth : snapshot.growth) {
      html += "<p><code>" + escaped(line_text(growth.line)) + "</code>: " + escaped(growth_text(snapshot, growth)) +
              "</p>\n";
    }
  }
  if (snapshot.out_of_memory.has_value()) {
    html += moment_html(snapshot, snapshot.out_of_memory->moment, "At the error");
  }
  if (snapshot.events > 0) {
    html += moment_html(snapshot, snapshot.at_peak, "At the peak");
  }
  html += moment_html(snapshot, snapshot.at_end, "At the end");
  return html + warnings_html(snapshot.warnings) + std::string(kPageEnd);
}

}  // namespace ridgeline::report
