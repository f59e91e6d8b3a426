#include "report/rendered_step_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {

namespace {

using nlohmann::json;

constexpr double kNsOfMs = 1e6;

std::string kernel_place(const analysis::Location& place) {
  return place.file.empty() ? "-" : fmt::format("{}:{}", printable(place.file), place.line);
}

double saved_ms(const StepKernel& kernel) {
  return kernel.measured ? operations::saved_ms(kernel.candidate, kernel.measured->library_ns, kernel.measured->ratio)
                         : 0;
}

std::string row_text(const StepKernel& kernel, int width, double iteration_ms) {
  const std::string name = operations::operation_text(kernel.candidate.call.operation);
  const std::string head = fmt::format("{:<{}}  {:>9} {:>6}  ", name, width, duration(kernel.candidate.ms),
                                       share(ratio(kernel.candidate.ms, iteration_ms)));
  const std::string tail = "  " + kernel_place(kernel.candidate.location) + "\n";
  if (!kernel.measured) {
    return head + "not measured: " + printable(kernel.problem) + tail;
  }
  const operations::MeasuredOperator& found = *kernel.measured;
  const std::string saved = kernel.timed().is_faster() ? fmt::format("{} ({})", duration(saved_ms(kernel)),
                                                                     share(ratio(saved_ms(kernel), iteration_ms)))
                                                       : "-";
  return head +
         fmt::format("{:>9}  {:>9}  {:.2f} ({:.2f}-{:.2f})  {:>16}", duration(found.library_ns / kNsOfMs),
                     duration(found.own_ns / kNsOfMs), found.ratio, found.low, found.high, saved) +
         tail;
}

std::string ending(const std::vector<StepKernel>& kernels, double iteration_ms) {
  double saved = 0;
  std::string files;
  for (const StepKernel& kernel : kernels) {
    saved += kernel.measured && kernel.timed().is_faster() ? saved_ms(kernel) : 0;
    files += kernel.file.empty() ? "" : "\nwritten: " + kernel.file;
  }
  if (saved <= 0) {
    return "\nNo program was faster than torch beyond its interval.\n";
  }
  return fmt::format(
      "\nAll that are faster: {} ({}) of the step, predicted from times of operations alone; the step was not run with "
      "them.{}\n",
      duration(saved), share(ratio(saved, iteration_ms)), files);
}

json operation_json(const StepKernel& kernel) {
  const operations::ProgramCandidate& candidate = kernel.candidate;
  json object = {{"operation", operations::operation_text(candidate.call.operation)},
                 {"key", candidate.key},
                 {"calls", candidate.calls},
                 {"timeMs", candidate.ms}};
  if (!candidate.location.file.empty()) {
    object["location"] = {{"file", candidate.location.file}, {"line", candidate.location.line}};
  }
  if (kernel.measured) {
    const operations::MeasuredOperator& found = *kernel.measured;
    object["measured"] = {{"libraryNs", found.library_ns}, {"ownNs", found.own_ns},   {"ratio", found.ratio},
                          {"ratioLow", found.low},         {"ratioHigh", found.high}, {"savedMs", saved_ms(kernel)}};
  } else {
    object["problem"] = kernel.problem;
  }
  if (!kernel.file.empty()) {
    object["file"] = kernel.file;
  }
  return object;
}

}  // namespace

operations::TimedProgram StepKernel::timed() const {
  return {candidate.key,   operations::operation_text(candidate.call.operation),
          measured->ratio, measured->low,
          measured->high,  measured->library_ns};
}

std::string step_kernels_text(const analysis::Profile& profile, const std::vector<StepKernel>& kernels) {
  const double iteration_ms = profile.iteration.ms.value;
  std::string text =
      fmt::format("{}, {}, torch {}; iteration {}\n", printable(profile.environment.device_name),
                  plural(profile.environment.threads, "thread"), profile.environment.torch, duration(iteration_ms));
  if (kernels.empty()) {
    return text +
           "No operation that programs can be constructed for takes 2 % of the step or more: `ridgeline kernel --help` "
           "lists which there are, of float32 on the CPU.\n";
  }
  std::size_t width = 0;
  for (const StepKernel& kernel : kernels) {
    width = std::max(width, operations::operation_text(kernel.candidate.call.operation).size());
  }
  text += fmt::format("\n{:<{}}  {:>9} {:>6}  {:>9}  {:>9}  {:<16}  {:>16}  {}\n", "OPERATION", width, "IN STEP", "",
                      "TORCH", "OWN", "RATIO (95 %)", "PREDICTED SAVED", "LINE");
  for (const StepKernel& kernel : kernels) {
    text += row_text(kernel, static_cast<int>(width), iteration_ms);
  }
  return text + ending(kernels, iteration_ms);
}

std::string step_kernels_json(const analysis::Profile& profile, const std::vector<StepKernel>& kernels) {
  json object = {{"device", profile.environment.device_name},
                 {"threads", profile.environment.threads},
                 {"torch", profile.environment.torch},
                 {"iterationMs", profile.iteration.ms.value},
                 {"operations", json::array()}};
  for (const StepKernel& kernel : kernels) {
    object["operations"].push_back(operation_json(kernel));
  }
  return object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace ridgeline::report
