#include "app/profiling/profile_with_sources.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <span>
#include <utility>

#include "analysis/prediction/answers.h"
#include "app/profiling/kept_profiles.h"
#include "app/profiling/unsaved_text.h"
#include "base/line_index.h"
#include "source/entry_point.h"
#include "source/hydra_config.h"
#include "source/script_batch_size.h"
#include "store/profile_store.h"

namespace ridgeline::app {

namespace {

std::optional<source::Span> batch_size_literal_of(const ProfileWithSources& made) {
  const auto entry = std::ranges::find(made.sources, made.profile.entry_path, &protocol::SourceText::path);
  const auto tree = entry == made.sources.end() ? std::nullopt : source::SourceTree::parse(entry->text);
  if (!tree.has_value()) {
    return std::nullopt;
  }
  if (const auto entry_point = source::find_entry_point(*tree)) {
    return entry_point->batch_size.can_be_edited() ? std::optional(entry_point->batch_size.literal) : std::nullopt;
  }
  const auto script = source::find_script_batch_size(*tree);
  const bool is_of_step = script.has_value() && script->size.can_be_edited() && made.profile.batch_size_known &&
                          script->size.value == static_cast<std::uint64_t>(made.profile.batch_size);
  return is_of_step ? std::optional(script->size.literal) : std::nullopt;
}

/// The number of that configuration, or of the file that it chooses for the first key.
std::optional<NumberInFile> number_in(const source::ConfigSetting& setting, const std::filesystem::path& folder) {
  const auto read = [](const std::filesystem::path& path, std::span<const std::string> keys) {
    auto text = text_of(path.string());
    const auto number = text ? source::yaml_number(*text, keys) : std::nullopt;
    return number ? std::optional(NumberInFile{{path.string(), std::move(*text)}, *number}) : std::nullopt;
  };
  const std::filesystem::path file = folder / (setting.name + ".yaml");
  if (auto found = read(file, setting.keys)) {
    return found;
  }
  const auto text = setting.keys.size() > 1 ? text_of(file.string()) : std::nullopt;
  const std::string choice = text ? source::hydra_choice(*text, setting.keys.front()) : "";
  return choice.empty() ? std::nullopt
                        : read(folder / setting.keys.front() / (choice + ".yaml"), std::span(setting.keys).subspan(1));
}

std::optional<NumberInFile> batch_size_elsewhere(const ProfileWithSources& made) {
  const analysis::Profile& profile = made.profile;
  if (made.batch_size_literal.has_value() || !profile.script.has_value() || !profile.batch_size_known) {
    return std::nullopt;
  }
  const auto entry = std::ranges::find(made.sources, profile.entry_path, &protocol::SourceText::path);
  const auto tree = entry == made.sources.end() ? std::nullopt : source::SourceTree::parse(entry->text);
  const auto setting = tree ? source::hydra_batch_size(*tree) : std::nullopt;
  if (!setting.has_value()) {
    return std::nullopt;
  }
  const std::filesystem::path folder = std::filesystem::path(profile.entry_path).parent_path() / setting->folder;
  auto found = number_in(*setting, folder.lexically_normal());
  const bool is_of_step = found && found->number.value == static_cast<std::uint64_t>(profile.batch_size);
  return is_of_step ? found : std::nullopt;
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
  made.batch_size_elsewhere = batch_size_elsewhere(made);
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
  made.batch_size_elsewhere = batch_size_elsewhere(made);
  made.library_lines = library_lines(made.profile);
  return made;
}

}  // namespace ridgeline::app
