#include "commands/what_if_trace.h"

#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "analysis/build_profile.h"
#include "commands/python_changes.h"
#include "profiling/what_if.h"
#include "report/what_if.h"
#include "whatif/change_table.h"

namespace ridgeline::commands {

std::string rendered_what_if(const analysis::WhatIf& answer, const Output& output) {
  return output.format == "json"   ? report::json_what_if(answer)
         : output.format == "html" ? report::html_what_if(answer)
                                   : report::text_what_if(answer, text_options(output));
}

namespace {

/// How far apart the medians of two recordings of the same code may be, by how much the steps of this one vary.
double noise_between_recordings(const analysis::Measured& step) {
  return std::numbers::sqrt2 * analysis::relative_width(step) / 2;
}

}  // namespace

int what_if_trace(const TraceOptions& trace, WantedChanges wanted, const std::string& python, const Output& output) {
  auto input = import_or_report(trace);
  if (!input) {
    return input.error().value;
  }
  const analysis::Profile profile = analysis::build_profile(*input);
  profiling::WhatIfBase base = profiling::what_if_base(profile, input->runs.front().recording, input->scope);
  base.noise = noise_between_recordings(profile.iteration.ms);
  if (const auto ran = make_python_changes(wanted, base.graph, python); !ran) {
    return ran.error().value;
  }
  analysis::WhatIf answer = base.answer;
  answer.from_trace = true;
  answer.warnings = profile.warnings;
  if (!profile.batch_size_known) {
    answer.batch_size = 0;
  }
  if (!base.peak_known) {
    answer.peak_bytes = 0;
  }
  std::vector<protocol::ChangeRequest> possible;
  for (const protocol::ChangeRequest& request : wanted.requests) {
    if (whatif::is_possible_on_graph(request, wanted.user_changes)) {
      possible.push_back(request);
      continue;
    }
    answer.changes.push_back({.change = request,
                              .title = whatif::title_of(request),
                              .takes = whatif::takes_of(request),
                              .reason = "operations of the changed step are needed: only an entry point has them"});
  }
  for (analysis::ChangeAnswer& row : profiling::answers_on_graph(base, possible, wanted.user_changes)) {
    answer.changes.push_back(std::move(row));
  }
  profiling::sort_by_gain(answer);
  return write_out(rendered_what_if(answer, output), output);
}

}  // namespace ridgeline::commands
