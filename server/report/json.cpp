#include "report/json.h"

#include "report/json_writer.h"
#include "report/report_fields.h"

namespace ridgeline::report {
namespace {

using analysis::Profile;
using Json = nlohmann::ordered_json;

// The descriptions of fields take what can be filled; a Writer only looks at it.
template <typename T>
T& described(const T& value) {
  return const_cast<T&>(value);  // NOLINT(*-const-cast)
}

}  // namespace

Json number(double value) { return Writer().json_of(std::optional(value), kAnyNumber); }

Json time_pieces_json(const std::vector<analysis::Piece>& pieces) { return Writer().json_of(pieces, InMs{}); }

Json peak_pieces_json(const std::vector<analysis::Piece>& pieces) { return Writer().json_of(pieces, InBytes{}); }

Json phases_json(const analysis::ByPhase& by_phase) {
  Writer writer;
  return writer.object_of([&] { phases(writer, described(by_phase)); });
}

Json environment_json(const analysis::Environment& environment) { return Writer().json_of(environment); }

Json entry_json(const Profile& profile) {
  Writer writer;
  return writer.object_of([&] { entry(writer, described(profile)); });
}

Json batch_json(const std::optional<analysis::BatchPrediction>& batch) { return Writer().json_of(batch); }

Json skipped_json(const std::vector<analysis::Skipped>& skipped) { return Writer().json_of(skipped); }

Json obstacle_json(analysis::Obstacle obstacle) { return Writer().json_of(obstacle); }

Json to_json(const Profile& profile, const analysis::Outlook& outlook) {
  Writer writer;
  return writer.object_of([&] { report_fields(writer, described(profile), outlook); });
}

std::string json_report(const Profile& profile, const analysis::Outlook& outlook) {
  return to_json(profile, outlook).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ridgeline::report
