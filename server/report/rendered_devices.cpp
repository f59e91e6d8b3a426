#include "report/rendered_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "report/page.h"
#include "report/units.h"

namespace ridgeline::report {

namespace {

using nlohmann::ordered_json;
using operations::StepOnDevice;

constexpr double kSamplesOfCost = 1e6;

const StepOnDevice& step_of(const OtherDevice& device, int batch_size) {
  const auto found = std::ranges::find(device.steps, batch_size, &StepOnDevice::batch_size);
  return found == device.steps.end() ? device.steps.front() : *found;
}

/// The estimate, or the bound where there is none.
double ns_of(const StepOnDevice& step) { return step.ns.value_or(step.low_ns); }

/// Samples of a step; 1 where its batch size is not known: rates and costs are then per step.
int samples_of(const StepOnDevice& step) { return std::max(1, step.batch_size); }

double per_second(const StepOnDevice& step, double ns) { return ns > 0 ? samples_of(step) * 1e9 / ns : 0; }

/// The cost of `samples` samples (or steps), in the currency of the price.
double cost(const OtherDevice& device, const StepOnDevice& step, double ns, double samples) {
  return *device.price_per_hour / 3600 * samples / samples_of(step) * ns / 1e9;
}

std::string time_text(const StepOnDevice& step) {
  if (!step.ns) {
    return "at least " + duration(step.low_ns / 1e6);
  }
  return fmt::format("{} ({} to {})", duration(*step.ns / 1e6), duration(step.low_ns / 1e6),
                     duration(*step.high_ns / 1e6));
}

std::string speed_text(const StepOnDevice& step) {
  return (step.ns ? "" : "at most ") + figure(per_second(step, ns_of(step)));
}

std::string cost_text(const OtherDevice& device, const StepOnDevice& step, double samples) {
  if (!device.price_per_hour) {
    return "–";
  }
  const double amount = cost(device, step, ns_of(step), samples);
  return (step.ns ? "" : "at least ") + (amount < 1 ? fmt::format("{:.3g}", amount) : figure(amount));
}

std::string fits_text(const OtherDevice& device, const StepOnDevice& step) {
  if (!step.held || !device.capacity_bytes) {
    return !step.fits ? "not known" : *step.fits ? "its tensors do" : "no";
  }
  return !step.fits ? "perhaps" : *step.fits ? "yes" : "no";
}

std::string range_text(const operations::HeldBytes& held) {
  return fmt::format("{} to {}", bytes(held.low), bytes(held.high));
}

/// A line; empty where nothing is known.
std::string memory_text(const OtherDevice& device, const StepOnDevice& step) {
  if (!step.held || !device.capacity_bytes) {
    return "";
  }
  std::string text = fmt::format("      holds {} of {}", range_text(*step.held), bytes(*device.capacity_bytes));
  if (device.largest && device.largest->high == 0) {
    text += "; not even a batch of 1 fits";
  } else if (device.largest && device.largest->low == device.largest->high) {
    text += fmt::format("; the largest batch that fits: ≈ {}", device.largest->high);
  } else if (device.largest) {
    text += fmt::format("; the largest batch that fits: {} to {}", device.largest->low, device.largest->high);
  }
  return text + "\n";
}

std::string sources_text(const OtherDevice& device, const StepOnDevice& step) {
  const operations::TimeBySource& from = step.sources;
  std::string text = fmt::format("{} operations measured, {} estimated", from.measured, from.estimated);
  if (from.across > 0) {
    text += fmt::format(", {} estimated from other GPUs", from.across);
  }
  if (from.scaled > 0) {
    text += fmt::format(", {} scaled from another GPU", from.scaled);
  }
  text += fmt::format(", {} by the roofline of its {}", from.bounded, printable(device.origin));
  if (from.unknown > 0) {
    text += fmt::format(", {} not modelled", from.unknown);
  }
  return text;
}

ordered_json step_json(const OtherDevice& device, const StepOnDevice& step, std::optional<std::int64_t> dataset) {
  const auto optional = [](const std::optional<double>& value, double unit) {
    return value ? ordered_json(*value / unit) : ordered_json(nullptr);
  };
  const auto priced = [&](double samples) {
    if (!device.price_per_hour) {
      return ordered_json(nullptr);
    }
    return ordered_json{{"low", cost(device, step, step.low_ns, samples)},
                        {"high", step.high_ns ? ordered_json(cost(device, step, *step.high_ns, samples)) : nullptr}};
  };
  const bool has_samples = step.batch_size > 0;
  ordered_json json = {
      {"batchSize", has_samples ? ordered_json(step.batch_size) : nullptr},
      {"ms", {{"value", optional(step.ns, 1e6)}, {"low", step.low_ns / 1e6}, {"high", optional(step.high_ns, 1e6)}}},
      {"samplesPerSecond",
       has_samples ? ordered_json{{"low", step.high_ns ? ordered_json(per_second(step, *step.high_ns)) : nullptr},
                                  {"high", per_second(step, step.low_ns)}}
                   : ordered_json(nullptr)},
      {"peakBytes", step.peak_bytes ? ordered_json(*step.peak_bytes) : nullptr},
      {"heldBytes", step.held
                        ? ordered_json{{"low", std::llround(step.held->low)}, {"high", std::llround(step.held->high)}}
                        : ordered_json(nullptr)},
      {"fits", step.fits ? ordered_json(*step.fits) : ordered_json(nullptr)},
      {"costPerMillionSamples", has_samples ? priced(kSamplesOfCost) : nullptr},
      {"costPerEpoch", dataset ? priced(static_cast<double>(*dataset)) : ordered_json(nullptr)},
      {"operations",
       {{"measured", step.sources.measured},
        {"estimated", step.sources.estimated},
        {"estimatedAcrossDevices", step.sources.across},
        {"scaled", step.sources.scaled},
        {"bounded", step.sources.bounded},
        {"notModelled", step.sources.unknown}}}};
  if (!has_samples) {
    json["costPerMillionSteps"] = priced(kSamplesOfCost);
  }
  return json;
}

/// With the samples of all ranks; costs are of all devices.
ordered_json ranks_json(const OtherDevice& device, const StepOnDevice& step, const StepOnRanks& on,
                        std::optional<std::int64_t> dataset) {
  const auto high = [&](auto value_of) {
    return on.high_ns ? ordered_json(value_of(*on.high_ns)) : ordered_json(nullptr);
  };
  const auto count = static_cast<double>(on.ranks);
  const auto rate = [&](double ns) { return count * per_second(step, ns); };
  const auto priced = [&](double samples) {
    const auto cost_of = [&](double ns) { return cost(device, step, ns, samples); };
    return device.price_per_hour ? ordered_json{{"low", cost_of(on.low_ns)}, {"high", high(cost_of)}}
                                 : ordered_json(nullptr);
  };
  return {{"ranks", on.ranks},
          {"ms", {{"low", on.low_ns / 1e6}, {"high", high([](double ns) { return ns / 1e6; })}}},
          {"samplesPerSecond", {{"low", high(rate)}, {"high", rate(on.low_ns)}}},
          {"costPerMillionSamples", priced(kSamplesOfCost)},
          {"costPerEpoch", dataset ? priced(static_cast<double>(*dataset)) : ordered_json(nullptr)}};
}

std::string ranks_text(const StepOnDevice& step, const StepOnRanks& on) {
  const auto rate = [&](double ns) { return static_cast<double>(on.ranks) * per_second(step, ns); };
  if (!on.high_ns) {
    return fmt::format("      on {}: at least {}, at most {} samples/s\n", on.ranks, duration(on.low_ns / 1e6),
                       figure(rate(on.low_ns)));
  }
  return fmt::format("      on {}: {} to {}, {} to {} samples/s\n", on.ranks, duration(on.low_ns / 1e6),
                     duration(*on.high_ns / 1e6), figure(rate(*on.high_ns)), figure(rate(on.low_ns)));
}

ordered_json recorded_json(const RecordedOnDevice& recorded) {
  return {
      {"device", recorded.device},
      {"description", recorded.description},
      {"steps", recorded.has_steps ? ordered_json(recorded.steps) : nullptr},
      {"ms", {{"value", recorded.ns / 1e6}, {"low", recorded.low_ns / 1e6}, {"high", recorded.high_ns / 1e6}}},
      {"communicationMs", recorded.communication_ns / 1e6},
      {"transferMs", recorded.transfer_ns / 1e6},
      {"operations", recorded.operations},
      {"notDescribed",
       {{"operations", recorded.not_described}, {"ms", recorded.not_described_ns / 1e6}, {"names", recorded.names}}}};
}

/// What was recorded, and what of it the answer does not have.
std::string recorded_text(const RecordedOnDevice& recorded) {
  std::string text =
      fmt::format("  Recorded on {} ({}): ", printable(recorded.device), printable(recorded.description));
  if (!recorded.has_steps) {
    text += fmt::format("{} of operations in the whole trace, which has no steps.\n", duration(recorded.ns / 1e6));
  } else if (recorded.steps == 1) {
    text += fmt::format("{} of operations in the one step.\n", duration(recorded.ns / 1e6));
  } else {
    text += fmt::format("{} of operations in the middle one of {} steps ({} to {}).\n", duration(recorded.ns / 1e6),
                        recorded.steps, duration(recorded.low_ns / 1e6), duration(recorded.high_ns / 1e6));
  }
  if (recorded.communication_ns + recorded.transfer_ns > 0) {
    text += fmt::format("  Left out: {} of communication, {} of copies from and to the host.\n",
                        duration(recorded.communication_ns / 1e6), duration(recorded.transfer_ns / 1e6));
  }
  if (recorded.not_described > 0) {
    text += fmt::format("  {} of {} operations have no model, {} of the time: ", recorded.not_described,
                        recorded.operations, share(recorded.not_described_ns / recorded.ns));
    for (std::size_t i = 0; i < recorded.names.size(); ++i) {
      text += (i > 0 ? ", " : "") + printable(recorded.names[i]);
    }
    text += "\n";
  }
  return text + "\n";
}

}  // namespace

void sort_devices(OtherDevices& devices) {
  const bool priced =
      std::ranges::all_of(devices.devices, [](const OtherDevice& one) { return one.price_per_hour.has_value(); });
  std::ranges::stable_sort(devices.devices, {}, [&](const OtherDevice& one) {
    const StepOnDevice& step = step_of(one, devices.batch_size);
    return std::pair(!step.ns.has_value(), priced ? cost(one, step, ns_of(step), 1) : ns_of(step) / samples_of(step));
  });
}

std::string text_other_devices(const OtherDevices& devices) {
  const bool has_samples = devices.batch_size > 0;
  std::string text = fmt::format("{} · {} · predicted for {}\n\n", printable(devices.entry),
                                 has_samples ? fmt::format("batch {}", devices.batch_size) : "batch size not known",
                                 devices.recorded ? "other devices" : "devices that it did not run on");
  if (devices.recorded) {
    text += recorded_text(*devices.recorded);
  }
  text += fmt::format("  {:<22}{:<34}{:>20}{:>21}  {}\n", "DEVICE", "OPERATIONS OF A STEP",
                      has_samples ? "SAMPLES/S" : "STEPS/S",
                      devices.dataset_size ? "COST OF AN EPOCH"
                      : has_samples        ? "COST OF A MILLION"
                                           : "COST OF 10^6 STEPS",
                      "FITS");
  const double samples = devices.dataset_size ? static_cast<double>(*devices.dataset_size) : kSamplesOfCost;
  bool only_bounds = false;
  bool across = false;
  bool on_ranks = false;
  for (const OtherDevice& device : devices.devices) {
    const StepOnDevice& step = step_of(device, devices.batch_size);
    if (!step.ns && !std::exchange(only_bounds, true)) {
      text += "  Only bounds are known of what follows: they do not say which of these is faster.\n";
    }
    text += fmt::format("  {:<22}{:<34}{:>20}{:>21}  {}\n", printable(device.name), time_text(step), speed_text(step),
                        cost_text(device, step, samples), fits_text(device, step));
    text += "      " + sources_text(device, step) + "\n";
    text += memory_text(device, step);
    across |= step.sources.across > 0;
    for (const StepOnDevice& other : device.steps) {
      if (other.batch_size != step.batch_size) {
        text += fmt::format("      batch {}: {}, {} samples/s, fits: {}{}\n", other.batch_size, time_text(other),
                            speed_text(other), fits_text(device, other),
                            other.held ? fmt::format(" ({})", range_text(*other.held)) : "");
      }
    }
    for (const StepOnRanks& on : device.ranks) {
      text += ranks_text(step, on);
    }
    on_ranks |= !device.ranks.empty();
  }
  text +=
      "\nThe time of operations on the device alone: what the host takes to launch them, loading data, and\n"
      "communication are not in it. \"At least\": where too little was measured there, bounds that no run passes, and\n"
      "the low ends of what is estimated or scaled; real runs can be many times slower.\n"
      "Memory: what the process holds on a GPU, predicted. From: its tensors as PyTorch's caching allocator places\n"
      "them, and a small context; to: 15 % more for what operations need for themselves, and a large one.\n";
  if (on_ranks) {
    text +=
        "\"On 2\": data-parallel on so many, communication included, with the same samples on each. From: backward\n"
        "hides all of it that it can; to: it hides none, and the step takes a tenth longer beside it.\n";
  }
  if (across) {
    text +=
        "\"Estimated from other GPUs\": the ranges held when each of these was left out; real times on a GPU unlike "
        "them\n"
        "can be outside.\n";
  }
  return text;
}

std::string json_other_devices(const OtherDevices& devices) {
  ordered_json all = ordered_json::array();
  for (const OtherDevice& device : devices.devices) {
    ordered_json steps = ordered_json::array();
    for (const StepOnDevice& step : device.steps) {
      steps.push_back(step_json(device, step, devices.dataset_size));
    }
    all.push_back(
        {{"name", device.name},
         {"description", device.origin},
         {"pricePerHour", device.price_per_hour ? ordered_json(*device.price_per_hour) : nullptr},
         {"largestBatch", device.largest ? ordered_json{{"low", device.largest->low}, {"high", device.largest->high}}
                                         : ordered_json(nullptr)},
         {"steps", std::move(steps)}});
    for (const StepOnRanks& on : device.ranks) {
      const StepOnDevice& step = step_of(device, devices.batch_size);
      all.back()["ranks"].push_back(ranks_json(device, step, on, devices.dataset_size));
    }
  }
  ordered_json json = {{"entry", devices.entry},
                       {"batchSize", devices.batch_size > 0 ? ordered_json(devices.batch_size) : nullptr},
                       {"devices", std::move(all)}};
  if (devices.recorded) {
    json["recorded"] = recorded_json(*devices.recorded);
  }
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace ridgeline::report
