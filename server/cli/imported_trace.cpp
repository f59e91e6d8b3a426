#include "cli/imported_trace.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "ingest/import_error.h"
#include "ingest/import_rank.h"
#include "ingest/import_trace.h"

namespace ridgeline::cli {

namespace {

/// Prints the reason when not.
bool can_be_read(const std::string& path) {
  std::error_code problem;
  if (std::filesystem::is_directory(path, problem)) {
    print_error(path + " is a folder: name a trace in it.");
    return false;
  }
  if (!std::filesystem::exists(path, problem) || ::access(path.c_str(), R_OK) != 0) {
    print_error("Cannot read " + path + ".");
    return false;
  }
  return true;
}

/// Prints why the trace cannot be read as `options` say, and what to do.
base::Result<ingest::StepBoundary, ExitCode> boundary_or_report(const TraceOptions& options) {
  if (!can_be_read(options.trace)) {
    return ExitCode{kExitUsage};
  }
  auto boundary = ingest::parse_trace_boundary(options.step_boundary);
  if (!boundary) {
    print_error(boundary.error().message());
    return ExitCode{kExitUsage};
  }
  return *std::move(boundary);
}

ingest::ImportOptions import_options(const TraceOptions& options, ingest::StepBoundary boundary) {
  ingest::ImportOptions how;
  how.boundary = std::move(boundary);
  how.trace_path = absolute_path(options.trace);
  how.project_root = options.project_root.empty() ? "" : absolute_path(options.project_root);
  how.current = absolute_path(".");
  how.exists = [](const std::string& path) {
    std::error_code problem;
    return std::filesystem::is_regular_file(path, problem);
  };
  how.batch_size = options.batch_size;
  how.code = options.code;
  how.all_steps = options.all_steps;
  return how;
}

/// Its first bytes; none where it cannot be read.
std::string beginning_of(const std::string& path, std::size_t bytes) {
  std::error_code problem;
  std::string text;
  if (std::filesystem::is_regular_file(path, problem)) {
    std::ifstream file(path, std::ios::binary);
    text.resize(bytes);
    file.read(text.data(), static_cast<std::streamsize>(bytes));
    text.resize(static_cast<std::size_t>(file.gcount()));
  }
  return text;
}

}  // namespace

CLI::Option* add_step_boundary_option(CLI::App& command, std::string& value) {
  return command.add_option(
      "--step-boundary", value,
      "What ends a step of a trace: optimizer, dataloader, backward, none, the line where a function "
      "begins, as FILE:LINE, or the name of a range; default: detected");
}

std::string absolute_path(const std::string& path) {
  std::error_code problem;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, problem);
  std::string text = problem ? std::filesystem::absolute(path).string() : real.string();
  while (text.size() > 1 && text.ends_with('/')) {
    text.pop_back();
  }
  return text;
}

base::Result<analysis::RunInput, ExitCode> import_or_report(const TraceOptions& options) {
  auto rank = import_rank_or_report(options);
  if (!rank) {
    return rank.error();
  }
  return std::move(rank->input);
}

base::Result<ImportedRank, ExitCode> import_rank_or_report(const TraceOptions& options) {
  const auto boundary = boundary_or_report(options);
  if (!boundary) {
    return boundary.error();
  }
  try {
    ingest::Trace trace = read_trace_file(options.trace, {options.process, *boundary}, options.with_shapes);
    analysis::TracedRank traced = ingest::traced_rank(trace);
    return ImportedRank{std::move(traced), ingest::import_trace(std::move(trace), import_options(options, *boundary))};
  } catch (const ingest::ImportError& error) {
    print_error(error.what());
    return ExitCode{kExitEntryFailed};
  }
}

base::Result<ingest::RecordedStep, ExitCode> recorded_step_or_report(const TraceOptions& options) {
  const auto boundary = boundary_or_report(options);
  if (!boundary) {
    return boundary.error();
  }
  try {
    return ingest::recorded_step(read_trace_file(options.trace, {options.process, *boundary}, true),
                                 import_options(options, *boundary));
  } catch (const ingest::ImportError& error) {
    print_error(error.what());
    return ExitCode{kExitEntryFailed};
  }
}

bool looks_like_trace(const std::string& path) {
  const std::string text = beginning_of(path, 16);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const bool json = begin != std::string_view::npos && (text[begin] == '{' || text[begin] == '[');
  const bool python = path.ends_with(".py");
  return !python && (json || text.starts_with("\x1f\x8b") || text.starts_with("SQLite format 3"));
}

bool looks_like_report(const std::string& path) {
  const std::string text = beginning_of(path, std::size_t{4} << 10U);
  return text.starts_with('{') && text.find("\"environment\"") != std::string::npos &&
         text.find("\"traceEvents\"") == std::string::npos;
}

}  // namespace ridgeline::cli
