#include "protocol/experiment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "protocol/json_fields.h"
#include "protocol/json_rpc.h"
#include "protocol/script_run.h"

namespace ridgeline::protocol {

namespace {

constexpr std::array<const char*, 4> kKindNames = {"capture", "measure", "try", "replica"};

void require(bool valid, const char* what) {
  if (!valid) {
    throw std::invalid_argument(what);
  }
}

std::string reason_of(const Json& message, const char* name = "reason") {
  return message.value(name, std::string()).substr(0, kMaxReasonBytes);
}

const Json::array_t& list_at(const Json& value, const char* name) {
  return value.at(name).get_ref<const Json::array_t&>();
}

std::vector<std::string> strings_at(const Json& value, const char* name) {
  auto strings = value.at(name).get<std::vector<std::string>>();
  require(strings.size() <= kMaxKeys &&
              std::ranges::all_of(strings, [](const std::string& text) { return text.size() <= kMaxKeyBytes; }),
          "a captured step has too many names");
  return strings;
}

std::vector<double> durations_in(const Json& value, std::size_t most) {
  auto times = value.get<std::vector<double>>();
  require(!times.empty() && times.size() <= most &&
              std::ranges::all_of(times, [](double ns) { return std::isfinite(ns) && ns > 0; }),
          "not durations");
  return times;
}

std::vector<double> durations_at(const Json& value, const char* name, std::size_t most) {
  return durations_in(value.at(name), most);
}

int index_in(const Json& value, std::size_t size, int least = 0) {
  const int index = value_as<int>(value);
  require(index >= least && index < static_cast<int>(size), "an index is out of range");
  return index;
}

int index_of(const Json& message, const char* name, std::size_t size) {
  const int index = member<int>(message, name);
  require(index >= 0 && index < static_cast<int>(size), "an index is out of range");
  return index;
}

CapturedStep step_from(const Json& value) {
  CapturedStep step{strings_at(value, "keys"), strings_at(value, "names"), strings_at(value, "modules"), {}, {}};
  const auto& sequence = list_at(value, "sequence");
  require(sequence.size() % 4 == 0 && sequence.size() / 4 <= kMaxCapturedOperations, "not a sequence of operations");
  step.operations.reserve(sequence.size() / 4);
  for (std::size_t i = 0; i < sequence.size(); i += 4) {
    step.operations.push_back(
        {index_in(sequence[i], step.keys.size(), -1), index_in(sequence[i + 1], step.names.size()),
         index_in(sequence[i + 3], step.modules.size()), static_cast<StepPart>(index_in(sequence[i + 2], 3))});
  }
  return step;
}

/// The numbers of a list that is empty or has one for each of `operations`.
std::vector<double> operation_times_from(const Json& message, const char* name, std::size_t operations) {
  const auto& numbers = list_at(message, name);
  require(numbers.empty() || numbers.size() == operations, (std::string(name) + ": not of the operations").c_str());
  std::vector<double> times(numbers.size());
  std::ranges::transform(numbers, times.begin(),
                         [](const Json& number) { return static_cast<double>(value_as<std::uint64_t>(number)); });
  return times;
}

std::vector<std::uint64_t> alive_before_from(const Json& message, std::size_t operations) {
  std::vector<std::uint64_t> alive;
  if (message.contains("aliveBefore")) {
    const auto& numbers = list_at(message, "aliveBefore");
    require(numbers.size() == operations, "aliveBefore: not of the operations");
    std::ranges::transform(numbers, std::back_inserter(alive), value_as<std::uint64_t>);
  }
  return alive;
}

std::vector<std::int64_t> requests_from(const Json& message) {
  const auto& numbers = list_at(message, "requests");
  require(numbers.size() <= kMaxMemoryRequests, "requests: too many");
  std::vector<std::int64_t> requests;
  requests.reserve(numbers.size());
  std::int64_t count = 0;
  for (const Json& number : numbers) {
    const auto request = value_as<std::int64_t>(number);
    require(request < 0 ? ~request < count : request > 0 && request <= kMaxRequestBytes, "requests: not a request");
    count += request > 0 ? 1 : 0;
    requests.push_back(request);
  }
  return requests;
}

std::vector<AliveBefore> alive_from(const Json& message, std::size_t keys) {
  const auto& numbers = list_at(message, "aliveBytes");
  require(numbers.size() % 3 == 0 && numbers.size() / 3 <= kStepParts * kMaxKeys, "aliveBytes: not of operations");
  std::vector<AliveBefore> alive;
  alive.reserve(numbers.size() / 3);
  for (std::size_t i = 0; i < numbers.size(); i += 3) {
    alive.push_back({static_cast<StepPart>(index_in(numbers[i], kStepParts)), index_in(numbers[i + 1], keys),
                     value_as<std::uint64_t>(numbers[i + 2])});
  }
  return alive;
}

}  // namespace

Json experiment_json(const Experiment& experiment) {
  return {{"kind", kKindNames.at(static_cast<std::size_t>(experiment.kind))},
          {"changes", experiment.changes},
          {"operations", experiment.operations},
          {"seconds", experiment.seconds},
          {"copies", experiment.copies},
          {"forCuda", experiment.for_cuda}};
}

StepListed step_listed_from(const Json& message) {
  StepListed listed{.reason = reason_of(message), .step = {}};
  if (listed.reason.empty()) {
    listed.step = step_from(message.at("operations"));
  }
  if (message.contains("tf32")) {
    const std::vector<std::string> allowed = strings_at(message, "tf32");
    const auto has = [&](const char* which) { return std::ranges::find(allowed, which) != allowed.end(); };
    listed.tf32 = {has("products"), has("convolutions")};
  }
  return listed;
}

Captured captured_from(const Json& message) {
  Captured captured;
  captured.change = index_of(message, "change", kMaxChanges + 1);
  captured.reason = reason_of(message);
  if (message.contains("operations") && !message.at("operations").is_null()) {
    captured.step = step_from(message.at("operations"));
    const auto& peaks = list_at(message, "peakBytes");
    require(peaks.size() == kStepParts, "peakBytes: not of the parts of a step");
    std::ranges::transform(peaks, captured.peak_bytes.begin(), value_as<std::uint64_t>);
    captured.step->host_ns = operation_times_from(message, "hostNs", captured.step->operations.size());
    captured.step->page_fault_ns = operation_times_from(message, "pageFaultNs", captured.step->operations.size());
    captured.step->alive_bytes = alive_before_from(message, captured.step->operations.size());
    captured.alive = alive_from(message, captured.step->keys.size());
    captured.batch_size = member<int>(message, "batchSize");
    require(captured.batch_size > 0, "batchSize: not positive");
    if (message.contains("changedModules")) {
      captured.changed_modules = strings_at(message, "changedModules");
    }
    if (message.contains("requests")) {
      captured.requests = requests_from(message);
    }
  }
  return captured;
}

OperationBegins operation_begins_from(const Json& message) { return {index_of(message, "operation", kMaxKeys)}; }

OperationTimed operation_timed_from(const Json& message) {
  OperationTimed timed{
      index_of(message, "operation", kMaxKeys), {}, reason_of(message), message.value("disturbed", false), {}};
  if (message.contains("peakBytes")) {
    timed.peak_bytes = member<std::uint64_t>(message, "peakBytes");
  }
  if (message.contains("samplesNs")) {
    timed.samples_ns = durations_at(message, "samplesNs", kMaxOperationSamples);
  }
  require(timed.samples_ns.empty() != timed.reason.empty(), "an operation has neither a time nor a reason, or both");
  return timed;
}

Tried tried_from(const Json& message) {
  Tried tried;
  tried.change = index_of(message, "change", kMaxChanges);
  tried.reason = reason_of(message);
  if (!tried.reason.empty()) {
    return tried;
  }
  tried.unchanged_ns = durations_at(message, "unchangedNs", kMaxTryRounds);
  tried.changed_ns = durations_at(message, "changedNs", kMaxTryRounds);
  require(tried.unchanged_ns.size() == tried.changed_ns.size(), "the rounds are not pairs");
  tried.unchanged_peak_bytes = member<std::uint64_t>(message, "unchangedPeakBytes");
  tried.changed_peak_bytes = member<std::uint64_t>(message, "changedPeakBytes");
  tried.unchanged_batch_size = member<int>(message, "unchangedBatchSize");
  tried.changed_batch_size = member<int>(message, "changedBatchSize");
  require(tried.unchanged_batch_size > 0 && tried.changed_batch_size > 0, "a batch size is not positive");
  if (const auto drift = optional_member<double>(message, "lossDrift")) {
    tried.loss_drift = *drift < 0 ? std::numeric_limits<double>::infinity() : *drift;
  }
  tried.seed_drift = optional_member<double>(message, "seedDrift");
  require(!tried.seed_drift || *tried.seed_drift >= 0, "seedDrift: negative");
  tried.together_because = reason_of(message, "togetherBecause");
  tried.unchanged_unsettled_steps = member<int>(message, "unchangedUnsettledSteps");
  tried.changed_unsettled_steps = member<int>(message, "changedUnsettledSteps");
  require(tried.unchanged_unsettled_steps >= 0 && tried.changed_unsettled_steps >= 0, "unsettled steps: negative");
  return tried;
}

Replica replica_from(const Json& message) {
  Replica replica;
  const auto& gradients = list_at(message, "gradients");
  require(gradients.size() <= kMaxGradients, "a step has too many gradients");
  for (const Json& one : gradients) {
    replica.gradients.push_back(
        {one.at(0).get<std::string>(), value_as<std::uint64_t>(one.at(1)), one.at(2).get<std::string>()});
  }
  replica.unused_parameters = member<int>(message, "unusedParameters");
  const auto& chain = list_at(message, "chain");
  require(chain.size() <= kMaxChain, "a chain of modules is too long");
  for (const Json& one : chain) {
    replica.chain.push_back({one.at(0).get<std::string>(), value_as<std::uint64_t>(one.at(1)), one.at(2).get<bool>()});
  }
  for (const auto& [dtype, bytes] : message.at("buffers").get_ref<const Json::object_t&>()) {
    replica.buffers[dtype] = value_as<std::uint64_t>(bytes);
  }
  replica.ddp_forward_ns = optional_member<double>(message, "ddpForwardNs");
  replica.ddp_backward_ns = optional_member<double>(message, "ddpBackwardNs");
  replica.accumulate_ns = optional_member<double>(message, "accumulateNs");
  replica.disturbed = message.value("disturbed", false);
  const auto is_cost = [](const std::optional<double>& ns) { return !ns || (std::isfinite(*ns) && *ns >= 0); };
  require(is_cost(replica.ddp_forward_ns) && is_cost(replica.ddp_backward_ns) && is_cost(replica.accumulate_ns),
          "a cost is negative");
  if (message.contains("aloneNs")) {
    replica.alone_ns = durations_at(message, "aloneNs", kMaxCopySteps);
    const auto& together = list_at(message, "togetherNs");
    require(!together.empty() && together.size() <= kMaxCopies, "togetherNs: not of the copies of a step");
    for (const Json& times : together) {
      replica.together_ns.push_back(durations_in(times, kMaxCopySteps));
    }
  }
  return replica;
}

ExperimentEnded experiment_ended_from(const Json& message) {
  ExperimentEnded ended{.threads = member<int>(message, "threads"),
                        .torch = message.at("torch").get<std::string>(),
                        .cuda_device = message.value("cudaDevice", "")};
  if (message.contains("loaderSizes")) {
    for (const Json& size : list_at(message, "loaderSizes")) {
      ended.loader_sizes.push_back(index_in(size, std::numeric_limits<int>::max(), 1));
    }
    require(ended.loader_sizes.size() <= kMaxScriptItems, "too many loader sizes");
    ended.sizes_obstacle = reason_of(message, "sizesObstacle");
  }
  return ended;
}

}  // namespace ridgeline::protocol
