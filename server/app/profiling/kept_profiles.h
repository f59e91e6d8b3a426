// Profiles in the store: stored after a run, and found again while they are up to date.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/values/profile.h"
#include "app/profiling/profile_run.h"
#include "app/profiling/request.h"
#include "store/profile_store.h"

namespace ridgeline::app {

/// What a stored profile of the request has in common with it.
store::ProfileKey key_of(const ProfileRequest& request, const Target& target);

/// Stores the profile of a run in the user's cache, as made at `now_s`, with its recording, and sets its id. Returns a
/// warning, mostly empty: when the profile could not be stored its id stays empty, and it is as good as any other.
[[nodiscard]] std::string keep_profile(ProfileRun& run, const ProfileRequest& request, const Target& target,
                                       std::int64_t now_s);

/// Replaces the stored profile of that id, if there is one. Returns a warning, mostly empty.
[[nodiscard]] std::string update_kept_profile(const analysis::Profile& profile, const analysis::Outlook& outlook,
                                              const Target& target);

struct StoredProfile {
  analysis::Profile profile;   ///< as report::read_report() returns it, with its models fitted
  std::int64_t created_s = 0;  ///< seconds since 1970
};

struct ProfileLookup {
  std::optional<StoredProfile> found;
  std::string warning;  ///< of the store, whether or not a profile was found; mostly empty
};

/// The newest profile of that entry whose files have not changed, made with the same project root, interpreter, device,
/// memory limit, packages of `code`, processor and version of Ridgeline, that tried all batch sizes of the request.
/// Nothing is started. A stored profile that cannot be read is dropped.
ProfileLookup find_kept_profile(const ProfileRequest& request, const Target& target);

/// The stored profile that the user named by its id. Not found where the request, which request_again() completed, asks
/// for what that one does not have; one whose files have changed is found. `warning` says so in either case. Nothing is
/// started.
ProfileLookup find_named_profile(const ProfileRequest& request, const store::ProfileRow& named);

/// Which options of the request keep the newest stored profile of the entry, whose files have not changed, from being
/// what find_kept_profile() finds, as a warning; empty: there is none, or no option does. Nothing is started.
std::string unused_profile_warning(const ProfileRequest& request, const Target& target);

std::int64_t seconds_since_1970();

}  // namespace ridgeline::app
