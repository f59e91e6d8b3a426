#include "jobs/record/record_json.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "protocol/json_fields.h"

namespace ridgeline::jobs {

namespace {

using nlohmann::json;
using protocol::member;
using protocol::value_as;

constexpr std::size_t kMaxItems = std::size_t{1} << 22U;

const json::array_t& items_of(const json& value, const char* name) {
  const auto& items = value.at(name).get_ref<const json::array_t&>();
  if (items.size() > kMaxItems) {
    throw std::invalid_argument(std::string(name) + " has too many elements");
  }
  return items;
}

void check(bool holds, const char* what) {
  if (!holds) {
    throw std::invalid_argument(what);
  }
}

json collective_json(const Collective& one) {
  json value = {{"kind", static_cast<int>(one.kind)},
                {"group", one.group},
                {"sequence", one.sequence},
                {"bytes", one.bytes},
                {"dtype", one.dtype},
                {"peer", one.peer},
                {"called", one.called_ns},
                {"started", one.started_ns},
                {"ended", one.ended_ns},
                {"waited", one.waited_ns},
                {"iteration", one.iteration},
                {"bucket", one.bucket},
                {"file", one.file},
                {"line", one.line}};
  if (!one.parameters.empty()) {
    value["parameters"] = one.parameters;
    value["parameterBytes"] = one.parameter_bytes;
  }
  return value;
}

Collective collective_from(const json& value, const RankRecord& record) {
  Collective one;
  const int kind = member<int>(value, "kind");
  check(kind >= 0 && kind <= static_cast<int>(CollectiveKind::kOther), "a collective has an unknown kind");
  one.kind = static_cast<CollectiveKind>(kind);
  one.group = member<std::uint32_t>(value, "group");
  one.sequence = member<std::uint64_t>(value, "sequence");
  one.bytes = member<std::uint64_t>(value, "bytes");
  value.at("dtype").get_to(one.dtype);
  one.peer = member<int>(value, "peer");
  one.called_ns = member<std::int64_t>(value, "called");
  one.started_ns = member<std::int64_t>(value, "started");
  one.ended_ns = member<std::int64_t>(value, "ended");
  one.waited_ns = member<std::int64_t>(value, "waited");
  one.iteration = member<std::uint32_t>(value, "iteration");
  one.bucket = member<int>(value, "bucket");
  value.at("file").get_to(one.file);
  one.line = member<int>(value, "line");
  if (value.contains("parameters")) {
    value.at("parameters").get_to(one.parameters);
  }
  if (value.contains("parameterBytes")) {  // absent in files of earlier versions
    value.at("parameterBytes").get_to(one.parameter_bytes);
  }
  check(one.parameter_bytes.empty() || one.parameter_bytes.size() == one.parameters.size(),
        "a bucket's sizes do not match its parameters");
  check(one.group < record.groups.size(), "a collective names a group that does not exist");
  check(one.iteration < record.iterations.size(), "a collective names an iteration that does not exist");
  check(one.called_ns <= one.started_ns && one.started_ns <= one.ended_ns && one.waited_ns >= 0,
        "a collective's times are inconsistent");
  return one;
}

Transfer transfer_from(const json& value, const RankRecord& record) {
  Transfer one{value_as<std::uint32_t>(value.at(0)), value_as<int>(value.at(1)) == 1,
               value_as<int>(value.at(2)),           value_as<std::uint64_t>(value.at(3)),
               value_as<std::uint64_t>(value.at(4)), value_as<std::int64_t>(value.at(5)),
               value_as<std::int64_t>(value.at(6))};
  check(one.collective < record.collectives.size(), "a transfer names a collective that does not exist");
  check(one.peer >= 0 && one.peer < record.world_size, "a transfer's peer is not a rank of the job");
  check(one.started_ns <= one.ended_ns, "a transfer ends before it starts");
  return one;
}

}  // namespace

json record_json(const RankRecord& record) {
  json groups = json::array();
  for (const Group& group : record.groups) {
    groups.push_back({{"name", group.name}, {"backend", group.backend}, {"ranks", group.ranks}});
  }
  json iterations = json::array();
  for (const Iteration& one : record.iterations) {
    iterations.push_back({one.step, one.started_ns, one.ended_ns});
  }
  json collectives = json::array();
  for (const Collective& one : record.collectives) {
    collectives.push_back(collective_json(one));
  }
  json transfers = json::array();
  for (const Transfer& one : record.transfers) {
    transfers.push_back(
        {one.collective, one.sends ? 1 : 0, one.peer, one.transaction, one.bytes, one.started_ns, one.ended_ns});
  }
  return {{"rank", record.rank},
          {"worldSize", record.world_size},
          {"host", record.host},
          {"groups", std::move(groups)},
          {"iterations", std::move(iterations)},
          {"collectives", std::move(collectives)},
          {"transfers", std::move(transfers)}};
}

RankRecord record_from(const json& value) {
  RankRecord record{member<int>(value, "rank"), member<int>(value, "worldSize"), value.at("host").get<std::string>()};
  check(record.rank >= 0 && record.rank < record.world_size, "a rank is not one of the job's");
  for (const json& group : items_of(value, "groups")) {
    record.groups.push_back({group.at("name").get<std::string>(), group.at("backend").get<std::string>(),
                             group.at("ranks").get<std::vector<int>>()});
  }
  for (const json& one : items_of(value, "iterations")) {
    record.iterations.push_back(
        {value_as<std::int64_t>(one.at(0)), value_as<std::int64_t>(one.at(1)), value_as<std::int64_t>(one.at(2))});
    check(record.iterations.back().started_ns <= record.iterations.back().ended_ns,
          "an iteration ends before it starts");
  }
  for (const json& one : items_of(value, "collectives")) {
    record.collectives.push_back(collective_from(one, record));
  }
  for (const json& one : items_of(value, "transfers")) {
    record.transfers.push_back(transfer_from(one, record));
  }
  return record;
}

}  // namespace ridgeline::jobs
