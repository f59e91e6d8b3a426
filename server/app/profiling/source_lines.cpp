#include "app/profiling/source_lines.h"

#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace ridgeline::app {

namespace {

class SourceFiles {
 public:
  explicit SourceFiles(std::string root) : root_(std::move(root)) {}

  std::optional<std::string> operator()(const analysis::Location& place) {
    const auto [found, inserted] = files_.try_emplace(place.file);
    if (inserted) {
      std::ifstream file(place.file.starts_with("/") ? place.file : root_ + "/" + place.file);
      for (std::string line; found->second.size() < kMaxLines && std::getline(file, line);) {
        found->second.push_back(line);
      }
    }
    if (place.line == 0 || place.line > found->second.size()) {
      return std::nullopt;
    }
    return found->second[place.line - 1];
  }

 private:
  static constexpr std::size_t kMaxLines = 1'000'000;
  std::string root_;
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace

report::SourceLines source_lines(const std::string& root) {
  return [files = std::make_shared<SourceFiles>(root)](const analysis::Location& place) { return (*files)(place); };
}

}  // namespace ridgeline::app
