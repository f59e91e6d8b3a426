#include "store/repository_mark.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/file.h"

namespace ridgeline::store {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNames = "gitdir: ";  ///< what a `.git` that is a file begins with
constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::size_t kMarkBytes = 16;
constexpr std::size_t kMarkDigits = 2 * kMarkBytes;
constexpr std::size_t kMostPathBytes = 4096;
constexpr std::size_t kMostRefsBytes = std::size_t{1} << 20U;
constexpr std::string_view kRef = "ref: ";

/// All of a small regular file that is no link; nothing when it is anything else or longer than `most`.
std::optional<std::string> read_small(const std::string& path, std::size_t most, bool ours_alone) {
  // Not to wait for a pipe that nobody writes to.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (file < 0) {
    return std::nullopt;
  }
  struct stat status {};
  std::string content(most + 1, '\0');
  bool good = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  if (ours_alone) {
    good = good && status.st_uid == ::geteuid() && (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  }
  const ssize_t got = good ? ::read(file, content.data(), content.size()) : -1;
  ::close(file);
  if (got < 0 || static_cast<std::size_t>(got) > most) {
    return std::nullopt;
  }
  content.resize(static_cast<std::size_t>(got));
  return content;
}

/// The folder that `.git` is or names; empty when it is none of a repository.
std::string folder_of(const fs::path& dot_git) {
  std::error_code problem;
  fs::path folder = dot_git;
  if (fs::is_regular_file(fs::symlink_status(dot_git, problem))) {
    const std::optional<std::string> text = read_small(dot_git.string(), kMostPathBytes, false);
    if (!text.has_value() || !text->starts_with(kNames)) {
      return {};
    }
    const std::string named = text->substr(kNames.size(), text->find_last_not_of("\r\n") + 1 - kNames.size());
    folder = dot_git.parent_path() / named;
  }
  const fs::path real = fs::canonical(folder, problem);
  return !problem && fs::is_directory(real, problem) && fs::exists(fs::symlink_status(real / "HEAD", problem))
             ? real.string()
             : "";
}

/// Without its line end; nothing where the file is not small.
std::optional<std::string> first_line(const fs::path& path) {
  std::optional<std::string> text = read_small(path.string(), kMostPathBytes, false);
  if (text.has_value()) {
    text->resize(std::min(text->find_first_of("\r\n"), text->size()));
  }
  return text;
}

/// Of SHA-1 or SHA-256.
bool is_commit(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) && text.find_first_not_of(kDigits) == std::string_view::npos;
}

/// "COMMIT refs/heads/main", one a line.
std::optional<std::string> packed_commit(const fs::path& path, const std::string& name) {
  const std::string text = "\n" + read_small(path.string(), kMostRefsBytes, false).value_or("") + "\n";
  const std::size_t end = text.find(" " + name + "\n");
  if (end == std::string::npos) {
    return std::nullopt;
  }
  const std::size_t begin = text.rfind('\n', end) + 1;
  std::string commit = text.substr(begin, end - begin);
  return is_commit(commit) ? std::optional(std::move(commit)) : std::nullopt;
}

std::optional<std::string> new_digits() {
  std::array<unsigned char, kMarkBytes> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    return std::nullopt;
  }
  std::string digits;
  for (const unsigned char byte : random) {
    digits.append({kDigits[byte >> 4U], kDigits[byte & 0xFU]});
  }
  return digits;
}

}  // namespace

std::optional<Repository> find_repository(const std::string& folder) {
  for (fs::path at = folder;; at = at.parent_path()) {
    std::error_code problem;
    const fs::path dot_git = at / ".git";
    if (fs::exists(fs::symlink_status(dot_git, problem))) {
      return Repository{dot_git.string(), folder_of(dot_git)};
    }
    if (at == at.parent_path()) {
      return std::nullopt;
    }
  }
}

std::optional<std::string> head_commit(const Repository& repository) {
  const fs::path folder = repository.folder;
  std::optional<std::string> head = first_line(folder / "HEAD");
  if (repository.folder.empty() || !head.has_value()) {
    return std::nullopt;
  }
  if (!head->starts_with(kRef)) {
    return is_commit(*head) ? head : std::nullopt;
  }
  const std::string name = head->substr(kRef.size());
  if (name.starts_with('/') || name.find("..") != std::string::npos) {
    return std::nullopt;
  }
  // The branches of a worktree are in the folder of the repository that it was made of.
  const fs::path common = folder / first_line(folder / "commondir").value_or("");
  if (const auto loose = first_line(common / name); loose.has_value() && is_commit(*loose)) {
    return loose;
  }
  return packed_commit(common / "packed-refs", name);
}

std::string mark_file(const Repository& repository) { return repository.folder + "/ridgeline-consent"; }

std::optional<std::string> read_mark(const Repository& repository) {
  if (repository.folder.empty()) {
    return std::nullopt;
  }
  std::optional<std::string> text = read_small(mark_file(repository), kMarkDigits + 1, true);
  if (!text.has_value() || text->size() != kMarkDigits + 1 || text->back() != '\n') {
    return std::nullopt;
  }
  text->pop_back();
  return text->find_first_not_of(kDigits) == std::string::npos ? text : std::nullopt;
}

bool leave_mark(const Repository& repository) {
  if (read_mark(repository).has_value()) {
    return true;
  }
  const std::optional<std::string> digits = repository.folder.empty() ? std::nullopt : new_digits();
  if (!digits.has_value()) {
    return false;
  }
  const std::string mark = mark_file(repository);
  if (base::write_atomically(mark, *digits + "\n", base::FileAccess::kOwner)) {
    return false;
  }
  return read_mark(repository).has_value();  // not on a file system without modes
}

}  // namespace ridgeline::store
