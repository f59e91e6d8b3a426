// Recordings: what a worker that runs any code may send. Refused, or harmless, and the sums of its profile hold.
#include <cmath>
#include <cstring>
#include <string>

#include "analysis/build_profile.h"
#include "protocol/recording.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/protocol/small_recording.h"

namespace {

using namespace ridgeline;

void look_at(const recording::Recording& recording) {
  analysis::RunInput input;
  input.scope = {"/project", {"/env"}};
  input.batch_size = 1;
  input.runs = {{1, 0, {1e6, 2e6}, recording}};
  const analysis::Profile profile = analysis::build_profile(input);
  std::uint64_t categories = 0;
  for (const std::uint64_t bytes : profile.by_category) {
    categories += bytes;
  }
  CLAIM(categories == profile.peak_bytes);
  CLAIM(std::isfinite(profile.scale));
}

}  // namespace

/// 0 and the bytes themselves; else a valid recording, and places in it with what stands there instead.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  std::string bytes;
  if (input.byte() == 0) {
    bytes = input.rest();
  } else {
    bytes = recording::serialise(recording::testing::small_columns());
    while (!input.empty()) {
      const std::size_t place = input.number(bytes.size() - 1);
      const std::string_view other = input.take(1 + input.byte() % 8);
      std::memcpy(bytes.data() + place, other.data(), std::min(other.size(), bytes.size() - place));
    }
  }
  if (const auto recording = recording::Recording::parse(std::move(bytes))) {
    look_at(*recording);
  } else {
    CLAIM(!recording.error().message().empty());
  }
  return 0;
}
