#include "store/profile_store.h"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <SQLiteCpp/VariadicBind.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/content_hash.h"
#include "base/file.h"
#include "store/database.h"

namespace ridgeline::store {

namespace {

constexpr std::int64_t kApplication = 0x52696467;  // "Ridg": PRAGMA application_id
constexpr std::int64_t kSchemaVersion = 1;         // PRAGMA user_version
constexpr std::int64_t kMaxFound = 16;
constexpr std::int64_t kMaxDurations = 1024;

/// `used` counts uses, not seconds: a clock may go back. `number` grows, so the largest is the newest.
constexpr const char* kSchema = R"(
CREATE TABLE profiles (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  entry TEXT NOT NULL, project_root TEXT NOT NULL, interpreter TEXT NOT NULL, device TEXT NOT NULL,
  machine TEXT NOT NULL, memory_limit INTEGER NOT NULL, code TEXT NOT NULL DEFAULT '', version TEXT NOT NULL,
  torch TEXT NOT NULL, created INTEGER NOT NULL, used INTEGER NOT NULL, bytes INTEGER NOT NULL,
  whole INTEGER NOT NULL, report TEXT NOT NULL);
CREATE INDEX profiles_by_entry ON profiles (entry);
CREATE INDEX profiles_by_use ON profiles (used);
CREATE TABLE files (
  profile INTEGER NOT NULL REFERENCES profiles ON DELETE CASCADE,
  path TEXT NOT NULL, size INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE INDEX files_by_profile ON files (profile);
PRAGMA application_id = 1382638695;
PRAGMA user_version = 1;
)";
/// Came later, and stands for itself: a store without it gets it, and an older Ridgeline does not mind it.
constexpr const char* kDurations =
    "CREATE TABLE IF NOT EXISTS durations (number INTEGER PRIMARY KEY AUTOINCREMENT, entry TEXT NOT NULL, "
    "interpreter TEXT NOT NULL, device TEXT NOT NULL, machine TEXT NOT NULL, kind TEXT NOT NULL, seconds REAL NOT "
    "NULL, "
    "UNIQUE (entry, interpreter, device, machine, kind))";
/// Columns of `profiles` that came later. An older Ridgeline reads and writes a table with them as before.
struct AddedColumn {
  const char* count;  ///< how many of that name there are
  const char* add;
};
constexpr std::array kAddedColumns = {
    AddedColumn{"SELECT COUNT(*) FROM pragma_table_info('profiles') WHERE name = 'code'",
                "ALTER TABLE profiles ADD COLUMN code TEXT NOT NULL DEFAULT ''"},
    // The report's base::ContentHash; empty where an older Ridgeline wrote it.
    AddedColumn{"SELECT COUNT(*) FROM pragma_table_info('profiles') WHERE name = 'report_hash'",
                "ALTER TABLE profiles ADD COLUMN report_hash TEXT NOT NULL DEFAULT ''"},
};
static_assert(kApplication == 1382638695 && kSchemaVersion == 1, "as kSchema says");

/// One process at a time checks a damaged file and moves it: a lock on the folder, which needs no file.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder) : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (folder_ >= 0) {
      ::flock(folder_, LOCK_EX);
    }
  }
  ~FolderLock() {
    if (folder_ >= 0) {
      ::close(folder_);
    }
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int folder_;
};

std::int64_t size_of(const ProfileKey& key, const KeptProfile& profile, const std::string& report) {
  std::size_t bytes =
      report.size() + key.entry.size() + key.project_root.size() + key.interpreter.size() + key.code.size();
  for (const FileMark& mark : profile.fingerprint.files) {
    bytes += mark.path.size() + mark.hash.size();
  }
  return static_cast<std::int64_t>(bytes);
}

/// Runs a statement that gives no rows. `sql` is a literal of ours: whatever comes from elsewhere is bound.
template <typename... Values>
void run(SQLite::Database& database, const char* sql, const Values&... values) {
  SQLite::Statement statement(database, sql);
  SQLite::bind(statement, values...);
  statement.exec();
}

std::int64_t number(SQLite::Database& database, const char* sql) { return database.execAndGet(sql).getInt64(); }

std::string hash_of(const std::string& report) {
  base::ContentHash hash;
  hash.add(report);
  return hash.text();
}

bool lacks(SQLite::Database& database, const AddedColumn& column) { return number(database, column.count) == 0; }

bool has_tables(SQLite::Database& database) { return number(database, "SELECT COUNT(*) FROM sqlite_schema") > 0; }

bool is_sound(SQLite::Database& database) { return database.execAndGet("PRAGMA quick_check(1)").getString() == "ok"; }

void make_tables(SQLite::Database& database) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  if (!has_tables(database)) {  // another process may have made them in the meantime
    database.exec(kSchema);
  }
  for (const AddedColumn& column : kAddedColumns) {
    if (lacks(database, column)) {
      database.exec(column.add);
    }
  }
  transaction.commit();
}

void set_up_connection(SQLite::Database& database) {
  // With a write-ahead log, readers and a writer work at once. Where the file system cannot have one, SQLite's default
  // journal is as safe.
  try {
    database.execAndGet("PRAGMA journal_mode = WAL");
  } catch (const SQLite::Exception& failure) {
    if (is_damaged(failure)) {
      throw;
    }
  }
  database.exec(
      "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON; "
      "PRAGMA journal_size_limit = 1048576");
}

Fingerprint read_fingerprint(SQLite::Database& database, std::int64_t profile, bool whole) {
  Fingerprint fingerprint{{}, whole};
  SQLite::Statement rows(database, "SELECT path, size, hash FROM files WHERE profile = ?");
  rows.bind(1, profile);
  while (rows.executeStep()) {
    fingerprint.files.push_back({rows.getColumn(0).getString(),
                                 static_cast<std::uint64_t>(rows.getColumn(1).getInt64()),
                                 rows.getColumn(2).getString()});
  }
  return fingerprint;
}

}  // namespace

std::string new_profile_id() { return base::unique_suffix(); }

bool is_profile_id(std::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

ProfileStore::ProfileStore(const StoreBounds& bounds) : bounds_(bounds) {}
ProfileStore::~ProfileStore() = default;
ProfileStore::ProfileStore(ProfileStore&&) noexcept = default;

base::Result<std::string> ProfileStore::open(const std::string& folder) {
  folder_ = folder;
  path_ = folder + "/profiles.sqlite";
  try {
    if (auto opened = open_file(); !opened) {
      return opened.error();
    }
    return std::string();
  } catch (const SQLite::Exception& failure) {
    if (is_damaged(failure)) {
      return move_aside(failure.what());
    }
    return base::error("the stored profiles in " + path_ + " cannot be used: " + failure.what());
  }
}

/// Opens the file, with tables in it. An error when it is not ours to use. Throws SQLite::Exception.
base::Result<void> ProfileStore::open_file() {
  database_.reset();
  std::unique_ptr<SQLite::Database> database = open_database(path_);
  // In one view of the file: another process may be making the tables.
  SQLite::Transaction reading(*database);
  const std::int64_t application = number(*database, "PRAGMA application_id");
  const std::int64_t version = number(*database, "PRAGMA user_version");
  const bool has_any_table = has_tables(*database);
  const bool is_complete = has_any_table && std::ranges::none_of(kAddedColumns, [&](const AddedColumn& one) {
                             return lacks(*database, one);
                           });
  reading.commit();
  if (application != kApplication && has_any_table) {
    return base::error(path_ +
                       " is a database of another program: move it away, or set RIDGELINE_CACHE to another folder");
  }
  if (version > kSchemaVersion) {
    return base::error(path_ + " was written by a newer Ridgeline (schema " + std::to_string(version) +
                       "): use that one, or set RIDGELINE_CACHE to another folder");
  }
  set_up_connection(*database);
  if (!is_complete) {
    make_tables(*database);
  }
  database_ = std::move(database);
  return {};
}

SQLite::Database& ProfileStore::database() {
  if (database_ == nullptr) {
    throw SQLite::Exception("it is not open");
  }
  return *database_;
}

/// What `use` returns for the database. When SQLite throws: an error, which begins with `failure`. A damaged file is
/// moved aside, and `use` may be called again with the new one.
template <typename Use>
auto ProfileStore::access(const std::string& failure, const Use& use, OnDamage on_damage)
    -> base::Result<std::invoke_result_t<Use, SQLite::Database&>> {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Use, SQLite::Database&>>) {
      use(database());
      return {};
    } else {
      return use(database());
    }
  } catch (const SQLite::Exception& thrown) {
    const std::string reason = failure + ": " + thrown.what();
    if (!is_damaged(thrown)) {
      return base::error(reason);
    }
    const auto moved = move_aside(thrown.what());
    if (moved && on_damage == OnDamage::kRetry) {
      return access(failure, use, OnDamage::kReport);
    }
    return base::error(reason + "; " + (moved ? *moved : moved.error().message()));
  }
}

base::Result<void> ProfileStore::add(const ProfileKey& key, const KeptProfile& profile, const std::string& report) {
  const std::int64_t bytes = size_of(key, profile, report);
  if (bytes > bounds_.bytes) {
    return base::error("its report of " + std::to_string(bytes >> 20) + " MiB is larger than all that is kept");
  }
  return access(
      "the profile cannot be written to " + path_,
      [&](SQLite::Database& database) { insert(database, key, profile, report, bytes); }, OnDamage::kRetry);
}

void ProfileStore::insert(SQLite::Database& database, const ProfileKey& key, const KeptProfile& profile,
                          const std::string& report, std::int64_t bytes) const {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  run(database,
      "INSERT INTO profiles (id, entry, project_root, interpreter, device, machine, memory_limit, code, version, "
      "torch, created, used, bytes, whole, report, report_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "(SELECT COALESCE(MAX(used), 0) + 1 FROM profiles), ?, ?, ?, ?)",
      profile.id, key.entry, key.project_root, key.interpreter, key.device, key.machine,
      static_cast<std::int64_t>(key.memory_limit_bytes), key.code, key.version, profile.torch, profile.created_s, bytes,
      std::int64_t{profile.fingerprint.whole}, report, hash_of(report));
  const std::int64_t number = database.getLastInsertRowid();
  for (const FileMark& mark : profile.fingerprint.files) {
    run(database, "INSERT INTO files (profile, path, size, hash) VALUES (?, ?, ?, ?)", number, mark.path,
        static_cast<std::int64_t>(mark.size), mark.hash);
  }
  run(database,
      "DELETE FROM profiles WHERE number IN (SELECT number FROM (SELECT number, "
      "ROW_NUMBER() OVER by_use AS place, SUM(bytes) OVER by_use AS sum "
      "FROM profiles WINDOW by_use AS (ORDER BY used DESC)) WHERE place > ? OR sum > ?)",
      bounds_.profiles, bounds_.bytes);
  transaction.commit();
}

base::Result<void> ProfileStore::replace(const std::string& id, const std::string& report) {
  return access("a stored profile in " + path_ + " cannot be written", [&](SQLite::Database& database) {
    run(database,
        "UPDATE profiles SET report = ?1, report_hash = ?5, bytes = bytes + ?2 - LENGTH(CAST(report AS BLOB)) "
        "WHERE id = ?3 AND bytes + ?2 - LENGTH(CAST(report AS BLOB)) <= ?4",
        report, static_cast<std::int64_t>(report.size()), id, bounds_.bytes, hash_of(report));
  });
}

/// Newest first. `condition` is a literal of ours.
template <typename... Values>
base::Result<std::vector<ProfileRow>> ProfileStore::find_where(const std::string& condition, const Values&... values) {
  return access("the stored profiles in " + path_ + " cannot be read", [&](SQLite::Database& database) {
    std::vector<ProfileRow> found;
    SQLite::Statement rows(database,
                           "SELECT number, whole, id, created, torch, entry, project_root, interpreter, device, "
                           "machine, memory_limit, version, code FROM profiles WHERE " +
                               condition + " ORDER BY number DESC LIMIT ?");
    SQLite::bind(rows, values..., kMaxFound);
    const auto text = [&rows](int column) { return rows.getColumn(column).getString(); };
    while (rows.executeStep()) {
      found.push_back({{text(5), text(6), text(7), text(8), text(9),
                        static_cast<std::uint64_t>(rows.getColumn(10).getInt64()), text(11), text(12)},
                       {text(2), rows.getColumn(3).getInt64(), text(4),
                        read_fingerprint(database, rows.getColumn(0).getInt64(), rows.getColumn(1).getInt64() != 0)}});
    }
    return found;
  });
}

template <typename... Values>
base::Result<std::optional<ProfileRow>> ProfileStore::first_where(const std::string& condition,
                                                                  const Values&... values) {
  auto rows = find_where(condition, values...);
  if (!rows) {
    return rows.error();
  }
  return rows->empty() ? std::nullopt : std::optional(std::move(rows->front()));
}

base::Result<std::vector<KeptProfile>> ProfileStore::find(const ProfileKey& key) {
  auto rows = find_where(
      "entry = ? AND project_root = ? AND interpreter = ? AND device = ? AND machine = ? AND memory_limit = ? AND "
      "code = ? AND version = ?",
      key.entry, key.project_root, key.interpreter, key.device, key.machine,
      static_cast<std::int64_t>(key.memory_limit_bytes), key.code, key.version);
  if (!rows) {
    return rows.error();
  }
  std::vector<KeptProfile> found;
  for (ProfileRow& row : *rows) {
    found.push_back(std::move(row.profile));
  }
  return found;
}

base::Result<std::vector<ProfileRow>> ProfileStore::find_of_entry(const ProfileKey& key) {
  return find_where("entry = ? AND machine = ? AND version = ?", key.entry, key.machine, key.version);
}

base::Result<std::optional<ProfileRow>> ProfileStore::find_id(const std::string& id) {
  return first_where("id = ?", id);
}

base::Result<std::optional<ProfileRow>> ProfileStore::newest_in(const std::string& folder) {
  return first_where(
      "substr(entry, 1, length(?1)) = ?1 OR substr(?1, 1, length(project_root) + 1) = project_root || '/'",
      folder.ends_with('/') ? folder : folder + "/");
}

base::Result<std::vector<ProfileRow>> ProfileStore::find_below(const std::string& folder) {
  return find_where("substr(entry, 1, length(?1)) = ?1", folder.ends_with('/') ? folder : folder + "/");
}

base::Result<std::optional<ProfileRow>> ProfileStore::newest_of(const std::string& entry) {
  return first_where("entry = ?1", entry);
}

base::Result<std::optional<std::string>> ProfileStore::report(const std::string& id) {
  bool damaged = false;
  auto found = access("the stored profile in " + path_ + " cannot be read", [&](SQLite::Database& database) {
    std::optional<std::string> report;
    SQLite::Statement row(database, "SELECT report, report_hash FROM profiles WHERE id = ?");
    row.bind(1, id);
    if (row.executeStep()) {
      report = row.getColumn(0).getString();
      const std::string written = row.getColumn(1).getString();
      row.reset();
      damaged = !written.empty() && written != hash_of(*report);
      run(database,
          damaged ? "DELETE FROM profiles WHERE id = ?"
                  : "UPDATE profiles SET used = (SELECT MAX(used) + 1 FROM profiles) WHERE id = ?",
          id);
    }
    return report;
  });
  if (damaged) {
    return base::error("the stored profile " + id + " was damaged on the disk and is dropped");
  }
  return found;
}

base::Result<void> ProfileStore::remove(const std::string& id) {
  return access("a stored profile in " + path_ + " cannot be removed",
                [&](SQLite::Database& database) { run(database, "DELETE FROM profiles WHERE id = ?", id); });
}

base::Result<void> ProfileStore::keep_duration(const ProfileKey& key, const std::string& kind, double seconds) {
  return access(
      "the duration of a run cannot be written to " + path_,
      [&](SQLite::Database& database) {
        SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
        database.exec(kDurations);
        run(database,
            "INSERT OR REPLACE INTO durations (entry, interpreter, device, machine, kind, seconds) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            key.entry, key.interpreter, key.device, key.machine, kind, seconds);
        run(database, "DELETE FROM durations WHERE number <= (SELECT MAX(number) FROM durations) - ?", kMaxDurations);
        transaction.commit();
      },
      OnDamage::kRetry);
}

base::Result<std::optional<double>> ProfileStore::last_duration(const ProfileKey& key, const std::string& kind) {
  return access("the durations of runs in " + path_ + " cannot be read", [&](SQLite::Database& database) {
    std::optional<double> seconds;
    if (database.tableExists("durations")) {
      SQLite::Statement row(database,
                            "SELECT seconds FROM durations WHERE entry = ? AND interpreter = ? AND device = ? AND "
                            "machine = ? AND kind = ?");
      SQLite::bind(row, key.entry, key.interpreter, key.device, key.machine, kind);
      if (row.executeStep()) {
        seconds = row.getColumn(0).getDouble();
      }
    }
    return seconds;
  });
}

base::Result<StoreTotals> ProfileStore::totals() {
  return access("the stored profiles in " + path_ + " cannot be read", [&](SQLite::Database& database) {
    SQLite::Statement row(database, "SELECT COUNT(*), COALESCE(SUM(bytes), 0) FROM profiles");
    row.executeStep();
    return StoreTotals{row.getColumn(0).getInt64(), row.getColumn(1).getInt64()};
  });
}

/// Moves the damaged file out of the way and creates a new one. Returns a description of what was done; an error when
/// the damaged file could not be moved, and then the store is closed.
base::Result<std::string> ProfileStore::move_aside(const std::string& damage) {
  const FolderLock lock(folder_);
  const auto reopen = [this] {
    try {
      return open_file().has_value() && is_sound(*database_);
    } catch (const SQLite::Exception&) {
      return false;
    }
  };
  // Another process may have done it while this one waited.
  if (reopen()) {
    return path_ + " was damaged and has been replaced by a new store";
  }
  database_.reset();
  const std::string aside = path_ + ".damaged";
  const bool moved = std::rename(path_.c_str(), aside.c_str()) == 0;
  for (const char* companion : {"-wal", "-shm"}) {
    std::remove((path_ + companion).c_str());  // they belong to the file that was moved
  }
  if (!moved || !reopen()) {
    database_.reset();
    return base::error(path_ + " is damaged (" + damage + ") and cannot be moved aside: remove it");
  }
  return path_ + " was damaged (" + damage + "): it is now " + aside + ", and a new store was created";
}

}  // namespace ridgeline::store
