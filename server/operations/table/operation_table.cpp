#include "operations/table/operation_table.h"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "analysis/time/models.h"
#include "store/database.h"

namespace ridgeline::operations {

namespace {

constexpr int kApplication = 0x52696f70;  // "Riop": PRAGMA application_id
constexpr int kSchemaVersion = 4;         // PRAGMA user_version; 1 had no source, 2 no peak
constexpr std::size_t kMaxKeyBytes = std::size_t{1} << 18U;
constexpr std::size_t kMaxTextBytes = 4096;

constexpr const char* kSchema = R"(
CREATE TABLE operation_times (
  key TEXT NOT NULL, device TEXT NOT NULL, threads INTEGER NOT NULL, torch TEXT NOT NULL,
  ns REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL, samples INTEGER NOT NULL, reason TEXT NOT NULL,
  measured INTEGER NOT NULL, source TEXT NOT NULL DEFAULT '', peak INTEGER,
  PRIMARY KEY (key, device, threads, torch)) WITHOUT ROWID;
CREATE INDEX times_by_device ON operation_times (device);
PRAGMA application_id = 1382641520;
PRAGMA user_version = 4;
)";
static_assert(kApplication == 1382641520 && kSchemaVersion == 4, "as kSchema says");

/// Version 3 has times of processors for which memory was faulted in anew at some calls, by luck. They are the ones
/// with a peak: of devices it is not known. Without them, an operation is measured again when it is next asked for.
constexpr int kFaultedVersion = 3;
/// By the version that they begin at.
constexpr std::array<const char*, kSchemaVersion> kUpgrades = {
    "",
    "ALTER TABLE operation_times ADD COLUMN source TEXT NOT NULL DEFAULT ''; CREATE INDEX times_by_device ON "
    "operation_times (device); PRAGMA user_version = 2;",
    "ALTER TABLE operation_times ADD COLUMN peak INTEGER; PRAGMA user_version = 3;",
    "DELETE FROM operation_times WHERE peak IS NOT NULL; PRAGMA user_version = 4;"};
constexpr const char* kColumns = "key, device, threads, torch, ns, low, high, samples, reason, measured, source, peak";
/// The same of a file of each version, which may be read without being changed.
constexpr std::array<const char*, kSchemaVersion + 1> kColumnsOf = {
    "", "key, device, threads, torch, ns, low, high, samples, reason, measured, '', NULL",
    "key, device, threads, torch, ns, low, high, samples, reason, measured, source, NULL", kColumns, kColumns};
constexpr const char* kInsert =
    "INSERT OR REPLACE INTO operation_times (key, device, threads, torch, ns, low, high, samples, reason, measured, "
    "source, peak) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

base::Error failed(const std::string& what, const SQLite::Exception& why) {
  return base::error(what + ": " + why.what());
}

/// Whether the file is such a table. A new file becomes one.
base::Result<void> prepare(SQLite::Database& database, const std::string& path, bool may_create) {
  const int application = database.execAndGet("PRAGMA application_id").getInt();
  const int version = database.execAndGet("PRAGMA user_version").getInt();
  const bool is_new =
      application == 0 && version == 0 && database.execAndGet("SELECT COUNT(*) FROM sqlite_master").getInt() == 0;
  if (is_new && may_create) {
    database.exec("PRAGMA journal_mode = WAL");
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    if (database.execAndGet("SELECT COUNT(*) FROM sqlite_master").getInt() == 0) {
      database.exec(kSchema);
    }
    transaction.commit();
    return {};
  }
  if (application != kApplication) {
    return base::error(path + " is not a table of operation times");
  }
  if (version > kSchemaVersion || version < 1) {
    return base::error(path + " was made by a newer Ridgeline");
  }
  if (version < kSchemaVersion && may_create) {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    for (int at = database.execAndGet("PRAGMA user_version").getInt(); at < kSchemaVersion; ++at) {
      database.exec(kUpgrades.at(static_cast<std::size_t>(at)));
    }
    transaction.commit();
  }
  return {};
}

void insert_row(SQLite::Statement& statement, const ListedTime& row) {
  const auto& [conditions, time, measured, source] = row;
  int at = 0;
  statement.bind(++at, time.key);
  statement.bind(++at, conditions.device);
  statement.bind(++at, conditions.threads);
  statement.bind(++at, conditions.torch);
  statement.bind(++at, time.ns);
  statement.bind(++at, time.low);
  statement.bind(++at, time.high);
  statement.bind(++at, time.samples);
  statement.bind(++at, time.reason);
  statement.bind(++at, measured);
  statement.bind(++at, source);
  if (time.peak_bytes.has_value()) {
    statement.bind(++at, static_cast<std::int64_t>(*time.peak_bytes));
  } else {
    statement.bind(++at);
  }
  statement.exec();
  statement.reset();
}

/// A row of kColumns.
ListedTime row_of(const SQLite::Statement& row) {
  ListedTime listed;
  listed.time.key = row.getColumn(0).getString();
  listed.conditions = {row.getColumn(1).getString(), row.getColumn(2).getInt(), row.getColumn(3).getString()};
  listed.time.ns = row.getColumn(4).getDouble();
  listed.time.low = row.getColumn(5).getDouble();
  listed.time.high = row.getColumn(6).getDouble();
  listed.time.samples = row.getColumn(7).getInt();
  listed.time.reason = row.getColumn(8).getString();
  listed.measured_s = row.getColumn(9).getInt64();
  listed.source = row.getColumn(10).getString();
  if (const SQLite::Column peak = row.getColumn(11); !peak.isNull()) {
    listed.time.peak_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, peak.getInt64()));
  }
  return listed;
}

/// Whether a row is sound: it may be from a file that somebody else made.
bool is_sound(const ListedTime& listed, std::int64_t now_s) {
  const OperationTime& time = listed.time;
  const bool has_time = time.reason.empty();
  return !time.key.empty() && time.key.size() <= kMaxKeyBytes && time.reason.size() <= kMaxTextBytes &&
         listed.conditions.device.size() <= kMaxTextBytes && listed.conditions.torch.size() <= kMaxTextBytes &&
         listed.source.size() <= kMaxTextBytes && listed.conditions.threads > 0 && listed.measured_s > 0 &&
         listed.measured_s <= now_s && time.samples >= 0 &&
         (!has_time || (std::isfinite(time.ns) && time.ns > 0 && time.low > 0 && time.low <= time.ns &&
                        time.ns <= time.high && std::isfinite(time.high) && time.samples > 0));
}

bool is_conflict(const ListedTime& one, const ListedTime& other) {
  return one.time.reason.empty() && other.time.reason.empty() &&
         (one.time.high < other.time.low || other.time.high < one.time.low);
}

/// Adds rows that are not trusted, one after another, within a transaction of the caller's.
class RowMerger {
 public:
  explicit RowMerger(SQLite::Database& database)
      : now_s_(database.execAndGet("SELECT CAST(strftime('%s', 'now') AS INTEGER)").getInt64()),
        known_(database, std::string("SELECT ") + kColumns +
                             " FROM operation_times WHERE key = ? AND device = ? AND threads = ? AND torch = ?"),
        insert_(database, kInsert) {}

  void take(const ListedTime& row) {
    if (!is_sound(row, now_s_)) {
      ++merged_.unsound;
      return;
    }
    const std::optional<ListedTime> known = find(row);
    if (!known) {
      ++merged_.added;
      insert_row(insert_, row);
      return;
    }
    const bool newer = row.measured_s > known->measured_s;
    ++(newer ? merged_.replaced : merged_.older);
    if (is_conflict(row, *known)) {
      ++merged_.conflicts;
      if (merged_.shown.size() < kMaxShownConflicts) {
        merged_.shown.push_back(newer ? Conflict{row, *known} : Conflict{*known, row});
      }
    }
    if (newer) {
      insert_row(insert_, row);
    }
  }

  void leave_out() { ++merged_.outdated; }

  Merged merged() const { return merged_; }

 private:
  std::optional<ListedTime> find(const ListedTime& row) {
    known_.bind(1, row.time.key);
    known_.bind(2, row.conditions.device);
    known_.bind(3, row.conditions.threads);
    known_.bind(4, row.conditions.torch);
    std::optional<ListedTime> found;
    if (known_.executeStep()) {
      found = row_of(known_);
    }
    known_.reset();
    return found;
  }

  std::int64_t now_s_;
  SQLite::Statement known_;
  SQLite::Statement insert_;
  Merged merged_;
};

}  // namespace

OperationTime time_of(std::string key, std::span<const double> samples_ns) {
  const auto [low, high] = std::ranges::minmax(samples_ns);
  return {std::move(key), analysis::median(samples_ns), low, high, static_cast<int>(samples_ns.size())};
}

OperationTable::OperationTable() = default;
OperationTable::~OperationTable() = default;
OperationTable::OperationTable(OperationTable&&) noexcept = default;
OperationTable& OperationTable::operator=(OperationTable&&) noexcept = default;

base::Result<OperationTable> OperationTable::open(const std::string& path) {
  try {
    OperationTable table;
    table.database_ = store::open_database(path);
    if (const auto prepared = prepare(*table.database_, path, true); !prepared) {
      return prepared.error();
    }
    return table;
  } catch (const SQLite::Exception& why) {
    return failed("The table of operation times " + path + " cannot be used", why);
  }
}

base::Result<std::vector<std::optional<OperationTime>>> OperationTable::find(const Conditions& conditions,
                                                                             std::span<const std::string> keys) {
  try {
    SQLite::Statement query(*database_, std::string("SELECT ") + kColumns +
                                            " FROM operation_times WHERE key = ? AND device = ? AND threads = ? AND "
                                            "torch = ?");
    std::vector<std::optional<OperationTime>> found;
    found.reserve(keys.size());
    for (const std::string& key : keys) {
      query.bind(1, key);
      query.bind(2, conditions.device);
      query.bind(3, conditions.threads);
      query.bind(4, conditions.torch);
      std::optional<OperationTime> time;
      if (query.executeStep()) {
        ListedTime listed = row_of(query);
        if (is_sound(listed, std::numeric_limits<std::int64_t>::max())) {
          time = std::move(listed.time);
        }
      }
      found.push_back(std::move(time));
      query.reset();
    }
    return found;
  } catch (const SQLite::Exception& why) {
    return failed("Operation times cannot be read", why);
  }
}

base::Result<std::vector<std::optional<ListedTime>>> OperationTable::find_on(const std::string& device,
                                                                             std::span<const std::string> keys) {
  try {
    SQLite::Statement query(*database_, std::string("SELECT ") + kColumns +
                                            " FROM operation_times WHERE key = ? AND device = ? AND reason = '' ORDER "
                                            "BY measured DESC LIMIT 1");
    std::vector<std::optional<ListedTime>> found(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      query.bind(1, keys[i]);
      query.bind(2, device);
      if (query.executeStep()) {
        ListedTime listed = row_of(query);
        if (is_sound(listed, std::numeric_limits<std::int64_t>::max())) {
          found[i] = std::move(listed);
        }
      }
      query.reset();
    }
    return found;
  } catch (const SQLite::Exception& why) {
    return failed("Operation times cannot be read", why);
  }
}

base::Result<void> OperationTable::add(const Conditions& conditions, std::span<const OperationTime> times,
                                       std::int64_t now_s, const std::string& source) {
  try {
    SQLite::Transaction transaction(*database_, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement insert(*database_, kInsert);
    for (const OperationTime& time : times) {
      insert_row(insert, {conditions, time, now_s, source});
    }
    transaction.commit();
    return {};
  } catch (const SQLite::Exception& why) {
    return failed("Operation times cannot be kept", why);
  }
}

base::Result<Merged> OperationTable::add_rows(std::span<const ListedTime> rows) {
  try {
    SQLite::Transaction transaction(*database_, SQLite::TransactionBehavior::IMMEDIATE);
    RowMerger merger(*database_);
    for (const ListedTime& row : rows) {
      merger.take(row);
    }
    transaction.commit();
    return merger.merged();
  } catch (const SQLite::Exception& why) {
    return failed("Operation times cannot be kept", why);
  }
}

base::Result<Merged> OperationTable::merge(const std::string& path) {
  try {
    if (!std::filesystem::is_regular_file(path)) {
      return base::error(path + " is not a file");
    }
    SQLite::Database other(path, SQLite::OPEN_READONLY);
    if (const auto prepared = prepare(other, path, false); !prepared) {
      return prepared.error();
    }
    const auto version = static_cast<std::size_t>(other.execAndGet("PRAGMA user_version").getInt());
    SQLite::Transaction transaction(*database_, SQLite::TransactionBehavior::IMMEDIATE);
    RowMerger merger(*database_);
    SQLite::Statement rows(other, std::string("SELECT ") + kColumnsOf.at(version) + " FROM operation_times");
    while (rows.executeStep()) {
      ListedTime row = row_of(rows);
      if (version == kFaultedVersion && row.time.peak_bytes.has_value()) {
        merger.leave_out();
      } else {
        merger.take(row);
      }
    }
    transaction.commit();
    return merger.merged();
  } catch (const SQLite::Exception& why) {
    return failed(path + " cannot be read as a table of operation times", why);
  }
}

base::Result<void> OperationTable::export_to(const std::string& path) {
  try {
    if (std::filesystem::exists(path)) {
      return base::error(path + " exists already");
    }
    SQLite::Statement copy(*database_, "VACUUM INTO ?");
    copy.bind(1, path);
    copy.exec();
    return {};
  } catch (const SQLite::Exception& why) {
    return failed("Operation times cannot be written to " + path, why);
  }
}

base::Result<std::vector<ListedTime>> OperationTable::list(std::size_t most) {
  try {
    SQLite::Statement rows(*database_, std::string("SELECT ") + kColumns +
                                           " FROM operation_times ORDER BY reason = '' DESC, ns DESC LIMIT ?");
    rows.bind(1, static_cast<std::int64_t>(most));
    std::vector<ListedTime> listed;
    while (rows.executeStep()) {
      listed.push_back(row_of(rows));
    }
    return listed;
  } catch (const SQLite::Exception& why) {
    return failed("Operation times cannot be read", why);
  }
}

base::Result<std::vector<ListedTime>> OperationTable::rows_on(const std::string& device) {
  try {
    SQLite::Statement rows(
        *database_, std::string("SELECT ") + kColumns +
                        " FROM operation_times WHERE reason = '' AND device = ?1 AND (threads, torch) = (SELECT "
                        "threads, torch FROM operation_times WHERE reason = '' AND device = ?1 GROUP BY threads, "
                        "torch ORDER BY COUNT(*) DESC, threads, torch LIMIT 1)");
    rows.bind(1, device);
    std::vector<ListedTime> found;
    while (rows.executeStep()) {
      ListedTime listed = row_of(rows);
      if (is_sound(listed, std::numeric_limits<std::int64_t>::max())) {
        found.push_back(std::move(listed));
      }
    }
    return found;
  } catch (const SQLite::Exception& why) {
    return failed("Operation times cannot be read", why);
  }
}

base::Result<std::int64_t> OperationTable::count() {
  try {
    return database_->execAndGet("SELECT COUNT(*) FROM operation_times").getInt64();
  } catch (const SQLite::Exception& why) {
    return failed("Operation times cannot be read", why);
  }
}

base::Result<std::vector<std::string>> OperationTable::devices() {
  try {
    // A chain of look-ups in the index, not a walk over all rows.
    SQLite::Statement rows(*database_,
                           "WITH RECURSIVE names(name) AS (SELECT MIN(device) FROM operation_times UNION ALL SELECT "
                           "(SELECT MIN(device) FROM operation_times WHERE device > name) FROM names WHERE name IS NOT "
                           "NULL) SELECT name FROM names WHERE name IS NOT NULL LIMIT 1000");
    std::vector<std::string> names;
    while (rows.executeStep()) {
      names.push_back(rows.getColumn(0).getString());
    }
    return names;
  } catch (const SQLite::Exception& why) {
    return failed("Operation times cannot be read", why);
  }
}

}  // namespace ridgeline::operations
