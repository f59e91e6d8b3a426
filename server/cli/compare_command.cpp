#include "cli/compare_command.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/compare/compare_profiles.h"
#include "app/profiling/find_profile.h"
#include "app/revisions/compare_revisions.h"
#include "cli/entry_runs.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/options.h"
#include "cli/wait_for.h"
#include "report/rendered_comparison.h"

namespace ridgeline::cli {

namespace {

struct CompareRequest {
  std::vector<std::string> names;   ///< two profiles, or with a range of revisions the entry file
  app::RevisionsRequest revisions;  ///< without a range: none
  double margin_percent = 5;
  Output output;
};

int show(const analysis::Comparison& comparison, const Output& output) {
  const auto render = [&] {
    if (output.format == "json") {
      return report::comparison_json(comparison);
    }
    if (output.format == "markdown") {
      return report::comparison_markdown(comparison);
    }
    if (output.format == "html") {
      return report::comparison_html(comparison);
    }
    return report::comparison_text(comparison, text_options(output));
  };
  return write_out(render(), output);
}

int compare_profiles(const CompareRequest& request, analysis::Settings settings) {
  std::vector<analysis::Profile> profiles;
  for (const std::string& name : request.names) {
    auto profile = app::find_profile(name);
    if (!profile) {
      return fail(profile.error(), kExitUsage);
    }
    profiles.push_back(std::move(*profile));
  }
  return show(analysis::compare({request.names[0], {&profiles[0]}}, {request.names[1], {&profiles[1]}}, settings),
              request.output);
}

int run(const CompareRequest& request, app::ProfileRequest measurement) {
  const std::size_t wanted = request.revisions.range.empty() ? 2 : 1;
  if (request.names.size() != wanted) {
    return fail(request.revisions.range.empty()
                    ? "name two profiles: BEFORE and AFTER, or --git REV1..REV2 and an entry file"
                    : "with --git, name one entry file",
                kExitUsage);
  }
  analysis::Settings settings{request.margin_percent / 100};
  if (request.revisions.range.empty()) {
    return compare_profiles(request, settings);
  }
  measurement.entry = request.names[0];
  CommandProfiler profiler;
  const auto comparison =
      answer_of(app::compare_revisions(profiler, request.revisions, std::move(measurement), settings));
  return comparison ? show(*comparison, request.output) : comparison.error();
}

}  // namespace

void add_compare_command(CLI::App& app, int& exit_code) {
  auto request = std::make_shared<CompareRequest>();
  auto measurement = std::make_shared<app::ProfileRequest>();
  measurement->time_budget_seconds = 2;
  CLI::App* command =
      app.add_subcommand("compare", "Show what became slower or larger between two profiles or two git revisions.");
  command
      ->add_option("PROFILES", request->names, "Two reports in JSON or ids of kept profiles; with --git, an entry file")
      ->required();
  command->add_option("--git", request->revisions.range,
                      "Profile the entry file at two git revisions in turns, such as main..HEAD");
  command->add_option("--runs", request->revisions.runs, "With --git: profiles of each revision")
      ->check(CLI::Range(2, 100))
      ->capture_default_str();
  command
      ->add_option("--margin", request->margin_percent,
                   "Say \"no difference\" only where the confidence interval lies within this many percent")
      ->check(number_in(0.1, 100))
      ->capture_default_str();
  add_measurement_options(*command, measurement);
  auto output = std::make_shared<Output>();
  add_output_options(*command, output, {"text", "json", "markdown", "html"});
  command->footer(
      "Examples:\n"
      "  ridgeline compare before.json after.json\n"
      "  ridgeline compare --git main..HEAD entry.py --format markdown");
  command->callback([request, measurement, output, &exit_code] {
    request->output = *output;
    exit_code = run(*request, *measurement);
  });
}

}  // namespace ridgeline::cli
