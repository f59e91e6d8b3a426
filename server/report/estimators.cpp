#include "report/estimators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/page.h"
#include "report/units.h"

namespace ridgeline::report {

namespace {

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

nlohmann::ordered_json models_json(const TrainingReport& report) {
  nlohmann::ordered_json models = nlohmann::ordered_json::array();
  for (const operations::OperatorModel& model : report.models) {
    nlohmann::ordered_json errors;
    for (std::size_t i = 0; i < model.errors.size(); ++i) {
      errors[operations::kModelKinds.at(i)] = model.errors.at(i);
    }
    models.push_back({{"mode", model.group.mode},
                      {"selected", model.group.selected},
                      {"rows", model.rows},
                      {"kind", operations::kind_of(model)},
                      {"crossValidationErrors", std::move(errors)}});
  }
  return models;
}

nlohmann::ordered_json error_json(const operations::HeldOutError& error) {
  const auto of_estimates = [&](double value) {
    return error.refused == error.rows ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(value);
  };
  return {{"operation", error.operation},
          {"rows", error.rows},
          {"refused", error.refused},
          {"meanError", of_estimates(error.mean)},
          {"medianError", of_estimates(error.median)},
          {"worstError", of_estimates(error.worst)},
          {"withinInterval", of_estimates(error.within)},
          {"sampleSpread", of_estimates(error.sample_spread)}};
}

std::string dash_or_percent(const std::optional<double>& share) { return share ? percent(*share) : "–"; }

}  // namespace

std::string text_training(const TrainingReport& report) {
  std::string text = fmt::format("{} times on {} ({} threads, torch {}) trained {} models.\n\n", report.rows,
                                 printable(report.conditions.device), report.conditions.threads,
                                 printable(report.conditions.torch), report.models.size());
  text += fmt::format("  {:<44}{:>8}{:>9}{:>10}{:>10}{:>10}{:>9}\n", "HELD OUT", "TIMES", "REFUSED", "MEAN ERR.",
                      "MEDIAN", "WORST", "IN 95 %");
  for (const operations::HeldOutError& error : report.held_out) {
    text += fmt::format("  {:<44}{:>8}{:>9}", printable(error.operation), error.rows, error.refused);
    text += error.rows == error.refused
                ? std::string(" nothing to compare")
                : fmt::format("{:>10}{:>10}{:>10}{:>9}", percent(error.mean), percent(error.median),
                              percent(error.worst), percent(error.within));
    text += "\n";
  }
  if (report.held_out.empty()) {
    text += "  No time was held out: their errors are not known.\n";
  }
  return text;
}

std::string json_training(const TrainingReport& report) {
  nlohmann::ordered_json held_out = nlohmann::ordered_json::array();
  for (const operations::HeldOutError& error : report.held_out) {
    held_out.push_back(error_json(error));
  }
  const nlohmann::ordered_json json = {{"device", report.conditions.device}, {"threads", report.conditions.threads},
                                       {"torch", report.conditions.torch},   {"rows", report.rows},
                                       {"models", models_json(report)},      {"heldOut", std::move(held_out)}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string text_training_across_devices(const TrainingReport& report) {
  std::string text = fmt::format("{} times on {} trained {} models across devices.\n\n", report.rows,
                                 printable(fmt::format("{}", fmt::join(report.devices, ", "))), report.models.size());
  text += fmt::format("  {:<18}{:<30}{:>7}{:>9}{:>11}{:>10}{:>10}{:>9}{:>10}{:>10}\n", "HELD OUT", "", "TIMES",
                      "REFUSED", "MEAN ERR.", "MEDIAN", "WORST", "IN 95 %", "ROOFLINE", "SCALED");
  for (const operations::DeviceError& one : report.across) {
    const operations::HeldOutError& error = one.error;
    text += fmt::format("  {:<18}{:<30}{:>7}{:>9}", one.device + (one.trained ? "" : " *"), printable(error.operation),
                        error.rows, error.refused);
    text += error.rows == error.refused
                ? std::string(" nothing to compare\n")
                : fmt::format("{:>11}{:>10}{:>10}{:>9}{:>10}{:>10}\n", percent(error.mean), percent(error.median),
                              percent(error.worst), percent(error.within), dash_or_percent(one.roofline),
                              dash_or_percent(one.scaled));
  }
  text +=
      "\n*: nothing of this device was trained with. ROOFLINE: mean error of the bound on the same times; SCALED: of "
      "wave\n"
      "scaling (Habitat) from the time on another device, where it has the operation.\n";
  return text;
}

std::string json_training_across_devices(const TrainingReport& report) {
  const auto optional = [](const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  nlohmann::ordered_json held_out = nlohmann::ordered_json::array();
  for (const operations::DeviceError& one : report.across) {
    nlohmann::ordered_json item = {{"device", one.device}, {"trained", one.trained}};
    item.update(error_json(one.error));
    item["rooflineError"] = optional(one.roofline);
    item["scaledError"] = optional(one.scaled);
    held_out.push_back(std::move(item));
  }
  const nlohmann::ordered_json json = {{"devices", report.devices},
                                       {"rows", report.rows},
                                       {"models", models_json(report)},
                                       {"heldOut", std::move(held_out)}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace ridgeline::report
