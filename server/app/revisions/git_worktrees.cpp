#include "app/revisions/git_worktrees.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <sstream>

#include "base/errno_text.h"
#include "worker/process.h"

namespace ridgeline::app {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOutput = 64U << 10U;

/// What keeps git from running programs that the repository's own configuration names, which came with a copied or an
/// unpacked repository: hooks, the monitor of the file system, and what fetches objects or submodules.
constexpr std::array kNothingElseRuns = {"core.hooksPath=/dev/null", "core.fsmonitor=false", "protocol.allow=never",
                                         "submodule.recurse=false"};

/// Runs git as kNothingElseRuns says and returns what it printed, without the newline at the end; its message when it
/// fails.
base::Result<std::string> git(const std::string& folder, const std::vector<std::string>& arguments) {
  auto [read_end, write_end] = worker::pipe_pair();
  if (read_end.get() < 0) {
    return base::error(base::with_errno("cannot make a pipe"));
  }
  std::vector<std::string> command = {"git"};
  for (const char* setting : kNothingElseRuns) {
    command.insert(command.end(), {"-c", setting});
  }
  command.insert(command.end(), {"-C", folder});
  command.insert(command.end(), arguments.begin(), arguments.end());
  const auto child = worker::spawn({command, "", {{write_end.get(), 1}, {write_end.get(), 2}}});
  write_end.reset();
  if (!child) {
    return child.error();
  }
  std::string output;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t got = ::read(read_end.get(), buffer.data(), buffer.size());
    if (got > 0 && output.size() < kMostOutput) {
      output.append(buffer.data(), static_cast<std::size_t>(got));
    }
    if (got == 0 || (got < 0 && errno != EINTR)) {
      break;
    }
  }
  int status = 0;
  while (::waitpid(*child, &status, 0) < 0 && errno == EINTR) {
  }
  while (output.ends_with('\n')) {
    output.pop_back();
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return base::error("git: " + (output.empty() ? worker::describe_end(status) : output));
  }
  return output;
}

}  // namespace

base::Result<std::pair<std::string, std::string>> revisions_of(const std::string& range) {
  const std::size_t dots = range.find("..");
  if (dots == std::string::npos || range.find("...") != std::string::npos) {
    return base::error("--git takes two revisions with two dots between, as in main..HEAD, not " + range);
  }
  const auto or_head = [](const std::string& revision) { return revision.empty() ? "HEAD" : revision; };
  return std::pair{or_head(range.substr(0, dots)), or_head(range.substr(dots + 2))};
}

base::Result<GitWorktrees> GitWorktrees::open(const std::string& folder) {
  const auto top = git(folder, {"rev-parse", "--show-toplevel"});
  if (!top) {
    return base::error(folder + " is in no git repository: " + top.error().message());
  }
  std::error_code problem;
  const fs::path temporary = fs::temp_directory_path(problem);
  std::string made = (temporary / "ridgeline-compare-XXXXXX").string();
  if (problem || ::mkdtemp(made.data()) == nullptr) {
    return base::error(base::with_errno("cannot make a folder in " + temporary.string()));
  }
  return GitWorktrees(fs::weakly_canonical(*top, problem).string(), fs::weakly_canonical(made, problem).string());
}

GitWorktrees::~GitWorktrees() {
  if (temporary_.empty()) {
    return;
  }
  for (const std::string& folder : added_) {
    static_cast<void>(git(repository_, {"worktree", "remove", "--force", "--force", folder}));
  }
  std::error_code problem;
  fs::remove_all(temporary_, problem);
  if (!added_.empty()) {
    static_cast<void>(git(repository_, {"worktree", "prune"}));  // what could not be removed the other way
  }
}

base::Result<std::string> GitWorktrees::commit_of(const std::string& revision) const {
  const auto commit = git(repository_, {"rev-parse", "--verify", "--end-of-options", revision + "^{commit}"});
  if (!commit) {
    return base::error("there is no revision " + revision + " in " + repository_);
  }
  return *commit;
}

std::vector<std::string> GitWorktrees::filters() const {
  const auto found = git(repository_, {"config", "--get-regexp", R"(^filter\..*\.(smudge|process)$)"});
  if (!found) {
    return {};  // there is none
  }
  std::vector<std::string> filters;
  std::istringstream lines(*found);
  for (std::string line; std::getline(lines, line);) {
    filters.push_back(line);
  }
  return filters;
}

base::Result<std::string> GitWorktrees::add(const std::string& commit) {
  std::string folder = temporary_ + "/" + std::to_string(added_.size() + 1);
  added_.push_back(folder);
  const auto done = git(repository_, {"worktree", "add", "--detach", "--quiet", folder, commit});
  if (!done) {
    return done.error();
  }
  return folder;
}

}  // namespace ridgeline::app
