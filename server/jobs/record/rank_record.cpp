#include "jobs/record/rank_record.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "jobs/record/device_work.h"
#include "jobs/record/kinds.h"
#include "jobs/record/messages.h"
#include "jobs/record/recorded_operations.h"

namespace ridgeline::jobs {

namespace {

using protocol::CommunicationTrace;
using recording::Recording;

class Tracer {
 public:
  Tracer(const Recording& recording, const CommunicationTrace& trace, const analysis::SourceScope& scope)
      : recording_(recording), trace_(trace), operations_(recorded_operations(recording, scope)) {}

  TracedRank trace(int rank, int world_size) {
    result_.record = {rank, world_size, trace_.host, trace_.groups};
    result_.connections = trace_.connections;
    result_.warnings = trace_.warnings;
    add_iterations();
    add_collectives();
    name_buckets();
    add_messages(recording_, trace_, operations_.point_to_point, result_);
    if (!result_.record.on_device) {
      settle_ends();
      add_cpp_waits();
      add_waits();
    }
    sort_by_call(result_);
    return std::move(result_);
  }

 private:
  void add_iterations() {
    const std::size_t count = std::min(trace_.steps.size(), recording_.iteration_start().size());
    for (std::size_t i = 0; i < count; ++i) {
      result_.record.iterations.push_back({trace_.steps[i], static_cast<std::int64_t>(recording_.iteration_start()[i]),
                                           static_cast<std::int64_t>(recording_.iteration_end()[i])});
    }
  }

  /// Whether each named call is an operation of the recording, in the same order.
  bool calls_agree() const {
    return std::ranges::equal(trace_.calls, operations_.calls, [](const auto& named, const CalledOperation& called) {
      return runs_as(called.kind, kind_of_call(named.kind));
    });
  }

  /// Gloo runs a reduce-scatter as an all-reduce, and the flight recorder names what is run.
  static bool runs_as(CollectiveKind called, CollectiveKind run) {
    return called == run || (called == CollectiveKind::kReduceScatter && run == CollectiveKind::kAllReduce);
  }

  void add_collectives() {
    if (!calls_agree()) {
      if (!trace_.calls.empty()) {
        result_.warnings.push_back(
            trace_.calls.size() != operations_.calls.size()
                ? fmt::format("Collectives were left out: torch's flight recorder has {} calls, and the recording {}.",
                              trace_.calls.size(), operations_.calls.size())
                : std::string(
                      "Collectives were left out: torch's flight recorder and the recording have as many calls, "
                      "but not of the same kinds."));
      }
      return;
    }
    DeviceWork device = device_work(recording_);
    result_.record.on_device = !device.collectives.empty();
    if (result_.record.on_device) {
      result_.record.computing = std::move(device.computing);
    }
    std::size_t without_times = 0;
    for (std::size_t i = 0; i < trace_.calls.size(); ++i) {
      const CalledOperation& called = operations_.calls[i];
      const auto kernels = device.collectives.find(static_cast<std::uint32_t>(called.op));
      const std::optional<Interval> time = kernels != device.collectives.end() ? kernels->second
                                           : result_.record.on_device          ? std::nullopt
                                                                               : group_time(trace_.calls[i], called);
      if (time.has_value()) {
        add_collective(trace_.calls[i], called, *time);
      } else {
        ++without_times;
      }
    }
    if (without_times > 0) {
      warn_of_left_out(without_times);
    }
  }

  void warn_of_left_out(std::size_t count) {
    const char* const known =
        result_.record.on_device
            ? "of a rank whose collectives are kernels of a GPU, those that launched one have times"
            : "when they ran is recorded for Gloo on the CPU, for kernels of NCCL and RCCL, and "
              "for those that ended before the recording did";
    result_.warnings.push_back(
        fmt::format("{} of {} collectives were left out: {}.", count, trace_.calls.size(), known));
  }

  /// When the group's thread ran it.
  std::optional<Interval> group_time(const protocol::CollectiveCall& call, const CalledOperation& called) {
    const std::optional<std::size_t> run = take_run(call, called);
    if (!run.has_value()) {
      return std::nullopt;
    }
    return Interval{static_cast<std::int64_t>(recording_.op_start()[*run]),
                    static_cast<std::int64_t>(recording_.op_end()[*run])};
  }

  /// The operation of the group's threads that is the call's: the first of its name after the call that no other call
  /// has, on a thread of no other group.
  std::optional<std::size_t> take_run(const protocol::CollectiveCall& call, const CalledOperation& called) {
    if (trace_.groups[call.group].backend.find("gloo") == std::string::npos) {
      return std::nullopt;
    }
    while (first_run_ < operations_.runs.size() && operations_.runs[first_run_].taken) {
      ++first_run_;
    }
    for (std::size_t i = first_run_; i < operations_.runs.size(); ++i) {
      RunOperation& run = operations_.runs[i];
      if (run.taken || run.name != call.kind || recording_.op_start()[run.op] < recording_.op_start()[called.op] ||
          recording_.op_end()[run.op] == recording_.op_start()[run.op]) {
        continue;
      }
      const auto [owner, is_new] = group_of_thread_.try_emplace(recording_.op_thread()[run.op], call.group);
      if (owner->second == call.group) {
        run.taken = true;
        return run.op;
      }
    }
    return std::nullopt;
  }

  void add_collective(const protocol::CollectiveCall& call, const CalledOperation& called, const Interval& time) {
    Collective one;
    one.kind = called.kind;
    one.group = call.group;
    one.sequence = call.sequence;
    one.bytes = call.bytes;
    one.dtype = call.dtype;
    one.called_ns = static_cast<std::int64_t>(recording_.op_start()[called.op]);
    one.started_ns = time.started_ns;
    one.ended_ns = time.ended_ns;
    one.iteration = iteration_at(one.called_ns);
    one.file = called.file;
    one.line = called.line;
    result_.record.collectives.push_back(std::move(one));
    called_.push_back(&called);
  }

  /// Calls between iterations count to the one before.
  std::uint32_t iteration_at(std::int64_t time) const {
    const auto& all = result_.record.iterations;
    const auto after = std::ranges::upper_bound(all, time, {}, &Iteration::started_ns);
    return after == all.begin() ? 0 : static_cast<std::uint32_t>(after - all.begin() - 1);
  }

  /// The all-reduces of backward, in each iteration, are the buckets of each replica in their order.
  void name_buckets() {
    std::map<int, std::vector<const protocol::Bucket*>> replicas;
    for (const protocol::Bucket& bucket : trace_.buckets) {
      replicas[bucket.replica].push_back(&bucket);
    }
    std::map<int, std::size_t> next;
    std::uint32_t iteration = 0;
    auto& collectives = result_.record.collectives;
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      Collective& one = collectives[i];
      if (one.iteration != iteration) {
        next.clear();
        iteration = one.iteration;
      }
      if (one.kind != CollectiveKind::kAllReduce || !called_[i]->in_backward) {
        continue;
      }
      for (const auto& [replica, buckets] : replicas) {
        std::size_t& bucket = next[replica];
        if (bucket < buckets.size() && buckets[bucket]->bytes == one.bytes) {
          one.bucket = buckets[bucket]->index;
          one.parameters = buckets[bucket]->parameters;
          one.parameter_bytes = buckets[bucket]->sizes;
          bucket = (bucket + 1) % buckets.size();  // several backward passes in a step begin again
          break;
        }
      }
    }
  }

  /// The group's thread may note an end late, when it is not given a core: what the calling thread began since the last
  /// byte was received it began with the result.
  void settle_ends() {
    std::vector<std::int64_t> received(called_.size());
    for (const TracedMessage& message : result_.messages) {
      const Transfer& transfer = message.transfer;
      if (!transfer.sends && transfer.collective < received.size()) {
        received[transfer.collective] = std::max(received[transfer.collective], transfer.ended_ns);
      }
    }
    for (std::size_t i = 0; i < called_.size(); ++i) {
      Collective& one = result_.record.collectives[i];
      if (received[i] <= one.started_ns || received[i] >= one.ended_ns) {
        continue;
      }
      const auto released = next_operation(recording_, called_[i]->op, received[i]);
      if (released.has_value()) {
        one.ended_ns = std::min(one.ended_ns, *released);
      }
    }
  }

  /// Adds the waits for calls from C++: DistributedDataParallel waits for its buckets once the last one was called.
  void add_cpp_waits() {
    auto& collectives = result_.record.collectives;
    std::map<std::uint32_t, std::int64_t> last_bucket;  // by iteration
    for (const Collective& one : collectives) {
      if (one.bucket >= 0) {
        last_bucket[one.iteration] = std::max(last_bucket[one.iteration], one.called_ns);
      }
    }
    std::int64_t done_ns = 0;  // of the calls before: they are waited for in turn
    for (std::size_t i = 0; i < called_.size(); ++i) {
      Collective& one = collectives[i];
      if (called_[i]->by_python) {
        continue;
      }
      if (one.bucket < 0 || one.ended_ns > last_bucket[one.iteration]) {
        one.waited_ns = std::clamp<std::int64_t>(waited_in_cpp(recording_, called_[i]->op, one.ended_ns), 0,
                                                 std::max<std::int64_t>(0, one.ended_ns - done_ns));
      }
      done_ns = std::max(done_ns, one.ended_ns);
    }
  }

  /// A wait of its own is for what ended last before it returned.
  void add_waits() {
    std::vector<protocol::WaitSpan> waits = trace_.waits;
    waits.insert(waits.end(), operations_.waits.begin(), operations_.waits.end());
    std::ranges::stable_sort(waits, {}, &protocol::WaitSpan::started_ns);
    auto& collectives = result_.record.collectives;
    std::vector<Collective*> waiting;
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      if (i >= called_.size() || called_[i]->by_python) {
        waiting.push_back(&collectives[i]);
      }
    }
    std::ranges::stable_sort(waiting, {}, &Collective::called_ns);
    std::size_t first = 0;
    for (const protocol::WaitSpan& wait : waits) {
      while (first < waiting.size() && waiting[first] == nullptr) {
        ++first;
      }
      std::size_t latest = waiting.size();
      for (std::size_t i = first; i < waiting.size(); ++i) {
        if (waiting[i] == nullptr) {
          continue;
        }
        if (waiting[i]->called_ns > wait.started_ns) {
          break;
        }
        if (waiting[i]->ended_ns <= wait.ended_ns &&
            (latest == waiting.size() || waiting[i]->ended_ns >= waiting[latest]->ended_ns)) {
          latest = i;
        }
      }
      if (latest < waiting.size()) {
        Collective& one = *std::exchange(waiting[latest], nullptr);
        one.waited_ns += std::max<std::int64_t>(0, one.ended_ns - wait.started_ns);
      }
    }
  }

  const Recording& recording_;
  const CommunicationTrace& trace_;
  RecordedOperations operations_;
  std::map<std::uint16_t, std::uint32_t> group_of_thread_;
  std::size_t first_run_ = 0;                   ///< of operations_.runs: those before are taken
  std::vector<const CalledOperation*> called_;  ///< of each collective
  TracedRank result_;
};

}  // namespace

TracedRank trace_rank(const Recording& recording, const CommunicationTrace& trace, const analysis::SourceScope& scope,
                      int rank, int world_size) {
  return Tracer(recording, trace, scope).trace(rank, world_size);
}

}  // namespace ridgeline::jobs
