#include "cli/rendered_profile.h"

#include "app/profiling/source_lines.h"
#include "report/export/perfetto.h"
#include "report/export/speedscope.h"
#include "report/html_report.h"
#include "report/json.h"
#include "report/markdown_report.h"
#include "report/text_report.h"

namespace ridgeline::cli {

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
  const report::SourceLines source = app::source_lines(profile.project_root);
  if (output.format == "markdown") {
    return report::markdown_report(profile, outlook, source, output.warnings);
  }
  return output.format == "html" ? report::html_report(profile, outlook, source)
                                 : report::text_report(profile, outlook, source, text_options(output));
}

}  // namespace ridgeline::cli
