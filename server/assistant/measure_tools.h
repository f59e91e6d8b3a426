// The tools that measure, and those that tell what was measured.
#pragma once

#include "assistant/tool.h"

namespace ridgeline::assistant {

base::Task<ToolAnswer> profile(ToolContext& context, Json arguments);
base::Task<ToolAnswer> run_script(ToolContext& context, Json arguments);
base::Task<ToolAnswer> costliest(ToolContext& context, Json arguments);
base::Task<ToolAnswer> explain_line(ToolContext& context, Json arguments);
base::Task<ToolAnswer> memory_at_peak(ToolContext& context, Json arguments);
base::Task<ToolAnswer> compare(ToolContext& context, Json arguments);
base::Task<ToolAnswer> report_file(ToolContext& context, Json arguments);
base::Task<ToolAnswer> job(ToolContext& context, Json arguments);

/// The file that the arguments name, by default entry.py, opened; and the parameters of a request about it. Throws
/// ToolFailure.
struct NamedDocument {
  std::string path;
  Json params;
};
NamedDocument document_of(ToolContext& context, const Json& arguments);

/// The summary of the newest profile of a file, and its document. Throws ToolFailure when there is none.
struct Profiled {
  Json summary;
  std::string path;
  std::string uri;
};
base::Task<Profiled> profiled(ToolContext& context, const Json& arguments);

}  // namespace ridgeline::assistant
