#include "app/profiling/entry_lock.h"

#include <sys/stat.h>

#include <utility>

#include <fmt/format.h>

#include "base/content_hash.h"

namespace ridgeline::app {

namespace {

/// What the key of kept profiles does not tell apart.
std::string effort_of(const ProfileRequest& request) {
  return fmt::format("{:.6g} {:.6g}", request.time_budget_seconds, request.finish_within_seconds);
}

}  // namespace

EntryLock lock_entry(const ProfileRequest& request, const Target& target) {
  const std::string folder = target.cache + "/locks";
  ::mkdir(folder.c_str(), 0700);
  base::ContentHash hash;
  hash.add(target.entry);
  auto taken = base::LockFile::take(folder + "/" + hash.text() + ".lock", effort_of(request));
  if (const auto* held = std::get_if<base::LockFile::Held>(&taken)) {
    return ProfiledElsewhere{held->by == effort_of(request)};
  }
  auto* lock = std::get_if<base::LockFile>(&taken);
  return lock != nullptr ? std::optional<base::LockFile>(std::move(*lock)) : std::nullopt;
}

}  // namespace ridgeline::app
