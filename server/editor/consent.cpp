#include "editor/consent.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "store/trust.h"

namespace ridgeline::editor {

namespace {

constexpr std::size_t kMostPinned = 32;

}  // namespace

std::optional<store::ProjectIdentity> Consent::identify(const app::Target& target) const {
  return store::identify(target.entry, target.project_root, identity_of_);
}

bool Consent::is_in(const ByEntry& where, const store::ProjectIdentity& now) const {
  const auto found = where.find(now.entry);
  return found != where.end() && store::covers(found->second.project, now);
}

bool Consent::holds(const app::Target& target, bool editor_vouches) const {
  const auto now = identify(target);
  return now.has_value() && (is_in(by_user_, *now) || (editor_vouches && is_in(by_editor_, *now)) ||
                             store::is_trusted(target.cache, *now));
}

bool Consent::held(const app::Target& target) const {
  return by_user_.contains(target.entry) || by_editor_.contains(target.entry) ||
         store::was_trusted(target.cache, target.entry);
}

Consent::Agreement Consent::agree(const app::Target& target, const store::ProjectIdentity& asked_about) {
  auto now = identify(target);
  if (!now.has_value() || !store::covers(asked_about, *now)) {
    return {};
  }
  store::leave_mark_for(target.entry);
  const auto marked = identify(target);
  if (!marked.has_value() || !store::covers(*now, *marked)) {
    return {};
  }
  Agreement agreement{true, ""};
  if (marked->lasting) {
    if (const auto stored = store::add_trust(target.cache, *marked); !stored) {
      agreement.warning = stored.error().message();
    }
  }
  remember(by_user_, target.cache, *marked);
  return agreement;
}

void Consent::vouch(const app::Target& target) {
  if (auto now = identify(target)) {
    remember(by_editor_, target.cache, std::move(*now));
  }
}

void Consent::rely_on(const app::Target& target) {
  auto now = identify(target);
  if (now.has_value() && !is_in(by_user_, *now) && store::is_trusted(target.cache, *now)) {
    remember(by_user_, target.cache, std::move(*now));
  }
}

void Consent::saved(const std::string& entry) {
  for (ByEntry* where : {&by_user_, &by_editor_}) {
    const auto found = where->find(entry);
    if (found == where->end()) {
      continue;
    }
    const store::ProjectIdentity& agreed = found->second.project;
    auto now = store::identify(entry, agreed.project_root, identity_of_);
    if (!now.has_value() || store::covers(agreed, *now) || !store::covers_but_for_the_file(agreed, *now)) {
      continue;
    }
    if (where == &by_user_ && now->lasting) {
      (void)store::add_trust(found->second.cache, *now);  // if it fails, the next daemon asks the user once more
    }
    remember(*where, std::string(found->second.cache), std::move(*now));
  }
}

void Consent::remember(ByEntry& where, const std::string& cache, store::ProjectIdentity project) const {
  Agreed agreed;
  agreed.cache = cache;
  if (!project.lasting) {
    const auto is_pinned = [](const auto& one) { return !one.second.pins.empty(); };
    if (std::ranges::count_if(where, is_pinned) >= static_cast<std::ptrdiff_t>(kMostPinned)) {
      where.erase(std::ranges::find_if(where, is_pinned));
    }
    const std::string folder = std::filesystem::path(project.entry).parent_path().string();
    for (const std::string& place : {project.project_root, folder, project.anchor}) {
      agreed.pins.emplace_back(::open(place.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    }
    // What was opened is what was agreed to, and not what took its place in between.
    const auto now = store::identify(project.entry, project.project_root, identity_of_);
    if (std::ranges::any_of(agreed.pins, [](const auto& pin) { return pin.get() < 0; }) || !now.has_value() ||
        !store::covers(project, *now)) {
      return;
    }
  }
  std::string entry = project.entry;
  agreed.project = std::move(project);
  where.insert_or_assign(std::move(entry), std::move(agreed));
}

}  // namespace ridgeline::editor
