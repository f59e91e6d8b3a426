#include "editor/open_report.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "report/html_report.h"
#include "report/text_report.h"
#include "worker/cache.h"

namespace ridgeline::editor {

namespace {

/// The lines as they were when they ran. `figures` outlive them.
report::SourceLines lines_of(const Figures& figures) {
  return [&figures](const analysis::Location& place) -> std::optional<std::string> {
    return std::string(figures.line_text(place));
  };
}

std::string text_of(const Figures& figures) {
  return report::text_report(figures.profile(), figures.outlook(), lines_of(figures), {});
}

std::string page_of(const Figures& figures) {
  return report::html_report(figures.profile(), figures.outlook(), lines_of(figures));
}

/// Its path. Takes as long as the disk does.
base::Result<std::string> write_text(const std::string& file_name, const std::string& text) {
  const base::Result<std::string> cache = worker::cache_folder();
  if (!cache) {
    return base::error("The report could not be written: " + cache.error().message());
  }
  const std::string folder = *cache + "/reports";
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  std::string path = folder + "/" + file_name;
  std::ofstream out(path);
  out << text;
  if (problem || !out.flush()) {
    return base::error("The report could not be written to " + folder + ".");
  }
  return path;
}

}  // namespace

base::Task<lsp::Outcome> open_text(Workspace& workspace, Entries& entries, std::string file_name,
                                   std::function<base::Result<std::string>()> make) {
  const auto write = [file_name = std::move(file_name), make = std::move(make)]() -> base::Result<std::string> {
    const auto text = make();
    return text ? write_text(file_name, *text) : text;
  };
  auto task = workspace.while_open(entries.read_files(write));
  const base::Result<std::string> written = co_await std::move(task);
  if (!written) {
    co_return protocol::ResponseError{protocol::error_code::kRequestFailed, written.error().message()};
  }
  lsp::Session& session = workspace.session();
  const std::string where = session.uri_of(*written);
  if (session.capabilities().window.show_document) {
    session.request("window/showDocument", {{"uri", where}});
  }
  co_return protocol::Json{{"uri", where}};
}

base::Task<lsp::Outcome> report_page(Context context, ProfileIdParams params) {
  const FoundEntry entry = entry_with(context.entries, params.profile_id);
  if (!entry) {
    co_return entry.error();
  }
  auto rendering = context.entries.compute([figures = (*entry)->figures] { return page_of(*figures); });
  std::string page = co_await std::move(rendering);
  co_return protocol::Json{{"html", std::move(page)}};
}

base::Task<lsp::Outcome> open_report(Workspace& workspace, Entries& entries, std::string uri) {
  const auto path = workspace.session().path_of(uri);
  const auto entry = path.has_value() ? entries.find(*path) : nullptr;
  if (entry == nullptr || entry->figures == nullptr) {
    co_return protocol::ResponseError{protocol::error_code::kRequestFailed,
                                      "There is no profile of this file. Run ridgeline.profile first."};
  }
  const std::string name =
      std::filesystem::path(entry->path).stem().string() + "-" + entry->figures->profile().id + ".txt";
  auto opening = open_text(workspace, entries, name,
                           [figures = entry->figures] { return base::Result<std::string>(text_of(*figures)); });
  co_return co_await std::move(opening);
}

}  // namespace ridgeline::editor
