// The times of operations alone that were measured, in one SQLite file that can be shared.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace SQLite {  // NOLINT(readability-identifier-naming): the library's
class Database;
}  // namespace SQLite

namespace ridgeline::operations {

/// What an operation's time depends on besides its key.
struct Conditions {
  std::string device;  ///< the processor's or the GPU's name
  int threads = 0;     ///< inside operations
  std::string torch;   ///< its version, which fixes those of the libraries that it comes with
  bool operator==(const Conditions&) const = default;
};

/// An operation alone. Nanoseconds of one call.
struct OperationTime {
  std::string key;
  double ns = 0;    ///< the median of the samples
  double low = 0;   ///< of the samples
  double high = 0;  ///< likewise
  int samples = 0;
  std::string reason{};    ///< why it cannot be measured; then there is no time
  bool disturbed = false;  ///< other processes ran meanwhile: good enough for an answer, not to be kept
  /// Bytes that a call allocates at once, with its results; absent: not known, as on devices.
  std::optional<std::uint64_t> peak_bytes{};
};

struct ListedTime {
  Conditions conditions;
  OperationTime time;
  std::int64_t measured_s = 0;  ///< seconds since 1970
  std::string source{};         ///< who measured it: a machine's name, or the table that it was imported from
};

/// Two times of the same operation under the same conditions whose samples do not overlap.
struct Conflict {
  ListedTime kept;     ///< the newer one
  ListedTime dropped;  ///< the other one
};

/// What became of rows that were added.
struct Merged {
  std::int64_t added = 0;     ///< operations that were not known
  std::int64_t replaced = 0;  ///< by newer times
  std::int64_t older = 0;     ///< not taken: there is a newer time, or the same one
  std::int64_t unsound = 0;   ///< not taken: no time can be like that
  std::int64_t outdated = 0;  ///< not taken: an older Ridgeline measured them in a way that is not comparable
  std::int64_t conflicts = 0;
  std::vector<Conflict> shown{};  ///< the first kMaxShownConflicts of them
};
inline constexpr std::size_t kMaxShownConflicts = 20;

/// The median and the bounds of samples, of which there is at least one.
OperationTime time_of(std::string key, std::span<const double> samples_ns);

/// One connection. A damaged file is an error, and so is one of another program: the caller goes on without. Not
/// thread-safe.
class OperationTable {
 public:
  OperationTable();
  ~OperationTable();
  OperationTable(OperationTable&&) noexcept;
  OperationTable& operator=(OperationTable&&) noexcept;

  /// Opens or creates the file.
  static base::Result<OperationTable> open(const std::string& path);

  /// By key: what is known under these conditions, also that it cannot be measured.
  base::Result<std::vector<std::optional<OperationTime>>> find(const Conditions& conditions,
                                                               std::span<const std::string> keys);
  /// By key: the newest time on a device, whatever the threads and the version of torch. No reasons.
  base::Result<std::vector<std::optional<ListedTime>>> find_on(const std::string& device,
                                                               std::span<const std::string> keys);
  /// Adds times, or replaces them. `source`: as ListedTime::source.
  base::Result<void> add(const Conditions& conditions, std::span<const OperationTime> times, std::int64_t now_s,
                         const std::string& source = {});
  /// Adds rows that are not trusted; of an operation that is known already, the newer time stays. All or none.
  base::Result<Merged> add_rows(std::span<const ListedTime> rows);
  /// The same with all rows of another file.
  base::Result<Merged> merge(const std::string& path);
  /// Writes all to a new file, for others; an error when there is one already.
  base::Result<void> export_to(const std::string& path);
  /// All times on a device under those of its conditions that have the most; no reasons. Empty: none.
  base::Result<std::vector<ListedTime>> rows_on(const std::string& device);
  /// At most `most`, the slowest first.
  base::Result<std::vector<ListedTime>> list(std::size_t most);
  base::Result<std::int64_t> count();
  /// The names of all devices, at most 1,000.
  base::Result<std::vector<std::string>> devices();

 private:
  std::unique_ptr<SQLite::Database> database_;
};

}  // namespace ridgeline::operations
