#include "store/recording_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/content_hash.h"
#include "base/file.h"
#include "store/profile_store.h"

namespace ridgeline::store {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHashBytes = 16;
constexpr std::size_t kMostFileBytes = RecordingBounds{}.bytes;

std::string folder_of_recordings(const std::string& folder) { return folder + "/recordings"; }

std::string content_hash(std::string_view content) {
  base::ContentHash hash;
  hash.add(content);
  return hash.text();
}

/// Whatever lies there counts, so that what a killed process left behind is removed in its turn.
void remove_oldest(const std::string& folder, const RecordingBounds& bounds) {
  struct File {
    fs::file_time_type written;
    std::uintmax_t bytes = 0;
    fs::path path;
  };
  std::vector<File> files;
  std::error_code problem;
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
    std::error_code unknown;  // another process has removed it
    File file{at->last_write_time(unknown), 0, at->path()};
    if (!unknown) {
      file.bytes = at->file_size(unknown);
    }
    if (!unknown) {
      files.push_back(std::move(file));
    }
  }
  std::ranges::sort(files, std::greater{}, &File::written);
  std::uintmax_t bytes = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    bytes += files[i].bytes;
    if (i >= bounds.recordings || bytes > bounds.bytes) {
      fs::remove(files[i].path, problem);
    }
  }
}

}  // namespace

base::Result<void> add_recording(const std::string& folder, const std::string& id, std::string content,
                                 const RecordingBounds& bounds) {
  if (content.size() + kHashBytes > bounds.bytes) {
    return {};
  }
  content += content_hash(content);
  const std::string recordings = folder_of_recordings(folder);
  ::mkdir(recordings.c_str(), 0700);
  const std::string path = recordings + "/" + id;
  // Not synced: its hash is compared whenever it is read.
  if (const auto failed = base::write_atomically(path, content, base::FileAccess::kOwner, base::Durability::kNone)) {
    return base::error(path + " cannot be written: " + failed.message());
  }
  remove_oldest(recordings, bounds);
  return {};
}

base::Result<std::optional<std::string>> read_recording(const std::string& folder, const std::string& id) {
  const std::string path = folder_of_recordings(folder) + "/" + id;
  std::error_code problem;
  if (!is_profile_id(id) || !fs::exists(path, problem)) {
    return std::optional<std::string>();
  }
  auto content = base::read_text(path, kMostFileBytes);
  if (!content) {
    return content.error();
  }
  const std::string_view all(*content);
  const std::size_t size = all.size() - std::min(all.size(), kHashBytes);
  if (content_hash(all.substr(0, size)) != all.substr(size)) {
    fs::remove(path, problem);
    return base::error("the recording of the profile " + id + " was damaged on the disk and is dropped");
  }
  content->resize(size);
  return std::optional(std::move(*content));
}

}  // namespace ridgeline::store
