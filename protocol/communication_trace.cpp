#include "protocol/communication_trace.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "protocol/json_fields.h"

namespace ridgeline::protocol {

namespace {

constexpr std::size_t kMaxTraceTextBytes = 4096;
constexpr std::size_t kMaxTraceWarnings = 16;

const nlohmann::json::array_t& items_of(const nlohmann::json& value, const char* name, std::size_t most) {
  const auto& items = value.at(name).get_ref<const nlohmann::json::array_t&>();
  if (items.size() > most) {
    throw std::invalid_argument(std::string(name) + " has too many elements");
  }
  return items;
}

std::string bounded_text(const nlohmann::json& value) {
  return value.get_ref<const std::string&>().substr(0, kMaxTraceTextBytes);
}

/// An index into a list of `count` elements.
std::uint32_t index_of(const nlohmann::json& value, std::size_t count) {
  const auto index = value_as<std::uint32_t>(value);
  if (index >= count) {
    throw std::invalid_argument("an index is out of range");
  }
  return index;
}

void check_span(std::int64_t started_ns, std::int64_t ended_ns) {
  if (started_ns < 0 || ended_ns < started_ns) {
    throw std::invalid_argument("a time ends before it starts");
  }
}

jobs::Group group_from(const nlohmann::json& value) {
  jobs::Group group{bounded_text(value.at("name")), bounded_text(value.at("backend")), {}};
  for (const nlohmann::json& rank : items_of(value, "ranks", kMaxGroupRanks)) {
    group.ranks.push_back(value_as<int>(rank));
    if (group.ranks.back() < 0) {
      throw std::invalid_argument("a rank is negative");
    }
  }
  return group;
}

GlooMessage gloo_message_from(const nlohmann::json& value, std::size_t connections) {
  GlooMessage message{value_as<std::int64_t>(value.at(0)),  value_as<std::int64_t>(value.at(1)),
                      value_as<std::uint64_t>(value.at(2)), value_as<std::uint64_t>(value.at(3)),
                      index_of(value.at(4), connections),   static_cast<MessageKind>(index_of(value.at(5), 4)),
                      index_of(value.at(6), 2) == 1,        value_as<std::int64_t>(value.at(7))};
  check_span(message.started_ns, message.ended_ns);
  return message;
}

Bucket bucket_from(const nlohmann::json& value) {
  Bucket bucket{
      member<int>(value, "replica"), member<int>(value, "index"), member<std::uint64_t>(value, "bytes"), {}, {}};
  for (const nlohmann::json& name : items_of(value, "parameters", kMaxCalls)) {
    bucket.parameters.push_back(bounded_text(name));
  }
  for (const nlohmann::json& size : items_of(value, "sizes", kMaxCalls)) {
    bucket.sizes.push_back(value_as<std::uint64_t>(size));
  }
  if (bucket.sizes.size() != bucket.parameters.size()) {
    throw std::invalid_argument("a bucket's sizes do not match its parameters");
  }
  return bucket;
}

void read_calls(const nlohmann::json& value, CommunicationTrace& trace) {
  const std::size_t groups = trace.groups.size();
  for (const nlohmann::json& call : items_of(value, "calls", kMaxCalls)) {
    trace.calls.push_back({index_of(call.at(0), groups), value_as<std::uint64_t>(call.at(1)), bounded_text(call.at(2)),
                           value_as<std::uint64_t>(call.at(3)), bounded_text(call.at(4))});
  }
  for (const nlohmann::json& call : items_of(value, "pointToPoint", kMaxCalls)) {
    trace.point_to_point.push_back({bounded_text(call.at(0)), index_of(call.at(1), groups), value_as<int>(call.at(2)),
                                    value_as<std::uint64_t>(call.at(3)), value_as<std::uint64_t>(call.at(4)),
                                    bounded_text(call.at(5))});
  }
  for (const nlohmann::json& wait : items_of(value, "waits", kMaxCalls)) {
    trace.waits.push_back({value_as<std::int64_t>(wait.at(0)), value_as<std::int64_t>(wait.at(1))});
    check_span(trace.waits.back().started_ns, trace.waits.back().ended_ns);
  }
}

}  // namespace

CommunicationTrace communication_trace_from(const nlohmann::json& value) {
  CommunicationTrace trace;
  trace.host = bounded_text(value.at("host"));
  for (const nlohmann::json& step : items_of(value, "steps", kMaxCalls)) {
    trace.steps.push_back(value_as<std::int64_t>(step));
  }
  for (const nlohmann::json& group : items_of(value, "groups", kMaxGroups)) {
    trace.groups.push_back(group_from(group));
  }
  read_calls(value, trace);
  for (const nlohmann::json& bucket : items_of(value, "buckets", kMaxCalls)) {
    trace.buckets.push_back(bucket_from(bucket));
  }
  for (const nlohmann::json& connection : items_of(value, "connections", kMaxConnections)) {
    trace.connections.push_back({bounded_text(connection.at(0)), bounded_text(connection.at(1))});
  }
  for (const nlohmann::json& message : items_of(value, "messages", kMaxMessages)) {
    trace.messages.push_back(gloo_message_from(message, trace.connections.size()));
  }
  for (const nlohmann::json& warning : items_of(value, "warnings", kMaxTraceWarnings)) {
    trace.warnings.push_back(bounded_text(warning));
  }
  return trace;
}

}  // namespace ridgeline::protocol
