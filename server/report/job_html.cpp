#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "report/plain_page.h"
#include "report/rendered_job.h"
#include "report/units.h"

namespace ridgeline::report {
namespace {

using analysis::JobReport;
using analysis::RankTimeline;
using analysis::RecordedRankFigures;
using analysis::TimeSpan;

constexpr std::string_view kJobStyle = R"(
h2 { margin: 32px 0 0; font-size: 16px; font-weight: 650; }
.scroll { margin-top: 8px; }
svg { display: block; }
svg text { fill: var(--faint); font: 12px system-ui, sans-serif; }
.work { fill: var(--time); } .network { fill: var(--memory); } .rank { fill: var(--warning); }
.hidden { fill: var(--memory); opacity: 0.55; } .step { stroke: var(--line); }
.key { margin-right: 18px; white-space: nowrap; }
.key::before { content: ""; display: inline-block; width: 10px; height: 10px; margin-right: 6px; border-radius: 2px;
  background: var(--time); }
.of-network::before { background: var(--memory); } .of-rank::before { background: var(--warning); }
.of-hidden::before { height: 4px; vertical-align: 3px; background: var(--memory); opacity: 0.55; }
.timeline { display: flex; }
.names { flex: none; margin-top: 8px; }
.timeline > .scroll { flex: 1; min-width: 0; }
th.figure, td.figure { text-align: right; }
)";

constexpr std::size_t kMostStepsDrawn = 20;  ///< of a picture: more are not told apart
constexpr std::size_t kMostRanksDrawn = 64;
constexpr std::size_t kMostLinesShown = 12;  ///< of each rank
constexpr double kStepWidth = 300;           ///< pixels, of the first step
constexpr double kMostWidth = 12'000;
constexpr int kRowsTop = 22;  ///< of the numbers of steps
constexpr int kRowHeight = 30;

std::string figure_cell(std::string_view text) { return fmt::format("<td class=\"figure\">{}</td>", text); }
std::string time_cell(const std::optional<double>& ms) { return figure_cell(ms ? duration(*ms) : "–"); }

/// Headings; those that end with "#" are of figures.
std::string table_html(std::string_view headings, const std::string& rows) {
  std::string head;
  while (!headings.empty()) {
    std::string_view one = headings.substr(0, headings.find('|'));
    headings.remove_prefix(std::min(headings.size(), one.size() + 1));
    const bool is_figure = one.ends_with('#');
    if (is_figure) {
      one.remove_suffix(1);
    }
    head += fmt::format("<th{}>{}</th>", is_figure ? " class=\"figure\"" : "", one);
  }
  return fmt::format("<div class=\"scroll\"><table><thead><tr>{}</tr></thead><tbody>\n{}</tbody></table></div>\n", head,
                     rows);
}

// ---- the ranks side by side
// -------------------------------------------------------------------------------------------

/// From the start of the first step that is drawn to the end of the last one.
class Picture {
 public:
  explicit Picture(const JobReport& job)
      : job_(job),
        steps_(std::min(kMostStepsDrawn, job.steps.size())),
        ranks_(std::min(kMostRanksDrawn, job.timelines.size())),
        begin_ms_(job.timelines.front().steps.front().begin_ms),
        end_ms_(job.timelines.front().steps[steps_ - 1].end_ms) {
    for (const RankTimeline& rank : drawn()) {
      begin_ms_ = std::min(begin_ms_, rank.steps.front().begin_ms);
      end_ms_ = std::max(end_ms_, rank.steps[steps_ - 1].end_ms);
    }
    const TimeSpan& first = job.timelines.front().steps.front();
    const double length = std::max(end_ms_ - begin_ms_, 1e-9);
    width_ = std::min(kMostWidth, kStepWidth * length / std::max(first.end_ms - first.begin_ms, 1e-9));
    scale_ = width_ / length;
  }

  std::string html() const {
    const int height = kRowsTop + kRowHeight * static_cast<int>(ranks_);
    std::string names;
    std::string shapes = step_numbers(height);
    int y = kRowsTop;
    for (const RankTimeline& rank : drawn()) {
      names += fmt::format("<text x=\"0\" y=\"{}\">rank {}</text>", y + 16, rank.rank);
      shapes += row(rank, y);
      y += kRowHeight;
    }
    return fmt::format(
        "<div class=\"timeline\"><svg class=\"names\" width=\"72\" height=\"{0}\" aria-hidden=\"true\">{1}"
        "</svg><div class=\"scroll\"><svg width=\"{2:.0f}\" height=\"{0}\" role=\"img\" aria-label=\"What each rank "
        "does in steps {3} to {4}; the figures are in the table\">{5}</svg></div></div>\n",
        height, names, width_, job_.steps.front(), job_.steps[steps_ - 1], shapes);
  }

  std::string caption() const {
    std::string text = fmt::format("Steps {} to {}", job_.steps.front(), job_.steps[steps_ - 1]);
    if (steps_ < job_.steps.size()) {
      text += fmt::format(" of {} that were recorded", job_.steps.size());
    }
    if (ranks_ < job_.timelines.size()) {
      text += fmt::format("; the first {} of {} ranks", ranks_, job_.timelines.size());
    }
    return text + fmt::format(", {} in all, with the cost of {}.", duration(end_ms_ - begin_ms_), cost_of(job_));
  }

 private:
  std::span<const RankTimeline> drawn() const { return std::span(job_.timelines).first(ranks_); }

  double at(double ms) const { return (ms - begin_ms_) * scale_; }

  std::string step_numbers(int height) const {
    std::string text;
    for (std::size_t i = 0; i < steps_; ++i) {
      const double x = at(job_.timelines.front().steps[i].begin_ms);
      text += fmt::format(
          "<line class=\"step\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"{1}\"/><text x=\"{2:.1f}\" y=\"13\">step "
          "{3}</text>",
          x, height, x + 5, job_.steps[i]);
    }
    return text;
  }

  std::string rectangles(const std::vector<TimeSpan>& spans, std::string_view kind, std::string_view what, int y,
                         int height) const {
    std::string text;
    for (const TimeSpan& span : spans) {
      if (span.begin_ms >= end_ms_) {
        break;
      }
      text += fmt::format(
          "<rect class=\"{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"><title>{}, {}</title></rect>", kind,
          at(span.begin_ms), y, std::max(0.4, (span.end_ms - span.begin_ms) * scale_), height, what,
          duration(span.end_ms - span.begin_ms));
    }
    return text;
  }

  std::string row(const RankTimeline& rank, int y) const {
    return rectangles(rank.steps, "work", fmt::format("rank {}: a step", rank.rank), y + 3, 16) +
           rectangles(rank.network, "network", "waits for communication", y + 3, 16) +
           rectangles(rank.waiting, "rank", "waits for another rank", y + 3, 16) +
           rectangles(rank.hidden, "hidden", "hidden communication", y + 21, 4);
  }

  const JobReport& job_;
  std::size_t steps_;
  std::size_t ranks_;
  double begin_ms_;
  double end_ms_;
  double width_ = 0;
  double scale_ = 0;
};

std::string timeline_html(const JobReport& job) {
  if (job.timelines.empty()) {
    return "<p>The ranks recorded no step that all of them took: they cannot be compared.</p>\n";
  }
  const bool all_known = std::ranges::all_of(
      job.ranks, [](const RecordedRankFigures& rank) { return rank.communication && rank.communication->waiting_ms; });
  const Picture picture(job);
  return "<h2>Ranks side by side</h2>\n<p class=\"faint\">" + picture.caption() + "</p>\n" + picture.html() +
         "<p class=\"faint\"><span class=\"key\">own work</span><span class=\"key of-network\">waits for communication"
         "</span><span class=\"key of-rank\">waits for another rank to call it</span><span class=\"key of-hidden\">"
         "hidden communication</span></p>\n" +
         (all_known
              ? ""
              : "<p class=\"faint\">Of some calls it is not known when the last rank made them: all of their time "
                "counts as waiting for communication.</p>\n");
}

std::string ranks_html(const JobReport& job) {
  std::string rows;
  for (const RecordedRankFigures& rank : job.ranks) {
    rows += fmt::format("<tr><td>{}</td><td>{}</td>{}{}", rank.rank, escaped(rank.machine),
                        time_cell(rank.bare_step_ms), time_cell(rank.data_loading_ms));
    if (const auto& one = rank.communication) {
      rows += time_cell(one->step_ms) + time_cell(one->step_ms - one->exposed_ms) + time_cell(one->exposed_ms) +
              time_cell(one->waiting_ms) + time_cell(one->hidden_ms);
    } else {
      rows += figure_cell("–") + figure_cell("–") + figure_cell("–") + figure_cell("–") + figure_cell("–");
    }
    rows += "</tr>\n";
  }
  return "<h2>Ranks</h2>\n<p class=\"faint\">The bare step and data loading are of steps with nothing attached; the "
         "others are means of recorded steps, which take longer.</p>\n" +
         table_html("Rank|Machine|Bare step#|Data loading#|Recorded step#|Own work#|Exposed#|Waits for ranks#|Hidden#",
                    rows);
}

// ---- lines
// ------------------------------------------------------------------------------------------------------------

/// What a line costs a rank.
struct LineRow {
  analysis::Location line;
  std::optional<double> computing_ms;
  const analysis::CommunicationLine* communication = nullptr;

  double ms() const { return computing_ms.value_or(0) + (communication == nullptr ? 0 : communication->exposed_ms); }
};

std::vector<LineRow> line_rows(const RecordedRankFigures& rank) {
  std::vector<LineRow> rows;
  for (const analysis::LineTime& line : rank.computing) {
    rows.push_back({line.line, line.ms});
  }
  for (const analysis::CommunicationLine& line : rank.communication->lines) {
    auto row = std::ranges::find_if(
        rows, [&](const LineRow& one) { return one.line.file == line.line.file && one.line.line == line.line.line; });
    if (row == rows.end()) {
      row = rows.insert(row, {line.line, {}});
    }
    row->communication = &line;
  }
  std::ranges::stable_sort(rows, std::greater{}, &LineRow::ms);
  if (rows.size() > kMostLinesShown) {
    rows.resize(kMostLinesShown);
  }
  return rows;
}

std::string line_html(int rank, const LineRow& row) {
  const std::string place =
      row.line.file.empty() ? "no line of yours" : fmt::format("{}:{}", escaped(row.line.file), row.line.line);
  std::string html = fmt::format("<tr><td>{}</td><td><code>{}</code></td>{}", rank, place, time_cell(row.computing_ms));
  if (row.communication == nullptr) {
    return html + figure_cell("") + figure_cell("") + figure_cell("") + "</tr>\n";
  }
  return html + time_cell(row.communication->exposed_ms) + time_cell(row.communication->waiting_ms) +
         time_cell(row.communication->hidden_ms) + "</tr>\n";
}

std::string lines_html(const JobReport& job) {
  std::string rows;
  for (std::size_t i = 0; i < std::min(kMostRanksDrawn, job.ranks.size()); ++i) {
    if (!job.ranks[i].communication.has_value()) {
      return "";
    }
    for (const LineRow& row : line_rows(job.ranks[i])) {
      rows += line_html(job.ranks[i].rank, row);
    }
  }
  if (rows.empty()) {
    return "";
  }
  return fmt::format(
             "<h2>Lines</h2>\n<p class=\"faint\">Means of a recorded step, at most {} lines of each rank{}.</p>\n",
             kMostLinesShown, job.replay.has_value() ? "" : "; what they compute is known of jobs that are replayed") +
         table_html("Rank|Line|Computing#|Exposed#|Waits for ranks#|Hidden#", rows);
}

// ---- what is under the figures
// ----------------------------------------------------------------------------------------

std::string clocks_html(const JobReport& job) {
  std::string rows;
  for (const analysis::MachineClock& clock : job.clocks) {
    rows += fmt::format(
        "<tr><td>{}</td>{}{}{}</tr>\n", escaped(clock.machine), figure_cell(fmt::format("{:.6f} s", clock.offset_s)),
        figure_cell(fmt::format("{:.6f} to {:.6f} s", clock.low_s, clock.high_s)), figure_cell(drift_text(clock)));
  }
  return rows.empty() ? "" : "<h2>Clocks</h2>\n" + table_html("Machine|Offset#|True offset within#|Drift#", rows);
}

std::string replay_html(const JobReport& job) {
  if (!job.replay.has_value()) {
    return "";
  }
  const analysis::JobReplay& replay = *job.replay;
  std::string rows;
  for (std::size_t i = 0; i < std::min(kMostLinesShown, replay.path.size()); ++i) {
    const analysis::PathPart& part = replay.path[i];
    rows += fmt::format("<tr><td>{}</td>{}{}</tr>\n", escaped(path_part_text(part)), figure_cell(duration(part.ms)),
                        figure_cell(share(part.share)));
  }
  return fmt::format(
             "<h2>Critical path over all ranks</h2>\n<p class=\"faint\">Of a replayed step; replayed {}, recorded {} "
             "({:+.1f} %).</p>\n",
             duration(replay.replayed_ms), duration(replay.recorded_ms),
             100 * (replay.replayed_ms / replay.recorded_ms - 1)) +
         table_html("What|Time#|Share#", rows);
}

std::string changes_html(const JobReport& job) {
  std::string rows;
  std::string notes;
  for (const analysis::ChangedStep& one : job.changes) {
    rows += fmt::format("<tr><td><code>{}</code></td>{}{}</tr>\n", escaped(one.change),
                        figure_cell(fmt::format("{} ({} to {})", duration(one.step_ms.value), duration(one.step_ms.low),
                                                duration(one.step_ms.high))),
                        figure_cell(fmt::format("{:.2f}× ({:.2f} to {:.2f})", one.speed_up.value, one.speed_up.low,
                                                one.speed_up.high)));
    for (const std::string& note : one.notes) {
      notes += "<p class=\"faint\">" + escaped(note) + "</p>\n";
    }
  }
  return rows.empty() ? ""
                      : "<h2>With changes, predicted</h2>\n<p class=\"faint\">With 95 % intervals and the cost of "
                        "recording.</p>\n" +
                            table_html("Change|Step#|Speed-up#", rows) + notes;
}

}  // namespace

std::string html_job_report(const JobReport& job) {
  std::string html = page_begin("Ridgeline: job", kJobStyle);
  html += "<h1>" + escaped(job.command) + "</h1>\n";
  html += warnings_html(job.warnings);
  if (job.slower.has_value()) {
    html += "<p>" + escaped(slower_rank_text(*job.slower)) + "</p>\n";
  }
  html += timeline_html(job) + ranks_html(job) + lines_html(job) + replay_html(job) + changes_html(job);
  return html + clocks_html(job) + std::string(kPageEnd);
}

}  // namespace ridgeline::report
