#include "cli/failure_text.h"

#include <algorithm>
#include <iterator>
#include <variant>

#include "analysis/attribution/source_scope.h"
#include "cli/terminal.h"

namespace ridgeline::cli {

namespace {

/// Frames of the user's project, or all of them when none is.
std::vector<protocol::TraceFrame> user_frames(const std::vector<protocol::TraceFrame>& frames,
                                              const std::string& project_root) {
  std::vector<protocol::TraceFrame> own;
  std::ranges::copy_if(frames, std::back_inserter(own), [&](const protocol::TraceFrame& frame) {
    return analysis::is_user_file(frame.file, {project_root, {}});
  });
  return own.empty() ? frames : own;
}

std::string last_lines(const std::string& text, std::size_t count) {
  std::size_t start = text.size();
  while (count > 0 && start > 0) {
    const std::size_t newline = start >= 2 ? text.rfind('\n', start - 2) : std::string::npos;
    start = newline == std::string::npos ? 0 : newline + 1;
    --count;
  }
  return text.substr(start);
}

}  // namespace

std::string failure_text(const app::RunFailure& failure, const std::string& project_root) {
  const std::vector<protocol::TraceFrame> frames = user_frames(failure.frames, project_root);
  std::string text;
  if (!frames.empty()) {
    text += analysis::display_path(frames.back().file, {project_root, {}}) + ":" + std::to_string(frames.back().line) +
            ": ";
  }
  const std::size_t first_line = std::min(failure.message.find('\n'), failure.message.size());
  text += "error: " + failure.message.substr(0, first_line);
  if (failure.batch_size.has_value()) {
    text += " (batch size " + std::to_string(*failure.batch_size) + ")";
  }
  text += " [" + std::string(protocol::name_of(failure.kind)) + "]" + failure.message.substr(first_line) + "\n";
  for (const protocol::TraceFrame& frame : frames) {
    if (frame.function.empty()) {
      continue;
    }
    text += "  " + analysis::display_path(frame.file, {project_root, {}}) + ":" + std::to_string(frame.line) + " in " +
            frame.function + "\n";
    if (!frame.text.empty()) {
      text += "    " + frame.text + "\n";
    }
  }
  if (protocol::info_of(failure.kind).output_explains && !failure.output.empty()) {
    text += "Last output of the process:\n" + last_lines(failure.output, 20);
    text += text.ends_with('\n') ? "" : "\n";
  }
  return printable_lines(text);
}

ExitCode exit_code_of(const protocol::Failure& failure) {
  const int code = protocol::info_of(failure.kind).exit_code;
  return {code == 0 ? kExitEntryFailed : code};
}

ExitCode report_failure(const app::UseCaseFailure& failure) {
  if (const auto* run = std::get_if<app::FailedProjectRun>(&failure)) {
    write_to_error(failure_text(run->failure, run->project_root));
    return exit_code_of(run->failure);
  }
  const auto& [cause, message] = std::get<app::Refusal>(failure);
  return fail(message, cause == app::Cause::kRequest ? kExitUsage
                       : cause == app::Cause::kInput ? kExitEntryFailed
                                                     : kExitEnvironment);
}

ExitCode fail(const std::string& message, int exit_code) {
  print_error(message);
  return {exit_code};
}

ExitCode fail(const base::Error& error, int exit_code) { return fail(error.message(), exit_code); }

}  // namespace ridgeline::cli
