// Traces of others, and reports in SQLite: imported or refused in words, and the profile of what is imported closes.
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/build_profile.h"
#include "ingest/import_error.h"
#include "ingest/import_trace.h"
#include "ingest/nsys_report.h"
#include "ingest/read_trace.h"
#include "store/foreign_tables.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace ridgeline;

constexpr imports::TraceLimits kLimits{4096, 1U << 20U, 1U << 22U};
constexpr store::ForeignLimits kTableLimits{1U << 22U, 1U << 16U, 1U << 22U, 1U << 20U};

imports::ByteSource in_pieces(std::string_view bytes, std::size_t piece) {
  return [bytes, piece](std::span<char> buffer) mutable {
    const std::size_t count = bytes.copy(buffer.data(), std::min(piece, buffer.size()));
    bytes.remove_prefix(count);
    return count;
  };
}

imports::Trace read(std::string_view bytes, std::size_t piece) {
  if (!store::ForeignTables::is_sqlite(bytes)) {
    return imports::read_trace(imports::decompressed(in_pieces(bytes, piece), kLimits.file_bytes), kLimits);
  }
  try {
    auto tables = store::ForeignTables::of_bytes(std::string(bytes), kTableLimits);
    return imports::read_nsys(tables, {}, kLimits);
  } catch (const store::ForeignTablesError& problem) {
    throw imports::ImportError(problem.what());
  }
}

/// A trace means the same however its bytes come.
void read_otherwise(std::string_view bytes, const imports::Trace& trace) {
  if (store::ForeignTables::is_sqlite(bytes)) {
    return;
  }
  const imports::Trace other = read(bytes, 1U << 20U);
  CLAIM(other.events.size() == trace.events.size());
  CLAIM(other.damage.places == trace.damage.places && other.damage.lost == trace.damage.lost);
  CLAIM(other.damage.repaired == trace.damage.repaired && other.damage.first == trace.damage.first);
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
    const std::string_view bytes = input.rest();
    imports::Trace trace = read(bytes, piece);
    read_otherwise(bytes, trace);
    look_at(imports::import_trace(std::move(trace), options));
  } catch (const imports::ImportError& problem) {
    CLAIM(!std::string_view(problem.what()).empty());
  }
  return 0;
}
