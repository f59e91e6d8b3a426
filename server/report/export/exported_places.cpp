#include "report/export/exported_places.h"

#include "analysis/breakdown/breakdown.h"

namespace ridgeline::report {

std::string line_text(analysis::LineId line, const analysis::CallTree& tree, const analysis::RecordedRun& recorded) {
  if (line == 0) {
    return {};
  }
  const analysis::Location place = analysis::location_of(line, recorded.run.recording, tree, recorded.scope);
  return place.file + ":" + std::to_string(place.line);
}

std::string module_text(std::uint32_t instance, const analysis::RecordedRun& recorded) {
  if (instance == 0) {
    return {};
  }
  const recording::Recording& recording = recorded.run.recording;
  const std::string_view name = recording.string(recording.instance_name()[instance]);
  const std::string type(recording.string(recording.instance_type()[instance]));
  return name.empty() ? type : std::string(name) + " (" + type + ")";
}

}  // namespace ridgeline::report
