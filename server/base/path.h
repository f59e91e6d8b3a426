// Absolute paths as text, with '/' between their parts. The file system is not accessed.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace ridgeline::base {

/// The part of `path` below `folder`, without a leading '/'; nothing when it is not below it. A folder is not below
/// itself, nothing is below the empty path, and a '/' at the folder's end does not matter.
constexpr std::optional<std::string_view> relative_to(std::string_view path, std::string_view folder) {
  if (folder.empty() || !path.starts_with(folder)) {
    return std::nullopt;
  }
  std::string_view rest = path.substr(folder.size());
  if (!folder.ends_with('/')) {
    if (!rest.starts_with('/')) {
      return std::nullopt;
    }
    rest.remove_prefix(1);
  }
  return rest.empty() ? std::nullopt : std::optional(rest);
}

constexpr bool is_below(std::string_view path, std::string_view folder) {
  return relative_to(path, folder).has_value();
}

/// What follows the last '/'.
constexpr std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// The part of `path` below the innermost folder that packages are installed in, site-packages or dist-packages;
/// nothing where there is none.
constexpr std::optional<std::string_view> installed_path(std::string_view path) {
  constexpr std::string_view kSite = "/site-packages/";
  constexpr std::string_view kDist = "/dist-packages/";
  static_assert(kSite.size() == kDist.size());
  const std::size_t site = path.rfind(kSite);
  const std::size_t dist = path.rfind(kDist);
  if (site == std::string_view::npos && dist == std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t folder =
      site == std::string_view::npos || (dist != std::string_view::npos && dist > site) ? dist : site;
  return path.substr(folder + kSite.size());
}

}  // namespace ridgeline::base
