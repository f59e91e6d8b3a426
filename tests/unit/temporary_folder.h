// A folder for as long as a test runs, and what is in files.
#pragma once

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace ridgeline::testing {

namespace fs = std::filesystem;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "ridgeline-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("no temporary folder");
    }
    path_ = fs::canonical(pattern);
  }
  ~TemporaryFolder() {
    std::error_code problem;
    fs::remove_all(path_, problem);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const fs::path& path() const { return path_; }
  fs::path operator/(std::string_view name) const { return path_ / name; }

  fs::path file(std::string_view name, std::string_view content) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }
  fs::path program(std::string_view name, std::string_view script) const {
    fs::path path = file(name, script);
    ::chmod(path.c_str(), 0755);
    return path;
  }

 private:
  fs::path path_;
};

inline std::string content_of(const fs::path& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();  // never throws: a process may vanish while its file in /proc is read
  return content.str();
}

}  // namespace ridgeline::testing
