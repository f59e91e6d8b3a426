#include "editor/job_requests.h"

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "editor/job_methods.h"
#include "editor/open_report.h"
#include "lsp/session/progress.h"
#include "protocol/json_fields.h"
#include "report/rendered_job.h"

namespace ridgeline::editor {

namespace {

/// The path of the file of a job. Throws InvalidValue where it is none of this machine.
std::string job_path(const Context& context, const std::string& uri) {
  auto path = context.session().path_of(uri);
  if (!path.has_value()) {
    throw protocol::InvalidValue("uri: it is no file of this machine");
  }
  return std::move(*path);
}

/// What a recorded job shows. Nothing of it runs. The line that makes a rank slow has a diagnostic from then on.
base::Task<base::Result<ShownJob>> show_job(Context context, std::string path, std::vector<std::string> changes = {}) {
  auto reading =
      context.workspace.while_open(context.entries.compute([path, changes] { return shown_job(path, changes); }));
  base::Result<ShownJob> shown = co_await std::move(reading);
  if (shown) {
    context.workspace.show_slow_line(path, shown->slow_line);
  }
  co_return shown;
}

}  // namespace

base::Task<lsp::Outcome> job(Context context, JobParams params) {
  auto showing = show_job(context, job_path(context, params.uri));
  const base::Result<ShownJob> shown = co_await std::move(showing);
  if (!shown) {
    co_return protocol::ResponseError{protocol::error_code::kRequestFailed, shown.error().message(), {}};
  }
  co_return job_json(*shown, [&](const std::string& file) { return context.session().uri_of(file); });
}

base::Task<lsp::Outcome> open_job_command(Context context, CommandParams params) {
  const std::string path = job_path(context, params.uri);
  auto showing = show_job(context, path, texts_in(params));
  base::Result<ShownJob> shown = co_await std::move(showing);
  if (!shown) {
    co_return protocol::ResponseError{protocol::error_code::kRequestFailed, shown.error().message(), {}};
  }
  auto opening =
      open_text(context.workspace, context.entries, std::filesystem::path(path).stem().string() + "-job.txt",
                [report = std::move(shown->report)] {
                  return base::Result<std::string>(report::text_job_report(report, 0, report::ShownWarnings::kAll));
                });
  co_return co_await std::move(opening);
}

base::Task<lsp::Outcome> optimize_job_command(Context context, CommandParams params) {
  const std::string path = job_path(context, params.uri);
  const std::string name = std::filesystem::path(path).stem().string();
  const auto is_enough = std::make_shared<std::atomic<bool>>(false);  // the user wants the best until now
  protocol::WorkDoneProgressBegin begin;
  begin.title = "Searching for the fastest strategy of " + name;
  begin.cancellable = true;
  lsp::Progress progress(context.session(), progress_params(params), std::move(begin),
                         [is_enough] { *is_enough = true; });
  auto searching = context.workspace.while_open(
      context.entries.compute([path, is_enough, changes = texts_in(params), cancel = context.cancel] {
        return optimized_job_text(path, changes, [&] { return *is_enough || cancel.cancelled(); });
      }));
  base::Result<std::string> text = co_await std::move(searching);
  progress.end();
  if (context.cancel.cancelled()) {
    co_return protocol::Json();  // answered already
  }
  auto opening =
      open_text(context.workspace, context.entries, name + "-optimized.txt", [text = std::move(text)] { return text; });
  co_return co_await std::move(opening);
}

}  // namespace ridgeline::editor
