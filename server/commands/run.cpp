#include "commands/run.h"

#include <sys/wait.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/values/profile.h"
#include "commands/exit_codes.h"
#include "commands/failure_text.h"
#include "commands/options.h"
#include "commands/rendered_profile.h"
#include "commands/terminal.h"
#include "profiling/script_run.h"
#include "report/units.h"
#include "report/wording.h"
#include "worker/job.h"

namespace ridgeline::commands {

namespace {

namespace asio = boost::asio;

struct RunRequest {
  profiling::ScriptRequest script;
  Output output;
};

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
  asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);
  std::function<void()> wait = [&] {
    signals.async_wait([&](const boost::system::error_code& error, int signal) {
      if (!error) {
        if (signal != SIGINT) {
          ::kill((*job)->process(), signal);
        }
        wait();
      }
    });
  };
  wait();
  loop.run();
  return std::move(*ended);
}

int exit_code_of_status(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

struct Rank {
  int rank = 0;
  profiling::ProfileRun run;
};

/// Whether each process has a rank of its own. Those that no launcher numbered, as of torch.multiprocessing.spawn, are
/// numbered as they joined.
bool number_processes(std::vector<Rank>& ranks) {
  std::set<int> known;
  for (const Rank& one : ranks) known.insert(one.rank);
  const bool numbered = known.size() == ranks.size();
  for (std::size_t i = 0; !numbered && i < ranks.size(); ++i) ranks[i].rank = static_cast<int>(i);
  return numbered;
}

/// One line for each process, where there are several.
std::string ranks_text(const std::vector<Rank>& ranks, bool numbered) {
  std::string text = numbered ? "\nRanks\n" : "\nProcesses, in the order in which they imported torch\n";
  for (const Rank& one : ranks) {
    const analysis::Profile& profile = one.run.profile;
    text += fmt::format("  {:<6}{:>12}{:>20}{:>14}\n", one.rank, report::duration(profile.iteration.ms.value),
                        report::throughput_text(profile), report::peak_text(profile));
  }
  return text;
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

int write_report(std::vector<Rank> ranks, const Output& output) {
  const bool numbered = number_processes(ranks);
  int code = kExitOk;
  for (const Rank& one : ranks) {
    if (one.rank != ranks.front().rank && output.file.empty()) {
      break;
    }
    std::string text = rendered_profile(one.run.profile, one.run.outlook, &one.run.recorded, output);
    if (ranks.size() > 1 && one.rank == ranks.front().rank && output.format == "text") {
      text += ranks_text(ranks, numbered);
    }
    if (output.file.empty()) {
      write_to_error("\n" + text);  // standard output is the script's
    } else {
      code = std::max(code, write_out(text, output_of(output, one.rank)));
    }
  }
  return code;
}

/// What was measured of a process; nothing where it failed, which has been reported.
std::optional<Rank> analysed(worker::JobProcess process, const worker::JobOptions& options) {
  const int rank = process.joined.rank;
  auto run = profiling::analyse_process(std::move(process), options);
  if (!run) {
    write_to_error(failure_text(run.error(), options.spec.project_root));
    return std::nullopt;
  }
  return Rank{rank, std::move(*run)};
}

int run(const RunRequest& request) {
  if (request.script.command.empty()) {
    print_error("name a training script, or a command after --");
    return kExitUsage;
  }
  if (request.output.format != "text" && request.output.file.empty()) {
    print_error("standard output is the script's: name a file for the report with --output");
    return kExitUsage;
  }
  const auto planned = profiling::plan_job(request.script);
  if (!planned) {
    write_to_error(failure_text(planned.error(), request.script.place.project_root));
    return exit_code_of(planned.error()).value;
  }
  const worker::JobOptions& options = *planned;
  auto ended = run_job(options);
  if (!ended) {
    write_to_error(failure_text({ended.error(), {}}, options.spec.project_root));
    return exit_code_of(ended.error()).value;
  }
  std::vector<Rank> ranks;
  bool failed = false;
  for (worker::JobProcess& process : ended->processes) {
    auto rank = analysed(std::move(process), options);
    failed = failed || !rank.has_value();
    if (rank.has_value()) ranks.push_back(std::move(*rank));
  }
  if (ranks.empty() && !failed) {
    print_error(ended->joined ? "no process of the command took a training step: there is nothing to report"
                              : "no Python process of the command imported torch: there is nothing to report");
  }
  const int written = write_report(std::move(ranks), request.output);
  const int code = exit_code_of_status(ended->status);
  return code != 0 ? code : written;
}

}  // namespace

std::vector<std::string> take_command_to_run(int& argc, char** argv) {
  char** const end = argv + argc;
  char** const dashes = std::find(argv, end, std::string_view("--"));
  if (argc < 3 || argv[1] != std::string_view("run") || dashes == end) {
    return {};
  }
  argc = static_cast<int>(dashes - argv);
  return {dashes + 1, end};
}

void add_run_command(CLI::App& app, int& exit_code, const std::vector<std::string>& after_dashes) {
  auto request = std::make_shared<RunRequest>();
  auto place = std::shared_ptr<profiling::ProfileRequest>(request, &request->script.place);
  auto output = std::shared_ptr<Output>(request, &request->output);
  CLI::App* command = app.add_subcommand(
      "run", "Run a training script, or any command after --, as it is, and report on some of its steps.");
  command->prefix_command();
  add_place_options(*command, place);
  command->add_option("--steps", request->script.steps, "Record so many steps")
      ->check(number_in(1, 1000))
      ->default_str("as many as fit into a second");
  command->add_flag("--stop", request->script.stop, "End the script after the steps were recorded and timed");
  command->add_option("--time-budget", request->script.place.time_budget_seconds, "Seconds for timing")
      ->check(number_in(0.1, 3600))
      ->capture_default_str();
  add_report_options(*command, output);
  command->footer(
      "Examples:\n"
      "  ridgeline run --stop train.py --epochs 1\n"
      "  ridgeline run -- torchrun --nproc-per-node 2 train.py");
  command->callback([command, request, after_dashes, &exit_code] {
    request->script.command = command->remaining();
    if (!request->script.command.empty() && !after_dashes.empty()) {
      request->script.command.emplace_back("--");  // it is the script's own
    }
    request->script.command.insert(request->script.command.end(), after_dashes.begin(), after_dashes.end());
    exit_code = run(*request);
  });
}

}  // namespace ridgeline::commands
