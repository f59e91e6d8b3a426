#include "commands/predict.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "analysis/prediction/answers.h"
#include "commands/options.h"
#include "commands/profile_now.h"
#include "profiling/kept_profiles.h"
#include "report/prediction.h"

namespace ridgeline::commands {

namespace {

struct PredictOptions {
  std::shared_ptr<profiling::ProfileRequest> request = std::make_shared<profiling::ProfileRequest>();
  std::shared_ptr<Output> output = std::make_shared<Output>();
  int batch_size = 0;              ///< 0: not asked for
  double throughput = 0;           ///< likewise
  std::uint64_t memory_bytes = 0;  ///< likewise
  double percent_of_maximum = 0;   ///< likewise
  bool balanced = false;
  bool fits = false;  ///< the question when there is no other

  analysis::Question question(std::uint64_t capacity_bytes) const {
    if (batch_size > 0) {
      return {analysis::Quantity::kBatchSize, static_cast<double>(batch_size)};
    }
    if (throughput > 0) {
      return {analysis::Quantity::kThroughput, throughput};
    }
    if (percent_of_maximum > 0) {
      return {analysis::Quantity::kThroughputShare, percent_of_maximum / 100};
    }
    if (balanced) {
      return {analysis::Quantity::kBalance, 1};
    }
    return {analysis::Quantity::kMemory, static_cast<double>(memory_bytes > 0 ? memory_bytes : capacity_bytes)};
  }
};

int run(const PredictOptions& options) {
  const auto target = find_target_or_report(*options.request);
  if (!target) {
    return target.error().value;
  }
  auto [kept, warning] = profiling::find_kept_profile(*options.request, *target);
  warn(warning);
  const bool stored = kept.has_value();
  const std::int64_t now = profiling::seconds_since_1970(std::chrono::system_clock::now());
  if (!stored) {
    auto made = profile_now(*options.request, *target);
    if (!made) {
      return made.error().value;
    }
    kept = profiling::StoredProfile{std::move(made->profile), now};
  }
  const analysis::Answer answer =
      analysis::answer(analysis::make_predictor(kept->profile), options.question(kept->profile.capacity_bytes));
  const report::Origin origin{stored, kept->created_s, std::max(std::int64_t{0}, now - kept->created_s)};
  return write_out(options.output->format == "json"
                       ? report::json_prediction(answer, kept->profile, origin)
                       : report::text_prediction(answer, kept->profile, origin, text_options(*options.output)),
                   *options.output);
}

}  // namespace

void add_predict_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* command = app.add_subcommand("predict", "Predict throughput and memory at another batch size.");
  CLI::Option_group* question = command->add_option_group("Question", "What to predict: exactly one");
  question->add_option("--batch-size", options->batch_size, "The throughput and memory of this batch size")
      ->check(CLI::Range(1, analysis::kMaxBatchSize));
  question
      ->add_option("--throughput", options->throughput,
                   "The smallest batch size with at least this many samples per second")
      ->check(number_in(1e-9, 1e12));
  question
      ->add_option("--memory", options->memory_bytes,
                   "The largest batch size that needs at most this much memory, such as 8GiB")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::PositiveNumber);
  question
      ->add_option("--of-maximum", options->percent_of_maximum,
                   "The smallest batch size with at least this percentage of the greatest throughput")
      ->check(number_in(0.1, 100));
  question->add_flag("--fits", options->fits, "The largest batch size that fits into the memory of this device");
  question->add_flag("--balanced", options->balanced,
                     "The smallest batch size with as many bytes of activations as of weights");
  question->require_option(1);
  add_profile_options(*command, options->request);
  add_output_options(*command, options->output);
  command->footer(
      "Examples:\n"
      "  ridgeline predict entry.py --batch-size 64\n"
      "  ridgeline predict entry.py --fits --memory-limit 8GiB");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ridgeline::commands
