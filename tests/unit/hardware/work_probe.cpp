// For tests/integration/test_operation_work.py: what the layer says of the keys that torch's operations have.
// Reads keys, one a line, and prints of each "-" or "KIND FLOPS READ_BYTES WRITTEN_BYTES".
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "hardware/operation_work.h"

int main() {
  using namespace ridgeline::hardware;
  for (std::string key; std::getline(std::cin, key);) {
    const auto work = work_of(key);
    fmt::print("{}\n", work ? fmt::format("{} {:.0f} {:.0f} {:.0f}", kind_name(work->kind), work->flops,
                                          work->read_bytes, work->written_bytes)
                            : "-");
  }
  return 0;
}
