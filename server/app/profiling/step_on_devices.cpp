#include "app/profiling/step_on_devices.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "analysis/memory/listed_requests.h"
#include "app/profiling/batch_changes.h"
#include "app/profiling/known_device.h"
#include "base/file.h"
#include "operations/device/data_sheets.h"
#include "operations/estimators/device_prediction.h"
#include "operations/estimators/estimator_file.h"
#include "operations/estimators/largest_batch.h"
#include "operations/table/time_csv.h"

namespace ridgeline::app {

namespace {

using operations::DeviceKind;
using operations::Estimators;
using operations::ListedStep;
using operations::ListedTime;

constexpr int kMostBatchSize = 1 << 24;  ///< whose step is listed
constexpr int kLargestBatch = 1 << 28;   ///< that is looked at for what fits
/// What a process holds of a GPU beside its caching allocator: CUDA's context, and the libraries' kernels.
constexpr double kLeastContext = 0.2 * (1U << 30U);
constexpr double kMostContext = 0.8 * (1U << 30U);

/// What the table knows on a device that it names, by step and operation.
struct TimesOn {
  std::string name;
  std::optional<operations::Device> sheet;
  std::vector<std::vector<std::optional<ListedTime>>> times{};
};

/// Steps as a kind of device runs them, and what is known of their operations.
struct KnownSteps {
  std::vector<ListedStep> steps;
  std::vector<TimesOn> known;
  std::vector<operations::HeldAt> held{};  ///< at more batch sizes than steps are listed of; empty: not known
};

operations::HeldBytes held_for(std::span<const std::int64_t> requests) {
  const analysis::ReservedRange reserved = analysis::reserved_on_any_gpu(requests);
  return {static_cast<double>(reserved.low) + kLeastContext, static_cast<double>(reserved.high) + kMostContext};
}

ListedStep listed_step(const protocol::Captured& captured, DeviceKind kind) {
  ListedStep step{.batch_size = captured.batch_size};
  for (const std::uint64_t peak : captured.peak_bytes) {
    step.peak_bytes = std::max(step.peak_bytes.value_or(0), peak);
  }
  std::map<int, int> counts;
  for (const protocol::CapturedOperation& operation : captured.step->operations) {
    if (operation.key < 0) {
      ++step.not_listed;
    } else {
      ++counts[operation.key];
    }
  }
  for (const auto& [key, count] : counts) {
    step.operations.emplace_back(operations::key_on(captured.step->keys[static_cast<std::size_t>(key)],
                                                    kind == DeviceKind::kGpu ? "cuda" : "cpu"),
                                 count);
  }
  return step;
}

/// Of the listed steps, and at twice the batch size of the largest of them, and so on, until `capacity` is passed.
std::vector<operations::HeldAt> held_at_sizes(const std::vector<protocol::Captured>& captured, double capacity) {
  std::vector<analysis::ListedRequests> listed;
  for (const protocol::Captured& one : captured) {
    if (one.step && !one.requests.empty()) {
      listed.push_back({one.batch_size, one.requests});
    }
  }
  std::ranges::sort(listed, {}, &analysis::ListedRequests::batch_size);
  std::vector<operations::HeldAt> held;
  for (const analysis::ListedRequests& one : listed) {
    held.push_back({one.batch_size, held_for(one.requests)});
  }
  const auto line = analysis::request_line(listed);
  if (!line) {
    return held;
  }
  for (int size = 2 * held.back().batch_size; size < kLargestBatch && held.back().held.low <= capacity; size *= 2) {
    held.push_back({size, held_for(analysis::requests_at(*line, size))});
  }
  return held;
}

double largest_capacity(const std::vector<NamedDevice>& devices) {
  double largest = 0;
  for (const NamedDevice& one : devices) {
    if (one.device.kind == DeviceKind::kGpu && one.device.memory_capacity_bytes) {
      largest = std::max(largest, one.device.memory_capacity_bytes->value);
    }
  }
  return largest;
}

std::vector<ListedStep> listed_steps(const std::vector<protocol::Captured>& captured, DeviceKind kind) {
  std::vector<ListedStep> steps;
  for (const protocol::Captured& one : captured) {
    if (one.step) {
      steps.push_back(listed_step(one, kind));
    }
  }
  return steps;
}

/// A step listed for a GPU, as it would be listed for a device of `kind`.
ListedStep listed_for(const ListedStep& on_gpu, DeviceKind kind) {
  if (kind == DeviceKind::kGpu) {
    return on_gpu;
  }
  ListedStep step = on_gpu;
  step.operations.clear();
  for (const operations::CountedOperation& operation : on_gpu.operations) {
    step.operations.emplace_back(operations::key_on(operation.key, "cpu"), operation.count, operation.recorded_ns);
  }
  return step;
}

std::vector<std::string> keys_of(const ListedStep& step) {
  std::vector<std::string> keys;
  for (const operations::CountedOperation& operation : step.operations) {
    keys.push_back(operation.key);
  }
  return keys;
}

bool is_name_of(const TimesOn& times, const operations::Device& device) {
  return times.name == device.name || (times.sheet && times.sheet->name == device.name);
}

base::Result<KnownSteps> known_steps(std::vector<ListedStep> steps, DeviceKind kind,
                                     const std::vector<NamedDevice>& devices, operations::OperationTable& table) {
  KnownSteps all{std::move(steps), {}};
  const auto names = table.devices();
  if (!names) {
    return names.error();
  }
  for (const std::string& name : *names) {
    TimesOn on{name, operations::find_data_sheet(name)};
    const bool is_asked =
        std::ranges::any_of(devices, [&](const NamedDevice& one) { return is_name_of(on, one.device); });
    if (!is_asked && !(on.sheet && kind == DeviceKind::kGpu)) {
      continue;
    }
    for (const ListedStep& step : all.steps) {
      auto found = table.find_on(name, keys_of(step));
      if (!found) {
        return found.error();
      }
      on.times.push_back(std::move(*found));
    }
    all.known.push_back(std::move(on));
  }
  return all;
}

/// What the trace knows of an operation.
void add_recorded(operations::KnownOfStep& known, std::size_t operation, const ListedStep& step,
                  const operations::Device& device) {
  const operations::RecordedOn& on = *step.recorded_on;
  const double ns = step.operations[operation].recorded_ns;
  if (on.device.name == device.name) {
    known.measured[operation] =
        ListedTime{{device.name, 0, ""}, {.key = "", .ns = ns, .low = ns * on.low, .high = ns * on.high}, 0};
  } else {
    known.elsewhere[operation].push_back({&on.device, ns});
  }
}

/// The known times of a step's operations on a device, and elsewhere.
operations::KnownOfStep known_of(const KnownSteps& all, std::size_t step, const operations::Device& device) {
  const std::size_t operations = all.steps[step].operations.size();
  operations::KnownOfStep known{std::vector<std::optional<ListedTime>>(operations),
                                std::vector<std::vector<operations::TimeElsewhere>>(operations)};
  for (std::size_t i = 0; i < operations && all.steps[step].recorded_on; ++i) {
    add_recorded(known, i, all.steps[step], device);
  }
  for (const TimesOn& on : all.known) {
    const bool is_own = is_name_of(on, device);
    for (std::size_t i = 0; i < operations; ++i) {
      const std::optional<ListedTime>& time = on.times[step][i];
      if (time && is_own && !known.measured[i]) {
        known.measured[i] = time;
      } else if (time && !is_own && on.sheet) {
        known.elsewhere[i].push_back({&*on.sheet, time->time.ns});
      }
    }
  }
  return known;
}

/// The newest that somebody trained for a device of that name; across devices where `name` is empty. Null: none.
const Estimators* find_estimators(const std::vector<Estimators>& all, const std::string& name) {
  const auto found = std::ranges::find_if(all, [&](const Estimators& one) {
    return one.devices.empty() == !name.empty() &&
           (name.empty() || operations::names_device(one.conditions.device, name));
  });
  return found == all.end() ? nullptr : &*found;
}

report::OtherDevice on_device(const NamedDevice& one, const KnownSteps& all,
                              const std::vector<Estimators>& estimators) {
  report::OtherDevice predicted{one.device.name, one.origin, one.price_per_hour, {}};
  const operations::StepEstimators own{find_estimators(estimators, one.device.name), find_estimators(estimators, "")};
  for (std::size_t i = 0; i < all.steps.size(); ++i) {
    predicted.steps.push_back(operations::step_on_device(all.steps[i], one.device, known_of(all, i, one.device), own));
  }
  std::ranges::sort(predicted.steps, {}, &operations::StepOnDevice::batch_size);
  if (const auto& capacity = one.device.memory_capacity_bytes) {
    predicted.capacity_bytes = capacity->value;
    predicted.largest = operations::largest_batch(all.held, capacity->value);
  }
  return predicted;
}

}  // namespace

base::Result<NamedDevice> named_device(const std::string& name) {
  std::error_code problem;
  if (!std::filesystem::is_regular_file(name, problem)) {
    if (auto sheet = operations::find_data_sheet(name)) {
      return NamedDevice{std::move(*sheet), "data sheet"};
    }
    return base::error("No device is called " + name + ". Name one of " + operations::data_sheet_names() +
                       ", or a file that describes one, as `ridgeline machine show --format json` writes it.");
  }
  auto device = read_device(name);
  if (!device) {
    return device.error();
  }
  return NamedDevice{std::move(*device), "file " + name};
}

std::vector<DevicesOfKind> by_kind(const std::vector<NamedDevice>& devices) {
  std::vector<DevicesOfKind> kinds;
  for (const bool are_gpus : {true, false}) {
    DevicesOfKind of{are_gpus, {}};
    std::ranges::copy_if(devices, std::back_inserter(of.devices),
                         [&](const NamedDevice& one) { return (one.device.kind == DeviceKind::kGpu) == are_gpus; });
    if (!of.devices.empty()) {
      kinds.push_back(std::move(of));
    }
  }
  return kinds;
}

std::vector<NamedDevice> all_data_sheets() {
  std::vector<NamedDevice> all;
  for (const operations::Device& device : operations::data_sheets()) {
    all.push_back({device, "data sheet"});
  }
  return all;
}

std::string kept_estimators_path(const std::string& cache) { return cache + "/estimators.json"; }

base::Result<std::vector<Estimators>> kept_estimators(const std::string& cache) {
  const std::string path = kept_estimators_path(cache);
  std::error_code problem;
  if (!std::filesystem::exists(path, problem)) {
    return std::vector<Estimators>();
  }
  const auto text = base::read_text(path, operations::kMaxEstimatorBytes);
  return text ? operations::parse_estimators(*text, path) : base::Result<std::vector<Estimators>>(text.error());
}

std::vector<protocol::ChangeRequest> larger_batches(int batch_size) {
  std::vector<protocol::ChangeRequest> sizes;
  for (int times = 2; times <= 8 && batch_size > 0 && batch_size <= kMostBatchSize / times; times *= 2) {
    sizes.push_back(batch_size_change(batch_size * times));
  }
  return sizes;
}

namespace {

void add_held(KnownSteps& known, const std::vector<operations::HeldAt>& held) {
  known.held = held;
  for (ListedStep& step : known.steps) {
    const auto found = std::ranges::find(held, step.batch_size, &operations::HeldAt::batch_size);
    step.held = found == held.end() ? std::nullopt : std::optional(found->held);
  }
}

/// `list`: the steps for a kind of device. `held`: by them on a GPU, at more batch sizes.
base::Result<std::vector<report::OtherDevice>> answers_for(
    const std::function<std::vector<ListedStep>(DeviceKind)>& list, const std::vector<operations::HeldAt>& held,
    const std::vector<NamedDevice>& devices, operations::OperationTable& table,
    const std::vector<Estimators>& estimators) {
  std::vector<report::OtherDevice> answers;
  std::map<DeviceKind, KnownSteps> known;
  for (const NamedDevice& one : devices) {
    if (!known.contains(one.device.kind)) {
      auto steps = known_steps(list(one.device.kind), one.device.kind, devices, table);
      if (!steps) {
        return steps.error();
      }
      if (one.device.kind == DeviceKind::kGpu) {
        add_held(*steps, held);
      }
      known.emplace(one.device.kind, std::move(*steps));
    }
    answers.push_back(on_device(one, known.at(one.device.kind), estimators));
  }
  return answers;
}

}  // namespace

base::Result<std::vector<report::OtherDevice>> on_devices(const std::vector<protocol::Captured>& captured,
                                                          const std::vector<NamedDevice>& devices,
                                                          operations::OperationTable& table,
                                                          const std::vector<Estimators>& estimators) {
  return answers_for([&](DeviceKind kind) { return listed_steps(captured, kind); },
                     held_at_sizes(captured, largest_capacity(devices)), devices, table, estimators);
}

base::Result<std::vector<report::OtherDevice>> on_devices(const ListedStep& recorded,
                                                          const std::vector<NamedDevice>& devices,
                                                          operations::OperationTable& table,
                                                          const std::vector<Estimators>& estimators) {
  return answers_for([&](DeviceKind kind) { return std::vector{listed_for(recorded, kind)}; }, {}, devices, table,
                     estimators);
}

}  // namespace ridgeline::app
