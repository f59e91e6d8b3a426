#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/page.h"
#include "report/rendered_job_prediction.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {

namespace {

using analysis::JobPrediction;
using analysis::PredictedBucket;
using analysis::PredictedTraining;

constexpr std::size_t kMostBuckets = 12;
constexpr std::size_t kMostLines = 5;

std::string title(const PredictedTraining& training) {
  const std::string size = training.bucket_bytes.has_value()
                               ? "buckets of " + bytes(static_cast<double>(*training.bucket_bytes))
                               : "DistributedDataParallel's bucket sizes";
  constexpr std::array kSharded = {"", ", ZeRO 1: optimizer state sharded", ", ZeRO 2: gradients sharded, too",
                                   ", ZeRO 3 or FSDP: weights sharded, too"};
  return size + (training.overlap ? "" : ", gradients exchanged after backward") +
         kSharded[static_cast<std::size_t>(training.sharding)];
}

std::string place(const analysis::Location& line) {
  return line.file.empty() ? "–" : fmt::format("{}:{}", printable(line.file), line.line);
}

void exchange_table(Page& page, const PredictedTraining& training) {
  const std::vector<PredictedBucket>& buckets = training.buckets;
  const std::string_view name = training.sharding < 2 ? "ALL-REDUCE" : "REDUCE-SCATTER";
  page.line("  " + page.bold(fmt::format("{:>14}{:>11}{:>11}{:>11}{:>11}  {}", name, "READY", "STARTS", "TAKES",
                                         "EXPOSED", "LAST GRADIENT")));
  for (std::size_t i = 0; i < std::min(buckets.size(), kMostBuckets); ++i) {
    const PredictedBucket& bucket = buckets[i];
    const std::string row = "  " + right(bytes(static_cast<double>(bucket.bytes)), 14) +
                            right(duration(bucket.ready_ms), 11) + right(duration(bucket.start_ms), 11) +
                            right(duration(bucket.end_ms - bucket.start_ms), 11) +
                            right(duration(bucket.exposed_ms), 11) + "  ";
    const int left_over = std::max(8, page.width() - columns(row));
    page.line(row + clip(printable(bucket.last) + "  " + place(bucket.line), left_over));
  }
  if (buckets.size() > kMostBuckets) {
    page.line(fmt::format("  and {} more", buckets.size() - kMostBuckets));
  }
}

/// Lists the lines with most exposed time, among those of the gradients that close buckets.
void exposed_lines(Page& page, const PredictedTraining& training) {
  std::map<std::string, double> by_line;
  for (const PredictedBucket& bucket : training.buckets) {
    if (bucket.exposed_ms > 0) {
      by_line[place(bucket.line)] += bucket.exposed_ms;
    }
  }
  std::vector<std::pair<std::string, double>> lines(by_line.begin(), by_line.end());
  std::ranges::stable_sort(lines, std::greater<>{}, &std::pair<std::string, double>::second);
  std::vector<Item> items;
  for (std::size_t i = 0; i < std::min(lines.size(), kMostLines); ++i) {
    items.push_back({clip_front(lines[i].first, page.width() - 30), duration(lines[i].second)});
  }
  if (!items.empty()) {
    page.flow(left("  exposed by line", 20), 20, items);
  }
}

std::string peak_of(const PredictedTraining& training) {
  const auto most = bytes(static_cast<double>(*training.peak_bytes));
  const auto least = bytes(static_cast<double>(training.least_peak_bytes.value_or(*training.peak_bytes)));
  return least == most ? most : least + " to " + most;
}

void describe(Page& page, const JobPrediction& job, const PredictedTraining& training) {
  page.line();
  page.line(page.bold("Predicted: " + title(training)));
  page.flow(left("  iteration", kBeside), kBeside, {{"", duration_interval(training.step_ms)}});
  std::vector<Item> rates;
  if (job.batch_size > 0) {
    rates.push_back({"samples/s", figure(training.samples_per_s)});
  }
  rates.push_back({"of single processes'", share(training.efficiency)});
  if (training.peak_bytes.has_value()) {
    rates.push_back({"peak memory of a rank", peak_of(training)});
  }
  page.flow(left("  job", kBeside), kBeside, rates);
  std::vector<Item> times = {{"communication", duration(training.communication_ms)},
                             {"exposed", duration(training.exposed_ms)},
                             {"of the cores that compute", duration(training.processor_ms)},
                             {training.sharding < 2 ? "DistributedDataParallel itself" : "copies to and from units",
                              duration(training.ddp_ms)}};
  if (training.buffers_ms > 0) {
    times.push_back({"broadcast of buffers", duration(training.buffers_ms)});
  }
  if (training.gathers_ms > 0) {
    times.push_back({"all-gathers of weights", duration(training.gathers_ms)});
  }
  page.flow(left("  time", kBeside), kBeside, times);
  exposed_lines(page, training);
  exchange_table(page, training);
}

std::string modules(const analysis::PredictedStage& stage) {
  const std::string first = printable(stage.first);
  return stage.first == stage.last ? first : first + " to " + printable(stage.last);
}

void describe(Page& page, const JobPrediction& job, const analysis::PredictedPipeline& pipeline) {
  page.line();
  page.line(page.bold(fmt::format(
      "Predicted: pipeline of {} stages, {} micro-batches, {}", pipeline.stages.size(), pipeline.micro_batches,
      pipeline.forward_first ? "all forward first (GPipe)" : "one forward, one backward (1F1B)")));
  page.flow(left("  iteration", kBeside), kBeside, {{"", duration_interval(pipeline.step_ms)}});
  std::vector<Item> rates;
  if (job.batch_size > 0) {
    rates.push_back({"samples/s", figure(pipeline.samples_per_s)});
  }
  rates.push_back({"of single processes'", share(pipeline.efficiency)});
  rates.push_back({"ranks idle", share(pipeline.idle)});
  page.flow(left("  job", kBeside), kBeside, rates);
  page.line("  " + page.bold(fmt::format("{:>5}{:>11}{:>11}{:>12}{:>12}  {}", "STAGE", "FORWARD", "BACKWARD", "WEIGHTS",
                                         "SENDS", "MODULES")));
  for (std::size_t i = 0; i < std::min(pipeline.stages.size(), kMostBuckets); ++i) {
    const analysis::PredictedStage& stage = pipeline.stages[i];
    const std::string row =
        "  " + right(std::to_string(i), 5) + right(duration(stage.forward_ms), 11) +
        right(duration(stage.backward_ms), 11) + right(bytes(static_cast<double>(stage.weight_bytes)), 12) +
        right(stage.sends_bytes > 0 ? bytes(static_cast<double>(stage.sends_bytes)) : "–", 12) + "  ";
    page.line(row + clip(modules(stage), std::max(8, page.width() - columns(row))));
  }
  if (pipeline.stages.size() > kMostBuckets) {
    page.line(fmt::format("  and {} more", pipeline.stages.size() - kMostBuckets));
  }
}

}  // namespace

std::string text_job_prediction(const JobPrediction& job, const TextOptions& options) {
  Page page(options.width, options.color);
  page.line(page.bold(fmt::format("{} on {} ranks of {}", clip_front(printable(job.entry_path), page.width() - 30),
                                  job.ranks, clip(printable(job.cluster), 60))));
  page.line();
  std::vector<Item> items = {{"iteration", duration_interval(job.step_ms)},
                             {"gradients", bytes(static_cast<double>(job.gradient_bytes))}};
  if (job.slow_down.has_value()) {
    items.push_back({"as a rank of a machine", fmt::format("{:.3f}×", *job.slow_down)});
  }
  page.flow(left("Measured", kBeside), kBeside, items);
  page.prose("Collectives",
             job.collectives_measured ? "from the all-reduces that the cluster's file has" : "from the links", kBeside);
  for (const PredictedTraining& training : job.trainings) {
    describe(page, job, training);
  }
  for (const analysis::PredictedPipeline& pipeline : job.pipelines) {
    describe(page, job, pipeline);
  }
  page.line();
  page.prose("Simulated", fmt::format("in {}", duration(1e3 * job.seconds)), kBeside);
  for (const std::string& text : job.not_modelled) {
    page.prose("Not modelled", printable(text), kBeside);
  }
  for (const std::string& text : shown_warnings(job.warnings, options.warnings)) {
    page.prose("Warning", text, kBeside);
  }
  return page.take();
}

}  // namespace ridgeline::report
