#include "protocol/step_energy.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "protocol/json_fields.h"

namespace ridgeline::protocol {

namespace {

double energy_at(const nlohmann::json& value, const char* name) {
  const auto number = value.at(name).get<double>();
  if (!std::isfinite(number) || number < 0) {
    throw std::invalid_argument(std::string(name) + ": no energy");
  }
  return number;
}

}  // namespace

StepEnergy step_energy_from(const nlohmann::json& value) {
  StepEnergy energy;
  for (const nlohmann::json& counter : value.at("counters")) {
    const auto of = std::ranges::find(kEnergyOfNames, counter.at("of").get<std::string>());
    if (of == kEnergyOfNames.end() || energy.counters.size() >= kMaxEnergyCounters) {
      throw std::invalid_argument("counters: not of energy");
    }
    energy.counters.push_back({counter.at("name").get<std::string>(),
                               static_cast<EnergyOf>(of - kEnergyOfNames.begin()), energy_at(counter, "joules"),
                               energy_at(counter, "idleWatts")});
  }
  energy.joules = energy_at(value, "joules");
  energy.low = energy_at(value, "low");
  energy.high = energy_at(value, "high");
  energy.iterations = member<int>(value, "iterations");
  energy.rounds = member<int>(value, "rounds");
  energy.iteration_ms = energy_at(value, "iterationMs");
  if (energy.counters.empty() || energy.iterations < 1 || energy.rounds < 1 || energy.iteration_ms <= 0) {
    throw std::invalid_argument("nothing was measured");
  }
  return energy;
}

}  // namespace ridgeline::protocol
