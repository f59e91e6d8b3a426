// RankRecord in JSON, for the file of a job.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "protocol/communication.h"

namespace ridgeline::jobs {

nlohmann::json record_json(const RankRecord& record);
/// Throws std::exception where a member is missing or invalid, or an index is out of range.
RankRecord record_from(const nlohmann::json& value);

}  // namespace ridgeline::jobs
