#include "report/places.h"

#include <cstddef>

#include <fmt/format.h>

#include "base/path.h"
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
  if (const auto below = base::relative_to(path, folder_); below && !files_.contains(std::string(*below)))
    file = *below;
  return fmt::format("{}:{}", printable(file), location.line);
}

std::string entry_name(const analysis::Profile& profile) {
  const std::string& path = profile.entry_path;
  const std::string& root = profile.project_root;
  const auto below = base::relative_to(path, root);
  if (!below) return printable(path);
  const bool right_in_root = below->find('/') == std::string_view::npos;
  return printable((right_in_root ? root.substr(root.find_last_of('/') + 1) + "/" : "") + std::string(*below));
}

}  // namespace ridgeline::report
