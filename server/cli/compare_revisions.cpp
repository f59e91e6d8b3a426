#include "cli/compare_revisions.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/failure_text.h"
#include "cli/git_worktrees.h"
#include "cli/interrupts.h"
#include "cli/profile_now.h"
#include "cli/repeated_profile.h"
#include "cli/terminal.h"

namespace ridgeline::cli {

namespace {

namespace fs = std::filesystem;

/// A name of the user's for a commit.
struct Revision {
  std::string name;
  std::string commit;
};

/// One revision, checked out.
struct Version {
  std::string name;
  app::ProfileRequest request;
  app::Target target;
  std::vector<analysis::Profile> profiles;
};

/// The path of `inside` below the repository's top; nothing when it is not there.
std::string below(const std::string& inside, const std::string& top) {
  const fs::path relative = fs::path(inside).lexically_relative(top);
  return relative.empty() || *relative.begin() == ".." ? "" : relative.string();
}

base::Result<Version, ExitCode> check_out(GitWorktrees& worktrees, const Revision& revision,
                                          app::ProfileRequest request, const app::Target& own) {
  const std::string entry = below(own.entry, worktrees.repository());
  if (entry.empty()) {
    return usage_error(own.entry + " is not in the repository " + worktrees.repository());
  }
  const auto folder = worktrees.add(revision.commit);
  if (!folder) {
    return usage_error("cannot check out " + revision.name + ": " + folder.error().message());
  }
  request.entry = *folder + "/" + entry;
  request.project_root = *folder + "/" + below(own.project_root, worktrees.repository());
  request.python = own.interpreter.path;
  std::error_code problem;
  if (!fs::exists(request.entry, problem)) {
    return usage_error(fmt::format("{} is not in {}; commit it, or name a revision that has it", entry, revision.name));
  }
  if (!fs::exists(request.project_root, problem)) {
    request.project_root = *folder;
  }
  auto target = find_target_or_report(request);
  if (!target) {
    return target.error();
  }
  Version version{revision.name, for_comparison(std::move(request), *target), std::move(*target), {}};
  return version;
}

/// A package that is installed in place runs from the user's own working tree, in either version.
std::string imported_from_outside(const app::ProfileRun& run, const std::string& repository,
                                  const analysis::Profile& profile) {
  const auto is_own = [&](const std::string& file) {
    return file.starts_with(repository + "/") && file.find("/site-packages/") == std::string::npos &&
           !file.starts_with(profile.project_root + "/");
  };
  const auto file = std::ranges::find_if(run.imported_files, is_own);
  return file == run.imported_files.end() ? "" : *file;
}

}  // namespace

base::Result<analysis::Comparison, ExitCode> compare_revisions(const std::string& range,
                                                               app::ProfileRequest measurement,
                                                               const RevisionsRequest& request,
                                                               analysis::Settings settings) {
  const auto names = revisions_of(range);
  if (!names) {
    return usage_error(names.error().message());
  }
  const auto own = find_target_or_report(measurement);
  if (!own) {
    return own.error();
  }
  Interrupts interrupts;
  auto worktrees = GitWorktrees::open(fs::path(own->entry).parent_path().string());
  if (!worktrees) {
    return usage_error(worktrees.error().message());
  }
  std::vector<Revision> revisions;
  for (const std::string& name : {names->first, names->second}) {
    const auto commit = worktrees->commit_of(name);
    if (!commit) {
      return usage_error(commit.error().message());
    }
    revisions.push_back({name, *commit});
  }
  if (const std::vector<std::string> filters = worktrees->filters(); !filters.empty()) {
    print_error(fmt::format("git runs these filters of its configuration on files whose attributes name them:\n{}",
                            fmt::join(filters, "\n")));
  }
  std::vector<Version> versions;
  for (const Revision& revision : revisions) {
    auto version = check_out(*worktrees, revision, measurement, *own);
    if (!version) {
      return version.error();
    }
    versions.push_back(std::move(*version));
  }
  std::string outside;
  for (int turn = 0; turn < 2 * request.runs; ++turn) {
    Version& version = versions[static_cast<std::size_t>((turn + turn / 2) % 2)];  // 0 1 1 0 0 1 …
    print_error(fmt::format("run {} of {}: {}", turn + 1, 2 * request.runs, version.name));
    auto run = interrupts.came() ? base::Result<app::ProfileRun, ExitCode>(ExitCode{kExitCancelled})
                                 : profile_now(version.request, version.target);
    if (!run) {
      return run.error();
    }
    if (outside.empty()) {
      outside = imported_from_outside(*run, worktrees->repository(), run->profile);
    }
    version.profiles.push_back(std::move(run->profile));
  }
  const auto side_of = [](const Version& version) {
    analysis::Side side{version.name, {}};
    for (const analysis::Profile& profile : version.profiles) {
      side.runs.push_back(&profile);
    }
    return side;
  };
  settings.in_turns = true;
  analysis::Comparison comparison = analysis::compare(side_of(versions[0]), side_of(versions[1]), settings);
  if (!outside.empty()) {
    comparison.notes.push_back(
        outside +
        " was imported from your working tree, not from the revisions: it is the same in both. It may be "
        "installed in place (pip install -e).");
  }
  for (analysis::Subject* subject : {&comparison.before, &comparison.after}) {
    subject->entry_path = own->entry;
  }
  return comparison;
}

}  // namespace ridgeline::cli
