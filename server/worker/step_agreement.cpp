#include "worker/step_agreement.h"

#include <algorithm>
#include <cmath>

namespace ridgeline::worker {

namespace {

/// For the answer to reach all ranks before the step begins: at first so long, and then twice as long each time.
constexpr double kMarginNs = 30e6;
constexpr std::int64_t kMarginSteps = 3;

}  // namespace

void StepAgreement::leave(int rank) {
  if (ranks_.erase(rank) > 0 && expected_ > 0) {
    --expected_;
  }
}

void StepAgreement::ready(int rank, const protocol::ReadyToRecord& ready, std::int64_t now_ns) {
  ranks_[rank] = ready;
  if (!first_ready_ns_.has_value()) {
    first_ready_ns_ = now_ns;
  }
}

std::optional<std::int64_t> StepAgreement::due_ns() const {
  return first_ready_ns_.has_value() ? std::optional(*first_ready_ns_ + kPatienceNs) : std::nullopt;
}

bool StepAgreement::is_ready(int rank) const {
  const auto found = ranks_.find(rank);
  return found != ranks_.end() && found->second.has_value();
}

int StepAgreement::missing() const {
  const auto ready = std::ranges::count_if(ranks_, [](const auto& rank) { return rank.second.has_value(); });
  return std::max(expected_, static_cast<int>(ranks_.size())) - static_cast<int>(ready);
}

std::optional<protocol::RecordSteps> StepAgreement::decide(std::int64_t now_ns) {
  if (!first_ready_ns_.has_value() || (missing() > 0 && now_ns < *first_ready_ns_ + kPatienceNs)) {
    return std::nullopt;
  }
  first_ready_ns_.reset();
  std::int64_t reached = 0;
  double fastest = INFINITY;
  int steps = 1;
  for (const auto& [number, rank] : ranks_) {
    if (rank.has_value()) {
      reached = std::max(reached, rank->step);
      fastest = std::min(fastest, rank->step_ns);
      steps = std::max(steps, rank->steps);
    }
  }
  const double margin = std::ceil(std::ldexp(kMarginNs, std::min(decisions_, kMostDecisions)) / fastest);
  const std::int64_t least = kMarginSteps << std::min(decisions_, kMostDecisions);
  ++decisions_;
  return protocol::RecordSteps{reached + std::max(least, static_cast<std::int64_t>(std::min(margin, 1e6))), steps,
                               decisions_ < kMostDecisions};
}

}  // namespace ridgeline::worker
