// For tests/integration/test_operation_work.py and `./dev bench roofline`: what the layer says of the keys that torch's
// operations have. Reads keys, one a line, and prints of each "-" or "KIND FLOPS READ_BYTES WRITTEN_BYTES"; with the
// name of a data sheet also "ROOFLINE_NS WHITE_BOX_NS", of which the second is the first for what has no tiles; with a
// file of estimators also "ESTIMATE_NS LOW_NS HIGH_NS" of those across devices, zeros where there is none.
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

#include "base/file.h"
#include "estimate/across_devices.h"
#include "estimate/estimator_file.h"
#include "hardware/data_sheets.h"
#include "hardware/operation_work.h"
#include "hardware/padding.h"
#include "hardware/roofline.h"
#include "hardware/tile_model.h"

namespace {

using namespace ridgeline::hardware;

using ridgeline::estimate::Estimators;

std::vector<Estimators> read_estimators(const char* path) {
  const auto text = ridgeline::base::read_text(path, ridgeline::estimate::kMaxEstimatorBytes);
  auto all = text ? ridgeline::estimate::parse_estimators(*text, path)
                  : decltype(ridgeline::estimate::parse_estimators("", ""))(text.error());
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
  const auto found = ridgeline::estimate::estimate_across(across.front(), key, device);
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

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "padding") {
    return print_paddings();
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
