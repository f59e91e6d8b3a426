// For tests/integration/test_operation_work.py and `./dev bench roofline`: what the layer says of the keys that torch's
// operations have. Reads keys, one a line, and prints of each "-" or "KIND FLOPS READ_BYTES WRITTEN_BYTES"; with the
// name of a data sheet also "ROOFLINE_NS WHITE_BOX_NS", of which the second is the first for what has no tiles.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "hardware/data_sheets.h"
#include "hardware/operation_work.h"
#include "hardware/roofline.h"
#include "hardware/tile_model.h"

namespace {

using namespace ridgeline::hardware;

std::string times(const OperationCall& call, const OperationWork& work, const Device& device) {
  const auto bound = plain_roofline(work, device, device.compute_units);
  const auto shape = product_of(call);
  const auto tiles = shape ? estimate_product(*shape, device) : std::nullopt;
  const double ns = bound ? bound->ns : 0;
  return fmt::format(" {:.0f} {:.0f}", ns, tiles ? tiles->ns : ns);
}

}  // namespace

int main(int argc, char** argv) {
  const auto device = argc > 1 ? find_data_sheet(argv[1]) : std::nullopt;
  for (std::string key; std::getline(std::cin, key);) {
    const auto call = parse_call(key);
    const auto work = call ? work_of(*call) : std::nullopt;
    fmt::print("{}{}\n",
               work ? fmt::format("{} {:.0f} {:.0f} {:.0f}", kind_name(work->kind), work->flops, work->read_bytes,
                                  work->written_bytes)
                    : "-",
               work && device ? times(*call, *work, *device) : "");
  }
  return 0;
}
