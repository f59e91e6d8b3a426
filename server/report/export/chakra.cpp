#include "report/export/chakra.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "jobs/record/kinds.h"
#include "protocol/shown_text.h"
#include "report/export/protobuf_message.h"

namespace ridgeline::report {

namespace {

using jobs::Collective;
using jobs::CollectiveKind;
using jobs::RankRecord;
using step::Graph;
using step::Task;
using step::TaskId;

constexpr std::string_view kSchema = "0.0.4";
constexpr std::uint64_t kMaxTag = 0x7FFFFFFF;

/// NodeType of et_def.proto.
enum class NodeType : std::uint8_t { kCompute = 4, kSend = 5, kReceive = 6, kCollective = 7 };

/// CollectiveCommType of et_def.proto.
std::optional<std::uint64_t> collective_type(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 0;
    case CollectiveKind::kReduce:
      return 1;
    case CollectiveKind::kAllGather:
      return 2;
    case CollectiveKind::kGather:
      return 3;
    case CollectiveKind::kScatter:
      return 4;
    case CollectiveKind::kBroadcast:
      return 5;
    case CollectiveKind::kAllToAll:
      return 6;
    case CollectiveKind::kReduceScatter:
      return 7;
    case CollectiveKind::kBarrier:
      return 9;
    default:
      return std::nullopt;
  }
}

/// The numbers of groups by name: 0 is all ranks, as simulators have it; the others count from 1.
using GroupNumbers = std::map<std::string, int>;

struct Groups {
  GroupNumbers numbers;
  nlohmann::ordered_json ranks = nlohmann::ordered_json::object();
};

Groups numbered_groups(const std::vector<RankRecord>& records) {
  std::map<std::string, std::set<int>> members;
  for (const RankRecord& rank : records) {
    for (const jobs::Group& group : rank.groups) {
      members[group.name].insert(group.ranks.begin(), group.ranks.end());
    }
  }
  Groups groups;
  for (const auto& [name, ranks] : members) {
    if (ranks.size() == records.size()) {
      groups.numbers[name] = 0;
      continue;
    }
    const int number = static_cast<int>(groups.ranks.size()) + 1;
    groups.numbers[name] = number;
    groups.ranks[std::to_string(number)] = ranks;
  }
  return groups;
}

class Node {
 public:
  Node(std::uint64_t id, const std::string& name, NodeType type, std::uint64_t microseconds) {
    message_.add(1, id);
    message_.add(2, protocol::printable(name));
    message_.add(3, static_cast<std::uint64_t>(type));
    duration_ = microseconds;
    attribute("is_cpu_op", kBool, std::uint64_t{type == NodeType::kCompute ? 1U : 0U});
  }

  void depends_on(std::uint64_t id) { dependencies_.insert(id); }
  void integer(std::string_view name, std::uint64_t value) { attribute(name, kInt64, value); }
  /// Writes an attribute below 2^31.
  void rank(std::string_view name, int value) { attribute(name, kInt32, static_cast<std::uint64_t>(value)); }
  void text(std::string_view name, const std::string& value) {
    if (!value.empty()) {
      attribute(name, kString, std::string_view(protocol::printable(value)));
    }
  }

  std::string take() && {
    message_.add(5, std::vector<std::uint64_t>(dependencies_.begin(), dependencies_.end()));
    message_.add(7, duration_);
    for (const ProtobufMessage& one : attributes_) {
      message_.add(10, one);
    }
    return message_.delimited();
  }

 private:
  static constexpr std::uint32_t kInt32 = 7;  // fields of AttributeProto
  static constexpr std::uint32_t kInt64 = 9;
  static constexpr std::uint32_t kBool = 27;
  static constexpr std::uint32_t kString = 29;

  template <typename Value>
  void attribute(std::string_view name, std::uint32_t field, Value value) {
    ProtobufMessage& one = attributes_.emplace_back();
    one.add(1, name);
    one.add(field, value);
  }

  ProtobufMessage message_;
  std::uint64_t duration_ = 0;
  std::set<std::uint64_t> dependencies_;
  std::vector<ProtobufMessage> attributes_;
};

/// The file of one rank.
class RankTrace {
 public:
  RankTrace(const RankRecord& record, const jobs::RecordedJob& job, std::size_t rank, const GroupNumbers& groups)
      : record_(record), graph_(job.ranks[rank].graph), groups_(groups) {
    const std::vector<jobs::Call>& calls = job.ranks[rank].calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      calls_[calls[i].task] = {&record.collectives[job.called[rank][i]], calls[i].recorded->cost_ns};
    }
    for (std::size_t i = 0; i < job.steps.size(); ++i) {
      mark_names_[job.step_ends[rank][i]] = fmt::format("end of step {}", job.steps[i]);
    }
    before_.resize(graph_.tasks.size());
    for (const step::Dependency& one : graph_.dependencies) {
      before_[one.to].push_back(node_id(one.from));
    }
    for (TaskId id = 0; id < graph_.tasks.size(); ++id) {
      const Task& task = graph_.tasks[id];
      if (task.next != step::kNoTask) {
        before_[task.next].push_back(task.gap_ns > 0 ? gap_id(id) : node_id(id));
      }
    }
  }

  base::Result<std::string> write() {
    ProtobufMessage metadata;
    metadata.add(1, kSchema);
    std::string text = metadata.delimited();
    for (TaskId id = 0; id < graph_.tasks.size(); ++id) {
      const auto call = calls_.find(id);
      auto node = call == calls_.end() ? base::Result<Node>(work(id)) : communication(id, call->second);
      if (!node) {
        return node.error();
      }
      for (const std::uint64_t before : before_[id]) {
        node->depends_on(before);
      }
      text += std::move(*node).take();
      if (graph_.tasks[id].gap_ns > 0) {
        text += gap(id);
      }
    }
    return text;
  }

 private:
  struct Recorded {
    const Collective* collective = nullptr;
    double cost_ns = 0;
  };

  static std::uint64_t node_id(TaskId task) { return 2 * std::uint64_t{task}; }
  static std::uint64_t gap_id(TaskId task) { return 2 * std::uint64_t{task} + 1; }

  /// The thread's time goes on by `ns`; the microseconds that it then has more.
  std::uint64_t passed(std::int64_t ns) {
    const auto rounded = [](std::int64_t time) { return static_cast<std::uint64_t>((time + 500) / 1000); };
    const std::uint64_t before = rounded(thread_ns_);
    thread_ns_ += ns;
    return rounded(thread_ns_) - before;
  }

  std::string name_of(TaskId id) const {
    const Task& task = graph_.tasks[id];
    if (task.kind == step::Kind::kWait) {
      return "wait for a result";
    }
    if (task.kind != step::Kind::kMark) {
      return task.name == 0 ? "Python" : graph_.names[task.name];
    }
    const auto end = mark_names_.find(id);
    return end == mark_names_.end() ? "start" : end->second;
  }

  Node work(TaskId id) {
    Node node(node_id(id), name_of(id), NodeType::kCompute, passed(graph_.tasks[id].duration_ns));
    const analysis::Location& line = graph_.lines[graph_.tasks[id].line];
    if (!line.file.empty()) {
      node.text("line", fmt::format("{}:{}", line.file, line.line));
    }
    return node;
  }

  std::string gap(TaskId id) {
    Node node(gap_id(id), id == 0 ? "before the first step" : "between steps", NodeType::kCompute,
              passed(graph_.tasks[id].gap_ns));
    node.depends_on(node_id(id));
    return std::move(node).take();
  }

  base::Result<Node> communication(TaskId id, const Recorded& call) const {
    const Collective& one = *call.collective;
    const bool is_message = one.kind == CollectiveKind::kSend || one.kind == CollectiveKind::kReceive;
    const auto type = collective_type(one.kind);
    if (!is_message && !type.has_value()) {
      return base::error(fmt::format("rank {} called a collective that Chakra's format has no type for", record_.rank));
    }
    const std::string kind = jobs::kind_name(one.kind);
    Node node(node_id(id), one.bucket < 0 ? kind : fmt::format("{} of bucket {}", kind, one.bucket),
              !is_message                         ? NodeType::kCollective
              : one.kind == CollectiveKind::kSend ? NodeType::kSend
                                                  : NodeType::kReceive,
              static_cast<std::uint64_t>(std::llround(call.cost_ns / 1000)));
    if (is_message) {
      const bool sends = one.kind == CollectiveKind::kSend;
      node.rank("comm_src", sends ? record_.rank : one.peer);
      node.rank("comm_dst", sends ? one.peer : record_.rank);
      node.rank("comm_tag", static_cast<int>(one.sequence & kMaxTag));
    } else {
      node.integer("comm_type", *type);
      if (one.peer >= 0) {
        node.rank("root", one.peer);
      }
    }
    node.integer("comm_size", one.bytes);
    node.text("pg_name", std::to_string(groups_.at(record_.groups[one.group].name)));
    node.text("dtype", one.dtype);
    return node;
  }

  const RankRecord& record_;
  const Graph& graph_;
  const GroupNumbers& groups_;
  std::map<TaskId, Recorded> calls_;
  std::map<TaskId, std::string> mark_names_;
  std::vector<std::vector<std::uint64_t>> before_;  ///< nodes, by task
  std::int64_t thread_ns_ = 0;
};

}  // namespace

base::Result<std::vector<NamedFile>> chakra_traces(const std::vector<RankRecord>& records,
                                                   const jobs::RecordedJob& job) {
  const Groups groups = numbered_groups(records);
  std::vector<NamedFile> files;
  for (std::size_t i = 0; i < records.size(); ++i) {
    auto content = RankTrace(records[i], job, i, groups.numbers).write();
    if (!content) {
      return content.error();
    }
    files.push_back({fmt::format("rank.{}.et", records[i].rank), std::move(*content)});
  }
  files.push_back({"groups.json", groups.ranks.dump() + "\n"});
  return files;
}

}  // namespace ridgeline::report
