#include "cli/what_if_trace.h"

#include <string>
#include <utility>

#include "app/python_changes.h"
#include "app/traces/traced_what_if.h"
#include "cli/failure_text.h"
#include "report/rendered_what_if.h"

namespace ridgeline::cli {

std::string rendered_what_if(const analysis::WhatIf& answer, const Output& output) {
  return output.format == "json"   ? report::json_what_if(answer)
         : output.format == "html" ? report::html_what_if(answer)
                                   : report::text_what_if(answer, text_options(output));
}

int what_if_trace(const TraceOptions& trace, app::WantedChanges wanted, const std::string& python,
                  const Output& output) {
  const auto traced = app::what_if_of_trace(trace, wanted.requests.size());
  if (!traced) {
    return report_failure(traced.error()).value;
  }
  if (const auto ran = app::make_python_changes(wanted, traced->base.graph, python); !ran) {
    return fail(ran.error(), kExitUsage);
  }
  return write_out(rendered_what_if(app::answer_from_trace(*traced, wanted.requests, wanted.user_changes), output),
                   output);
}

}  // namespace ridgeline::cli
