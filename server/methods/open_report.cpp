#include "methods/open_report.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "report/text.h"
#include "worker/cache.h"

namespace ridgeline::methods {

namespace {

/// The report, with the lines as they were when they ran.
std::string report_of(const Figures& figures) {
  const auto line_of = [&](const analysis::Location& place) -> std::optional<std::string> {
    return std::string(figures.line_text(place));
  };
  return report::text_report(figures.profile(), figures.outlook(), line_of, {});
}

/// Its path. Takes as long as the disk does.
base::Result<std::string> write_report(const Figures& figures, const std::string& entry) {
  const base::Result<std::string> cache = worker::cache_folder();
  if (!cache) {
    return base::error("The report could not be written: " + cache.error().message());
  }
  const std::string folder = *cache + "/reports";
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  std::string path = folder + "/" + std::filesystem::path(entry).stem().string() + "-" + figures.profile().id + ".txt";
  std::ofstream out(path);
  out << report_of(figures);
  if (problem || !out.flush()) {
    return base::error("The report could not be written to " + folder + ".");
  }
  return path;
}

}  // namespace

base::Task<session::Outcome> open_report(Workspace& workspace, Entries& entries, std::string uri) {
  session::Session& session = workspace.session();
  const auto path = session.path_of(uri);
  const auto entry = path.has_value() ? entries.find(*path) : nullptr;
  if (entry == nullptr || entry->figures == nullptr) {
    co_return protocol::ResponseError{protocol::error_code::kRequestFailed,
                                      "There is no profile of this file. Run ridgeline.profile first."};
  }
  const auto write = [figures = entry->figures, path = entry->path] { return write_report(*figures, path); };
  auto task = workspace.while_open(entries.read_files(write));
  const base::Result<std::string> written = co_await std::move(task);
  if (!written) {
    co_return protocol::ResponseError{protocol::error_code::kRequestFailed, written.error().message()};
  }
  const std::string where = session.uri_of(*written);
  if (session.capabilities().window.show_document) {
    session.request("window/showDocument", {{"uri", where}});
  }
  co_return protocol::Json{{"uri", where}};
}

}  // namespace ridgeline::methods
