#include "app/profiling/profile_with_sources.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "analysis/prediction/answers.h"
#include "app/profiling/kept_profiles.h"
#include "app/profiling/unsaved_text.h"
#include "base/line_index.h"
#include "source/entry_point.h"
#include "store/profile_store.h"

namespace ridgeline::app {

namespace {

std::optional<source::Span> batch_size_literal_of(const ProfileWithSources& made) {
  const auto entry = std::ranges::find(made.sources, made.profile.entry_path, &protocol::SourceText::path);
  const auto tree = entry == made.sources.end() ? std::nullopt : source::SourceTree::parse(entry->text);
  const auto entry_point = tree.has_value() ? source::find_entry_point(*tree) : std::nullopt;
  return entry_point.has_value() && entry_point->batch_size.can_be_edited()
             ? std::optional(entry_point->batch_size.literal)
             : std::nullopt;
}

std::vector<std::string> library_lines(const analysis::Profile& profile) {
  std::vector<std::string> lines;
  std::map<std::string, std::string> texts;
  for (const analysis::LibraryLine& line :
       profile.library_call ? profile.library_call->lines : std::vector<analysis::LibraryLine>{}) {
    const auto [found, inserted] = texts.try_emplace(path_of(line.location.file, profile));
    if (inserted) {
      found->second = text_of(found->first).value_or("");
    }
    const base::LineIndex index(found->second);
    const bool is_there = line.location.line > 0 && line.location.line <= index.count();
    lines.emplace_back(is_there ? index.line_in(found->second, line.location.line - 1) : "");
  }
  return lines;
}

}  // namespace

ProfiledEntry keep_with_texts(ProfileRun run, const ProfileRequest& request, const Target& target) {
  ProfiledEntry profiled{std::move(run), {}, seconds_since_1970()};
  ProfileRun& made = profiled.run;
  profiled.sources = ran_sources(made.profile, request.overlay, made.began);
  add_line_texts(made.profile, profiled.sources.texts);
  if (request.keep && request.overlay.empty()) {
    profiled.warning = keep_profile(made, request, target, profiled.created_s);
  }
  return profiled;
}

ProfileWithSources profile_with_sources(ProfiledEntry profiled) {
  analysis::Profile& profile = profiled.run.profile;
  ProfileWithSources made;
  made.created_s = profiled.created_s;
  made.sources = std::move(profiled.sources.texts);
  made.changed = std::move(profiled.sources.changed);
  made.warning = std::move(profiled.warning);
  made.kept = !profile.id.empty();
  if (!made.kept) {
    profile.id = store::new_profile_id();
  }
  made.library_lines = library_lines(profile);
  made.profile = std::move(profile);
  made.outlook = std::move(profiled.run.outlook);
  made.batch_size_literal = batch_size_literal_of(made);
  return made;
}

std::optional<ProfileWithSources> load_profile(const ProfileRequest& request, const Target& target) {
  ProfileLookup lookup = find_kept_profile(request, target);
  if (!lookup.found.has_value()) {
    return std::nullopt;
  }
  StoredProfile& stored = *lookup.found;
  analysis::Outlook outlook = analysis::outlook_of(stored.profile);
  ProfileWithSources made{std::move(stored.profile), stored.created_s,  {}, {},
                          std::move(lookup.warning), std::move(outlook)};
  for (const std::string& path : own_files(made.profile)) {
    if (auto text = text_of(path)) {
      made.sources.push_back({path, std::move(*text)});
    }
  }
  made.kept = true;
  made.batch_size_literal = batch_size_literal_of(made);
  made.library_lines = library_lines(made.profile);
  return made;
}

}  // namespace ridgeline::app
