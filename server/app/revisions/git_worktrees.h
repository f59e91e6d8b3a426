// Revisions of the user's git repository, checked out beside it for a while. Waits for git: for the command line only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ridgeline::app {

/// "A..B" as its two revisions; an end that is left out is HEAD.
base::Result<std::pair<std::string, std::string>> revisions_of(const std::string& range);

/// Worktrees in a temporary folder, which only this user can read. The repository's own files and index are not
/// touched. Of the programs that the repository's configuration names, only the filters of a checkout run. All of it is
/// removed with this object; what a killed process leaves is a folder in the temporary folder, and an entry that `git
/// worktree prune` removes.
class GitWorktrees {
 public:
  /// `folder` is in the repository.
  static base::Result<GitWorktrees> open(const std::string& folder);
  GitWorktrees(GitWorktrees&& other) noexcept
      : repository_(std::move(other.repository_)),
        temporary_(std::exchange(other.temporary_, {})),
        added_(std::exchange(other.added_, {})) {}
  GitWorktrees& operator=(GitWorktrees&&) = delete;
  GitWorktrees(const GitWorktrees&) = delete;
  GitWorktrees& operator=(const GitWorktrees&) = delete;
  ~GitWorktrees();

  /// The commit that a revision names; an error where there is none.
  base::Result<std::string> commit_of(const std::string& revision) const;
  /// The programs that the configuration has git run on the files of a checkout, if their attributes name them: such as
  /// "filter.lfs.process git-lfs filter-process".
  std::vector<std::string> filters() const;
  /// Checks a commit out; returns the folder. An error is what git says.
  base::Result<std::string> add(const std::string& commit);
  /// The top of the user's own working tree; real.
  const std::string& repository() const { return repository_; }

 private:
  GitWorktrees(std::string repository, std::string temporary)
      : repository_(std::move(repository)), temporary_(std::move(temporary)) {}

  std::string repository_;
  std::string temporary_;
  std::vector<std::string> added_;
};

}  // namespace ridgeline::app
