#include "app/traces/trace_profile.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "analysis/build_profile.h"
#include "app/profiling/listed_work.h"
#include "app/profiling/ran_sources.h"
#include "step/changes/step_schedule.h"
#include "store/fingerprint.h"

namespace ridgeline::app {

namespace {

/// When the trace was written; 1970, before any source was, where that is unknown.
store::Moment time_of(const std::string& trace) {
  std::error_code problem;
  const auto written = std::filesystem::last_write_time(trace, problem);
  store::Moment moment;
  moment.system =
      problem
          ? std::chrono::system_clock::time_point{}
          : std::chrono::time_point_cast<std::chrono::system_clock::duration>(std::chrono::file_clock::to_sys(written));
  return moment;
}

/// The texts of the lines, from files that have not changed since the trace was written. Only of Python files in the
/// project: a trace may name any file of this machine.
void add_texts(analysis::Profile& profile, const std::string& trace) {
  const std::string root = profile.project_root + "/";
  std::vector<std::string> paths = own_files(profile);
  std::erase_if(paths, [&](const std::string& path) {
    return profile.project_root.empty() || !path.starts_with(root) || !path.ends_with(".py") ||
           std::filesystem::path(path).lexically_normal() != path;
  });
  add_line_texts(profile, ran_sources(paths, {}, time_of(trace)).texts);
}

}  // namespace

Answer<TraceProfile> profile_of_trace(const TraceOptions& options) {
  auto input = import_trace(options);
  if (!input) {
    return input.error();
  }
  analysis::Profile profile = analysis::build_profile(*input);
  const auto graph = step::add_schedule(profile, *input);
  if (graph.has_value()) {
    add_recorded_work(profile, *graph, input->recorded_keys);
  }
  add_texts(profile, absolute_path(options.trace));
  return TraceProfile{std::move(profile), {std::move(input->runs.front()), std::move(input->scope)}};
}

}  // namespace ridgeline::app
