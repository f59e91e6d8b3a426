#include "app/budgets/quantity_text.h"

#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "base/text.h"

namespace ridgeline::app {

namespace {

using Unit = std::pair<std::string_view, double>;

constexpr Unit kTimes[] = {{"µs", 1e-3}, {"us", 1e-3}, {"ms", 1}, {"s", 1e3}, {"min", 6e4}};
constexpr Unit kSizes[] = {{"B", 1},
                           {"kB", 1e3},
                           {"MB", 1e6},
                           {"GB", 1e9},
                           {"KiB", 1024.0},
                           {"MiB", 1024.0 * 1024},
                           {"GiB", 1024.0 * 1024 * 1024},
                           {"TiB", 1024.0 * 1024 * 1024 * 1024}};
constexpr Unit kRates[] = {{"samples/s", 1}};
constexpr Unit kEnergies[] = {{"mJ", 1e-3}, {"J", 1}, {"kJ", 1e3}, {"Wh", 3600}};
constexpr Unit kShares[] = {{"%", 0.01}};

std::span<const Unit> units_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::kTime:
      return kTimes;
    case Quantity::kThroughput:
      return kRates;
    case Quantity::kPeakMemory:
      return kSizes;
    case Quantity::kEnergy:
    case Quantity::kEnergyPerSample:
      return kEnergies;
    case Quantity::kSlowdown:
    case Quantity::kGrowth:
      break;
  }
  return kShares;
}

}  // namespace

base::Result<double> parse_quantity(std::string_view text, Quantity quantity) {
  double number = 0;
  const std::string_view all = base::trimmed(text);
  const auto [end, problem] = std::from_chars(all.data(), all.data() + all.size(), number);
  const std::string_view unit = base::trimmed(all.substr(static_cast<std::size_t>(end - all.data())));
  std::string known;
  for (const auto& [name, factor] : units_of(quantity)) {
    if (problem == std::errc() && std::isfinite(number) && number >= 0 && unit == name) {
      return number * factor;
    }
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  return base::error("\"" + std::string(text) + "\" is not a number, from 0 on, with one of the units " + known);
}

}  // namespace ridgeline::app
