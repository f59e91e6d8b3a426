#include "report/places.h"

#include <cstddef>

#include <fmt/format.h>

#include "report/units.h"

namespace ridgeline::report {

Places::Places(const analysis::Profile& profile)
    : root_(profile.project_root), folder_(profile.entry_path.substr(0, profile.entry_path.find_last_of('/') + 1)) {
  if (!root_.empty() && !root_.ends_with('/')) root_ += '/';
  for (const analysis::LineCost& line : profile.lines) files_.insert(line.location.file);
}

std::string Places::name(const analysis::Location& location) const {
  if (location.file.empty()) return {};
  std::string file = location.file;
  const std::string path = file.starts_with('/') ? file : root_ + file;
  if (!folder_.empty() && path.size() > folder_.size() && path.starts_with(folder_)) {
    const std::string below = path.substr(folder_.size());
    if (!files_.contains(below)) file = below;
  }
  return fmt::format("{}:{}", printable(file), location.line);
}

std::string entry_name(const analysis::Profile& profile) {
  const std::string& path = profile.entry_path;
  const std::string& root = profile.project_root;
  if (root.empty() || path.size() <= root.size() + 1 || !path.starts_with(root) || path[root.size()] != '/') {
    return printable(path);
  }
  const std::string below = path.substr(root.size() + 1);
  const bool right_in_root = below.find('/') == std::string::npos;
  return printable(right_in_root ? root.substr(root.find_last_of('/') + 1) + "/" + below : below);
}

}  // namespace ridgeline::report
