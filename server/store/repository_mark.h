// What is known of a git repository by its files: the commit that is checked out, and a random mark of ours inside its
// folder, which no other repository has.
#pragma once

#include <optional>
#include <string>

namespace ridgeline::store {

/// The repository that a folder is in.
struct Repository {
  std::string dot_git;  ///< path of its `.git`: a folder or, for a worktree or a submodule, a file that names one
  std::string folder;   ///< real path of the folder with git's own files; empty: `.git` does not lead to one
};

/// The nearest repository at or above the folder. Its contents are not trusted: the time that this takes and the bytes
/// that it reads are bounded.
std::optional<Repository> find_repository(const std::string& folder);

/// The commit that the repository's work tree has checked out, in base 16, as its files say: git is not run. Nothing
/// where there is none, or where they do not say.
std::optional<std::string> head_commit(const Repository& repository);

/// The path of the mark, whether or not it exists.
std::string mark_file(const Repository& repository);

/// The digits of the mark, 128 bits in base 16. Nothing when there is none, or when it does not belong to this user
/// alone.
std::optional<std::string> read_mark(const Repository& repository);

/// Writes a mark, for this user only, unless there is one that can be read; false when that fails.
bool leave_mark(const Repository& repository);

}  // namespace ridgeline::store
