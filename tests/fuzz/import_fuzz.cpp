// Traces of others, and reports in SQLite: imported or refused in words, and the profile of what is imported closes.
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/build_profile.h"
#include "analysis/memory/analyse_snapshot.h"
#include "ingest/import_error.h"
#include "ingest/import_trace.h"
#include "ingest/nsys_report.h"
#include "ingest/read_memory_snapshot.h"
#include "ingest/read_trace.h"
#include "store/foreign_tables.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace ridgeline;

constexpr ingest::TraceLimits kLimits{4096, 1U << 20U, 1U << 22U};
constexpr store::ForeignLimits kTableLimits{1U << 22U, 1U << 16U, 1U << 22U, 1U << 20U};

ingest::ByteSource in_pieces(std::string_view bytes, std::size_t piece) {
  return [bytes, piece](std::span<char> buffer) mutable {
    const std::size_t count = bytes.copy(buffer.data(), std::min(piece, buffer.size()));
    bytes.remove_prefix(count);
    return count;
  };
}

ingest::Trace read(std::string_view bytes, std::size_t piece) {
  if (!store::ForeignTables::is_sqlite(bytes)) {
    return ingest::read_trace(ingest::decompressed(in_pieces(bytes, piece), kLimits.file_bytes), kLimits);
  }
  try {
    auto tables = store::ForeignTables::of_bytes(std::string(bytes), kTableLimits);
    return ingest::read_nsys(tables, {}, kLimits);
  } catch (const store::ForeignTablesError& problem) {
    throw ingest::ImportError(problem.what());
  }
}

/// A trace means the same however its bytes come.
void read_otherwise(std::string_view bytes, const ingest::Trace& trace) {
  if (store::ForeignTables::is_sqlite(bytes)) {
    return;
  }
  const ingest::Trace other = read(bytes, 1U << 20U);
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

/// What is alive adds up, by line and by use.
void look_at_snapshot(std::string_view bytes, std::size_t piece) {
  const auto history = ingest::read_memory_snapshot(in_pieces(bytes, piece), {4096, 32});
  const analysis::MemorySnapshot snapshot = analysis::analyse_snapshot(history, "/project");
  for (const analysis::SnapshotMoment* moment : {&snapshot.at_peak, &snapshot.at_end}) {
    std::uint64_t by_line = 0;
    for (const analysis::SnapshotLine& line : moment->lines) {
      by_line += line.bytes;
    }
    CLAIM(by_line == moment->bytes);
    CLAIM(std::accumulate(moment->by_use.begin(), moment->by_use.end(), std::uint64_t{0}) == moment->bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::size_t piece = 1 + input.number(2000);
  ingest::ImportOptions options{"/traces/t.json", "/project", "/elsewhere", {}, 4};
  options.exists = [](const std::string& path) { return path == "/project/model.py"; };
  try {
    const std::string_view bytes = input.rest();
    if (ingest::is_pickle(bytes)) {
      look_at_snapshot(bytes, piece);
      return 0;
    }
    ingest::Trace trace = read(bytes, piece);
    read_otherwise(bytes, trace);
    look_at(ingest::import_trace(std::move(trace), options));
  } catch (const ingest::ImportError& problem) {
    CLAIM(!std::string_view(problem.what()).empty());
  }
  return 0;
}
