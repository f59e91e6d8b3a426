#include "cli/report_command.h"

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "analysis/prediction/answers.h"
#include "app/profiling/find_profile.h"
#include "app/profiling/kept_recordings.h"
#include "app/traces/import_file.h"
#include "app/traces/snapshot_file.h"
#include "app/traces/trace_profile.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/options.h"
#include "cli/rendered_profile.h"
#include "report/rendered_snapshot.h"
#include "store/recording_files.h"

namespace ridgeline::cli {

namespace {

int report_profile(const std::string& name, const Output& output) {
  const auto profile = app::find_profile(name);
  if (!profile) {
    return fail(profile.error(), kExitUsage);
  }
  std::optional<analysis::RecordedRun> recorded;
  if (needs_recording(output.format)) {
    auto found = app::find_recording(profile->id);
    if (!found) {
      return fail(found.error(), kExitUsage);
    }
    if (!found->has_value()) {
      return fail(fmt::format("--format {} needs the recording, which is kept for the last {} profiles: profile again, "
                              "or name a trace",
                              output.format, store::RecordingBounds{}.recordings),
                  kExitUsage);
    }
    recorded = std::move(*found);
  }
  return write_out(rendered_profile(*profile, analysis::outlook_of(*profile), recorded ? &*recorded : nullptr, output),
                   output);
}

int report_trace(const app::TraceOptions& options, const Output& output) {
  const auto made = app::profile_of_trace(options);
  if (!made) {
    return report_failure(made.error());
  }
  return write_out(rendered_profile(made->profile, analysis::outlook_of(made->profile), &made->recorded, output),
                   output);
}

int report_snapshot(const app::TraceOptions& options, const Output& output) {
  const auto snapshot = app::memory_snapshot(options.trace, options.project_root);
  if (!snapshot) {
    return report_failure(snapshot.error());
  }
  if (output.format == "json") {
    return write_out(report::json_snapshot(*snapshot), output);
  }
  if (output.format == "html") {
    return write_out(report::html_snapshot(*snapshot), output);
  }
  return output.format == "text" ? write_out(report::text_snapshot(*snapshot, text_options(output)), output)
                                 : fail("a memory snapshot has the formats text, json and html", kExitUsage);
}

}  // namespace

void add_report_command(CLI::App& app, int& exit_code) {
  auto trace = std::make_shared<app::TraceOptions>();
  trace->with_shapes = true;
  auto output = std::make_shared<Output>();
  CLI::App* command = app.add_subcommand(
      "report",
      "Show a profile that was made before, or analyse a trace of torch.profiler or Nsight Systems, or a memory "
      "snapshot.");
  command->add_option(
      "FILE", trace->trace,
      "The id of a kept profile, a report in JSON, a Chrome trace of torch.profiler (plain or gzip), the SQLite "
      "export of Nsight Systems, or a memory snapshot of torch.cuda.memory; also from another machine. Without it: "
      "what was profiled last in this folder");
  const std::array of_traces = {
      command->add_option("--project-root", trace->project_root, "Root folder of your code"),
      add_code_option(*command, trace->code),
      command->add_option("--batch-size", trace->batch_size, "Samples in one iteration: a trace does not record it")
          ->check(CLI::Range(1, analysis::kMaxBatchSize)),
      command->add_option(
          "--process", trace->process,
          "Process to analyse, if the Nsight Systems report has several, instead of the one with most steps"),
      add_step_boundary_option(*command, trace->step_boundary),
  };
  for (CLI::Option* option : of_traces) {
    option->group(kOfTraces);
  }
  add_report_options(*command, output);
  command->footer(
      "None of your code is run.\n"
      "\n"
      "Examples:\n"
      "  ridgeline report --format markdown --output report.md\n"
      "  ridgeline report trace.json.gz --batch-size 32 --project-root ~/project");
  command->callback([command, trace, output, &exit_code] {
    if (trace->trace.empty()) {
      const auto last = app::last_profile(".");
      if (!last) {
        exit_code = fail(last.error(), kExitUsage);
        return;
      }
      trace->trace = last->profile.id;
    }
    if (trace->trace.ends_with(".py")) {
      exit_code = fail(trace->trace + " is Python: `ridgeline profile` makes a profile of it", kExitUsage);
      return;
    }
    std::error_code problem;
    if (app::looks_like_snapshot(trace->trace)) {
      exit_code = report_snapshot(*trace, *output);
      return;
    }
    if (std::filesystem::exists(trace->trace, problem) && !app::looks_like_report(trace->trace)) {
      exit_code = report_trace(*trace, *output);
      return;
    }
    refuse_options_of(*command, kOfTraces, "it is for traces, and " + trace->trace + " is a profile");
    exit_code = report_profile(trace->trace, *output);
  });
}

}  // namespace ridgeline::cli
