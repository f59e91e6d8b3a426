#include "jobs/record/recorded_operations.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "analysis/attribution/source_scope.h"
#include "jobs/record/kinds.h"
#include "protocol/recording_format.h"

namespace ridgeline::jobs {

namespace {

using recording::kNone;
using recording::Recording;
using recording::Scope;

constexpr std::string_view kRun = "gloo:";
constexpr std::string_view kFunctional = "_c10d_functional";  ///< and …_autograd
constexpr std::string_view kWait = "::wait_tensor";
constexpr std::string_view kPythonCaller = "torch/distributed/distributed_c10d.py";

bool is_point_to_point(CollectiveKind kind) {
  return kind == CollectiveKind::kSend || kind == CollectiveKind::kReceive;
}

class Reader {
 public:
  Reader(const Recording& recording, const analysis::SourceScope& scope)
      : recording_(recording), traits_(analysis::code_traits(recording, scope)) {}

  RecordedOperations read() {
    RecordedOperations found;
    for (std::size_t op = 0; op < recording_.op_name().size(); ++op) {
      const std::string_view name = recording_.string(recording_.op_name()[op]);
      if (name.starts_with(kRun) && recording_.op_scope()[op] == static_cast<std::uint8_t>(Scope::kUser)) {
        found.runs.push_back({op, std::string(name.substr(kRun.size()))});
      } else if (name.starts_with(kCallPrefix) && !is_inside_call(op)) {
        CalledOperation call = called(op, kind_of_operator(name));
        (is_point_to_point(call.kind) ? found.point_to_point : found.calls).push_back(std::move(call));
      } else if (is_wait(name) && !is_inside_wait(op)) {
        found.waits.push_back(
            {static_cast<std::int64_t>(recording_.op_start()[op]), static_cast<std::int64_t>(recording_.op_end()[op])});
      }
    }
    const auto start = [&](const auto& one) { return recording_.op_start()[one.op]; };
    std::ranges::stable_sort(found.calls, {}, start);
    std::ranges::stable_sort(found.point_to_point, {}, start);
    std::ranges::stable_sort(found.runs, {}, start);
    return found;
  }

 private:
  bool is_inside_call(std::size_t op) const {
    const std::uint32_t parent = recording_.op_parent()[op];
    return parent != kNone && recording_.string(recording_.op_name()[parent]).starts_with(kCallPrefix);
  }

  static bool is_wait(std::string_view name) { return name.starts_with(kFunctional) && name.ends_with(kWait); }

  bool is_inside_wait(std::size_t op) const {
    const std::uint32_t parent = recording_.op_parent()[op];
    return parent != kNone && is_wait(recording_.string(recording_.op_name()[parent]));
  }

  CalledOperation called(std::size_t op, CollectiveKind kind) const {
    CalledOperation call{op, kind};
    for (std::uint32_t outer = recording_.op_parent()[op]; outer != kNone; outer = recording_.op_parent()[outer]) {
      call.in_backward =
          call.in_backward || recording_.op_scope()[outer] == static_cast<std::uint8_t>(Scope::kBackward);
      call.by_python = call.by_python || recording_.string(recording_.op_name()[outer]).starts_with(kFunctional);
    }
    const std::uint32_t innermost = recording_.op_node()[op];
    if (innermost != 0) {
      call.by_python = call.by_python || file_of(innermost).ends_with(kPythonCaller);
    }
    for (std::uint32_t node = innermost; node != 0; node = recording_.node_parent()[node]) {
      if (traits_[recording_.node_code()[node]].user) {
        call.file = file_of(node);
        call.line = static_cast<int>(recording_.node_line()[node]);
        break;
      }
    }
    return call;
  }

  std::string_view file_of(std::uint32_t node) const {
    return recording_.string(recording_.code_file()[recording_.node_code()[node]]);
  }

  const Recording& recording_;
  std::vector<analysis::CodeTraits> traits_;
};

}  // namespace

RecordedOperations recorded_operations(const Recording& recording, const analysis::SourceScope& scope) {
  return Reader(recording, scope).read();
}

std::int64_t waited_in_cpp(const Recording& recording, std::size_t call, std::int64_t ended_ns) {
  const auto ended = static_cast<std::uint64_t>(ended_ns);
  std::uint64_t since = recording.op_end()[call];
  for (std::size_t op = call + 1;
       op < recording.op_thread().size() && recording.op_thread()[op] == recording.op_thread()[call] &&
       recording.op_start()[op] < ended;
       ++op) {
    if (recording.op_end()[op] > ended) {
      return 0;
    }
    since = std::max(since, recording.op_end()[op]);
  }
  return since < ended ? static_cast<std::int64_t>(ended - since) : 0;
}

std::optional<std::int64_t> next_operation(const Recording& recording, std::size_t call, std::int64_t time_ns) {
  const auto time = static_cast<std::uint64_t>(time_ns);
  if (recording.op_end()[call] > time) {
    return std::nullopt;
  }
  for (std::size_t op = call + 1;
       op < recording.op_thread().size() && recording.op_thread()[op] == recording.op_thread()[call]; ++op) {
    if (recording.op_start()[op] >= time) {
      return static_cast<std::int64_t>(recording.op_start()[op]);
    }
    if (recording.op_end()[op] > time) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace ridgeline::jobs
