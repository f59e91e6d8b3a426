// What a recorded job shows in an editor: its ranks, and the line that makes one of them slow.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/job_report.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "editor/figures.h"
#include "editor/snapshot.h"
#include "protocol/json_rpc.h"

namespace ridgeline::editor {

/// A line of a file of this machine that makes a rank of a job slow.
struct SlowLine {
  std::string path;
  std::size_t line = 0;  ///< from 0
  std::string text;      ///< of the line when the job was shown
  std::string message;
};

struct ShownJob {
  analysis::JobReport report;
  std::optional<SlowLine> slow_line;  ///< absent: no rank is slow by one line, or its file is not here
};

/// The job in a file that `ridgeline profile --job` wrote, replayed, also with each of `changes`, as `ridgeline job
/// show` does. Takes as long as the replays do. The error names the file, or the change.
base::Result<ShownJob> shown_job(const std::string& path, const std::vector<std::string>& changes = {});

/// The text of `ridgeline job optimize` of that file, also searched with `changes`. Takes as long as the search, 20
/// seconds at most; it ends with the best until then where `is_cancelled`, which is called on this thread. The error
/// names the file, or the change.
base::Result<std::string> optimized_job_text(const std::string& path, const std::vector<std::string>& changes,
                                             base::FunctionRef<bool()> is_cancelled);

/// The result of ridgeline/job: its figures in words.
protocol::Json job_json(const ShownJob& job, const UriOf& uri_of);

/// Adds the diagnostic of `slow` where it is a line of the document and still has its text.
void add_slow_line(const Snapshot& snapshot, const SlowLine& slow, std::vector<protocol::Diagnostic>& diagnostics);

}  // namespace ridgeline::editor
