#include "cli/profile_script.h"

#include <sys/wait.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/profiling/kept_profiles.h"
#include "app/profiling/profile_run.h"
#include "app/profiling/script_profile.h"
#include "app/profiling/script_sizes.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/job_ranks.h"
#include "cli/options.h"
#include "cli/profile_now.h"
#include "cli/rendered_profile.h"
#include "cli/script_options.h"
#include "cli/terminal.h"
#include "store/fingerprint.h"
#include "worker/job.h"

namespace ridgeline::cli {

namespace {

namespace asio = boost::asio;

/// Runs the job to its end. Interrupts are the command's: the terminal sends them to it, too.
base::Result<worker::JobEnd, protocol::Failure> run_job(worker::JobOptions options) {
  asio::io_context loop;
  worker::Reaper reaper(loop);
  std::optional<worker::JobEnd> ended;
  auto job = worker::Job::start(loop, reaper, std::move(options),
                                {[](const std::string& note) { print_error(note); },
                                 [&](worker::JobEnd end) {
                                   ended = std::move(end);
                                   loop.stop();
                                 }});
  if (!job) {
    return job.error();
  }
  bool interrupted = false;
  asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);
  std::function<void()> wait = [&] {
    signals.async_wait([&](const boost::system::error_code& error, int signal) {
      if (!error) {
        interrupted = true;
        if (signal != SIGINT) {
          ::kill((*job)->process(), signal);
        }
        wait();
      }
    });
  };
  wait();
  loop.run();
  ended->interrupted = interrupted;
  return std::move(*ended);
}

int exit_code_of_status(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

/// Whether each process has a rank of its own. Those that no launcher numbered, as of torch.multiprocessing.spawn, are
/// numbered as they joined.
bool number_processes(std::vector<Rank>& ranks) {
  std::set<int> known;
  for (const Rank& one : ranks) {
    known.insert(one.rank);
  }
  const bool numbered = known.size() == ranks.size();
  for (std::size_t i = 0; !numbered && i < ranks.size(); ++i) {
    ranks[i].rank = static_cast<int>(i);
  }
  return numbered;
}

/// "report.json" of rank 3: "report.rank3.json".
Output output_of(Output output, int rank) {
  if (rank > 0 && !output.file.empty()) {
    const std::filesystem::path path(output.file);
    output.file =
        (path.parent_path() / fmt::format("{}.rank{}{}", path.stem().string(), rank, path.extension().string()))
            .string();
  }
  return output;
}

int write_report(const std::vector<Rank>& ranks, const jobs::Job& job, bool numbered, const Output& output) {
  int code = kExitOk;
  for (const Rank& one : ranks) {
    if (one.rank != ranks.front().rank && output.file.empty()) {
      break;
    }
    std::string text = rendered_profile(one.run.profile, one.run.outlook, &one.run.recorded, output);
    if (ranks.size() > 1 && one.rank == ranks.front().rank && output.format == "text") {
      text += printable_lines(ranks_text(ranks, job, numbered, output.warnings));
    }
    if (output.file.empty()) {
      write_to_error("\n" + text);  // standard output is the script's
    } else {
      code = std::max(code, write_out(text, output_of(output, one.rank)));
    }
  }
  return code;
}

/// Keeps the profile for `predict`, `report` and the editors, as one of the script. Without a script's file there is
/// nothing to find it by.
void keep(Rank& rank, const app::ProfileRequest& place) {
  app::ProfileRequest request = place;
  request.entry = rank.run.profile.entry_path;
  auto target = app::find_target(request);
  if (!target) {
    return;
  }
  using std::filesystem::path;
  if (path(target->interpreter.path).parent_path() != path(rank.interpreter).parent_path()) {
    target->interpreter.path = rank.interpreter;
  }
  warn(app::keep_profile(rank.run, request, *target, app::seconds_since_1970()));
}

/// Why there is nothing to report, where no process says so itself.
std::string nothing_text(const worker::JobEnd& end, const protocol::BoundaryRequest& boundary) {
  if (!end.joined) {
    return "no Python process of the command imported torch: there is nothing to report";
  }
  if (boundary.end == protocol::StepEnd::kLine) {
    return fmt::format("line {} of {} did not run: there is nothing to report", boundary.line, boundary.file);
  }
  return "no process of the command took a training step: there is nothing to report. A step ends where an optimizer "
         "of "
         "torch.optim steps, or where weights change after a backward pass; --step-boundary FILE:LINE names a line "
         "before "
         "which one ends";
}

/// The ranks that `--ranks` names, ascending; none: all.
base::Result<std::vector<int>> parse_ranks(const std::string& text) {
  std::vector<int> ranks;
  if (text == "all") {
    return ranks;
  }
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    int rank = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), rank);
    if (problem != std::errc() || end != word.data() + word.size() || rank < 0) {
      return base::error("--ranks: \"" + word + "\" is not a rank. Give all, or numbers such as 0,3.");
    }
    ranks.push_back(rank);
  }
  if (ranks.empty()) {
    return base::error("--ranks: no rank is named. Give all, or numbers such as 0,3.");
  }
  std::ranges::sort(ranks);
  const auto repeated = std::ranges::unique(ranks);
  ranks.erase(repeated.begin(), repeated.end());
  return ranks;
}

/// Says which of the wanted ranks the command did not have.
void report_missing(const std::vector<int>& wanted, const worker::JobEnd& end) {
  for (const int rank : wanted) {
    const auto is_rank = [&](const worker::JobProcess& process) { return process.joined.rank == rank; };
    if (std::ranges::none_of(end.processes, is_rank)) {
      print_error(fmt::format("no process of the command that was recorded had rank {}", rank));
    }
  }
}

/// The exit code of a command that succeeded, but none of whose processes has a profile.
int exit_code_without_report(const worker::JobEnd& end) {
  int code = end.joined ? kExitEntryFailed : kExitOk;  // without torch there was nothing to find
  for (const worker::JobProcess& process : end.processes) {
    if (const auto* failure = std::get_if<protocol::Failure>(&process.outcome)) {
      code = std::max(code, exit_code_of(*failure).value);
    }
  }
  return code;
}

/// The ranks of processes that have a profile; says why others have none, or that nothing was recorded.
std::vector<Rank> analysed_ranks(worker::JobEnd& end, const worker::JobOptions& options, const store::Moment& began) {
  std::vector<Rank> ranks;
  std::set<std::string> failures;  // of several processes that fail alike, one is shown
  for (worker::JobProcess& process : end.processes) {
    auto rank = analysed_rank(std::move(process), options, began);
    if (rank) {
      ranks.push_back(std::move(*rank));
    } else if (failures.insert(rank.error()).second) {
      write_to_error(rank.error());
    }
  }
  if (ranks.empty() && failures.empty()) {
    print_error(nothing_text(end, options.spec.boundary));
  }
  return ranks;
}

}  // namespace

int profile_script(const ScriptProfile& request) {
  if (request.output.format != "text" && request.output.file.empty()) {
    print_error("standard output is the script's: name a file for the report with --output");
    return kExitUsage;
  }
  const auto boundary = parse_step_boundary(request.step_boundary);
  const auto sizes = parse_batch_sizes(request.batch_sizes);
  const auto wanted = parse_ranks(request.ranks);
  if (!boundary || !sizes || !wanted) {
    print_error(!boundary ? boundary.error().message() : !sizes ? sizes.error().message() : wanted.error().message());
    return kExitUsage;
  }
  auto planned = app::plan_job(request.script);
  if (!planned) {
    write_to_error(failure_text(planned.error(), request.script.place.project_root));
    return exit_code_of(planned.error()).value;
  }
  worker::JobOptions& options = *planned;
  options.spec.boundary = *boundary;
  options.ranks = *wanted;
  const store::Moment began;
  auto ended = run_job(options);
  if (!ended) {
    write_to_error(failure_text({ended.error(), {}}, options.spec.project_root));
    return exit_code_of(ended.error()).value;
  }
  if (!request.batch_sizes.empty()) {
    app::sample_sizes(*ended, options, {*sizes, request.allow_writes}, run_job, print_error);
  }
  report_missing(*wanted, *ended);
  const int without_report = exit_code_without_report(*ended);
  std::vector<Rank> ranks = analysed_ranks(*ended, options, began);
  const bool numbered = number_processes(ranks);
  const jobs::Job job = job_of(ranks, app::command_line(request.script.command));
  if (numbered) {
    add_communication(ranks, job);
  }
  if (!ranks.empty()) {
    keep(ranks.front(), request.script.place);
  }
  int written = write_report(ranks, job, numbered, request.output);
  if (!request.job_file.empty()) {
    written = std::max(written, write_job(job, request.job_file));
  }
  if (const int code = exit_code_of_status(ended->status); code != 0) {
    return code;
  }
  return ranks.empty() ? without_report : written;
}

}  // namespace ridgeline::cli
