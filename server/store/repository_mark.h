// A mark of our own inside a git repository's folder: random, so that no other repository has it.
#pragma once

#include <optional>
#include <string>

namespace ridgeline::store {

/// The repository that a folder is in.
struct Repository {
  std::string dot_git;  ///< path of its `.git`: a folder, or, of a worktree or a submodule, what names one
  std::string folder;   ///< where git keeps its own files: real path; empty: nothing there is a repository's folder
};

/// The nearest at or above the folder. What lies there is not trusted: nothing is followed endlessly, read at length or
/// waited for.
std::optional<Repository> find_repository(const std::string& folder);

/// Where the mark stands, if there is one.
std::string mark_file(const Repository& repository);

/// The digits of the mark, 128 bits in base 16. Nothing when there is none, or one that is not this user's alone.
std::optional<std::string> read_mark(const Repository& repository);

/// Leaves a mark, for this user only, where there is none that can be read; false when that fails.
bool leave_mark(const Repository& repository);

}  // namespace ridgeline::store
