#include "commands/job_execution_traces.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/file.h"
#include "base/result.h"
#include "commands/exit_codes.h"
#include "commands/job_replay.h"
#include "commands/terminal.h"
#include "exports/chakra.h"
#include "jobs/job_files.h"
#include "jobs/job_replay.h"
#include "protocol/shown_text.h"

namespace ridgeline::commands {

namespace {

using communication::Job;
using communication::RankRecord;
using exports::NamedFile;

base::Result<std::vector<NamedFile>> traces_of(const Job& job, const std::vector<RankRecord>& aligned) {
  const auto recordings = jobs::recordings_of(job);
  if (!recordings) return recordings.error();
  const auto graph = job_graph(job, aligned, *recordings, "");
  return graph ? exports::chakra_traces(jobs::records_of(job), *graph)
               : base::Result<std::vector<NamedFile>>(graph.error());
}

/// A folder with these files, or none.
std::error_code write_folder(const std::string& folder, const std::vector<NamedFile>& files) {
  namespace fs = std::filesystem;
  const fs::path part = folder + "." + base::unique_suffix() + ".part";
  std::error_code problem;
  fs::create_directory(part, problem);
  for (const NamedFile& file : files) {
    if (!problem) problem = base::write_atomically(part / file.name, file.content, base::FileAccess::kUmask);
  }
  if (!problem) fs::rename(part, folder, problem);
  if (!problem) return {};
  std::error_code ignored;
  fs::remove_all(part, ignored);
  return problem;
}

}  // namespace

int write_execution_traces(const Job& job, const std::vector<RankRecord>& aligned, const std::string& folder) {
  for (const std::string& warning : job.warnings) print_error(protocol::printable(warning));
  const auto files = traces_of(job, aligned);
  if (!files) {
    print_error("no execution traces can be made of the job: " + files.error().message());
    return kExitUsage;
  }
  const std::error_code problem = write_folder(folder, *files);
  if (problem) print_error(fmt::format("cannot write {}: {}", folder, problem.message()));
  return problem ? kExitEnvironment : kExitOk;
}

}  // namespace ridgeline::commands
