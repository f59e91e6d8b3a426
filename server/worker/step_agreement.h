// Which steps the ranks of a job record: the same ones, although each becomes warm in its own time. Does no I/O.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "protocol/worker_messages.h"

namespace ridgeline::worker {

/// Ranks are numbered by the caller; times are nanoseconds of one steady clock.
class StepAgreement {
 public:
  /// A rank is recorded: it is waited for until it leaves, or for kPatienceNs.
  void join(int rank) { ranks_.try_emplace(rank); }
  /// Sets how many ranks are recorded, though some have not joined yet.
  void expect(int ranks) { expected_ = ranks; }
  void leave(int rank);

  /// A rank is warm, or asks again because the answer came after the step.
  void ready(int rank, const protocol::ReadyToRecord& ready, std::int64_t now_ns);

  /// When to call decide() again at the latest; nothing: after the next event.
  std::optional<std::int64_t> due_ns() const;
  /// The decision, for all ranks that are ready; nothing until all are, or the patience with the others is over. Each
  /// is returned once.
  std::optional<protocol::RecordSteps> decide(std::int64_t now_ns);
  bool is_ready(int rank) const;
  /// How many ranks are not ready.
  int missing() const;

  static constexpr std::int64_t kPatienceNs = 15'000'000'000;
  static constexpr int kMostDecisions = 4;

 private:
  std::map<int, std::optional<protocol::ReadyToRecord>> ranks_;
  int expected_ = 0;
  std::optional<std::int64_t> first_ready_ns_;  ///< since the last decision
  int decisions_ = 0;
};

}  // namespace ridgeline::worker
