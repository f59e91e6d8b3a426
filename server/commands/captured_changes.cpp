#include "commands/captured_changes.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "commands/operation_times.h"
#include "whatif/calibration.h"
#include "whatif/change_table.h"

namespace ridgeline::commands {

namespace {

using protocol::Captured;
using protocol::ChangeRequest;

/// Those of `requests` that change optimizers alone come first, and are listed apart: their first answer is soon there.
std::vector<std::vector<std::size_t>> in_groups(const std::vector<ChangeRequest>& requests, bool apart) {
  std::vector<std::size_t> optimizers;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    (apart && whatif::kind_of(requests[i]) == "optimizer" ? optimizers : others).push_back(i);
  }
  std::vector<std::vector<std::size_t>> groups;
  for (auto* group : {&optimizers, &others}) {
    if (!group->empty()) groups.push_back(std::move(*group));
  }
  return groups;
}

/// One answer, as its parts come.
class Prediction {
 public:
  Prediction(const CapturedChanges& asked, const std::vector<ChangeRequest>& requests, const whatif::UserChanges& user,
             const ShowFirst& show)
      : asked_(asked), requests_(requests), user_(user), show_(show) {}

  /// Lists the steps of a group of requests.
  base::Result<void, ExitCode> list(const std::vector<std::size_t>& group) {
    std::vector<ChangeRequest> by_runner;
    for (const std::size_t i : group) by_runner.push_back(whatif::parts_of(requests_[i]).runner);
    auto findings = run_experiment(asked_.runs, {.kind = protocol::Experiment::Kind::kCapture, .changes = by_runner});
    if (!findings) return findings.error();
    for (Captured& each : findings->captured) {
      if (each.change > 0 && static_cast<std::size_t>(each.change) <= group.size()) {
        each.change = static_cast<int>(group[static_cast<std::size_t>(each.change) - 1]) + 1;
      }
      std::erase_if(captured_, [&](const Captured& known) { return known.change == each.change; });
      captured_.push_back(std::move(each));
    }
    return {};
  }

  /// First answers of a group, those that need least first.
  base::Result<void, ExitCode> show_first(const std::vector<std::size_t>& group) {
    std::vector<std::pair<std::vector<std::string>, std::size_t>> needed;
    const Captured* const unchanged = find(0);
    for (const std::size_t i : group) {
      const Captured* const changed = find(i + 1);
      const bool is_listed = unchanged != nullptr && unchanged->step && changed != nullptr && changed->step;
      needed.emplace_back(
          is_listed ? profiling::operations_that_differ(*unchanged->step, *changed->step) : std::vector<std::string>(),
          i);
    }
    std::ranges::stable_sort(needed, {}, [](const auto& each) { return each.first.size(); });
    for (const auto& [keys, i] : needed) {
      if (keys.empty()) continue;
      if (const auto timed = time(keys); !timed) return timed.error();
      std::vector<Captured> both = {*find(0), *find(i + 1)};
      both.back().change = 1;
      analysis::WhatIf first = profiling::answer_what_if(asked_.base, {requests_[i]}, both, times_.known, user_);
      profiling::judge_predictions(first);
      show_(first.changes.front());
    }
    return {};
  }

  base::Result<CapturedAnswer, ExitCode> whole() {
    if (const auto timed = time(profiling::operations_of(captured_)); !timed) return timed.error();
    CapturedAnswer found{profiling::answer_what_if(asked_.base, requests_, captured_, times_.known, user_),
                         times_.disturbed};
    found.answer.operations_measured = times_.measured;
    return found;
  }

 private:
  const Captured* find(std::size_t change) const {
    const auto found = std::ranges::find(captured_, static_cast<int>(change), &Captured::change);
    return found == captured_.end() ? nullptr : &*found;
  }

  base::Result<void, ExitCode> time(const std::vector<std::string>& keys) {
    const auto begin = std::chrono::steady_clock::now();
    const double seconds = std::max(kLeastSeconds, asked_.measure_seconds - taken_);
    auto added = add_times_of_operations(
        asked_.runs, profiling::conditions_of(asked_.environment, asked_.environment.threads), keys, seconds, times_);
    taken_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return added;
  }

  static constexpr double kLeastSeconds = 1;

  const CapturedChanges& asked_;
  const std::vector<ChangeRequest>& requests_;
  const whatif::UserChanges& user_;
  const ShowFirst& show_;
  std::vector<Captured> captured_;
  profiling::TimesForAnswer times_;
  double taken_ = 0;  ///< seconds, of timing
};

}  // namespace

base::Result<CapturedAnswer, ExitCode> predict_captured(const CapturedChanges& asked,
                                                        const std::vector<ChangeRequest>& requests,
                                                        const whatif::UserChanges& user, const ShowFirst& show) {
  Prediction prediction(asked, requests, user, show);
  for (const std::vector<std::size_t>& group : in_groups(requests, static_cast<bool>(show))) {
    if (const auto listed = prediction.list(group); !listed) return listed.error();
    if (show) {
      if (const auto shown = prediction.show_first(group); !shown) return shown.error();
    }
  }
  return prediction.whole();
}

std::string disturbed_text(int disturbed, int measured) {
  return disturbed == 0 ? ""
                        : fmt::format(
                              "Other processes ran while {} of {} operations were timed: predictions are less certain, "
                              "and these times are not kept. Ask again on a quiet machine.",
                              disturbed, measured);
}

}  // namespace ridgeline::commands
