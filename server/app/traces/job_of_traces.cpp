#include "app/traces/job_of_traces.h"

#include <regex>
#include <utility>

#include "app/traces/import_file.h"
#include "base/path.h"
#include "jobs/replay/traced_job.h"

namespace ridgeline::app {

namespace {

/// The machine in the name that torch.profiler.tensorboard_trace_handler() gives a file: "HOST_PID.TIME.pt.trace.json".
std::string host_in(const std::string& file) {
  static const std::regex kName(R"(([^/]{1,255})_\d+\.\d+\.pt\.trace\.json(\.gz)?)");
  const std::string name(base::file_name(file));
  std::smatch parts;
  return name.size() < 512 && std::regex_match(name, parts, kName) ? parts[1].str() : std::string();
}

}  // namespace

Answer<jobs::Job> job_of_traces(const std::vector<std::string>& files) {
  std::vector<jobs::RankTrace> traces;
  for (const std::string& file : files) {
    auto rank = import_rank({.trace = file});
    if (!rank) {
      return rank.error();
    }
    traces.push_back({file, host_in(file), std::move(rank->traced), std::move(rank->input.runs.front().recording),
                      rank->input.scope});
  }
  auto traced = jobs::traced_job(std::move(traces));
  if (!traced) {
    return refusal(Cause::kInput, traced.error());
  }
  jobs::Job job;
  job.command = files.size() == 1 ? "a trace of torch.profiler" : "traces of torch.profiler";
  job.warnings = std::move(traced->warnings);
  job.profiler = "torch.profiler";
  for (jobs::RankRecord& record : traced->records) {
    job.ranks.emplace_back().record = std::move(record);
  }
  return job;
}

}  // namespace ridgeline::app
