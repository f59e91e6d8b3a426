// Traces of others: imported or refused in words, and the profile of what is imported closes.
#include <cmath>
#include <string>

#include "analysis/build_profile.h"
#include "imports/import_error.h"
#include "imports/import_trace.h"
#include "imports/read_trace.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace ridgeline;

constexpr imports::TraceLimits kLimits{4096, 1U << 20U, 1U << 22U};

imports::ByteSource in_pieces(std::string_view bytes, std::size_t piece) {
  return [bytes, piece](std::span<char> buffer) mutable {
    const std::size_t count = bytes.copy(buffer.data(), std::min(piece, buffer.size()));
    bytes.remove_prefix(count);
    return count;
  };
}

void look_at(const analysis::RunInput& input) {
  const analysis::Profile profile = analysis::build_profile(input);
  const double whole = profile.iteration.ms.value;
  CLAIM(std::isfinite(whole) && whole >= 0);
  if (profile.device.has_value()) {
    const analysis::DeviceTime& device = *profile.device;
    CLAIM(std::abs(device.kernel_ms + device.copy_ms + device.idle_ms - whole) <= 1e-6 * whole + 1e-9);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::size_t piece = 1 + input.number(2000);
  imports::ImportOptions options{"/traces/t.json", "/project", "/elsewhere", {}, 4};
  options.exists = [](const std::string& path) { return path == "/project/model.py"; };
  try {
    const imports::ByteSource source = imports::decompressed(in_pieces(input.rest(), piece), kLimits.file_bytes);
    look_at(imports::import_trace(imports::read_trace(source, kLimits), options));
  } catch (const imports::ImportError& problem) {
    CLAIM(!std::string_view(problem.what()).empty());
  }
  return 0;
}
