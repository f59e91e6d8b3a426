// A folder for the files of one run.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace ridgeline::base {

/// Made, and removed with what it contains. Where it cannot be made, writing into it fails.
class WorkFolder {
 public:
  explicit WorkFolder(std::string path) : path_(std::move(path)) {
    std::filesystem::create_directories(path_, problem_);
  }
  ~WorkFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::error_code problem_;
};

}  // namespace ridgeline::base
