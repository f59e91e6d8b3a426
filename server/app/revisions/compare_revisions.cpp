#include "app/revisions/compare_revisions.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/profiling/repeated_profile.h"
#include "app/revisions/git_worktrees.h"

namespace ridgeline::app {

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
  ProfileRequest request;
  Target target;
  std::vector<analysis::Profile> profiles;
};

/// The path of `inside` below the repository's top; nothing when it is not there.
std::string below(const std::string& inside, const std::string& top) {
  const fs::path relative = fs::path(inside).lexically_relative(top);
  return relative.empty() || *relative.begin() == ".." ? "" : relative.string();
}

Answer<Version> check_out(GitWorktrees& worktrees, const Revision& revision, ProfileRequest request,
                          const Target& own) {
  const std::string entry = below(own.entry, worktrees.repository());
  if (entry.empty()) {
    return refusal(Cause::kRequest, own.entry + " is not in the repository " + worktrees.repository());
  }
  const auto folder = worktrees.add(revision.commit);
  if (!folder) {
    return refusal(Cause::kRequest, "cannot check out " + revision.name + ": " + folder.error().message());
  }
  request.entry = *folder + "/" + entry;
  request.project_root = *folder + "/" + below(own.project_root, worktrees.repository());
  request.python = own.interpreter.path;
  std::error_code problem;
  if (!fs::exists(request.entry, problem)) {
    return refusal(Cause::kRequest,
                   fmt::format("{} is not in {}; commit it, or name a revision that has it", entry, revision.name));
  }
  if (!fs::exists(request.project_root, problem)) {
    request.project_root = *folder;
  }
  auto target = find_target(request);
  if (!target) {
    return FailedProjectRun{target.error(), {}};
  }
  Version version{revision.name, for_comparison(std::move(request), *target), std::move(*target), {}};
  return version;
}

/// A package that is installed in place runs from the user's own working tree, in either version.
std::string imported_from_outside(const ProfileRun& run, const std::string& repository,
                                  const analysis::Profile& profile) {
  const auto is_own = [&](const std::string& file) {
    return file.starts_with(repository + "/") && file.find("/site-packages/") == std::string::npos &&
           !file.starts_with(profile.project_root + "/");
  };
  const auto file = std::ranges::find_if(run.imported_files, is_own);
  return file == run.imported_files.end() ? "" : *file;
}

/// Both, checked out.
Answer<std::vector<Version>> check_out_all(EntryProfiler& profiler, GitWorktrees& worktrees,
                                           const std::pair<std::string, std::string>& names,
                                           const ProfileRequest& measurement, const Target& own) {
  std::vector<Revision> revisions;
  for (const std::string& name : {names.first, names.second}) {
    const auto commit = worktrees.commit_of(name);
    if (!commit) {
      return refusal(Cause::kRequest, commit.error());
    }
    revisions.push_back({name, *commit});
  }
  if (const std::vector<std::string> filters = worktrees.filters(); !filters.empty()) {
    profiler.announce(
        fmt::format("git runs these filters of its configuration on files whose attributes name them:\n{}",
                    fmt::join(filters, "\n")));
  }
  std::vector<Version> versions;
  for (const Revision& revision : revisions) {
    auto version = check_out(worktrees, revision, measurement, own);
    if (!version) {
      return version.error();
    }
    versions.push_back(std::move(*version));
  }
  return versions;
}

analysis::Side side_of(const Version& version) {
  analysis::Side side{version.name, {}};
  for (const analysis::Profile& profile : version.profiles) {
    side.runs.push_back(&profile);
  }
  return side;
}

}  // namespace

base::Task<Answer<analysis::Comparison>> compare_revisions(EntryProfiler& profiler, RevisionsRequest request,
                                                           ProfileRequest measurement, analysis::Settings settings) {
  const auto names = revisions_of(request.range);
  if (!names) {
    co_return refusal(Cause::kRequest, names.error());
  }
  const auto own = find_target(measurement);
  if (!own) {
    co_return FailedProjectRun{own.error(), {}};
  }
  auto worktrees = GitWorktrees::open(fs::path(own->entry).parent_path().string());
  if (!worktrees) {
    co_return refusal(Cause::kRequest, worktrees.error());
  }
  auto versions = check_out_all(profiler, *worktrees, *names, measurement, *own);
  if (!versions) {
    co_return versions.error();
  }
  std::string outside;
  for (int turn = 0; turn < 2 * request.runs; ++turn) {
    Version& version = (*versions)[static_cast<std::size_t>((turn + turn / 2) % 2)];  // 0 1 1 0 0 1 …
    profiler.announce(fmt::format("run {} of {}: {}", turn + 1, 2 * request.runs, version.name));
    auto profiling = profiler.profile(version.request, version.target);
    auto run = co_await std::move(profiling);
    if (!run) {
      co_return FailedProjectRun{run.error(), version.target.project_root};
    }
    if (outside.empty()) {
      outside = imported_from_outside(*run, worktrees->repository(), run->profile);
    }
    version.profiles.push_back(std::move(run->profile));
  }
  settings.in_turns = true;
  analysis::Comparison comparison = analysis::compare(side_of(versions->front()), side_of(versions->back()), settings);
  if (!outside.empty()) {
    comparison.notes.push_back(
        outside +
        " was imported from your working tree, not from the revisions: it is the same in both. It may be "
        "installed in place (pip install -e).");
  }
  for (analysis::Subject* subject : {&comparison.before, &comparison.after}) {
    subject->entry_path = own->entry;
  }
  co_return comparison;
}

}  // namespace ridgeline::app
