#include "base/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "base/random_digits.h"

namespace ridgeline::base {

namespace {

std::error_code last_error() { return {errno, std::generic_category()}; }

/// A file system, or a file such as a pipe, that cannot do it is no failure.
std::error_code sync(int file) {
  const bool failed = ::fsync(file) != 0 && errno != EINVAL && errno != EROFS && errno != ENOSYS;
  return failed ? last_error() : std::error_code();
}

}  // namespace

std::error_code sync_to_disk(const std::string& path) {
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) {
    return last_error();
  }
  const std::error_code problem = sync(opened);
  ::close(opened);
  return problem;
}

std::error_code write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written < 0 && errno != EINTR) {
      return last_error();
    }
    content.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
  return {};
}

std::error_code write_atomically(const std::string& path, std::string_view content, FileAccess access,
                                 Durability durability) {
  const std::string part = path + "." + unique_suffix() + ".part";
  const mode_t mode = access == FileAccess::kOwner ? 0600 : 0666;
  const int file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0) {
    return last_error();
  }
  std::error_code problem = write_all(file, content);
  if (!problem && durability == Durability::kSynced) {
    problem = sync(file);
  }
  if (::close(file) != 0 && !problem) {
    problem = last_error();
  }
  if (!problem && ::rename(part.c_str(), path.c_str()) != 0) {
    problem = last_error();
  }
  if (problem) {
    ::unlink(part.c_str());
    return problem;
  }
  if (durability == Durability::kSynced) {
    sync_to_disk(std::filesystem::absolute(path, problem).parent_path().string());  // it is in its place: best effort
  }
  return {};
}

Result<std::string> read_text(const std::string& path, std::size_t most_bytes) {
  std::error_code problem;
  if (!std::filesystem::is_regular_file(path, problem)) {
    return error("there is no file " + path);
  }
  if (std::filesystem::file_size(path, problem) > most_bytes) {
    return error(path + " is larger than " + std::to_string(most_bytes >> 20U) + " MiB");
  }
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file || text.size() > most_bytes) {
    return error("cannot read " + path);
  }
  return text;
}

std::string unique_suffix() {
  const Result<std::string> digits = random_digits(8);
  if (!digits) {
    throw std::runtime_error(digits.error().message());
  }
  return *digits;
}

}  // namespace ridgeline::base
