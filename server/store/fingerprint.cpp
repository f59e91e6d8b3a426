#include "store/fingerprint.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/content_hash.h"

namespace ridgeline::store {

namespace {

constexpr off_t kMaxFileBytes = off_t{256} << 20;

std::optional<FileMark> read_mark(const std::string& path) {
  // Never waits, whatever is there: a pipe opens at once and is refused.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return std::nullopt;
  }
  FileMark mark{path, 0, ""};
  base::ContentHash hash;
  struct stat status {};
  bool good = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= kMaxFileBytes;
  std::array<char, std::size_t{64} << 10U> chunk{};
  while (good) {
    const ssize_t count = ::read(file, chunk.data(), chunk.size());
    if (count == 0) {
      break;
    }
    good = count > 0 && mark.size <= static_cast<std::uint64_t>(kMaxFileBytes);
    if (good) {
      hash.add({chunk.data(), static_cast<std::size_t>(count)});
      mark.size += static_cast<std::uint64_t>(count);
    }
  }
  ::close(file);
  mark.hash = hash.text();
  return good ? std::optional(std::move(mark)) : std::nullopt;
}

bool changed_since(const std::string& path, std::chrono::system_clock::time_point began) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return true;
  }
  const auto since_epoch = std::chrono::duration_cast<std::chrono::nanoseconds>(began.time_since_epoch()).count();
  const auto late = [&](const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec >= since_epoch;
  };
  return late(status.st_mtim) || late(status.st_ctim);
}

bool set_back_since(const Moment& began) {
  const Moment now;
  return now.system - began.system + std::chrono::seconds(1) < now.steady - began.steady;
}

}  // namespace

const std::optional<FileMark>& FileReader::mark(const std::string& path) {
  const auto [found, inserted] = marks_.try_emplace(path);
  if (inserted) {
    found->second = read_mark(path);
  }
  return found->second;
}

Fingerprint take_fingerprint(const std::vector<std::string>& paths, const Moment& began) {
  Fingerprint fingerprint;
  fingerprint.whole = !set_back_since(began);
  FileReader reader;
  for (const std::string& path : paths) {
    const std::optional<FileMark>& mark = reader.mark(path);
    // Looked at after it was read, so that a change in between is seen.
    if (!mark.has_value() || changed_since(path, began.system)) {
      fingerprint.whole = false;
    } else if (std::ranges::find(fingerprint.files, *mark) == fingerprint.files.end()) {
      fingerprint.files.push_back(*mark);
    }
  }
  return fingerprint;
}

bool is_unchanged(const Fingerprint& fingerprint, FileReader& reader) {
  return fingerprint.whole &&
         std::ranges::all_of(fingerprint.files, [&](const FileMark& mark) { return reader.mark(mark.path) == mark; });
}

}  // namespace ridgeline::store
