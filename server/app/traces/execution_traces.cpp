#include "app/traces/execution_traces.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "app/jobs/changed_steps.h"
#include "app/jobs/job_files.h"
#include "app/jobs/job_replay.h"
#include "base/file.h"
#include "ingest/read_execution_trace.h"
#include "jobs/replay/executed_job.h"
#include "jobs/replay/like_others.h"
#include "report/export/chakra.h"
#include "step/changes/arguments.h"

namespace ridgeline::app {

namespace {

using jobs::RankRecord;
using report::NamedFile;

constexpr std::string_view kSuffix = ".et";
constexpr int kMostRank = 1'000'000;

base::Result<std::vector<NamedFile>> traces_of(const jobs::Job& job, const std::vector<RankRecord>& aligned) {
  const auto recordings = recordings_of(job);
  if (!recordings) {
    return recordings.error();
  }
  const auto graph = job_graph(job, aligned, *recordings, "");
  return graph ? report::chakra_traces(records_of(job), *graph) : base::Result<std::vector<NamedFile>>(graph.error());
}

/// A folder with these files, or none.
std::error_code write_folder(const std::string& folder, const std::vector<NamedFile>& files) {
  namespace fs = std::filesystem;
  const fs::path part = folder + "." + base::unique_suffix() + ".part";
  std::error_code problem;
  fs::create_directory(part, problem);
  for (const NamedFile& file : files) {
    if (!problem) {
      problem = base::write_atomically(part / file.name, file.content, base::FileAccess::kUmask);
    }
  }
  if (!problem) {
    fs::rename(part, folder, problem);
  }
  if (!problem) {
    return {};
  }
  std::error_code ignored;
  fs::remove_all(part, ignored);
  return problem;
}

/// The number before ".et"; nothing where there is none.
std::optional<int> rank_of(std::string_view file) {
  file.remove_suffix(kSuffix.size());
  const std::size_t dot = file.rfind('.');
  return dot == std::string_view::npos ? std::nullopt : step::whole_number_of(file.substr(dot + 1), 0, kMostRank);
}

base::Result<analysis::ExecutionTrace> trace_of(const std::string& file) {
  const auto rank = is_execution_trace(file) ? rank_of(file) : std::nullopt;
  if (!rank.has_value()) {
    return base::error(file + " is not named as the execution trace of a rank: NAME.RANK.et, such as rank.0.et");
  }
  const auto bytes = base::read_text(file, kMostJobBytes);
  if (!bytes) {
    return bytes.error();
  }
  auto trace = ingest::read_execution_trace(*bytes, *rank);
  if (!trace) {
    return base::error(file + ": " + trace.error().message());
  }
  return trace;
}

base::Result<jobs::ExecutedJob> executed(const std::vector<std::string>& files) {
  std::vector<analysis::ExecutionTrace> traces;
  for (const std::string& file : files) {
    auto trace = trace_of(file);
    if (!trace) {
      return trace.error();
    }
    traces.push_back(std::move(*trace));
  }
  auto job = jobs::executed_job(traces);
  if (!job) {
    return job;
  }
  const auto replayed = jobs::replay(job->job);
  if (!replayed) {
    return replayed.error();
  }
  job->job.recorded_ns = replayed->step_ns;  // nothing else is known: intervals have no error of the replay
  return job;
}

}  // namespace

bool is_execution_trace(std::string_view file) { return file.ends_with(kSuffix); }

base::Result<ReplayedTraces> replay_traces(const std::vector<std::string>& files,
                                           const std::vector<std::string>& changes) {
  auto job = executed(files);
  if (!job) {
    return job.error();
  }
  auto replay = replayed(job->job);
  if (!replay) {
    return replay.error();
  }
  auto steps = changed_steps(job->job, changes);
  if (!steps) {
    return steps.error();
  }
  return ReplayedTraces{std::move(replay->replay), job->job.ranks.size(), std::move(*steps),
                        jobs::slowest_rank(job->job), std::move(job->warnings)};
}

Answer<void> write_execution_traces(const jobs::Job& job, const std::vector<RankRecord>& aligned,
                                    const std::string& folder) {
  const auto files = traces_of(job, aligned);
  if (!files) {
    return refusal(Cause::kRequest, "no execution traces can be made of the job: " + files.error().message());
  }
  if (const auto problem = write_folder(folder, *files)) {
    return refusal(Cause::kMachine, fmt::format("cannot write {}: {}", folder, problem.message()));
  }
  return {};
}

}  // namespace ridgeline::app
