// For tests/integration/test_operation_work.py and `./dev bench roofline`: what the layer says of the keys that torch's
// operations have. Reads keys, one a line, and prints of each "-" or "KIND FLOPS READ_BYTES WRITTEN_BYTES"; with the
// name of a data sheet also "ROOFLINE_NS WHITE_BOX_NS", of which the second is the first for what has no tiles; with a
// file of estimators also "ESTIMATE_NS LOW_NS HIGH_NS" of those across devices, zeros where there is none.
//
// For `./dev bench scaling`, with "scale FROM TO", each the name of a data sheet or a file that describes a device:
// reads "NS KEY" a line, the time of an operation on FROM, and prints of each "-" or "NS LOW_NS HIGH_NS": what it is
// scaled to on TO. As if neither had tf32, with which the tables that it is for were not measured.
//
// For `./dev bench ranks`, with "ranks FILE", a cluster: reads "LOW_NS HIGH_NS BUFFER_BYTES GRADIENT_BYTES..." a line,
// the step of one rank, and prints "RANKS LOW_NS HIGH_NS" for each number of ranks.
//
// For `./dev bench padding`, with "padding" as its argument: reads "SIZE CACHE_BYTES" and of each layer "ROWS IN OUT
// FORWARD_NS INPUT_GRADIENT_NS WEIGHT_GRADIENT_NS" a line, and prints "NEXT RATIO BEST RATIO": of the next multiple of
// 8, and of what is worth padding to, or of the size itself.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "app/profiling/step_on_devices.h"
#include "base/file.h"
#include "jobs/predict/steps_of_ranks.h"
#include "operations/device/data_sheets.h"
#include "operations/device/operation_work.h"
#include "operations/device/padding.h"
#include "operations/device/roofline.h"
#include "operations/device/tile_model.h"
#include "operations/estimators/across_devices.h"
#include "operations/estimators/estimator_file.h"
#include "operations/estimators/scaled_time.h"

namespace {

using namespace ridgeline::operations;

using ridgeline::operations::Estimators;

std::vector<Estimators> read_estimators(const char* path) {
  const auto text = ridgeline::base::read_text(path, ridgeline::operations::kMaxEstimatorBytes);
  auto all = text ? ridgeline::operations::parse_estimators(*text, path)
                  : decltype(ridgeline::operations::parse_estimators("", ""))(text.error());
  if (!all) {
    fmt::print(stderr, "{}\n", all.error().message());
    return {};
  }
  std::erase_if(*all, [](const Estimators& one) { return one.devices.empty(); });
  return std::move(*all);
}

std::string estimates(const std::vector<Estimators>& across, const std::string& key, const Device& device) {
  if (across.empty()) {
    return "";
  }
  const auto found = ridgeline::operations::estimate_across_devices(across.front(), key, device);
  return found ? fmt::format(" {:.0f} {:.0f} {:.0f}", found->ns, found->low, found->high) : " 0 0 0";
}

std::string times(const OperationCall& call, const OperationWork& work, const Device& device) {
  const auto bound = plain_roofline(work, device, device.compute_units);
  const auto shape = product_of(call);
  const auto tiles = shape ? estimate_product(*shape, device) : std::nullopt;
  const double ns = bound ? bound->ns : 0;
  return fmt::format(" {:.0f} {:.0f}", ns, tiles ? tiles->ns : ns);
}

int print_paddings() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream given(line);
    std::int64_t size = 0;
    double cache_bytes = 0;
    double now = 0;
    std::vector<LinearLayer> layers;
    given >> size >> cache_bytes;
    for (LinearLayer one;
         given >> one.rows >> one.in >> one.out >> one.forward_ns >> one.input_gradient_ns >> one.weight_gradient_ns;) {
      layers.push_back(one);
      now += one.ns();
    }
    const std::int64_t next = (size + 7) / 8 * 8;
    const auto best = best_padding(layers, size, cache_bytes).value_or(Padded{size, 1});
    fmt::print("{} {:.4f} {} {:.4f}\n", next, predicted_ns(layers, size, next, cache_bytes) / now, best.size,
               best.ratio);
  }
  return 0;
}

std::optional<Device> device_without_tf32(const std::string& name) {
  auto named = ridgeline::app::named_device(name);
  if (!named) {
    fmt::print(stderr, "{}\n", named.error().message());
    return std::nullopt;
  }
  std::erase_if(named->device.peaks, [](const Peak& peak) { return peak.dtype == "tf32"; });
  return std::move(named->device);
}

int print_scaled(const std::string& from_name, const std::string& to_name) {
  const auto from = device_without_tf32(from_name);
  const auto to = device_without_tf32(to_name);
  if (!from || !to) {
    return 1;
  }
  double ns = 0;
  for (std::string key; std::cin >> ns && std::getline(std::cin >> std::ws, key);) {
    const auto call = parse_call(key);
    const auto work = call ? work_of(*call) : std::nullopt;
    const ridgeline::operations::TimeElsewhere elsewhere{&*from, ns};
    const auto found = work ? ridgeline::operations::scaled(*call, *work, *to, {&elsewhere, 1}) : std::nullopt;
    fmt::print("{}\n", found ? fmt::format("{:.0f} {:.0f} {:.0f}", found->ns, found->low, found->high) : "-");
  }
  return 0;
}

int print_ranks(const std::string& path) {
  const auto text = ridgeline::base::read_text(path, std::size_t{1} << 20U);
  const auto cluster = ridgeline::jobs::parse_cluster(text ? *text : "", path);
  if (!cluster) {
    fmt::print(stderr, "{}\n", cluster.error().message());
    return 1;
  }
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream given(line);
    ridgeline::jobs::StepBounds alone;
    ridgeline::protocol::Replica replica;
    alone.high_ns = 0;
    given >> alone.low_ns >> *alone.high_ns >> replica.buffers["float32"];
    for (std::uint64_t bytes = 0; given >> bytes;) {
      replica.gradients.push_back({std::to_string(replica.gradients.size()), bytes, "float32"});
    }
    const auto steps = ridgeline::jobs::steps_of_ranks(alone, replica, *cluster);
    if (!steps) {
      fmt::print(stderr, "{}\n", steps.error().message());
      return 1;
    }
    for (const auto& one : *steps) {
      fmt::print("{} {:.0f} {:.0f}\n", one.ranks, one.step.low_ns, one.step.high_ns.value_or(0));
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "padding") {
    return print_paddings();
  }
  if (argc > 3 && std::string(argv[1]) == "scale") {
    return print_scaled(argv[2], argv[3]);
  }
  if (argc > 2 && std::string(argv[1]) == "ranks") {
    return print_ranks(argv[2]);
  }
  const auto device = argc > 1 ? find_data_sheet(argv[1]) : std::nullopt;
  const auto across = argc > 2 ? read_estimators(argv[2]) : std::vector<Estimators>();
  for (std::string key; std::getline(std::cin, key);) {
    const auto call = parse_call(key);
    const auto work = call ? work_of(*call) : std::nullopt;
    fmt::print("{}{}\n",
               work ? fmt::format("{} {:.0f} {:.0f} {:.0f}", kind_name(work->kind), work->flops, work->read_bytes,
                                  work->written_bytes)
                    : "-",
               work && device ? times(*call, *work, *device) + estimates(across, key, *device) : "");
  }
  return 0;
}
