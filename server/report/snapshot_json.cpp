#include <string>

#include <nlohmann/json.hpp>

#include "report/rendered_snapshot.h"

namespace ridgeline::report {
namespace {

using Json = nlohmann::ordered_json;
using analysis::MemorySnapshot;
using analysis::SnapshotLine;
using analysis::SnapshotMoment;

Json line_json(const SnapshotLine& line) {
  return {{"file", line.location.file}, {"line", line.location.line}, {"function", line.function},
          {"own", line.is_own},         {"bytes", line.bytes},        {"blocks", line.blocks}};
}

Json moment_json(const MemorySnapshot& snapshot, const SnapshotMoment& moment) {
  Json by_use = Json::object();
  for (std::size_t use = 0; use < analysis::kMemoryUses; ++use) {
    by_use[analysis::kMemoryUseNames[use]] = moment.by_use[use];
  }
  Json lines = Json::array();
  for (const SnapshotLine& line : moment.lines) {
    lines.push_back(line_json(line));
  }
  return {{"afterMs", snapshot.has_times ? Json(moment.ms) : Json(nullptr)},
          {"allocatedBytes", moment.bytes},
          {"reservedBytes", moment.reserved},
          {"byUse", std::move(by_use)},
          {"lines", std::move(lines)}};
}

Json out_of_memory_json(const MemorySnapshot& snapshot) {
  if (!snapshot.out_of_memory.has_value()) {
    return nullptr;
  }
  const auto& error = *snapshot.out_of_memory;
  Json by = line_json(error.line);
  by.erase("bytes");
  by.erase("blocks");
  return {{"askedBytes", error.asked},
          {"deviceFreeBytes", error.device_free},
          {"by", std::move(by)},
          {"moment", moment_json(snapshot, error.moment)},
          {"text", out_of_memory_text(snapshot)}};
}

}  // namespace

std::string json_snapshot(const MemorySnapshot& snapshot) {
  Json growth = Json::array();
  for (const analysis::SnapshotGrowth& one : snapshot.growth) {
    growth.push_back({{"line", line_json(one.line)},
                      {"bytesAPeriod", one.bytes_a_period},
                      {"periods", one.periods},
                      {"text", growth_text(snapshot, one)}});
  }
  Json over_time = Json::array();
  for (const analysis::SnapshotPoint& point : snapshot.over_time) {
    over_time.push_back({point.ms, point.allocated, point.reserved});
  }
  const Json json = {{"kind", "memorySnapshot"},
                     {"path", snapshot.path},
                     {"device", snapshot.device},
                     {"devices", snapshot.devices},
                     {"events", snapshot.events},
                     {"recordedMs", snapshot.has_times ? Json(snapshot.recorded_ms) : Json(nullptr)},
                     {"outOfMemory", out_of_memory_json(snapshot)},
                     {"atPeak", snapshot.events > 0 ? moment_json(snapshot, snapshot.at_peak) : Json(nullptr)},
                     {"atEnd", moment_json(snapshot, snapshot.at_end)},
                     {"awaitingFreeBytes", snapshot.awaiting_free},
                     {"fragments",
                      {{"freeBytes", snapshot.fragments.free_bytes},
                       {"largestFreeBytes", snapshot.fragments.largest_free},
                       {"segments", snapshot.fragments.segments},
                       {"partlyUsedSegments", snapshot.fragments.partly_used},
                       {"partlyUsedFreeBytes", snapshot.fragments.partly_used_free},
                       {"expandable", snapshot.fragments.is_expandable}}},
                     {"privatePools",
                      {{"pools", snapshot.private_pools.pools},
                       {"reservedBytes", snapshot.private_pools.reserved},
                       {"allocatedBytes", snapshot.private_pools.allocated}}},
                     {"periods", snapshot.periods},
                     {"periodsAreSteps", snapshot.periods_are_steps},
                     {"growth", std::move(growth)},
                     {"overTime", std::move(over_time)},
                     {"warnings", snapshot.warnings}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ridgeline::report
