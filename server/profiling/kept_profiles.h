// Profiles and the store: what is kept after a run, and what of it still holds.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "analysis/profile.h"
#include "profiling/request.h"
#include "profiling/run.h"

namespace ridgeline::profiling {

/// Keeps the profile of a run in the user's cache and sets its id. When that fails the id stays empty, and `warning`
/// says why: the profile itself is as good as any.
void keep_profile(ProfileRun& run, const ProfileRequest& request, const Target& target, std::string& warning);

/// Keeps what is known of a profile by now in place of what was kept of it; nothing where it is not kept. When that
/// fails, `warning` says why.
void update_kept_profile(const analysis::Profile& profile, const analysis::Outlook& outlook, const Target& target,
                         std::string& warning);

struct KeptAnswer {
  analysis::Profile profile;  ///< as report::read_report() gives it, with its models fitted
  std::int64_t created_s = 0;
};

/// The newest profile of that entry whose files have not changed, made with the same project root, interpreter, device,
/// memory limit, processor and version of Ridgeline, that tried all batch sizes of the request. Nothing is started.
/// A stored profile that cannot be read is dropped. `warning` says when the store cannot be used.
std::optional<KeptAnswer> find_kept_profile(const ProfileRequest& request, const Target& target, std::string& warning);

std::int64_t seconds_since_1970(std::chrono::system_clock::time_point time);

}  // namespace ridgeline::profiling
