#include "report/comparison_rows.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "report/rendered_comparison.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

using analysis::LineChange;
using analysis::MemoryChange;
using analysis::Outcome;
using analysis::TimeChange;

std::string slower(double change) {
  return fmt::format("{} {}", share(std::abs(change)), change > 0 ? "slower" : "faster");
}

std::string more(double difference) {
  return fmt::format("{} {}", bytes(std::abs(difference)), difference > 0 ? "more" : "less");
}

bool is_one_sided(const TimeChange& time) { return time.outcome == Outcome::kDiffers && !time.bounds; }

std::string place_text(const analysis::Location& place) { return fmt::format("{}:{}", place.file, place.line); }

std::string line_name(const LineChange& line) {
  switch (line.presence) {
    case analysis::Presence::kAdded:
      return place_text(line.after) + " added";
    case analysis::Presence::kRemoved:
      return place_text(line.before) + " removed";
    case analysis::Presence::kMoved:
      return place_text(line.after) + " moved from " +
             (line.before.file == line.after.file ? fmt::format("line {}", line.before.line) : place_text(line.before));
    case analysis::Presence::kEdited:
      return place_text(line.after) + " edited";
    case analysis::Presence::kSame:
      break;
  }
  return place_text(line.after);
}

class RowBuilder {
 public:
  void add(const std::string& name, const std::string& code, const std::optional<TimeChange>& time,
           const std::optional<MemoryChange>& memory) {
    if (time) {
      add_time(name, code, *time);
    }
    if (memory && memory->outcome == Outcome::kDiffers) {
      rows_.memory.push_back({name, code, bytes(static_cast<double>(memory->before_bytes)),
                              bytes(static_cast<double>(memory->after_bytes)), memory_change_text(*memory),
                              memory->after_bytes > memory->before_bytes});
    }
  }

  ComparisonRows take() { return std::move(rows_); }

 private:
  void add_time(const std::string& name, const std::string& code, const TimeChange& time) {
    const auto cell = [](double ms) { return ms > 0 ? duration(ms) : "–"; };
    if (time.outcome == Outcome::kDiffers) {
      rows_.time.push_back({name, code, cell(time.before_ms), cell(time.after_ms), time_change_text(time),
                            time.after_ms > time.before_ms});
    } else if (time.outcome == Outcome::kUndecided) {
      rows_.undecided.push_back(name);
    } else {
      ++rows_.without_difference;
      rows_.without_difference_beyond =
          std::max({rows_.without_difference_beyond, -time.bounds->low, time.bounds->high});
    }
  }

  ComparisonRows rows_;
};

}  // namespace

std::string time_change_text(const TimeChange& time) {
  if (is_one_sided(time)) {
    return time.before_ms > 0 ? "gone" : "new";
  }
  if (!time.bounds) {
    return "undecided (too little was measured, or the machine was busy)";
  }
  const analysis::Bounds& bounds = *time.bounds;
  switch (time.outcome) {
    case Outcome::kDiffers: {
      const double least = std::min(std::abs(bounds.low), std::abs(bounds.high));
      const double most = std::max(std::abs(bounds.low), std::abs(bounds.high));
      return fmt::format("{} ({} to {})", slower(time.change), share(least), share(most));
    }
    case Outcome::kNoDifference:
      return "no difference beyond " + share(std::max(-bounds.low, bounds.high));
    case Outcome::kUndecided:
      break;
  }
  return fmt::format("undecided ({} to {})", slower(bounds.low), slower(bounds.high));
}

std::string memory_change_text(const MemoryChange& memory) {
  switch (memory.outcome) {
    case Outcome::kDiffers:
      return more(static_cast<double>(memory.after_bytes) - static_cast<double>(memory.before_bytes));
    case Outcome::kNoDifference: {
      const double most = std::max(-memory.bounds.low, memory.bounds.high);
      return most > 0 ? "no difference beyond " + bytes(most) : "no difference";
    }
    case Outcome::kUndecided:
      break;
  }
  return fmt::format("undecided ({} to {})", more(memory.bounds.low), more(memory.bounds.high));
}

std::string energies_text(const analysis::EnergyChange& change) {
  return energy(change.before_joules) + " → " + energy(change.after_joules);
}

std::string energy_change_text(const analysis::EnergyChange& change) {
  const auto more_joules = [](double joules) { return energy(std::abs(joules)) + (joules > 0 ? " more" : " less"); };
  const std::string span = more_joules(change.bounds.low) + " to " + more_joules(change.bounds.high);
  switch (change.outcome) {
    case Outcome::kDiffers:
      return more_joules(change.after_joules - change.before_joules) + " (" + span + ")";
    case Outcome::kNoDifference:
      return "no difference beyond " + energy(std::max(-change.bounds.low, change.bounds.high));
    case Outcome::kUndecided:
      break;
  }
  return "undecided (" + span + ")";
}

std::string times_text(const TimeChange& time) { return duration(time.before_ms) + " → " + duration(time.after_ms); }

std::string subject_text(const analysis::Subject& subject) { return subject.name + ", " + plural(subject.runs, "run"); }

ComparisonRows comparison_rows(const analysis::Comparison& comparison) {
  RowBuilder rows;
  for (const auto* changes : {&comparison.phases, &comparison.categories, &comparison.modules}) {
    for (const analysis::Change& change : *changes) {
      rows.add(change.name, "", change.time, change.memory);
    }
  }
  for (const LineChange& line : comparison.lines) {
    rows.add(line_name(line), line.after_text.empty() ? line.before_text : line.after_text, line.time, line.memory);
  }
  return rows.take();
}

}  // namespace ridgeline::report
