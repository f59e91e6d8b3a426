#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "report/rendered_job.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {

namespace {

constexpr std::size_t kMostShares = 10;

std::string cell(const std::optional<double>& ms) { return ms.has_value() ? duration(*ms) : "–"; }

std::string ranks_text(const std::vector<analysis::RecordedRankFigures>& ranks) {
  std::string text = fmt::format("  {:<6}{:>12}{:>14}  {}\n", "rank", "bare step", "data loading", "machine");
  for (const analysis::RecordedRankFigures& rank : ranks) {
    text += fmt::format("  {:<6}{:>12}{:>14}  {}\n", rank.rank, cell(rank.bare_step_ms), cell(rank.data_loading_ms),
                        printable(rank.machine));
  }
  return text;
}

/// What was added to each clock, and between which ends the truth is.
std::string clocks_text(const analysis::JobReport& job) {
  if (job.clocks.empty()) {
    return "";
  }
  std::string text =
      fmt::format("\nClocks, by that of {}\n  {:<24}{:>18}{:>26}{:>12}\n", printable(job.ranks.front().machine),
                  "machine", "offset", "true offset within", "drift");
  for (const analysis::MachineClock& clock : job.clocks) {
    text += fmt::format("  {:<24}{:>16.6f} s{:>26}{:>12}\n", printable(clock.machine), clock.offset_s,
                        fmt::format("-{:.1f} to +{:.1f} us", 1e6 * (clock.offset_s - clock.low_s),
                                    1e6 * (clock.high_s - clock.offset_s)),
                        drift_text(clock));
  }
  return text + "  What a rank waits for ranks of other machines is uncertain by as much.\n";
}

std::string figures_text(const analysis::JobReport& job) {
  std::string text = fmt::format(
      "\nCommunication in steps {} to {}, with the cost of {}\n"
      "  {:<6}{:>12}{:>12}{:>14}{:>16}{:>12}\n",
      job.steps.front(), job.steps.back(), cost_of(job), "rank", "step", "own work", "comm exposed", "waits for ranks",
      "hidden");
  for (const analysis::RecordedRankFigures& rank : job.ranks) {
    if (!rank.communication.has_value()) {
      continue;
    }
    const analysis::Communication& one = *rank.communication;
    text += fmt::format("  {:<6}{:>12}{:>12}{:>14}{:>16}{:>12}\n", one.rank, duration(one.step_ms),
                        duration(one.step_ms - one.exposed_ms), duration(one.exposed_ms), cell(one.waiting_ms),
                        duration(one.hidden_ms));
  }
  return text;
}

std::string lines_text(const analysis::Communication& rank) {
  std::string text = fmt::format("\nCommunication by line, rank {}\n  {:<34}{:>12}{:>16}{:>12}\n", rank.rank, "",
                                 "exposed", "waits for ranks", "hidden");
  for (const analysis::CommunicationLine& line : rank.lines) {
    const std::string place =
        line.line.file.empty() ? "(no line of yours)" : fmt::format("{}:{}", printable(line.line.file), line.line.line);
    text += fmt::format("  {:<34}{:>12}{:>16}{:>12}\n", place, duration(line.exposed_ms), cell(line.waiting_ms),
                        duration(line.hidden_ms));
  }
  return text;
}

/// `times`: whose they are.
std::string changes_text(const std::vector<analysis::ChangedStep>& changes, std::string_view times) {
  if (changes.empty()) {
    return "";
  }
  std::string text = fmt::format(
      "\nReplayed with a change: a prediction with its 95 % interval, {}\n"
      "  {:<42}{:>34}  {}\n",
      times, "change", "step", "speed-up");
  std::vector<std::string> notes;
  for (const analysis::ChangedStep& one : changes) {
    text += fmt::format("  {:<42}{:>34}  {:.2f}x ({:.2f} to {:.2f})\n", printable(one.change),
                        duration_interval(one.step_ms), one.speed_up.value, one.speed_up.low, one.speed_up.high);
    for (const std::string& note : one.notes) {
      if (std::ranges::find(notes, note) == notes.end()) {
        notes.push_back(note);
      }
    }
  }
  for (const std::string& note : notes) {
    text += "  " + note + "\n";
  }
  return text + "  Not modelled: cores that ranks and their communication share.\n";
}

std::string path_text(const analysis::JobReplay& replay) {
  std::string text = "\nCritical path over all ranks, of a replayed step\n";
  for (std::size_t i = 0; i < std::min(kMostShares, replay.path.size()); ++i) {
    const analysis::PathPart& part = replay.path[i];
    text += fmt::format("  {:<42}{:>12}{:>8.1f} %\n", path_part_text(part), duration(part.ms), 100 * part.share);
  }
  return text;
}

std::string replay_text(const analysis::JobReplay& replay) {
  return fmt::format("\nReplay of steps {} to {}, with the cost of recording\n  {}\n", replay.first_step,
                     replay.last_step, replayed_text(replay)) +
         path_text(replay);
}

}  // namespace

std::string communication_text(const analysis::JobReport& job, std::size_t lines_of) {
  if (job.steps.empty()) {
    return "\nThe ranks recorded no step that all of them took: they cannot be compared.\n";
  }
  std::string text = figures_text(job);
  if (job.ranks[lines_of].communication.has_value()) {
    text += lines_text(*job.ranks[lines_of].communication);
  }
  if (job.slower.has_value()) {
    text += "\n" + slower_rank_text(*job.slower) + "\n";
  }
  return text;
}

std::string text_job_report(const analysis::JobReport& job, std::size_t lines_of, ShownWarnings warnings) {
  std::string text =
      printable(job.command) + "\n\n" + ranks_text(job.ranks) + clocks_text(job) + communication_text(job, lines_of);
  if (job.replay.has_value()) {
    text += replay_text(*job.replay) + changes_text(job.changes, "with the cost of recording");
  }
  for (const std::string& warning : shown_warnings(job.warnings, warnings)) {
    text += "! " + warning + "\n";
  }
  return text;
}

std::string text_replayed_traces(const analysis::JobReplay& replay, std::size_t ranks,
                                 const std::vector<analysis::ChangedStep>& changes,
                                 const std::optional<analysis::SlowerRank>& slower,
                                 const std::vector<std::string>& warnings, ShownWarnings shown) {
  std::string text = fmt::format(
      "Execution traces of {} {}\n\nReplay of {}\n  {} for a step, of the durations of the nodes\n", ranks,
      ranks == 1 ? "rank" : "ranks",
      replay.first_step == replay.last_step ? "all of them"
                                            : fmt::format("steps {} to {}", replay.first_step, replay.last_step),
      duration(replay.replayed_ms));
  text += path_text(replay) + changes_text(changes, "of the durations of the nodes");
  if (slower.has_value()) {
    text += fmt::format("\n{} What the job takes with it like the others: --change rank-like-others:{}\n",
                        slower_rank_text(*slower), slower->rank);
  }
  for (const std::string& warning : shown_warnings(warnings, shown)) {
    text += "! " + warning + "\n";
  }
  return text;
}

std::string drift_text(const analysis::MachineClock& clock) {
  return clock.drift_ppm ? fmt::format("{:.1f} ppm", *clock.drift_ppm) : "unknown";
}

std::string cost_of(const analysis::JobReport& job) {
  return job.profiler.empty() ? "recording" : printable(job.profiler);
}

std::string path_part_text(const analysis::PathPart& part) {
  if (!part.collective.empty()) {
    return part.bucket.has_value() ? fmt::format("{} of bucket {}", part.collective, *part.bucket) : part.collective;
  }
  if (!part.rank.has_value()) {
    return "messages";
  }
  return part.line.file.empty() ? fmt::format("rank {}, no line of yours", *part.rank)
                                : fmt::format("rank {}, {}:{}", *part.rank, printable(part.line.file), part.line.line);
}

std::string replayed_text(const analysis::JobReplay& replay) {
  return fmt::format("replayed {}, recorded {} ({:+.1f} %)", duration(replay.replayed_ms), duration(replay.recorded_ms),
                     100 * (replay.replayed_ms / replay.recorded_ms - 1));
}

std::string slower_rank_text(const analysis::SlowerRank& slower) {
  const std::string text =
      slower.slower < 1
          ? fmt::format("Rank {} is {:.0f} % slower than the others in its own work", slower.rank, 100 * slower.slower)
          : fmt::format("Rank {} takes {:.1f} times as long as the others for its own work", slower.rank,
                        1 + slower.slower);
  if (!slower.lines_known) {
    return text + ".";
  }
  if (slower.line.file.empty()) {
    return text + "; no single line makes up half of that.";
  }
  return fmt::format("{}: {}{}:{}.", text, slower.is_data_loading ? "data loading, " : "", printable(slower.line.file),
                     slower.line.line);
}

}  // namespace ridgeline::report
