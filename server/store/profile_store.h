// Stored profiles, in one SQLite file in the user's cache folder: bounded, and never trusted to be intact.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "store/fingerprint.h"

namespace SQLite {  // NOLINT(readability-identifier-naming): the library's
class Database;
}  // namespace SQLite

namespace ridgeline::store {

/// What must be equal for one profile to be used in place of another. Compared as bytes.
struct ProfileKey {
  std::string entry;                     ///< real path
  std::string project_root;              ///< real path
  std::string interpreter;               ///< absolute
  std::string device;                    ///< that was asked for
  std::string machine;                   ///< its processor and GPUs: several machines may share a home folder
  std::uint64_t memory_limit_bytes = 0;  ///< that was asked for; 0: none
  std::string version;                   ///< of Ridgeline
  std::string code{};                    ///< packages whose lines have figures beside the user's; usually empty
};

/// A stored profile, without its report.
struct KeptProfile {
  std::string id;
  std::int64_t created_s = 0;  ///< seconds since 1970
  std::string torch;
  Fingerprint fingerprint;
};

/// A stored profile with its key.
struct ProfileRow {
  ProfileKey key;
  KeptProfile profile;
};

/// How much is kept at most. The least recently used are dropped first.
struct StoreBounds {
  std::int64_t profiles = 256;
  std::int64_t bytes = std::int64_t{128} << 20;  ///< of reports, fingerprints and paths
};

struct StoreTotals {
  std::int64_t profiles = 0;
  std::int64_t bytes = 0;
};

/// A random name for a profile: sixteen hexadecimal digits.
std::string new_profile_id();
/// Whether the text may be such a name.
bool is_profile_id(std::string_view text);

/// One connection; several processes may have one each. A call that fails changes nothing.
/// A damaged file is moved aside as soon as it is noticed, and a new one is created. Not thread-safe.
class ProfileStore {
 public:
  explicit ProfileStore(const StoreBounds& bounds = {});
  ~ProfileStore();
  ProfileStore(ProfileStore&&) noexcept;
  ProfileStore& operator=(ProfileStore&&) = delete;

  /// Opens or creates `folder`/profiles.sqlite. An error when it cannot be used, or when it belongs to a newer
  /// Ridgeline or to another program: then it is left unchanged. The value is a notice about a damaged file that was
  /// moved aside; usually empty.
  base::Result<std::string> open(const std::string& folder);

  /// Stores a report. An error when that fails, or when the report alone exceeds the bound.
  base::Result<void> add(const ProfileKey& key, const KeptProfile& profile, const std::string& report);

  /// Replaces the report of a stored profile; its files and its age stay. Does nothing when there is no such profile.
  base::Result<void> replace(const std::string& id, const std::string& report);

  /// Profiles with that key, newest first: at most 16.
  base::Result<std::vector<KeptProfile>> find(const ProfileKey& key);

  /// Profiles of the key's entry, machine and version, newest first: at most 16.
  base::Result<std::vector<ProfileRow>> find_of_entry(const ProfileKey& key);

  /// The profile of that id; nothing: it is not stored.
  base::Result<std::optional<ProfileRow>> find_id(const std::string& id);

  /// The newest profile of an entry below `folder`, or of a project that `folder` is in; nothing: there is none.
  /// `folder` is a real path.
  base::Result<std::optional<ProfileRow>> newest_in(const std::string& folder);

  /// Profiles of entries below `folder`, a real path, newest first: at most 16.
  base::Result<std::vector<ProfileRow>> find_below(const std::string& folder);

  /// The newest profile of that entry, a real path; nothing: there is none.
  base::Result<std::optional<ProfileRow>> newest_of(const std::string& entry);

  /// The report of a profile, which counts as a use of it; nothing when it is no longer stored.
  /// One that was damaged on the disk is removed: an error.
  base::Result<std::optional<std::string>> report(const std::string& id);

  base::Result<void> remove(const std::string& id);

  /// Remembers how long a run took; `kind` distinguishes runs of one entry that measure different amounts. The last
  /// 1024 are kept.
  base::Result<void> keep_duration(const ProfileKey& key, const std::string& kind, double seconds);
  /// What the last such run took, with any version of Ridgeline; nothing: there was none.
  base::Result<std::optional<double>> last_duration(const ProfileKey& key, const std::string& kind);

  base::Result<StoreTotals> totals();

 private:
  enum class OnDamage { kReport, kRetry };

  base::Result<void> open_file();
  SQLite::Database& database();
  template <typename... Values>
  base::Result<std::vector<ProfileRow>> find_where(const std::string& condition, const Values&... values);
  template <typename... Values>
  base::Result<std::optional<ProfileRow>> first_where(const std::string& condition, const Values&... values);
  template <typename Use>
  auto access(const std::string& failure, const Use& use, OnDamage on_damage = OnDamage::kReport)
      -> base::Result<std::invoke_result_t<Use, SQLite::Database&>>;
  void insert(SQLite::Database& database, const ProfileKey& key, const KeptProfile& profile, const std::string& report,
              std::int64_t bytes) const;
  base::Result<std::string> move_aside(const std::string& damage);

  StoreBounds bounds_;
  std::string folder_;
  std::string path_;
  std::unique_ptr<SQLite::Database> database_;  ///< null unless open
};

}  // namespace ridgeline::store
