// Tables of operation times that others published, as CSV: rows of OperationTable.
//
// Columns of every format: exactly one of time_ns, time_us, time_ms, time_s; and, each optional, low and high (of the
// samples, in the same unit), samples, device, threads, torch (a version), measured (seconds since 1970), source.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "operations/table/operation_table.h"

namespace ridgeline::operations {

enum class CsvFormat : std::uint8_t {
  kOperations,  ///< key: as profiler/runner/ridgeline_runner/measure/operation_key.py writes it
  kMatmul,  ///< m, n, k, optionally batch and dtype: row-major matrices, (m × k) · (k × n); aten::mm or aten::bmm
};

struct CsvOptions {
  CsvFormat format = CsvFormat::kOperations;
  std::map<std::string, std::string> columns{};  ///< names of ours, and what the file calls them instead
  std::string device{};                          ///< of all rows; empty: the column says
  std::string dtype = "float32";                 ///< of matrices where there is no such column
  std::string torch{};                           ///< where there is no such column
  std::int64_t measured_s = 0;                   ///< where there is no such column
  std::string source{};                          ///< where there is no such column
};

inline constexpr std::size_t kMaxCsvBytes = std::size_t{1} << 30U;
inline constexpr std::size_t kMaxCsvRows = 4'000'000;

/// Untrusted. All rows or none: the first one that is wrong is named, "NAME: row 17: what is wrong". Rows are counted
/// as a spreadsheet does: the names of the columns are row 1. Refused, besides what is not a number: times that are not
/// positive or longer than an hour, types and operations that are not known, an operation twice under the same
/// conditions, times faster than the data sheet of the device allows, and a table whose times are, in the median,
/// hundreds of times slower.
base::Result<std::vector<ListedTime>> parse_times(std::string_view csv, const std::string& name,
                                                  const CsvOptions& options);

/// The key with its tensors and devices on a kind of device: "cpu", or "cuda", its first.
std::string key_on(std::string_view key, std::string_view device_type);

}  // namespace ridgeline::operations
