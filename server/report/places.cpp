#include "report/places.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "base/path.h"
#include "report/units.h"

namespace ridgeline::report {

namespace {

/// "/code/timm" of the package timm.layers at /code/timm/timm/layers.
std::string folder_of(const std::string& place, const std::string& name) {
  std::string folder = place;
  for (auto left = 1 + std::ranges::count(name, '.'); left > 0; --left) {
    folder.resize(std::min(folder.find_last_of('/'), folder.size()));
  }
  return folder;
}

}  // namespace

Places::Places(const analysis::Profile& profile)
    : root_(profile.project_root), folder_(profile.entry_path.substr(0, profile.entry_path.find_last_of('/') + 1)) {
  if (!root_.empty() && !root_.ends_with('/')) {
    root_ += '/';
  }
  for (const analysis::CodePackage& package : profile.code) {
    for (const std::string& place : package.places) {
      package_folders_.push_back(folder_of(place, package.name));
    }
  }
  for (const analysis::LineCost& line : profile.lines) {
    files_.insert(line.location.file);
  }
}

std::string Places::name(const analysis::Location& location) const {
  if (location.file.empty()) {
    return {};
  }
  std::string file = location.file;
  const std::string path = file.starts_with('/') ? file : root_ + file;
  if (const auto in_package = short_name(path); !in_package.empty() && !is_ambiguous(in_package, location.file)) {
    file = in_package;
  } else if (const auto below = base::relative_to(path, folder_); below && !files_.contains(std::string(*below))) {
    file = *below;
  }
  return fmt::format("{}:{}", printable(file), location.line);
}

std::string Places::short_name(std::string_view path) const {
  if (const auto installed = base::installed_path(path)) {
    return std::string(*installed);
  }
  for (const std::string& folder : package_folders_) {
    if (const auto below = base::relative_to(path, folder)) {
      return std::string(*below);
    }
  }
  return {};
}

bool Places::is_ambiguous(const std::string& name, const std::string& file) const {
  return std::ranges::any_of(files_, [&](const std::string& other) {
    return other != file && (other == name || short_name(other.starts_with('/') ? other : root_ + other) == name);
  });
}

std::string entry_name(const analysis::Profile& profile) {
  const std::string& path = profile.entry_path;
  const std::string& root = profile.project_root;
  const auto below = base::relative_to(path, root);
  if (!below) {
    return printable(path);
  }
  const bool right_in_root = below->find('/') == std::string_view::npos;
  return printable((right_in_root ? root.substr(root.find_last_of('/') + 1) + "/" : "") + std::string(*below));
}

}  // namespace ridgeline::report
