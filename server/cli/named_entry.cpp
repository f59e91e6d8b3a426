#include "cli/named_entry.h"

#include <filesystem>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "app/profiling/find_profile.h"
#include "base/path.h"
#include "cli/failure_text.h"
#include "cli/terminal.h"

namespace ridgeline::cli {

namespace {

/// As a user in this folder would write it.
std::string seen_from_here(const std::string& path) {
  std::error_code problem;
  const std::string here = std::filesystem::current_path(problem).string();
  return std::string(base::relative_to(path, here).value_or(path));
}

}  // namespace

base::Result<std::optional<store::ProfileRow>, ExitCode> find_named_entry(app::ProfileRequest& request) {
  std::optional<store::ProfileRow> named;
  if (request.entry.empty()) {
    const auto last = app::last_profile(".");
    if (!last) {
      return fail(last.error(), kExitUsage);
    }
    app::request_again(request, last->key);
    request.entry = seen_from_here(last->key.entry);
    print_error(request.entry + " was profiled last here");
    return named;
  }
  auto found = app::profile_of_id(request.entry);
  if (!found) {
    return fail(found.error(), kExitUsage);
  }
  if (found->has_value()) {
    named = std::move(**found);
    app::request_again(request, named->key);
    request.entry = seen_from_here(named->key.entry);
    print_error(fmt::format("the profile {} is of {}", named->profile.id, request.entry));
  }
  return named;
}

}  // namespace ridgeline::cli
