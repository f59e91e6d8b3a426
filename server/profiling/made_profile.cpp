#include "profiling/made_profile.h"

#include <chrono>
#include <utility>

#include "analysis/prediction/answers.h"
#include "profiling/kept_profiles.h"
#include "profiling/ran_sources.h"
#include "profiling/source_text.h"
#include "store/profile_store.h"

namespace ridgeline::profiling {

ProfileOutcome make_profile(worker::Finished finished, const ProfileRequest& request, const Target& target,
                            const PlannedRun& plan) {
  auto analysed = analyse_run(std::move(finished), plan);
  if (!analysed) {
    return std::move(analysed).error();
  }
  ProfileRun& run = *analysed;
  MadeProfile made;
  RanSources sources = ran_sources(run.profile, request.overlay, run.began);
  add_line_texts(run.profile, sources.texts);
  made.sources = std::move(sources.texts);
  made.changed = std::move(sources.changed);
  if (request.keep && request.overlay.empty()) {
    made.warning = keep_profile(run, request, target);
  }
  if (run.profile.id.empty()) {
    run.profile.id = store::new_profile_id();
  }
  made.profile = std::move(run.profile);
  made.outlook = std::move(run.outlook);
  made.created_s = seconds_since_1970(std::chrono::system_clock::now());
  return made;
}

std::optional<MadeProfile> load_profile(const ProfileRequest& request, const Target& target) {
  ProfileLookup lookup = find_kept_profile(request, target);
  if (!lookup.found.has_value()) {
    return std::nullopt;
  }
  StoredProfile& stored = *lookup.found;
  analysis::Outlook outlook = analysis::outlook_of(stored.profile);
  MadeProfile made{std::move(stored.profile), stored.created_s, {}, {}, std::move(lookup.warning), std::move(outlook)};
  for (const std::string& path : own_files(made.profile)) {
    if (auto text = text_of(path)) {
      made.sources.push_back({path, std::move(*text)});
    }
  }
  return made;
}

}  // namespace ridgeline::profiling
