#include "ingest/nsys_report.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ingest/found_steps.h"
#include "ingest/import_error.h"
#include "ingest/nsys_backward.h"
#include "ingest/nsys_rows.h"
#include "ingest/nsys_text.h"

namespace ridgeline::ingest {

namespace {

using store::ForeignTables;

constexpr std::size_t kMostNamed = 8;  ///< processes that a sentence names

/// The part of a report that is of one process.
struct Part {
  std::vector<std::uint32_t> events;
  std::vector<std::uint32_t> ranges;  ///< of users
  std::vector<std::uint32_t> activities;
  StepSearch search;
};

class Reader {
 public:
  Reader(NsysRows rows, const NsysOptions& options) : rows_(std::move(rows)), from_(rows_.trace), options_(options) {}

  Trace run() {
    divide();
    const std::uint64_t process = chosen();
    Part& part = parts_.at(process);
    if (parts_.size() > 1 || options_.process.has_value()) {
      note_choice(process);
    }
    check_steps(from_, part.search, options_.boundary);
    std::optional<FoundSteps> steps = std::move(part.search.steps);
    copy(part, steps);
    to_.why_no_steps = part.search.why_none;
    if (steps.has_value()) {
      steps->thread = thread_of(steps->thread);
      add_steps(to_, *steps);
    }
    if (const std::optional<std::uint32_t> main = main_thread(steps)) {
      to_.main_thread = *main;
      place_waits(*main);
      add_backward(to_, *main);
    }
    return std::move(to_);
  }

 private:
  // ---- processes ---------------------------------------------------------------------------------------------------

  /// A process that did nothing on a device counts only when no process did anything there.
  void divide() {
    std::map<std::uint64_t, Part> all;
    std::vector<Part*> of_thread;
    for (const std::uint64_t thread : from_.threads) {
      of_thread.push_back(&all[process_of(thread)]);
    }
    for (std::uint32_t i = 0; i < from_.events.size(); ++i) {
      const TraceEvent& event = from_.events[i];
      Part& part = *of_thread[event.thread];
      part.events.push_back(i);
      if (is_on_device(event.kind)) {
        part.activities.push_back(i);
      }
    }
    for (const std::uint32_t range : rows_.user_ranges) {
      of_thread[from_.events[range].thread]->ranges.push_back(range);
    }
    const bool on_device = std::ranges::any_of(all, [](const auto& entry) { return !entry.second.activities.empty(); });
    for (auto& [process, part] : all) {
      if (!part.events.empty() && (!on_device || !part.activities.empty())) {
        parts_.emplace(process, std::move(part));
      }
    }
    search_steps();
    if (parts_.empty()) {
      throw ImportError(
          "The report has no events that an import reads: nothing ran while Nsight Systems recorded, or neither CUDA "
          "nor NVTX was traced (nsys profile --trace cuda,nvtx).");
    }
  }

  void search_steps() {
    for (auto& [process, part] : parts_) {
      const std::set<std::uint32_t> of_users(part.ranges.begin(), part.ranges.end());
      StepEvents events = step_events(from_, part.events);
      std::erase_if(events.ranges, [&](std::uint32_t index) { return !of_users.contains(index); });
      part.search = find_steps(from_, events, options_.boundary);
    }
  }

  /// The one with most steps; of these the one with most activities, then with the lowest number.
  std::uint64_t chosen() const {
    if (options_.process.has_value()) {
      const auto found =
          std::ranges::find_if(parts_, [&](const auto& entry) { return pid_of(entry.first) == *options_.process; });
      if (found == parts_.end()) {
        throw ImportError(fmt::format("The report has no process {}. It has {}.", *options_.process, processes()));
      }
      return found->first;
    }
    const auto key = [](const auto& entry) {
      const Part& part = entry.second;
      return std::pair(part.search.steps ? part.search.steps->spans.size() : 0, part.activities.size());
    };
    return std::ranges::max_element(parts_, {}, key)->first;
  }

  std::string name_of(std::uint64_t process) const {
    const auto name = rows_.process_names.find(process);
    return name == rows_.process_names.end() || name->second.empty()
               ? std::to_string(pid_of(process))
               : fmt::format("{} ({})", pid_of(process), name->second.substr(0, 64));
  }

  std::string processes() const {
    std::string text;
    std::size_t named = 0;
    for (const auto& [process, part] : parts_) {
      if (++named > kMostNamed) {
        return text + fmt::format(" and {} more", parts_.size() - kMostNamed);
      }
      text += (named > 1 ? ", " : "") + name_of(process);
    }
    return text;
  }

  void note_choice(std::uint64_t process) {
    if (parts_.size() > 1) {
      to_.notes.push_back(fmt::format(
          "The report has {} processes: {}. This is process {}{}. Use --process to choose another.", parts_.size(),
          processes(), pid_of(process), options_.process.has_value() ? "" : ", which has most steps"));
    }
  }

  // ---- the chosen process ------------------------------------------------------------------------------------------

  /// Moves its events to the result, without the ranges that mark the steps or hold whole ones.
  void copy(const Part& part, const std::optional<FoundSteps>& steps) {
    to_.source = from_.source;
    to_.losses = from_.losses;
    to_.damage = from_.damage;
    to_.whole_graphs = from_.whole_graphs;
    to_.strings = std::move(from_.strings);
    to_.devices = std::move(from_.devices);
    thread_.assign(from_.threads.size(), kNoNumber);
    std::vector<bool> left_out(from_.events.size());
    if (steps.has_value()) {
      for (const std::uint32_t range : steps->ranges) {
        left_out[range] = true;
      }
    }
    const std::unordered_map<std::uint32_t, std::uint32_t> names = uncounted(part, steps);
    to_.events.reserve(part.events.size());
    for (const std::uint32_t index : part.events) {
      TraceEvent event = from_.events[index];
      if (left_out[index] || (steps.has_value() && holds_a_step(event, *steps))) {
        continue;
      }
      if (const auto name = names.find(event.name); name != names.end() && event.kind == EventKind::kAnnotation) {
        event.name = name->second;
      }
      event.thread = thread_of(event.thread);
      to_.events.push_back(event);
    }
  }

  std::uint32_t thread_of(std::uint32_t thread) {
    if (thread_[thread] == kNoNumber) {
      thread_[thread] = static_cast<std::uint32_t>(to_.threads.size());
      to_.threads.push_back(from_.threads[thread]);
    }
    return thread_[thread];
  }

  static bool holds_a_step(const TraceEvent& event, const FoundSteps& steps) {
    if (event.kind != EventKind::kAnnotation || event.thread != steps.thread) {
      return false;
    }
    const auto step =
        std::ranges::lower_bound(steps.spans, event.start, {}, [](const auto& span) { return span.first; });
    return step != steps.spans.end() && step->second <= event.end;
  }

  /// Ranges that count the steps get the name that they have in all steps: "data copy in 12" is "data copy in". Not
  /// those that are there in each step ("layer 3").
  std::unordered_map<std::uint32_t, std::uint32_t> uncounted(const Part& part, const std::optional<FoundSteps>& steps) {
    std::unordered_map<std::uint32_t, std::uint32_t> names;
    const std::size_t count = steps.has_value() ? steps->spans.size() : 0;
    std::unordered_map<std::uint32_t, std::size_t> times;
    std::unordered_map<std::string, std::pair<std::size_t, std::size_t>> families;  // ranges, and different texts
    for (const std::uint32_t range : part.ranges) {
      const std::uint32_t name = from_.events[range].name;
      const bool is_new = ++times[name] == 1;
      if (has_counter(to_.strings[name])) {
        auto& [ranges, texts] = families[range_family(to_.strings[name])];
        ++ranges;
        texts += is_new ? 1 : 0;
      }
    }
    for (const auto& [name, unused] : times) {
      const std::string text = to_.strings[name];
      const auto family = has_counter(text) ? families.find(range_family(text)) : families.end();
      if (family != families.end() && 2 * family->second.first >= count &&
          2 * family->second.first < count * family->second.second && family->second.second > 1) {
        names.emplace(name, string(without_counter(text)));
      }
    }
    return names;
  }

  /// Linear in the names that were added: few.
  std::uint32_t string(std::string_view text) {
    const auto begin = to_.strings.begin() + static_cast<std::ptrdiff_t>(first_added_.value_or(to_.strings.size()));
    const auto found = std::find(begin, to_.strings.end(), text);
    first_added_ = first_added_.value_or(to_.strings.size());
    if (found != to_.strings.end()) {
      return static_cast<std::uint32_t>(found - to_.strings.begin());
    }
    to_.strings.emplace_back(text);
    return static_cast<std::uint32_t>(to_.strings.size() - 1);
  }

  /// The thread of the steps, where they were found; else the one with most calls.
  std::optional<std::uint32_t> main_thread(const std::optional<FoundSteps>& steps) {
    if (steps.has_value()) {
      return steps->thread;
    }
    std::vector<std::size_t> calls(to_.threads.size());
    for (const TraceEvent& event : to_.events) {
      calls[event.thread] += event.kind == EventKind::kCall ? 1 : 0;
    }
    const auto most = std::ranges::max_element(calls);
    return most == calls.end() || *most == 0 ? std::nullopt
                                             : std::optional(static_cast<std::uint32_t>(most - calls.begin()));
  }

  /// Waits of which only the process is known are taken to be the main thread's.
  void place_waits(std::uint32_t main) {
    for (TraceEvent& event : to_.events) {
      if (event.kind == EventKind::kCall && to_.threads[event.thread] == process_of(to_.threads[event.thread])) {
        event.thread = main;
      }
    }
  }

  NsysRows rows_;
  Trace& from_;
  const NsysOptions& options_;
  std::map<std::uint64_t, Part> parts_;  ///< by process
  Trace to_;
  std::vector<std::uint32_t> thread_;  ///< of the result, by thread of the report
  std::optional<std::size_t> first_added_;
};

/// Every table that is read may be missing, but not all.
void check_origin(const ForeignTables& tables) {
  static constexpr std::array<std::string_view, 6> kRead = {
      "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
      "CUPTI_ACTIVITY_KIND_MEMCPY",  "CUPTI_ACTIVITY_KIND_MEMSET", "NVTX_EVENTS"};
  static constexpr std::array<std::string_view, 4> kOther = {"META_DATA_EXPORT", "EXPORT_META_DATA", "TARGET_INFO_GPU",
                                                             "ENUM_NSYS_EVENT_TYPE"};
  const auto has = [&](std::string_view table) { return tables.has(table); };
  if (std::ranges::any_of(kRead, has)) {
    return;
  }
  if (std::ranges::any_of(kOther, has)) {
    throw ImportError(
        "The report has neither CUDA's activities nor NVTX ranges: record them with nsys profile --trace cuda,nvtx, "
        "and export with nsys export --type sqlite.");
  }
  throw ImportError(
      "The SQLite file is no report of Nsight Systems: it has none of its tables, such as CUPTI_ACTIVITY_KIND_KERNEL "
      "and NVTX_EVENTS. A report is exported with nsys export --type sqlite report.nsys-rep.");
}

}  // namespace

Trace read_nsys(ForeignTables& tables, const NsysOptions& options, const TraceLimits& limits) {
  check_origin(tables);
  try {
    return Reader(read_nsys_rows(tables, limits), options).run();
  } catch (const store::ForeignTablesError& problem) {
    throw ImportError(problem.what());
  }
}

bool is_unexported_report(std::string_view path, std::string_view first_bytes) {
  const bool named = path.ends_with(".nsys-rep") || path.ends_with(".qdrep") || path.ends_with(".qdstrm");
  return named && !store::ForeignTables::is_sqlite(first_bytes);
}

}  // namespace ridgeline::ingest
