#include "app/traces/import_file.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "app/traces/trace_file.h"
#include "ingest/import_error.h"
#include "ingest/import_rank.h"
#include "ingest/import_trace.h"
#include "ingest/read_memory_snapshot.h"

namespace ridgeline::app {

namespace {

/// Why the file cannot be read; empty: it can.
std::string reading_problem(const std::string& path) {
  std::error_code problem;
  if (std::filesystem::is_directory(path, problem)) {
    return path + " is a folder: name a trace in it.";
  }
  if (!std::filesystem::exists(path, problem) || ::access(path.c_str(), R_OK) != 0) {
    return "Cannot read " + path + ".";
  }
  return "";
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

/// What `read` makes of the trace and of how it is to be imported; or why the trace cannot be read so.
template <typename Read>
auto read_as(const TraceOptions& options, bool with_shapes, Read read)
    -> Answer<decltype(read(ingest::Trace(), ingest::ImportOptions()))> {
  if (std::string problem = reading_problem(options.trace); !problem.empty()) {
    return refusal(Cause::kRequest, std::move(problem));
  }
  auto boundary = ingest::parse_trace_boundary(options.step_boundary);
  if (!boundary) {
    return refusal(Cause::kRequest, boundary.error());
  }
  try {
    return read(read_trace_file(options.trace, {options.process, *boundary}, with_shapes),
                import_options(options, *boundary));
  } catch (const ingest::ImportError& error) {
    return refusal(Cause::kInput, error.what());
  }
}

}  // namespace

std::string absolute_path(const std::string& path) {
  std::error_code problem;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, problem);
  std::string text = problem ? std::filesystem::absolute(path).string() : real.string();
  while (text.size() > 1 && text.ends_with('/')) {
    text.pop_back();
  }
  return text;
}

Answer<analysis::RunInput> import_trace(const TraceOptions& options) {
  auto rank = import_rank(options);
  if (!rank) {
    return rank.error();
  }
  return std::move(rank->input);
}

Answer<ImportedRank> import_rank(const TraceOptions& options) {
  return read_as(options, options.with_shapes, [](ingest::Trace trace, const ingest::ImportOptions& how) {
    analysis::TracedRank traced = ingest::traced_rank(trace);
    return ImportedRank{std::move(traced), ingest::import_trace(std::move(trace), how)};
  });
}

Answer<ingest::RecordedStep> recorded_step(const TraceOptions& options) {
  return read_as(options, true, [](ingest::Trace trace, const ingest::ImportOptions& how) {
    return ingest::recorded_step(std::move(trace), how);
  });
}

bool looks_like_trace(const std::string& path) {
  const std::string text = beginning_of(path, 16);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const bool json = begin != std::string_view::npos && (text[begin] == '{' || text[begin] == '[');
  const bool python = path.ends_with(".py");
  return !python && (json || text.starts_with("\x1f\x8b") || text.starts_with("SQLite format 3"));
}

bool looks_like_snapshot(const std::string& path) { return ingest::is_pickle(beginning_of(path, 2)); }

bool looks_like_report(const std::string& path) {
  const std::string text = beginning_of(path, std::size_t{4} << 10U);
  return text.starts_with('{') && text.find("\"environment\"") != std::string::npos &&
         text.find("\"traceEvents\"") == std::string::npos;
}

}  // namespace ridgeline::app
