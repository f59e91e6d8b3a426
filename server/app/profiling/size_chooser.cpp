#include "app/profiling/size_chooser.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "analysis/memory/ledger.h"
#include "analysis/memory/regimes.h"
#include "analysis/prediction/predictor.h"
#include "analysis/time/sample_plan.h"
#include "analysis/time/time_sample.h"
#include "protocol/recording.h"

namespace ridgeline::app {

namespace {

std::vector<analysis::Regime> regimes_of_recordings(std::vector<worker::MeasuredBatch> recorded) {
  std::ranges::sort(recorded, {}, &worker::MeasuredBatch::batch_size);
  std::size_t bytes = 0;
  for (const worker::MeasuredBatch& batch : recorded) {
    bytes += batch.recording->size();
  }
  if (bytes > kMaxParsedBytes) {
    return {};
  }
  std::vector<int> sizes;
  std::vector<recording::Recording> recordings;
  for (worker::MeasuredBatch& batch : recorded) {
    auto recording = recording::Recording::parse(std::move(batch.recording));
    if (!recording) {
      return {};  // the analysis after the run says so
    }
    sizes.push_back(batch.batch_size);
    recordings.push_back(std::move(*recording));
  }
  std::vector<const recording::Recording*> pointers;
  for (const recording::Recording& recording : recordings) {
    pointers.push_back(&recording);
  }
  const auto ledger = analysis::match_allocations(pointers);
  return ledger ? analysis::regimes_of(*ledger, sizes) : std::vector<analysis::Regime>{};
}

class SizeChooser {
 public:
  std::vector<int> operator()(const worker::ChoiceAsked& asked) {
    if (!regimes_.has_value()) {
      // Recordings of another device have that device's memory, which no heap serves.
      regimes_ = asked.device.empty() ? regimes_of_recordings(asked.recorded) : std::vector<analysis::Regime>{};
    }
    analysis::TimingState state{{},
                                asked.first,
                                asked.excluded,
                                std::min(asked.largest_affordable, analysis::kMaxBatchSize),
                                asked.seconds_left,
                                asked.round_seconds,
                                *regimes_};
    for (const protocol::RoundTimes& times : asked.samples) {
      state.samples.push_back(analysis::time_sample(times.batch_size, times.round_medians_ns, 1));
    }
    return analysis::next_batch_sizes(state);
  }

 private:
  std::optional<std::vector<analysis::Regime>> regimes_;
};

}  // namespace

worker::Chooser chooser_of(const PlannedRun& plan, boost::asio::any_io_executor executor) {
  if (!plan.spec.batch_sizes.empty()) {
    return {std::move(executor), {}};
  }
  return {std::move(executor),
          [chooser = std::make_shared<SizeChooser>()](const worker::ChoiceAsked& asked) { return (*chooser)(asked); }};
}

}  // namespace ridgeline::app
