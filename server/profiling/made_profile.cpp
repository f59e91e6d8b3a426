#include "profiling/made_profile.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "analysis/prediction/answers.h"
#include "profiling/kept_profiles.h"
#include "profiling/source_text.h"
#include "source/entry_point.h"
#include "store/fingerprint.h"
#include "store/profile_store.h"

namespace ridgeline::profiling {

namespace {

constexpr std::size_t kMaxSources = 512;

void add_places(const analysis::Node& node, std::set<std::string>& files) {
  files.insert({node.location.file, node.definition.file});
  for (const analysis::Node& child : node.children) {
    add_places(child, files);
  }
}

/// The files of the project that the profile has figures for; absolute.
std::vector<std::string> own_files(const analysis::Profile& profile) {
  std::set<std::string> files;
  for (const analysis::LineCost& line : profile.lines) {
    files.insert(line.location.file);
  }
  add_places(profile.breakdown, files);
  std::vector<std::string> paths = {profile.entry_path};
  for (const std::string& file : files) {
    if (!file.empty() && file.front() != '/' && paths.size() < kMaxSources) {
      if (std::string path = profile.project_root + "/" + file; path != profile.entry_path) {
        paths.push_back(std::move(path));
      }
    }
  }
  return paths;
}

std::optional<source::Span> batch_size_literal_of(const MadeProfile& made) {
  const auto entry = std::ranges::find(made.sources, made.profile.entry_path, &protocol::SourceText::path);
  const auto tree = entry == made.sources.end() ? std::nullopt : source::SourceTree::parse(entry->text);
  const auto entry_point = tree.has_value() ? source::find_entry_point(*tree) : std::nullopt;
  return entry_point.has_value() && entry_point->batch_size.can_be_edited()
             ? std::optional(entry_point->batch_size.literal)
             : std::nullopt;
}

}  // namespace

ProfileOutcome make_profile(worker::Finished finished, const ProfileRequest& request, const Target& target,
                            const PlannedRun& plan) {
  auto analysed = analyse_run(std::move(finished), plan);
  if (!analysed) {
    return std::move(analysed).error();
  }
  return keep_with_texts(std::move(*analysed), request, target);
}

MadeProfile keep_with_texts(ProfileRun run, const ProfileRequest& request, const Target& target) {
  MadeProfile made;
  for (const std::string& path : own_files(run.profile)) {
    const auto unsaved = std::ranges::find(request.overlay, path, &protocol::SourceText::path);
    if (unsaved != request.overlay.end()) {
      made.sources.push_back(*unsaved);
    } else if (store::take_fingerprint({path}, run.began).whole) {
      if (auto text = text_of(path)) {
        made.sources.push_back({path, std::move(*text)});
      }
    } else {
      made.changed.push_back(path);
    }
  }
  if (request.keep && request.overlay.empty()) {
    made.warning = keep_profile(run, request, target);
  }
  made.kept = !run.profile.id.empty();
  if (!made.kept) {
    run.profile.id = store::new_profile_id();
  }
  made.profile = std::move(run.profile);
  made.outlook = std::move(run.outlook);
  made.batch_size_literal = batch_size_literal_of(made);
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
  made.kept = true;
  made.batch_size_literal = batch_size_literal_of(made);
  return made;
}

}  // namespace ridgeline::profiling
