#include "cli/rendered_profile.h"

#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "report/export/perfetto.h"
#include "report/export/speedscope.h"
#include "report/html_report.h"
#include "report/json.h"
#include "report/markdown_report.h"
#include "report/text_report.h"

namespace ridgeline::cli {

namespace {

/// Lines of the user's files, each file read once. The files may have changed since: then the text is of today.
class SourceFiles {
 public:
  explicit SourceFiles(std::string root) : root_(std::move(root)) {}

  std::optional<std::string> operator()(const analysis::Location& place) {
    const auto [found, inserted] = files_.try_emplace(place.file);
    if (inserted) {
      std::ifstream file(place.file.starts_with("/") ? place.file : root_ + "/" + place.file);
      for (std::string line; found->second.size() < kMaxLines && std::getline(file, line);) {
        found->second.push_back(line);
      }
    }
    if (place.line == 0 || place.line > found->second.size()) {
      return std::nullopt;
    }
    return found->second[place.line - 1];
  }

 private:
  static constexpr std::size_t kMaxLines = 1'000'000;
  std::string root_;
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace

bool needs_recording(const std::string& format) { return format == "perfetto" || format == "speedscope"; }

std::string rendered_profile(const analysis::Profile& profile, const analysis::Outlook& outlook,
                             const analysis::RecordedRun* recorded, const Output& output) {
  if (needs_recording(output.format)) {
    return output.format == "perfetto" ? report::perfetto_trace(*recorded, profile)
                                       : report::speedscope_profile(*recorded, profile);
  }
  if (output.format == "json") {
    return report::json_report(profile, outlook);
  }
  auto files = std::make_shared<SourceFiles>(profile.project_root);
  const report::SourceLines source = [files](const analysis::Location& place) { return (*files)(place); };
  if (output.format == "markdown") {
    return report::markdown_report(profile, outlook, source, output.warnings);
  }
  return output.format == "html" ? report::html_report(profile, outlook, source)
                                 : report::text_report(profile, outlook, source, text_options(output));
}

}  // namespace ridgeline::cli
