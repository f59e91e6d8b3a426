#include "commands/report.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "analysis/build_profile.h"
#include "analysis/prediction/answers.h"
#include "base/result.h"
#include "commands/exit_codes.h"
#include "commands/options.h"
#include "commands/rendered_profile.h"
#include "commands/terminal.h"
#include "report/read_report.h"
#include "store/profile_store.h"
#include "worker/cache.h"

namespace ridgeline::commands {

namespace {

constexpr std::uintmax_t kMostBytes = 512U << 20U;

bool is_id(const std::string& text) {
  return !text.empty() && text.size() <= 64 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

base::Result<std::string> file_content(const std::string& path) {
  std::error_code problem;
  if (!std::filesystem::is_regular_file(path, problem)) {
    return base::error("there is no file " + path);
  }
  if (std::filesystem::file_size(path, problem) > kMostBytes) {
    return base::error(path + " is larger than 512 MiB");
  }
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) {
    return base::error("cannot read " + path);
  }
  return text;
}

base::Result<std::string> kept_report(const std::string& id) {
  const auto cache = worker::cache_folder();
  if (!cache) {
    return base::error(cache.error().message());
  }
  store::ProfileStore store;
  if (const auto opened = store.open(*cache); !opened) {
    return base::error(opened.error().message());
  }
  auto report = store.report(id);
  if (!report) {
    return base::error(report.error().message());
  }
  if (!report->has_value()) {
    return base::error("no profile " + id + " is kept, and there is no such file");
  }
  return std::move(**report);
}

int run(const std::string& name, const Output& output) {
  if (needs_recording(output.format)) {
    print_error(
        "--format " + output.format +
        " needs the recording, which is not kept with a profile: give it to ridgeline profile, ridgeline run or "
        "ridgeline import");
    return kExitUsage;
  }
  std::error_code problem;
  const bool kept = is_id(name) && !std::filesystem::exists(name, problem);
  const auto text = kept ? kept_report(name) : file_content(name);
  if (!text) {
    print_error(text.error().message());
    return kExitUsage;
  }
  auto profile = report::read_report(*text);
  if (!profile) {
    print_error(name + " is not a report of Ridgeline's in JSON: " + profile.error().message());
    return kExitUsage;
  }
  analysis::fit_models(*profile);
  return write_out(rendered_profile(*profile, analysis::outlook_of(*profile), nullptr, output), output);
}

}  // namespace

void add_report_command(CLI::App& app, int& exit_code) {
  auto name = std::make_shared<std::string>();
  auto output = std::make_shared<Output>();
  CLI::App* command = app.add_subcommand("report", "Show a profile that was made before, in any format.");
  command->add_option("PROFILE", *name, "Report in JSON, or the id of a kept profile")->required();
  add_report_options(*command, output);
  command->footer(
      "Examples:\n"
      "  ridgeline report report.json\n"
      "  ridgeline report 5b978a880ee3d73e --format markdown --output report.md");
  command->callback([name, output, &exit_code] { exit_code = run(*name, *output); });
}

}  // namespace ridgeline::commands
