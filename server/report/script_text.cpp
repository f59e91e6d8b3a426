#include "report/script_text.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

using analysis::DataLoading;
using analysis::StepRule;

constexpr double kMoreMemory = 1.05;  ///< times the peak of the recorded steps
constexpr double kCached = 1.5;       ///< times as long as later ones: the first pass fills a cache

std::string order_text(const std::vector<int>& optimizers) {
  const std::set<int> distinct(optimizers.begin(), optimizers.end());
  if (distinct.size() < 2) {
    return "ends with the step of the optimizer";
  }
  std::string order;
  for (const int number : optimizers) {
    order += (order.empty() ? "" : ", ") + std::to_string(number);
  }
  return fmt::format("{} steps of {} optimizers in turn: {}", optimizers.size(), distinct.size(), order);
}

std::string step_text(const StepRule& step) {
  switch (step.end) {
    case protocol::StepEnd::kDataLoader:
      return "ends before the next batch is fetched, as requested";
    case protocol::StepEnd::kLine:
      return fmt::format("ends each time before {}:{} runs, as requested", printable(step.line.file), step.line.line);
    case protocol::StepEnd::kBackward:
      return "ends with the backward pass, in which the optimizers step";
    case protocol::StepEnd::kWeightUpdate:
      return "ends before the next batch or forward pass, once the script has updated its weights itself";
    case protocol::StepEnd::kForward:
      return std::string("is one call of the model, up to the next") +
             (step.requested ? ", as requested" : ": the script computes no gradients");
    case protocol::StepEnd::kOptimizer:
      break;
  }
  return step.requested ? "ends with each step of an optimizer, as requested" : order_text(step.optimizers);
}

std::string between_text(const std::vector<analysis::BetweenSteps>& between) {
  std::string text;
  for (const analysis::BetweenSteps& one : between) {
    text += fmt::format("{}{} {}, {}", text.empty() ? "" : "; ", printable(one.name),
                        plural(static_cast<double>(one.count), "time"), unbroken(duration(one.ms)));
  }
  return text.empty() ? text : text + "; no part of the step";
}

/// Who loads the batches, and how fast.
std::string loader_text(const DataLoading& loading) {
  if (loading.workers == 0) {
    return "the training process loads the batches itself" +
           (loading.batch_ms ? ", each in " + unbroken(duration(*loading.batch_ms)) : "");
  }
  const std::string workers = plural(loading.workers, "worker");
  const bool one = loading.workers == 1;
  if (!loading.batch_ms || !loading.workers_busy) {
    return workers + (one ? " loads" : " load") + " the batches";
  }
  return fmt::format("{} load{} a batch in {}{} and {} busy for {} of the time", workers, one ? "s" : "",
                     unbroken(duration(*loading.batch_ms)), one ? "" : " each", one ? "is" : "are",
                     unbroken(share(*loading.workers_busy)));
}

std::string loading_text(const DataLoading& loading) {
  std::string text =
      fmt::format("waiting for it takes {} of the steps' time, {} a step on average; {}",
                  unbroken(share(loading.wait_share)), unbroken(duration(loading.wait_ms)), loader_text(loading));
  if (loading.workers_needed) {
    text += fmt::format("; {} would keep up with the step", plural(*loading.workers_needed, "worker"));
  } else if (loading.wait_share > analysis::kHardlyWaits && loading.workers_busy &&
             *loading.workers_busy < 1 - analysis::kHardlyWaits) {
    text += "; the steps wait for more than the workers";
  }
  const auto first = loading.first_pass_batch_ms;
  const auto later = loading.later_passes_batch_ms;
  if (first && later && *first > kCached * *later) {
    text += fmt::format("; in the first pass over the data a batch took {}, later {}: something is cached",
                        unbroken(duration(*first)), unbroken(duration(*later)));
  }
  return text;
}

std::string communication_text(const analysis::Communication& communication) {
  std::string text =
      fmt::format("a recorded step of rank {} takes {} and waits for communication for {}", communication.rank,
                  unbroken(duration(communication.step_ms)), unbroken(duration(communication.exposed_ms)));
  if (communication.waiting_ms) {
    text += fmt::format(", {} of that for other ranks", unbroken(duration(*communication.waiting_ms)));
  }
  text += fmt::format("; {} are hidden", unbroken(duration(communication.hidden_ms)));
  if (!communication.lines.empty() && !communication.lines.front().line.file.empty()) {
    const analysis::CommunicationLine& most = communication.lines.front();
    text += fmt::format("; most of the waiting, {}, is at {}:{}", unbroken(duration(most.exposed_ms)),
                        printable(most.line.file), most.line.line);
  }
  return text;
}

/// Empty where all steps are known to train the same number.
std::string samples_text(const std::optional<analysis::StepSamples>& samples, bool batch_size_known) {
  if (!batch_size_known) {
    return "of a step are not known: --batch-size says how many";
  }
  if (!samples) {
    return {};
  }
  std::string text;
  if (samples->vary()) {
    text = fmt::format("{} in a step on average, from {} to {}, over {}", figure(samples->mean), samples->least,
                       samples->most, plural(static_cast<double>(samples->steps), "step"));
  }
  if (!samples->doubt.empty()) {
    text += fmt::format("{}uncertain: {}; --batch-size says how many a step trains", text.empty() ? "" : "; ",
                        printable(samples->doubt));
  }
  return text;
}

/// Empty where the steps are all there is.
std::string whole_text(const analysis::WholeTime& whole) {
  if (whole.parts.empty() || whole.ms <= 0) {
    return {};
  }
  double rest = whole.ms;
  std::string parts;
  for (const analysis::BetweenSteps& part : whole.parts) {
    rest -= part.ms;
    parts += fmt::format(", {} {} ({})", printable(part.name), unbroken(share(part.ms / whole.ms)),
                         plural(static_cast<double>(part.count), "time"));
  }
  const std::string rate = whole.samples_per_second ? figure(*whole.samples_per_second) + " samples/s over " : "";
  return fmt::format("{}{} of {}, with what lies between them: steps {}{}{}", rate, unbroken(duration(whole.ms)),
                     plural(static_cast<double>(whole.steps), "step"), unbroken(share(std::max(0.0, rest) / whole.ms)),
                     parts, whole.is_whole ? "" : "; seen too seldom to say how often that is");
}

std::string left_out_text(const std::vector<analysis::LeftOutSteps>& left_out) {
  std::string text;
  for (const analysis::LeftOutSteps& steps : left_out) {
    text += fmt::format("{}{} ({}), {}", text.empty() ? "" : "; ", plural(static_cast<double>(steps.count), "step"),
                        printable(steps.reason), unbroken(duration(steps.ms)));
    if (steps.peak_bytes) {
      text += fmt::format(", at most {} of memory", unbroken(bytes(static_cast<double>(*steps.peak_bytes))));
    }
  }
  return text;
}

std::string largest_text(const analysis::LargestStep& largest, const std::optional<analysis::StepSamples>& samples) {
  std::string of = largest.reason.empty() ? "before the recording" : "left out (" + printable(largest.reason) + ")";
  if (samples && samples->vary() && largest.samples) {
    of += fmt::format(", with {}", plural(*largest.samples, "sample"));
  }
  return fmt::format("at most {} in {} that were watched beside the recorded ones: in one {}",
                     unbroken(bytes(static_cast<double>(largest.bytes))),
                     plural(static_cast<double>(largest.steps), "step"), of);
}

}  // namespace

std::vector<Item> script_notes(const analysis::Script& script, std::uint64_t peak_bytes, bool batch_size_known) {
  std::vector<Item> notes = {{"step", step_text(script.step)}};
  if (std::string text = samples_text(script.samples, batch_size_known); !text.empty()) {
    notes.push_back({"samples", std::move(text)});
  }
  if (std::string text = script.whole ? whole_text(*script.whole) : ""; !text.empty()) {
    notes.push_back({"overall", std::move(text)});
  }
  if (std::string text = left_out_text(script.left_out); !text.empty()) {
    notes.push_back({"left out", std::move(text)});
  }
  if (script.largest && static_cast<double>(script.largest->bytes) > kMoreMemory * static_cast<double>(peak_bytes)) {
    notes.push_back({"memory", largest_text(*script.largest, script.samples)});
  }
  if (std::string text = between_text(script.between); !text.empty()) {
    notes.push_back({"between", std::move(text)});
  }
  if (script.loading) {
    notes.push_back({"data", loading_text(*script.loading)});
  }
  if (script.communication) {
    notes.push_back({"ranks", communication_text(*script.communication)});
  }
  return notes;
}

}  // namespace ridgeline::report
