#include "store/profile_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <string_view>

namespace ridgeline::store {

namespace {

constexpr std::int64_t kApplication = 0x52696467;  // "Ridg": PRAGMA application_id
constexpr std::int64_t kSchemaVersion = 1;         // PRAGMA user_version
constexpr std::int64_t kMaxFound = 16;

/// `used` counts uses, not seconds: a clock may go back. `number` grows, so the largest is the newest.
constexpr const char* kSchema = R"(
CREATE TABLE profiles (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  entry TEXT NOT NULL, project_root TEXT NOT NULL, interpreter TEXT NOT NULL, device TEXT NOT NULL,
  machine TEXT NOT NULL, memory_limit INTEGER NOT NULL, version TEXT NOT NULL,
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
static_assert(kApplication == 1382638695 && kSchemaVersion == 1, "as kSchema says");

/// One process at a time looks at a damaged file and moves it: a lock on the folder, which needs no file.
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
  std::size_t bytes = report.size() + key.entry.size() + key.project_root.size() + key.interpreter.size();
  for (const FileMark& mark : profile.fingerprint.files) {
    bytes += mark.path.size() + mark.hash.size();
  }
  return static_cast<std::int64_t>(bytes);
}

}  // namespace

std::string new_profile_id() {
  std::random_device random;
  std::string id;
  for (int digit = 0; digit < 16; ++digit) {
    id.push_back("0123456789abcdef"[random() % 16]);
  }
  return id;
}

bool ProfileStore::open(const std::string& folder, std::string& notice, std::string& error) {
  folder_ = folder;
  path_ = folder + "/profiles.sqlite";
  if (database_.open(path_) && prepare(error)) {
    return true;
  }
  if (database_.is_damaged()) {
    notice = move_aside();
    return database_.is_open() && !database_.failed();
  }
  if (error.empty()) {
    explain("the stored profiles in " + path_ + " cannot be used", error);
  }
  database_.close();
  return false;
}

/// Whose file it is, the settings of the connection, and tables where there are none. False with code() set, or with
/// `error`.
bool ProfileStore::prepare(std::string& error) {
  // In one view of the file: another process may be making the tables.
  database_.execute("BEGIN");
  const std::int64_t application = database_.number("PRAGMA application_id");
  const std::int64_t version = database_.number("PRAGMA user_version");
  const std::int64_t tables = database_.number("SELECT COUNT(*) FROM sqlite_schema");
  if (!database_.execute("COMMIT")) {
    return false;
  }
  if (application != kApplication && tables > 0) {
    error = path_ + " is a database of another program: move it away, or set RIDGELINE_CACHE to another folder";
    return false;
  }
  if (version > kSchemaVersion) {
    error = path_ + " was written by a newer Ridgeline (schema " + std::to_string(version) +
            "): use that one, or set RIDGELINE_CACHE to another folder";
    return false;
  }
  // A journal in WAL mode lets readers and a writer work at once. Where it cannot be had, the default one is as safe.
  database_.number("PRAGMA journal_mode = WAL");
  if (!database_.is_damaged()) {
    database_.forget_error();
  }
  return database_.execute(
             "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON; "
             "PRAGMA journal_size_limit = 1048576") &&
         (tables > 0 || make_tables());
}

bool ProfileStore::is_sound() {
  Statement check = database_.statement("PRAGMA quick_check(1)");
  return check.row() && check.text(0) == "ok";
}

bool ProfileStore::make_tables() {
  Transaction transaction(database_);
  if (!transaction.begun()) {
    return false;
  }
  // Another process may have made them in the meantime.
  const bool there = database_.number("SELECT COUNT(*) FROM sqlite_schema") > 0;
  return (there || database_.execute(kSchema)) && transaction.commit();
}

bool ProfileStore::add(const ProfileKey& key, const KeptProfile& profile, const std::string& report,
                       std::string& error) {
  const std::int64_t bytes = size_of(key, profile, report);
  if (bytes > bounds_.bytes) {
    error = "its report of " + std::to_string(bytes >> 20) + " MiB is larger than all that is kept";
    return false;
  }
  if (insert(key, profile, report, bytes)) {
    return true;
  }
  if (database_.is_damaged()) {
    move_aside();
    if (database_.is_open() && insert(key, profile, report, bytes)) {
      return true;
    }
  }
  return explain("the profile cannot be written to " + path_, error);
}

bool ProfileStore::insert(const ProfileKey& key, const KeptProfile& profile, const std::string& report,
                          std::int64_t bytes) {
  Transaction transaction(database_);
  database_
      .statement(
          "INSERT INTO profiles (id, entry, project_root, interpreter, device, machine, memory_limit, version, "
          "torch, created, used, bytes, whole, report) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
          "(SELECT COALESCE(MAX(used), 0) + 1 FROM profiles), ?, ?, ?)")
      .bind(profile.id)
      .bind(key.entry)
      .bind(key.project_root)
      .bind(key.interpreter)
      .bind(key.device)
      .bind(key.machine)
      .bind(static_cast<std::int64_t>(key.memory_limit_bytes))
      .bind(key.version)
      .bind(profile.torch)
      .bind(profile.created_s)
      .bind(bytes)
      .bind(std::int64_t{profile.fingerprint.whole})
      .bind(report)
      .run();
  for (const FileMark& mark : profile.fingerprint.files) {
    database_
        .statement(
            "INSERT INTO files (profile, path, size, hash) "
            "VALUES ((SELECT number FROM profiles WHERE id = ?), ?, ?, ?)")
        .bind(profile.id)
        .bind(mark.path)
        .bind(static_cast<std::int64_t>(mark.size))
        .bind(mark.hash)
        .run();
  }
  database_
      .statement(
          "DELETE FROM profiles WHERE number IN (SELECT number FROM (SELECT number, "
          "ROW_NUMBER() OVER by_use AS place, SUM(bytes) OVER by_use AS sum "
          "FROM profiles WINDOW by_use AS (ORDER BY used DESC)) WHERE place > ? OR sum > ?)")
      .bind(bounds_.profiles)
      .bind(bounds_.bytes)
      .run();
  return !database_.failed() && transaction.commit();
}

bool ProfileStore::replace(const std::string& id, const std::string& report, std::string& error) {
  const bool done = database_
                        .statement(
                            "UPDATE profiles SET report = ?1, bytes = bytes + ?2 - LENGTH(CAST(report AS BLOB)) "
                            "WHERE id = ?3 AND bytes + ?2 - LENGTH(CAST(report AS BLOB)) <= ?4")
                        .bind(report)
                        .bind(static_cast<std::int64_t>(report.size()))
                        .bind(id)
                        .bind(bounds_.bytes)
                        .run();
  return done || explain("a stored profile in " + path_ + " cannot be written", error);
}

std::vector<KeptProfile> ProfileStore::find(const ProfileKey& key, std::string& error) {
  std::vector<KeptProfile> found;
  Statement rows = database_.statement(
      "SELECT number, id, created, torch, whole FROM profiles WHERE entry = ? AND project_root = ? AND interpreter = ? "
      "AND device = ? AND machine = ? AND memory_limit = ? AND version = ? ORDER BY number DESC LIMIT ?");
  rows.bind(key.entry)
      .bind(key.project_root)
      .bind(key.interpreter)
      .bind(key.device)
      .bind(key.machine)
      .bind(static_cast<std::int64_t>(key.memory_limit_bytes))
      .bind(key.version)
      .bind(kMaxFound);
  while (rows.row()) {
    KeptProfile profile{rows.text(1), rows.number(2), rows.text(3), {{}, rows.number(4) != 0}};
    read_marks(rows.number(0), profile.fingerprint);
    found.push_back(std::move(profile));
  }
  if (database_.failed()) {
    found.clear();
    explain("the stored profiles in " + path_ + " cannot be read", error);
  }
  return found;
}

void ProfileStore::read_marks(std::int64_t number, Fingerprint& fingerprint) {
  Statement rows = database_.statement("SELECT path, size, hash FROM files WHERE profile = ?");
  rows.bind(number);
  while (rows.row()) {
    fingerprint.files.push_back({rows.text(0), static_cast<std::uint64_t>(rows.number(1)), rows.text(2)});
  }
}

std::optional<std::string> ProfileStore::report(const std::string& id, std::string& error) {
  std::optional<std::string> report;
  {
    Statement row = database_.statement("SELECT report FROM profiles WHERE id = ?");
    row.bind(id);
    if (row.row()) {
      report = row.text(0);
    }
  }
  if (report.has_value()) {
    database_.statement("UPDATE profiles SET used = (SELECT MAX(used) + 1 FROM profiles) WHERE id = ?").bind(id).run();
  }
  if (database_.failed()) {
    explain("the stored profile in " + path_ + " cannot be read", error);
    return std::nullopt;
  }
  return report;
}

void ProfileStore::remove(const std::string& id, std::string& error) {
  if (!database_.statement("DELETE FROM profiles WHERE id = ?").bind(id).run()) {
    explain("a stored profile in " + path_ + " cannot be removed", error);
  }
}

StoreTotals ProfileStore::totals(std::string& error) {
  StoreTotals totals;
  Statement row = database_.statement("SELECT COUNT(*), COALESCE(SUM(bytes), 0) FROM profiles");
  if (row.row()) {
    totals = {row.number(0), row.number(1)};
  } else {
    explain("the stored profiles in " + path_ + " cannot be read", error);
  }
  return totals;
}

/// Turns the database's error into words, and is over it. A damaged file is moved aside. Returns false.
bool ProfileStore::explain(const std::string& what, std::string& error) {
  error = what + ": " + database_.message();
  if (database_.is_damaged()) {
    error += "; " + move_aside();
  }
  database_.forget_error();
  return false;
}

/// Moves a file that no database can be read from out of the way and begins a new one. Returns what was done, in words.
std::string ProfileStore::move_aside() {
  const FolderLock lock(folder_);
  const std::string damage = database_.message();
  database_.close();
  std::string error;
  // Another process may have done it while this one waited.
  if (database_.open(path_) && prepare(error) && is_sound()) {
    return path_ + " was damaged, and begun anew";
  }
  database_.close();
  const std::string aside = path_ + ".damaged";
  const bool moved = std::rename(path_.c_str(), aside.c_str()) == 0;
  for (const char* companion : {"-wal", "-shm"}) {
    std::remove((path_ + companion).c_str());  // they go with the file that is no longer there
  }
  if (!moved || !database_.open(path_) || !prepare(error)) {
    database_.close();
    return path_ + " is damaged (" + damage + "), and cannot be moved aside: remove it";
  }
  return path_ + " was damaged (" + damage + "): it is now " + aside + ", and the store begins anew";
}

}  // namespace ridgeline::store
